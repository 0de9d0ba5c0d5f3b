// A short array that is moved within its own memory by one block, which has read every item before
// it writes the first.
#ifndef BIJECTIVE_SHUFFLE_IN_BLOCK
#define BIJECTIVE_SHUFFLE_IN_BLOCK

namespace bijective_shuffle {

// Moves `len` items, the survivors among at most THREADS * PER_THREAD slots. The bijection is
// trusted, so there are exactly `len` survivors.
template <class Index, int THREADS, int PER_THREAD, Direction DIRECTION, class F, class T>
__device__ __forceinline__ void move_in_block(const F& f, uint64_t last, uint64_t len, T* items) {
    constexpr bool BACK = DIRECTION == Direction::Unshuffle;
    constexpr int WARPS = THREADS / 32;
    __shared__ Index packed[WARPS][32 * PER_THREAD + 32];
    __shared__ uint32_t counts[WARPS];
    const uint32_t warp = uniform(threadIdx.x / 32), lane = threadIdx.x % 32;
    const Index* const indexes = packed[warp];
    const uint32_t count = pack_part<Index, THREADS, PER_THREAD>(f, 0, warp, last, len, packed[warp]);
    if (lane == 0) counts[warp] = count;
    __syncthreads();
    const uint32_t rank = warp_sum(lane < warp ? counts[lane] : 0);
    T value[PER_THREAD];
    BIJECTIVE_SHUFFLE_UNROLL
    for (int k = 0; k < PER_THREAD; ++k) {
        const uint32_t j = 32 * k + lane;
        if (j < count) value[k] = items[BACK ? rank + j : indexes[j]];
    }
    // From here on all items are in registers.
    __syncthreads();
    BIJECTIVE_SHUFFLE_UNROLL
    for (int k = 0; k < PER_THREAD; ++k) {
        const uint32_t j = 32 * k + lane;
        if (j < count) items[BACK ? indexes[j] : rank + j] = value[k];
    }
}

}  // namespace bijective_shuffle

#endif
