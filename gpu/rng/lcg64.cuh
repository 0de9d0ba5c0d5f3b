// The linear congruential generator modulo 2^64, which returns the high word of its state; see
// crates/rng/src/lcg.rs.
#ifndef BIJECTIVE_SHUFFLE_LCG64
#define BIJECTIVE_SHUFFLE_LCG64

namespace bijective_shuffle {

struct Lcg64 {
    static constexpr uint32_t STATE = 6, BLOCK = 1, THREADS = 1;

    uint64_t state, multiplier, increment;

    // A 64-bit number is two words, the low word first. Word w of stream i is at states[w * count +
    // i].
    __device__ __forceinline__ void load(const uint32_t* states, uint64_t count, uint64_t stream) {
        const uint32_t* word = states + stream;
        state = uint64_t(word[count]) << 32 | word[0];
        multiplier = uint64_t(word[3 * count]) << 32 | word[2 * count];
        increment = uint64_t(word[5 * count]) << 32 | word[4 * count];
    }

    // Only the state changes.
    __device__ __forceinline__ void store(uint32_t* states, uint64_t count, uint64_t stream) const {
        states[stream] = uint32_t(state);
        states[count + stream] = uint32_t(state >> 32);
    }

    __device__ __forceinline__ uint32_t next() {
        state = multiplier * state + increment;
        return uint32_t(state >> 32);
    }
};

}  // namespace bijective_shuffle

#endif
