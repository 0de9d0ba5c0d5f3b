// The check of a bijection that is not trusted.
#ifndef BIJECTIVE_SHUFFLE_CHECK
#define BIJECTIVE_SHUFFLE_CHECK

namespace bijective_shuffle {

// Sets `repeats` if an index comes twice or is not below `len`. Does nothing if the number of
// survivors is not `len`. `seen` has a bit for each index, initially all zero.
template <class N>
__device__ __forceinline__ void find_repeats(const N* indexes, uint64_t len, const TileStates* states, uint32_t* seen,
                                             uint32_t* repeats) {
    if (states->total != len) return;
    for (uint64_t k = blockIdx.x * uint64_t(blockDim.x) + threadIdx.x; k < len; k += uint64_t(gridDim.x) * blockDim.x) {
        const uint64_t index = indexes[k];
        const uint32_t bit = 1u << index % 32;
        if (index >= len || (atomicOr(seen + index / 32, bit) & bit)) *repeats = 1;
    }
}

}  // namespace bijective_shuffle

#endif
