// Keyed affine maps alternating with xorshifts, on 2^BITS points; see src/bijection/mul_xorshift.
#ifndef BIJECTIVE_SHUFFLE_MUL_XORSHIFT
#define BIJECTIVE_SHUFFLE_MUL_XORSHIFT

namespace bijective_shuffle {

template <int BITS, int ROUNDS>
struct MulXorshift {
    // Arithmetic modulo 2^BITS, in the narrower word that has as many bits. Bits above BITS are
    // masked only at the end, and where a shift would bring them down.
    using Word = typename Select<(BITS <= 32), uint32_t, uint64_t>::type;

    static constexpr int SHIFT = (BITS + 1) / 2;
    static constexpr uint64_t MASK = low_mask(BITS);
    static constexpr int KEYS = ROUNDS == 0 ? 1 : ROUNDS;

    // `undo_increments` are what the inverse adds after its multiplication: -increment * undo.
    uint64_t multipliers[KEYS], increments[KEYS], undo[KEYS], undo_increments[KEYS];

    static __device__ __forceinline__ Word xorshift(Word x, int round) {
        const int shift = SHIFT + (round & 1);
        return x ^ ((x >> shift) & Word(MASK >> shift));
    }

    __device__ __forceinline__ uint64_t forward(uint64_t slot) const {
        Word x = xorshift(Word(slot), 1);
        BIJECTIVE_SHUFFLE_UNROLL
        for (int round = 0; round < ROUNDS; ++round) {
            x = xorshift(x * Word(multipliers[round]) + Word(increments[round]), round);
        }
        return x & Word(MASK);
    }

    __device__ __forceinline__ uint64_t inverse(uint64_t index) const {
        Word x = Word(index);
        BIJECTIVE_SHUFFLE_UNROLL
        for (int round = ROUNDS - 1; round >= 0; --round) {
            x = xorshift(x, round) * Word(undo[round]) + Word(undo_increments[round]);
        }
        return xorshift(x, 1) & Word(MASK);
    }
};

}  // namespace bijective_shuffle

#endif
