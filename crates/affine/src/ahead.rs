//! [`PrefetchAhead`]: prefetches a tile while the tile before it is written.

use super::tiles::{Tiling, combinations};
use bijective_shuffle_engine::memory::SharedPtr;
use bijective_shuffle_engine::stream;

/// The source's runs of a tiling, to be prefetched in parts. The hardware cannot predict them, and
/// memory should never be idle: a core that first reads a tile and then writes it takes the time of
/// both.
pub(super) struct PrefetchAhead {
    /// The offsets of the runs from a tile's index.
    runs: Vec<u64>,
    run_bits: u32,
}

impl PrefetchAhead {
    pub(super) fn new(tiling: &Tiling) -> Self {
        let run_bits = tiling.source_run;
        Self { runs: combinations(&tiling.source[run_bits as usize..]), run_bits }
    }

    /// Prefetches one of `2^parts` equal parts of the tile with the given index.
    ///
    /// # Safety
    ///
    /// `tile` is the index of one of the tiling's tiles, and `source` has an item for every point
    /// of the map. There are no more parts than items in a tile, and `part` is below `2^parts`.
    #[inline(always)]
    pub(super) unsafe fn ask<T>(&self, tile: u64, part: usize, parts: u32, source: &SharedPtr<T>) {
        let bits = self.runs.len().ilog2() + self.run_bits - parts;
        let piece = bits.min(self.run_bits);
        let lines = (size_of::<T>() << piece).div_ceil(stream::LINE);
        let pieces = part << (bits - piece)..(part + 1) << (bits - piece);
        let in_run = self.run_bits - piece;
        for number in pieces {
            let index = tile ^ self.runs[number >> in_run];
            let offset = (number & ((1 << in_run) - 1)) << piece;
            // SAFETY: `part` is one of the tile's parts, so `number` counts pieces of the tile's
            // runs, and the index plus the offset is a point of the map. The caller promises an
            // item there.
            let start = unsafe { source.at(index as usize + offset) };
            stream::prefetch_lines_l2(start.cast(), lines);
        }
    }
}
