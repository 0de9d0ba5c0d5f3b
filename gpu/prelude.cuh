// What every piece of device text may rely on: the fixed-width types, and the markers of device functions. The same text
// is compiled by NVRTC, which has no <cstdint>, and as plain C++ by the tests.
#ifndef BIJECTIVE_SHUFFLE_PRELUDE
#define BIJECTIVE_SHUFFLE_PRELUDE

#if defined(__CUDACC_RTC__)
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
#else
#include <cstdint>
#endif

#if !defined(__CUDACC__)
#define __device__
#define __forceinline__ inline
#endif

namespace bijective_shuffle {

// The lowest bits of a word, all of them from 64 on.
__device__ constexpr uint64_t low_mask(int bits) { return bits >= 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1; }

}  // namespace bijective_shuffle

#endif
