// The shuffles that ours is measured against.
#pragma once

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

} // namespace peers
