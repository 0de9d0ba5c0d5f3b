//! [`device_header`]: the generators as CUDA C++.

/// The generators as CUDA C++17, for a kernel of one's own that draws random numbers.
///
/// [`Cuda::kernel`](crate::Cuda::kernel) compiles a text after it. It needs no other header, and is all in the namespace
/// `bijective_shuffle`; nvcc takes it too. A generator has a function `uint32_t next()`, and
/// the words are those that its twin here gives.
///
/// | type | threads that share a stream | made by |
/// | --- | --- | --- |
/// | `Philox4x32Rng<10>` | one | `rng(key, stream)`, or `rng(key, stream, word)` for a place in it |
/// | `Lcg32`, `Lcg64`, `Mwc`, `Xorwow` | one | `rng.load(states, count, stream)` |
/// | `XorShift1024Weyl` | the 32 of a warp, which call it together and get a word each | `rng(threadIdx.x % 32)` and `rng.load(states, count, stream)` |
/// | `LaggedFibonacci521`, `LaggedFibonacci1279` | the 256, or 512, of a block, which call it together and get a word each | `rng(ring, threadIdx.x)`, with `RING` words of shared memory, aligned to 16 bytes; `rng.load(states, count, stream)`; `__syncthreads()` |
///
/// `states` and `count` are those of [`CudaStreams`](crate::CudaStreams), to which `rng.store(states, count, stream)` gives a state back. Philox4x32
/// has none: a key, which the host draws from a seed, and the number of the stream are all, so that it is the one to begin with.
///
/// `uniform_f32(word)`, `uniform_f64(joined(low, high))`, `normal_f32(word, word, pair)` and `normal_f64(low, high, pair)` make numbers of words as
/// [`Fill`](super::Fill) does.
///
/// # Examples
///
/// See [`Cuda::kernel`](crate::Cuda::kernel) for one that runs.
///
/// ```
/// let header = bijective_shuffle::rng::device_header();
/// assert!(header.contains("struct Philox4x32Rng"));
/// ```
pub fn device_header() -> &'static str {
    concat!(
        include_str!("../../gpu/prelude.cuh"),
        include_str!("../../gpu/rng/philox4x32.cuh"),
        include_str!("../../gpu/draw.cuh"),
        include_str!("../../gpu/rng/normal.cuh"),
        include_str!("../../gpu/rng/number.cuh"),
        include_str!("../../gpu/rng/lcg32.cuh"),
        include_str!("../../gpu/rng/lcg64.cuh"),
        include_str!("../../gpu/rng/mwc.cuh"),
        include_str!("../../gpu/rng/xorwow.cuh"),
        include_str!("../../gpu/rng/lagged_fibonacci.cuh"),
        include_str!("../../gpu/rng/xorshift1024_weyl.cuh"),
    )
}
