// VariablePhilox on 2^b points; see src/bijection/variable_philox.
#ifndef BIJECTIVE_SHUFFLE_VARIABLE_PHILOX
#define BIJECTIVE_SHUFFLE_VARIABLE_PHILOX

namespace bijective_shuffle {

// The width b is a parameter, so that one kernel serves every other width of a word. Whether b is
// odd is not, since an even width needs fewer instructions. `N` is the narrower word that has b
// bits.
template <class N, bool ODD, int ROUNDS>
struct alignas(8) VariablePhilox {
    static constexpr uint64_t MULTIPLIER = 0xD2B74407B1CE6E93ull;
    static constexpr uint32_t UNDO = 0x212BDF9Bu;  // the inverse of the multiplier modulo 2^32
    static_assert(uint32_t(MULTIPLIER) * UNDO == 1, "the multiplier's inverse");

    uint32_t left_bits, right_bits, left_mask, right_mask;
    // One key of `left_bits` bits for each round. Their number is rounded up to an even one, so
    // that the size is a multiple of 8 bytes.
    uint32_t keys[ROUNDS == 0 ? 2 : (ROUNDS + 1) / 2 * 2];

    // The high word of the product of the multiplier and a half of the index.
    static __device__ __forceinline__ uint32_t high(uint32_t half) {
        return uint32_t(MULTIPLIER >> 32) * half + uint32_t((uint64_t(uint32_t(MULTIPLIER)) * half) >> 32);
    }

    // The right half already includes the next round's key, which saves an instruction for each
    // round. For an even width its bits above are masked only at the end: until then they would
    // change only bits of the left half that are masked anyway. For an odd width one of them would
    // be shifted down.
    __device__ __forceinline__ uint64_t forward(uint64_t slot) const {
        uint32_t left = uint32_t(N(slot) >> right_bits), keyed = uint32_t(slot) ^ keys[0];
        if (ODD) keyed &= right_mask;
        BIJECTIVE_SHUFFLE_UNROLL
        for (int round = 0; round < ROUNDS; ++round) {
            const uint64_t product = MULTIPLIER * left;
            const uint32_t top = ODD ? keyed >> left_bits : 0;
            const uint32_t key = round + 1 < ROUNDS ? keys[round + 1] : 0;
            left = (uint32_t(product >> 32) ^ keyed) & left_mask;
            keyed = ((uint32_t(product) << ODD) + top) ^ key;
            if (ODD) keyed &= right_mask;
        }
        return N(left) << right_bits | (keyed & right_mask);
    }

    // Only as many bits of the right half are used as it is wide, so the bits above are not masked.
    __device__ __forceinline__ uint64_t inverse(uint64_t index) const {
        uint32_t left = uint32_t(N(index) >> right_bits), right = uint32_t(index);
        BIJECTIVE_SHUFFLE_UNROLL
        for (int round = ROUNDS - 1; round >= 0; --round) {
            const uint32_t old_left = ((right >> ODD) * UNDO) & left_mask;
            const uint32_t old_right = high(old_left) ^ keys[round] ^ left;
            right = ODD ? (old_right & left_mask) | right << left_bits : old_right;
            left = old_left;
        }
        return N(left) << right_bits | (right & right_mask);
    }
};

}  // namespace bijective_shuffle

#endif
