// Philox4x32: the block of four words of a counter, and streams of words; see
// crates/core/src/base/philox4x32.
#ifndef BIJECTIVE_SHUFFLE_PHILOX4X32
#define BIJECTIVE_SHUFFLE_PHILOX4X32

namespace bijective_shuffle {

// The 64-bit product of two words. For a plain 64-bit product with a constant in a loop, the
// compiler widens the factor and adds the product of its high word, which is 0: one more
// instruction for 19 of the 20 products of a block.
__device__ __forceinline__ uint64_t wide_product(uint32_t a, uint32_t b) {
#if defined(__CUDACC__)
    uint64_t product;
    asm("mul.wide.u32 %0, %1, %2;" : "=l"(product) : "r"(a), "r"(b));
    return product;
#else
    return uint64_t(a) * b;
#endif
}

// The keys of the rounds, from a key of two words, the low word first.
template <int ROUNDS>
struct PhiloxSchedule {
    uint32_t left[ROUNDS], right[ROUNDS];

    __device__ __forceinline__ explicit PhiloxSchedule(uint64_t key) {
        left[0] = uint32_t(key), right[0] = uint32_t(key >> 32);
        BIJECTIVE_SHUFFLE_UNROLL
        for (int round = 1; round < ROUNDS; ++round) {
            left[round] = left[round - 1] + 0x9E3779B9u;
            right[round] = right[round - 1] + 0xBB67AE85u;
        }
    }
};

// Replaces a counter by its block.
template <int ROUNDS>
__device__ __forceinline__ void philox4x32(const PhiloxSchedule<ROUNDS>& keys, uint32_t (&x)[4]) {
    BIJECTIVE_SHUFFLE_UNROLL
    for (int round = 0; round < ROUNDS; ++round) {
        const uint64_t a = wide_product(x[0], 0xD2511F53u), b = wide_product(x[2], 0xCD9E8D57u);
        x[0] = uint32_t(b >> 32) ^ x[1] ^ keys.left[round];
        x[1] = uint32_t(b);
        x[2] = uint32_t(a >> 32) ^ x[3] ^ keys.right[round];
        x[3] = uint32_t(a);
    }
}

// The same for one block under a key.
template <int ROUNDS = 10>
__device__ __forceinline__ void philox4x32(uint64_t key, uint32_t (&x)[4]) {
    philox4x32(PhiloxSchedule<ROUNDS>(key), x);
}

// A stream of a key: word k is word k % 4 of the block of the counter (k / 4, stream). The only
// state is the position in the stream, so any thread can begin anywhere.
template <int ROUNDS = 10>
struct Philox4x32Rng {
    static constexpr uint32_t STATE = 6, BLOCK = 4, THREADS = 1;

    uint64_t key, stream;
    // The number of the block after the one in `words`, of which `used` words have been used.
    uint64_t block;
    uint32_t words[BLOCK];
    uint32_t used;

    __device__ __forceinline__ explicit Philox4x32Rng(uint64_t key = 0, uint64_t stream = 0, uint64_t word = 0)
        : key(key), stream(stream), block(word / BLOCK), words(), used(BLOCK) {
        if (word % BLOCK != 0) {
            next_block(words);
            used = uint32_t(word % BLOCK);
        }
    }

    // The words of a stream's state are contiguous: key, stream and next block, the low word of
    // each first.
    __device__ __forceinline__ void load(const uint32_t* states, uint64_t, uint64_t at) {
        const uint32_t* state = states + at * STATE;
        key = uint64_t(state[1]) << 32 | state[0];
        stream = uint64_t(state[3]) << 32 | state[2];
        block = uint64_t(state[5]) << 32 | state[4];
        used = BLOCK;
    }

    // The unused words of the current block are lost.
    __device__ __forceinline__ void store(uint32_t* states, uint64_t, uint64_t at) const {
        uint32_t* state = states + at * STATE;
        state[0] = uint32_t(key), state[1] = uint32_t(key >> 32);
        state[2] = uint32_t(stream), state[3] = uint32_t(stream >> 32);
        state[4] = uint32_t(block), state[5] = uint32_t(block >> 32);
    }

    // The next block of four words. Unused words of the block before are skipped.
    __device__ __forceinline__ void next_block(uint32_t (&x)[BLOCK]) {
        x[0] = uint32_t(block), x[1] = uint32_t(block >> 32);
        x[2] = uint32_t(stream), x[3] = uint32_t(stream >> 32);
        philox4x32<ROUNDS>(key, x);
        ++block;
        used = BLOCK;
    }

    __device__ __forceinline__ uint32_t next() {
        if (used == BLOCK) {
            next_block(words);
            used = 0;
        }
        // Selected and not indexed, so that the words stay in registers.
        const uint32_t low = used == 0 ? words[0] : words[1], high = used == 2 ? words[2] : words[3];
        return used++ < 2 ? low : high;
    }
};

}  // namespace bijective_shuffle

#endif
