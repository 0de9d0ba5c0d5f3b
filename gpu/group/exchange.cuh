// The partitioned strategy over the GPUs of a group. In the first pass each member reads its items
// in order, and sorts them into the buckets of all members. These are then copied to the members
// that own them, each of which does the rest alone.
#ifndef BIJECTIVE_SHUFFLE_EXCHANGE
#define BIJECTIVE_SHUFFLE_EXCHANGE

namespace bijective_shuffle {

// First pass: reads a member's `len` items, the first of which is at place `start` of the array,
// and puts each in its bucket: by its slot or, to undo a shuffle in which every slot survives, by
// its index.
template <int THREADS, int PER_THREAD, int BITS, Direction DIRECTION, class Index, class F, class T, class Key>
__device__ __forceinline__ void send_items(const F& f, const T* source, uint64_t start, uint64_t len, int shift,
                                           const Buckets<T, Key>& to) {
    extern __shared__ __align__(16) unsigned char memory[];
    auto& tile = *reinterpret_cast<Distribute<THREADS, PER_THREAD, BITS, T, Key, Buckets<T, Key>, Index>*>(memory);
    const uint64_t first = uint64_t(blockIdx.x) * (THREADS * PER_THREAD);
    const uint32_t count = uint32_t(len - first < THREADS * PER_THREAD ? len - first : THREADS * PER_THREAD);
    const uint32_t valid = valid_records<THREADS, PER_THREAD>(count);
    Index key[PER_THREAD];
#pragma unroll 4
    for (int k = 0; k < PER_THREAD; ++k) {
        // An index beyond the end must not be evaluated, since it may not exist.
        const Index from = valid >> k & 1 ? Index(start + first) + Index(THREADS * k + threadIdx.x) : 0;
        key[k] = Index(DIRECTION == Direction::Unshuffle ? f.forward(from) : f.inverse(from));
    }
    const T* const from = source + first + threadIdx.x;
    tile.run(key, valid, count, shift, 0, to, [from](int k) { return from[THREADS * k]; });
}

// First pass for undoing a shuffle in which not every slot survives: evaluates a member's slots up
// to `last`, counted from its first, `slots` for each thread, and puts each survivor's item in its
// bucket, by its index. `bases` are the survivors of the member's slots before each run of
// `counted` for each thread, and `before` those of all slots before the member's. Nearly all items
// are in the member's own run of the source. If the survivors of a block are more than a tile
// holds, nothing of it is moved, and the overflow word is set.
template <int THREADS, int PER_THREAD, int BITS, class Index, class F, class T, class Key>
__device__ __forceinline__ void send_survivors(const F& f, uint64_t last, uint64_t len, const uint64_t* bases,
                                               uint32_t slots, uint32_t counted, const uint64_t* before,
                                               const Shards<T>& source, int shift, const Buckets<T, Key>& to) {
    extern __shared__ __align__(16) unsigned char memory[];
    using Tile = Distribute<THREADS, PER_THREAD, BITS, T, Key, Buckets<T, Key>, Index>;
    auto& tile = *reinterpret_cast<Tile*>(memory);
    const Survivors<THREADS, PER_THREAD, Index> survivors(memory, slots);
    const uint32_t all = survivors.collect(f, uint64_t(blockIdx.x) * (THREADS * slots), last, len);
    if (all > Tile::TILE) {
        if (threadIdx.x == 0) *to.overflow = 1;
        return;
    }
    Index key[PER_THREAD];
    survivors.read(key, all);
    const uint64_t base = *before + bases[blockIdx.x * (slots / counted)];
    const uint32_t near = source.member(base);
    const uint64_t end = source.ends[near];
    const T* const run = item_at(source.items[near], base);
    tile.run(key, valid_records<THREADS, PER_THREAD>(all), all, shift, 0, to, [&](int k) {
        const uint32_t record = THREADS * k + threadIdx.x;
        return base + record < end ? run[record] : *source.at(base + record);
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

// Where a bucket's items go: to places that are nearly always in one member's run.
template <class T>
struct Places {
    T* run;         // the first place
    uint64_t left;  // the places from there to the end of the run
    uint64_t base;  // the first place's number
};

// Last pass: moves a bucket's items to their places. Where there are gaps, `bases` are counted from
// the owner's first record, before which there are `before` others; where there are none, the
// owner's first bucket has the number `first`. One thread finds the places before the items are put
// in order: until then nobody needs them, and no register keeps them.
template <int THREADS, int TOGETHER, int BUCKET_BITS, bool DENSE, class T>
__device__ __forceinline__ void place_in_shards(const Buckets<T, uint16_t>& from, const uint64_t* bases,
                                                const uint64_t* before, uint64_t first, const Shards<T>& out) {
    __shared__ Places<T> to;
    if (threadIdx.x == 0) {
        const uint64_t base = DENSE ? (first + blockIdx.x) << BUCKET_BITS : *before + bases[blockIdx.x];
        // Behind the last bucket's items there may be no place.
        const uint32_t member = out.member(base);
        to = {item_at(out.items[member], base), out.ends[member] - base, base};
    }
    order_bucket<THREADS, TOGETHER, BUCKET_BITS, DENSE>(from, [&](const T* items, uint32_t count) {
        if (count <= to.left) {
            T* const run = to.run;
#pragma unroll 8
            for (uint32_t j = threadIdx.x; j < count; j += THREADS) run[j] = items[j];
        } else {
            for (uint32_t j = threadIdx.x; j < count; j += THREADS) *out.at(to.base + j) = items[j];
        }
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
