// The strategy in place, second part: what blocks.cuh has brought together is put in order, a few
// buckets at a time, by way of working memory.
#ifndef BIJECTIVE_SHUFFLE_IN_PLACE_BUCKETS
#define BIJECTIVE_SHUFFLE_IN_PLACE_BUCKETS

namespace bijective_shuffle {

// A tile of sources, with their keys, in the order of their lists.
template <int TILE, int BINS>
struct Listed {
    uint32_t sources[TILE], keys[TILE];
    uint16_t bins[TILE];
    uint32_t counts[BINS], places[BINS];
    uint32_t sums[32];
};

// The sources of some buckets' items, and their keys, by the stripes that the sources are in: a
// list for some neighbouring stripes, whose length the rows say, in any order. A row of blocks for
// each bucket, from the first one on; the words of the rows that say where a list begins say where
// it ends, afterwards.
//
// With GAPS a source is a slot, and its number that from the first slot of those stripes on.
template <int THREADS, int PER_THREAD, int BINS, Direction DIRECTION, bool GAPS, class Index, class F, class T>
__device__ __forceinline__ void list_sources(const F& f, const Striped<T>& to, uint32_t first_bucket,
                                             uint64_t last, uint64_t slots, uint32_t* list, uint32_t* keys) {
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
    uint32_t valid = 0;
    BIJECTIVE_SHUFFLE_UNROLL
    for (int k = 0; k < PER_THREAD; ++k) {
        const uint64_t target = own + 32 * k + lane;
        const bool exists = target <= last && target < beyond;
        source[k] = source_of<DIRECTION, Index>(f, Index(exists ? target : bucket_first));
        const bool survives = exists && (GAPS || source[k] < to.len);
        valid |= uint32_t(survives) << k;
    }
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
    uint32_t* counts;       // of those that are there; 0 before and after
    const uint64_t* bases;  // survivors before each tile of slots; null if each key has an item
    uint64_t first;         // the number of the first part
    uint32_t part_bits;     // of a key below the part
    uint32_t tile_bits;     // 2 to this power tiles are a part

    // The number of items before a part.
    __device__ __forceinline__ uint64_t base(uint64_t part) const {
        return bases == nullptr ? (first + part) << part_bits : bases[(first + part) << tile_bits];
    }
    __device__ __forceinline__ Place take(uint64_t part, uint32_t records, uint32_t start) const {
        return records > 0 ? int64_t(base(part) - base(0) + atomicAdd(&counts[part], records)) - start : 0;
    }
    __device__ __forceinline__ void store(Place place, uint32_t at, uint16_t key, T item) const {
        keys[place + at] = key;
        items[place + at] = item;
    }
};

// The most stripes whose items are listed together.
constexpr int MOST_TOGETHER = 4;

// Where a bucket's items of some neighbouring stripes are, in the order of their sources.
template <int BLOCK, class T>
struct Run {
    uint32_t starts[MOST_TOGETHER], full[MOST_TOGETHER];
    uint64_t blocks[MOST_TOGETHER];

    // `begin` is the number of the bucket's items in earlier stripes.
    __device__ __forceinline__ void find(const Striped<T>& from, uint32_t bucket, uint32_t stripe, uint32_t begin) {
        const uint32_t thread = threadIdx.x, together = 1u << from.together_bits;
        if (thread >= MOST_TOGETHER) return;
        starts[thread] = ~0u;
        if (thread >= together || thread >= from.stripes - stripe) return;
        const uint32_t* const block_row = from.block_rows + from.row(bucket, stripe + thread);
        starts[thread] = thread == 0 ? 0 : from.item_rows[from.row(bucket, stripe + thread)] - begin;
        full[thread] = (block_row[1] - block_row[0]) * BLOCK;
        blocks[thread] = (from.block_bases[bucket] + block_row[0]) * BLOCK;
    }

    // Without a branch, so that several loads are in flight.
    __device__ __forceinline__ T item(const Striped<T>& from, uint32_t bucket, uint32_t stripe, uint32_t at) const {
        uint32_t s = 0;
        BIJECTIVE_SHUFFLE_UNROLL
        for (int other = 1; other < MOST_TOGETHER; ++other) s += at >= starts[other];
        const uint32_t j = at - starts[s];
        const T* const in_block = from.items + blocks[s] + j;
        const T* const in_rest = from.rest(stripe + s, bucket, BLOCK) + (j - full[s]);
        return *(j < full[s] ? in_block : in_rest);
    }
};

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
__device__ __forceinline__ void spread_items(const Striped<T>& from, uint32_t first_bucket, uint64_t slots,
                                             const uint32_t* list, const uint32_t* keys, const Parts<T>& to) {
    extern __shared__ __align__(16) unsigned char memory[];
    constexpr uint32_t TILE = THREADS * PER_THREAD, EACH = (SHARES + THREADS - 1) / THREADS;
    auto& tile = reinterpret_cast<Spread<THREADS, PER_THREAD, BITS, T>*>(memory)->tile;
    uint32_t* const rough = reinterpret_cast<uint32_t*>(memory);
    uint32_t* const shares = rough + TILE;
    __shared__ Run<BLOCK, T> run;
    __shared__ uint32_t shared_count, shared_until;
    const uint32_t thread = threadIdx.x, together = 1u << from.together_bits;
    const uint32_t bucket = first_bucket + blockIdx.y, stripe = blockIdx.x * together;
    const uint32_t* const row = from.item_rows + from.row(bucket, 0);
    const uint32_t begin = stripe == 0 ? 0 : row[stripe - together], count = row[stripe] - begin;
    if (count == 0) return;
    run.find(from, bucket, stripe, begin);
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
        const uint64_t first_part = uint64_t(blockIdx.y) << (from.shift - to.part_bits);
        tile.run(key, valid, pieces, int(to.part_bits), first_part, to, [&](int k) {
            return run.item(from, bucket, stripe, done + THREADS * k + thread);
        });
        done += pieces;
    }
}

// The same without lists: the planes say which sources are those of the bucket's items, and these
// are evaluated once more. A block has the sources of some neighbouring stripes. It takes the
// planes' words in rounds, until a tile is full or no word is left.
template <int THREADS, int PER_THREAD, int BITS, int PLANES, int BLOCK, Direction DIRECTION, class Index, class F,
          class T>
__device__ __forceinline__ void spread_by_planes(const F& f, const Striped<T>& from, uint32_t first_bucket,
                                                 const Parts<T>& to) {
    extern __shared__ __align__(16) unsigned char memory[];
    constexpr uint32_t TILE = THREADS * PER_THREAD, WARPS = THREADS / 32, STEPS = 3, SUMS = STEPS * WARPS;
    static_assert(SUMS <= THREADS, "a sum a thread");
    auto& tile = *reinterpret_cast<Distribute<THREADS, PER_THREAD, BITS, T, uint16_t, Parts<T>>*>(memory);
    __shared__ Run<BLOCK, T> run;
    __shared__ uint32_t before[SUMS], sums[32];
    const uint32_t thread = threadIdx.x, lane = thread % 32, warp = uniform(thread / 32);
    const uint32_t bucket = first_bucket + blockIdx.y, stripe = blockIdx.x << from.together_bits;
    run.find(from, bucket, stripe, from.item_rows[from.row(bucket, stripe)]);
    const uint64_t first = uint64_t(stripe) << from.stripe_bits, left = from.len - first;
    const uint64_t most = uint64_t(1) << (from.stripe_bits + from.together_bits);
    const uint32_t range = uint32_t(left < most ? left : most), words = (range + 31) / 32;
    const uint32_t* const plane = from.planes + first / 32;
    // The next word, how many of the sources from there on are done, and the records of the tile
    // and of those before it.
    uint32_t next = 0, skip = 0, found = 0, done = 0;
    while (next < words) {
        uint32_t mask[STEPS][4], number[STEPS];
        BIJECTIVE_SHUFFLE_UNROLL
        for (uint32_t k = 0; k < STEPS; ++k) {
            const uint32_t word = next + 4 * (THREADS * k + thread), at = word < words ? word : 0;
            BIJECTIVE_SHUFFLE_UNROLL
            for (uint32_t j = 0; j < 4; ++j) {
                const uint32_t before = 32 * (word + j), sources = before < range ? range - before : 0;
                mask[k][j] = sources < 32 ? (1u << sources) - 1 : FULL_WARP;
            }
            BIJECTIVE_SHUFFLE_UNROLL
            for (int bit = 0; bit < PLANES; ++bit) {
                const uint4 four = *reinterpret_cast<const uint4*>(plane + bit * from.plane_words() + at);
                const uint32_t flip = (bucket >> bit & 1) - 1;
                mask[k][0] &= four.x ^ flip;
                mask[k][1] &= four.y ^ flip;
                mask[k][2] &= four.z ^ flip;
                mask[k][3] &= four.w ^ flip;
            }
        }
        BIJECTIVE_SHUFFLE_UNROLL
        for (uint32_t k = 0; k < STEPS; ++k) {
            const uint32_t own = __popc(mask[k][0]) + __popc(mask[k][1]) + __popc(mask[k][2]) + __popc(mask[k][3]);
            uint32_t sum = own;
            for (int step = 1; step < 32; step *= 2) {
                const uint32_t other = __shfl_up_sync(FULL_WARP, sum, step);
                if (lane >= step) sum += other;
            }
            number[k] = sum - own;
            if (lane == 31) before[k * WARPS + warp] = sum;
        }
        __syncthreads();
        const uint32_t sum = exclusive_sum<THREADS>(thread < SUMS ? before[thread] : 0, sums);
        const uint32_t all = sums[WARPS - 1], room = TILE - found, take = all - skip < room ? all - skip : room;
        if (thread < SUMS) before[thread] = sum;
        __syncthreads();
        BIJECTIVE_SHUFFLE_UNROLL
        for (uint32_t k = 0; k < STEPS; ++k) {
            // For those that are done, this is beyond what is taken.
            uint32_t at = before[k * WARPS + warp] + number[k] - skip;
            BIJECTIVE_SHUFFLE_UNROLL
            for (uint32_t j = 0; j < 4; ++j) {
                const uint32_t first_source = 32 * (next + 4 * (THREADS * k + thread) + j) - 1;
                for (uint32_t rest = mask[k][j]; rest != 0; rest &= rest - 1, ++at) {
                    if (at < take) tile.keys[found + at] = first_source + __ffs(rest);
                }
            }
        }
        __syncthreads();
        found += take;
        skip += take;
        if (skip == all) {
            next += 4 * THREADS * STEPS;
            skip = 0;
        }
        if (found == 0 || (found < TILE && next < words)) continue;
        const uint32_t valid = valid_records<THREADS, PER_THREAD>(found);
        uint32_t key[PER_THREAD];
        BIJECTIVE_SHUFFLE_UNROLL
        for (int k = 0; k < PER_THREAD; ++k) {
            if (!(valid >> k & 1)) continue;
            const Index source = Index(first + tile.keys[THREADS * k + thread]);
            key[k] = uint32_t(target_of<DIRECTION, Index>(f, source) & low_mask(from.shift));
        }
        __syncthreads();
        const uint64_t first_part = uint64_t(blockIdx.y) << (from.shift - to.part_bits);
        tile.run(key, valid, found, int(to.part_bits), first_part, to, [&](int k) {
            return run.item(from, bucket, stripe, done + THREADS * k + thread);
        });
        done += found;
        found = 0;
        __syncthreads();
    }
}

// Moves the items of parts to their places in the array: in order through shared memory, if they
// are no more than `capacity`, else one by one. DENSE says that there is an item for each key.
template <int THREADS, int TOGETHER, int PART_BITS, bool DENSE, class T>
__device__ __forceinline__ void place_part(const Parts<T>& from, uint32_t capacity, T* out) {
    extern __shared__ __align__(16) unsigned char memory[];
    T* const items = reinterpret_cast<T*>(memory);
    uint16_t* const keys = reinterpret_cast<uint16_t*>(items + capacity);
    __shared__ Ranks<THREADS, (1 << PART_BITS) / 32> ranks;
    const uint64_t part = blockIdx.x, base = from.base(part), start = base - from.base(0);
    const uint32_t count = from.counts[part], thread = threadIdx.x;
    if (count == 0) return;
    T* const to = out + base;
    const T* const source = from.items + start;
    const uint16_t* const source_keys = from.keys + start;
    const bool fits = DENSE || count <= capacity;
    prefetch<THREADS>(source, count, threadIdx.x);
    if constexpr (!DENSE) {
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
    }
    const uint32_t ordered = fits ? count : 0;
    for (uint32_t first = thread; first < ordered; first += THREADS * TOGETHER) {
        T item[TOGETHER];
        // With gaps, a place is found when it is needed, since registers are few.
        uint32_t dense[TOGETHER];
        BIJECTIVE_SHUFFLE_UNROLL
        for (int k = 0; k < TOGETHER; ++k) {
            const uint32_t j = first + THREADS * k;
            if (j >= count) continue;
            if constexpr (DENSE) dense[k] = read_only(source_keys + j);
            item[k] = read_only(source + j);
        }
        BIJECTIVE_SHUFFLE_UNROLL
        for (int k = 0; k < TOGETHER; ++k) {
            const uint32_t j = first + THREADS * k;
            if (j < count) items[DENSE ? dense[k] : ranks.of(keys[j])] = item[k];
        }
    }
    __syncthreads();
    if (thread == 0) from.counts[part] = 0;
    if (!fits) {
        for (uint32_t j = thread; j < count; j += THREADS) to[ranks.of(source_keys[j])] = source[j];
        return;
    }
#pragma unroll 8
    for (uint32_t j = thread; j < count; j += THREADS) to[j] = items[j];
}

}  // namespace bijective_shuffle

#endif
