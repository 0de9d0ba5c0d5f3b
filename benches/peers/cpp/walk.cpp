// Times single indexes by crates/c/include/bijective_walk.hpp on one thread, beside `std::shuffle`
// of an index array. Prints rows as CSV: see ../README.md.

#include <bijective_walk.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "../cuda/rows.h"

namespace {

#if defined(__clang__)
const std::string COMPILER = "clang " + std::to_string(__clang_major__);
#else
const std::string COMPILER = "gcc " + std::to_string(__GNUC__);
#endif

constexpr int REPEATS = 25;
// A sample computes about so many indexes, so that short orders are computed several times.
constexpr std::uint64_t INDEXES = 1 << 18;

std::string processor() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        if (line.rfind("model name", 0) == 0) {
            return line.substr(line.find(": ") + 2);
        }
    }
    return "unknown processor";
}

// The nanoseconds that one of `count` indexes takes, the least of the samples: what else the
// machine does only adds to them. What a call returns has to be the sum of `count` numbers.
template <class Call>
double nanoseconds(std::uint64_t count, std::uint64_t expected, const Call &call) {
    const std::uint64_t calls = std::max<std::uint64_t>(INDEXES / count, 1);
    double least = std::numeric_limits<double>::infinity();
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        const auto begin = std::chrono::steady_clock::now();
        std::uint64_t sum = 0;
        for (std::uint64_t k = 0; k < calls; k++) {
            sum += call();
        }
        const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
        if (expected != 0 && sum != expected * calls) {
            throw std::runtime_error("the sum of all indexes is wrong");
        }
        least = std::min(least, took.count() / double(calls * count));
    }
    return least;
}

// The sum of p(i) over i from 0 on; the compiler cannot know the order.
template <class Walk>
std::uint64_t sum_of(const Walk &p, std::uint64_t count) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < count; i++) {
        sum += p(typename Walk::value_type(i));
    }
    return sum;
}

template <class Walk>
std::uint64_t sum_of_places(const Walk &p, std::uint64_t count) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < count; i++) {
        sum += p.inverse(typename Walk::value_type(i));
    }
    return sum;
}

void measure(const peers::Origin &origin, std::uint64_t n) {
    const auto row = [&](const char *name, double time) {
        origin.print({name, COMPILER, std::to_string(n), peers::digits(time, 4)});
    };
    const bool is_whole = n <= INDEXES + 1;
    const std::uint64_t count = is_whole ? n : INDEXES;
    const std::uint64_t all = is_whole ? n * (n - 1) / 2 : 0;
    const bijective_shuffle::walk p(n, 42);
    row("walk", nanoseconds(count, all, [&] { return sum_of(p, count); }));
    row("walk, inverse", nanoseconds(count, all, [&] { return sum_of_places(p, count); }));
    if (bijective_shuffle::walk32::holds(n)) {
        const bijective_shuffle::walk32 q(n, 42);
        row("walk32", nanoseconds(count, all, [&] { return sum_of(q, count); }));
        row("walk32, inverse", nanoseconds(count, all, [&] { return sum_of_places(q, count); }));
    }
    if (n <= (1 << 24) + 1) {
        std::vector<std::uint32_t> indexes(n);
        std::mt19937_64 random(42);
        row("std::shuffle", nanoseconds(n, 1, [&] {
                std::iota(indexes.begin(), indexes.end(), 0u);
                std::shuffle(indexes.begin(), indexes.end(), random);
                return std::uint64_t(indexes[0] < n);
            }));
    }
}

} // namespace

int main() {
    try {
        const peers::Origin origin(processor());
        std::printf("# $ cpp/walk\n# one thread, the sum of all indexes, or of the first 2^18 of more than 2^18 + 1\n");
        std::printf("# nanoseconds: of one index, least of %d samples of about 2^18; std::shuffle with "
                    "std::mt19937_64 includes writing the indexes in order\n",
                    REPEATS);
        peers::Origin::print_head("name,compiler,length,nanoseconds");
        for (const int bits : {8, 12, 16, 20, 24, 40}) {
            measure(origin, std::uint64_t(1) << bits);
            measure(origin, (std::uint64_t(1) << bits) + 1);
        }
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
