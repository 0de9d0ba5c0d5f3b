//! [`TileWords`]: which word of which stream decides about which site.

#[cfg(feature = "cuda")]
use bijective_shuffle::cuda::DeviceGenerator;
/// Without a GPU any generator will do.
#[cfg(not(feature = "cuda"))]
use bijective_shuffle::rng::Generator as DeviceGenerator;
use bijective_shuffle::rng::{
    LaggedFibonacci, Lcg32, Lcg64, Mwc, Philox4x32Rng, XorShift1024Weyl, Xorwow,
};

use crate::geometry::Geometry;

/// How the words of a generator are dealt to the sites of a tile.
///
/// Each thread has a number of pairs of sites, and takes a word for each of its sites of even
/// parity, then for those of odd parity. A state is a thread's own, or is shared by the threads of
/// a warp or of the block, who take one word each of what a step of it gives.
#[cfg_attr(not(feature = "cuda"), expect(dead_code, reason = "what is of the device"))]
pub(crate) trait TileWords: DeviceGenerator {
    /// Pairs of sites to a thread.
    const PAIRS: usize = 1;

    /// Threads that share a state.
    const SHARED: usize = 1;

    /// The type of device code (words.cuh) that draws the words.
    const DEVICE: &'static str;

    /// The key, if words are computed from it and from their place, so that no state has to be
    /// kept.
    fn counter_key(&self) -> Option<u64> {
        None
    }

    /// Threads that update a tile.
    fn block_threads(tile: usize) -> usize {
        tile * tile / 2 / Self::PAIRS
    }

    /// Streams of a pair of tiles.
    fn states(geometry: Geometry) -> usize {
        Self::block_threads(geometry.tile) / Self::SHARED
    }

    /// Whether tiles of a side are possible: whole warps, and a block for a state that more than a
    /// warp share.
    fn fits(tile: usize) -> bool {
        let threads = Self::block_threads(tile);
        (32..=1024).contains(&threads)
            && threads.is_multiple_of(32)
            && (Self::SHARED <= 32 || threads == Self::SHARED)
    }

    /// Where the word for a pair's site of a parity is among the words of one hit, in the order of
    /// [`Streams`](bijective_shuffle::rng::Streams): a row for each of a thread's sites.
    fn word(tile: usize, parity: usize, pair: usize) -> usize {
        parity * (tile * tile / 2) + pair
    }
}

impl TileWords for Lcg32 {
    const DEVICE: &'static str = "OfThread<Lcg32>";
}

impl TileWords for Lcg64 {
    const DEVICE: &'static str = "OfThread<Lcg64>";
}

impl TileWords for Mwc {
    const DEVICE: &'static str = "OfThread<Mwc>";
}

impl TileWords for Xorwow {
    const DEVICE: &'static str = "OfThread<Xorwow>";
}

impl TileWords for XorShift1024Weyl {
    const SHARED: usize = 32;
    const DEVICE: &'static str = "OfWarp<XorShift1024Weyl>";
}

impl TileWords for LaggedFibonacci<521, 353> {
    const PAIRS: usize = 2;
    const SHARED: usize = 256;
    const DEVICE: &'static str = "OfBlock<LaggedFibonacci521>";
}

impl TileWords for LaggedFibonacci<1279, 861> {
    const SHARED: usize = 512;
    const DEVICE: &'static str = "OfBlock<LaggedFibonacci1279>";
}

/// The block that belongs to a hit and a thread has just the words for two pairs of sites.
impl<const ROUNDS: usize> TileWords for Philox4x32Rng<ROUNDS> {
    const PAIRS: usize = 2;
    const DEVICE: &'static str = match ROUNDS {
        7 => "OfCounter<7>",
        10 => "OfCounter<10>",
        _ => panic!("7 or 10 rounds"),
    };

    fn counter_key(&self) -> Option<u64> {
        Some(self.key())
    }

    fn word(tile: usize, parity: usize, pair: usize) -> usize {
        let threads = Self::block_threads(tile);
        let (thread, pair) = (pair % threads, pair / threads);
        4 * thread + 2 * parity + pair
    }
}
