// What the random keys of the program of Mitchell et al. cost by themselves: it makes a generator
// for each item, by `curand_init(seed, item, 0, &state)` with cuRAND's default generator, whose
// state is then moved by 2^67 times the item's number (GPURandomGenerator in
// DefaultRandomGenerator.h of https://github.com/djns99/CUDA-Shuffle). Sort-shuffle takes its keys
// from there, and dart throwing its places. Rows `name,item_bytes,length,seconds`.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <curand_kernel.h>

static void check(cudaError_t error) {
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
    std::exit(1);
}

__global__ void keys_by_generators(uint64_t seed, uint64_t length, uint64_t *keys) {
    const uint64_t item = blockIdx.x * uint64_t(blockDim.x) + threadIdx.x;
    if (item >= length) return;
    curandState state;
    curand_init(seed, item, 0, &state);
    const uint64_t high = curand(&state);
    keys[item] = high << 32 | curand(&state);
}

// The same number of keys by a mixing function.
__global__ void keys_by_mixing(uint64_t seed, uint64_t length, uint64_t *keys) {
    const uint64_t item = blockIdx.x * uint64_t(blockDim.x) + threadIdx.x;
    if (item >= length) return;
    uint64_t z = seed + (item + 1) * 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    keys[item] = z ^ z >> 31;
}

template <class Kernel>
static void measure(const char *name, Kernel kernel, uint64_t length, uint64_t *keys) {
    cudaEvent_t before, after;
    check(cudaEventCreate(&before));
    check(cudaEventCreate(&after));
    const unsigned blocks = unsigned((length + 255) / 256);
    kernel<<<blocks, 256>>>(0, length, keys);
    check(cudaGetLastError());
    std::vector<float> times(5);
    for (size_t k = 0; k < times.size(); ++k) {
        check(cudaEventRecord(before));
        kernel<<<blocks, 256>>>(k, length, keys);
        check(cudaEventRecord(after));
        check(cudaEventSynchronize(after));
        check(cudaEventElapsedTime(&times[k], before, after));
    }
    std::sort(times.begin(), times.end());
    std::printf("%s,8,%llu,%.4e\n", name, static_cast<unsigned long long>(length), times[times.size() / 2] / 1e3);
    std::fflush(stdout);
    check(cudaEventDestroy(before));
    check(cudaEventDestroy(after));
}

int main() {
    const uint64_t longest = (uint64_t(1) << 29) + 1;
    cudaDeviceProp device;
    check(cudaGetDeviceProperties(&device, 0));
    std::printf("# %s\nname,item_bytes,length,seconds\n", device.name);
    uint64_t *keys;
    check(cudaMalloc(&keys, longest * sizeof *keys));
    for (int power : {8, 11, 14, 17, 20, 23, 26, 29}) {
        const uint64_t length = (uint64_t(1) << power) + 1;
        measure("keys by curand_init", keys_by_generators, length, keys);
        measure("keys by mixing", keys_by_mixing, length, keys);
    }
    check(cudaFree(keys));
}
