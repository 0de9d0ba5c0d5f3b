// Draws what a seed determines for a length, as the host does: the key stream
// (crates/core/src/seed), the exchanges of an exact draw (crates/core/src/bijection/table.rs) and
// the rounds of a cipher (crates/core/src/bijection/mul_xorshift). The tests also compile this as
// plain C++.
#ifndef BIJECTIVE_SHUFFLE_DRAW
#define BIJECTIVE_SHUFFLE_DRAW

namespace bijective_shuffle {

// A seed's keys and a domain. The block function is applied with each of the 1 or 4 keys in turn.
struct Keys {
    uint64_t keys[4];
    uint32_t count, domain;
};

// Draws two 64-bit words of an epoch: those of one block.
__device__ __forceinline__ void draw_words(const Keys& keys, uint32_t block, uint64_t epoch, uint64_t (&words)[2]) {
    uint32_t x[4] = {block, keys.domain, uint32_t(epoch), uint32_t(epoch >> 32)};
    for (uint32_t k = 0; k < keys.count; ++k) philox4x32(keys.keys[k], x);
    words[0] = uint64_t(x[1]) << 32 | x[0];
    words[1] = uint64_t(x[3]) << 32 | x[2];
}

// The 64-bit words of an epoch, one after the other.
struct KeyStream {
    const Keys& keys;
    const uint64_t epoch;
    uint32_t next;
    uint64_t words[2];

    __device__ __forceinline__ KeyStream(const Keys& keys, uint64_t epoch)
        : keys(keys), epoch(epoch), next(0), words() {}

    __device__ __forceinline__ uint64_t draw() {
        if (next % 2 == 0) draw_words(keys, next / 2, epoch, words);
        return next++ % 2 == 0 ? words[0] : words[1];
    }
};

// The most words that an exact draw of up to 256 items takes.
constexpr int MOST_SHARES = 32;

// The exchanges that each word of an exact draw decides: those of `places` consecutive places, from
// the last remaining one down. `products` has the product of the numbers of places that they choose
// from, by which words are rejected and drawn again.
struct Shares {
    uint32_t len, count;
    uint64_t products[MOST_SHARES];
    uint32_t places[MOST_SHARES];
};

// Draws the exchanges, in the order in which they have to be made.
template <class Exchange>
__device__ __forceinline__ void draw_exchanges(const Shares& shares, KeyStream& stream, const Exchange& exchange) {
    uint32_t range = shares.len;
    for (uint32_t share = 0; share < shares.count; ++share) {
        const uint64_t product = shares.products[share];
        uint64_t word;
        for (;;) {
            word = stream.draw();
            const uint64_t remainder = word * product;
            if (remainder >= product || remainder >= (0 - product) % product) break;
        }
        uint32_t low = uint32_t(word), high = uint32_t(word >> 32);
        for (uint32_t k = 0; k < shares.places[share]; ++k, --range) {
            const uint64_t lower = uint64_t(low) * range, upper = uint64_t(high) * range + (lower >> 32);
            low = uint32_t(lower);
            high = uint32_t(upper);
            exchange(range - 1, uint32_t(upper >> 32));
        }
    }
}

// Draws a round of a cipher, one block for each round. The inverse is not needed.
template <class Cipher>
__device__ __forceinline__ void draw_round(const Keys& keys, uint32_t round, uint64_t epoch, Cipher& cipher) {
    uint64_t words[2];
    draw_words(keys, round, epoch, words);
    cipher.increments[round] = words[0];
    cipher.multipliers[round] = (words[1] & ~uint64_t(7)) | ((words[1] & 4) == 0 ? 3 : 5);
}

}  // namespace bijective_shuffle

#endif
