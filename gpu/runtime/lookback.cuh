// Decoupled look-back (Merrill & Garland, 2016): the tiles of one kernel find out how many
// survivors there are before them, without a second pass. lookback.md argues that it is correct.
#ifndef BIJECTIVE_SHUFFLE_LOOKBACK
#define BIJECTIVE_SHUFFLE_LOOKBACK

namespace bijective_shuffle {

constexpr uint32_t FULL_WARP = ~0u;

__device__ __forceinline__ uint64_t load_relaxed(const uint64_t* word) {
    uint64_t value;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
}

__device__ __forceinline__ uint32_t load_relaxed(const uint32_t* word) {
    uint32_t value;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
}

__device__ __forceinline__ void store_relaxed(uint64_t* word, uint64_t value) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

template <class N>
__device__ __forceinline__ N warp_sum(N value) {
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(FULL_WARP, value, step);
    return value;
}

// A value that is the same in all lanes of a warp, in a way that the compiler can see: what depends
// on it needs no registers of each lane, and loops over it need not expect lanes to part. Tickets
// and numbers of warps without it cost up to a sixth of the speed.
__device__ __forceinline__ uint32_t uniform(uint32_t value) { return __shfl_sync(FULL_WARP, value, 0); }

// What the tiles of a launch tell each other, in device memory. `new_tile_states` initialises it,
// and every launch leaves it ready for the next, so that neither the host nor another kernel has to
// clear it.
struct TileStates {
    uint32_t ticket;    // tiles handed out
    uint32_t finished;  // blocks that will not read a status any more
    uint32_t epoch;     // the launch's number: words that another launch has written do not count
    uint32_t capacity;  // the number of status words
    uint64_t total;     // survivors in all, after a launch that counts on from tile 0
    uint64_t status[1];
};
static_assert(sizeof(TileStates) == 32, "a header of 24 bytes, as in src/cuda/runtime/executor.rs");

// Initialises the states in memory with any contents.
__device__ __forceinline__ void new_tile_states(TileStates* states, uint32_t capacity) {
    const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
    for (uint64_t tile = thread; tile < capacity; tile += uint64_t(gridDim.x) * blockDim.x) states->status[tile] = 0;
    if (thread == 0) {
        states->ticket = states->finished = states->epoch = 0;
        states->capacity = capacity;
        states->total = 0;
    }
}

// A tile's status word: the epoch in 16 bits, the kind of count in 2, and the count in 46. It is
// one word, read and written as a whole, so nothing depends on the order of two accesses.
struct Status {
    static constexpr int COUNT_BITS = 46;
    static constexpr uint32_t OWN = 1;     // the count is of the tile alone
    static constexpr uint32_t PREFIX = 2;  // the count is of the tile and all before it

    static __device__ __forceinline__ uint64_t pack(uint32_t epoch, uint32_t kind, uint64_t count) {
        return uint64_t(epoch << 2 | kind) << COUNT_BITS | count;
    }
    static __device__ __forceinline__ uint64_t count(uint64_t word) { return word & low_mask(COUNT_BITS); }
    // OWN or PREFIX, or 0 if the word is not from this launch.
    static __device__ __forceinline__ uint32_t kind(uint64_t word, uint32_t epoch) {
        const uint32_t tag = uint32_t(word >> COUNT_BITS);
        return tag >> 2 == epoch ? tag & 3 : 0;
    }
};

// One thread of a block takes the next tile. Tiles are taken in the order of an atomic ticket and
// not in that of the blocks' numbers. So all predecessors of a tile have been taken by blocks that
// are running, whatever the order in which blocks are started.
struct Turn {
    uint32_t tile, epoch;

    static __device__ __forceinline__ Turn take(TileStates* states) {
        const uint32_t tile = atomicAdd(&states->ticket, 1);
        return {tile, load_relaxed(&states->epoch)};
    }
};

// The same turn for all lanes of a warp; see `uniform` above.
__device__ __forceinline__ Turn uniform(Turn turn) { return {uniform(turn.tile), uniform(turn.epoch)}; }

// Called by all threads of one warp: publishes the tile's number of survivors for the tiles after
// it. Counts begin anew with each tile that `starts`, of which tile 0 is one.
__device__ __forceinline__ void announce(TileStates* states, Turn turn, uint64_t count, bool starts) {
    const uint32_t kind = starts ? Status::PREFIX : Status::OWN;
    if (threadIdx.x % 32 == 0) store_relaxed(states->status + turn.tile, Status::pack(turn.epoch, kind, count));
}

// Called by all threads of one warp, after `announce`: returns the number of survivors before the
// tile, from the tile on with which counts began.
__device__ __forceinline__ uint64_t look_back(TileStates* states, Turn turn, uint64_t count, bool starts) {
    if (starts) return 0;
    const uint32_t lane = threadIdx.x % 32;
    uint64_t before = 0;
    // Each lane reads the status of one of 32 predecessors, the first lane that of the nearest.
    for (int64_t nearest = int64_t(turn.tile) - 1;; nearest -= 32) {
        const int64_t tile = nearest - lane;
        uint64_t word = Status::pack(turn.epoch, Status::PREFIX, 0);
        uint32_t kind = Status::PREFIX;
        uint32_t prefixes;
        while (true) {
            if (tile >= 0) {
                word = load_relaxed(states->status + tile);
                kind = Status::kind(word, turn.epoch);
            }
            prefixes = __ballot_sync(FULL_WARP, kind == Status::PREFIX);
            // The words beyond the nearest prefix need not have been written yet.
            const uint32_t wanted = prefixes == 0 ? FULL_WARP : (prefixes & (0 - prefixes)) * 2 - 1;
            const uint32_t missing = __ballot_sync(FULL_WARP, kind == 0);
            if ((missing & wanted) == 0) break;
        }
        const uint32_t end = prefixes == 0 ? 32 : __ffs(int(prefixes));
        before += warp_sum(lane < end ? Status::count(word) : 0);
        if (prefixes != 0) break;
    }
    if (lane == 0) store_relaxed(states->status + turn.tile, Status::pack(turn.epoch, Status::PREFIX, before + count));
    return before;
}

// Called by one thread of each block, the one that wrote the block's words, when the block reads no
// status any more. The last block prepares the next launch.
__device__ __forceinline__ void finish(TileStates* states, uint32_t epoch) {
    const uint32_t next = (epoch + 1) & 0xFFFF;
    // Epochs repeat after 2^16 launches, since count, kind and epoch have to fit one word. Then the
    // last block clears all status words, and no other block's store may become visible after that:
    // a stale word would count. The loom model of the look-back found this fault in a version
    // without fences. Only this launch needs its two fences; nothing else here depends on the order
    // of two words.
    const bool wraps = next == 0;
    if (wraps) __threadfence();
    if (atomicAdd(&states->finished, 1) != gridDim.x - 1) return;
    if (wraps) __threadfence();
    atomicExch(&states->ticket, 0);
    atomicExch(&states->finished, 0);
    if (wraps) {
        for (uint32_t tile = 0; tile < states->capacity; ++tile) store_relaxed(states->status + tile, 0);
    }
    atomicExch(&states->epoch, next);
}

}  // namespace bijective_shuffle

#endif
