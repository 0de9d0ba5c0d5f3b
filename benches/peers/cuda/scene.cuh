// What all contenders meet: the items, the place for their result, and an index that was drawn
// beforehand.
#pragma once

#include <cub/device/device_radix_sort.cuh>

#include <cstdint>
#include <utility>

#include "device.cuh"
#include "random.cuh"

namespace peers {

// The types of items. CUDA's atomic functions know this one of the 64-bit types, not std::uint64_t.
using Item4 = unsigned int;
using Item8 = unsigned long long;

template <class T>
__global__ void fill_in_order(T *items, std::size_t length) {
    const std::size_t i = thread_number();
    if (i < length) {
        items[i] = T(i);
    }
}

static __global__ void fill_random(std::uint64_t *keys, std::size_t length, std::uint64_t seed) {
    const std::size_t i = thread_number();
    if (i < length) {
        keys[i] = random_word(seed, i);
    }
}

template <class T>
void put_in_order(const Stream &stream, T *items, std::size_t length) {
    fill_in_order<<<blocks(length), THREADS, 0, stream.get()>>>(items, length);
    PEERS_CHECK_LAUNCH();
}

// Sorts items by random keys that it draws; the memory for that is kept.
template <class T>
class RandomSort {
public:
    explicit RandomSort(std::size_t length) : keys_(length), sorted_keys_(length) {
        std::size_t bytes = 0;
        const T *in = nullptr;
        T *out = nullptr;
        PEERS_CHECK(cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys_.data(), sorted_keys_.data(), in, out,
                                                    count()));
        scratch_ = Buffer<unsigned char>(bytes);
    }

    void run(const Stream &stream, std::uint64_t seed, const T *in, T *out) {
        const std::size_t length = keys_.length();
        fill_random<<<blocks(length), THREADS, 0, stream.get()>>>(keys_.data(), length, seed);
        PEERS_CHECK_LAUNCH();
        std::size_t bytes = scratch_.bytes();
        PEERS_CHECK(cub::DeviceRadixSort::SortPairs(scratch_.data(), bytes, keys_.data(), sorted_keys_.data(), in, out,
                                                    count(), 0, 64, stream.get()));
    }

private:
    // In 32 bits, which every length here fits: CUB then counts in 32 bits as well.
    std::uint32_t count() const { return std::uint32_t(keys_.length()); }

    Buffer<std::uint64_t> keys_;
    Buffer<std::uint64_t> sorted_keys_;
    Buffer<unsigned char> scratch_;
};

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
            Buffer<std::uint32_t> indexes(length);
            Buffer<std::uint32_t> ordered(length);
            put_in_order(stream, ordered.data(), length);
            RandomSort<std::uint32_t>(length).run(stream, mix(length), ordered.data(), indexes.data());
            stream.wait();
            index_ = std::move(indexes);
        }
        return index_.data();
    }

    // Another seed for each call, so that no shuffle does the same twice.
    std::uint64_t next_seed() { return mix(++calls_); }

    // Overwrites the place for the result with what no right result has in it.
    void poison() const { PEERS_CHECK(cudaMemsetAsync(out.data(), 0xff, out.bytes(), stream.get())); }

    const std::size_t length;
    Stream stream;
    Buffer<T> source;
    Buffer<T> out;

private:
    Buffer<std::uint32_t> index_;
    std::uint64_t calls_ = 0;
};

} // namespace peers
