// Random numbers by counter: any thread can have any number of a stream, and nothing is kept
// between them.
#pragma once

#include <cstdint>

namespace peers {

// The output function of SplitMix64 (Steele, Lea, Flood, 2014): a bijection that spreads every bit.
__host__ __device__ inline std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

// Number `counter` of the stream `seed`. Those of one stream are all different.
__host__ __device__ inline std::uint64_t random_word(std::uint64_t seed, std::uint64_t counter) {
    return mix(seed + 0x9e3779b97f4a7c15u * (counter + 1));
}

} // namespace peers
