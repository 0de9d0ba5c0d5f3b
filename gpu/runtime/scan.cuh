// Prefix sums over a block, and over the counts of buckets or tiles.
#ifndef BIJECTIVE_SHUFFLE_SCAN
#define BIJECTIVE_SHUFFLE_SCAN

namespace bijective_shuffle {

// The exclusive prefix sum over the threads of a block. `sums` has room for 32 words.
template <int THREADS>
__device__ __forceinline__ uint32_t exclusive_sum(uint32_t value, uint32_t* sums) {
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint32_t sum = value;
    for (int step = 1; step < 32; step *= 2) {
        const uint32_t other = __shfl_up_sync(FULL_WARP, sum, step);
        if (lane >= step) sum += other;
    }
    if (lane == 31) sums[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        uint32_t all = lane < THREADS / 32 ? sums[lane] : 0;
        for (int step = 1; step < 32; step *= 2) {
            const uint32_t other = __shfl_up_sync(FULL_WARP, all, step);
            if (lane >= step) all += other;
        }
        if (lane < THREADS / 32) sums[lane] = all;
    }
    __syncthreads();
    return sum - value + (warp == 0 ? 0 : sums[warp - 1]);
}

// Sets words to zero. It is a kernel because the driver may refuse a memset in a capture.
__device__ __forceinline__ void clear_words(uint32_t* words, uint64_t len) {
    for (uint64_t k = blockIdx.x * uint64_t(blockDim.x) + threadIdx.x; k < len; k += uint64_t(gridDim.x) * blockDim.x)
        words[k] = 0;
}

// Computes where each bucket or tile begins in the output. Runs as a single block.
template <int THREADS>
__device__ __forceinline__ void scan_counts(const uint32_t* counts, uint32_t len, uint64_t* bases) {
    __shared__ uint32_t sums[32];
    __shared__ uint64_t shared_base;
    if (threadIdx.x == 0) shared_base = 0;
    constexpr uint32_t EACH = 4;
    for (uint32_t first = 0; first < len; first += THREADS * EACH) {
        __syncthreads();
        const uint64_t base = shared_base;
        const uint32_t from = first + threadIdx.x * EACH;
        uint32_t own[EACH], all = 0;
        for (uint32_t k = 0; k < EACH; ++k) all += own[k] = from + k < len ? counts[from + k] : 0;
        uint64_t sum = base + exclusive_sum<THREADS>(all, sums);
        for (uint32_t k = 0; k < EACH; ++k) {
            if (from + k < len) bases[from + k] = sum;
            sum += own[k];
        }
        if (threadIdx.x == THREADS - 1) shared_base = sum;
    }
}

}  // namespace bijective_shuffle

#endif
