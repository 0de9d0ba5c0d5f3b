// The direct strategies: every slot is evaluated, and each survivor's item is fetched from where it
// is, or stored where it belongs.
#ifndef BIJECTIVE_SHUFFLE_DIRECT
#define BIJECTIVE_SHUFFLE_DIRECT

namespace bijective_shuffle {

// A warp moves the items of `count` slots from `first` on, all of which survive, so a slot is its
// own rank. WHOLE says that they fill the warp's tile; otherwise each slot is checked against
// `count`.
template <bool WHOLE, class Index, int PER_THREAD, class F, class Move>
__device__ __forceinline__ void move_run(const F& f, Index first, uint32_t count, const Move& move) {
    const uint32_t lane = threadIdx.x % 32;
    Index index[PER_THREAD];
    typename Move::Value value[PER_THREAD];
    BIJECTIVE_SHUFFLE_UNROLL
    for (int k = 0; k < PER_THREAD; ++k) {
        const uint32_t j = 32 * k + lane;
        if (!WHOLE && j >= count) continue;
        index[k] = Index(f.forward(Index(first + j)));
        value[k] = move.load(Index(first + j), index[k]);
    }
    BIJECTIVE_SHUFFLE_UNROLL
    for (int k = 0; k < PER_THREAD; ++k) {
        const uint32_t j = 32 * k + lane;
        if (WHOLE || j < count) move.store(Index(first + j), index[k], value[k]);
    }
}

// The same for indexes, with 16 bytes of them in each store.
template <class Index, int PER_THREAD, class F, class N>
__device__ __forceinline__ void write_run(const F& f, Index first, N* out) {
    constexpr int EACH = 16 / sizeof(N);
    BIJECTIVE_SHUFFLE_UNROLL
    for (int k = 0; k < PER_THREAD; k += EACH) {
        const uint32_t j = 32 * k + EACH * (threadIdx.x % 32);
        union {
            N values[EACH];
            Item16 all;
        };
        BIJECTIVE_SHUFFLE_UNROLL
        for (int e = 0; e < EACH; ++e) values[e] = N(f.forward(Index(first + j + e)));
        *reinterpret_cast<Item16*>(out + first + j) = all;
    }
}

// Moves all items where every slot survives.
template <class Index, int THREADS, int PER_THREAD, class F, class Move>
__device__ __forceinline__ void move_dense(const F& f, uint64_t len, const Move& move) {
    constexpr int PER_WARP = 32 * PER_THREAD;
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint64_t first = uint64_t(blockIdx.x) * (THREADS * PER_THREAD) + warp * PER_WARP;
    if (first >= len) return;
    const bool whole = len - first >= PER_WARP;
    const uint32_t count = whole ? PER_WARP : uint32_t(len - first);
    if constexpr (Move::ROWS) {
        __shared__ Index indexes[THREADS / 32][PER_WARP];
        for (uint32_t j = lane; j < count; j += 32) indexes[warp][j] = Index(f.forward(first + j));
        __syncwarp();
        move.move(indexes[warp], count, first);
        return;
    }
    if constexpr (Move::WRITES_INDEXES && PER_THREAD % 4 == 0) {
        if (whole && reinterpret_cast<uint64_t>(move.out) % 16 == 0) {
            write_run<Index, PER_THREAD>(f, Index(first), move.out);
            return;
        }
    }
    if (whole) {
        move_run<true, Index, PER_THREAD>(f, Index(first), count, move);
    } else {
        move_run<false, Index, PER_THREAD>(f, Index(first), count, move);
    }
}

// A warp packs the survivors among `slots` slots, in order, and returns their number. `packed` has
// one extra word for each lane at its end. WHOLE says that the slots fill the warp's tile;
// otherwise each slot is checked against `slots`.
template <bool WHOLE, class Index, int PER_THREAD, class F>
__device__ __forceinline__ uint32_t survivors(const F& f, Index first, uint32_t slots, Index greatest, Index* packed) {
    const uint32_t lane = threadIdx.x % 32, before = (1u << lane) - 1;
    uint32_t count = 0;
    // Unrolling by four keeps the pipelines full, and by eight where only indexes are written. A
    // part of a tile comes once at most, at the end.
#pragma unroll (!WHOLE ? 1 : PER_THREAD < 32 ? 4 : 8)
    for (int k = 0; k < PER_THREAD; ++k) {
        const uint32_t j = 32 * k + lane;
        const bool inside = WHOLE || j < slots;
        // A slot outside the domain must not be evaluated, since there may be nothing to look up;
        // slot 0 is always inside.
        const Index index = Index(f.forward(inside ? Index(first + j) : 0));
        const bool survives = inside && index <= greatest;
        const uint32_t mask = __ballot_sync(FULL_WARP, survives);
        // Values that do not survive go to their lane's extra word, which is faster than a branch.
        packed[survives ? count + __popc(mask & before) : 32 * PER_THREAD + lane] = index;
        count += __popc(mask);
    }
    return count;
}

// A warp packs the survivors of its part of a tile of THREADS * PER_THREAD slots, and returns their
// number.
template <class Index, int THREADS, int PER_THREAD, class F>
__device__ __forceinline__ uint32_t pack_part(const F& f, uint32_t tile, uint32_t warp, uint64_t last, uint64_t len,
                                              Index* packed) {
    constexpr int PER_WARP = 32 * PER_THREAD;
    const uint64_t first = uint64_t(tile) * (THREADS * PER_THREAD) + warp * PER_WARP;
    if (first > last) return 0;
    const Index greatest = Index(len - 1);
    if (last - first >= PER_WARP - 1) {
        return survivors<true, Index, PER_THREAD>(f, Index(first), PER_WARP, greatest, packed);
    }
    return survivors<false, Index, PER_THREAD>(f, Index(first), uint32_t(last - first) + 1, greatest, packed);
}

// A warp loads the items of `count` packed survivors, as far as they can be loaded before their
// ranks are known.
template <int PER_THREAD, class Index, class Move>
__device__ __forceinline__ void load_packed(const Move& move, const Index* indexes, uint32_t count,
                                            typename Move::Value (&value)[PER_THREAD]) {
    if constexpr (Move::GATHERS) {
        const uint32_t lane = threadIdx.x % 32;
        BIJECTIVE_SHUFFLE_UNROLL
        for (int k = 0; k < PER_THREAD; ++k) {
            const uint32_t j = 32 * k + lane;
            if (32 * k >= count) break;
            if (j < count) value[k] = move.load(0, indexes[j]);
        }
    }
}

// A warp moves the items of `count` packed survivors, whose ranks are consecutive from `rank` on,
// after `load_packed`.
template <int PER_THREAD, class Index, class Move>
__device__ __forceinline__ void move_packed(const Move& move, const Index* indexes, uint32_t count, uint64_t rank,
                                            uint64_t len, typename Move::Value (&value)[PER_THREAD]) {
    // A map that is no bijection may have too many survivors. They must not be written beyond the
    // end.
    const uint32_t room = rank >= len ? 0 : len - rank < count ? uint32_t(len - rank) : count;
    if constexpr (Move::ROWS) {
        move.move(indexes, room, rank);
    } else {
        const uint32_t lane = threadIdx.x % 32;
        if constexpr (!Move::GATHERS) {
            BIJECTIVE_SHUFFLE_UNROLL
            for (int k = 0; k < PER_THREAD; ++k) {
                const uint32_t j = 32 * k + lane;
                if (32 * k >= room) break;
                if (j < room) value[k] = move.load(rank + j, 0);
            }
        }
        BIJECTIVE_SHUFFLE_UNROLL
        for (int k = 0; k < PER_THREAD; ++k) {
            const uint32_t j = 32 * k + lane;
            if (32 * k >= room) break;
            if (j < room) move.store(rank + j, Move::GATHERS ? 0 : indexes[j], value[k]);
        }
    }
}

// Counts the survivors of each tile.
template <class Index, int THREADS, int PER_THREAD, class F>
__device__ __forceinline__ void count_survivors(const F& f, uint64_t last, uint64_t len, uint32_t* counts) {
    constexpr int PER_WARP = 32 * PER_THREAD;
    __shared__ uint32_t all;
    if (threadIdx.x == 0) all = 0;
    __syncthreads();
    const uint64_t first = uint64_t(blockIdx.x) * (THREADS * PER_THREAD) + threadIdx.x / 32 * PER_WARP
        + threadIdx.x % 32;
    uint32_t count = 0;
#pragma unroll 4
    for (int k = 0; k < PER_THREAD; ++k) {
        const uint64_t slot = first + 32 * k;
        count += slot <= last && slot >= first && Index(f.forward(Index(slot))) <= Index(len - 1);
    }
    count = warp_sum(count);
    if (threadIdx.x % 32 == 0) atomicAdd(&all, count);
    __syncthreads();
    if (threadIdx.x == 0) counts[blockIdx.x] = all;
}

// The two ways in which a tile gets the number of survivors before it.

// Decoupled look-back, in the same kernel.
struct ByLookBack {
    TileStates* states;

    __device__ __forceinline__ void start() {}
    // One thread takes the next tile.
    __device__ __forceinline__ Turn take() { return Turn::take(states); }
    // A warp publishes a tile's count, and gets the sum before a tile whose count it has published.
    __device__ __forceinline__ void announce(Turn turn, uint64_t count) const {
        bijective_shuffle::announce(states, turn, count, turn.tile == 0);
    }
    __device__ __forceinline__ uint64_t before(Turn turn, uint64_t count) const {
        return look_back(states, turn, count, turn.tile == 0);
    }
    __device__ __forceinline__ void total(uint64_t sum) const { states->total = sum; }
    __device__ __forceinline__ void finish(uint32_t epoch) const { bijective_shuffle::finish(states, epoch); }
};

// Runs as many blocks as the device holds, each of which takes tile after tile. A tile's loads are
// in flight while the next tile is evaluated, so the memory's latency hides the evaluations, and
// both hide the wait for the tile's place.
template <class Index, int THREADS, int PER_THREAD, class F, class Places, class Move>
__device__ __forceinline__ void move_tiles(const F& f, uint64_t last, uint64_t len, Places places, const Move& move) {
    constexpr int WARPS = THREADS / 32, PER_WARP = 32 * PER_THREAD, TILE = THREADS * PER_THREAD;
    __shared__ Index packed[2][WARPS][PER_WARP + 32];
    __shared__ uint32_t counts[2][WARPS];
    __shared__ Turn next_turn;
    __shared__ uint64_t shared_base;

    const uint32_t warp = uniform(threadIdx.x / 32), lane = threadIdx.x % 32;
    const uint32_t last_tile = uint32_t(last / TILE);
    const auto evaluate = [&](uint32_t tile, int buffer) {
        const uint32_t count =
            pack_part<Index, THREADS, PER_THREAD>(f, tile, warp, last, len, packed[buffer][warp]);
        if (lane == 0) counts[buffer][warp] = count;
        __syncwarp();
        return count;
    };
    // Called by the first warp.
    const auto sum = [&](int buffer) { return warp_sum(lane < WARPS ? counts[buffer][lane] : 0); };

    places.start();
    if (threadIdx.x == 0) next_turn = places.take();
    __syncthreads();
    Turn turn = uniform(next_turn);
    uint32_t count = turn.tile <= last_tile ? evaluate(turn.tile, 0) : 0;
    __syncthreads();
    if (warp == 0 && turn.tile <= last_tile) {
        places.announce(turn, sum(0));
        if (lane == 0) next_turn = places.take();
    }
    __syncthreads();

    for (int buffer = 0; turn.tile <= last_tile; buffer ^= 1) {
        const Index* const indexes = packed[buffer][warp];
        typename Move::Value value[PER_THREAD];
        load_packed(move, indexes, count, value);
        // Read before the next barrier, since the counts of the tile after the next one are written
        // to the same place.
        uint32_t before = 0;
        BIJECTIVE_SHUFFLE_UNROLL
        for (int w = 0; w < WARPS; ++w) before += w < warp ? counts[buffer][w] : 0;
        const Turn next = uniform(next_turn);
        const bool more = next.tile <= last_tile;
        const uint32_t next_count = more ? evaluate(next.tile, buffer ^ 1) : 0;
        __syncthreads();
        if (warp == 0) {
            // Announces the next tile, for which others wait, before it waits for this tile's
            // predecessors, so that waits do not add up from block to block. By the loom model the
            // other order would terminate too; this one is faster.
            if (more) places.announce(next, sum(buffer ^ 1));
            const uint64_t all = sum(buffer), base = places.before(turn, all);
            if (lane == 0) {
                shared_base = base;
                if (turn.tile == last_tile) places.total(base + all);
                if (more) next_turn = places.take();
            }
        }
        __syncthreads();
        move_packed(move, indexes, count, shared_base + before, len, value);
        // The next iteration evaluates a tile into the memory of these indexes before it reaches a
        // barrier of the block. The indexes have been read here, after the last barrier, so a
        // thread of the warp that is ahead must not overwrite what another still has to read. The
        // ballots of the evaluation bring the warp together too, but they promise nothing about the
        // order of memory accesses, and __syncwarp does. A gather has read its indexes before the
        // last two barriers.
        if constexpr (Move::ROWS || !Move::GATHERS) __syncwarp();
        turn = next;
        count = next_count;
    }
    if (threadIdx.x == 0) places.finish(turn.epoch);
}

// Moves survivors whose places come from a look-back. If `only_if` is not null, it does nothing if
// the word there is 0.
template <class Index, int THREADS, int PER_THREAD, class F, class Move>
__device__ __forceinline__ void move_survivors(const F& f, uint64_t last, uint64_t len, TileStates* states,
                                               const Move& move, const uint32_t* only_if) {
    if (only_if != nullptr && *only_if == 0) return;
    move_tiles<Index, THREADS, PER_THREAD>(f, last, len, ByLookBack{states}, move);
}

}  // namespace bijective_shuffle

#endif
