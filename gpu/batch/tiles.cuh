// Rows of a batch that blocks share: each takes tile after tile of all rows, so that only few rows
// are moved at a time, as many as the second-level cache holds.
#ifndef BIJECTIVE_SHUFFLE_BATCH_TILES
#define BIJECTIVE_SHUFFLE_BATCH_TILES

namespace bijective_shuffle {

// Moves the items of rows that ciphers compact to, by tiles of WARPS * 32 * SLOTS slots, which
// divide a row's evenly. Survivors get their places by look-back within the row, unless all
// survive. The rest is as for `move_cipher_rows`.
//
// Rows have fewer than 2^32 slots, and there are fewer than 2^31 tiles.
template <int WARPS, int SLOTS, bool DENSE, class F, class Move>
__device__ __forceinline__ void move_row_tiles(const Keys& keys, const typename F::Width& width, uint32_t last,
                                               uint32_t most, uint64_t first, uint64_t rows, TileStates* states,
                                               const Move& move) {
    constexpr uint32_t TILE = WARPS * 32 * SLOTS;
    __shared__ F member;
    __shared__ Turn shared_turn;
    __shared__ uint32_t counts[WARPS];
    __shared__ uint64_t shared_base;
    const uint32_t warp = uniform(threadIdx.x / 32), lane = threadIdx.x % 32;
    const uint32_t tiles = last / TILE + 1, all_tiles = uint32_t(rows * tiles);
    // The first warp takes a tile, and draws the cipher of its row. Tiles are taken in turn where
    // all slots survive too, so that no block falls behind with rows that the cache then gives up.
    const auto take = [&] {
        Turn turn = {};
        if (lane == 0) turn = Turn::take(states);
        turn = uniform(turn);
        if (lane == 0) shared_turn = turn;
        if (turn.tile < all_tiles && lane < F::KEYS) draw_round(keys, lane, first + turn.tile / tiles, member);
    };
    if (warp == 0) take();
    for (;;) {
        __syncthreads();
        const Turn turn = uniform(shared_turn);
        if (turn.tile >= all_tiles) break;
        F f = member;
        f.width = width;
        const uint32_t row = turn.tile / tiles, tile = turn.tile % tiles;
        const uint32_t slot = tile * TILE + warp * SLOTS * 32 + lane;
        uint32_t values[SLOTS];
        BIJECTIVE_SHUFFLE_UNROLL
        for (int k = 0; k < SLOTS; ++k) values[k] = uint32_t(f.forward(slot + k * 32));
        uint32_t places[SLOTS] = {}, own = 32 * SLOTS, before = DENSE ? slot - lane : 0;
        if constexpr (!DENSE) {
            own = place_survivors(values, most, places);
            if (lane == 0) counts[warp] = own;
            __syncthreads();
            BIJECTIVE_SHUFFLE_UNROLL
            for (int w = 0; w < WARPS; ++w) before += w < warp ? counts[w] : 0;
            if (warp == 0) {
                const uint32_t all = warp_sum(lane < WARPS ? counts[lane] : 0);
                announce(states, turn, all, tile == 0);
                const uint64_t base = look_back(states, turn, all, tile == 0);
                if (lane == 0) shared_base = base;
            }
        }
        // All have read the turn, the cipher and the counts, which are written anew from here on.
        __syncthreads();
        if constexpr (!DENSE) before += uint32_t(shared_base);
        if (warp == 0) take();
        const uint64_t start = row * (uint64_t(most) + 1);
        if constexpr (Move::ROWS) {
            // Items that are no words: a warp moves those of its survivors together.
            __shared__ uint32_t packed[WARPS][32 * SLOTS];
            BIJECTIVE_SHUFFLE_UNROLL
            for (int k = 0; k < SLOTS; ++k) {
                if (DENSE || values[k] <= most) packed[warp][DENSE ? k * 32 + lane : places[k]] = values[k];
            }
            __syncwarp();
            move.move(packed[warp], own, before, start);
        } else {
            move_values<DENSE>(move.from(start, start), values, most, places, before, slot);
        }
    }
    if (threadIdx.x == 0) finish(states, shared_turn.epoch);
}

}  // namespace bijective_shuffle

#endif
