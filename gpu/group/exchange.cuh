// The partitioned strategy over the GPUs of a group. In the first pass each member reads its items
// in order, and stores them in the memory of the members that own their buckets. Each owner does
// the rest alone.
#ifndef BIJECTIVE_SHUFFLE_EXCHANGE
#define BIJECTIVE_SHUFFLE_EXCHANGE

namespace bijective_shuffle {

// A sender's part of all members' buckets. Its counts are in its own memory, so that taking room in
// a bucket needs no round trip to the owner.
template <class T, class Key>
struct Outbox {
    // Where a tile's records of a bucket go: where the tile's first record would be.
    struct Place {
        T* items;
        Key* keys;
    };

    uint32_t* counts;
    uint32_t* overflow;
    uint64_t capacity;             // of the sender's part of a bucket, in records
    uint64_t ends[MOST_MEMBERS];   // the bucket behind each owner's last; of the last owner, no end
    T* items[MOST_MEMBERS];        // where bucket 0 would be
    Key* keys[MOST_MEMBERS];

    __device__ __forceinline__ Place take(uint64_t bucket, uint32_t records, uint32_t start) const {
        if (records == 0) return {nullptr, nullptr};
        const uint32_t taken = atomicAdd(&counts[bucket], records);
        if (uint64_t(taken) + records > capacity) {
            *overflow = 1;
            return {nullptr, nullptr};
        }
        uint32_t owner = 0;
        while (bucket >= ends[owner]) ++owner;
        const uint64_t at = bucket * capacity + taken - start;
        return {item_at(items[owner], at), item_at(keys[owner], at)};
    }

    __device__ __forceinline__ void store(Place place, uint32_t at, Key key, T item) const {
        if (place.items == nullptr) return;
        place.keys[at] = key;
        place.items[at] = item;
    }
};

// First pass: reads a member's `len` items, the first of which is at place `start` of the array,
// and sends each to its bucket: by its slot or, to undo a shuffle in which every slot survives, by
// its index.
template <int THREADS, int PER_THREAD, int BITS, Direction DIRECTION, class Index, class F, class T, class Key>
__device__ __forceinline__ void send_items(const F& f, const T* source, uint64_t start, uint64_t len, int shift,
                                           const Outbox<T, Key>& to) {
    extern __shared__ __align__(16) unsigned char memory[];
    auto& tile = *reinterpret_cast<Distribute<THREADS, PER_THREAD, BITS, T, Key, Outbox<T, Key>, Index>*>(memory);
    const uint64_t first = uint64_t(blockIdx.x) * (THREADS * PER_THREAD);
    const uint32_t count = uint32_t(len - first < THREADS * PER_THREAD ? len - first : THREADS * PER_THREAD);
    const uint32_t valid = valid_records<THREADS, PER_THREAD>(count);
    Index key[PER_THREAD];
    BIJECTIVE_SHUFFLE_UNROLL
    for (int k = 0; k < PER_THREAD; ++k) {
        // An index beyond the end must not be evaluated, since it may not exist.
        const Index from = valid >> k & 1 ? Index(start + first) + Index(THREADS * k + threadIdx.x) : 0;
        key[k] = Index(DIRECTION == Direction::Unshuffle ? f.forward(from) : f.inverse(from));
    }
    const T* const from = source + first + threadIdx.x;
    tile.run(key, valid, count, shift, 0, to, [from](int k) { return from[THREADS * k]; });
}

// First pass for undoing a shuffle in which not every slot survives: evaluates a member's slots up
// to `last`, counted from its first, and sends each survivor's item to its bucket, by its index.
// `bases` are the survivors of the member's slots before each tile, and `before` those of all slots
// before the member's. Nearly all items are in the member's own run of the source.
template <int THREADS, int PER_THREAD, int BITS, class Index, class F, class T, class Key>
__device__ __forceinline__ void send_survivors(const F& f, uint64_t last, uint64_t len, const uint64_t* bases,
                                               const uint64_t* before, const Shards<T>& source, int shift,
                                               const Outbox<T, Key>& to) {
    extern __shared__ __align__(16) unsigned char memory[];
    auto& tile = *reinterpret_cast<Distribute<THREADS, PER_THREAD, BITS, T, Key, Outbox<T, Key>, Index>*>(memory);
    constexpr int WARPS = THREADS / 32;
    __shared__ uint32_t counts[WARPS];
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint64_t first = uint64_t(blockIdx.x) * (THREADS * PER_THREAD) + warp * (32 * PER_THREAD) + lane;
    Index key[PER_THREAD];
    uint32_t valid = 0, count = 0;
    // The number of survivors of the warp before each of this thread's; it fits 16 bits.
    uint16_t rank[PER_THREAD];
    BIJECTIVE_SHUFFLE_UNROLL
    for (int k = 0; k < PER_THREAD; ++k) {
        const uint64_t slot = first + 32 * k;
        const bool inside = slot <= last;
        key[k] = inside ? Index(f.forward(slot)) : 0;
        const bool survives = inside && key[k] < len;
        const uint32_t mask = __ballot_sync(FULL_WARP, survives);
        rank[k] = uint16_t(count + __popc(mask & ((1u << lane) - 1)));
        if (survives) valid |= 1u << k;
        count += __popc(mask);
    }
    if (lane == 0) counts[warp] = count;
    __syncthreads();
    uint64_t base = *before + bases[blockIdx.x];
    uint32_t all = 0;
    BIJECTIVE_SHUFFLE_UNROLL
    for (int w = 0; w < WARPS; ++w) {
        if (w < warp) base += counts[w];
        all += counts[w];
    }
    const uint32_t near = source.member(base);
    const uint64_t end = source.ends[near];
    const T* const run = item_at(source.items[near], base);
    tile.run(key, valid, all, shift, 0, to, [&](int k) {
        return base + rank[k] < end ? run[rank[k]] : *source.at(base + rank[k]);
    });
}

// A number in the memory of each member.
template <class N>
struct Everywhere {
    const N* words[MOST_MEMBERS];
};

// The sum of the numbers of the members before one.
__device__ __forceinline__ void add_up(const Everywhere<uint64_t>& of, uint32_t member, uint64_t* sum) {
    if (threadIdx.x > 0 || blockIdx.x > 0) return;
    uint64_t all = 0;
    for (uint32_t m = 0; m < member; ++m) all += *of.words[m];
    *sum = all;
}

// Between the passes: fetches from each of `members` senders how many records it has sent to the
// owner's `own` buckets from `first` on, and how many all have sent to the buckets before those.
// Runs as a single block.
template <int THREADS>
__device__ __forceinline__ void collect_counts(const Everywhere<uint32_t>& sent, uint32_t members, uint32_t first, uint32_t own,
                                               uint32_t* received, uint64_t* before) {
    __shared__ uint64_t sums[THREADS];
    uint64_t sum = 0;
    for (uint32_t m = 0; m < members; ++m) {
        const uint32_t* const counts = sent.words[m];
        for (uint32_t bucket = threadIdx.x; bucket < first + own; bucket += THREADS) {
            const uint32_t count = counts[bucket];
            if (bucket < first) {
                sum += count;
            } else {
                received[m * own + (bucket - first)] = count;
            }
        }
    }
    sums[threadIdx.x] = sum;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    if (threadIdx.x == 0) *before = sums[0];
}

// Last pass: moves a bucket's items to their places. Where there are gaps, `bases` are counted from
// the owner's first record, before which there are `before` others; where there are none, the
// owner's first bucket has the number `first`.
template <int THREADS, int TOGETHER, int BUCKET_BITS, bool DENSE, class T>
__device__ __forceinline__ void place_in_shards(const Buckets<T, uint16_t>& from, const uint64_t* bases,
                                                const uint64_t* before, uint64_t first, const Shards<T>& out) {
    order_bucket<THREADS, TOGETHER, BUCKET_BITS, DENSE>(from, [&](const T* items, uint32_t count) {
        const uint64_t bucket = blockIdx.x;
        const uint64_t base = DENSE ? (first + bucket) << BUCKET_BITS : *before + bases[bucket];
        out.template write<THREADS>(base, items, count);
    });
}

// Whether any member's word is set.
__device__ __forceinline__ void any_word(const Everywhere<uint32_t>& of, uint32_t members, uint32_t* any) {
    if (threadIdx.x > 0 || blockIdx.x > 0) return;
    uint32_t all = 0;
    for (uint32_t m = 0; m < members; ++m) all |= *of.words[m];
    *any = all;
}

}  // namespace bijective_shuffle

#endif
