// The strategy in place: what the partitioned strategy does, without a second array. An array is
// changed within its own memory, a block of items at a time, and then put in order a few buckets at
// a time. src/cuda/shuffle/in_place/mod.rs says how, and why nothing is lost.
#ifndef BIJECTIVE_SHUFFLE_IN_PLACE
#define BIJECTIVE_SHUFFLE_IN_PLACE

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
    uint32_t together_bits; // 2 to this power neighbouring stripes are listed together
    uint32_t counted;       // slots of a tile of `tile_bases`
    const uint64_t* tile_bases; // survivors before each tile of slots, to undo a shuffle with gaps
    uint64_t* first_slots;  // of the first item of each stripe, likewise
    T* rests;               // for each stripe, a block for each bucket: what has filled no block
    uint32_t* table;        // for each block of the array what it holds, and then where it goes
    uint32_t* block_rows;   // for each bucket its blocks of each stripe; sums, after `sum_rows`
    uint32_t* item_rows;    // the same for items
    uint32_t* block_counts; // of each bucket
    uint32_t* item_counts;
    uint64_t* block_bases;  // their sums
    uint64_t* item_bases;

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

    T open[BINS][BLOCK];  // what has not filled a block yet
    union {
        T items[TILE];  // the tile's items, in the order of their buckets
        uint16_t before[WARPS][BINS];
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
    if constexpr (GAPS) {
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
            uint32_t count = 0;
            BIJECTIVE_SHUFFLE_UNROLL
            for (int k = 0; k < PER_THREAD; ++k) {
                const uint64_t at = slot + own + 32 * k;
                const Index target = Index(f.forward(Index(at <= last ? at : last)));
                bin[k] = uint32_t(target >> to.shift);
                const uint32_t survive = __ballot_sync(FULL_WARP, at <= last && target < to.len);
                rank[k] = count + __popc(survive & ((1u << lane) - 1));
                valid |= (survive >> lane & 1) << k;
                count += __popc(survive);
            }
            if (lane == 0) shared.sums[warp] = count;
            __syncthreads();
            uint32_t before = 0, all = 0;
            BIJECTIVE_SHUFFLE_UNROLL
            for (int w = 0; w < WARPS; ++w) {
                before += uint32_t(w) < warp ? shared.sums[w] : 0;
                all += shared.sums[w];
            }
            BIJECTIVE_SHUFFLE_UNROLL
            for (int k = 0; k < PER_THREAD; ++k) {
                const uint64_t source = first + before + rank[k];
                if (!(valid >> k & 1)) continue;
                if (source == begin) to.first_slots[stripe] = slot + own + 32 * k;
                if (source < begin || source >= end) {
                    valid &= ~(1u << k);
                } else {
                    item[k] = to.items[source];
                }
            }
            slot += TILE;
            first += all;
        }
        for (uint32_t b = lane; b < BINS; b += 32) shared.before[warp][b] = 0;
        __syncwarp();
        BIJECTIVE_SHUFFLE_UNROLL
        for (int k = 0; k < PER_THREAD; ++k) {
            const bool is_valid = valid >> k & 1;
            uint32_t same = __ballot_sync(FULL_WARP, is_valid);
            BIJECTIVE_SHUFFLE_UNROLL
            for (int bit = 0; bit < BITS; ++bit) {
                const bool set = bin[k] >> bit & 1;
                const uint32_t those = __ballot_sync(FULL_WARP, set);
                same &= set ? those : ~those;
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

// A tile of sources, with their keys, in the order of their lists.
template <int TILE, int BINS>
struct Listed {
    uint32_t sources[TILE], keys[TILE];
    uint16_t bins[TILE];
    uint32_t counts[BINS], places[BINS];
    uint32_t sums[32];
};

// The sources of some buckets' items, and their keys, by the stripes that the sources are in: a
// list for some neighbouring stripes, whose length the rows say, in any order. It counts the items
// of each part of a bucket. A row of blocks for each bucket, from the first one on; the words of
// the rows that say where a list begins say where it ends, afterwards.
//
// With GAPS a source is a slot, and its number that from the first slot of those stripes on.
template <int THREADS, int PER_THREAD, int BINS, Direction DIRECTION, bool GAPS, class Index, class F, class T>
__device__ __forceinline__ void list_sources(const F& f, const Striped<T>& to, uint32_t first_bucket,
                                             uint32_t part_bits, uint64_t last, uint64_t slots, uint32_t* list,
                                             uint32_t* keys, uint32_t* part_counts) {
    extern __shared__ __align__(16) unsigned char memory[];
    auto& shared = *reinterpret_cast<Listed<THREADS * PER_THREAD, BINS>*>(memory);
    const uint32_t thread = threadIdx.x, lane = thread % 32, warp = uniform(thread / 32);
    const uint32_t bucket = first_bucket + blockIdx.y;
    const uint64_t bucket_first = uint64_t(bucket) << to.shift;
    const uint64_t tile_first = uint64_t(blockIdx.x) * (THREADS * PER_THREAD);
    const uint32_t range_bits = to.stripe_bits + to.together_bits;
    const uint32_t lists = uint32_t((to.len - 1) >> range_bits) + 1;
    const uint64_t beyond = bucket_first + (uint64_t(1) << to.shift);
    const float scale = GAPS ? float(lists) / float(slots) : 0.0f;
    for (uint32_t b = thread; b < lists; b += THREADS) shared.counts[b] = 0;
    __syncthreads();
    const uint64_t own = bucket_first + tile_first + warp * (32 * PER_THREAD);
    Index source[PER_THREAD];
    uint32_t bin[PER_THREAD], rank[PER_THREAD];
    uint32_t valid = 0, survivors = 0;
    BIJECTIVE_SHUFFLE_UNROLL
    for (int k = 0; k < PER_THREAD; ++k) {
        const uint64_t target = own + 32 * k + lane;
        const bool exists = target <= last && target < beyond;
        source[k] = source_of<DIRECTION, Index>(f, Index(exists ? target : bucket_first));
        const bool survives = exists && (GAPS || source[k] < to.len);
        valid |= uint32_t(survives) << k;
        survivors += survives;
    }
    survivors = warp_sum(survivors);
    const uint64_t part = (own - (uint64_t(first_bucket) << to.shift)) >> part_bits;
    if (lane == 0 && survivors > 0) atomicAdd(&part_counts[part], survivors);
    BIJECTIVE_SHUFFLE_UNROLL
    for (int k = 0; k < PER_THREAD; ++k) {
        if (!(valid >> k & 1)) continue;
        if constexpr (GAPS) {
            const auto first_slot = [&](uint32_t b) { return to.first_slots[b << to.together_bits]; };
            // Mostly as many slots survive in one place as in another.
            uint32_t b = uint32_t(float(source[k]) * scale);
            b = b < lists ? b : lists - 1;
            if (first_slot(b) > source[k] || (b + 1 < lists && first_slot(b + 1) <= source[k])) {
                b = 0;
                for (uint32_t high = lists; high - b > 1;) {
                    const uint32_t middle = (b + high) / 2;
                    (first_slot(middle) <= source[k] ? b : high) = middle;
                }
            }
            bin[k] = b;
            source[k] -= Index(first_slot(b));
        } else {
            bin[k] = uint32_t(source[k] >> range_bits);
            source[k] &= Index(low_mask(int(range_bits)));
        }
        rank[k] = atomicAdd(&shared.counts[bin[k]], 1);
    }
    __syncthreads();
    constexpr int EACH = (BINS + THREADS - 1) / THREADS;
    uint32_t records[EACH], all = 0;
    BIJECTIVE_SHUFFLE_UNROLL
    for (int e = 0; e < EACH; ++e) {
        const uint32_t b = thread * EACH + e;
        records[e] = b < lists ? shared.counts[b] : 0;
        all += records[e];
    }
    uint32_t start = exclusive_sum<THREADS>(all, shared.sums);
    BIJECTIVE_SHUFFLE_UNROLL
    for (int e = 0; e < EACH; ++e) {
        const uint32_t b = thread * EACH + e;
        if (b < lists) {
            shared.counts[b] = start;
            uint32_t taken = 0;
            if (records[e] > 0) taken = atomicAdd(&to.item_rows[to.row(bucket, b << to.together_bits)], records[e]);
            shared.places[b] = taken - start;
        }
        start += records[e];
    }
    const uint32_t count = shared.sums[THREADS / 32 - 1];
    __syncthreads();
    BIJECTIVE_SHUFFLE_UNROLL
    for (int k = 0; k < PER_THREAD; ++k) {
        if (!(valid >> k & 1)) continue;
        const uint32_t at = shared.counts[bin[k]] + rank[k];
        shared.sources[at] = uint32_t(source[k]);
        shared.keys[at] = uint32_t(own + 32 * k + lane - bucket_first);
        shared.bins[at] = uint16_t(bin[k]);
    }
    __syncthreads();
    const uint64_t base = to.item_bases[bucket] - to.item_bases[first_bucket];
    for (uint32_t j = thread; j < count; j += THREADS) {
        const uint32_t at = shared.places[shared.bins[j]] + j;
        list[base + at] = shared.sources[j];
        keys[base + at] = shared.keys[j];
    }
}

// The parts of some buckets, in working memory: each has as much room as it has items.
template <class T>
struct Parts {
    using Place = int64_t;
    T* items;
    uint16_t* keys;
    uint32_t* counts;       // of those that are there
    const uint64_t* bases;

    __device__ __forceinline__ Place take(uint64_t part, uint32_t records, uint32_t start) const {
        return records > 0 ? int64_t(bases[part] + atomicAdd(&counts[part], records)) - start : 0;
    }
    __device__ __forceinline__ void store(Place place, uint32_t at, uint16_t key, T item) const {
        keys[place + at] = key;
        items[place + at] = item;
    }
};

// The most stripes whose items are listed together.
constexpr int MOST_TOGETHER = 4;

// The shares of a list's range in which its sources are first put in order.
constexpr int SHARE_BITS = 13, SHARES = 1 << SHARE_BITS;

// A list's items by the parts of a bucket. Before they are there, the same memory has the sources
// in rough order, and the shares; if it is more than the items need, it begins before them.
template <int THREADS, int PER_THREAD, int BITS, class T>
struct Spread {
    static constexpr int TILE = THREADS * PER_THREAD;
    static constexpr int SOURCES = 4 * (TILE + SHARES + 1), MORE = SOURCES - TILE * int(sizeof(T));

    unsigned char more[MORE > 0 ? (MORE + 15) / 16 * 16 : 16];
    Distribute<THREADS, PER_THREAD, BITS, T, uint16_t, Parts<T>> tile;
};

// Copies some buckets' items to working memory, by the parts of the buckets. A block has the items
// of a list: it puts the list in order, which is that of the items, and so knows each one's key. A
// list that is too long is done piece by piece. A row of blocks for each bucket.
template <int THREADS, int PER_THREAD, int BITS, int BLOCK, bool GAPS, class T>
__device__ __forceinline__ void spread_items(const Striped<T>& from, uint32_t first_bucket, uint32_t part_bits,
                                             uint64_t slots, const uint32_t* list, const uint32_t* keys,
                                             const Parts<T>& to) {
    extern __shared__ __align__(16) unsigned char memory[];
    constexpr uint32_t TILE = THREADS * PER_THREAD, EACH = (SHARES + THREADS - 1) / THREADS;
    auto& tile = reinterpret_cast<Spread<THREADS, PER_THREAD, BITS, T>*>(memory)->tile;
    uint32_t* const rough = reinterpret_cast<uint32_t*>(memory);
    uint32_t* const shares = rough + TILE;
    __shared__ uint32_t starts[MOST_TOGETHER], full[MOST_TOGETHER], shared_count, shared_until;
    __shared__ uint64_t blocks[MOST_TOGETHER];
    const uint32_t thread = threadIdx.x, together = 1u << from.together_bits;
    const uint32_t bucket = first_bucket + blockIdx.y, stripe = blockIdx.x * together;
    const uint32_t* const row = from.item_rows + from.row(bucket, 0);
    const uint32_t begin = stripe == 0 ? 0 : row[stripe - together], count = row[stripe] - begin;
    if (count == 0) return;
    const uint32_t stripes = from.stripes - stripe < together ? from.stripes - stripe : together;
    if (thread < MOST_TOGETHER) starts[thread] = ~0u;
    if (thread < stripes) {
        const uint32_t* const block_row = from.block_rows + from.row(bucket, stripe + thread);
        starts[thread] = thread == 0 ? 0 : row[stripe + thread] - begin;
        full[thread] = (block_row[1] - block_row[0]) * BLOCK;
        blocks[thread] = (from.block_bases[bucket] + block_row[0]) * BLOCK;
    }
    const uint64_t base = from.item_bases[bucket] - from.item_bases[first_bucket] + begin;
    list += base;
    keys += base;
    uint32_t share_bits = 0;
    if constexpr (GAPS) {
        const bool is_last = stripe + together >= from.stripes;
        const uint64_t range = (is_last ? slots : from.first_slots[stripe + together]) - from.first_slots[stripe];
        while ((range - 1) >> share_bits >> SHARE_BITS != 0) ++share_bits;
    } else {
        const uint32_t range_bits = from.stripe_bits + from.together_bits;
        share_bits = range_bits > SHARE_BITS ? range_bits - SHARE_BITS : 0;
    }
    uint32_t done = 0;
    // Of a list that is too long, the sources below this have been done.
    uint64_t low = 0;
    while (done < count) {
        __syncthreads();
        uint32_t pieces = count, drop = share_bits;
        const uint32_t first = uint32_t(low);
        if (count > TILE) {
            // As many shares as a tile has room for. If the first one is too large for it, the
            // shares are made smaller; at last each has one source.
            uint32_t width = share_bits;
            for (;; width = width > 8 ? width - 8 : 0) {
                for (uint32_t s = thread; s < SHARES; s += THREADS) shares[s] = 0;
                if (thread == 0) shared_count = 0;
                __syncthreads();
                for (uint32_t j = thread; j < count; j += THREADS) {
                    if (list[j] < low) continue;
                    const uint32_t share = (list[j] - first) >> width;
                    if (share < SHARES) atomicAdd(&shares[share], 1);
                }
                __syncthreads();
                if (thread == 0) {
                    uint32_t sum = 0, share = 0;
                    while (share < SHARES && sum + shares[share] <= TILE) sum += shares[share++];
                    shared_until = share;
                }
                __syncthreads();
                if (shared_until > 0) break;
            }
            const uint64_t end = low + (uint64_t(shared_until) << width);
            for (uint32_t j = thread; j < count; j += THREADS) {
                if (list[j] >= low && list[j] < end) tile.keys[atomicAdd(&shared_count, 1)] = j;
            }
            for (drop = 0; (end - low - 1) >> drop >> SHARE_BITS != 0;) ++drop;
            low = end;
            __syncthreads();
            pieces = shared_count;
        }
        for (uint32_t s = thread; s < SHARES; s += THREADS) shares[s] = 0;
        __syncthreads();
        const uint32_t valid = valid_records<THREADS, PER_THREAD>(pieces);
        uint32_t source[PER_THREAD], place[PER_THREAD], key[PER_THREAD];
        BIJECTIVE_SHUFFLE_UNROLL
        for (int k = 0; k < PER_THREAD; ++k) {
            if (!(valid >> k & 1)) continue;
            const uint32_t j = count > TILE ? tile.keys[THREADS * k + thread] : THREADS * k + thread;
            source[k] = list[j] - first;
            key[k] = keys[j];
        }
        BIJECTIVE_SHUFFLE_UNROLL
        for (int k = 0; k < PER_THREAD; ++k) {
            if (valid >> k & 1) place[k] = atomicAdd(&shares[source[k] >> drop], 1);
        }
        __syncthreads();
        uint32_t all = 0;
#pragma unroll 4
        for (uint32_t s = thread * EACH; s < (thread + 1) * EACH; ++s) all += s < SHARES ? shares[s] : 0;
        uint32_t start = exclusive_sum<THREADS>(all, tile.sums);
#pragma unroll 4
        for (uint32_t s = thread * EACH; s < (thread + 1) * EACH; ++s) {
            if (s >= SHARES) break;
            const uint32_t records = shares[s];
            shares[s] = start;
            start += records;
        }
        if (thread == 0) shares[SHARES] = pieces;
        __syncthreads();
        BIJECTIVE_SHUFFLE_UNROLL
        for (int k = 0; k < PER_THREAD; ++k) {
            if (valid >> k & 1) rough[place[k] += shares[source[k] >> drop]] = source[k];
        }
        __syncthreads();
        // A source's rank is the number of those before it, among the few of its share.
        BIJECTIVE_SHUFFLE_UNROLL
        for (int k = 0; k < PER_THREAD; ++k) {
            if (!(valid >> k & 1)) continue;
            const uint32_t begins = shares[source[k] >> drop], ends = shares[(source[k] >> drop) + 1];
            uint32_t rank = begins;
            if (ends - begins > 1) {
                for (uint32_t j = begins; j < ends; ++j) rank += rough[j] < source[k];
            }
            place[k] = rank;
        }
        BIJECTIVE_SHUFFLE_UNROLL
        for (int k = 0; k < PER_THREAD; ++k) {
            if (valid >> k & 1) tile.keys[place[k]] = key[k];
        }
        __syncthreads();
        BIJECTIVE_SHUFFLE_UNROLL
        for (int k = 0; k < PER_THREAD; ++k) {
            if (valid >> k & 1) key[k] = tile.keys[THREADS * k + thread];
        }
        __syncthreads();
        const uint64_t first_part = uint64_t(blockIdx.y) << (from.shift - part_bits);
        tile.run(key, valid, pieces, int(part_bits), first_part, to, [&](int k) {
            // Without a branch, so that several loads are in flight.
            const uint32_t at = done + THREADS * k + thread;
            uint32_t s = 0;
            BIJECTIVE_SHUFFLE_UNROLL
            for (int other = 1; other < MOST_TOGETHER; ++other) s += at >= starts[other];
            const uint32_t j = at - starts[s];
            const T* const in_block = from.items + blocks[s] + j;
            const T* const in_rest = from.rest(stripe + s, bucket, BLOCK) + (j - full[s]);
            return *(j < full[s] ? in_block : in_rest);
        });
        done += pieces;
    }
}

// Moves the items of parts to their places in the array: in order through shared memory, if they
// are no more than `capacity`, else one by one.
template <int THREADS, int TOGETHER, int PART_BITS, class T>
__device__ __forceinline__ void place_part(const Parts<T>& from, const uint64_t* item_bases, uint32_t first_bucket,
                                           uint32_t capacity, T* out) {
    extern __shared__ __align__(16) unsigned char memory[];
    T* const items = reinterpret_cast<T*>(memory);
    uint16_t* const keys = reinterpret_cast<uint16_t*>(items + capacity);
    __shared__ Ranks<THREADS, (1 << PART_BITS) / 32> ranks;
    const uint64_t part = blockIdx.x, start = from.bases[part];
    const uint32_t count = from.counts[part], thread = threadIdx.x;
    if (count == 0) return;
    T* const to = out + item_bases[first_bucket] + start;
    const T* const source = from.items + start;
    const uint16_t* const source_keys = from.keys + start;
    const bool fits = count <= capacity;
    prefetch<THREADS>(source, count);
    constexpr int WORDS = (1 << PART_BITS) / 32, EACH = (WORDS + THREADS - 1) / THREADS;
    for (int word = thread; word < WORDS; word += THREADS) ranks.taken[word] = 0;
    __syncthreads();
    for (uint32_t j = thread; j < count; j += THREADS) {
        const uint16_t key = source_keys[j];
        if (fits) keys[j] = key;
        ranks.mark(key);
    }
    __syncthreads();
    uint32_t ones = 0;
    for (int k = 0; k < EACH; ++k) {
        const int word = thread * EACH + k;
        if (word < WORDS) ones += __popc(ranks.taken[word]);
    }
    uint32_t before = exclusive_sum<THREADS>(ones, ranks.sums);
    for (int k = 0; k < EACH; ++k) {
        const int word = thread * EACH + k;
        if (word < WORDS) {
            ranks.before[word] = before;
            before += __popc(ranks.taken[word]);
        }
    }
    __syncthreads();
    if (!fits) {
        for (uint32_t j = thread; j < count; j += THREADS) to[ranks.of(source_keys[j])] = source[j];
        return;
    }
    for (uint32_t first = thread; first < count; first += THREADS * TOGETHER) {
        T item[TOGETHER];
        BIJECTIVE_SHUFFLE_UNROLL
        for (int k = 0; k < TOGETHER; ++k) {
            const uint32_t j = first + THREADS * k;
            if (j < count) item[k] = read_only(source + j);
        }
        BIJECTIVE_SHUFFLE_UNROLL
        for (int k = 0; k < TOGETHER; ++k) {
            const uint32_t j = first + THREADS * k;
            if (j < count) items[ranks.of(keys[j])] = item[k];
        }
    }
    __syncthreads();
#pragma unroll 8
    for (uint32_t j = thread; j < count; j += THREADS) to[j] = items[j];
}

}  // namespace bijective_shuffle

#endif
