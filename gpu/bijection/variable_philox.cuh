// VariablePhilox on 2^b points; see crates/core/src/bijection/variable_philox.
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

    // A word shifted by one bit to the left, with the top bit of the next word at its end.
    static __device__ __forceinline__ uint32_t funnel(uint32_t word, uint32_t next) {
#if defined(__CUDA_ARCH__)
        return __funnelshift_l(next, word, 1);
#else
        return word << 1 | next >> 31;
#endif
    }

    // The right half already includes the next round's key, which saves an instruction for each
    // round. The bits above it are not masked: an instruction has room for the mask or for the key,
    // and the key would have to be loaded first. So where the halves differ in width, only the top
    // bit of the right half is taken, by moving it to the top of a word and funnelling it in.
    __device__ __forceinline__ uint64_t forward(uint64_t slot) const {
        uint32_t left = uint32_t(N(slot) >> RIGHT_BITS), keyed = uint32_t(slot) ^ keys[0];
        BIJECTIVE_SHUFFLE_UNROLL
        for (int round = 0; round < ROUNDS; ++round) {
            const uint64_t product = MULTIPLIER * left;
            const uint32_t low = uint32_t(product);
            const uint32_t next = ODD ? funnel(low, keyed << (31 - LEFT_BITS)) : low;
            left = (uint32_t(product >> 32) ^ keyed) & LEFT_MASK;
            keyed = round + 1 < ROUNDS ? next ^ keys[round + 1] : next;
        }
        return N(left) << RIGHT_BITS | (keyed & RIGHT_MASK);
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
