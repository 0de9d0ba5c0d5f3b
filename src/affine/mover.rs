//! [`Mover`]: tiles brought into the target's order by way of slots, whatever the map is and the
//! items are.

use core::mem::MaybeUninit;
use core::ops::Range;
use core::ptr;

use super::ahead::Ahead;
use super::tiles::{Tile, Tiling, combinations};
use super::tuning;
use crate::affine::Affine;
use crate::base::memory::SharedPtr;
use crate::base::stream;
use crate::bijection::Bijection;

/// A tiling's offsets, written out. Slots count through the source's runs: to fetch a tile is to
/// copy runs, and each run of the target is picked from the slots. (The other way round, with slots
/// that count through the target's runs, a thread puts 1.1 to 1.4 G items a second of 8 bytes in
/// cache, and like this 2.2 to 2.5: a core loads from more places than it stores to.)
pub(super) struct Mover {
    pub(super) tiling: Tiling,
    /// The source's runs: what is added to a tile's index.
    source_runs: Vec<u64>,
    /// The target's runs: what is added to the image's index, and to its slots.
    target_runs: Vec<(u64, u32)>,
    /// The slots of a target's run.
    slots: Vec<u32>,
    ahead: Ahead,
}

impl Mover {
    pub(super) fn new(mut tiling: Tiling) -> Self {
        tiling.count_by_source();
        let (run, out) = (tiling.source_run as usize, tiling.target_run as usize);
        let indexes = combinations(&tiling.target[out..]);
        let bases = combinations(&tiling.target_slots[out..]);
        Self {
            source_runs: combinations(&tiling.source[run..]),
            target_runs: indexes.into_iter().zip(bases).collect(),
            slots: combinations(&tiling.target_slots[..out]),
            ahead: Ahead::new(&tiling),
            tiling,
        }
    }

    /// The tile that has an index, whose lowest bits are zero.
    pub(super) fn tile_at(&self, map: &Affine, source: u64) -> Tile {
        let image = map.forward(source);
        let low = image & ((1 << self.tiling.target_run) - 1);
        Tile { source, target: image ^ low, shift: self.tiling.shift(low) }
    }

    /// How many items of working memory a thread needs to hold so many tiles, and a run.
    pub(super) fn room(&self, tiles: usize) -> usize {
        (tiles << self.tiling.tile_bits()) + (1 << self.tiling.target_run)
    }

    /// Copies the items of some tiles to their places, past the caches.
    ///
    /// # Safety
    ///
    /// There are as many items at `source`, and places at `out`, as the map has points; the source
    /// is not written to, and nobody else uses the places of these tiles.
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
            // SAFETY: the tile is one of the map's.
            unsafe { self.fetch(tile.source, source, slots) };
            for (k, &(index, base)) in self.target_runs.iter().enumerate() {
                // SAFETY: as is the next one.
                unsafe { self.ahead.ask(next.source, k, self.target_runs.len().ilog2(), source) };
                // SAFETY: a run of the image, whose places are this thread's alone.
                let run = unsafe { self.run_at(tile.target ^ index, out) };
                if size_of_val(run) < stream::LINE {
                    // SAFETY: a sum of slots, all of which are filled.
                    unsafe { self.pick(base ^ tile.shift, slots, run) };
                } else {
                    // SAFETY: `fetch` has filled all slots of the tile, and the sums stay below
                    // their number; the stage is as long as a run.
                    unsafe { self.pick(base ^ tile.shift, slots, stage) };
                    stream::stream(stage, run);
                }
            }
            tile = next;
        }
        stream::publish();
    }

    /// Copies a tile's runs to a buffer, and asks for those that come later.
    ///
    /// # Safety
    ///
    /// The tile's index is one of the map's, of whose points there are items at `source`, which
    /// nobody writes to.
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
                // SAFETY: a point of the map.
                let later = unsafe { source.at((tile ^ later) as usize) };
                stream::prefetch_lines(later.cast(), size_of_val(slots).div_ceil(stream::LINE));
            }
            // SAFETY: a point of the map.
            let run = unsafe { source.at((tile ^ index) as usize) };
            // SAFETY: a run has as many items as these slots, all of them the map's points; the
            // buffer is elsewhere.
            unsafe { ptr::copy_nonoverlapping(run, slots.as_mut_ptr().cast(), len) };
        }
    }

    /// Copies the items of one of the target's runs, in their order, from the slots.
    ///
    /// # Safety
    ///
    /// `base` is a sum of the tiling's slots. The slots are all filled.
    #[inline(always)]
    unsafe fn pick<T>(&self, base: u32, slots: &[MaybeUninit<T>], run: &mut [MaybeUninit<T>]) {
        assert_eq!(slots.len(), 1 << self.tiling.tile_bits());
        for (place, slot) in run.iter_mut().zip(&self.slots) {
            // SAFETY: sums of slots are slots, of which there are as many as in `slots`.
            let item = unsafe { slots.get_unchecked((base ^ slot) as usize) };
            // SAFETY: a place and a slot, which are apart.
            unsafe { ptr::copy_nonoverlapping(item, place, 1) };
        }
    }

    /// Copies a tile's items from their slots to its image, and asks for a tile's items meanwhile.
    ///
    /// # Safety
    ///
    /// The tiles are the map's, of whose points there are places at `out`, and nobody else uses
    /// those of the first one's image. The slots are all filled.
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
                // SAFETY: the caller's word.
                unsafe { self.ahead.ask(next, k, self.target_runs.len().ilog2(), out) };
            }
            // SAFETY: a run of the image.
            let run = unsafe { self.run_at(tile.target ^ index, out) };
            // SAFETY: a sum of slots, all of which are filled.
            unsafe { self.pick(base ^ tile.shift, slots, run) };
        }
    }

    /// The places of one of the target's runs.
    ///
    /// # Safety
    ///
    /// It begins at a point of the map, of which there are places at `out`; nobody else uses the
    /// run's.
    #[inline(always)]
    unsafe fn run_at<'a, T>(&self, index: u64, out: &SharedPtr<T>) -> &'a mut [MaybeUninit<T>] {
        // SAFETY: a point of the map.
        let start = unsafe { out.at(index as usize) };
        // SAFETY: as many items as a run has from there on are the map's points, and the run's
        // alone.
        unsafe { core::slice::from_raw_parts_mut(start.cast(), 1 << self.tiling.target_run) }
    }
}
