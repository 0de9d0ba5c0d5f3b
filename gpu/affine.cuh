// Permutes arrays by affine maps over GF(2): out[A x ^ c] = source[x], in one pass for any A.
//
// A block takes tiles, which are cosets of V = <e_0, ..> + A^-1 <e_0, ..>; src/affine/tiles.rs says
// why they are read and written in whole runs. In shared memory an item has a slot, a linear
// function of its index in the tile. The host chooses this function so that the threads of one
// phase of a shared memory access use different banks, both when a tile is stored there and when it
// is read. All that the kernel knows of A is in `Tiles`: vectors for the bits of the thread's
// number, of the round and of the tile's number.
#ifndef BIJECTIVE_SHUFFLE_AFFINE_ARRAYS
#define BIJECTIVE_SHUFFLE_AFFINE_ARRAYS

namespace bijective_shuffle {

// The items that a thread loads and stores at once: 16 bytes of them, or a single one (`Single`)
// where an array is not aligned for that. They are held as words, which the compiler keeps in
// registers.
template <class Item, int ITEM_BITS>
struct Pack {
    static_assert(sizeof(Item) << ITEM_BITS == 16, "16 bytes or one item");
    static constexpr int PER_WORD = sizeof(Item) < 4 ? 4 / sizeof(Item) : 1;
    uint32_t words[4];

    __device__ __forceinline__ void load(const Item* address) {
        const uint4 bits = __ldcs(reinterpret_cast<const uint4*>(address));
        words[0] = bits.x, words[1] = bits.y, words[2] = bits.z, words[3] = bits.w;
    }

    __device__ __forceinline__ void store(Item* address) const {
        __stcs(reinterpret_cast<uint4*>(address), make_uint4(words[0], words[1], words[2], words[3]));
    }

    __device__ __forceinline__ void to_slot(int k, Item* slot) const {
        if constexpr (sizeof(Item) < 4) {
            *slot = Item(words[k / PER_WORD] >> (8 * sizeof(Item) * (k % PER_WORD)));
        } else if constexpr (sizeof(Item) == 4) {
            *reinterpret_cast<uint32_t*>(slot) = words[k];
        } else if constexpr (sizeof(Item) == 8) {
            *reinterpret_cast<uint2*>(slot) = make_uint2(words[2 * k], words[2 * k + 1]);
        } else {
            *reinterpret_cast<uint4*>(slot) = make_uint4(words[0], words[1], words[2], words[3]);
        }
    }

    __device__ __forceinline__ void from_slot(int k, const Item* slot) {
        if constexpr (sizeof(Item) < 4) {
            const uint32_t bits = uint32_t(*slot) << (8 * sizeof(Item) * (k % PER_WORD));
            words[k / PER_WORD] = k % PER_WORD == 0 ? bits : words[k / PER_WORD] | bits;
        } else if constexpr (sizeof(Item) == 4) {
            words[k] = *reinterpret_cast<const uint32_t*>(slot);
        } else if constexpr (sizeof(Item) == 8) {
            const uint2 bits = *reinterpret_cast<const uint2*>(slot);
            words[2 * k] = bits.x, words[2 * k + 1] = bits.y;
        } else {
            const uint4 bits = *reinterpret_cast<const uint4*>(slot);
            words[0] = bits.x, words[1] = bits.y, words[2] = bits.z, words[3] = bits.w;
        }
    }
};

template <class Item>
struct Single {
    Item item;

    __device__ __forceinline__ void load(const Item* address) { item = *address; }
    __device__ __forceinline__ void store(Item* address) const { *address = item; }
    __device__ __forceinline__ void to_slot(int, Item* slot) const { *slot = item; }
    __device__ __forceinline__ void from_slot(int, const Item* slot) { item = *slot; }
};

// The places of words: an item is a row of words, and the lowest bits of an index number the words
// of an item. With GAPS an item has fewer words than these bits can tell apart, such as three of 4
// bytes.
template <bool GAPS>
struct Row {
    uint64_t bits, words;

    __device__ __forceinline__ bool has(uint64_t index) const { return !GAPS || (index & low_mask(int(bits))) < words; }

    __device__ __forceinline__ uint64_t place(uint64_t index) const {
        return GAPS ? (index >> bits) * words + (index & low_mask(int(bits))) : index;
    }
};

// The same value, hidden from the optimiser. Otherwise the compiler would keep everything that
// follows from it in registers from tile to tile: a word for every item.
template <class Word>
__device__ __forceinline__ Word renewed(Word value) {
#if defined(__CUDACC__)
    if constexpr (sizeof(Word) == 8) {
        asm volatile("" : "+l"(value));
    } else {
        asm volatile("" : "+r"(value));
    }
#endif
    return value;
}

// The most different steps from one tile to another.
constexpr int MOST_STEPS = 54;

struct TileStep {
    uint64_t source, target;
    uint64_t shift;
};

// What the bits of a thread's number, and of a round, add to an index and to a slot, on the
// source's or the target's side.
//
// The arrays have room for the largest shape, of 2^10 threads, 16 rounds and 16 items, whatever the
// shape of the kernel: unused places in constant memory cost nothing.
struct Side {
    uint64_t thread[10], round[16];
    uint32_t thread_slot[10], round_slot[16], item_slot[16];
};

struct Tiles {
    Side source, target;
    // A block takes 2 to this power tiles.
    uint64_t block_bits;
    TileStep start, steps[MOST_STEPS];

    // The first tile of a block. Tiles are numbered in the order of the Gray code.
    __device__ __forceinline__ TileStep first(uint64_t block) const {
        const uint64_t number = block << block_bits, gray = number ^ number >> 1;
        TileStep tile = start;
        for (uint64_t rest = gray; rest != 0; rest &= rest - 1) tile = plus(tile, __ffsll((long long)rest) - 1);
        return tile;
    }

    __device__ __forceinline__ TileStep plus(TileStep tile, int step) const {
        tile.source ^= steps[step].source;
        tile.target ^= steps[step].target;
        tile.shift ^= steps[step].shift;
        return tile;
    }
};

template <class Item, int ITEM_BITS, int THREAD_BITS, int ROUND_BITS, bool GAPS>
struct Permuter {
    static_assert(!GAPS || ITEM_BITS == 0, "what has gaps is moved word by word");
    static_assert(ITEM_BITS <= 4 && THREAD_BITS <= 10 && ROUND_BITS <= 4, "there is room in Side");
    using Vector = typename Select<(sizeof(Item) << ITEM_BITS == 16), Pack<Item, ITEM_BITS>, Single<Item>>::type;
    static constexpr int ITEMS = 1 << ITEM_BITS, ROUNDS = 1 << ROUND_BITS;

    const Tiles& tiles;
    const Row<GAPS>& row;
    Item* slots;
    uint64_t source_index, target_index;
    uint32_t source_slot, target_slot;

    __device__ __forceinline__ Permuter(const Tiles& tiles, const Row<GAPS>& row, Item* slots)
        : tiles(tiles), row(row), slots(slots), source_index(0), target_index(0), source_slot(0), target_slot(0) {
        BIJECTIVE_SHUFFLE_UNROLL
        for (int j = 0; j < THREAD_BITS; ++j) {
            if (threadIdx.x >> j & 1) {
                source_index ^= tiles.source.thread[j];
                source_slot ^= tiles.source.thread_slot[j];
                target_index ^= tiles.target.thread[j];
                target_slot ^= tiles.target.thread_slot[j];
            }
        }
    }

    __device__ __forceinline__ void load(Vector (&vectors)[ROUNDS], const Item* source, const TileStep& tile) const {
        const uint64_t index = renewed(source_index ^ tile.source);
        BIJECTIVE_SHUFFLE_UNROLL
        for (int round = 0; round < ROUNDS; ++round) {
            const uint64_t at = index ^ tiles.source.round[round];
            if constexpr (GAPS) vectors[round] = Vector();
            if (row.has(at)) vectors[round].load(source + row.place(at));
        }
    }

    __device__ __forceinline__ void keep(const Vector (&vectors)[ROUNDS], uint32_t shift) const {
        const uint32_t first = renewed(source_slot ^ shift);
        BIJECTIVE_SHUFFLE_UNROLL
        for (int round = 0; round < ROUNDS; ++round) {
            const uint32_t slot = first ^ tiles.source.round_slot[round];
            BIJECTIVE_SHUFFLE_UNROLL
            for (int k = 0; k < ITEMS; ++k) vectors[round].to_slot(k, slots + (slot ^ tiles.source.item_slot[k]));
        }
    }

    __device__ __forceinline__ void put(Item* out, uint64_t target) const {
        const uint32_t first = renewed(target_slot);
        const uint64_t index = renewed(target_index ^ target);
        BIJECTIVE_SHUFFLE_UNROLL
        for (int round = 0; round < ROUNDS; ++round) {
            const uint32_t slot = first ^ tiles.target.round_slot[round];
            Vector vector;
            BIJECTIVE_SHUFFLE_UNROLL
            for (int k = 0; k < ITEMS; ++k) vector.from_slot(k, slots + (slot ^ tiles.target.item_slot[k]));
            const uint64_t at = index ^ tiles.target.round[round];
            if (row.has(at)) vector.store(out + row.place(at));
        }
    }
};

// Moves the tiles of a block. The next tile is loaded while this one is stored.
template <class Item, int ITEM_BITS, int THREAD_BITS, int ROUND_BITS, bool GAPS>
__device__ __forceinline__ void permute_tiles(const Tiles& tiles, const Row<GAPS>& row, const Item* source, Item* out) {
    extern __shared__ uint4 permute_shared[];
    using Threads = Permuter<Item, ITEM_BITS, THREAD_BITS, ROUND_BITS, GAPS>;
    const Threads permuter(tiles, row, reinterpret_cast<Item*>(permute_shared));
    typename Threads::Vector vectors[1 << ROUND_BITS];
    TileStep tile = tiles.first(blockIdx.x);
    permuter.load(vectors, source, tile);
    const uint32_t last = (1u << tiles.block_bits) - 1;
    for (uint32_t number = 0;; ++number) {
        permuter.keep(vectors, uint32_t(tile.shift));
        __syncthreads();
        const uint64_t target = tile.target;
        if (number < last) {
            tile = tiles.plus(tile, __ffs(int(number + 1)) - 1);
            permuter.load(vectors, source, tile);
        }
        permuter.put(out, target);
        if (number == last) break;
        __syncthreads();
    }
}

// An affine map, given by its columns.
struct AffineMap {
    uint64_t bits, offset, columns[64];

    __device__ __forceinline__ uint64_t value(uint64_t x) const {
        uint64_t value = offset;
        for (int j = 0; j < int(bits); ++j) value ^= columns[j] & (uint64_t(0) - (x >> j & 1));
        return value;
    }
};

// Moves item by item, each of any number of units, for arrays that are smaller than a tile and for
// long items.
template <class Unit>
__device__ __forceinline__ void permute_rows(const AffineMap& map, const Unit* source, Unit* out, uint64_t units) {
    const uint64_t all = units << map.bits, stride = uint64_t(gridDim.x) * blockDim.x;
    for (uint64_t at = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; at < all; at += stride) {
        const uint64_t row = units == 1 ? at : at / units;
        out[map.value(row) * units + (at - row * units)] = source[at];
    }
}

// A layer of a sorting network: puts the items at 2 k and 2 k + 1 in order.
template <class T>
__device__ __forceinline__ void order_pairs(T* items, uint64_t pairs) {
    const uint64_t stride = uint64_t(gridDim.x) * blockDim.x;
    for (uint64_t k = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; k < pairs; k += stride) {
        const T a = items[2 * k], b = items[2 * k + 1];
        if (b < a) {
            items[2 * k] = b;
            items[2 * k + 1] = a;
        }
    }
}

}  // namespace bijective_shuffle

#endif
