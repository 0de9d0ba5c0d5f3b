// One index of an order at a time, without the library.
//
//     c++ -std=c++17 walk.cpp -I FOLDER_OF_THE_HEADER
#include <bijective_walk.hpp>
#include <cstdio>
#include <vector>

namespace bs = bijective_shuffle;

// A loop that a library for parallel loops runs: its body has the order by value.
template <class Body>
void parallel_for(std::uint64_t count, const Body &body) {
    for (std::uint64_t i = 0; i < count; i++) {
        body(i);
    }
}

// Computed by the compiler.
constexpr bs::walk fixed(10, 42);
static_assert(fixed(0) == 4 && fixed.inverse(4) == 0);

int main() {
    const bs::walk p(1'000'000'000'000, 42);
    const std::uint64_t item = p(15);
    const std::uint64_t place = p.inverse(item);
    std::printf("item %llu at place %llu\n", static_cast<unsigned long long>(item),
                static_cast<unsigned long long>(place));

    const bs::walk32 epoch(1000, 42, 3);
    std::vector<int> from(1000), to(1000);
    parallel_for(epoch.size(), [=, source = from.data(), target = to.data()](std::uint64_t i) {
        target[i] = source[epoch(static_cast<std::uint32_t>(i))];
    });

    std::uint64_t sum = 0;
#if defined(__cpp_lib_ranges) && !(defined(__clang__) && __clang_major__ < 16)
    for (std::uint64_t x : p | std::views::drop(1'000'000) | std::views::take(3)) {
        sum += x;
    }
#else
    for (auto at = p.begin() + 1'000'000; at != p.begin() + 1'000'003; ++at) {
        sum += *at;
    }
#endif
    std::printf("three more add up to %llu\n", static_cast<unsigned long long>(sum));
    return place == 15 ? 0 : 1;
}
