// Fills arrays with random numbers: those of one stream of Philox4x32, in order, or those of many
// streams that step together. The order of the numbers does not depend on threads, blocks or the
// device, and is that of crates/rng/src/streams.rs:
//
// * One stream: each group of its words gives a group of numbers (gpu/rng/number.cuh), one after
//   the other.
// * `count` streams of a generator with blocks of BLOCK words: a row is a block of BLOCK numbers of
//   each stream. Number b of block t of stream i is at (t * count + i) * BLOCK + b. A stream's
//   numbers come from its own words in order. So a row of numbers of two words takes two blocks of
//   each stream, and where BLOCK is 1 a pair of normal numbers is in two rows.
// * A fill draws whole rows, and an even number of them for such pairs. The part of the last row
//   that is beyond the array is drawn but not stored.
//
// For every kind of number, four words give 16 bytes of the array. So the kernels count in words:
// the array has `words` words, and the numbers from four words of a stream are stored at once.
#ifndef BIJECTIVE_SHUFFLE_FILL
#define BIJECTIVE_SHUFFLE_FILL

namespace bijective_shuffle {

// Streaming stores, for data that this kernel does not read again.
template <class T>
__device__ __forceinline__ void stream_out(T* place, T value) {
    __stcs(place, value);
}
__device__ __forceinline__ void stream_out(uint64_t* place, uint64_t value) {
    __stcs(reinterpret_cast<unsigned long long*>(place), (unsigned long long)value);
}
__device__ __forceinline__ void stream_out(Words4* place, const Words4& four) {
    __stcs(reinterpret_cast<uint4*>(place), make_uint4(four.words[0], four.words[1], four.words[2], four.words[3]));
}

// Stores those of four words, which begin at `at`, that lie within an array: from `first` up to but
// not including `end`.
__device__ __forceinline__ void store_within(uint32_t* out, const Words4& four, uint64_t at, uint64_t first,
                                             uint64_t end) {
    BIJECTIVE_SHUFFLE_UNROLL
    for (uint32_t k = 0; k < 4; ++k) {
        if (at + k >= first && at + k < end) out[at + k] = four.words[k];
    }
}

template <int ROUNDS>
__device__ __forceinline__ Words4 philox_block(const PhiloxSchedule<ROUNDS>& keys, uint64_t stream, uint64_t block) {
    Words4 four = {{uint32_t(block), uint32_t(block >> 32), uint32_t(stream), uint32_t(stream >> 32)}};
    philox4x32(keys, four.words);
    return four;
}

// The numbers of a block of Philox4x32.
template <class Number, int ROUNDS>
__device__ __forceinline__ Words4 philox_numbers(const PhiloxSchedule<ROUNDS>& keys, uint64_t stream, uint64_t block) {
    return numbers_of<Number>(philox_block(keys, stream, block).words);
}

// Fills where the generator's blocks fall on places that are aligned to 16 bytes. The array is
// `out[first], .., out[end - 1]`. `out` is such an aligned place, at or before the array, and
// `out[0]` is the first word of a block.
template <class Number, int ROUNDS, uint32_t THREADS, uint32_t UNROLL>
__device__ __forceinline__ void fill_philox(uint64_t key, uint64_t stream, uint64_t block, uint32_t* out,
                                            uint64_t first, uint64_t end) {
    constexpr uint32_t TILE = THREADS * UNROLL;
    const PhiloxSchedule<ROUNDS> keys(key);
    const uint64_t blocks = (end + 3) / 4;
    for (uint64_t tile = uint64_t(blockIdx.x) * TILE; tile < blocks; tile += uint64_t(gridDim.x) * TILE) {
        const uint64_t mine = tile + threadIdx.x;
        if (4 * tile >= first && 4 * (tile + TILE) <= end) {
            BIJECTIVE_SHUFFLE_UNROLL
            for (uint32_t k = 0; k < UNROLL; ++k) {
                const uint64_t place = mine + k * THREADS;
                const Words4 numbers = philox_numbers<Number>(keys, stream, block + place);
                stream_out(reinterpret_cast<Words4*>(out) + place, numbers);
            }
        } else {
            for (uint64_t place = mine; place < tile + TILE && place < blocks; place += THREADS) {
                const Words4 numbers = philox_numbers<Number>(keys, stream, block + place);
                store_within(out, numbers, 4 * place, first, end);
            }
        }
    }
}

// Moves rows of 128 words, four in each thread, down by `by` words, less than 4. Each thread's last
// words come from the next thread, and those of the last thread from the next row. The last row has
// none after it, so there the last thread's last words have no meaning.
template <uint32_t ROWS>
__device__ __forceinline__ void move_down(Words4 (&rows)[ROWS], uint32_t by) {
    if (by == 0) return;
    const uint32_t lane = threadIdx.x % 32;
    BIJECTIVE_SHUFFLE_UNROLL
    for (uint32_t r = 0; r < ROWS; ++r) {
        const Words4& after = rows[r + 1 < ROWS ? r + 1 : r];
        uint32_t all[7];
        BIJECTIVE_SHUFFLE_UNROLL
        for (uint32_t n = 0; n < 4; ++n) all[n] = rows[r].words[n];
        BIJECTIVE_SHUFFLE_UNROLL
        for (uint32_t n = 0; n < 3; ++n) {
            all[4 + n] = __shfl_sync(0xFFFFFFFFu, lane == 0 ? after.words[n] : rows[r].words[n], (lane + 1) % 32);
        }
        BIJECTIVE_SHUFFLE_UNROLL
        for (uint32_t n = 0; n < 4; ++n) {
            rows[r].words[n] = by == 1 ? all[n + 1] : by == 2 ? all[n + 2] : all[n + 3];
        }
    }
}

// Fills any array, from any word of the stream on: number 0 comes from the words of a block from
// `skip` on, which is less than 4. A warp makes UNROLL rows of 512 bytes, each thread one block of
// a row, and moves them twice: the words to where a number begins, and the numbers to an aligned
// place. For that it draws one row more.
template <class Number, int ROUNDS, uint32_t THREADS, uint32_t UNROLL>
__device__ __forceinline__ void fill_philox_anywhere(uint64_t key, uint64_t stream, uint64_t block, uint64_t skip,
                                                     uint32_t* out, uint64_t words) {
    constexpr uint32_t TILE = 128 * UNROLL;
    const PhiloxSchedule<ROUNDS> keys(key);
    const uint64_t lane = threadIdx.x % 32, warp = uint64_t(blockIdx.x) * (THREADS / 32) + threadIdx.x / 32;
    const uint64_t step = uint64_t(gridDim.x) * (THREADS / 32) * TILE;
    // The number of words before the first aligned place, at which the tiles begin. The first tile
    // stores these words as well.
    const uint32_t before = uint32_t(0 - reinterpret_cast<uint64_t>(out) / 4) % 4;
    for (uint64_t tile = warp * TILE; tile < words; tile += step) {
        const uint64_t mine = tile + 4 * lane, end = tile + TILE + before;
        Words4 rows[UNROLL + 1];
        BIJECTIVE_SHUFFLE_UNROLL
        for (uint32_t r = 0; r <= UNROLL; ++r) {
            rows[r] = philox_block(keys, stream, block + mine / 4 + 32 * r);
        }
        move_down(rows, uint32_t(skip));
        BIJECTIVE_SHUFFLE_UNROLL
        for (uint32_t r = 0; r <= UNROLL; ++r) rows[r] = numbers_of<Number>(rows[r].words);
        if (tile == 0 && lane == 0) store_within(out, rows[0], 0, 0, before < words ? before : words);
        if (end <= words) {
            move_down(rows, before);
            BIJECTIVE_SHUFFLE_UNROLL
            for (uint32_t r = 0; r < UNROLL; ++r) {
                stream_out(reinterpret_cast<Words4*>(out + before + mine + 128 * r), rows[r]);
            }
        } else {
            // The array ends before `end`, so of the last row at most the first thread's words are
            // stored.
            BIJECTIVE_SHUFFLE_UNROLL
            for (uint32_t r = 0; r <= UNROLL; ++r) store_within(out, rows[r], mine + 128 * r, tile + before, words);
        }
    }
}

// Stores neighbouring numbers at once.
template <class Type, uint32_t STREAMS>
__device__ __forceinline__ void store_row(Type* place, const Type (&numbers)[STREAMS]) {
    if constexpr (STREAMS == 1) {
        stream_out(place, numbers[0]);
    } else {
        static_assert(sizeof(numbers) == 16, "16 bytes");
        Words4 four;
        BIJECTIVE_SHUFFLE_UNROLL
        for (uint32_t k = 0; k < STREAMS; ++k) put_words(to_bits(numbers[k]), four.words + k * (sizeof(Type) / 4));
        stream_out(reinterpret_cast<Words4*>(place), four);
    }
}

// Fills with the streams of a generator that one thread steps: number t of stream i goes to place
// t * count + i. A thread has STREAMS neighbouring streams: one, or as many as make 16 bytes of
// numbers if that divides `count` and `out` is aligned. Words of numbers beyond `len` are drawn as
// well, so that all streams stay in step.
template <class G, class Number, uint32_t THREADS, uint32_t STREAMS, uint32_t UNROLL>
__device__ __forceinline__ void fill_streams(uint32_t* states, uint64_t count, typename Number::Type* out,
                                             uint64_t len) {
    using Type = typename Number::Type;
    constexpr uint32_t NUMBERS = Number::NUMBERS;
    const uint64_t mine = (uint64_t(blockIdx.x) * THREADS + threadIdx.x) * STREAMS;
    if (mine >= count) return;
    G generators[STREAMS];
    BIJECTIVE_SHUFFLE_UNROLL
    for (uint32_t k = 0; k < STREAMS; ++k) generators[k].load(states, count, mine + k);

    // A group of numbers of each stream: NUMBERS rows.
    Type numbers[NUMBERS][STREAMS];
    const auto draw = [&] {
        BIJECTIVE_SHUFFLE_UNROLL
        for (uint32_t k = 0; k < STREAMS; ++k) {
            uint32_t words[Number::WORDS];
            BIJECTIVE_SHUFFLE_UNROLL
            for (uint32_t n = 0; n < Number::WORDS; ++n) words[n] = generators[k].next();
            Type made[NUMBERS];
            Number::make(words, made);
            BIJECTIVE_SHUFFLE_UNROLL
            for (uint32_t n = 0; n < NUMBERS; ++n) numbers[n][k] = made[n];
        }
    };

    Type* place = out + mine;
    const uint64_t whole = len / (count * NUMBERS);
#if defined(__CUDACC__)
#pragma unroll UNROLL
#endif
    for (uint64_t t = 0; t < whole; ++t) {
        draw();
        BIJECTIVE_SHUFFLE_UNROLL
        for (uint32_t n = 0; n < NUMBERS; ++n) {
            store_row(place, numbers[n]);
            place += count;
        }
    }
    const uint64_t done = whole * count * NUMBERS;
    if (done < len) {
        draw();
        for (uint32_t n = 0; n < NUMBERS; ++n) {
            for (uint32_t k = 0; k < STREAMS; ++k) {
                const uint64_t at = done + n * count + mine + k;
                if (at < len) out[at] = numbers[n][k];
            }
        }
    }
    for (uint32_t k = 0; k < STREAMS; ++k) generators[k].store(states, count, mine + k);
}

// Fills with the streams of a generator that several threads share, with four words for each
// thread: block t of the numbers of stream i goes to place (t * count + i) * BLOCK. `generator` is
// this thread's part of stream `stream`. A thread without a stream (`stream >= count`) takes part
// as well, since threads wait for each other.
template <class Number, class G>
__device__ __forceinline__ void fill_blocks(G& generator, uint64_t stream, uint64_t count, uint32_t* out,
                                            uint64_t words) {
    constexpr uint32_t STEPS = Number::WORDS / Number::NUMBERS;
    const bool aligned = reinterpret_cast<uint64_t>(out) % 16 == 0;
    // The words of a stream in a row, and of the row.
    constexpr uint32_t SHARE = G::BLOCK * STEPS;
    const uint64_t row = count * SHARE;
    uint64_t at = stream * SHARE + 4 * generator.thread;
    for (uint64_t begin = 0; begin < words; begin += row, at += row) {
        BIJECTIVE_SHUFFLE_UNROLL
        for (uint32_t step = 0; step < STEPS; ++step) {
            uint32_t x[4];
            generator.next4(x);
            if (stream >= count) continue;
            const Words4 numbers = numbers_of<Number>(x);
            const uint64_t here = at + step * G::BLOCK;
            if (aligned && here + 4 <= words) {
                stream_out(reinterpret_cast<Words4*>(out + here), numbers);
            } else {
                store_within(out, numbers, here, 0, words);
            }
        }
    }
}

// Fills with streams of Philox4x32: block t of the numbers of stream i goes to place (t * count +
// i) * 4.
//
// A block of numbers comes from as many of the generator's blocks as a number has words, and any
// thread can draw any of them. So it gets that many threads, in the order of the numbers, and a
// warp stores 512 contiguous bytes. If one thread drew all of a stream's numbers, it would store 16
// bytes of every 32.
template <class Number, int ROUNDS, uint32_t THREADS, uint32_t UNROLL>
__device__ __forceinline__ void fill_philox_streams(uint32_t* states, uint64_t count, uint32_t* out, uint64_t words) {
    constexpr uint32_t STEPS = Number::WORDS / Number::NUMBERS;
    static_assert(32 % STEPS == 0 && THREADS % 32 == 0, "a stream's threads are of one warp");
    // A piece is four words of a row.
    const uint64_t piece = uint64_t(blockIdx.x) * THREADS + threadIdx.x, pieces = count * STEPS;
    const uint64_t mine = piece / STEPS, step = piece % STEPS;
    Philox4x32Rng<ROUNDS> rng;
    if (mine < count) rng.load(states, count, mine);
    // One of a stream's threads will store the state, after all of them have loaded it.
    __syncwarp();
    if (mine >= count) return;

    const PhiloxSchedule<ROUNDS> keys(rng.key);
    const uint64_t row = 4 * pieces, rows = (words + row - 1) / row, whole = words / row;
    const bool aligned = reinterpret_cast<uint64_t>(out) % 16 == 0;
    uint64_t block = rng.block + step, t = 0, place = 4 * piece;
    if (aligned) {
        for (; t + UNROLL <= whole; t += UNROLL) {
            BIJECTIVE_SHUFFLE_UNROLL
            for (uint32_t k = 0; k < UNROLL; ++k) {
                const Words4 numbers = philox_numbers<Number>(keys, rng.stream, block);
                stream_out(reinterpret_cast<Words4*>(out + place), numbers);
                block += STEPS, place += row;
            }
        }
    }
    for (; place < words; block += STEPS, place += row) {
        const Words4 numbers = philox_numbers<Number>(keys, rng.stream, block);
        if (aligned && place + 4 <= words) {
            stream_out(reinterpret_cast<Words4*>(out + place), numbers);
        } else {
            store_within(out, numbers, place, 0, words);
        }
    }
    rng.block += rows * STEPS;
    if (step == 0) rng.store(states, count, mine);
}

// Fills with generators that G::THREADS neighbouring threads of a warp share.
template <class G, class Number, uint32_t THREADS>
__device__ __forceinline__ void fill_warps(uint32_t* states, uint64_t count, uint32_t* out, uint64_t words) {
    const uint64_t stream = (uint64_t(blockIdx.x) * THREADS + threadIdx.x) / G::THREADS;
    G generator(threadIdx.x % G::THREADS);
    if (stream < count) generator.load(states, count, stream);
    fill_blocks<Number>(generator, stream, count, out, words);
    if (stream < count) generator.store(states, count, stream);
}

// Fills with generators that a block shares.
template <class G, class Number>
__device__ __forceinline__ void fill_rings(uint32_t* states, uint64_t count, uint32_t* out, uint64_t words) {
    alignas(16) __shared__ uint32_t ring[G::RING];
    G generator(ring, threadIdx.x);
    generator.load(states, count, blockIdx.x);
    __syncthreads();
    fill_blocks<Number>(generator, blockIdx.x, count, out, words);
    generator.store(states, count, blockIdx.x);
}

}  // namespace bijective_shuffle

#endif
