// The direct strategy where the GPU can hold all tiles at the same time: a tile adds up the counts
// of all tiles before it in one round trip to memory, where a look-back takes several. A tile is
// that of the block with its number, so that no ticket has to be taken first.
#ifndef BIJECTIVE_SHUFFLE_AT_ONCE
#define BIJECTIVE_SHUFFLE_AT_ONCE

namespace bijective_shuffle {

// How often a thread reads a count that is missing, before it counts for itself.
constexpr uint32_t PATIENCE = 1 << 10;

// The number of survivors of a tile of TILE slots, counted by one thread.
template <class Index, int TILE, class F>
__device__ __forceinline__ uint32_t count_alone(const F& f, uint32_t tile, uint64_t last, uint64_t len) {
    const uint64_t first = uint64_t(tile) * TILE;
    const uint32_t slots = last - first < TILE ? uint32_t(last - first) + 1 : TILE;
    uint32_t count = 0;
#pragma unroll 1
    for (uint32_t j = 0; j < slots; ++j) count += Index(f.forward(Index(first + j))) <= Index(len - 1);
    return count;
}

// The number of survivors of all tiles before a tile, each of which announces its own. `sums` has a
// word for each warp of the block, whose threads call this together.
//
// Nothing says in which order blocks start, nor that they run at the same time. So no block may
// wait for another without end: if a count does not come, a thread evaluates the tile itself, and
// has the same count.
template <class Index, int THREADS, int TILE, class F>
__device__ __forceinline__ uint32_t survivors_before(const F& f, Turn turn, uint64_t last, uint64_t len,
                                                     const TileStates* states, uint32_t* sums) {
    uint32_t sum = 0;
    for (uint32_t tile = threadIdx.x; tile < turn.tile; tile += THREADS) {
        uint64_t word = load_relaxed(states->status + tile);
        for (uint32_t reads = 1; reads < PATIENCE && Status::kind(word, turn.epoch) == 0; ++reads) {
            word = load_relaxed(states->status + tile);
        }
        const bool is_there = Status::kind(word, turn.epoch) != 0;
        sum += is_there ? uint32_t(Status::count(word)) : count_alone<Index, TILE>(f, tile, last, len);
    }
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    uint32_t all = 0;
    BIJECTIVE_SHUFFLE_UNROLL
    for (int warp = 0; warp < THREADS / 32; ++warp) all += sums[warp];
    return all;
}

// Moves survivors, a tile a block. The states are those of a look-back, of which the tickets and
// the sums over several tiles are not used.
template <class Index, int THREADS, int PER_THREAD, class F, class Move>
__device__ __forceinline__ void move_at_once(const F& f, uint64_t last, uint64_t len, TileStates* states,
                                             const Move& move) {
    constexpr int WARPS = THREADS / 32, TILE = THREADS * PER_THREAD;
    __shared__ Index packed[WARPS][32 * PER_THREAD + 32];
    __shared__ uint32_t counts[WARPS], sums[WARPS];
    const uint32_t warp = uniform(threadIdx.x / 32);
    // The epoch is asked for here, and arrives while the slots are evaluated.
    const Turn turn = {blockIdx.x, load_relaxed(&states->epoch)};
    Index* const indexes = packed[warp];
    const uint32_t count = pack_part<Index, THREADS, PER_THREAD>(f, turn.tile, warp, last, len, indexes);
    if (threadIdx.x % 32 == 0) counts[warp] = count;
    __syncthreads();
    uint32_t before = 0, own = 0;
    BIJECTIVE_SHUFFLE_UNROLL
    for (int w = 0; w < WARPS; ++w) {
        before += w < warp ? counts[w] : 0;
        own += counts[w];
    }
    if (threadIdx.x < 32) announce(states, turn, own, turn.tile == 0);
    // The items are on their way while the counts arrive.
    typename Move::Value value[PER_THREAD];
    load_packed(move, indexes, count, value);
    const uint64_t base = survivors_before<Index, THREADS, TILE>(f, turn, last, len, states, sums);
    if (threadIdx.x == 0) {
        if (turn.tile == gridDim.x - 1) states->total = base + own;
        finish(states, turn.epoch);
    }
    move_packed(move, indexes, count, base + before, len, value);
}

}  // namespace bijective_shuffle

#endif
