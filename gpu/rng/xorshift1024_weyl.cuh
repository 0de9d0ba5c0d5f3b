// An xorshift of 1024 bits, which a warp or a part of one shares, and a Weyl sequence; see
// crates/rng/src/xorshift1024/mod.rs.
//
// The state is a number of 32 words, the most significant word first. With << and >> as shifts of
// the whole number, a step is x ^= x << 329, x ^= x >> 347, x ^= x << 344. All three shift by ten
// words and some bits, so what word k receives comes from words k + 10 and k + 11, or k - 10 and
// k - 11: words of other threads, by warp shuffles.
#ifndef BIJECTIVE_SHUFFLE_XORSHIFT1024_WEYL
#define BIJECTIVE_SHUFFLE_XORSHIFT1024_WEYL

namespace bijective_shuffle {

constexpr uint32_t WHOLE_WARP = 0xFFFFFFFFu;

// The high word of a number of two words, shifted left by 1 to 31 bits.
__device__ __forceinline__ uint32_t shifted_high(uint32_t high, uint32_t low, uint32_t bits) {
    return high << bits | low >> (32 - bits);
}

// A stream for each warp and a word for each thread: section 6 of Manssen, Weigel and Hartmann
// (2012), with warp shuffles. All threads of a warp must call its functions together.
struct XorShift1024Weyl {
    static constexpr uint32_t STATE = 33, BLOCK = 32, THREADS = 32, WEYL = 362437;

    uint32_t x, weyl, lane;

    __device__ __forceinline__ explicit XorShift1024Weyl(uint32_t lane) : x(0), weyl(0), lane(lane) {}

    // The words of a stream's state are contiguous, those of the xorshift first.
    __device__ __forceinline__ void load(const uint32_t* states, uint64_t, uint64_t stream) {
        x = states[stream * STATE + lane], weyl = states[stream * STATE + 32];
    }

    __device__ __forceinline__ void store(uint32_t* states, uint64_t, uint64_t stream) const {
        states[stream * STATE + lane] = x;
        if (lane == 0) states[stream * STATE + 32] = weyl;
    }

    // This thread's word of the next block.
    __device__ __forceinline__ uint32_t next() {
        left(9);
        right(27);
        left(24);
        weyl += WEYL;
        return x + (weyl ^ weyl >> 16);
    }

private:
    // Shifts by 320 + bits. Words beyond the ends are 0.
    __device__ __forceinline__ void left(uint32_t bits) {
        const uint32_t high = __shfl_down_sync(WHOLE_WARP, x, 10), low = __shfl_down_sync(WHOLE_WARP, x, 11);
        const uint32_t moved = shifted_high(high, lane < 21 ? low : 0, bits);
        x ^= lane < 22 ? moved : 0;
    }

    __device__ __forceinline__ void right(uint32_t bits) {
        const uint32_t high = __shfl_up_sync(WHOLE_WARP, x, 11), low = __shfl_up_sync(WHOLE_WARP, x, 10);
        const uint32_t moved = shifted_high(lane >= 11 ? high : 0, low, 32 - bits);
        x ^= lane >= 10 ? moved : 0;
    }
};

// The same with eight threads for each stream, each of which has four neighbouring words; a warp
// has four streams. A shift then takes five warp shuffles for four words, where one word for each
// thread takes eight, and four words are stored at once. All threads of a warp must call its
// functions together.
struct XorShift1024WeylQuads {
    static constexpr uint32_t STATE = 33, BLOCK = 32, THREADS = 8, WEYL = XorShift1024Weyl::WEYL;

    uint32_t x[4], weyl, thread;

    __device__ __forceinline__ explicit XorShift1024WeylQuads(uint32_t thread) : x(), weyl(0), thread(thread) {}

    __device__ __forceinline__ void load(const uint32_t* states, uint64_t, uint64_t stream) {
        const uint32_t* words = states + stream * STATE;
        for (int k = 0; k < 4; ++k) x[k] = words[4 * thread + k];
        weyl = words[32];
    }

    __device__ __forceinline__ void store(uint32_t* states, uint64_t, uint64_t stream) const {
        uint32_t* words = states + stream * STATE;
        for (int k = 0; k < 4; ++k) words[4 * thread + k] = x[k];
        if (thread == 0) words[32] = weyl;
    }

    // Four words of the next block, from word 4 * thread on.
    __device__ __forceinline__ void next4(uint32_t (&words)[4]) {
        left(9);
        right(27);
        left(24);
        weyl += WEYL;
        const uint32_t y = weyl ^ weyl >> 16;
        BIJECTIVE_SHUFFLE_UNROLL
        for (int k = 0; k < 4; ++k) words[k] = x[k] + y;
    }

private:
    // What words 4 t .. 4 t + 3 receive comes from words 4 t + 10 .. 4 t + 14, which threads t + 2
    // and t + 3 have.
    __device__ __forceinline__ void left(uint32_t bits) {
        const uint32_t a = down(x[2], 2), b = down(x[3], 2), d = down(x[1], 3), e = down(x[2], 3);
        const uint32_t third = down(x[0], 3), c = thread < 5 ? third : 0;
        const uint32_t two = thread < 6 ? ~0u : 0, three = thread < 5 ? ~0u : 0;
        x[0] ^= shifted_high(a, b, bits) & two;
        x[1] ^= shifted_high(b, c, bits) & two;
        x[2] ^= shifted_high(c, d, bits) & three;
        x[3] ^= shifted_high(d, e, bits) & three;
    }

    // Here it comes from words 4 t - 11 .. 4 t - 7, which threads t - 3 and t - 2 have.
    __device__ __forceinline__ void right(uint32_t bits) {
        const uint32_t a = up(x[1], 3), b = up(x[2], 3), d = up(x[0], 2), e = up(x[1], 2);
        const uint32_t third = up(x[3], 3), c = thread >= 3 ? third : 0;
        const uint32_t two = thread >= 2 ? ~0u : 0, three = thread >= 3 ? ~0u : 0;
        x[0] ^= shifted_high(a, b, 32 - bits) & three;
        x[1] ^= shifted_high(b, c, 32 - bits) & three;
        x[2] ^= shifted_high(c, d, 32 - bits) & two;
        x[3] ^= shifted_high(d, e, 32 - bits) & two;
    }

    __device__ __forceinline__ static uint32_t down(uint32_t word, uint32_t by) {
        return __shfl_down_sync(WHOLE_WARP, word, by);
    }
    __device__ __forceinline__ static uint32_t up(uint32_t word, uint32_t by) {
        return __shfl_up_sync(WHOLE_WARP, word, by);
    }
};

}  // namespace bijective_shuffle

#endif
