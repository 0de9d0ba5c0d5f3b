// The additive lagged Fibonacci generator; see crates/rng/src/lagged_fibonacci.rs. The threads of
// a block share a stream, whose last words are in a ring buffer in shared memory.
#ifndef BIJECTIVE_SHUFFLE_LAGGED_FIBONACCI
#define BIJECTIVE_SHUFFLE_LAGGED_FIBONACCI

namespace bijective_shuffle {

// The largest power of two that is at most n, and the smallest that is at least n.
__device__ constexpr uint32_t power_below(uint32_t n) { return n < 2 ? 1 : 2 * power_below(n / 2); }
__device__ constexpr uint32_t power_above(uint32_t n) { return n < 2 ? 1 : 2 * power_above((n + 1) / 2); }

// Word n is the sum of words n - R and n - S. A step makes BLOCK words, none of which depends on
// another: BLOCK <= S.
//
// The ring has room for one block more than the lags reach back. So a thread that is one step ahead
// of others overwrites no word that they still read, and one barrier for each step is enough:
// between making the words and using them.
template <uint32_t R, uint32_t S, uint32_t BLOCK_THREADS = power_below(S)>
struct LaggedFibonacci {
    static constexpr uint32_t STATE = R, BLOCK = power_below(S), THREADS = BLOCK_THREADS;
    static constexpr uint32_t RING = power_above(R + BLOCK), PER_THREAD = BLOCK / THREADS;
    static_assert(S < R && BLOCK % THREADS == 0, "each thread makes as many words");

    // RING words in shared memory, aligned to 16 bytes, and the place of the next block in the
    // ring.
    uint32_t* ring;
    uint32_t place, thread;

    __device__ __forceinline__ LaggedFibonacci(uint32_t* ring, uint32_t thread)
        : ring(ring), place(0), thread(thread) {}

    // Loads the last R words, the oldest first. The words of a stream are contiguous. A barrier
    // must follow.
    __device__ __forceinline__ void load(const uint32_t* states, uint64_t, uint64_t stream) {
        for (uint32_t k = thread; k < R; k += THREADS) ring[RING - R + k] = states[stream * R + k];
        place = 0;
    }

    // There must be a barrier between the last `make_block` and this; `next` and `next4` have one.
    __device__ __forceinline__ void store(uint32_t* states, uint64_t, uint64_t stream) const {
        for (uint32_t k = thread; k < R; k += THREADS) states[stream * R + k] = ring[(place + RING - R + k) % RING];
    }

    // Makes the next block; this thread makes words thread, thread + THREADS, ... A barrier must
    // follow.
    __device__ __forceinline__ void make_block() {
        BIJECTIVE_SHUFFLE_UNROLL
        for (uint32_t k = 0; k < PER_THREAD; ++k) {
            const uint32_t n = place + RING + k * THREADS + thread;
            ring[n % RING] = ring[(n - R) % RING] + ring[(n - S) % RING];
        }
        place = (place + BLOCK) % RING;
    }

    // A word of the last block.
    __device__ __forceinline__ uint32_t word(uint32_t k) const { return ring[(place + RING - BLOCK + k) % RING]; }

    // This thread's word of the next block. All threads of the block must call it together.
    __device__ __forceinline__ uint32_t next() {
        static_assert(PER_THREAD == 1, "a word a thread");
        make_block();
        __syncthreads();
        return word(thread);
    }

    // Four words of the next block, from word 4 * thread on. All threads of the block must call it
    // together.
    __device__ __forceinline__ void next4(uint32_t (&words)[4]) {
        static_assert(PER_THREAD == 4, "four words a thread");
        make_block();
        __syncthreads();
        // Blocks begin at multiples of their length, so the four words are contiguous in the ring
        // and aligned.
        const Words4 four = *reinterpret_cast<const Words4*>(ring + (place + RING - BLOCK) % RING + 4 * thread);
        BIJECTIVE_SHUFFLE_UNROLL
        for (uint32_t k = 0; k < 4; ++k) words[k] = four.words[k];
    }
};

using LaggedFibonacci521 = LaggedFibonacci<521, 353>;
using LaggedFibonacci1279 = LaggedFibonacci<1279, 861>;

}  // namespace bijective_shuffle

#endif
