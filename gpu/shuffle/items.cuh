// What is moved, and in which direction.
#ifndef BIJECTIVE_SHUFFLE_ITEMS
#define BIJECTIVE_SHUFFLE_ITEMS

namespace bijective_shuffle {

// An item of 16 bytes, moved by one load and one store.
struct alignas(16) Item16 {
    uint64_t low, high;
};

// Reads memory that no kernel writes meanwhile, so that the compiler may move the load ahead of
// stores to other memory.
template <class T>
__device__ __forceinline__ T read_only(const T* address) {
    return __ldg(address);
}

__device__ __forceinline__ Item16 read_only(const Item16* address) {
    const ulonglong2 pair = __ldg(reinterpret_cast<const ulonglong2*>(address));
    return {pair.x, pair.y};
}

// Prefetches items to the L2 cache, `thread` of THREADS, which needs neither registers nor shared
// memory.
template <int THREADS, class T>
__device__ __forceinline__ void prefetch(const T* items, uint32_t count, uint32_t thread) {
    const char* const bytes = reinterpret_cast<const char*>(items);
    for (uint32_t at = thread * 128; at < count * sizeof(T); at += THREADS * 128) {
        asm volatile("prefetch.global.L2 [%0];" ::"l"(bytes + at));
    }
}

// Copies 16 bytes to shared memory: where the device can, without waiting for them, which
// `wait_for_copies` does for all that the thread has copied.
__device__ __forceinline__ void copy_async(Item16* shared, const Item16* from) {
#if __CUDA_ARCH__ >= 800
    const uint32_t to = uint32_t(__cvta_generic_to_shared(shared));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
#else
    *shared = *from;
#endif
}

__device__ __forceinline__ void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

// A movement of words: `load` and `store` get the rank of a survivor and its index. GATHERS says
// that `load` does not need the rank, so that it can be issued before the rank is known. `from`
// returns the movement in which rank 0 and index 0 are those that it is given; indexes that are
// written are not changed by it. Of items, `random_side` is where index 0 is; `by_way_of` returns
// the movement with a row in shared memory there, which is filled before, or written out after.

// out[rank] = index
template <class N>
struct Indices {
    using Value = N;
    static constexpr bool ROWS = false, GATHERS = true, WRITES_INDEXES = true;
    N* out;

    __device__ __forceinline__ Value load(uint64_t, uint64_t index) const { return Value(index); }
    __device__ __forceinline__ void store(uint64_t rank, uint64_t, Value value) const { out[rank] = value; }
    __device__ __forceinline__ Indices from(uint64_t rank, uint64_t) const { return {out + rank}; }
};

// out[rank] = row[index], where the row is in shared memory.
template <class T>
struct GatherStaged {
    using Value = T;
    static constexpr bool ROWS = false, GATHERS = true, WRITES_INDEXES = false;
    const T* row;
    T* out;

    __device__ __forceinline__ Value load(uint64_t, uint64_t index) const { return row[index]; }
    __device__ __forceinline__ void store(uint64_t rank, uint64_t, Value value) const { out[rank] = value; }
    __device__ __forceinline__ GatherStaged from(uint64_t rank, uint64_t index) const {
        return {row + index, out + rank};
    }
};

// out[rank] = source[index]
template <class T>
struct Gather {
    using Value = T;
    static constexpr bool ROWS = false, GATHERS = true, WRITES_INDEXES = false;
    const T* source;
    T* out;

    __device__ __forceinline__ Value load(uint64_t, uint64_t index) const { return read_only(source + index); }
    __device__ __forceinline__ void store(uint64_t rank, uint64_t, Value value) const { out[rank] = value; }
    __device__ __forceinline__ Gather from(uint64_t rank, uint64_t index) const { return {source + index, out + rank}; }
    __device__ __forceinline__ const T* random_side() const { return source; }
    __device__ __forceinline__ GatherStaged<T> by_way_of(T* row) const { return {row, out}; }
};

// out[index] = source[rank]
template <class T>
struct Scatter {
    using Value = T;
    static constexpr bool ROWS = false, GATHERS = false, WRITES_INDEXES = false;
    const T* source;
    T* out;

    __device__ __forceinline__ Value load(uint64_t rank, uint64_t) const { return source[rank]; }
    __device__ __forceinline__ void store(uint64_t, uint64_t index, Value value) const { out[index] = value; }
    __device__ __forceinline__ Scatter from(uint64_t rank, uint64_t index) const {
        return {source + rank, out + index};
    }
    __device__ __forceinline__ T* random_side() const { return out; }
    __device__ __forceinline__ Scatter by_way_of(T* row) const { return {source, row}; }
};

// Items of any size, in several arrays at once: a warp moves the rows of its survivors together,
// unit by unit.
struct Array {
    const void* source;
    void* out;
    uint32_t units;    // in a row
    uint32_t unit_log; // a unit has 2 to this power bytes, from 0 to 4
};

constexpr int MOST_ARRAYS = 12;

template <Direction DIRECTION>
struct Rows {
    using Value = uint32_t;
    static constexpr bool ROWS = true, GATHERS = false, WRITES_INDEXES = false;
    static constexpr bool SCATTERS = DIRECTION == Direction::Unshuffle;
    uint64_t arrays_used;
    Array arrays[MOST_ARRAYS];

    template <class Unit, class Indexes>
    static __device__ __forceinline__ void move_array(const Array& array, const Indexes& indexes, uint32_t count,
                                                      uint64_t rank, uint64_t start) {
        const Unit* source = static_cast<const Unit*>(array.source);
        Unit* out = static_cast<Unit*>(array.out);
        const uint32_t units = array.units, all = count * units;
#pragma unroll 4
        for (uint32_t at = threadIdx.x % 32; at < all; at += 32) {
            const uint32_t row = at / units, unit = at - row * units;
            const uint64_t random = (start + indexes[row]) * units + unit, ordered = (start + rank) * units + at;
            out[SCATTERS ? random : ordered] = source[SCATTERS ? ordered : random];
        }
    }

    // Moves the rows of `count` indexes, whose ranks are consecutive from `rank` on. Both count
    // from row `start` of the arrays.
    template <class Indexes>
    __device__ __forceinline__ void move(const Indexes& indexes, uint32_t count, uint64_t rank,
                                         uint64_t start = 0) const {
        for (uint32_t k = 0; k < uint32_t(arrays_used); ++k) {
            const Array& array = arrays[k];
            switch (array.unit_log) {
                case 0: move_array<uint8_t>(array, indexes, count, rank, start); break;
                case 1: move_array<uint16_t>(array, indexes, count, rank, start); break;
                case 2: move_array<uint32_t>(array, indexes, count, rank, start); break;
                case 3: move_array<uint64_t>(array, indexes, count, rank, start); break;
                default: move_array<Item16>(array, indexes, count, rank, start); break;
            }
        }
    }

    __device__ __forceinline__ Value load(uint64_t, uint64_t) const { return 0; }
    __device__ __forceinline__ void store(uint64_t, uint64_t, Value) const {}
};

// Replaces a bijection by a table of its values.
template <class N>
struct Lookup {
    const N* values;

    __device__ __forceinline__ uint64_t forward(uint64_t slot) const { return values[slot]; }
};

}  // namespace bijective_shuffle

#endif
