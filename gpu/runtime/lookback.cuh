// Decoupled look-back (Merrill & Garland, 2016): tiles of one kernel learn how many survivors there are before them,
// without a second pass. gpu/README.md has the argument that it is right.
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

// What the tiles of a launch tell each other, in device memory. Made by `new_tile_states`; every launch leaves it ready for the
// next, so that neither the host nor another kernel has to clear it.
struct TileStates {
    uint32_t ticket;    // tiles handed out
    uint32_t finished;  // tiles that will not read a status any more
    uint32_t epoch;     // which launch this is: what another one has written counts as not written
    uint32_t capacity;  // how many status words there are
    uint64_t total;     // survivors in all, after a launch
    uint64_t status[1];
};

// Makes them of memory, whatever is in it.
__device__ __forceinline__ void new_tile_states(TileStates* states, uint32_t capacity) {
    const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
    for (uint64_t tile = thread; tile < capacity; tile += uint64_t(gridDim.x) * blockDim.x) states->status[tile] = 0;
    if (thread == 0) {
        states->ticket = states->finished = states->epoch = 0;
        states->capacity = capacity;
        states->total = 0;
    }
}

// A tile's word: the epoch in 16 bits, whether there is a count in 2, and the count in 46. One word, written and read
// whole, so nothing is said of the order of two.
struct Status {
    static constexpr int COUNT_BITS = 46;
    static constexpr uint32_t OWN = 1;     // the count is of the tile alone
    static constexpr uint32_t PREFIX = 2;  // the count is of the tile and all before it

    static __device__ __forceinline__ uint64_t pack(uint32_t epoch, uint32_t kind, uint64_t count) {
        return uint64_t(epoch << 2 | kind) << COUNT_BITS | count;
    }
    static __device__ __forceinline__ uint64_t count(uint64_t word) { return word & low_mask(COUNT_BITS); }
    // OWN or PREFIX, and 0 if the word is not of this launch.
    static __device__ __forceinline__ uint32_t kind(uint64_t word, uint32_t epoch) {
        const uint32_t tag = uint32_t(word >> COUNT_BITS);
        return tag >> 2 == epoch ? tag & 3 : 0;
    }
};

// One thread of a block takes the next tile. In this order, and not in that of the blocks' numbers, a tile's
// predecessors have all been taken by blocks that run, whatever the order in which blocks are started.
struct Turn {
    uint32_t tile, epoch;

    static __device__ __forceinline__ Turn take(TileStates* states) {
        const uint32_t tile = atomicAdd(&states->ticket, 1);
        return {tile, load_relaxed(&states->epoch)};
    }
};

// Called by all threads of one warp: says how many survivors the tile has, for those that come after it.
__device__ __forceinline__ void announce(TileStates* states, Turn turn, uint64_t count) {
    const uint32_t kind = turn.tile == 0 ? Status::PREFIX : Status::OWN;
    if (threadIdx.x % 32 == 0) store_relaxed(states->status + turn.tile, Status::pack(turn.epoch, kind, count));
}

// Called by all threads of one warp, after `announce`: how many survivors there are before the tile.
__device__ __forceinline__ uint64_t look_back(TileStates* states, Turn turn, uint64_t count) {
    if (turn.tile == 0) return 0;
    const uint32_t lane = threadIdx.x % 32;
    uint64_t before = 0;
    // Each lane looks at one of 32 predecessors, the first lane at the nearest.
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
            // Those beyond the nearest prefix need not be there yet.
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

// One thread of each block, the one that wrote the block's words, says that the block reads no status any more. The last
// one prepares the next launch.
__device__ __forceinline__ void finish(TileStates* states, uint32_t epoch) {
    const uint32_t next = (epoch + 1) & 0xFFFF;
    // The numbers of launches come again after 2^16 of them: then what was written by those must be forgotten, and no
    // block's word may come after it has been cleared. Nothing else here depends on the order of two words.
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
