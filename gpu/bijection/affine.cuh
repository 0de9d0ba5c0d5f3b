// x -> A x ^ c over GF(2) on 2^BITS points; see crates/affine/src/map.rs. For up to 32 bits, the
// low halves of the words are enough.
#ifndef BIJECTIVE_SHUFFLE_AFFINE
#define BIJECTIVE_SHUFFLE_AFFINE

namespace bijective_shuffle {

template <int BITS>
struct Affine {
    static constexpr int COLUMNS = BITS == 0 ? 1 : BITS;
    using Point = typename Select<(BITS <= 32), uint32_t, uint64_t>::type;

    uint64_t columns[COLUMNS], offset, undo[COLUMNS], undo_offset;

    static __device__ __forceinline__ uint64_t product(const uint64_t (&columns)[COLUMNS], uint64_t x,
                                                               uint64_t offset) {
        Point value = Point(offset);
        BIJECTIVE_SHUFFLE_UNROLL
        for (int j = 0; j < BITS; ++j) value ^= (x >> j & 1) != 0 ? Point(columns[j]) : Point(0);
        return value;
    }

    __device__ __forceinline__ uint64_t forward(uint64_t slot) const { return product(columns, slot, offset); }
    __device__ __forceinline__ uint64_t inverse(uint64_t index) const { return product(undo, index, undo_offset); }
};

}  // namespace bijective_shuffle

#endif
