// What all device text may use: the fixed-width types and the markers of device functions. The text
// is compiled by NVRTC, which has no <cstdint>, and as plain C++ by the tests.
#ifndef BIJECTIVE_SHUFFLE_PRELUDE
#define BIJECTIVE_SHUFFLE_PRELUDE

#if defined(__CUDACC_RTC__)
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef long long int64_t;
#else
#include <cstdint>
#endif

#if !defined(__CUDACC__)
#define __device__
#define __forceinline__ inline
#endif

// Stands before a loop that must be unrolled, so that keys are operands of instructions and not
// loaded by index.
#if defined(__CUDACC__)
#define BIJECTIVE_SHUFFLE_UNROLL _Pragma("unroll")
#else
#define BIJECTIVE_SHUFFLE_UNROLL
#endif

namespace bijective_shuffle {

// A mask of the lowest bits of a word; all 64 bits if `bits` is 64 or more.
__device__ constexpr uint64_t low_mask(int bits) { return bits >= 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1; }

// The least multiple of `of` that is not less than `end`: the offset of a field with alignment `of`
// behind a field that ends at `end`.
__device__ constexpr unsigned long long next_multiple(unsigned long long end, unsigned long long of) {
    return (end + of - 1) / of * of;
}

// The direction in which items move: to shuffle them, or to undo a shuffle. The same as on the
// host.
enum class Direction { Shuffle, Unshuffle };

// One of two types.
template <bool FIRST, class A, class B>
struct Select {
    using type = A;
};

template <class A, class B>
struct Select<false, A, B> {
    using type = B;
};

}  // namespace bijective_shuffle

#endif
