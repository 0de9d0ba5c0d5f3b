// The additive lagged Fibonacci generator; see src/rng/lagged_fibonacci.rs. The threads of a block
// share a stream, whose last words lie in a ring in shared memory.
#ifndef BIJECTIVE_SHUFFLE_LAGGED_FIBONACCI
#define BIJECTIVE_SHUFFLE_LAGGED_FIBONACCI

namespace bijective_shuffle {

// The largest power of two up to n, and the smallest from n on.
__device__ constexpr uint32_t power_below(uint32_t n) { return n < 2 ? 1 : 2 * power_below(n / 2); }
__device__ constexpr uint32_t power_above(uint32_t n) { return n < 2 ? 1 : 2 * power_above((n + 1) / 2); }

// Word n is the sum of words n - R and n - S. A step makes BLOCK words, none of which is needed for
// another: BLOCK <= S.
//
// The ring has room for a block more than the lags reach back. A thread that is a step ahead of
// others so writes over no word that they still read, and one barrier a step is enough: between the
// words and their use.
template <uint32_t R, uint32_t S, uint32_t BLOCK_THREADS = power_below(S)>
struct LaggedFibonacci {
    static constexpr uint32_t STATE = R, BLOCK = power_below(S), THREADS = BLOCK_THREADS;
    static constexpr uint32_t RING = power_above(R + BLOCK), PER_THREAD = BLOCK / THREADS;
    static_assert(S < R && BLOCK % THREADS == 0, "each thread makes as many words");

    // RING words in shared memory, aligned to 16 bytes, and the place in it of the next block.
    uint32_t* ring;
    uint32_t place, thread;

    __device__ __forceinline__ LaggedFibonacci(uint32_t* ring, uint32_t thread) : ring(ring), place(0), thread(thread) {}

    // The last R words, the oldest first; those of a stream side by side. A barrier must follow.
    __device__ __forceinline__ void load(const uint32_t* states, uint64_t, uint64_t stream) {
        for (uint32_t k = thread; k < R; k += THREADS) ring[RING - R + k] = states[stream * R + k];
        place = 0;
    }

    // A barrier must have come after the last `make_block`; `next` and `next4` have it.
    __device__ __forceinline__ void store(uint32_t* states, uint64_t, uint64_t stream) const {
        for (uint32_t k = thread; k < R; k += THREADS) states[stream * R + k] = ring[(place + RING - R + k) % RING];
    }

    // Makes a block, of which this thread makes words thread, thread + THREADS, ... A barrier must
    // follow.
    __device__ __forceinline__ void make_block() {
        BIJECTIVE_SHUFFLE_UNROLL
        for (uint32_t k = 0; k < PER_THREAD; ++k) {
            const uint32_t n = place + RING + k * THREADS + thread;
            ring[n % RING] = ring[(n - R) % RING] + ring[(n - S) % RING];
        }
        place = (place + BLOCK) % RING;
    }

    // A word of the block that was made last.
    __device__ __forceinline__ uint32_t word(uint32_t k) const { return ring[(place + RING - BLOCK + k) % RING]; }

    // This thread's word of the next block. All threads of the block call it together.
    __device__ __forceinline__ uint32_t next() {
        static_assert(PER_THREAD == 1, "a word a thread");
        make_block();
        __syncthreads();
        return word(thread);
    }

    // Four of the next block's words, those from 4 thread on. All threads of the block call it
    // together.
    __device__ __forceinline__ void next4(uint32_t (&words)[4]) {
        static_assert(PER_THREAD == 4, "four words a thread");
        make_block();
        __syncthreads();
        // Blocks begin at multiples of their length, so that the four lie within the ring and are
        // aligned.
        const Words4 four = *reinterpret_cast<const Words4*>(ring + (place + RING - BLOCK) % RING + 4 * thread);
        BIJECTIVE_SHUFFLE_UNROLL
        for (uint32_t k = 0; k < 4; ++k) words[k] = four.words[k];
    }
};

using LaggedFibonacci521 = LaggedFibonacci<521, 353>;
using LaggedFibonacci1279 = LaggedFibonacci<1279, 861>;

}  // namespace bijective_shuffle

#endif
