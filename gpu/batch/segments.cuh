// Segments of different lengths, each permuted within itself: segment `r` has the items between two
// offsets, and its permutation is that of row `r` of a batch of its length. The segments are listed
// by classes, so that those that are moved together take about as long.
#ifndef BIJECTIVE_SHUFFLE_SEGMENTS
#define BIJECTIVE_SHUFFLE_SEGMENTS

namespace bijective_shuffle {

// The class of a segment is the width of its last index in bits, which is that of its cipher's
// domain. Up to 8 bits segments are drawn exactly. Empty segments have none.
constexpr uint32_t CLASSES = 65, NO_CLASS = CLASSES;

struct SegmentCounts {
    uint32_t of_class[CLASSES];
    uint32_t listed[CLASSES];
    uint32_t wrong;  // all ones less the number of the first offset that is wrong, or 0
};

__device__ __forceinline__ uint32_t class_of(uint64_t start, uint64_t end) {
    return end > start ? 64 - __clzll(int64_t(end - start - 1)) : NO_CLASS;
}

// Checks the offsets of segments of `items` items in all, and counts the segments of each class.
template <class Offset>
__device__ __forceinline__ void count_segments(const Offset* offsets, uint64_t segments, uint64_t items,
                                               SegmentCounts* counts) {
    __shared__ uint32_t own[CLASSES];
    for (uint32_t k = threadIdx.x; k < CLASSES; k += blockDim.x) own[k] = 0;
    __syncthreads();
    const uint64_t step = uint64_t(gridDim.x) * blockDim.x;
    for (uint64_t r = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; r <= segments; r += step) {
        const uint64_t start = offsets[r], before = r == 0 ? 0 : offsets[r - 1];
        const bool is_right = r == 0 ? start == 0 : start >= before;
        if (!is_right || (r == segments && start != items)) atomicMax(&counts->wrong, ~uint32_t(r));
        const uint32_t of = r == 0 ? NO_CLASS : class_of(before, start);
        if (of != NO_CLASS) atomicAdd(own + of, 1u);
    }
    __syncthreads();
    for (uint32_t k = threadIdx.x; k < CLASSES; k += blockDim.x) {
        if (own[k] > 0) atomicAdd(counts->of_class + k, own[k]);
    }
}

// Lists the segments that are not empty, class by class. Within a class they are in no order, but
// those that a block has listed together are near each other.
template <int THREADS, int EACH, class Offset>
__device__ __forceinline__ void list_segments(const Offset* offsets, uint64_t segments, SegmentCounts* counts,
                                              uint32_t* list) {
    constexpr uint32_t TILE = THREADS * EACH;
    static_assert(THREADS >= CLASSES, "a thread for each class");
    __shared__ uint32_t own[CLASSES], starts[CLASSES];
    for (uint64_t first = uint64_t(blockIdx.x) * TILE; first < segments; first += uint64_t(gridDim.x) * TILE) {
        if (threadIdx.x < CLASSES) own[threadIdx.x] = 0;
        __syncthreads();
        uint32_t classes[EACH], places[EACH];
        BIJECTIVE_SHUFFLE_UNROLL
        for (int k = 0; k < EACH; ++k) {
            const uint64_t r = first + k * THREADS + threadIdx.x;
            classes[k] = r < segments ? class_of(offsets[r], offsets[r + 1]) : NO_CLASS;
            places[k] = classes[k] == NO_CLASS ? 0 : atomicAdd(own + classes[k], 1u);
        }
        __syncthreads();
        if (threadIdx.x < CLASSES && own[threadIdx.x] > 0) {
            uint32_t start = atomicAdd(counts->listed + threadIdx.x, own[threadIdx.x]);
            for (uint32_t k = 0; k < threadIdx.x; ++k) start += counts->of_class[k];
            starts[threadIdx.x] = start;
        }
        __syncthreads();
        BIJECTIVE_SHUFFLE_UNROLL
        for (int k = 0; k < EACH; ++k) {
            if (classes[k] != NO_CLASS) {
                list[starts[classes[k]] + places[k]] = uint32_t(first) + k * THREADS + threadIdx.x;
            }
        }
    }
}

// The shares of an exact draw, as the host finds them (`Shares` in src/cuda/batch/kernels.rs).
__device__ __forceinline__ void find_shares(uint32_t len, Shares& shares) {
    constexpr uint64_t MOST = uint64_t(1) << 56;
    shares.len = len;
    shares.count = 0;
    for (uint32_t range = len; range > 1; ++shares.count) {
        uint64_t product = range;
        uint32_t places = 1;
        for (; places + 1 < range && product * (range - places) <= MOST; ++places) product *= range - places;
        shares.products[shares.count] = product;
        shares.places[shares.count] = places;
        range -= places;
    }
}

// Moves `count` segments that are drawn exactly, those of a list: a warp draws 32 of them, a
// thread each, in the same layout as rows, and then moves their items together. The longest of them
// is in the class of the last, which decides how many threads share a segment.
template <int THREADS, bool INVERSE, class Offset, class Move>
__device__ __forceinline__ void move_exact_segments(const Keys& keys, const Offset* offsets, const uint32_t* list,
                                                    uint64_t count, const Move& move) {
    extern __shared__ __align__(16) unsigned char memory[];
    __shared__ uint64_t starts[THREADS];
    __shared__ uint32_t lens[THREADS];
    static_assert(!INVERSE || !Move::GATHERS, "only a scatter is a gather by the inverse");
    uint32_t* const words = reinterpret_cast<uint32_t*>(memory);
    const uint32_t thread = threadIdx.x, lane = thread % 32, own = thread - lane;
    const uint64_t step = uint64_t(gridDim.x) * THREADS;
    for (uint64_t first = uint64_t(blockIdx.x) * THREADS + own; first < count; first += step) {
        const uint32_t rows = count - first < 32 ? uint32_t(count - first) : 32;
        // The last segments have been moved.
        __syncwarp();
        if (lane < rows) {
            const uint32_t number = list[first + lane];
            const uint64_t start = offsets[number];
            const uint32_t len = uint32_t(offsets[number + 1] - start);
            starts[thread] = start;
            lens[thread] = len;
            if constexpr (!INVERSE) {
                for (uint32_t k = 0; k < (len + 3) / 4; ++k) words[k * THREADS + thread] = 0x03020100u + k * 0x04040404u;
            }
            Shares shares;
            find_shares(len, shares);
            Keys of_len = keys;
            of_len.domain |= len;
            KeyStream stream(of_len, number);
            unsigned char* const bytes = memory + thread * 4;
            draw_row<INVERSE>(shares, stream, [bytes](uint32_t k) -> unsigned char& {
                return bytes[k / 4 * (THREADS * 4) + k % 4];
            });
        }
        __syncwarp();
        if constexpr (Move::ROWS) {
            for (uint32_t row = own; row < own + rows; ++row) {
                move.move(DrawnRow<THREADS>{memory, row}, lens[row], 0, starts[row]);
            }
        } else {
            const uint32_t width = class_of(0, lens[own + rows - 1]), shared_by = width < 5 ? 1u << width : 32;
            for (uint32_t row = lane / shared_by; row < rows; row += 32 / shared_by) {
                const DrawnRow<THREADS> drawn = {memory, own + row};
                const Move of_row = move.from(starts[own + row], starts[own + row]);
                const uint32_t len = lens[own + row];
#pragma unroll 4
                for (uint32_t item = lane % shared_by; item < len; item += shared_by) {
                    const uint32_t other = drawn[item];
                    const uint32_t rank = INVERSE ? other : item, index = INVERSE ? item : other;
                    of_row.store(rank, index, of_row.load(rank, index));
                }
            }
        }
    }
}

// Moves `count` segments of one class that ciphers compact to, those of a list: as
// `move_cipher_rows` moves rows, but each has its own place and length. `last` is the last slot of
// the domains, and shared memory has room for that many items of each segment, if STAGED.
template <int WARPS, int ROW_WARPS, int SLOTS, bool STAGED, class Offset, class F, class Move>
__device__ __forceinline__ void move_cipher_segments(const Keys& keys, const typename F::Width& width, uint32_t last,
                                                     const Offset* offsets, const uint32_t* list, uint64_t count,
                                                     const Move& move) {
    static_assert(ROW_WARPS == 1 || ROW_WARPS == WARPS,
                  "a segment's warps wait for each other by themselves or as a block");
    static_assert(!STAGED || (!Move::WRITES_INDEXES && !Move::ROWS), "only words are staged");
    constexpr uint32_t AT_ONCE = WARPS / ROW_WARPS, TILE = ROW_WARPS * 32 * SLOTS;
    using T = typename Move::Value;
    extern __shared__ __align__(16) unsigned char memory[];
    __shared__ F members[AT_ONCE];
    __shared__ uint32_t sums[2][ROW_WARPS];
    static_assert(sizeof members + sizeof sums <= 3 << 10, "SHARED_BESIDE in src/cuda/batch/tuning.rs");
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32 % ROW_WARPS, own = threadIdx.x / 32 / ROW_WARPS;
    const uint32_t thread = threadIdx.x % (ROW_WARPS * 32), tiles = last / TILE + 1;
    // Brings the threads of a segment together.
    const auto sync = [] { ROW_WARPS == 1 ? __syncwarp() : __syncthreads(); };
    for (uint64_t k = uint64_t(blockIdx.x) * AT_ONCE + own; k < count; k += uint64_t(gridDim.x) * AT_ONCE) {
        const uint32_t number = list[k];
        const uint64_t start = offsets[number];
        const uint32_t most = uint32_t(offsets[number + 1] - start - 1);
        const auto of_segment = [&] {
            if constexpr (Move::ROWS) return move;
            else return move.from(start, start);
        }();
        T* staged = nullptr;
        sync();
        if constexpr (STAGED) {
            const uint32_t room = ((last + 1) * uint32_t(sizeof(T)) + 31) / 16 * 16;
            const T* const outside = of_segment.random_side();
            staged = reinterpret_cast<T*>(memory + own * room + reinterpret_cast<uint64_t>(outside) % 16);
            if constexpr (Move::GATHERS) {
                copy_items<ROW_WARPS * 32>(outside, staged, most + 1, thread, copy_async);
            } else {
                prefetch<ROW_WARPS * 32>(of_segment.source, most + 1, thread);
            }
        }
        if (warp == 0 && lane < F::KEYS) draw_round(keys, lane, number, members[own]);
        sync();
        F f = members[own];
        f.width = width;
        auto here = [&] {
            if constexpr (STAGED) return of_segment.by_way_of(staged);
            else return of_segment;
        }();
        uint32_t slot = warp * SLOTS * 32 + lane, done = 0;
        for (uint32_t tile = 0; tile < tiles; ++tile, slot += TILE) {
            uint32_t values[SLOTS], places[SLOTS], before = 0;
            BIJECTIVE_SHUFFLE_UNROLL
            for (int j = 0; j < SLOTS; ++j) values[j] = uint32_t(f.forward(slot + j * 32));
            const uint32_t mine = place_survivors(values, most, places);
            uint32_t all = mine;
            if constexpr (ROW_WARPS > 1) {
                // Two sets of sums alternate, so that the block waits only once for each tile.
                const uint32_t turn = tile & 1;
                if (lane == 0) sums[turn][warp] = mine;
                __syncthreads();
                all = 0;
                BIJECTIVE_SHUFFLE_UNROLL
                for (int j = 0; j < ROW_WARPS; ++j) {
                    if (j == int(warp)) before = all;
                    all += sums[turn][j];
                }
            }
            if constexpr (STAGED && Move::GATHERS) {
                // The first tile is evaluated while the items are on their way.
                if (tile == 0) {
                    wait_for_copies();
                    sync();
                }
            }
            if constexpr (Move::ROWS) {
                __shared__ uint32_t packed[WARPS][32 * SLOTS];
                uint32_t* const of_warp = packed[threadIdx.x / 32];
                __syncwarp();
                BIJECTIVE_SHUFFLE_UNROLL
                for (int j = 0; j < SLOTS; ++j) {
                    if (values[j] <= most) of_warp[places[j]] = values[j];
                }
                __syncwarp();
                here.move(of_warp, mine, done + before, start);
                done += all;
            } else {
                move_values<false>(here, values, most, places, before, slot);
                here = here.from(all, 0);
            }
        }
        if constexpr (STAGED && !Move::GATHERS) {
            sync();
            copy_items<ROW_WARPS * 32>(staged, of_segment.random_side(), most + 1, thread,
                                       [](Item16* to, const Item16* from) { *to = *from; });
        }
    }
}

}  // namespace bijective_shuffle

#endif
