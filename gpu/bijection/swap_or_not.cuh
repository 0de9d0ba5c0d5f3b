// Swap-or-not within sometimes-recurse, on at most 2^32 points; see
// crates/core/src/bijection/swap_or_not.
#ifndef BIJECTIVE_SHUFFLE_SWAP_OR_NOT
#define BIJECTIVE_SHUFFLE_SWAP_OR_NOT

#include "rng/philox4x32.cuh"

namespace bijective_shuffle {

// `BATCHES` is how many the level with the most has, or 1.
template <int BATCHES>
struct alignas(8) SwapOrNot {
    static constexpr int ROUNDS = 5, WINDOW = 9;

    struct Batch {
        uint32_t keys[ROUNDS];
        // A pivot in the lowest `WINDOW` bits, and above them what it adds to a point's name.
        uint16_t pivots[ROUNDS];
        uint16_t unused;
    };

    uint64_t key;
    uint32_t salt, last;
    // The number of batches of the levels with `WINDOW` bits, with one bit more, and so on.
    uint8_t batches[32 - WINDOW + 1];
    // The permutation of the first points, and its inverse.
    uint8_t first[256], first_inverse[256];
    Batch all[BATCHES];

    // Moves a point by one batch of a level whose last point is `end`.
    template <bool INVERSE>
    __device__ __forceinline__ uint32_t mix(uint32_t point, int width, int number, uint32_t end) const {
        const Batch& batch = all[number];
        const uint32_t mask = uint32_t(low_mask(width));
        uint32_t name = 0;
        BIJECTIVE_SHUFFLE_UNROLL
        for (int k = 0; k < ROUNDS; ++k) {
            const uint32_t pivot = batch.pivots[k];
            name ^= (point & pivot & ((1u << WINDOW) - 1)) != 0 ? pivot >> WINDOW : 0;
        }
        uint32_t words[4] = {point, 0, uint32_t(width) << 24 | uint32_t(number), salt};
        BIJECTIVE_SHUFFLE_UNROLL
        for (int round = 0; round < ROUNDS; ++round) {
            words[0] ^= (name >> round & 1) != 0 ? batch.keys[round] & mask : 0;
        }
        philox4x32<10>(key, words);
        // The bit of the round is always the same one of the name, which turns by a bit a round.
        BIJECTIVE_SHUFFLE_UNROLL
        for (int step = 0; step < ROUNDS; ++step) {
            const int round = INVERSE ? ROUNDS - 1 - step : step;
            const uint32_t pair = INVERSE ? name & 15 : name >> 1;
            const uint32_t partner = point ^ (batch.keys[round] & mask);
            const bool swaps = (words[round / 2] >> (round % 2 * 16 + pair) & 1) != 0 && partner <= end;
            point = swaps ? partner : point;
            name = INVERSE ? pair << 1 | (name >> 4 ^ uint32_t(swaps)) : pair | ((name ^ uint32_t(swaps)) & 1) << 4;
        }
        return point;
    }

    // The last point of a level. Widths above the widest level's have no batches.
    __device__ __forceinline__ uint32_t level_end(int width) const {
        const uint32_t mask = uint32_t(low_mask(width));
        return last < mask ? last : mask;
    }

    __device__ __forceinline__ uint64_t forward(uint64_t slot) const {
        uint32_t point = uint32_t(slot);
        for (int width = 32; width >= WINDOW; --width) {
            const uint32_t end = level_end(width);
            if (point > end) {
                break;
            }
            const int count = batches[width - WINDOW];
            for (int number = 0; number < count; ++number) {
                point = mix<false>(point, width, number, end);
            }
        }
        return point < 256 ? first[point] : point;
    }

    __device__ __forceinline__ uint64_t inverse(uint64_t index) const {
        uint32_t point = uint32_t(index);
        point = point < 256 ? first_inverse[point] : point;
        for (int width = WINDOW; width <= 32; ++width) {
            const uint32_t end = level_end(width);
            if (point > end) {
                continue;
            }
            for (int number = int(batches[width - WINDOW]) - 1; number >= 0; --number) {
                point = mix<true>(point, width, number, end);
            }
        }
        return point;
    }
};

}  // namespace bijective_shuffle

#endif
