// The little of the CUDA runtime that is needed here, with every call checked.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

namespace peers {

// The device has too little memory: the only failure that a run goes on after, with the next
// contender.
class OutOfMemory : public std::bad_alloc {
public:
    const char *what() const noexcept override { return "out of device memory"; }
};

// Throws if a call of the runtime failed.
inline void check(cudaError_t error, const char *call) {
    if (error == cudaSuccess) {
        return;
    }
    // Errors that are not the device's end stay behind, and the next look at a kernel's launch
    // would find them.
    static_cast<void>(cudaGetLastError());
    if (error == cudaErrorMemoryAllocation) {
        throw OutOfMemory();
    }
    throw std::runtime_error(std::string(call) + ": " + cudaGetErrorName(error) + ": " + cudaGetErrorString(error));
}

// In destructors, which must not throw: what fails there was caused by something that was reported
// before, or is.
inline void complain(cudaError_t error, const char *call) noexcept {
    if (error != cudaSuccess) {
        std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(error));
    }
}

#define PEERS_CHECK(call) ::peers::check((call), #call)

// After a launch: whether it could be launched. What goes wrong while it runs is found when the
// stream is waited for.
#define PEERS_CHECK_LAUNCH() ::peers::check(cudaGetLastError(), "launch of a kernel")

// Items in the device's memory, not initialised.
template <class T>
class Buffer {
public:
    Buffer() = default;

    explicit Buffer(std::size_t length) : length_(length) {
        if (length > 0) {
            PEERS_CHECK(cudaMalloc(&data_, length * sizeof(T)));
        }
    }

    Buffer(Buffer &&other) noexcept { swap(other); }

    Buffer &operator=(Buffer &&other) noexcept {
        swap(other);
        return *this;
    }

    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;

    ~Buffer() {
        if (data_ != nullptr) {
            complain(cudaFree(data_), "cudaFree");
        }
    }

    T *data() const { return data_; }
    std::size_t length() const { return length_; }
    std::size_t bytes() const { return length_ * sizeof(T); }

private:
    void swap(Buffer &other) noexcept {
        std::swap(data_, other.data_);
        std::swap(length_, other.length_);
    }

    T *data_ = nullptr;
    std::size_t length_ = 0;
};

// A stream of its own, so that nothing waits for what the default stream does.
class Stream {
public:
    Stream() { PEERS_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
    ~Stream() { complain(cudaStreamDestroy(stream_), "cudaStreamDestroy"); }
    Stream(const Stream &) = delete;
    Stream &operator=(const Stream &) = delete;

    cudaStream_t get() const { return stream_; }
    void wait() const { PEERS_CHECK(cudaStreamSynchronize(stream_)); }

private:
    cudaStream_t stream_ = nullptr;
};

// A point in a stream whose time is taken.
class Event {
public:
    Event() { PEERS_CHECK(cudaEventCreate(&event_)); }
    ~Event() { complain(cudaEventDestroy(event_), "cudaEventDestroy"); }
    Event(const Event &) = delete;
    Event &operator=(const Event &) = delete;

    void record(const Stream &stream) const { PEERS_CHECK(cudaEventRecord(event_, stream.get())); }

    // Waits for this event, and returns the seconds since an earlier one.
    double seconds_since(const Event &earlier) const {
        PEERS_CHECK(cudaEventSynchronize(event_));
        float milliseconds = 0;
        PEERS_CHECK(cudaEventElapsedTime(&milliseconds, earlier.event_, event_));
        return double(milliseconds) / 1000;
    }

private:
    cudaEvent_t event_ = nullptr;
};

constexpr unsigned THREADS = 256;

// How many blocks of THREADS threads handle `length` items, if each thread handles `items` of them.
inline unsigned blocks(std::size_t length, std::size_t items = 1) {
    return unsigned((length + THREADS * items - 1) / (THREADS * items));
}

// The calling thread's number in the grid.
__device__ inline std::size_t thread_number() { return std::size_t(blockIdx.x) * THREADS + threadIdx.x; }

} // namespace peers
