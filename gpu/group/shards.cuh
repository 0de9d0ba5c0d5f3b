// Arrays whose places are divided among the GPUs of a group, and what is moved from or to one.
#ifndef BIJECTIVE_SHUFFLE_SHARDS
#define BIJECTIVE_SHUFFLE_SHARDS

namespace bijective_shuffle {

// The most members of a group, as in src/cuda/group/shards.rs.
constexpr int MOST_MEMBERS = 16;

// The address of an item, where an address may lie outside of the memory that it is counted from.
template <class T>
__device__ __forceinline__ T* item_at(T* items, uint64_t number) {
    return reinterpret_cast<T*>(reinterpret_cast<uint64_t>(items) + number * sizeof(T));
}

// An array, each member of the group holding a run of its places.
template <class T>
struct Shards {
    uint64_t ends[MOST_MEMBERS];  // the place behind each member's last; of the last member, no end
    T* items[MOST_MEMBERS];       // where place 0 would be, counted from the member's first

    __device__ __forceinline__ uint32_t member(uint64_t place) const {
        uint32_t member = 0;
        while (place >= ends[member]) ++member;
        return member;
    }

    __device__ __forceinline__ T* at(uint64_t place) const { return item_at(items[member(place)], place); }
};

// The places that one member holds, on the side of the ranks. It moves the survivors with these
// ranks, and no others.
struct OwnPlaces {
    uint64_t first, count;

    __device__ __forceinline__ bool has(uint64_t rank) const { return rank - first < count; }
};

// Writes a member's run of the indexes; `out` is where place 0 would be.
template <class N>
struct OwnIndices {
    using Value = uint32_t;
    static constexpr bool ROWS = false, GATHERS = false, WRITES_INDEXES = false;
    OwnPlaces own;
    N* out;

    __device__ __forceinline__ Value load(uint64_t, uint64_t) const { return 0; }
    __device__ __forceinline__ void store(uint64_t rank, uint64_t index, Value) const {
        if (own.has(rank)) *item_at(out, rank) = N(index);
    }
};

// Fetches the items of a member's places from wherever they are.
template <class T>
struct OwnGather {
    using Value = uint32_t;
    static constexpr bool ROWS = false, GATHERS = false, WRITES_INDEXES = false;
    OwnPlaces own;
    T* out;
    Shards<T> others;

    __device__ __forceinline__ Value load(uint64_t, uint64_t) const { return 0; }
    __device__ __forceinline__ void store(uint64_t rank, uint64_t index, Value) const {
        if (own.has(rank)) *item_at(out, rank) = *others.at(index);
    }
};

// Stores a member's items wherever they belong.
template <class T>
struct OwnScatter {
    using Value = uint32_t;
    static constexpr bool ROWS = false, GATHERS = false, WRITES_INDEXES = false;
    OwnPlaces own;
    const T* source;
    Shards<T> others;

    __device__ __forceinline__ Value load(uint64_t, uint64_t) const { return 0; }
    __device__ __forceinline__ void store(uint64_t rank, uint64_t index, Value) const {
        if (own.has(rank)) *others.at(index) = *item_at(source, rank);
    }
};

// The same for items of any size, in both directions: a warp moves a row unit by unit.
template <Direction DIRECTION>
struct OwnRows {
    using Value = uint32_t;
    static constexpr bool ROWS = true, GATHERS = false, WRITES_INDEXES = false;
    static constexpr bool SCATTERS = DIRECTION == Direction::Unshuffle;
    OwnPlaces own;
    void* mine;  // on the side of the ranks
    Shards<uint8_t> others;
    uint32_t units;     // in a row
    uint32_t unit_log;  // a unit has 2 to this power bytes, from 0 to 4

    template <class Unit, class Index>
    __device__ __forceinline__ void move_units(const Index* indexes, uint32_t count, uint64_t rank) const {
        const uint32_t all = count * units;
        for (uint32_t at = threadIdx.x % 32; at < all; at += 32) {
            const uint32_t row = at / units, unit = at - row * units;
            if (!own.has(rank + row)) continue;
            Unit* const here = item_at(static_cast<Unit*>(mine), rank * units + at);
            Unit* const run = reinterpret_cast<Unit*>(others.items[others.member(indexes[row])]);
            Unit* const there = item_at(run, uint64_t(indexes[row]) * units + unit);
            if (SCATTERS) {
                *there = *here;
            } else {
                *here = *there;
            }
        }
    }

    template <class Index>
    __device__ __forceinline__ void move(const Index* indexes, uint32_t count, uint64_t rank) const {
        switch (unit_log) {
            case 0: move_units<uint8_t>(indexes, count, rank); break;
            case 1: move_units<uint16_t>(indexes, count, rank); break;
            case 2: move_units<uint32_t>(indexes, count, rank); break;
            case 3: move_units<uint64_t>(indexes, count, rank); break;
            default: move_units<Item16>(indexes, count, rank); break;
        }
    }

    __device__ __forceinline__ Value load(uint64_t, uint64_t) const { return 0; }
    __device__ __forceinline__ void store(uint64_t, uint64_t, Value) const {}
};

}  // namespace bijective_shuffle

#endif
