// The partitioned strategy: items are sorted by the high bits of their slots, in one or two passes
// of sequential traffic, and then put in order in shared memory. It evaluates the bijection once
// for each item.
#ifndef BIJECTIVE_SHUFFLE_PARTITIONED
#define BIJECTIVE_SHUFFLE_PARTITIONED

namespace bijective_shuffle {

// Buckets of records in device memory. A record is an item and the remaining low bits of its slot.
template <class T, class Key>
struct Buckets {
    // Where a tile's records of a bucket go: an offset from a place in the tile to one in memory.
    using Place = int64_t;
    static constexpr Place NOWHERE = int64_t(uint64_t(1) << 63);

    T* items;
    Key* keys;
    uint32_t* counts;
    uint64_t capacity;  // of a bucket, in records
    uint32_t* overflow;

    // Takes room in a bucket for a tile's records, which begin at `start` in the tile.
    __device__ __forceinline__ Place take(uint64_t bucket, uint32_t records, uint32_t start) const {
        uint32_t taken = 0;
        if (records > 0) taken = atomicAdd(&counts[bucket], records);
        const bool fits = uint64_t(taken) + records <= capacity;
        if (!fits) *overflow = 1;
        return fits ? int64_t(bucket * capacity + taken) - start : NOWHERE;
    }

    __device__ __forceinline__ void store(Place place, uint32_t at, Key key, T item) const {
        if (place == NOWHERE) return;
        keys[place + at] = key;
        items[place + at] = item;
    }
};

// Distributes a block's tile of records to 2^BITS buckets from `first` on, by the bits of their
// keys from `shift` on. The keys are words of type Slot until they are stored.
template <int THREADS, int PER_THREAD, int BITS, class T, class Key, class To = Buckets<T, Key>, class Slot = uint32_t>
struct Distribute {
    static constexpr int TILE = THREADS * PER_THREAD, BINS = 1 << BITS;
    // Neighbouring bins of a thread.
    static constexpr int EACH = (BINS + THREADS - 1) / THREADS;
    static_assert(PER_THREAD <= 32, "a bit a record");

    // The tile's records in the order of their buckets.
    T items[TILE];
    Slot keys[TILE];
    typename To::Place places[BINS];
    uint32_t counts[BINS];
    uint32_t sums[32];

    // Each thread has the records whose bits are set in `valid`, and the block has `count` in all.
    // `load(k)` loads the item of the thread's record k.
    template <class Load>
    __device__ __forceinline__ void run(const Slot (&key)[PER_THREAD], uint32_t valid, uint32_t count, int shift,
                                        uint64_t first, const To& to, const Load& load) {
        uint32_t place[PER_THREAD];
        take(key, valid, shift, first, to, place);
        __syncthreads();
        move(key, valid, count, shift, to, place, load);
    }

    // The first half: takes room for the records, and finds each one's place among those of its
    // bucket. No item is needed yet.
    __device__ __forceinline__ void take(const Slot (&key)[PER_THREAD], uint32_t valid, int shift, uint64_t first,
                                         const To& to, uint32_t (&place)[PER_THREAD]) {
        const uint32_t thread = threadIdx.x;
        for (uint32_t bin = thread; bin < BINS; bin += THREADS) counts[bin] = 0;
        __syncthreads();
        BIJECTIVE_SHUFFLE_UNROLL
        for (int k = 0; k < PER_THREAD; ++k) {
            if (valid >> k & 1) place[k] = atomicAdd(&counts[key[k] >> shift], 1);
        }
        __syncthreads();
        uint32_t own[EACH], all = 0;
        BIJECTIVE_SHUFFLE_UNROLL
        for (int e = 0; e < EACH; ++e) {
            const uint32_t bin = thread * EACH + e;
            own[e] = bin < BINS ? counts[bin] : 0;
            all += own[e];
        }
        uint32_t start = exclusive_sum<THREADS>(all, sums);
        BIJECTIVE_SHUFFLE_UNROLL
        for (int e = 0; e < EACH; ++e) {
            const uint32_t bin = thread * EACH + e;
            if (bin < BINS) {
                places[bin] = to.take(first + bin, own[e], start);
                counts[bin] = start;
            }
            start += own[e];
        }
    }

    // The second half, after a barrier: loads the items, and stores all records.
    template <class Load>
    __device__ __forceinline__ void move(const Slot (&key)[PER_THREAD], uint32_t valid, uint32_t count, int shift,
                                         const To& to, const uint32_t (&place)[PER_THREAD], const Load& load) {
        BIJECTIVE_SHUFFLE_UNROLL
        for (int k = 0; k < PER_THREAD; ++k) {
            if (!(valid >> k & 1)) continue;
            const uint32_t sorted = place[k] + counts[key[k] >> shift];
            keys[sorted] = key[k];
            items[sorted] = load(k);
        }
        __syncthreads();
        BIJECTIVE_SHUFFLE_UNROLL
        for (int k = 0; k < PER_THREAD; ++k) {
            const uint32_t j = THREADS * k + threadIdx.x;
            if (j >= count) continue;
            const Slot key = keys[j];
            to.store(places[key >> shift], j, Key(key & Slot(low_mask(shift))), items[j]);
        }
    }
};

// A bit for each record k of the thread: whether THREADS * k + thread < count.
template <int THREADS, int PER_THREAD>
__device__ __forceinline__ uint32_t valid_records(uint32_t count) {
    if (count == THREADS * PER_THREAD) return uint32_t(low_mask(PER_THREAD));
    return threadIdx.x < count ? uint32_t(low_mask((count - threadIdx.x + THREADS - 1) / THREADS)) : 0;
}

// First pass: reads the source in order and distributes it by the high bits of the slots or, to
// undo a shuffle in which every slot survives, of the indexes.
template <int THREADS, int PER_THREAD, int BITS, Direction DIRECTION, class F, class T, class Key>
__device__ __forceinline__ void distribute_source(const F& f, const T* source, uint64_t len, int shift,
                                                  const Buckets<T, Key>& to) {
    extern __shared__ __align__(16) unsigned char memory[];
    auto& tile = *reinterpret_cast<Distribute<THREADS, PER_THREAD, BITS, T, Key>*>(memory);
    const uint64_t first = uint64_t(blockIdx.x) * (THREADS * PER_THREAD);
    const uint32_t count = uint32_t(len - first < THREADS * PER_THREAD ? len - first : THREADS * PER_THREAD);
    const uint32_t valid = valid_records<THREADS, PER_THREAD>(count);
    uint32_t key[PER_THREAD];
#pragma unroll 4
    for (int k = 0; k < PER_THREAD; ++k) {
        // An index beyond the end must not be evaluated, since it may not exist.
        const uint32_t from = valid >> k & 1 ? uint32_t(first) + THREADS * k + threadIdx.x : 0;
        key[k] = uint32_t(DIRECTION == Direction::Unshuffle ? f.forward(from) : f.inverse(from));
    }
    const T* const from = source + first + threadIdx.x;
    tile.run(key, valid, count, shift, 0, to, [from](int k) { return from[THREADS * k]; });
}

// The survivors among a block's slots, `slots` neighbouring ones for each thread. So many slots are
// chosen that their survivors nearly fill a tile: the fuller it is, the longer are the runs that go
// to one bucket.
//
// A thread collects its own in a column of shared memory, and when all are counted, it copies them
// to the order of their slots. So an evaluation is followed by a comparison and a store, and not by
// a ballot, two counts of bits and an address; and the columns of a warp are in different banks.
template <int THREADS, int PER_THREAD, class Index>
struct Survivors {
    static constexpr int TILE = THREADS * PER_THREAD;

    uint32_t* sums;   // room for 32
    Index* in_order;  // room for a tile
    Index* columns;   // room for all slots: rows with a word for each thread
    uint32_t slots;

    // The host has seen to it that the memory is large enough, in `survivors_shared`.
    __device__ __forceinline__ Survivors(unsigned char* memory, uint32_t slots) : slots(slots) {
        sums = reinterpret_cast<uint32_t*>(memory);
        in_order = reinterpret_cast<Index*>(sums + 32);
        columns = in_order + TILE;
    }

    // Evaluates the slots from `first` on that are not beyond `last`. Returns how many of their
    // values are below `len`, which may be more than a tile holds; then they are not in order.
    template <class F>
    __device__ __forceinline__ uint32_t collect(const F& f, uint64_t first, uint64_t last, uint64_t len) const {
        const uint64_t own = first + threadIdx.x * slots;
        Index* const column = columns + threadIdx.x;
        const bool whole = last - first >= THREADS * slots - 1;
        const uint32_t count = whole ? slots : own > last ? 0 : last - own < slots ? uint32_t(last - own) + 1 : slots;
        const Index greatest = Index(len - 1);
        uint32_t next = 0;
#pragma unroll 4
        for (uint32_t k = 0; k < count; ++k) {
            const Index index = Index(f.forward(Index(own) + k));
            column[next] = index;
            next += index <= greatest ? THREADS : 0;
        }
        const uint32_t found = next / THREADS;
        const uint32_t rank = exclusive_sum<THREADS>(found, sums);
        const uint32_t all = sums[THREADS / 32 - 1];
        if (all <= TILE) {
            for (uint32_t k = 0; k < found; ++k) in_order[rank + k] = column[THREADS * k];
        }
        return all;
    }

    // Reads the values of a thread's records, of which the block has `all`, no more than a tile.
    __device__ __forceinline__ void read(Index (&key)[PER_THREAD], uint32_t all) const {
        __syncthreads();
        BIJECTIVE_SHUFFLE_UNROLL
        for (int k = 0; k < PER_THREAD; ++k) {
            const uint32_t record = THREADS * k + threadIdx.x;
            if (record < all) key[k] = in_order[record];
        }
        __syncthreads();
    }
};

// First pass for undoing a shuffle in which not every slot survives: reads the source in order,
// along with the survivors, and distributes it by the high bits of their indexes. If the survivors
// of a block are more than a tile holds, nothing of it is moved, and the overflow word is set.
template <int THREADS, int PER_THREAD, int BITS, class F, class T, class Key>
__device__ __forceinline__ void distribute_survivors(const F& f, uint64_t last, uint64_t len, TileStates* states,
                                                     const T* source, int shift, uint32_t slots,
                                                     const Buckets<T, Key>& to) {
    extern __shared__ __align__(16) unsigned char memory[];
    using Tile = Distribute<THREADS, PER_THREAD, BITS, T, Key>;
    auto& tile = *reinterpret_cast<Tile*>(memory);
    const Survivors<THREADS, PER_THREAD, uint32_t> survivors(memory, slots);
    __shared__ Turn shared_turn;
    __shared__ uint64_t shared_base;
    if (threadIdx.x == 0) shared_turn = Turn::take(states);
    __syncthreads();
    const Turn turn = uniform(shared_turn);
    const uint64_t first = uint64_t(turn.tile) * (THREADS * slots);
    // A block without a tile would have nothing to do.
    if (first > last) return;
    const uint32_t all = survivors.collect(f, first, last, len);
    const bool looks_back = uniform(threadIdx.x / 32) == 0, fits = all <= Tile::TILE;
    if (looks_back) announce(states, turn, all, turn.tile == 0);
    uint32_t key[PER_THREAD], place[PER_THREAD];
    const uint32_t valid = valid_records<THREADS, PER_THREAD>(fits ? all : 0);
    if (fits) {
        survivors.read(key, all);
        tile.take(key, valid, shift, 0, to, place);
    }
    // The records' places do not depend on the tiles before, so these have had time to announce
    // their counts.
    if (looks_back) {
        const uint64_t base = look_back(states, turn, all, turn.tile == 0);
        if (threadIdx.x == 0) {
            shared_base = base;
            finish(states, turn.epoch);
        }
    }
    if (!fits) {
        if (threadIdx.x == 0) *to.overflow = 1;
        return;
    }
    __syncthreads();
    // Read once: after a store to shared memory it would have to be read again, and each load would
    // wait for the one before.
    const T* const from = source + shared_base + threadIdx.x;
    tile.move(key, valid, all, shift, to, place, [from](int k) { return from[THREADS * k]; });
}

// Second pass: distributes a bucket's records to smaller buckets, by the next lower bits.
template <int THREADS, int PER_THREAD, int BITS, class T, class Key, class NextKey>
__device__ __forceinline__ void distribute_bucket(const Buckets<T, Key>& from, int shift,
                                                  const Buckets<T, NextKey>& to) {
    extern __shared__ __align__(16) unsigned char memory[];
    auto& tile = *reinterpret_cast<Distribute<THREADS, PER_THREAD, BITS, T, NextKey>*>(memory);
    const uint64_t bucket = blockIdx.y;
    const uint32_t all = from.counts[bucket];
    const uint32_t first = blockIdx.x * (THREADS * PER_THREAD);
    // A count above the capacity means that the bucket has overflowed. The overflow word, which
    // says so for all buckets, may change while this kernel runs, and the threads of a block must
    // agree.
    if (first >= all || all > from.capacity) return;
    const uint32_t count = all - first < THREADS * PER_THREAD ? all - first : THREADS * PER_THREAD;
    const uint32_t valid = valid_records<THREADS, PER_THREAD>(count);
    const uint64_t start = bucket * from.capacity + first + threadIdx.x;
    uint32_t key[PER_THREAD];
    BIJECTIVE_SHUFFLE_UNROLL
    for (int k = 0; k < PER_THREAD; ++k) key[k] = valid >> k & 1 ? from.keys[start + THREADS * k] : 0;
    const T* const items = from.items + start;
    tile.run(key, valid, count, shift, bucket << BITS, to, [items](int k) { return items[THREADS * k]; });
}

// The ranks of a bucket's slots among the taken ones, by a bitmap with 32 slots to a word.
template <int THREADS, int WORDS>
struct Ranks {
    uint32_t taken[WORDS], before[WORDS], sums[32];

    __device__ __forceinline__ void mark(uint32_t slot) { atomicOr(&taken[slot / 32], 1u << slot % 32); }

    // Reads the keys, which begin at a multiple of 16 bytes, keeps them in shared memory, and
    // counts the taken slots.
    __device__ __forceinline__ void count(const uint16_t* from, uint32_t count, uint16_t* keys) {
        const uint32_t thread = threadIdx.x;
        for (int word = thread; word < WORDS; word += THREADS) taken[word] = 0;
        __syncthreads();
        for (uint32_t first = thread * 8; first < count; first += THREADS * 8) {
            if (first + 8 > count) {
                for (uint32_t j = first; j < count; ++j) mark(keys[j] = from[j]);
                continue;
            }
            const Item16 eight = read_only(reinterpret_cast<const Item16*>(from + first));
            *reinterpret_cast<Item16*>(keys + first) = eight;
            BIJECTIVE_SHUFFLE_UNROLL
            for (int k = 0; k < 8; ++k) mark(uint32_t((k < 4 ? eight.low : eight.high) >> 16 * (k % 4)) & 0xFFFF);
        }
        __syncthreads();
        constexpr int EACH = (WORDS + THREADS - 1) / THREADS;
        uint32_t ones = 0;
        for (int k = 0; k < EACH; ++k) {
            const int word = thread * EACH + k;
            if (word < WORDS) ones += __popc(taken[word]);
        }
        uint32_t sum = exclusive_sum<THREADS>(ones, sums);
        for (int k = 0; k < EACH; ++k) {
            const int word = thread * EACH + k;
            if (word < WORDS) {
                before[word] = sum;
                sum += __popc(taken[word]);
            }
        }
        __syncthreads();
    }

    __device__ __forceinline__ uint32_t of(uint32_t slot) const {
        return before[slot / 32] + __popc(taken[slot / 32] & ((1u << slot % 32) - 1));
    }
};

// Puts a bucket's items in order in shared memory, which also holds the keys where there are gaps,
// and gives them to `write` with their number. It writes nothing if a bucket has overflowed.
template <int THREADS, int TOGETHER, int BUCKET_BITS, bool DENSE, class T, class Write>
__device__ __forceinline__ void order_bucket(const Buckets<T, uint16_t>& from, const Write& write) {
    extern __shared__ __align__(16) unsigned char memory[];
    static_assert(BUCKET_BITS >= 5 && BUCKET_BITS <= 16, "a word of the bitmap at least, and keys of 16 bits");
    T* const items = reinterpret_cast<T*>(memory);
    if (*from.overflow != 0) return;
    const uint64_t bucket = blockIdx.x, start = bucket * from.capacity;
    const uint32_t count = from.counts[bucket], thread = threadIdx.x;
    const T* const source = from.items + start;
    prefetch<THREADS>(source, count, threadIdx.x);
    if constexpr (DENSE) {
        // Several loads are in flight before the first result is needed.
        for (uint32_t first = thread; first < count; first += THREADS * TOGETHER) {
            T item[TOGETHER];
            uint32_t slots[TOGETHER];
            BIJECTIVE_SHUFFLE_UNROLL
            for (int k = 0; k < TOGETHER; ++k) {
                const uint32_t j = first + THREADS * k;
                if (j >= count) continue;
                slots[k] = read_only(from.keys + start + j);
                item[k] = read_only(source + j);
            }
            BIJECTIVE_SHUFFLE_UNROLL
            for (int k = 0; k < TOGETHER; ++k) {
                if (first + THREADS * k < count) items[slots[k]] = item[k];
            }
        }
    } else {
        __shared__ Ranks<THREADS, (1 << BUCKET_BITS) / 32> ranks;
        uint16_t* const keys = reinterpret_cast<uint16_t*>(items + from.capacity);
        ranks.count(from.keys + start, count, keys);
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
    }
    __syncthreads();
    write(items, count);
}

// Last pass: moves a bucket's items to their places.
template <int THREADS, int TOGETHER, int BUCKET_BITS, bool DENSE, class T>
__device__ __forceinline__ void place_bucket(const Buckets<T, uint16_t>& from, const uint64_t* bases, T* out) {
    order_bucket<THREADS, TOGETHER, BUCKET_BITS, DENSE>(from, [bases, out](const T* items, uint32_t count) {
        const uint64_t bucket = blockIdx.x, base = DENSE ? bucket << BUCKET_BITS : bases[bucket];
#pragma unroll 8
        for (uint32_t j = threadIdx.x; j < count; j += THREADS) out[base + j] = items[j];
    });
}

}  // namespace bijective_shuffle

#endif
