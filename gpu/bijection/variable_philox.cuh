// VariablePhilox on 2^b points; see src/bijection/variable_philox.
#ifndef BIJECTIVE_SHUFFLE_VARIABLE_PHILOX
#define BIJECTIVE_SHUFFLE_VARIABLE_PHILOX

namespace bijective_shuffle {

// The width is a template argument: as a parameter it takes registers, which costs the partitioned
// strategy, whose threads evaluate many slots side by side, up to a tenth of its speed.
template <int BITS, int ROUNDS>
struct alignas(8) VariablePhilox {
    using N = typename Select<(BITS <= 32), uint32_t, uint64_t>::type;
    static constexpr int LEFT_BITS = BITS / 2, RIGHT_BITS = BITS - LEFT_BITS;
    static constexpr bool ODD = LEFT_BITS != RIGHT_BITS;
    static constexpr uint32_t LEFT_MASK = uint32_t(low_mask(LEFT_BITS)), RIGHT_MASK = uint32_t(low_mask(RIGHT_BITS));
    static constexpr uint64_t MULTIPLIER = 0xD2B74407B1CE6E93ull;
    static constexpr uint32_t UNDO = 0x212BDF9Bu;  // the inverse of the multiplier modulo 2^32
    static_assert(uint32_t(MULTIPLIER) * UNDO == 1, "the multiplier's inverse");

    // One key of `LEFT_BITS` bits for each round. Their number is rounded up to an even one, so
    // that the size is a multiple of 8 bytes.
    uint32_t keys[ROUNDS == 0 ? 2 : (ROUNDS + 1) / 2 * 2];

    // The high word of the product of the multiplier and a half of the index.
    static __device__ __forceinline__ uint32_t high(uint32_t half) {
        return uint32_t(MULTIPLIER >> 32) * half + uint32_t((uint64_t(uint32_t(MULTIPLIER)) * half) >> 32);
    }

    // The right half already includes the next round's key, which saves an instruction for each
    // round.
    __device__ __forceinline__ uint64_t forward(uint64_t slot) const {
        uint32_t left = uint32_t(N(slot) >> RIGHT_BITS), keyed = (uint32_t(slot) & RIGHT_MASK) ^ keys[0];
        BIJECTIVE_SHUFFLE_UNROLL
        for (int round = 0; round < ROUNDS; ++round) {
            const uint64_t product = MULTIPLIER * left;
            const uint32_t top = ODD ? uint32_t(uint64_t(keyed) >> LEFT_BITS) : 0;
            const uint32_t key = round + 1 < ROUNDS ? keys[round + 1] : 0;
            left = (uint32_t(product >> 32) ^ keyed) & LEFT_MASK;
            keyed = (((uint32_t(product) << ODD) + top) & RIGHT_MASK) ^ key;
        }
        return N(left) << RIGHT_BITS | keyed;
    }

    // Only as many bits of the right half are used as it is wide, so the bits above are not masked.
    __device__ __forceinline__ uint64_t inverse(uint64_t index) const {
        uint32_t left = uint32_t(N(index) >> RIGHT_BITS), right = uint32_t(index);
        BIJECTIVE_SHUFFLE_UNROLL
        for (int round = ROUNDS - 1; round >= 0; --round) {
            const uint32_t old_left = ((right >> ODD) * UNDO) & LEFT_MASK;
            const uint32_t old_right = high(old_left) ^ keys[round] ^ left;
            right = ODD ? (old_right & LEFT_MASK) | uint32_t(uint64_t(right) << LEFT_BITS) : old_right;
            left = old_left;
        }
        return N(left) << RIGHT_BITS | (right & RIGHT_MASK);
    }
};

}  // namespace bijective_shuffle

#endif
