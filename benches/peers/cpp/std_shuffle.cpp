// std::shuffle of the installed C++ standard library. The generator lives on from call to call, one
// in each thread, so that seeding it is no part of a shuffle.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace {

// SplitMix64 (Steele, Lea, Flood, 2014): about the least work that a generator of 64 good bits can
// do.
class SplitMix64 {
public:
    using result_type = std::uint64_t;

    static constexpr result_type min() { return 0; }
    static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }

    void seed(result_type seed) { state = seed; }

    result_type operator()() {
        result_type z = state += 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }

private:
    result_type state = 0;
};

thread_local SplitMix64 generator;

} // namespace

extern "C" {

void peers_splitmix64_seed(std::uint64_t seed) { generator.seed(seed); }

void peers_splitmix64_shuffle(std::uint64_t *items, std::size_t len) {
    // A local one can stay in a register. Of the other, the compiler must expect that an item is
    // part of it.
    SplitMix64 local = generator;
    std::shuffle(items, items + len, local);
    generator = local;
}

}
