// A permutation of LEN points, at most 256, stored as a table; see src/bijection/table.rs. In a
// composition with a wrong bijection it may be called for points that it does not have.
#ifndef BIJECTIVE_SHUFFLE_TABLE
#define BIJECTIVE_SHUFFLE_TABLE

namespace bijective_shuffle {

template <int LEN>
struct alignas(8) Table {
    uint8_t values[(LEN + 7) / 8 * 8], slots[(LEN + 7) / 8 * 8];

    __device__ __forceinline__ uint64_t forward(uint64_t slot) const { return values[slot < LEN ? slot : 0]; }
    __device__ __forceinline__ uint64_t inverse(uint64_t index) const { return slots[index < LEN ? index : 0]; }
};

}  // namespace bijective_shuffle

#endif
