//! [`device_header`]: the generators as CUDA C++.

/// The generators as CUDA C++17, for a kernel of one's own that draws random numbers.
///
/// [`Cuda::kernel`](crate::Cuda::kernel) compiles a text after it. It needs no other header, and is all in the namespace
/// `bijective_shuffle`; nvcc takes it too. The words are those that a generator's twin here gives.
///
/// | type | threads that share a stream | made by | a step |
/// | --- | --- | --- | --- |
/// | `Philox4x32Rng<10>`, of any number of rounds | one | `rng(key, stream)`, or `rng(key, stream, word)` for a place in it; or `rng.load` | `next()`; `next_block(words)` gives the four of a block, whatever is left of the one before |
/// | `Lcg32`, `Lcg64`, `Mwc`, `Xorwow` | one | `rng.load` | `next()` |
/// | `XorShift1024Weyl` | the 32 of a warp, which call it together | `rng(threadIdx.x % 32)` and `rng.load` | `next()` gives each its word of the block |
/// | `XorShift1024WeylQuads` | eight neighbours; the 32 of a warp call it together, with four streams | `rng(threadIdx.x % 8)` and `rng.load` | `next4(words)` gives each its four neighbouring words of the block |
/// | `LaggedFibonacci521`, `LaggedFibonacci1279` | the 256, or 512, of a block, which call it together | `rng(ring, threadIdx.x)`, `rng.load` and `__syncthreads()` | `next()` gives each its word of the block |
/// | `LaggedFibonacci<521, 353, 64>`, `LaggedFibonacci<1279, 861, 128>` | the 64, or 128, of a block, which call it together | the same | `next4(words)` gives each its four neighbouring words of the block |
///
/// Each has the constants `STATE`, the words of a state in memory, `BLOCK`, the words of a step, and `THREADS`, those that share a
/// stream. `rng.load(states, count, stream)` takes the state of a stream of [`CudaStreams`](crate::CudaStreams), of which there are
/// `count`, from [`states_mut`](crate::CudaStreams::states_mut), and `rng.store(states, count, stream)` gives it back; what is left of a block of
/// Philox4x32 is then dropped. A lagged Fibonacci generator's `ring`
/// is of `RING` words of shared memory, aligned to 16 bytes. Philox4x32 needs no states: a key, which the host draws from a seed, and the
/// number of the stream are all, so that it is the one to begin with.
///
/// Numbers are made of words as [`Fill`](super::Fill) makes them:
///
/// | function or type | what it makes |
/// | --- | --- |
/// | `joined(low, high)` | an integer of two words |
/// | `uniform_f32(word)`, `uniform_f64(joined(low, high))` | a number in [0, 1) |
/// | `normal_f32(word, word, pair)`, `normal_f64(joined(low, high), joined(low, high), pair)` | two normal numbers |
/// | `U32`, `U64`, `F32`, `F64`, `NormalF32`, `NormalF64` | a kind of numbers for templates: `make(words, numbers)` makes `NUMBERS` numbers of type `Type` of `WORDS` words |
/// | `philox4x32<10>(key, counter)` | replaces four words by their block |
///
/// What else there is in the namespace belongs to the crate's own kernels, and may change.
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
        include_str!("../../gpu/batch/draw.cuh"),
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
