// Numbers from words: integers, uniform numbers in [0, 1) and normal numbers, with the same bits as
// crates/rng/src/number.rs and crates/rng/src/normal.rs.
#ifndef BIJECTIVE_SHUFFLE_NUMBER
#define BIJECTIVE_SHUFFLE_NUMBER

namespace bijective_shuffle {

// Four words, which are loaded and stored at once.
struct alignas(16) Words4 {
    uint32_t words[4];
};

// A number of two words, the low word first.
__device__ __forceinline__ uint64_t joined(uint32_t low, uint32_t high) { return uint64_t(high) << 32 | low; }

// A number in [0, 1), a multiple of 2^-24.
__device__ __forceinline__ float uniform_f32(uint32_t word) { return float(word >> 8) * 0x1p-24f; }

// A number in [0, 1), a multiple of 2^-53.
__device__ __forceinline__ double uniform_f64(uint64_t words) { return double(words >> 11) * 0x1p-53; }

// The kinds of numbers with which arrays are filled. A group of `WORDS` words gives a group of
// `NUMBERS` numbers.
struct U32 {
    using Type = uint32_t;
    static constexpr uint32_t WORDS = 1, NUMBERS = 1;

    __device__ __forceinline__ static void make(const uint32_t* words, Type* numbers) { numbers[0] = words[0]; }
};

struct U64 {
    using Type = uint64_t;
    static constexpr uint32_t WORDS = 2, NUMBERS = 1;

    __device__ __forceinline__ static void make(const uint32_t* words, Type* numbers) {
        numbers[0] = joined(words[0], words[1]);
    }
};

struct F32 {
    using Type = float;
    static constexpr uint32_t WORDS = 1, NUMBERS = 1;

    __device__ __forceinline__ static void make(const uint32_t* words, Type* numbers) {
        numbers[0] = uniform_f32(words[0]);
    }
};

struct F64 {
    using Type = double;
    static constexpr uint32_t WORDS = 2, NUMBERS = 1;

    __device__ __forceinline__ static void make(const uint32_t* words, Type* numbers) {
        numbers[0] = uniform_f64(joined(words[0], words[1]));
    }
};

struct NormalF32 {
    using Type = float;
    static constexpr uint32_t WORDS = 2, NUMBERS = 2;

    __device__ __forceinline__ static void make(const uint32_t* words, Type* numbers) {
        normal_f32(words[0], words[1], numbers);
    }
};

struct NormalF64 {
    using Type = double;
    static constexpr uint32_t WORDS = 4, NUMBERS = 2;

    __device__ __forceinline__ static void make(const uint32_t* words, Type* numbers) {
        normal_f64(joined(words[0], words[1]), joined(words[2], words[3]), numbers);
    }
};

// Stores words, the low one first.
__device__ __forceinline__ void put_words(uint32_t word, uint32_t* words) { words[0] = word; }

__device__ __forceinline__ void put_words(uint64_t two, uint32_t* words) {
    words[0] = uint32_t(two);
    words[1] = uint32_t(two >> 32);
}

// The bits of the numbers that come from four words. For every kind of number these are 16 bytes.
template <class Number>
__device__ __forceinline__ Words4 numbers_of(const uint32_t (&words)[4]) {
    constexpr uint32_t PER_NUMBER = Number::WORDS / Number::NUMBERS;
    static_assert(sizeof(typename Number::Type) == 4 * PER_NUMBER, "as many bits as the words have");
    Words4 bits;
    BIJECTIVE_SHUFFLE_UNROLL
    for (uint32_t k = 0; k < 4; k += Number::WORDS) {
        typename Number::Type numbers[Number::NUMBERS];
        Number::make(words + k, numbers);
        BIJECTIVE_SHUFFLE_UNROLL
        for (uint32_t n = 0; n < Number::NUMBERS; ++n) put_words(to_bits(numbers[n]), bits.words + k + n * PER_NUMBER);
    }
    return bits;
}

}  // namespace bijective_shuffle

#endif
