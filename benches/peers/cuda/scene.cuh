// What all contenders meet: the items, the place for their result, and an index that was drawn
// beforehand.
#pragma once

#include <thrust/execution_policy.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/random.h>
#include <thrust/shuffle.h>

#include <cstdint>

#include "device.cuh"

namespace peers {

// The types of items.
using Item4 = unsigned int;
using Item8 = unsigned long long;

template <class T>
__global__ void fill_in_order(T *items, std::size_t length) {
    const std::size_t i = thread_number();
    if (i < length) {
        items[i] = T(i);
    }
}

template <class T>
void put_in_order(const Stream &stream, T *items, std::size_t length) {
    fill_in_order<<<blocks(length), THREADS, 0, stream.get()>>>(items, length);
    PEERS_CHECK_LAUNCH();
}

template <class T>
class Scene {
public:
    // The items are the numbers from 0 on, in order: so a result shows where each of them went.
    explicit Scene(std::size_t length) : length(length), source(length), out(length) {
        put_in_order(stream, source.data(), length);
        stream.wait();
    }

    // A random permutation of the indexes, drawn when first asked for.
    const std::uint32_t *index() {
        if (index_.length() == 0) {
            index_ = Buffer<std::uint32_t>(length);
            const thrust::counting_iterator<std::uint32_t> first(0);
            thrust::shuffle_copy(thrust::cuda::par.on(stream.get()), first, first + length, index_.data(),
                                 thrust::default_random_engine(length));
        }
        return index_.data();
    }

    // Overwrites the place for the result with what no right result has in it.
    void poison() const { PEERS_CHECK(cudaMemsetAsync(out.data(), 0xff, out.bytes(), stream.get())); }

    const std::size_t length;
    Stream stream;
    Buffer<T> source;
    Buffer<T> out;

private:
    Buffer<std::uint32_t> index_;
};

} // namespace peers
