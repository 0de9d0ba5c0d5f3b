// Two ways to compact in one kernel where the device holds all tiles at once: every tile evaluates
// its slots, publishes its count, and adds up all counts before it in one round trip, instead of
// looking back 32 tiles at a time. A tile is a block, and its number the block's: without a ticket
// this is right only if all blocks run at the same time. It follows the device header and the text
// of the bijection F.

using namespace bijective_shuffle;

struct Job {
    uint64_t len;
    const uint64_t* source;
    uint64_t* out;
    uint64_t* status;  // a word for each block or cluster: the launch's number and a count
    uint64_t epoch;
};

constexpr int WARPS = THREADS / 32;

__device__ __forceinline__ uint64_t relaxed(const uint64_t* word) {
    uint64_t value;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
}

__device__ __forceinline__ void publish(uint64_t* word, uint64_t epoch, uint32_t count) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(word), "l"(epoch << 32 | count) : "memory");
}

__device__ __forceinline__ uint32_t sum_of_warp(uint32_t value) {
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
    return value;
}

// The counts of the words before `number`, which the block's threads read at the same time.
__device__ __forceinline__ uint32_t counts_before(const Job& job, uint32_t number, uint32_t* sums) {
    uint32_t sum = 0;
    for (uint32_t k = threadIdx.x; k < number; k += THREADS) {
        uint64_t word;
        do word = relaxed(job.status + k);
        while (word >> 32 != job.epoch);
        sum += uint32_t(word);
    }
    sum = sum_of_warp(sum);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    uint32_t all = 0;
    for (int warp = 0; warp < WARPS; ++warp) all += sums[warp];
    return all;
}

#if CLUSTER > 1
// Survivors of the blocks of the cluster before this one, and of the whole cluster, by distributed
// shared memory.
__device__ __forceinline__ uint32_t share(uint32_t own, uint32_t* of_cluster, uint32_t rank, uint32_t& all) {
    // All blocks of the cluster have started.
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (threadIdx.x < CLUSTER) {
        const uint32_t local = uint32_t(__cvta_generic_to_shared(of_cluster + rank));
        uint32_t remote;
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(local), "r"(threadIdx.x));
        asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(remote), "r"(own) : "memory");
    }
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    uint32_t before = 0;
    all = 0;
    for (uint32_t k = 0; k < CLUSTER; ++k) {
        before += k < rank ? of_cluster[k] : 0;
        all += of_cluster[k];
    }
    return before;
}
#endif

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
#if CLUSTER > 1
__cluster_dims__(CLUSTER, 1, 1)
#endif
between(const __grid_constant__ F f, const __grid_constant__ Job job) {
    __shared__ uint32_t counts[WARPS], sums[WARPS];
#if CLUSTER > 1
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, lower = (1u << lane) - 1;
    const uint32_t first = (blockIdx.x * WARPS + warp) * (32 * SLOTS) + lane;
    uint32_t index[SLOTS], place[SLOTS], count = 0;
#pragma unroll
    for (int k = 0; k < SLOTS; ++k) {
        index[k] = uint32_t(f.forward(first + 32 * k));
        const uint32_t survivors = __ballot_sync(~0u, index[k] < job.len);
        place[k] = count + __popc(survivors & lower);
        count += __popc(survivors);
    }
    if (lane == 0) counts[warp] = count;
    __syncthreads();
    uint32_t before = 0, own = 0;
#pragma unroll
    for (int k = 0; k < WARPS; ++k) {
        before += k < int(warp) ? counts[k] : 0;
        own += counts[k];
    }
#if CLUSTER > 1
    __shared__ uint32_t of_cluster[CLUSTER];
    const uint32_t rank = blockIdx.x % CLUSTER, number = blockIdx.x / CLUSTER;
    uint32_t all;
    before += share(own, of_cluster, rank, all);
    if (rank == 0 && threadIdx.x == 0) publish(job.status + number, job.epoch, all);
#else
    const uint32_t number = blockIdx.x;
    if (threadIdx.x == 0) publish(job.status + number, job.epoch, own);
#endif
    // The loads are in flight while the other counts arrive.
    uint64_t value[SLOTS];
#pragma unroll
    for (int k = 0; k < SLOTS; ++k) {
        if (index[k] < job.len) value[k] = job.source[index[k]];
    }
    before += counts_before(job, number, sums);
#pragma unroll
    for (int k = 0; k < SLOTS; ++k) {
        if (index[k] < job.len) job.out[before + place[k]] = value[k];
    }
}
