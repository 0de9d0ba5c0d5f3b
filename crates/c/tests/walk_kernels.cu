// Kernels that take an order by value, or draw one. devices.py compiles them as CUDA and as HIP,
// which here has no headers.
#if defined(__HIP__)
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __launch_bounds__(threads) __attribute__((amdgpu_flat_work_group_size(1, threads)))
#endif

#include "bijective_walk.hpp"

typedef unsigned long long u64;
using bijective_shuffle::walk;
using bijective_shuffle::walk32;

#define KERNEL extern "C" __global__ void __launch_bounds__(256)

static __device__ u64 thread() {
#if defined(__HIP__)
    return __builtin_amdgcn_workgroup_id_x() * u64(256) + __builtin_amdgcn_workitem_id_x();
#else
    return blockIdx.x * u64(256) + threadIdx.x;
#endif
}

KERNEL items(const walk p, u64 *out) {
    if (thread() < p.size()) out[thread()] = p(thread());
}

KERNEL places(const walk p, u64 *out) {
    if (thread() < p.size()) out[thread()] = p.inverse(thread());
}

KERNEL items32(const walk32 p, unsigned *out) {
    if (thread() < p.size()) out[thread()] = p(unsigned(thread()));
}

KERNEL places32(const walk32 p, unsigned *out) {
    if (thread() < p.size()) out[thread()] = p.inverse(unsigned(thread()));
}

// A thread's own order.
KERNEL drawn(const u64 n, const u64 seed, u64 *out) {
    out[thread()] = walk(n, seed, thread())(0);
}
