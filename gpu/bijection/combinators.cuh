// Compose, Inverse, RandomSign and CycleWalk; see the files of these names in
// crates/core/src/bijection.
#ifndef BIJECTIVE_SHUFFLE_COMBINATORS
#define BIJECTIVE_SHUFFLE_COMBINATORS

namespace bijective_shuffle {

template <class A, class B>
struct alignas(8) Compose {
    A first;
    B second;

    __device__ __forceinline__ uint64_t forward(uint64_t slot) const { return second.forward(first.forward(slot)); }
    __device__ __forceinline__ uint64_t inverse(uint64_t index) const { return first.inverse(second.inverse(index)); }
};

template <class B>
struct alignas(8) Inverse {
    B inner;

    __device__ __forceinline__ uint64_t forward(uint64_t slot) const { return inner.inverse(slot); }
    __device__ __forceinline__ uint64_t inverse(uint64_t index) const { return inner.forward(index); }
};

template <class B>
struct alignas(8) RandomSign {
    B inner;
    uint64_t mask;  // 1 to exchange the values 0 and 1, otherwise 0

    __device__ __forceinline__ uint64_t exchange(uint64_t value) const { return value <= 1 ? value ^ mask : value; }
    __device__ __forceinline__ uint64_t forward(uint64_t slot) const { return exchange(inner.forward(slot)); }
    __device__ __forceinline__ uint64_t inverse(uint64_t index) const { return inner.inverse(exchange(index)); }
};

template <class B>
struct alignas(8) CycleWalk {
    B inner;
    uint64_t last, outside;

    __device__ __forceinline__ uint64_t forward(uint64_t slot) const {
        uint64_t value = inner.forward(slot);
        for (uint64_t left = outside; value > last && left > 0; --left) value = inner.forward(value);
        return value;
    }

    __device__ __forceinline__ uint64_t inverse(uint64_t index) const {
        uint64_t value = inner.inverse(index);
        for (uint64_t left = outside; value > last && left > 0; --left) value = inner.inverse(value);
        return value;
    }
};

}  // namespace bijective_shuffle

#endif
