// One step of a linear congruential generator on 2^BITS points; see
// crates/core/src/bijection/lcg.rs.
#ifndef BIJECTIVE_SHUFFLE_LCG
#define BIJECTIVE_SHUFFLE_LCG

namespace bijective_shuffle {

template <int BITS>
struct Lcg {
    uint64_t multiplier, increment, undo;

    __device__ __forceinline__ uint64_t forward(uint64_t slot) const {
        return (multiplier * slot + increment) & low_mask(BITS);
    }

    __device__ __forceinline__ uint64_t inverse(uint64_t index) const {
        return ((index - increment) * undo) & low_mask(BITS);
    }
};

}  // namespace bijective_shuffle

#endif
