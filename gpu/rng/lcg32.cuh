// The linear congruential generator modulo 2^32; see crates/rng/src/lcg.rs.
#ifndef BIJECTIVE_SHUFFLE_LCG32
#define BIJECTIVE_SHUFFLE_LCG32

namespace bijective_shuffle {

struct Lcg32 {
    static constexpr uint32_t STATE = 3, BLOCK = 1, THREADS = 1;

    uint32_t state, multiplier, increment;

    // Word w of stream i is at states[w * count + i], so that neighbouring threads read
    // neighbouring words.
    __device__ __forceinline__ void load(const uint32_t* states, uint64_t count, uint64_t stream) {
        state = states[stream], multiplier = states[count + stream], increment = states[2 * count + stream];
    }

    // Only the state changes.
    __device__ __forceinline__ void store(uint32_t* states, uint64_t, uint64_t stream) const { states[stream] = state; }

    __device__ __forceinline__ uint32_t next() {
        state = multiplier * state + increment;
        return state;
    }
};

}  // namespace bijective_shuffle

#endif
