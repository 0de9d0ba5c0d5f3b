// The shuffles that ours is measured against.
#pragma once

#include <cub/device/device_select.cuh>
#include <thrust/execution_policy.h>
#include <thrust/random.h>
#include <thrust/shuffle.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "contender.cuh"
#include "scene.cuh"
#include "verify.cuh"

namespace peers {

// What all shuffles have in common: they take the items of a scene, and leave them in its place for
// the result.
template <class T>
class Shuffle : public Contender {
public:
    explicit Shuffle(Scene<T> &scene) : scene(scene) {}
    void poison() override { scene.poison(); }
    bool is_right() override { return is_shuffled(scene.stream, scene.out); }

protected:
    Scene<T> &scene;
};

// thrust::shuffle_copy as a program has it that asks for nothing: it allocates, waits and frees in
// each call.
template <class T>
class ThrustShuffle : public Shuffle<T> {
public:
    using Shuffle<T>::Shuffle;

    void run(int) override {
        const T *items = this->scene.source.data();
        thrust::shuffle_copy(thrust::cuda::par.on(this->scene.stream.get()), items, items + this->scene.length,
                             this->scene.out.data(), engine_);
    }

private:
    thrust::default_random_engine engine_;
};

// Memory that is kept from call to call. One block at a time is all that thrust::shuffle_copy asks
// for.
class KeptMemory {
public:
    using value_type = char;

    char *allocate(std::ptrdiff_t bytes) {
        if (taken_) {
            throw std::logic_error("thrust::shuffle_copy asks for two blocks at a time");
        }
        if (memory_.length() < std::size_t(bytes)) {
            memory_ = Buffer<char>();
            memory_ = Buffer<char>(std::size_t(bytes));
        }
        taken_ = true;
        return memory_.data();
    }

    void deallocate(char *, std::size_t) { taken_ = false; }

private:
    Buffer<char> memory_;
    bool taken_ = false;
};

// The same at its best: with memory that is kept, and without waiting for the end.
template <class T>
class ThrustShuffleKept : public Shuffle<T> {
public:
    using Shuffle<T>::Shuffle;

    void run(int) override {
        const T *items = this->scene.source.data();
        thrust::shuffle_copy(thrust::cuda::par_nosync(memory_).on(this->scene.stream.get()), items,
                             items + this->scene.length, this->scene.out.data(), engine_);
    }

private:
    KeptMemory memory_;
    thrust::default_random_engine engine_;
};

// The items sorted by random keys of 64 bits, which are drawn in each call.
template <class T>
class SortShuffle : public Shuffle<T> {
public:
    explicit SortShuffle(Scene<T> &scene) : Shuffle<T>(scene), sort_(scene.length) {}

    void run(int) override {
        sort_.run(this->scene.stream, this->scene.next_seed(), this->scene.source.data(), this->scene.out.data());
    }

private:
    RandomSort<T> sort_;
};

// Marks a free slot of the board. No item may have this value: that makes it a little easier than
// it is in general.
template <class T>
constexpr T FREE = T(~T(0));

struct IsTaken {
    template <class T>
    __host__ __device__ bool operator()(T slot) const {
        return slot != FREE<T>;
    }
};

// Throws each item until it hits a free slot. A throw that succeeds hits each of the free slots
// with the same probability, so the order is uniform, whoever comes first; but it is another one in
// each run.
template <class T>
__global__ void __launch_bounds__(THREADS)
    throw_darts(const T *items, std::size_t length, T *board, std::uint64_t slots, std::uint64_t seed) {
    const std::size_t i = thread_number();
    if (i >= length) {
        return;
    }
    const T item = items[i];
    const std::uint64_t stream = random_word(seed, i);
    for (std::uint64_t throws = 0;; throws++) {
        const std::uint64_t slot = __umul64hi(random_word(stream, throws), slots);
        if (atomicCAS(&board[slot], FREE<T>, item) == FREE<T>) {
            return;
        }
    }
}

// Dart throwing: the items are thrown at a board of twice as many slots, and what lies on it is
// compacted. There is no round over all items to wait for: each thread goes on by itself.
template <class T>
class DartThrowing : public Shuffle<T> {
public:
    explicit DartThrowing(Scene<T> &scene) : Shuffle<T>(scene), board_(2 * scene.length), count_(1) {
        std::size_t bytes = 0;
        PEERS_CHECK(cub::DeviceSelect::If(nullptr, bytes, board_.data(), scene.out.data(), count_.data(),
                                          std::int64_t(board_.length()), IsTaken{}));
        scratch_ = Buffer<unsigned char>(bytes);
    }

    void run(int) override {
        const Scene<T> &scene = this->scene;
        const cudaStream_t stream = scene.stream.get();
        PEERS_CHECK(cudaMemsetAsync(board_.data(), 0xff, board_.bytes(), stream));
        throw_darts<<<blocks(scene.length), THREADS, 0, stream>>>(scene.source.data(), scene.length, board_.data(),
                                                                  board_.length(), this->scene.next_seed());
        PEERS_CHECK_LAUNCH();
        std::size_t bytes = scratch_.bytes();
        PEERS_CHECK(cub::DeviceSelect::If(scratch_.data(), bytes, board_.data(), scene.out.data(), count_.data(),
                                          std::int64_t(board_.length()), IsTaken{}, stream));
    }

    bool is_right() override {
        unsigned long long count = 0;
        PEERS_CHECK(cudaMemcpy(&count, count_.data(), sizeof count, cudaMemcpyDeviceToHost));
        return count == this->scene.length && Shuffle<T>::is_right();
    }

private:
    Buffer<T> board_;
    Buffer<unsigned long long> count_;
    Buffer<unsigned char> scratch_;
};

} // namespace peers
