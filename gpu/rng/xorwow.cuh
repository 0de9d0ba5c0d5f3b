// XORWOW, an xorshift of 160 bits and a Weyl sequence; see crates/rng/src/xorwow.rs.
#ifndef BIJECTIVE_SHUFFLE_XORWOW
#define BIJECTIVE_SHUFFLE_XORWOW

namespace bijective_shuffle {

struct Xorwow {
    static constexpr uint32_t STATE = 6, BLOCK = 1, THREADS = 1;

    uint32_t x, y, z, w, v, d;

    // Word k of stream i is at states[k * count + i], so that neighbouring threads read
    // neighbouring words.
    __device__ __forceinline__ void load(const uint32_t* states, uint64_t count, uint64_t stream) {
        const uint32_t* word = states + stream;
        x = word[0], y = word[count], z = word[2 * count], w = word[3 * count],
        v = word[4 * count], d = word[5 * count];
    }

    __device__ __forceinline__ void store(uint32_t* states, uint64_t count, uint64_t stream) const {
        uint32_t* word = states + stream;
        word[0] = x, word[count] = y, word[2 * count] = z, word[3 * count] = w,
        word[4 * count] = v, word[5 * count] = d;
    }

    __device__ __forceinline__ uint32_t next() {
        const uint32_t t = x ^ (x >> 2);
        x = y, y = z, z = w, w = v;
        v = (v ^ (v << 4)) ^ (t ^ (t << 1));
        d += 362437u;
        return d + v;
    }
};

}  // namespace bijective_shuffle

#endif
