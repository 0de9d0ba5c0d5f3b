// Permutes arrays by affine maps over GF(2): out[A x ^ c] = source[x], in one pass for any A.
//
// A block takes tiles, which are cosets of V = <e_0, ..> + A^-1 <e_0, ..>;
// crates/affine/src/tiles.rs says why they are read and written in whole runs. In shared memory an
// item has a slot, a linear function of its index in the tile. The host chooses this function so
// that the threads of one phase of a shared memory access use different banks, both when a tile is
// stored there and when it is read. All that the kernel knows of A is in `Tiles`: vectors for the
// bits of the thread's number, of the round and of the tile's number.
#ifndef BIJECTIVE_SHUFFLE_AFFINE_ARRAYS
#define BIJECTIVE_SHUFFLE_AFFINE_ARRAYS

namespace bijective_shuffle {

// The items that a thread loads and stores at once: 16 bytes of them, or a single one (`Single`)
// where an array is not aligned for that. They are held as words, which the compiler keeps in
// registers.
template <class Item, int ITEM_BITS>
struct Pack {
    static_assert(sizeof(Item) << ITEM_BITS == 16, "16 bytes or one item");
    using Slot = Item;
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
    using Slot = Item;
    Item item;

    __device__ __forceinline__ void load(const Item* address) { item = *address; }
    __device__ __forceinline__ void store(Item* address) const { *address = item; }
    __device__ __forceinline__ void to_slot(int, Item* slot) const { *slot = item; }
    __device__ __forceinline__ void from_slot(int, const Item* slot) { item = *slot; }
};

// Four items of three short words each, such as colours of three bytes, which are loaded and stored
// as three vectors of four words. In shared memory each has a slot of four words.
template <class Word>
struct Triples {
    static constexpr int BITS = 24 * sizeof(Word), WORDS = 3 * sizeof(Word);
    using Slot = typename Select<sizeof(Word) == 2, uint2, uint32_t>::type;
    static_assert(sizeof(Slot) == 4 * sizeof(Word), "words of 1 or 2 bytes");
    uint32_t words[WORDS];

    __device__ __forceinline__ void load(const Word* address) {
        BIJECTIVE_SHUFFLE_UNROLL
        for (int k = 0; k < 3; ++k) {
            const Slot bits = __ldcs(reinterpret_cast<const Slot*>(address) + k);
            BIJECTIVE_SHUFFLE_UNROLL
            for (int j = 0; j < WORDS / 3; ++j) words[WORDS / 3 * k + j] = part(bits, j);
        }
    }

    __device__ __forceinline__ void store(Word* address) const {
        BIJECTIVE_SHUFFLE_UNROLL
        for (int k = 0; k < 3; ++k) {
            Slot bits;
            BIJECTIVE_SHUFFLE_UNROLL
            for (int j = 0; j < WORDS / 3; ++j) part(bits, j) = words[WORDS / 3 * k + j];
            __stcs(reinterpret_cast<Slot*>(address) + k, bits);
        }
    }

    // What is in the last word of a slot does not matter.
    __device__ __forceinline__ void to_slot(int k, Slot* slot) const {
        Slot bits;
        BIJECTIVE_SHUFFLE_UNROLL
        for (int j = 0; j < WORDS / 3; ++j) part(bits, j) = from_bit(BITS * k + 32 * j);
        *slot = bits;
    }

    // The slots are asked for in order, so that each word is begun before it is added to.
    __device__ __forceinline__ void from_slot(int k, const Slot* slot) {
        const Slot bits = *slot;
        BIJECTIVE_SHUFFLE_UNROLL
        for (int bit = 0; bit < BITS; bit += 32) {
            const int at = (BITS * k + bit) / 32, shift = (BITS * k + bit) % 32;
            const int rest = BITS - bit < 32 ? BITS - bit : 32;
            const uint32_t own = part(bits, bit / 32) & uint32_t(low_mask(rest));
            words[at] = shift == 0 ? own : words[at] | own << shift;
            if (shift + rest > 32) words[at + 1] = own >> (32 - shift);
        }
    }

  private:
    // The 32 bits from a bit on, and 0 behind the last.
    __device__ __forceinline__ uint32_t from_bit(int bit) const {
        const int at = bit / 32, shift = bit % 32;
        if (at >= WORDS) return 0;
        const uint32_t high = shift == 0 || at + 1 == WORDS ? 0 : words[at + 1] << (32 - shift);
        return words[at] >> shift | high;
    }

    static __device__ __forceinline__ uint32_t& part(uint32_t& bits, int) { return bits; }
    static __device__ __forceinline__ uint32_t& part(uint2& bits, int j) { return j == 0 ? bits.x : bits.y; }
    template <class Bits>
    static __device__ __forceinline__ uint32_t part(const Bits& bits, int j) {
        return part(const_cast<Bits&>(bits), j);
    }
};

// The places of items of three words.
struct TripleRow {
    static constexpr bool HAS_GAPS = false;

    __device__ __forceinline__ bool has(uint64_t) const { return true; }
    __device__ __forceinline__ uint64_t place(uint64_t index) const { return 3 * index; }
};

// The places of words: an item is a row of words, and the lowest bits of an index number the words
// of an item. With GAPS an item has fewer words than these bits can tell apart, such as three of 4
// bytes.
template <bool GAPS>
struct Row {
    static constexpr bool HAS_GAPS = GAPS;
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

// The threads of a block, and how they load and store: `Vector`s of 2^ITEM_BITS items.
template <class Vector, class Places, int ITEM_BITS, int THREAD_BITS, int ROUND_BITS>
struct Permuter {
    static_assert(ITEM_BITS <= 4 && THREAD_BITS <= 10 && ROUND_BITS <= 4, "there is room in Side");
    using Slot = typename Vector::Slot;
    static constexpr int ITEMS = 1 << ITEM_BITS, ROUNDS = 1 << ROUND_BITS;

    const Tiles& tiles;
    const Places& places;
    Slot* slots;
    uint64_t source_index, target_index;
    uint32_t source_slot, target_slot;

    __device__ __forceinline__ Permuter(const Tiles& tiles, const Places& places, Slot* slots)
        : tiles(tiles),
          places(places),
          slots(slots),
          source_index(0),
          target_index(0),
          source_slot(0),
          target_slot(0) {
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

    template <class Word>
    __device__ __forceinline__ void load(Vector (&vectors)[ROUNDS], const Word* source, const TileStep& tile) const {
        const uint64_t index = renewed(source_index ^ tile.source);
        BIJECTIVE_SHUFFLE_UNROLL
        for (int round = 0; round < ROUNDS; ++round) {
            const uint64_t at = index ^ tiles.source.round[round];
            if constexpr (Places::HAS_GAPS) vectors[round] = Vector();
            if (places.has(at)) vectors[round].load(source + places.place(at));
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

    template <class Word>
    __device__ __forceinline__ void put(Word* out, uint64_t target) const {
        const uint32_t first = renewed(target_slot);
        const uint64_t index = renewed(target_index ^ target);
        BIJECTIVE_SHUFFLE_UNROLL
        for (int round = 0; round < ROUNDS; ++round) {
            const uint32_t slot = first ^ tiles.target.round_slot[round];
            Vector vector;
            BIJECTIVE_SHUFFLE_UNROLL
            for (int k = 0; k < ITEMS; ++k) vector.from_slot(k, slots + (slot ^ tiles.target.item_slot[k]));
            const uint64_t at = index ^ tiles.target.round[round];
            if (places.has(at)) vector.store(out + places.place(at));
        }
    }
};

// Moves the tiles of a block. The next tile is loaded while this one is stored.
template <class Vector, int ITEM_BITS, int THREAD_BITS, int ROUND_BITS, class Places, class Word>
__device__ __forceinline__ void move_tiles(const Tiles& tiles, const Places& places, const Word* source, Word* out) {
    extern __shared__ uint4 permute_shared[];
    using Threads = Permuter<Vector, Places, ITEM_BITS, THREAD_BITS, ROUND_BITS>;
    const Threads permuter(tiles, places, reinterpret_cast<typename Vector::Slot*>(permute_shared));
    Vector vectors[1 << ROUND_BITS];
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

// Moves an array whose words, or items of as many words as a power of two, the tiles number.
template <class Word, int ITEM_BITS, int THREAD_BITS, int ROUND_BITS, bool GAPS>
__device__ __forceinline__ void permute_tiles(const Tiles& tiles, const Row<GAPS>& row, const Word* source, Word* out) {
    static_assert(!GAPS || ITEM_BITS == 0, "what has gaps is moved word by word");
    using Vector = typename Select<(sizeof(Word) << ITEM_BITS == 16), Pack<Word, ITEM_BITS>, Single<Word>>::type;
    move_tiles<Vector, ITEM_BITS, THREAD_BITS, ROUND_BITS>(tiles, row, source, out);
}

// Moves an array of items of three short words, which the tiles number. It has to be aligned to
// four words.
template <class Word, int THREAD_BITS, int ROUND_BITS>
__device__ __forceinline__ void permute_triples(const Tiles& tiles, const Word* source, Word* out) {
    move_tiles<Triples<Word>, 2, THREAD_BITS, ROUND_BITS>(tiles, TripleRow{}, source, out);
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

}  // namespace bijective_shuffle

#endif
