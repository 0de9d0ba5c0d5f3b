//! The shapes of kernels that permute arrays by affine maps.
//!
//! Unless it says otherwise, a figure is a speed as a fraction of `cudaMemcpy`'s, on an NVIDIA H200
//! with CUDA 13.0 and arrays of 4 GiB: the least and the greatest for bit reversal, two random BPC
//! and two random BMMC maps, in one run. benches/notes/affine.md has the table.

use crate::cuda::runtime::device::GpuLimits;
use crate::cuda::runtime::word_type::WordType;

/// The sizes of a kernel that permutes an array by an affine map: powers of two, given by their
/// logarithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AffineShape {
    /// Items that a thread loads and stores at once.
    pub(crate) item_bits: u32,
    /// Threads of a block.
    pub(crate) thread_bits: u32,
    /// The number of times that each thread loads and stores for a tile.
    pub(crate) round_bits: u32,
    /// Tiles that a block takes one after the other, where there are enough tiles for all blocks.
    pub(crate) block_bits: u32,
    /// Blocks that a multiprocessor should hold, which limits their registers. This one is not a
    /// logarithm.
    pub(crate) blocks: u32,
}

impl AffineShape {
    /// Threads of a block.
    pub(crate) const fn threads(self) -> u32 {
        1 << self.thread_bits
    }

    /// Items of a tile, as a logarithm.
    pub(crate) const fn tile_bits(self) -> u32 {
        self.item_bits + self.thread_bits + self.round_bits
    }
}

/// The shapes for words of one size.
#[derive(Clone, Copy, Debug)]
struct Shapes {
    /// For arrays of at least as many tiles as there are multiprocessors, each of which holds
    /// [`AT_ONCE`] blocks.
    large: AffineShape,
    /// For all others.
    small: AffineShape,
}

/// The fewest blocks that a multiprocessor should hold: while one waits for memory, another uses
/// it.
const AT_ONCE: u32 = 2;

/// Bytes of shared memory that a block takes in addition to what it asks for, on devices of compute
/// capability 8.0 and later.
const RESERVED: usize = 1 << 10;

const fn shape(
    (item_bits, thread_bits, round_bits): (u32, u32, u32),
    block_bits: u32,
    blocks: u32,
) -> AffineShape {
    AffineShape { item_bits, thread_bits, round_bits, block_bits, blocks }
}

/// The large shape, with a tile of 64 KiB, gives 0.916 to 0.940; with four tiles a block 0.908 to
/// 0.932, with 1024 threads and four tiles 0.897 to 0.923. The small shape gives 0.823 to 0.886,
/// with four tiles a block 0.768 to 0.914: its runs are of 128 bytes.
const BYTES: Shapes = Shapes { large: shape((4, 9, 3), 0, 2), small: shape((4, 8, 2), 0, 4) };

/// The large shape gives 0.910 to 0.945; with four tiles a block 0.906 to 0.936, with 512 threads
/// 0.909 to 0.935, with tiles of 2^16 items, 1024 threads and four tiles a block 0.906 to 0.941.
/// The small shape gives 0.761 to 0.923, with one tile a block 0.724 to 0.749.
const TWO_BYTES: Shapes = Shapes { large: shape((3, 8, 3), 0, 4), small: shape((3, 8, 1), 2, 6) };

/// The large shape gives 0.924 to 0.961; with four blocks 0.910 to 0.934 and, with four tiles each,
/// 0.920 to 0.958; with 512 threads and four tiles a block 0.920 to 0.959. Tiles of 2^14 items give
/// 0.923 to 0.962, but less for arrays of 2^24. Bit reversal and a BMMC map of 2^17 items take the
/// small shape 7.1 and 7.7 microseconds and the large one (with four blocks) 7.9 and 8.5; of 2^20
/// items, 10.6 and 10.7, and 8.9 and 9.3.
const FOUR_BYTES: Shapes = Shapes { large: shape((2, 8, 2), 0, 6), small: shape((2, 8, 0), 2, 8) };

/// The large shape gives 0.923 to 0.943; with one tile a block 0.872 to 0.878, with 256 threads
/// 0.921 to 0.938 and, with one tile each, 0.922 to 0.943. The small shape gives 0.923 to 0.938,
/// with one tile a block 0.793 to 0.795.
const EIGHT_BYTES: Shapes = Shapes { large: shape((1, 9, 2), 2, 2), small: shape((1, 8, 1), 2, 8) };

/// Both shapes are the same: 0.930 to 0.939; with six blocks of four tiles each 0.927 to 0.931.
/// Tiles of 2^12 items, 64 KiB, give 0.932 to 0.934.
const SIXTEEN_BYTES: Shapes =
    Shapes { large: shape((0, 8, 2), 0, 4), small: shape((0, 8, 2), 0, 4) };

/// Shapes that move word by word, where an array is not aligned to 16 bytes or has gaps. Chosen by
/// reasoning, not yet by measurement.
const SHORT_WORDS: Shapes =
    Shapes { large: shape((0, 10, 4), 2, 1), small: shape((0, 10, 4), 2, 1) };
/// The same for words of 4 bytes and longer ones.
const WORDS: Shapes = Shapes { large: shape((0, 8, 4), 2, 4), small: shape((0, 8, 4), 2, 4) };

/// Items of this many bytes or more are moved item by item if their number of words is no power of
/// two. Each of them covers at least two whole sectors of memory, and in a tile up to half of the
/// threads would have no word to move. Chosen by reasoning, not yet by measurement.
pub(crate) const LONG_ITEM: usize = 64;

/// How the items of an array are moved through a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tiled {
    /// Word by word, and if the array is `whole`, 16 bytes of words are loaded and stored at once.
    Words { word: WordType, whole: bool },
    /// Four items of three of these words at once, which have 1 or 2 bytes. Each item has a slot of
    /// four words.
    Triples { word: WordType },
}

impl Tiled {
    /// The word as which an item is in shared memory.
    pub(crate) const fn slot(self) -> WordType {
        match self {
            Self::Words { word, .. } => word,
            Self::Triples { word: WordType::U8 } => WordType::U32,
            Self::Triples { .. } => WordType::U64,
        }
    }

    const fn shapes(self) -> Shapes {
        match self {
            Self::Words { word, whole } => shapes(word, whole),
            Self::Triples { word: WordType::U8 } => THREE_BYTES,
            Self::Triples { .. } => SIX_BYTES,
        }
    }
}

/// The large shape gives 0.736 to 0.749; with one tile a block 0.687 to 0.707, and tiles of 2^12
/// items with 256 threads 0.658 to 0.758. Word by word 0.156.
const THREE_BYTES: Shapes = Shapes { large: shape((2, 9, 3), 2, 2), small: shape((2, 8, 0), 2, 8) };

/// The large shape gives 0.778 to 0.847; with four tiles a block 0.744 to 0.804, with 512 threads
/// 0.608 to 0.643. The small shape gives 0.538 to 0.648.
///
/// Items of three words of 4 bytes are moved word by word, 0.68. In this way they made 0.67 to
/// 0.69.
const SIX_BYTES: Shapes = Shapes { large: shape((2, 8, 2), 0, 4), small: shape((2, 8, 0), 2, 8) };

const fn shapes(word: WordType, whole: bool) -> Shapes {
    match (word, whole) {
        (WordType::U8, true) => BYTES,
        (WordType::U16, true) => TWO_BYTES,
        (WordType::U32, true) => FOUR_BYTES,
        (WordType::U64, true) => EIGHT_BYTES,
        (WordType::U128, _) => SIXTEEN_BYTES,
        (WordType::U8 | WordType::U16, false) => SHORT_WORDS,
        (WordType::U32 | WordType::U64, false) => WORDS,
    }
}

/// Whether tiles with these words follow each other in the order of the source, instead of
/// alternating between the orders of both sides.
///
/// In the order of the source and in the alternating order: words of 2 bytes 0.920 to 0.938 and
/// 0.908 to 0.949; words of 4 bytes 0.919 to 0.930 and 0.911 to 0.932, and for arrays of 2^24 items
/// 0.916 to 0.931 and 0.898 to 0.914. For words of 1, 8 and 16 bytes the order of the source adds
/// at most 0.002 to the least.
pub(crate) const fn by_source(word: WordType) -> bool {
    matches!(word, WordType::U16 | WordType::U32)
}

/// The shape for `2^bits` slots; `None` if they are fewer than a tile.
///
/// Large tiles pay where there are enough of them: with words of 4 and 8 bytes they were faster
/// from 2^20 items on, which is twice as many tiles as multiprocessors, and slower at 2^17. That
/// the same holds for others is a guess.
pub(crate) fn shape_for(tiled: Tiled, bits: u32, limits: &GpuLimits) -> Option<AffineShape> {
    let Shapes { large, small } = tiled.shapes();
    let word = tiled.slot();
    let tiles = bits.checked_sub(large.tile_bits()).map_or(0, |tiles| 1_u64 << tiles.min(63));
    let enough = tiles >= limits.multiprocessors.into();
    let fits = resident(large, word, limits) >= AT_ONCE;
    let shape = if enough && fits { large } else { small };
    // Asking for more blocks than fit would only limit the registers.
    let blocks = shape.blocks.min(resident(shape, word, limits)).max(1);
    (bits >= shape.tile_bits()).then_some(AffineShape { blocks, ..shape })
}

/// The number of blocks for which a multiprocessor has threads and shared memory; 0 if a single
/// block may not have as much shared memory.
fn resident(shape: AffineShape, word: WordType, limits: &GpuLimits) -> u32 {
    let shared = word.bytes() << shape.tile_bits();
    if shared > limits.shared_per_block {
        return 0;
    }
    let by_memory = limits.shared_per_multiprocessor / (shared + RESERVED);
    let by_threads = limits.threads_per_multiprocessor / shape.threads();
    by_threads.min(by_memory as u32)
}

/// Every way to move items through tiles.
#[cfg(test)]
pub(crate) fn ways() -> Vec<Tiled> {
    let words = WordType::ALL.map(|word| [false, true].map(|whole| Tiled::Words { word, whole }));
    let triples = [WordType::U8, WordType::U16].map(|word| Tiled::Triples { word });
    words.into_iter().flatten().chain(triples).collect()
}

/// Every shape that is used on any device.
#[cfg(test)]
pub(crate) fn all() -> Vec<(Tiled, AffineShape)> {
    let shapes = |tiled: Tiled| {
        let Shapes { large, small } = tiled.shapes();
        [(tiled, large), (tiled, small)]
    };
    let mut all: Vec<_> = ways().into_iter().flat_map(shapes).collect();
    all.dedup_by(|a, b| a.1 == b.1 && a.0.slot() == b.0.slot());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn limits(
        multiprocessors: u32,
        block_kib: usize,
        kib: usize,
        threads_per_multiprocessor: u32,
    ) -> GpuLimits {
        GpuLimits {
            multiprocessors,
            threads_per_multiprocessor,
            shared_per_block: block_kib << 10,
            shared_per_multiprocessor: kib << 10,
            l2_bytes: 4 << 20,
        }
    }

    /// GPUs of compute capability 7.0, 7.5, 8.0, 8.6, 9.0 and 12.0, by the CUDA C++ Programming
    /// Guide's table of technical specifications, and one with only the shared memory that every
    /// block may have.
    const GPUS: [GpuLimits; 7] = [
        limits(80, 96, 96, 2048),
        limits(72, 64, 64, 1024),
        limits(108, 163, 164, 2048),
        limits(84, 99, 100, 1536),
        limits(132, 227, 228, 2048),
        limits(170, 99, 100, 1536),
        limits(1, 48, 48, 1024),
    ];

    #[test]
    fn every_gpu_can_launch_its_shapes() {
        for gpu in GPUS {
            for tiled in ways() {
                for bits in 0..=64 {
                    let Some(shape) = shape_for(tiled, bits, &gpu) else {
                        assert!(bits < tiled.shapes().small.tile_bits(), "{gpu:?}, {tiled:?}");
                        continue;
                    };
                    let shared = tiled.slot().bytes() << shape.tile_bits();
                    assert!(shared <= gpu.shared_per_block, "{gpu:?}, {tiled:?}");
                    assert!(shared <= gpu.shared_per_multiprocessor);
                    let threads = shape.blocks * shape.threads();
                    assert!(threads <= gpu.threads_per_multiprocessor);
                    assert!(shape.threads() <= 1024 && shape.blocks > 0);
                    assert!(bits >= shape.tile_bits());
                }
            }
        }
    }

    #[test]
    fn small_shapes_need_no_more_than_every_block_has() {
        for tiled in ways() {
            let Shapes { large, small } = tiled.shapes();
            assert!(tiled.slot().bytes() << small.tile_bits() <= 48 << 10, "{tiled:?}");
            assert!(small.tile_bits() <= large.tile_bits(), "{tiled:?}");
        }
    }

    #[test]
    fn shapes_are_those_that_were_measured() {
        let [.., ampere, hopper, _, least] = GPUS;
        let words = WordType::ALL.map(|word| Tiled::Words { word, whole: true });
        let chosen = |gpu: &GpuLimits, bits| {
            words.map(|tiled| shape_for(tiled, bits, gpu).unwrap().tile_bits())
        };
        assert_eq!(chosen(&hopper, 30), [16, 14, 12, 12, 10]);
        assert_eq!(chosen(&hopper, 17), [14, 12, 10, 10, 10]);
        // One block of 64 KiB would be alone on a multiprocessor.
        assert_eq!(chosen(&ampere, 30), [14, 14, 12, 12, 10]);
        assert_eq!(chosen(&least, 30), [14, 12, 12, 10, 10]);
        for tiled in words {
            let shape = shape_for(tiled, 30, &hopper).unwrap();
            assert_eq!(shape, tiled.shapes().large, "every block fits");
        }
    }
}
