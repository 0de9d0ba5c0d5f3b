//! [`device_header`]: the generators as CUDA C++.

/// The generators as CUDA C++17, for custom kernels that draw random numbers.
///
/// [`Cuda::kernel`](crate::cuda::Cuda::kernel) puts it before a kernel's text. It needs no other
/// header and defines everything in the namespace `bijective_shuffle`; nvcc accepts it, too. A
/// generator gives the same words as the type of that name here.
///
/// | type | threads that share a stream | construction | a step |
/// | --- | --- | --- | --- |
/// | `Philox4x32Rng<10>`, with any number of rounds | one | `rng(key, stream)`, or `rng(key, stream, word)` for a position in it; or `rng.load` | `next()`; `next_block(words)` gives the four words of the next block and skips the rest of the current one |
/// | `Lcg32`, `Lcg64`, `Mwc`, `Xorwow` | one | `rng.load` | `next()` |
/// | `XorShift1024Weyl` | the 32 of a warp, which call it together | `rng(threadIdx.x % 32)` and `rng.load` | `next()` gives each thread its word of the block |
/// | `XorShift1024WeylQuads` | eight neighbours; the 32 of a warp call it together, with four streams | `rng(threadIdx.x % 8)` and `rng.load` | `next4(words)` gives each thread its four consecutive words of the block |
/// | `LaggedFibonacci521`, `LaggedFibonacci1279` | the 256, or 512, of a block, which call it together | `rng(ring, threadIdx.x)`, `rng.load` and `__syncthreads()` | `next()` gives each thread its word of the block |
/// | `LaggedFibonacci<521, 353, 64>`, `LaggedFibonacci<1279, 861, 128>` | the 64, or 128, of a block, which call it together | the same | `next4(words)` gives each thread its four consecutive words of the block |
///
/// Each type has the constants `STATE`, the number of words in a state; `BLOCK`, the number of
/// words in a step; and `THREADS`, the number of threads that share a stream. `rng.load(states,
/// count, stream)` loads the state of a stream of [`CudaStreams`](crate::cuda::CudaStreams), of
/// which there are `count`, from [`states_mut`](crate::cuda::CudaStreams::states_mut), and
/// `rng.store(states, count, stream)` stores it. The rest of a block of Philox4x32 is then dropped.
/// The `ring` of a lagged Fibonacci generator is `RING` words of shared memory, aligned to 16
/// bytes. Philox4x32 needs no states, only a key, which the host draws from a seed, and the number
/// of the stream, so it is the easiest to begin with.
///
/// Words become numbers as [`Fill`](crate::rng::Fill) describes:
///
/// | function or type | result |
/// | --- | --- |
/// | `joined(low, high)` | a 64-bit integer of two words |
/// | `uniform_f32(word)`, `uniform_f64(joined(low, high))` | a number in [0, 1) |
/// | `normal_f32(word, word, pair)`, `normal_f64(joined(low, high), joined(low, high), pair)` | two normal numbers |
/// | `U32`, `U64`, `F32`, `F64`, `NormalF32`, `NormalF64` | a distribution, for templates: `make(words, numbers)` makes `NUMBERS` numbers of type `Type` from `WORDS` words |
/// | `philox4x32<10>(key, counter)` | replaces four words by their block |
///
/// Everything else in the namespace belongs to the crate's own kernels and may change.
///
/// # Examples
///
/// [`Cuda::kernel`](crate::cuda::Cuda::kernel) has an example that runs.
///
/// ```
/// let header = bijective_shuffle::cuda::device_header();
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
