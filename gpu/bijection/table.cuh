// A permutation of at most 256 points, stored as a table; see crates/core/src/bijection/table.rs.
// In a composition with a wrong bijection it may be called for points that it does not have.
#ifndef BIJECTIVE_SHUFFLE_TABLE
#define BIJECTIVE_SHUFFLE_TABLE

namespace bijective_shuffle {

// One struct for all lengths, so that one kernel serves them all.
struct alignas(8) Table {
    uint64_t len;
    uint8_t values[256], slots[256];

    __device__ __forceinline__ uint64_t forward(uint64_t slot) const { return values[slot < len ? slot : 0]; }
    __device__ __forceinline__ uint64_t inverse(uint64_t index) const { return slots[index < len ? index : 0]; }
};

}  // namespace bijective_shuffle

#endif
