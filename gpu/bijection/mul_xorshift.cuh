// Keyed affine maps alternating with xorshifts, on 2^b points; see
// crates/core/src/bijection/mul_xorshift.
#ifndef BIJECTIVE_SHUFFLE_MUL_XORSHIFT
#define BIJECTIVE_SHUFFLE_MUL_XORSHIFT

namespace bijective_shuffle {

// Arithmetic is modulo 2^b in `N`, the narrower word that has b bits. Bits above b are masked only
// at the end, and where a shift would bring them down. The width b is a parameter, so that one
// kernel serves all widths of a word; as operands of an instruction its masks and shifts cost what
// constants would.
template <class N, int ROUNDS>
struct MulXorshift {
    static constexpr int KEYS = ROUNDS == 0 ? 1 : ROUNDS;

    // The shifts are (b + 1) / 2 and one more; `below` are the bits of the domain that each leaves,
    // at most 32.
    struct Width {
        uint64_t last;
        uint32_t shifts[2], below[2];
    };

    Width width;
    // `undo_increments` are what the inverse adds after its multiplication: -increment * undo.
    uint64_t multipliers[KEYS], increments[KEYS], undo[KEYS], undo_increments[KEYS];

    __device__ __forceinline__ N xorshift(N x, int round) const {
        return x ^ (uint32_t(x >> width.shifts[round & 1]) & width.below[round & 1]);
    }

    __device__ __forceinline__ uint64_t forward(uint64_t slot) const {
        N x = xorshift(N(slot), 1);
        BIJECTIVE_SHUFFLE_UNROLL
        for (int round = 0; round < ROUNDS; ++round) {
            x = xorshift(x * N(multipliers[round]) + N(increments[round]), round);
        }
        return x & N(width.last);
    }

    __device__ __forceinline__ uint64_t inverse(uint64_t index) const {
        N x = N(index);
        BIJECTIVE_SHUFFLE_UNROLL
        for (int round = ROUNDS - 1; round >= 0; --round) {
            x = xorshift(x, round) * N(undo[round]) + N(undo_increments[round]);
        }
        return xorshift(x, 1) & N(width.last);
    }
};

}  // namespace bijective_shuffle

#endif
