// What every piece of device text may rely on: the fixed-width types, and the markers of device functions. The same text
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

// Before a loop whose rounds shall stand one after the other: keys are then operands and not looked up.
#if defined(__CUDACC__)
#define BIJECTIVE_SHUFFLE_UNROLL _Pragma("unroll")
#else
#define BIJECTIVE_SHUFFLE_UNROLL
#endif

namespace bijective_shuffle {

// The lowest bits of a word, all of them from 64 on.
__device__ constexpr uint64_t low_mask(int bits) { return bits >= 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1; }

// The least multiple of a number that is not less than another: where a field begins behind the end of the one before it.
__device__ constexpr unsigned long long next_multiple(unsigned long long end, unsigned long long of) { return (end + of - 1) / of * of; }

// Which way items go: to shuffle them, or to undo a shuffle. As on the host.
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
