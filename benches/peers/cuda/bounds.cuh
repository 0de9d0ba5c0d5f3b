// What a shuffle cannot well be faster than: the items copied, and copied in a random order that is
// given.
#pragma once

#include <cstdint>

#include "contender.cuh"
#include "scene.cuh"
#include "verify.cuh"

namespace peers {

template <class T>
class Copy : public Contender {
public:
    explicit Copy(Scene<T> &scene) : scene_(scene) {}

    void run(int) override {
        PEERS_CHECK(cudaMemcpyAsync(scene_.out.data(), scene_.source.data(), scene_.source.bytes(),
                                    cudaMemcpyDeviceToDevice, scene_.stream.get()));
    }

    void poison() override { scene_.poison(); }
    bool is_right() override { return agrees(scene_.stream, scene_.out, InOrder{}); }

private:
    Scene<T> &scene_;
};

// What is read or written in order is of no use to a cache afterwards. To say so leaves more of it
// to the rest.
template <bool STREAMING, class T>
__device__ T load_once(const T *place) {
    return STREAMING ? __ldcs(place) : *place;
}

template <bool STREAMING, class T>
__device__ void store_once(T *place, T item) {
    if (STREAMING) {
        __stcs(place, item);
    } else {
        *place = item;
    }
}

// A thread has all its loads under way before it waits for one. The items of a thread are a block's
// width apart, so that neighbours read and write the index and the other array together.
template <bool GATHER, bool STREAMING, int ITEMS, class T>
__global__ void __launch_bounds__(THREADS)
    move_by_index(const T *source, const std::uint32_t *index, T *out, std::size_t length) {
    const std::size_t first = std::size_t(blockIdx.x) * (THREADS * ITEMS) + threadIdx.x;
    std::uint32_t where[ITEMS];
    T items[ITEMS];
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        const std::size_t i = first + k * THREADS;
        if (i < length) {
            where[k] = load_once<STREAMING>(&index[i]);
            if (!GATHER) {
                items[k] = load_once<STREAMING>(&source[i]);
            }
        }
    }
#pragma unroll
    for (int k = 0; GATHER && k < ITEMS; k++) {
        if (first + k * THREADS < length) {
            items[k] = source[where[k]];
        }
    }
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        const std::size_t i = first + k * THREADS;
        if (i >= length) {
            break;
        }
        if (GATHER) {
            store_once<STREAMING>(&out[i], items[k]);
        } else {
            out[where[k]] = items[k];
        }
    }
}

// A gather (out[i] = source[index[i]]) or a scatter (out[index[i]] = source[i]).
template <bool GATHER, class T>
class ByIndex : public Contender {
public:
    explicit ByIndex(Scene<T> &scene) : scene_(scene), index_(scene.index()) {}

    // 1, 2, 4 or 8 items a thread, without and with the hint to the caches.
    int forms() const override { return 8; }

    void run(int form) override {
        switch (form) {
        case 0: return launch<false, 1>();
        case 1: return launch<false, 2>();
        case 2: return launch<false, 4>();
        case 3: return launch<false, 8>();
        case 4: return launch<true, 1>();
        case 5: return launch<true, 2>();
        case 6: return launch<true, 4>();
        default: return launch<true, 8>();
        }
    }

    void poison() override { scene_.poison(); }

    bool is_right() override {
        return GATHER ? agrees(scene_.stream, scene_.out, Gathered{index_})
                      : agrees(scene_.stream, scene_.out, Scattered{index_});
    }

private:
    template <bool STREAMING, int ITEMS>
    void launch() {
        move_by_index<GATHER, STREAMING, ITEMS><<<blocks(scene_.length, ITEMS), THREADS, 0, scene_.stream.get()>>>(
            scene_.source.data(), index_, scene_.out.data(), scene_.length);
        PEERS_CHECK_LAUNCH();
    }

    Scene<T> &scene_;
    const std::uint32_t *index_;
};

template <class T>
using Gather = ByIndex<true, T>;

template <class T>
using Scatter = ByIndex<false, T>;

} // namespace peers
