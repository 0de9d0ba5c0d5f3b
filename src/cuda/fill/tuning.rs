//! The shapes of kernels that fill arrays with random numbers, with the measurements that chose
//! them.
//!
//! Measured on an NVIDIA H200 with CUDA 13.0.

use crate::cuda::runtime::kernels::THREADS;

/// How a kernel that fills arrays with random numbers divides its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FillShape {
    /// Threads of a block.
    pub(crate) threads: u32,
    /// Iterations by which the loop is unrolled.
    pub(crate) together: u32,
    /// Blocks that a multiprocessor should hold, which limits their registers.
    pub(crate) blocks: u32,
}

/// From this many words on, a stream of Philox4x32 fills with the shape for many words. Nothing was
/// measured between 2^24 and 2^30.
const MANY_WORDS: u64 = 1 << 26;

/// The shape for one stream of Philox4x32 with `rounds` rounds. A thread writes 16 bytes in each
/// iteration. The second number is the most blocks that are launched, as a multiple of those that
/// the device holds; beyond it a block takes several tiles.
///
/// Words a picosecond with 10 rounds, by kind of numbers:
///
/// | words | shape | `u32` | `f32` | `f64` | normal `f32` | normal `f64` |
/// | --- | --- | --- | --- | --- | --- | --- |
/// | 2^30 | few | 0.99 | 0.89 | 0.90 | 0.43 | 0.38 |
/// | 2^30 | many | 1.10 | 1.10 | 1.11 | 0.49 | 0.41 |
/// | 2^24 | few | 1.01 | 1.00 | 1.00 | 0.43 | 0.39 |
/// | 2^24 | many | 0.85 | 0.81 | 0.79 | 0.44 | 0.38 |
/// | 2^22 | few | 0.69 | 0.72 | 0.71 | 0.36 | 0.33 |
/// | 2^22 | many | 0.52 | 0.51 | 0.49 | 0.27 | 0.33 |
///
/// With 7 rounds, the shapes for few and for many give 1.17 and 1.09 for 2^30 words: where there is
/// little work in a tile, one tile for each block is best.
pub(crate) const fn fill_philox(rounds: usize, words: u64) -> (FillShape, u32) {
    if rounds <= 7 || words < MANY_WORDS {
        (FillShape { threads: THREADS, together: 4, blocks: 4 }, 1024)
    } else {
        (FillShape { threads: 512, together: 8, blocks: 1 }, 4)
    }
}

/// The same where the stream's blocks do not fall on aligned places. The shape for few words is
/// that of [`fill_philox`]. 2^30 words with the shape for many: 0.99 to 1.08 words a picosecond, of
/// `f32` 0.89, of `f64` 0.92, of normal `f32` 0.36. Unrolled by 8 instead: 0.96 to 1.04, 0.86, 0.87
/// and 0.37; with the shape for few: 0.83 to 0.91, 0.75, 0.76 and 0.35.
pub(crate) const fn fill_anywhere(words: u64) -> (FillShape, u32) {
    if words < MANY_WORDS {
        (FillShape { threads: THREADS, together: 4, blocks: 4 }, 8)
    } else {
        (FillShape { threads: 512, together: 12, blocks: 1 }, 2)
    }
}

/// For streams that a thread steps alone: 1.06 to 1.07 words a picosecond for 2^17 to 2^19 streams.
/// Not unrolled, unrolled by eight rows, or with 64 or 256 threads it is the same within one
/// percent.
pub(crate) const FILL_STREAMS: FillShape = FillShape { threads: 128, together: 4, blocks: 1 };

/// For ensembles of Philox4x32: 1.03 to 1.05 words a picosecond for 2^17 to 2^19 streams, of `f32`
/// 1.01 to 1.03, of normal `f32` 0.43 to 0.46. Not unrolled and with eight blocks a multiprocessor:
/// 1.00 to 1.04, 1.01 to 1.03 and 0.40 to 0.42.
pub(crate) const FILL_PHILOX_STREAMS: FillShape =
    FillShape { threads: 128, together: 2, blocks: 4 };

/// For streams that threads of a warp share: 1.01 to 1.07 words a picosecond for 2^13 to 2^17
/// streams, with 256 threads 1.01 to 1.04, with 128 and 64 threads 0.97 to 1.03.
pub(crate) const FILL_WARPS: FillShape = FillShape { threads: 512, together: 1, blocks: 1 };

/// A thread takes several neighbouring streams, whose numbers make 16 bytes, if at least this many
/// threads remain for each multiprocessor. With 124 of them it gives 1.05 words a picosecond, and
/// with one stream a thread 0.90; fewer were not measured.
pub(crate) const FILL_TOGETHER: u64 = 120;
