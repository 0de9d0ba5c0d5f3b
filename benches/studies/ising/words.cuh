// Which word of which stream decides about which site; see words.rs. Each type draws, for one
// thread, a word for each of its PAIRS sites of a parity. All threads of the block call its
// functions together.
//
// The text comes after the crate's header, which has the generators, and after these definitions:
//   TILE    sites on a side of a tile
//   WORDS   one of the types below

using namespace bijective_shuffle;

// A state for each thread.
template <class Generator>
struct OfThread {
    static constexpr uint32_t PAIRS = 1, SHARED_WORDS = 1;

    Generator generator;
    uint64_t count, stream;

    __device__ __forceinline__ OfThread(uint32_t*, const uint32_t* states, uint64_t, uint64_t)
        : count(uint64_t(gridDim.x) * blockDim.x), stream(uint64_t(blockIdx.x) * blockDim.x + threadIdx.x) {
        generator.load(states, count, stream);
    }

    __device__ __forceinline__ void draw(uint32_t, uint32_t (&words)[PAIRS]) { words[0] = generator.next(); }

    __device__ __forceinline__ void store(uint32_t* states) const { generator.store(states, count, stream); }
};

// A state for each warp.
template <class Generator>
struct OfWarp {
    static constexpr uint32_t PAIRS = 1, SHARED_WORDS = 1;

    Generator generator;
    uint64_t count, stream;

    __device__ __forceinline__ OfWarp(uint32_t*, const uint32_t* states, uint64_t, uint64_t)
        : generator(threadIdx.x % 32),
          count(uint64_t(gridDim.x) * blockDim.x / 32),
          stream((uint64_t(blockIdx.x) * blockDim.x + threadIdx.x) / 32) {
        generator.load(states, count, stream);
    }

    __device__ __forceinline__ void draw(uint32_t, uint32_t (&words)[PAIRS]) { words[0] = generator.next(); }

    __device__ __forceinline__ void store(uint32_t* states) const { generator.store(states, count, stream); }
};

// A state for the block, in shared memory.
template <class Generator>
struct OfBlock {
    static constexpr uint32_t PAIRS = TILE * TILE / 2 / Generator::THREADS, SHARED_WORDS = Generator::RING;

    Generator generator;

    __device__ __forceinline__ OfBlock(uint32_t* ring, const uint32_t* states, uint64_t, uint64_t)
        : generator(ring, threadIdx.x) {
        generator.load(states, gridDim.x, blockIdx.x);
        __syncthreads();
    }

    __device__ __forceinline__ void draw(uint32_t, uint32_t (&words)[PAIRS]) {
        BIJECTIVE_SHUFFLE_UNROLL
        for (uint32_t k = 0; k < PAIRS; ++k) words[k] = generator.next();
    }

    // A barrier has come after the last step.
    __device__ __forceinline__ void store(uint32_t* states) const { generator.store(states, gridDim.x, blockIdx.x); }
};

// No state: the words are computed from the thread's place and the number of the hit, a block of
// four for two pairs.
template <int ROUNDS>
struct OfCounter {
    static constexpr uint32_t PAIRS = 2, SHARED_WORDS = 1;

    Philox4x32Rng<ROUNDS> generator;
    uint32_t block[4];

    __device__ __forceinline__ OfCounter(uint32_t*, const uint32_t*, uint64_t key, uint64_t first_hit)
        : generator(key, uint64_t(blockIdx.x) * blockDim.x + threadIdx.x, 4 * first_hit), block() {}

    __device__ __forceinline__ void draw(uint32_t parity, uint32_t (&words)[PAIRS]) {
        if (parity == 0) generator.next_block(block);
        words[0] = parity == 0 ? block[0] : block[2];
        words[1] = parity == 0 ? block[1] : block[3];
    }

    __device__ __forceinline__ void store(uint32_t*) const {}
};
