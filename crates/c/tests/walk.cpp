// The header for single indexes: its values are those of the vectors and of the library, at every
// length, also while a program compiles; it is a range; and a kernel can take it by value.
// Takes the file of vectors that tables.py writes.
#include "bijective_walk.hpp"
#include "check.hpp"

#include <algorithm>
#include <fstream>
#include <numeric>
#include <random>
#include <sstream>

static_assert(sizeof(bs::walk) == 272 && std::is_trivially_copyable<bs::walk>::value, "by value");
static_assert(sizeof(bs::walk32) == 128 && std::is_trivially_copyable<bs::walk32>::value, "by value");

// Examples of docs/specification.md, computed by the compiler.
constexpr bs::walk ten(10, 42);
static_assert(ten(0) == 4 && ten(1) == 0 && ten(9) == 2 && ten.inverse(8) == 8 && ten.size() == 10, "");
constexpr bs::walk far(1000000000000, 42);
static_assert(far(0) == 0x245c8b0ad5 && far(15) == 0x70366b4dbb, "");
static_assert(far.inverse(0x70366b4dbb) == 15, "");
static_assert(bs::walk32(1000, 42)(7) == bs::walk(1000, 42)(7), "");
constexpr unsigned char zeros[32] = {};
static_assert(bs::walk::keyed(1000, zeros)(7) != bs::walk(1000, 0)(7), "");
static_assert(!bs::walk32::holds(256) && bs::walk32::holds(257), "");
static_assert(bs::walk32::holds(std::uint64_t{1} << 32) && !bs::walk32::holds((std::uint64_t{1} << 32) + 1), "");
static_assert(bs::walk().empty() && bs::walk(0, 42).empty() && bs::walk(1, 42)(0) == 0, "");
static_assert(*(ten.begin() + 3) == 9 && ten.end() - ten.begin() == 10 && ten.end()[-1] == 2, "");

#if defined(__cpp_lib_ranges)
template <class Walk>
constexpr bool is_range = std::ranges::random_access_range<Walk> && std::ranges::sized_range<Walk> &&
                          std::ranges::common_range<Walk> && std::ranges::view<Walk> &&
                          std::ranges::borrowed_range<Walk> && std::random_access_iterator<typename Walk::iterator>;
static_assert(is_range<bs::walk> && is_range<bs::walk32> && std::ranges::random_access_range<const bs::walk>);
#endif

struct seed_of {
    std::vector<unsigned char> key;
    std::uint64_t number = 0, epoch = 0;

    bs::walk walk(std::uint64_t n) const {
        return key.empty() ? bs::walk(n, number, epoch) : bs::walk::keyed(n, key.data(), epoch);
    }
    bs::walk32 walk32(std::uint64_t n) const {
        return key.empty() ? bs::walk32(n, number, epoch) : bs::walk32::keyed(n, key.data(), epoch);
    }
    bs::permutation permutation(std::uint64_t n) const {
        if (key.empty()) return bs::permutation::walk(n, {number, epoch});
        std::array<std::uint8_t, 32> bytes;
        std::copy(key.begin(), key.end(), bytes.begin());
        return bs::permutation::walk(n, bs::seed(bytes, epoch));
    }
};

// One value, and the way back, in both types.
static void same(const seed_of &seed, std::uint64_t n, const bs::walk &p, std::uint64_t place,
                 std::uint64_t item) {
    CHECK(p(place) == item && p.inverse(item) == place);
    if (bs::walk32::holds(n)) {
        const bs::walk32 q = seed.walk32(n);
        CHECK(q.size() == n);
        CHECK(q(std::uint32_t(place)) == item && q.inverse(std::uint32_t(item)) == place);
    }
}

// The lines of the file: a seed's number or bytes, its epoch, the length, the digest of all values
// or 0, and pairs of a place and its item.
static void vectors(const char *path) {
    std::ifstream file(path);
    unsigned lines = 0;
    for (std::string line; std::getline(file, line); lines++) {
        std::istringstream words(line);
        seed_of seed;
        std::string number;
        std::uint64_t length = 0, digest = 0, place = 0, item = 0;
        words >> number >> seed.epoch >> length >> digest;
        CHECK(bool(words));
        if (number.size() == 64) {
            for (std::size_t k = 0; k < 64; k += 2) {
                seed.key.push_back(static_cast<unsigned char>(std::stoul(number.substr(k, 2), nullptr, 16)));
            }
        } else {
            seed.number = std::stoull(number);
        }
        const bs::walk p = seed.walk(length);
        CHECK(p.size() == length);
        while (words >> place >> item) same(seed, length, p, place, item);
        if (digest != 0) {
            std::uint64_t all = 0xcbf29ce484222325;
            for (std::uint64_t value : p) {
                for (int byte = 0; byte < 8; byte++) all = (all ^ (value >> 8 * byte & 0xff)) * 0x100000001b3;
            }
            CHECK(all == digest);
        }
    }
    CHECK(lines > 40);
}

// Every short length whole, and long ones at their ends and at random places.
static void library() {
    const std::vector<unsigned char> key = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                            16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
    std::mt19937_64 random(7);
    for (std::uint64_t n = 1; n <= 1000; n++) {
        const seed_of seed = {n % 5 == 0 ? key : std::vector<unsigned char>(), random(), n % 3 == 0 ? random() : 0};
        const bs::walk p = seed.walk(n);
        const auto order = seed.permutation(n).to_vector();
        CHECK(p.size() == n && std::equal(p.begin(), p.end(), order.begin(), order.end()));
        for (std::uint64_t place = 0; place < n; place++) same(seed, n, p, place, order[place]);
        // The order of a shuffled array.
        if (n <= 256 || (n & (n - 1)) == 0) {
            if (seed.key.empty()) CHECK(bs::permutation(n, {seed.number, seed.epoch}).to_vector() == order);
        }
    }
    std::vector<std::uint64_t> lengths = {UINT64_MAX, UINT64_MAX - 1, (std::uint64_t{1} << 63) + 1};
    for (int bits = 10; bits <= 63; bits++) {
        const std::uint64_t power = std::uint64_t{1} << bits;
        for (std::uint64_t n : {power - 1, power, power + 1, power + random() % power}) lengths.push_back(n);
    }
    CHECK(lengths.size() > 200);
    for (std::uint64_t n : lengths) {
        const seed_of seed = {n % 5 == 0 ? key : std::vector<unsigned char>(), random(), random()};
        const bs::walk p = seed.walk(n);
        const bs::permutation q = seed.permutation(n);
        same(seed, n, p, 0, q[0]);
        same(seed, n, p, n - 1, q[n - 1]);
        for (int k = 0; k < 30; k++) {
            const std::uint64_t place = random() % n;
            same(seed, n, p, place, q[place]);
        }
    }
}

// As kernels do: the object by value, and whatever index a thread has.
template <class Walk>
static void kernel(const Walk p, const int *from, int *to, std::uint64_t thread) {
    if (thread < p.size()) to[thread] = from[p(typename Walk::value_type(thread))];
}

static void uses() {
    const bs::walk32 p(1000, 42, 3);
    std::vector<int> items(1000), moved(1000), copied(1000);
    std::iota(items.begin(), items.end(), 0);
    for (std::uint64_t thread = 0; thread < 1024; thread++) kernel(p, items.data(), moved.data(), thread);
    std::transform(p.begin(), p.end(), copied.begin(), [&](std::uint32_t x) { return items[x]; });
    CHECK(moved == copied && moved != items && std::is_permutation(moved.begin(), moved.end(), items.begin()));
    CHECK(std::vector<std::uint32_t>(p.begin(), p.end()).size() == 1000);

    // Sums, searches and steps of an iterator.
    auto at = p.begin();
    CHECK(*at++ == p(0) && *at == p(1) && *--at == p(0) && at == p.begin() && 5 + at - 5 == at);
    CHECK(at < p.end() && p.end() > at && at <= at && at >= at && at != p.end() && at[7] == p(7));
    at += 10;
    CHECK(*at-- == p(10) && (at -= 9) == p.begin());
    std::uint64_t sum = std::accumulate(p.begin(), p.end(), std::uint64_t{0});
    CHECK(sum == 1000 * 999 / 2);
    CHECK(std::find(p.begin(), p.end(), 77u) - p.begin() == p.inverse(77));
    // An iterator outlives the object.
    const auto last = std::prev(bs::walk(10, 42).end());
    CHECK(*last == 2);

#if defined(HAS_VIEWS)
    namespace views = std::views;
    std::vector<std::uint64_t> part;
    for (std::uint64_t x : bs::walk(1000000000000, 42) | views::drop(1000000000) | views::take(3)) part.push_back(x);
    const bs::walk whole(1000000000000, 42);
    CHECK(part.size() == 3 && part[2] == whole(1000000002));
    CHECK(std::ranges::equal(ten | views::reverse | views::take(2), std::vector<int>{2, 8}));
    CHECK(std::ranges::find(bs::walk(10, 42), 9u) - ten.begin() == 3);
    std::vector<int> gathered;
    std::ranges::copy(p | views::transform([&](std::uint32_t x) { return items[x]; }), std::back_inserter(gathered));
    CHECK(gathered == moved);
#endif
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    vectors(arguments[1]);
    library();
    uses();
    std::printf("%lu checks of single indexes\n", checked);
}
