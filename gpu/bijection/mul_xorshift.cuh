// Keyed affine maps and xorshifts in turn on 2^BITS points; see src/bijection/mul_xorshift.rs.
#ifndef BIJECTIVE_SHUFFLE_MUL_XORSHIFT
#define BIJECTIVE_SHUFFLE_MUL_XORSHIFT

namespace bijective_shuffle {

template <int BITS, int ROUNDS>
struct MulXorshift {
    static constexpr int SHIFT = (BITS + 1) / 2;
    static constexpr uint64_t MASK = low_mask(BITS);

    static constexpr int KEYS = ROUNDS == 0 ? 1 : ROUNDS;

    uint64_t multipliers[KEYS], increments[KEYS], undo[KEYS];

    static __device__ __forceinline__ uint64_t xorshift(uint64_t x, int round) { return x ^ (x >> (SHIFT + (round & 1))); }

    __device__ __forceinline__ uint64_t forward(uint64_t slot) const {
        uint64_t x = xorshift(slot, 1);
        for (int round = 0; round < ROUNDS; ++round) {
            x = xorshift((x * multipliers[round] + increments[round]) & MASK, round);
        }
        return x;
    }

    __device__ __forceinline__ uint64_t inverse(uint64_t index) const {
        uint64_t x = index;
        for (int round = ROUNDS - 1; round >= 0; --round) {
            x = ((xorshift(x, round) - increments[round]) * undo[round]) & MASK;
        }
        return xorshift(x, 1);
    }
};

}  // namespace bijective_shuffle

#endif
