// What a seed chooses for a length, as on the host: the key stream (src/seed), the exchanges of an exact draw
// (src/bijection/table.rs) and the rounds of a cipher (src/bijection/mul_xorshift). Also compiled as plain C++ by the tests.
#ifndef BIJECTIVE_SHUFFLE_DRAW
#define BIJECTIVE_SHUFFLE_DRAW

namespace bijective_shuffle {

// A seed and a domain: the block function is applied with each key in turn, 1 or 4 of them.
struct Keys {
    uint64_t keys[4];
    uint32_t count, domain;
};

// Two of an epoch's words of 64 bits: those of a block.
__device__ __forceinline__ void draw_words(const Keys& keys, uint32_t block, uint64_t epoch, uint64_t (&words)[2]) {
    uint32_t x[4] = {block, keys.domain, uint32_t(epoch), uint32_t(epoch >> 32)};
    for (uint32_t k = 0; k < keys.count; ++k) philox4x32(keys.keys[k], x);
    words[0] = uint64_t(x[1]) << 32 | x[0];
    words[1] = uint64_t(x[3]) << 32 | x[2];
}

// An epoch's words one after another.
struct KeyStream {
    const Keys& keys;
    const uint64_t epoch;
    uint32_t next;
    uint64_t words[2];

    __device__ __forceinline__ KeyStream(const Keys& keys, uint64_t epoch) : keys(keys), epoch(epoch), next(0), words() {}

    __device__ __forceinline__ uint64_t draw() {
        if (next % 2 == 0) draw_words(keys, next / 2, epoch, words);
        return next++ % 2 == 0 ? words[0] : words[1];
    }
};

// The most words that an exact draw of up to 256 items takes.
constexpr int MOST_SHARES = 32;

// Which exchanges each word of an exact draw decides: so many places from the last one that is left down. The product of
// the numbers of places that they choose from is there for the words that have to be drawn again.
struct Shares {
    uint32_t len, count;
    uint64_t products[MOST_SHARES];
    uint32_t places[MOST_SHARES];
};

// Draws the exchanges of places, in the order in which they are to be made.
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

// Draws a round of a cipher, of which the inverse is not needed: a block a round.
template <class Cipher>
__device__ __forceinline__ void draw_round(const Keys& keys, uint32_t round, uint64_t epoch, Cipher& cipher) {
    uint64_t words[2];
    draw_words(keys, round, epoch, words);
    cipher.increments[round] = words[0];
    cipher.multipliers[round] = (words[1] & ~uint64_t(7)) | ((words[1] & 4) == 0 ? 3 : 5);
}

}  // namespace bijective_shuffle

#endif
