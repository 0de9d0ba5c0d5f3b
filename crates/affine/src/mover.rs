//! [`Mover`]: brings tiles into the target's order through a buffer of slots, for every map and
//! every item type.

use core::mem::MaybeUninit;
use core::ops::Range;
use core::ptr;

use super::ahead::PrefetchAhead;
use super::tiles::{Tile, Tiling, combinations};
use super::tuning;
use crate::Affine;
use bijective_shuffle_core::Bijection;
use bijective_shuffle_engine::memory::SharedPtr;
use bijective_shuffle_engine::stream;

/// The tabulated offsets of a tiling. Slots are numbered along the source's runs: fetching a tile
/// copies whole runs, and each run of the target is gathered from the slots. (With slots numbered
/// along the target's runs, a thread moves 1.1 to 1.4 G items of 8 bytes a second in cache; in this
/// direction it moves 2.2 to 2.5, since a core can load from more places than it can store to.)
pub(super) struct Mover {
    pub(super) tiling: Tiling,
    /// The offsets of the source's runs from a tile's index.
    source_runs: Vec<u64>,
    /// The target's runs: their offsets from the image's index, and from its first slot.
    target_runs: Vec<(u64, u32)>,
    /// The slots of one of the target's runs.
    slots: Vec<u32>,
    ahead: PrefetchAhead,
}

impl Mover {
    #[inline]
    pub(super) fn new(mut tiling: Tiling) -> Self {
        tiling.count_by_source();
        let (run, out) = (tiling.source_run as usize, tiling.target_run as usize);
        let indexes = combinations(&tiling.target[out..]);
        let bases = combinations(&tiling.target_slots[out..]);
        Self {
            source_runs: combinations(&tiling.source[run..]),
            target_runs: indexes.into_iter().zip(bases).collect(),
            slots: combinations(&tiling.target_slots[..out]),
            ahead: PrefetchAhead::new(&tiling),
            tiling,
        }
    }

    /// The tile with the given index, whose lowest bits are zero.
    pub(super) fn tile_at(&self, map: &Affine, source: u64) -> Tile {
        let image = map.forward(source);
        let low = image & ((1 << self.tiling.target_run) - 1);
        Tile { source, target: image ^ low, shift: self.tiling.shift(low) }
    }

    /// The working memory that a thread needs to hold `tiles` tiles and a run, in items.
    pub(super) fn room(&self, tiles: usize) -> usize {
        (tiles << self.tiling.tile_bits()) + (1 << self.tiling.target_run)
    }

    /// Copies the items of some tiles to their places with non-temporal stores.
    ///
    /// # Safety
    ///
    /// `tiles` are numbers of the tiling's tiles. `source` has an item, and `out` a place, for
    /// every point of the map. Nobody writes to the source, and nobody else uses the places of
    /// these tiles.
    pub(super) unsafe fn copy<T>(
        &self,
        tiles: Range<u64>,
        source: &SharedPtr<T>,
        out: &SharedPtr<T>,
        memory: &mut [MaybeUninit<T>],
    ) {
        let (slots, stage) = memory[..self.room(1)].split_at_mut(1 << self.tiling.tile_bits());
        let mut tile = self.tiling.tile(tiles.start);
        for number in tiles {
            let next = self.tiling.next(tile, number);
            // SAFETY: the tile is one of the map's, and the caller promises an item for each of its
            // points and that nobody writes to them.
            unsafe { self.fetch(tile.source, source, slots) };
            for (k, &(index, base)) in self.target_runs.iter().enumerate() {
                // SAFETY: the next tile is one of the map's as well, so there is an item for each
                // of its points. There are as many parts as runs, and `k` is the number of a run.
                unsafe { self.ahead.ask(next.source, k, self.target_runs.len().ilog2(), source) };
                // SAFETY: the exclusive or of the image and a run's offset is where a run of the
                // image begins, and the caller promises that nobody else uses the places of this
                // tile.
                let run = unsafe { self.run_at(tile.target ^ index, out) };
                if size_of_val(run) < stream::LINE {
                    // SAFETY: `base ^ tile.shift` is a sum of the tiling's slots, and `fetch` has
                    // filled all slots.
                    unsafe { self.pick(base ^ tile.shift, slots, run) };
                } else {
                    // SAFETY: `base ^ tile.shift` is a sum of the tiling's slots, and `fetch` has
                    // filled all slots.
                    unsafe { self.pick(base ^ tile.shift, slots, stage) };
                    stream::stream(stage, run);
                }
            }
            tile = next;
        }
        stream::publish();
    }

    /// Copies a tile's runs to a buffer, and prefetches the runs to come.
    ///
    /// # Safety
    ///
    /// `tile` is the index of one of the map's tiles, `source` has an item for every point of the
    /// map, and nobody writes to the tile's items.
    #[inline]
    pub(super) unsafe fn fetch<T>(
        &self,
        tile: u64,
        source: &SharedPtr<T>,
        slots: &mut [MaybeUninit<T>],
    ) {
        let len = 1 << self.tiling.source_run;
        let ahead = (tuning::AHEAD_BYTES / (len * size_of::<T>())).max(1);
        let later = self.source_runs.iter().skip(ahead).map(Some).chain(core::iter::repeat(None));
        for ((&index, slots), later) in
            self.source_runs.iter().zip(slots.chunks_exact_mut(len)).zip(later)
        {
            if let Some(later) = later {
                // SAFETY: the tile's index and a run's offset add up to a point of the map, for
                // which the caller promises an item.
                let later = unsafe { source.at((tile ^ later) as usize) };
                stream::prefetch_lines(later.cast(), size_of_val(slots).div_ceil(stream::LINE));
            }
            // SAFETY: the tile's index and a run's offset add up to a point of the map, for which
            // the caller promises an item.
            let run = unsafe { source.at((tile ^ index) as usize) };
            // SAFETY: the run has `len` items, all at points of the map, and the chunk of the
            // buffer has `len` slots. The buffer is borrowed for writing, so it does not overlap
            // the source.
            unsafe { ptr::copy_nonoverlapping(run, slots.as_mut_ptr().cast(), len) };
        }
    }

    /// Gathers the items of one of the target's runs from the slots, in the run's order.
    ///
    /// # Safety
    ///
    /// `base` is a sum of the tiling's slots, and all slots are filled.
    #[inline(always)]
    unsafe fn pick<T>(&self, base: u32, slots: &[MaybeUninit<T>], run: &mut [MaybeUninit<T>]) {
        assert_eq!(slots.len(), 1 << self.tiling.tile_bits());
        for (place, slot) in run.iter_mut().zip(&self.slots) {
            // SAFETY: the slots are a group under exclusive or, so a sum of slots is below their
            // number, which is the length of `slots`.
            let item = unsafe { slots.get_unchecked((base ^ slot) as usize) };
            // SAFETY: both references are valid for one item, and `run` is borrowed for writing, so
            // they do not overlap.
            unsafe { ptr::copy_nonoverlapping(item, place, 1) };
        }
    }

    /// Copies a tile's items from their slots to its image, and prefetches the tile `next`
    /// meanwhile.
    ///
    /// # Safety
    ///
    /// `tile` and `next` belong to tiles of the map, `out` has a place for every point of the map,
    /// nobody else uses the places of the first tile's image, and all slots are filled.
    #[inline]
    pub(super) unsafe fn put<T>(
        &self,
        tile: Tile,
        slots: &[MaybeUninit<T>],
        out: &SharedPtr<T>,
        next: Option<u64>,
    ) {
        for (k, &(index, base)) in self.target_runs.iter().enumerate() {
            if let Some(next) = next {
                // SAFETY: the caller promises that `next` is the index of a tile and that there are
                // items for its points. There are as many parts as runs, and `k` is the number of a
                // run.
                unsafe { self.ahead.ask(next, k, self.target_runs.len().ilog2(), out) };
            }
            // SAFETY: the exclusive or of the image and a run's offset is where a run of the image
            // begins, and the caller promises that nobody else uses the image's places.
            let run = unsafe { self.run_at(tile.target ^ index, out) };
            // SAFETY: `base ^ tile.shift` is a sum of the tiling's slots, and the caller promises
            // that all slots are filled.
            unsafe { self.pick(base ^ tile.shift, slots, run) };
        }
    }

    /// The places of one of the target's runs.
    ///
    /// # Safety
    ///
    /// A run of the target begins at `index`, `out` has a place for every point of the map, and
    /// nobody else uses the run's places while the result lives.
    #[inline(always)]
    unsafe fn run_at<'a, T>(&self, index: u64, out: &SharedPtr<T>) -> &'a mut [MaybeUninit<T>] {
        // SAFETY: the caller promises that `index` is a point of the map, and a place for each
        // point.
        let start = unsafe { out.at(index as usize) };
        // SAFETY: the run's `2^target_run` places are those of points of the map, and the caller
        // promises that nobody else uses them.
        unsafe { core::slice::from_raw_parts_mut(start.cast(), 1 << self.tiling.target_run) }
    }
}
