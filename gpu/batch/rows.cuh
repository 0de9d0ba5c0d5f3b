// Rows of a batch: many permutations of one length, by which items are moved within their rows, or
// whose indexes are written. Row `r` is that of the seed at epoch `r`. A movement of words (in
// shuffle/items.cuh) gets ranks and indexes from some place on, which the kernels move along.
#ifndef BIJECTIVE_SHUFFLE_BATCH
#define BIJECTIVE_SHUFFLE_BATCH

namespace bijective_shuffle {

// Four indexes that are stored together.
template <class N>
struct alignas(16) Four {
    N indexes[4];
};

// Stores the indexes of rows that are drawn exactly, four at a time: `count` rows, with `words` as
// below.
template <int THREADS, class N>
__device__ __forceinline__ void store_fours(const uint32_t* words, uint32_t count, uint32_t fours, N* to) {
    // The four items, and their row, at which each thread is. This keeps divisions out of the loop.
    uint32_t row = threadIdx.x / fours, four = threadIdx.x % fours;
    const uint32_t rows_on = THREADS / fours, fours_on = THREADS % fours;
    for (uint32_t k = threadIdx.x; k < count * fours; k += THREADS) {
        const uint32_t word = words[four * THREADS + row];
        reinterpret_cast<Four<N>*>(to)[k] = {N(word & 0xFF), N(word >> 8 & 0xFF), N(word >> 16 & 0xFF), N(word >> 24)};
        row += rows_on;
        four += fours_on;
        if (four >= fours) four -= fours, ++row;
    }
}

// A thread draws a row of bytes, which `at` finds: the permutation, or its inverse. The inverse is
// what the same exchanges make in the opposite order. It takes the exchanges down first, each at
// the place from which it comes.
template <bool INVERSE, class At>
__device__ __forceinline__ void draw_row(const Shares& shares, KeyStream& stream, const At& at) {
    const auto exchange = [&at](uint32_t a, uint32_t b) {
        const unsigned char item = at(a);
        at(a) = at(b);
        at(b) = item;
    };
    if constexpr (!INVERSE) {
        draw_exchanges(shares, stream, exchange);
    } else {
        draw_exchanges(shares, stream, [&at](uint32_t a, uint32_t b) { at(a) = (unsigned char)b; });
        at(0) = 0;
        for (uint32_t a = 1; a < shares.len; ++a) {
            const uint32_t b = at(a);
            at(a) = (unsigned char)a;
            exchange(a, b);
        }
    }
}

// The indexes of a row that a thread has drawn.
template <int THREADS>
struct DrawnRow {
    const unsigned char* memory;
    uint32_t row;

    __device__ __forceinline__ uint32_t operator[](uint32_t item) const {
        return memory[(item / 4 * THREADS + row) * 4 + item % 4];
    }
};

// Moves the words of `count` rows that threads have drawn.
template <int THREADS, bool INVERSE, class Move>
__device__ __forceinline__ void move_drawn(const unsigned char* memory, uint32_t count, uint32_t len,
                                           const Move& move) {
    if constexpr (Move::WRITES_INDEXES) {
        if (len % 4 == 0 && reinterpret_cast<uint64_t>(move.out) % 16 == 0) {
            store_fours<THREADS>(reinterpret_cast<const uint32_t*>(memory), count, len / 4, move.out);
            return;
        }
    }
    uint32_t row = threadIdx.x / len, item = threadIdx.x % len;
    const uint32_t rows_on = THREADS / len, items_on = THREADS % len;
#pragma unroll 4
    for (uint32_t k = threadIdx.x; k < count * len; k += THREADS) {
        const uint32_t drawn = DrawnRow<THREADS>{memory, row}[item];
        const uint32_t other = Move::WRITES_INDEXES ? drawn : k - item + drawn;
        const uint32_t rank = INVERSE ? other : k, index = INVERSE ? k : other;
        move.store(rank, index, move.load(rank, index));
        row += rows_on;
        item += items_on;
        if (item >= len) item -= len, ++row;
    }
}

// Moves rows that are drawn exactly. Each thread draws a row in shared memory, with one byte for
// each item. By INVERSE a scatter is done as a gather, so that what is written is in order.
//
// Four items of a row are a word in the thread's own bank: item i of row t is byte i % 4 of word (i
// / 4) * THREADS + t. So the draws have no bank conflicts, whatever items they exchange.
template <int THREADS, bool INVERSE, class Move>
__device__ __forceinline__ void move_exact_rows(const Keys& keys, const Shares& shares, uint64_t first, uint64_t rows,
                                                const Move& move) {
    extern __shared__ __align__(16) unsigned char memory[];
    static_assert(THREADS % 32 == 0, "a bank a thread");
    static_assert(!INVERSE || !Move::GATHERS, "only a scatter is a gather by the inverse");
    uint32_t* const words = reinterpret_cast<uint32_t*>(memory);
    const uint32_t thread = threadIdx.x, len = shares.len, fours = (len + 3) / 4;
    for (uint64_t start = uint64_t(blockIdx.x) * THREADS; start < rows; start += uint64_t(gridDim.x) * THREADS) {
        const uint32_t count = rows - start < THREADS ? uint32_t(rows - start) : THREADS;
        if (thread < count) {
            if constexpr (!INVERSE) {
                for (uint32_t k = 0; k < fours; ++k) words[k * THREADS + thread] = 0x03020100u + k * 0x04040404u;
            }
            unsigned char* const own = memory + thread * 4;
            KeyStream stream(keys, first + start + thread);
            draw_row<INVERSE>(shares, stream, [own](uint32_t k) -> unsigned char& {
                return own[k / 4 * (THREADS * 4) + k % 4];
            });
        }
        __syncthreads();
        if constexpr (Move::ROWS) {
            for (uint32_t row = thread / 32; row < count; row += THREADS / 32) {
                move.move(DrawnRow<THREADS>{memory, row}, len, 0, (start + row) * len);
            }
        } else {
            move_drawn<THREADS, INVERSE>(memory, count, len, move.from(start * len, start * len));
        }
        // The next rows overwrite these only after all threads have read them.
        __syncthreads();
    }
}

// Threads copy a row's items, `thread` of THREADS, which are more than 16 bytes, and whose places
// are alike modulo 16 bytes: `copy` copies 16 bytes.
template <int THREADS, class T, class Copy>
__device__ __forceinline__ void copy_items(const T* from, T* to, uint32_t count, uint32_t thread, const Copy& copy) {
    constexpr uint32_t EACH = 16 / sizeof(T);
    static_assert(THREADS >= EACH, "a thread for each item beside whole 16 bytes");
    const uint32_t before = (0 - uint32_t(reinterpret_cast<uint64_t>(to))) % 16 / sizeof(T);
    const uint32_t units = (count - before) / EACH, after = before + units * EACH;
    const Item16* const units_from = reinterpret_cast<const Item16*>(from + before);
    Item16* const units_to = reinterpret_cast<Item16*>(to + before);
#pragma unroll 4
    for (uint32_t k = thread; k < units; k += THREADS) copy(units_to + k, units_from + k);
    if (thread < before) to[thread] = from[thread];
    if (after + thread < count) to[after + thread] = from[after + thread];
}

// Counts the survivors of a warp, which has slots of a row that are 32 apart in each lane, and
// gives each its place among them.
template <int SLOTS, class Index>
__device__ __forceinline__ uint32_t place_survivors(const Index (&values)[SLOTS], Index most,
                                                    uint32_t (&places)[SLOTS]) {
    const uint32_t lower_lanes = (1u << threadIdx.x % 32) - 1;
    uint32_t all = 0;
    BIJECTIVE_SHUFFLE_UNROLL
    for (int k = 0; k < SLOTS; ++k) {
        const uint32_t survivors = __ballot_sync(FULL_WARP, values[k] <= most);
        places[k] = all + __popc(survivors & lower_lanes);
        all += __popc(survivors);
    }
    return all;
}

// Moves the survivors of a warp, whose places count from `first` on. It moves those among 32 slots
// at a time, whose places are consecutive, and loads those of four times 32 slots before it stores
// any. Indexes are stored one after the other: in groups of four they took a tenth more time.
//
// DENSE says that all survive, so that the lane's first place is that of its first slot, `slot`.
template <bool DENSE, int SLOTS, class Index, class Move>
__device__ __forceinline__ void move_values(const Move& move, const Index (&values)[SLOTS], Index most,
                                            const uint32_t (&places)[SLOTS], uint32_t first, Index slot) {
    constexpr int TOGETHER = 4;
    static_assert(SLOTS % TOGETHER == 0, "a thread's slots are loaded in groups");
    const auto rank = [&](int k) { return DENSE ? slot + k * 32 : Index(first + places[k]); };
    if constexpr (Move::WRITES_INDEXES) {
        BIJECTIVE_SHUFFLE_UNROLL
        for (int k = 0; k < SLOTS; ++k) {
            if (DENSE || values[k] <= most) move.store(rank(k), 0, values[k]);
        }
    } else {
        BIJECTIVE_SHUFFLE_UNROLL
        for (int group = 0; group < SLOTS; group += TOGETHER) {
            typename Move::Value items[TOGETHER];
            BIJECTIVE_SHUFFLE_UNROLL
            for (int k = 0; k < TOGETHER; ++k) {
                const Index index = values[group + k];
                if (DENSE || index <= most) items[k] = move.load(rank(group + k), index);
            }
            BIJECTIVE_SHUFFLE_UNROLL
            for (int k = 0; k < TOGETHER; ++k) {
                const Index index = values[group + k];
                if (DENSE || index <= most) move.store(rank(group + k), index, items[k]);
            }
        }
    }
}

// Moves the rows that ciphers compact to. ROW_WARPS warps write a row: all warps of the block, or
// one. `width` is that of the ciphers' domains, whose last slot is `last`; tiles divide them
// evenly. A row has the indexes up to `most`; DENSE says that every slot survives.
//
// A warp has SLOTS times 32 consecutive slots of a tile.
//
// A row of items goes by way of shared memory, `most + 1` items and up to 31 bytes, so that what is
// random is there alone.
template <class Index, int WARPS, int ROW_WARPS, int SLOTS, bool DENSE, class F, class Move>
__device__ __forceinline__ void move_cipher_rows(const Keys& keys, const typename F::Width& width,
                                                 Index last, Index most, uint64_t first, uint64_t rows,
                                                 const Move& move) {
    static_assert(ROW_WARPS == 1 || ROW_WARPS == WARPS,
                  "a row's warps wait for each other by themselves or as a block");
    constexpr uint32_t AT_ONCE = WARPS / ROW_WARPS, TILE = ROW_WARPS * 32 * SLOTS;
    constexpr bool STAGED = !Move::WRITES_INDEXES;
    using T = typename Move::Value;
    extern __shared__ __align__(16) unsigned char memory[];
    __shared__ F members[AT_ONCE];
    __shared__ uint32_t sums[2][ROW_WARPS];
    static_assert(sizeof members + sizeof sums <= 3 << 10, "SHARED_BESIDE in src/cuda/batch/tuning.rs");
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32 % ROW_WARPS, own = threadIdx.x / 32 / ROW_WARPS;
    const uint32_t thread = threadIdx.x % (ROW_WARPS * 32);
    // Brings the threads of a row together.
    const auto sync = [] { ROW_WARPS == 1 ? __syncwarp() : __syncthreads(); };
    const Index tiles = last / TILE + 1;
    for (uint64_t row = uint64_t(blockIdx.x) * AT_ONCE + own; row < rows; row += uint64_t(gridDim.x) * AT_ONCE) {
        const uint64_t start = row * (uint64_t(most) + 1);
        const Move of_row = move.from(start, start);
        // The row in shared memory, aligned as it is outside.
        T* staged = nullptr;
        sync();
        if constexpr (STAGED) {
            const uint32_t bytes = (uint32_t(most) + 1) * sizeof(T), room = (bytes + 31) / 16 * 16;
            const T* const outside = of_row.random_side();
            staged = reinterpret_cast<T*>(memory + own * room + reinterpret_cast<uint64_t>(outside) % 16);
            if constexpr (Move::GATHERS) {
                copy_items<ROW_WARPS * 32>(outside, staged, uint32_t(most) + 1, thread, copy_async);
            } else {
                prefetch<ROW_WARPS * 32>(of_row.source, uint32_t(most) + 1, thread);
            }
        }
        if (warp == 0 && lane < F::KEYS) draw_round(keys, lane, first + row, members[own]);
        sync();
        // A copy in registers.
        F f = members[own];
        f.width = width;
        auto here = [&] {
            if constexpr (STAGED) return of_row.by_way_of(staged);
            else return of_row;
        }();
        Index slot = warp * SLOTS * 32 + lane;
        for (Index tile = 0; tile < tiles; ++tile, slot += TILE) {
            Index values[SLOTS];
            BIJECTIVE_SHUFFLE_UNROLL
            for (int k = 0; k < SLOTS; ++k) values[k] = Index(f.forward(slot + k * 32));
            uint32_t places[SLOTS] = {}, before = 0, all = 0;
            if constexpr (!DENSE) {
                all = place_survivors(values, most, places);
                if constexpr (ROW_WARPS > 1) {
                    // Two sets of sums alternate, so that the block waits only once for each tile.
                    const uint32_t turn = uint32_t(tile) & 1;
                    if (lane == 0) sums[turn][warp] = all;
                    __syncthreads();
                    all = 0;
                    BIJECTIVE_SHUFFLE_UNROLL
                    for (int k = 0; k < ROW_WARPS; ++k) {
                        if (k == int(warp)) before = all;
                        all += sums[turn][k];
                    }
                }
            }
            if constexpr (STAGED && Move::GATHERS) {
                // The first tile is evaluated while the items are on their way.
                if (tile == 0) {
                    wait_for_copies();
                    sync();
                }
            }
            move_values<DENSE>(here, values, most, places, before, slot);
            here = here.from(all, 0);
        }
        if constexpr (STAGED && !Move::GATHERS) {
            sync();
            copy_items<ROW_WARPS * 32>(staged, of_row.random_side(), uint32_t(most) + 1, thread,
                                       [](Item16* to, const Item16* from) { *to = *from; });
        }
    }
}

}  // namespace bijective_shuffle

#endif
