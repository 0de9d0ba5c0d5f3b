// Parts of a permutation: from a slot on, or at given points.
#ifndef BIJECTIVE_SHUFFLE_VIEW
#define BIJECTIVE_SHUFFLE_VIEW

namespace bijective_shuffle {

// The slots from `first` on, counted from 0.
template <class B>
struct alignas(8) FromSlot {
    B inner;
    uint64_t first;

    __device__ __forceinline__ uint64_t forward(uint64_t slot) const { return inner.forward(first + slot); }
    __device__ __forceinline__ uint64_t inverse(uint64_t index) const { return inner.inverse(index) - first; }
};

// The values at `count` points; all ones at a point that is not below `len`.
template <class B>
struct alignas(8) AtPoints {
    B inner;
    const uint64_t* points;
    uint64_t count, len;

    __device__ __forceinline__ uint64_t forward(uint64_t number) const {
        const uint64_t point = number < count ? points[number] : len;
        return point < len ? inner.forward(point) : ~uint64_t(0);
    }
    __device__ __forceinline__ uint64_t inverse(uint64_t) const { return 0; }
};

}  // namespace bijective_shuffle

#endif
