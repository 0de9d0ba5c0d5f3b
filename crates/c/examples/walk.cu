// One index of an order at a time, in kernels: CUDA, Thrust and CUB. Without the last two parts it
// is HIP too.
//
//     nvcc -std=c++17 walk.cu -I FOLDER_OF_THE_HEADER
#include <bijective_walk.hpp>

#include <cub/device/device_reduce.cuh>
#include <cstdio>
#include <thrust/device_vector.h>
#include <thrust/gather.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/permutation_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/sequence.h>

namespace bs = bijective_shuffle;

__global__ void gather(const bs::walk p, const float *from, float *to) {
    const std::uint64_t i = blockIdx.x * std::uint64_t(blockDim.x) + threadIdx.x;
    if (i < p.size()) to[i] = from[p(i)];
}

int main() {
    constexpr int n = 1 << 20;
    const bs::walk p(n, 42);
    thrust::device_vector<float> from(n), to(n), copied(n);
    thrust::sequence(from.begin(), from.end());
    gather<<<n / 256, 256>>>(p, thrust::raw_pointer_cast(from.data()),
                             thrust::raw_pointer_cast(to.data()));

    const auto indexes = thrust::make_transform_iterator(thrust::counting_iterator<std::uint64_t>(0), p);
    thrust::gather(indexes, indexes + n, from.begin(), copied.begin());

    // The sum of a sample of 1,000 items.
    thrust::device_vector<float> sum(1);
    const auto sample = thrust::make_permutation_iterator(from.begin(), indexes);
    std::size_t bytes = 0;
    cub::DeviceReduce::Sum(nullptr, bytes, sample, sum.begin(), 1000);
    thrust::device_vector<char> memory(bytes);
    cub::DeviceReduce::Sum(thrust::raw_pointer_cast(memory.data()), bytes, sample, sum.begin(), 1000);

    double expected = 0;
    for (std::uint64_t i = 0; i < 1000; i++) expected += static_cast<double>(p(i));
    const double difference = sum[0] / expected - 1;
    const bool right = to == copied && to[7] == float(p(7)) && difference < 1e-5 && difference > -1e-5;
    std::puts(right ? "The host has the same order." : "This order is wrong.");
    return right ? 0 : 1;
}
