// What a shuffle cannot well be faster than: the items copied in a random order that is given.
#pragma once

#include <cstdint>

#include "contender.cuh"
#include "scene.cuh"
#include "verify.cuh"

namespace peers {

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
// width apart, so that neighbours read the index and write the items together.
template <bool STREAMING, int ITEMS, class T>
__global__ void __launch_bounds__(THREADS)
    gather(const T *source, const std::uint32_t *index, T *out, std::size_t length) {
    const std::size_t first = std::size_t(blockIdx.x) * (THREADS * ITEMS) + threadIdx.x;
    std::uint32_t where[ITEMS];
    T items[ITEMS];
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        const std::size_t i = first + k * THREADS;
        if (i < length) {
            where[k] = load_once<STREAMING>(&index[i]);
        }
    }
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        if (first + k * THREADS < length) {
            items[k] = source[where[k]];
        }
    }
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        const std::size_t i = first + k * THREADS;
        if (i < length) {
            store_once<STREAMING>(&out[i], items[k]);
        }
    }
}

// out[i] = source[index[i]].
template <class T>
class Gather : public Contender {
public:
    explicit Gather(Scene<T> &scene) : scene_(scene), index_(scene.index()) {}

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
    bool is_right() override { return agrees(scene_.stream, scene_.out, Gathered{index_}); }

private:
    template <bool STREAMING, int ITEMS>
    void launch() {
        gather<STREAMING, ITEMS><<<blocks(scene_.length, ITEMS), THREADS, 0, scene_.stream.get()>>>(
            scene_.source.data(), index_, scene_.out.data(), scene_.length);
        PEERS_CHECK_LAUNCH();
    }

    Scene<T> &scene_;
    const std::uint32_t *index_;
};

} // namespace peers
