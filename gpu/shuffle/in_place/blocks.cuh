// The strategy in place, first part: an array is changed within its own memory, a block of items
// at a time, until each bucket's items are together. src/cuda/shuffle/in_place/mod.rs says how, and
// why nothing is lost.
#ifndef BIJECTIVE_SHUFFLE_IN_PLACE_BLOCKS
#define BIJECTIVE_SHUFFLE_IN_PLACE_BLOCKS

namespace bijective_shuffle {

// An array that is changed in place, and the working memory of that.
//
// The source's places are divided into stripes, by their high bits, and those of the result into
// buckets, by the high bits of their keys: slots to shuffle, and indexes to undo a shuffle. A
// stripe is a number of whole blocks. The rows have a word for each stripe, and one for the end.
template <class T>
struct Striped {
    T* items;
    uint64_t len;
    uint32_t stripes;
    uint32_t buckets;
    uint32_t stripe_bits;   // of a source below the stripe
    uint32_t shift;         // bits of a key below the bucket
    uint32_t together_bits; // 2 to this power neighbouring stripes are listed or spread together
    uint32_t counted;       // slots of a tile of `tile_bases`
    const uint64_t* tile_bases; // survivors before each tile of slots, to undo a shuffle with gaps
    uint64_t* first_slots;  // of the first item of each stripe, likewise
    uint32_t* planes;       // for each bit of a source's bucket a plane, with a bit for each source; or null
    T* rests;               // for each stripe, a block for each bucket: what has filled no block
    uint32_t* table;        // for each block of the array what it holds, and then where it goes
    uint32_t* block_rows;   // for each bucket its blocks of each stripe; sums, after `sum_rows`
    uint32_t* item_rows;    // the same for items
    uint32_t* block_counts; // of each bucket
    uint32_t* item_counts;
    uint64_t* block_bases;  // their sums
    uint64_t* item_bases;

    // The words of a plane, which are read four at a time.
    __device__ __forceinline__ uint64_t plane_words() const { return (len + 127) / 128 * 4; }
    __device__ __forceinline__ uint64_t row(uint32_t bucket, uint32_t stripe) const {
        return uint64_t(bucket) * (stripes + 1) + stripe;
    }
    __device__ __forceinline__ T* rest(uint32_t stripe, uint32_t bucket, uint32_t block) const {
        return rests + (uint64_t(stripe) * buckets + bucket) * block;
    }
};

// A word of the table: first a block's bucket and its number among the stripe's blocks of that
// bucket, and then the block to which it goes, with two flags.
constexpr uint32_t CLAIMED = 1u << 31, READ = 1u << 30, GONE = CLAIMED | READ;
constexpr int NUMBER_BITS = 20;

// Where the item of a source goes, and the other way.
template <Direction DIRECTION, class Index, class F>
__device__ __forceinline__ Index target_of(const F& f, Index source) {
    return Index(DIRECTION == Direction::Shuffle ? f.inverse(source) : f.forward(source));
}

template <Direction DIRECTION, class Index, class F>
__device__ __forceinline__ Index source_of(const F& f, Index target) {
    return Index(DIRECTION == Direction::Shuffle ? f.forward(target) : f.inverse(target));
}

// A stripe's items by bucket, tile by tile, in the order of the source: what the next kernels know
// of an item is that order alone.
template <int THREADS, int PER_THREAD, int BITS, int BLOCK, class T>
struct Collect {
    static constexpr int TILE = THREADS * PER_THREAD, BINS = 1 << BITS, WARPS = THREADS / 32;
    static_assert(BINS <= THREADS && TILE < 1 << 16, "a bin a thread, and sums in half a word");
    static_assert(64 * THREADS <= 1 << 16, "offsets of slots in a tile have half a word");

    T open[BINS][BLOCK];  // what has not filled a block yet
    union {
        T items[TILE];  // the tile's items, in the order of their buckets
        uint16_t before[WARPS][BINS];
        uint32_t survivors[WARPS][32 * PER_THREAD];
    };
    // Of each bin: the items that are held, now and before this tile, the blocks that have been
    // written, and of this tile the first block, the number of items in blocks, and where its items
    // are less what is held.
    uint32_t held[BINS], old[BINS], written[BINS], firsts[BINS], in_blocks[BINS];
    int places[BINS];
    uint16_t bin_of[TILE / BLOCK + BINS];  // of each block
    uint32_t sums[32];
    uint32_t all_blocks;
};

// The tile of slots with the survivor of a rank.
__device__ __forceinline__ uint64_t tile_of_rank(const uint64_t* bases, uint64_t tiles, uint64_t rank) {
    uint64_t low = 0, high = tiles;
    while (high - low > 1) {
        const uint64_t middle = (low + high) / 2;
        (bases[middle] <= rank ? low : high) = middle;
    }
    return low;
}

// Reads each stripe, and writes its items back as blocks of one bucket each, from its beginning on.
// A block is written where items have been read before: no more blocks are full than were read.
//
// GAPS says that this undoes a shuffle in which not every slot survives. Then a source is the rank
// of a slot, and the slots are evaluated from the first one of the stripe on.
template <int THREADS, int PER_THREAD, int BITS, int BLOCK, Direction DIRECTION, bool GAPS, class Index, class F,
          class T>
__device__ __forceinline__ void collect_blocks(const F& f, const Striped<T>& to, uint64_t last) {
    extern __shared__ __align__(16) unsigned char memory[];
    using Shared = Collect<THREADS, PER_THREAD, BITS, BLOCK, T>;
    auto& shared = *reinterpret_cast<Shared*>(memory);
    constexpr int TILE = Shared::TILE, BINS = Shared::BINS, WARPS = Shared::WARPS;
    const uint32_t thread = threadIdx.x, lane = thread % 32, warp = uniform(thread / 32);
    const uint32_t stripe = blockIdx.x;
    const uint64_t begin = uint64_t(stripe) << to.stripe_bits, most = uint64_t(1) << to.stripe_bits;
    const uint64_t end = to.len - begin < most ? to.len : begin + most;
    uint64_t front = begin / BLOCK, slot = 0;
    if (thread < BINS) shared.held[thread] = shared.written[thread] = 0;
    // The first source of the tile.
    uint64_t first = begin;
    uint32_t usual_steps = 0;
    if constexpr (GAPS) {
        usual_steps = uint32_t(float(PER_THREAD - 1) / float(to.len) * (float(last) + 1));
        // So that offsets in the tile have 16 bits.
        usual_steps = usual_steps < PER_THREAD ? PER_THREAD : usual_steps < 64 ? usual_steps : 64;
        const uint64_t tile = tile_of_rank(to.tile_bases, last / to.counted + 1, begin);
        slot = tile * to.counted;
        first = to.tile_bases[tile];
    }
    __syncthreads();
    while (first < end) {
        T item[PER_THREAD];
        uint32_t bin[PER_THREAD], rank[PER_THREAD], valid = 0;
        // A warp's records follow each other.
        const uint32_t own = warp * (32 * PER_THREAD) + lane;
        const uint64_t tile_first = first;
        if constexpr (!GAPS) {
            const uint32_t count = end - first < TILE ? uint32_t(end - first) : TILE;
            BIJECTIVE_SHUFFLE_UNROLL
            for (int k = 0; k < PER_THREAD; ++k) {
                if (own + 32 * k < count) item[k] = to.items[first + own + 32 * k];
            }
            BIJECTIVE_SHUFFLE_UNROLL
            for (int k = 0; k < PER_THREAD; ++k) {
                // A source beyond the end must not be evaluated, since it may not exist.
                const bool exists = own + 32 * k < count;
                const Index source = Index(first + (exists ? own + 32 * k : 0));
                bin[k] = uint32_t(target_of<DIRECTION, Index>(f, source) >> to.shift);
                valid |= uint32_t(exists) << k;
            }
            first += count;
        } else {
            // A warp has so many slots that their survivors nearly fill its records. If they are
            // more than there is room for, the tile is done again with a slot for each record.
            uint32_t steps = usual_steps, count, before, all;
            for (;; steps = PER_THREAD) {
                count = before = all = 0;
#pragma unroll 4
                for (uint32_t k = 0; k < steps; ++k) {
                    const uint32_t offset = 32 * (warp * steps + k) + lane;
                    const uint64_t at = slot + offset;
                    const Index target = Index(f.forward(Index(at <= last ? at : last)));
                    const bool survives = at <= last && target < to.len;
                    const uint32_t those = __ballot_sync(FULL_WARP, survives);
                    const uint32_t place = count + __popc(those & ((1u << lane) - 1));
                    if (survives && place < 32 * PER_THREAD) {
                        shared.survivors[warp][place] = uint32_t(target >> to.shift) << 16 | offset;
                    }
                    count += __popc(those);
                }
                if (lane == 0) shared.sums[warp] = count;
                __syncthreads();
                bool fits = true;
                BIJECTIVE_SHUFFLE_UNROLL
                for (int w = 0; w < WARPS; ++w) {
                    before += uint32_t(w) < warp ? shared.sums[w] : 0;
                    all += shared.sums[w];
                    fits &= shared.sums[w] <= 32 * PER_THREAD;
                }
                if (fits) break;
                __syncthreads();
            }
            BIJECTIVE_SHUFFLE_UNROLL
            for (int k = 0; k < PER_THREAD; ++k) {
                const uint64_t source = first + before + 32 * k + lane;
                const bool exists = 32 * k + lane < count;
                const uint32_t survivor = exists ? shared.survivors[warp][32 * k + lane] : 0;
                bin[k] = survivor >> 16;
                if (!exists || source < begin || source >= end) continue;
                if (source == begin) to.first_slots[stripe] = slot + (survivor & 0xFFFF);
                valid |= 1u << k;
                item[k] = to.items[source];
            }
            slot += THREADS * steps;
            first += all;
            __syncthreads();
        }
        for (uint32_t b = lane; b < BINS; b += 32) shared.before[warp][b] = 0;
        __syncwarp();
        BIJECTIVE_SHUFFLE_UNROLL
        for (int k = 0; k < PER_THREAD; ++k) {
            const bool is_valid = valid >> k & 1;
            uint32_t same = __ballot_sync(FULL_WARP, is_valid), word = 0;
            BIJECTIVE_SHUFFLE_UNROLL
            for (int bit = 0; bit < BITS; ++bit) {
                const bool set = bin[k] >> bit & 1;
                const uint32_t those = __ballot_sync(FULL_WARP, set);
                same &= set ? those : ~those;
                if (!GAPS && lane == bit) word = those;
            }
            if (!GAPS && to.planes != nullptr) {
                const uint64_t source = tile_first + own - lane + 32 * k;
                if (lane < BITS && source < end) to.planes[lane * to.plane_words() + source / 32] = word;
            }
            const uint32_t lower = __popc(same & ((1u << lane) - 1));
            uint32_t before = 0;
            if (is_valid) before = shared.before[warp][bin[k]];
            __syncwarp();
            if (is_valid && lower == 0) shared.before[warp][bin[k]] = uint16_t(before + __popc(same));
            __syncwarp();
            rank[k] = before + lower;
        }
        __syncthreads();
        uint32_t records = 0, blocks = 0, held = 0;
        if (thread < BINS) {
            held = shared.held[thread];
            uint32_t sum = held;
            BIJECTIVE_SHUFFLE_UNROLL
            for (int w = 0; w < WARPS; ++w) {
                const uint32_t of_warp = shared.before[w][thread];
                shared.before[w][thread] = uint16_t(sum);
                sum += of_warp;
            }
            records = sum - held;
            blocks = sum / BLOCK;
            shared.old[thread] = held;
            shared.held[thread] = sum % BLOCK;
        }
        const uint32_t sum = exclusive_sum<THREADS>(records | blocks << 16, shared.sums);
        if (thread < BINS) {
            shared.places[thread] = int(sum & 0xFFFF) - int(held);
            shared.firsts[thread] = sum >> 16;
            shared.in_blocks[thread] = blocks * BLOCK;
            for (uint32_t j = 0; j < blocks; ++j) shared.bin_of[(sum >> 16) + j] = uint16_t(thread);
        }
        if (thread == THREADS - 1) shared.all_blocks = (sum >> 16) + blocks;
        __syncthreads();
        // Each item's number among those of its bin, with those that are held.
        BIJECTIVE_SHUFFLE_UNROLL
        for (int k = 0; k < PER_THREAD; ++k) {
            if (valid >> k & 1) rank[k] += shared.before[warp][bin[k]];
        }
        __syncthreads();
        BIJECTIVE_SHUFFLE_UNROLL
        for (int k = 0; k < PER_THREAD; ++k) {
            if ((valid >> k & 1) && rank[k] < shared.in_blocks[bin[k]]) {
                shared.items[shared.places[bin[k]] + int(rank[k])] = item[k];
            }
        }
        __syncthreads();
        const uint32_t all = shared.all_blocks;
        for (uint32_t at = thread; at < all * BLOCK; at += THREADS) {
            const uint32_t block = at / BLOCK, b = shared.bin_of[block];
            const uint32_t number = at - shared.firsts[b] * BLOCK;
            const int place = shared.places[b] + int(number);
            // What is held comes first, and the first block has all of it.
            const bool is_held = number < shared.old[b];
            to.items[front * BLOCK + at] = is_held ? shared.open[b][number] : shared.items[place];
            if (at % BLOCK == 0) to.table[front + block] = b << NUMBER_BITS | (shared.written[b] + number / BLOCK);
        }
        __syncthreads();
        BIJECTIVE_SHUFFLE_UNROLL
        for (int k = 0; k < PER_THREAD; ++k) {
            if (!(valid >> k & 1)) continue;
            const uint32_t in_blocks = shared.in_blocks[bin[k]];
            if (rank[k] >= in_blocks) shared.open[bin[k]][rank[k] - in_blocks] = item[k];
        }
        if (thread < BINS) shared.written[thread] += blocks;
        front += all;
        __syncthreads();
    }
    for (uint32_t b = warp; b < to.buckets; b += WARPS) {
        T* const rest = to.rest(stripe, b, BLOCK);
        for (uint32_t j = lane; j < shared.held[b]; j += 32) rest[j] = shared.open[b][j];
    }
    if (thread < to.buckets) {
        to.block_rows[to.row(thread, stripe)] = shared.written[thread];
        to.item_rows[to.row(thread, stripe)] = shared.written[thread] * BLOCK + shared.held[thread];
    }
    for (uint64_t block = front + thread; block < end / BLOCK; block += THREADS) to.table[block] = GONE;
}

// Sums the counts of a bucket's stripes, a block a bucket.
template <int THREADS>
__device__ __forceinline__ uint32_t sum_row(uint32_t* row, uint32_t len, uint32_t* sums) {
    uint32_t base = 0;
    for (uint32_t first = 0; first < len; first += THREADS) {
        const uint32_t at = first + threadIdx.x, own = at < len ? row[at] : 0;
        const uint32_t sum = base + exclusive_sum<THREADS>(own, sums);
        if (at < len) row[at] = sum;
        base += sums[THREADS / 32 - 1];
        __syncthreads();
    }
    if (threadIdx.x == 0) row[len] = base;
    return base;
}

template <int THREADS, class T>
__device__ __forceinline__ void sum_rows(const Striped<T>& to) {
    __shared__ uint32_t sums[32];
    const uint32_t bucket = blockIdx.x;
    const uint32_t blocks = sum_row<THREADS>(to.block_rows + to.row(bucket, 0), to.stripes, sums);
    const uint32_t items = sum_row<THREADS>(to.item_rows + to.row(bucket, 0), to.stripes, sums);
    if (threadIdx.x == 0) {
        to.block_counts[bucket] = blocks;
        to.item_counts[bucket] = items;
    }
}

// The exclusive sums of the buckets' counts, in 64 bits, by one block. There is a bucket a thread.
template <int THREADS>
__device__ __forceinline__ void sum_buckets(const uint32_t* counts, uint32_t buckets, uint64_t* bases) {
    __shared__ uint32_t sums[2][32];
    const uint32_t own = threadIdx.x < buckets ? counts[threadIdx.x] : 0;
    // Neither part of the sum needs more than 32 bits.
    const uint32_t low = exclusive_sum<THREADS>(own & 0xFFFF, sums[0]);
    const uint32_t high = exclusive_sum<THREADS>(own >> 16, sums[1]);
    if (threadIdx.x < buckets) bases[threadIdx.x] = (uint64_t(high) << 16) + low;
}

template <int THREADS, class T>
__device__ __forceinline__ void sum_all_buckets(const Striped<T>& to) {
    sum_buckets<THREADS>(to.block_counts, to.buckets, to.block_bases);
    sum_buckets<THREADS>(to.item_counts, to.buckets, to.item_bases);
}

// Turns each word of the table into the block to which a block goes: all blocks of a bucket behind
// those of the buckets before it, in the order of the source. A row of blocks for each stripe.
template <int BLOCK, class T>
__device__ __forceinline__ void find_targets(const Striped<T>& to) {
    const uint32_t stripe = blockIdx.y, number = blockIdx.x * blockDim.x + threadIdx.x;
    const uint64_t of_stripe = (uint64_t(1) << to.stripe_bits) / BLOCK, block = stripe * of_stripe + number;
    if (number >= of_stripe || block >= to.len / BLOCK) return;
    const uint32_t word = to.table[block], bucket = word >> NUMBER_BITS & 0x3FF;
    if (word == GONE) return;
    const uint64_t target =
        to.block_bases[bucket] + to.block_rows[to.row(bucket, stripe)] + (word & uint32_t(low_mask(NUMBER_BITS)));
    to.table[block] = target == block ? GONE : uint32_t(target);
}

// Moves each block to its target. A group of lanes follows a chain of blocks: it claims and reads a
// block, and then again and again claims the target, reads what is there, and writes there what it
// holds. A chain ends where another has begun, or where nothing is left to be read.
//
// A block is the target of one other, so only the group that holds that one writes there. If a
// chain began with the block, it must have been read by then, which its flag says. Groups wait for
// nothing else, and a group that begins a chain sets the flag in the step in which it claims the
// block. All groups of a warp take their steps together; one that waits tries again in the next.
template <int THREADS, int LANES, int UNITS, class Unit>
__device__ __forceinline__ void exchange_blocks(Unit* items, uint32_t* table, uint32_t blocks, uint32_t mask) {
    constexpr int EACH = UNITS / LANES;
    static_assert(UNITS % LANES == 0 && 32 % LANES == 0, "a part of a block for each lane");
    const uint32_t lane = threadIdx.x % LANES, leader = threadIdx.x % 32 - lane;
    const uint32_t groups = gridDim.x * (THREADS / LANES);
    // Neighbouring blocks mostly go to neighbouring targets, and chains that begin close to each
    // other would soon meet; so they begin at the multiples of an odd number.
    uint64_t start = blockIdx.x * (THREADS / LANES) + threadIdx.x / LANES;
    enum Act : uint32_t { Nothing, Begin, Swap, End };
    bool holds = false;
    uint32_t target = 0;
    Unit held[EACH];
    while (__ballot_sync(FULL_WARP, holds || start <= mask)) {
        Unit found[EACH];
        // Nobody else writes there, so it may be read before it is claimed. This is not used if a
        // chain has begun there.
        if (holds) {
            const Unit* const block = items + uint64_t(target) * UNITS + lane;
            BIJECTIVE_SHUFFLE_UNROLL
            for (int k = 0; k < EACH; ++k) found[k] = block[k * LANES];
        }
        uint32_t act = Nothing, at = target, next = 0;
        if (lane == 0) {
            if (holds) {
                next = atomicOr(&table[target], CLAIMED);
                act = !(next & CLAIMED) ? Swap : next & READ ? End : Nothing;
            } else if (start <= mask) {
                at = uint32_t(start) * 0x9E3779B1u & mask;
                start += groups;
                if (at < blocks && !(load_relaxed(&table[at]) & CLAIMED)) {
                    next = atomicOr(&table[at], CLAIMED);
                    if (!(next & CLAIMED)) act = Begin;
                }
            }
        }
        act = __shfl_sync(FULL_WARP, act, leader);
        at = __shfl_sync(FULL_WARP, at, leader);
        next = __shfl_sync(FULL_WARP, next, leader);
        start = uint64_t(__shfl_sync(FULL_WARP, uint32_t(start >> 32), leader)) << 32
            | __shfl_sync(FULL_WARP, uint32_t(start), leader);
        Unit* const block = items + uint64_t(at) * UNITS + lane;
        if (act == End) __threadfence();
        if (act == Begin) {
            BIJECTIVE_SHUFFLE_UNROLL
            for (int k = 0; k < EACH; ++k) found[k] = block[k * LANES];
        }
        if (act == Swap || act == End) {
            BIJECTIVE_SHUFFLE_UNROLL
            for (int k = 0; k < EACH; ++k) block[k * LANES] = held[k];
        }
        if (act == Begin || act == Swap) {
            BIJECTIVE_SHUFFLE_UNROLL
            for (int k = 0; k < EACH; ++k) held[k] = found[k];
            holds = true;
            target = next;
        }
        if (act == End) holds = false;
        if (__ballot_sync(FULL_WARP, act == Begin)) {
            // The reads come before the flag.
            __threadfence();
            __syncwarp();
            if (lane == 0 && act == Begin) atomicOr(&table[at], READ);
        }
    }
}

}  // namespace bijective_shuffle

#endif
