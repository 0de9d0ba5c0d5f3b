// Multiply-with-carry of one word; see crates/rng/src/mwc/mod.rs.
#ifndef BIJECTIVE_SHUFFLE_MWC
#define BIJECTIVE_SHUFFLE_MWC

namespace bijective_shuffle {

struct Mwc {
    static constexpr uint32_t STATE = 3, BLOCK = 1, THREADS = 1;

    uint32_t x, carry, multiplier;

    // Word w of stream i is at states[w * count + i], so that neighbouring threads read
    // neighbouring words.
    __device__ __forceinline__ void load(const uint32_t* states, uint64_t count, uint64_t stream) {
        x = states[stream], carry = states[count + stream], multiplier = states[2 * count + stream];
    }

    // The multiplier does not change.
    __device__ __forceinline__ void store(uint32_t* states, uint64_t count, uint64_t stream) const {
        states[stream] = x;
        states[count + stream] = carry;
    }

    __device__ __forceinline__ uint32_t next() {
        const uint64_t sum = uint64_t(multiplier) * x + carry;
        x = uint32_t(sum);
        carry = uint32_t(sum >> 32);
        return x;
    }
};

}  // namespace bijective_shuffle

#endif
