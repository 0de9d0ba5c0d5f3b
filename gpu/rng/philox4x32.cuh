// Philox4x32: four words that belong to a counter; see src/rng/philox4x32.rs.
#ifndef BIJECTIVE_SHUFFLE_PHILOX4X32
#define BIJECTIVE_SHUFFLE_PHILOX4X32

namespace bijective_shuffle {

// Replaces a counter by its block under a key of two words, low word first.
template <int ROUNDS = 10>
__device__ __forceinline__ void philox4x32(uint64_t key, uint32_t (&x)[4]) {
    uint32_t left = uint32_t(key), right = uint32_t(key >> 32);
    BIJECTIVE_SHUFFLE_UNROLL
    for (int round = 0; round < ROUNDS; ++round) {
        const uint64_t a = uint64_t(x[0]) * 0xD2511F53u, b = uint64_t(x[2]) * 0xCD9E8D57u;
        x[0] = uint32_t(b >> 32) ^ x[1] ^ left;
        x[1] = uint32_t(b);
        x[2] = uint32_t(a >> 32) ^ x[3] ^ right;
        x[3] = uint32_t(a);
        left += 0x9E3779B9u;
        right += 0xBB67AE85u;
    }
}

}  // namespace bijective_shuffle

#endif
