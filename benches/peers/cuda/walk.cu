// Times kernels that compute each thread's index themselves, by crates/c/include/bijective_walk.hpp
// and by CCCL's `cuda::shuffle_iterator`. Prints a table as CSV: see README.md.

#include <bijective_walk.hpp>

#include <cuda/iterator>
#include <cuda/std/random>
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/transform_reduce.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <vector>

#include "contender.cuh"
#include "rows.h"

namespace {

using namespace peers;

constexpr std::uint64_t SEED = 42;

struct InOrder {
    __host__ __device__ std::uint32_t operator()(std::uint32_t i) const { return i; }
};

template <class Iterator>
struct Items {
    Iterator first;
    __device__ std::uint32_t operator()(std::uint32_t i) const {
        return std::uint32_t(first[std::int64_t(i)]);
    }
};

// How many indexes a thread computes, a grid's width apart.
constexpr unsigned EACH = 4;

template <class Order>
__global__ void __launch_bounds__(THREADS) write_indexes(const Order order, std::uint32_t *out, std::uint32_t length) {
    const std::uint32_t first = blockIdx.x * (THREADS * EACH) + threadIdx.x;
#pragma unroll
    for (unsigned k = 0; k < EACH; k++) {
        const std::uint32_t i = first + k * THREADS;
        if (i < length) {
            out[i] = std::uint32_t(order(i));
        }
    }
}

// Four threads move a row of 64 bytes.
template <class Order>
__global__ void __launch_bounds__(THREADS)
    gather_rows(const Order order, const uint4 *from, uint4 *to, std::uint32_t length) {
    const std::uint64_t at = blockIdx.x * std::uint64_t(THREADS) + threadIdx.x;
    const std::uint32_t row = std::uint32_t(at / 4);
    if (row < length) {
        to[at] = from[std::uint64_t(order(row)) * 4 + at % 4];
    }
}

__global__ void number_rows(uint4 *rows, std::uint64_t parts) {
    const std::uint64_t at = blockIdx.x * std::uint64_t(THREADS) + threadIdx.x;
    if (at < parts) {
        rows[at] = make_uint4(std::uint32_t(at / 4), 0, 0, std::uint32_t(at % 4));
    }
}

__global__ void mark(const std::uint32_t *indexes, std::uint32_t *marks, std::uint32_t length, std::uint32_t stride) {
    const std::uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    if (i < length) {
        const std::uint32_t index = indexes[std::uint64_t(i) * stride];
        if (index < length) {
            atomicOr(&marks[index / 32], 1u << (index % 32));
        }
    }
}

struct Count {
    __device__ std::uint64_t operator()(std::uint32_t marks) const { return __popc(marks); }
};

// Whether the words at each `stride` are the numbers below `length`, each once.
bool is_permutation(const Stream &stream, const std::uint32_t *words, std::uint32_t length, std::uint32_t stride) {
    const Buffer<std::uint32_t> marks((length + 31) / 32);
    PEERS_CHECK(cudaMemsetAsync(marks.data(), 0, marks.bytes(), stream.get()));
    mark<<<blocks(length), THREADS, 0, stream.get()>>>(words, marks.data(), length, stride);
    PEERS_CHECK_LAUNCH();
    return thrust::transform_reduce(thrust::cuda::par.on(stream.get()), marks.data(), marks.data() + marks.length(),
                                    Count{}, std::uint64_t(0), thrust::plus<std::uint64_t>()) == length;
}

template <class Order>
class Indexes : public Contender {
public:
    Indexes(const Stream &stream, const Order &order, std::uint32_t length, bool is_walk)
        : stream_(stream), order_(order), out_(length), is_walk_(is_walk) {}

    void run(int) override {
        const std::uint32_t length = std::uint32_t(out_.length());
        write_indexes<<<blocks(length, EACH), THREADS, 0, stream_.get()>>>(order_, out_.data(), length);
        PEERS_CHECK_LAUNCH();
    }
    void poison() override { PEERS_CHECK(cudaMemsetAsync(out_.data(), 0xff, out_.bytes(), stream_.get())); }
    bool is_right() override {
        const std::uint32_t length = std::uint32_t(out_.length());
        if (is_walk_) {
            // The host's values.
            const bijective_shuffle::walk p(length, SEED);
            std::vector<std::uint32_t> head(1000);
            PEERS_CHECK(cudaMemcpy(head.data(), out_.data(), head.size() * 4, cudaMemcpyDeviceToHost));
            for (std::uint32_t i = 0; i < head.size(); i++) {
                if (head[i] != p(i)) {
                    return false;
                }
            }
        }
        return is_permutation(stream_, out_.data(), length, 1);
    }

private:
    const Stream &stream_;
    Order order_;
    Buffer<std::uint32_t> out_;
    bool is_walk_;
};

template <class Order>
class Rows : public Contender {
public:
    Rows(const Stream &stream, const Order &order, std::uint32_t length)
        : stream_(stream), order_(order), length_(length), from_(std::size_t(length) * 4), to_(from_.length()) {
        number_rows<<<blocks(from_.length()), THREADS, 0, stream.get()>>>(from_.data(), from_.length());
        PEERS_CHECK_LAUNCH();
    }

    void run(int) override {
        gather_rows<<<blocks(from_.length()), THREADS, 0, stream_.get()>>>(order_, from_.data(), to_.data(), length_);
        PEERS_CHECK_LAUNCH();
    }
    void poison() override { PEERS_CHECK(cudaMemsetAsync(to_.data(), 0xff, to_.bytes(), stream_.get())); }
    bool is_right() override {
        return is_permutation(stream_, reinterpret_cast<const std::uint32_t *>(to_.data()), length_, 16);
    }

private:
    const Stream &stream_;
    Order order_;
    std::uint32_t length_;
    Buffer<uint4> from_, to_;
};

template <class C>
void row(const Origin &origin, const Stream &stream, const char *name, C contender, int bytes, std::uint32_t length) {
    const double seconds = measure(contender, stream, Effort());
    origin.print({name, std::to_string(bytes), std::to_string(length), digits(seconds, 9)});
}

void measure_all(const Origin &origin, std::uint32_t length, std::uint32_t rows) {
    const Stream stream;
    const auto peer = [](std::uint32_t n) {
        return Items<cuda::shuffle_iterator<std::uint32_t>>{
            {cuda::random_bijection<std::uint32_t>(n, cuda::std::minstd_rand(SEED))}};
    };
    const auto indexes = [&](const char *name, const auto &order, bool is_walk) {
        row(origin, stream, name, Indexes(stream, order, length, is_walk), 4, length);
    };
    indexes("write in order", InOrder(), false);
    indexes("bijective_shuffle::walk32", bijective_shuffle::walk32(length, SEED), true);
    indexes("bijective_shuffle::walk", bijective_shuffle::walk(length, SEED), true);
    indexes("cuda::shuffle_iterator", peer(length), false);
    const auto gathered = [&](const char *name, const auto &order) {
        row(origin, stream, name, Rows(stream, order, rows), 64, rows);
    };
    gathered("write in order", InOrder());
    gathered("bijective_shuffle::walk32", bijective_shuffle::walk32(rows, SEED));
    gathered("cuda::shuffle_iterator", peer(rows));
}

} // namespace

int main() {
    try {
        cudaDeviceProp properties{};
        PEERS_CHECK(cudaGetDeviceProperties(&properties, 0));
        const Origin origin(properties.name);
        std::printf("# $ gpu-walk\n# CUDA: nvcc %d.%d.%d, CCCL %d.%d.%d\n", __CUDACC_VER_MAJOR__, __CUDACC_VER_MINOR__,
                    __CUDACC_VER_BUILD__, CCCL_MAJOR_VERSION, CCCL_MINOR_VERSION, CCCL_PATCH_VERSION);
        std::printf("# indexes of 4 bytes are written in order; rows of 64 bytes are read at the index of their place\n");
        std::printf("# seconds: of one call, median of %d samples of 2 ms\n", Effort().repeats);
        Origin::print_head("name,item_bytes,length,seconds");
        for (const std::uint32_t more : {0u, 1u}) {
            measure_all(origin, (1u << 28) + more, (1u << 25) + more);
        }
    } catch (const std::exception &error) {
        std::fflush(stdout);
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
