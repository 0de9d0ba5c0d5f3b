// Whether results are right: nothing is timed whose result was not.
#pragma once

#include <cstdint>

#include "scene.cuh"

namespace peers {

// What is wrong with a result, counted.
struct Findings {
    unsigned long long faults = 0;
    unsigned long long unmoved = 0;
};

// Counts the places whose item is not the one that `expected` names.
template <class Expected, class T>
__global__ void compare(const T *items, std::size_t length, Expected expected, Findings *findings) {
    const std::size_t i = thread_number();
    if (i < length && !expected(items, i)) {
        atomicAdd(&findings->faults, 1ull);
    }
}

// Counts items that were not in the input or came before, with a bit for each item; and those that
// were not moved. No such fault among as many items as the input has means that each of them is
// there, once.
template <class T>
__global__ void take_attendance(const T *items, std::size_t length, std::uint32_t *seen, Findings *findings) {
    const std::size_t i = thread_number();
    if (i >= length) {
        return;
    }
    const T item = items[i];
    const std::uint32_t bit = 1u << (item % 32);
    if (item >= length || (atomicOr(&seen[item / 32], bit) & bit) != 0) {
        atomicAdd(&findings->faults, 1ull);
    } else if (item == i) {
        atomicAdd(&findings->unmoved, 1ull);
    }
}

// Item i is at place i.
struct InOrder {
    template <class T>
    __device__ bool operator()(const T *items, std::size_t i) const {
        return items[i] == i;
    }
};

// Place i holds the item that the index names.
struct Gathered {
    const std::uint32_t *index;
    template <class T>
    __device__ bool operator()(const T *items, std::size_t i) const {
        return items[i] == index[i];
    }
};

// Lets `launch` count, and waits for what it found.
template <class Launch>
Findings findings(const Stream &stream, Launch launch) {
    Findings found;
    Buffer<Findings> device(1);
    PEERS_CHECK(cudaMemsetAsync(device.data(), 0, sizeof found, stream.get()));
    launch(device.data());
    PEERS_CHECK_LAUNCH();
    PEERS_CHECK(cudaMemcpyAsync(&found, device.data(), sizeof found, cudaMemcpyDeviceToHost, stream.get()));
    stream.wait();
    return found;
}

template <class Expected, class T>
bool agrees(const Stream &stream, const Buffer<T> &items, Expected expected) {
    const auto launch = [&](Findings *found) {
        compare<<<blocks(items.length()), THREADS, 0, stream.get()>>>(items.data(), items.length(), expected, found);
    };
    return findings(stream, launch).faults == 0;
}

template <class T>
bool is_shuffled(const Stream &stream, const Buffer<T> &items) {
    // One item is unmoved on average, whatever the length, and the number is a Poisson one. More
    // than 64 never are; of fewer items, all may be.
    constexpr unsigned long long UNMOVED_AT_MOST = 64;
    Buffer<std::uint32_t> seen((items.length() + 31) / 32);
    PEERS_CHECK(cudaMemsetAsync(seen.data(), 0, seen.bytes(), stream.get()));
    const auto launch = [&](Findings *found) {
        take_attendance<<<blocks(items.length()), THREADS, 0, stream.get()>>>(items.data(), items.length(), seen.data(),
                                                                              found);
    };
    const Findings found = findings(stream, launch);
    return found.faults == 0 && found.unmoved <= UNMOVED_AT_MOST;
}

} // namespace peers
