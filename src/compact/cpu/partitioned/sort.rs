//! Sorting items into buckets.

use num_traits::Zero;
use rayon::prelude::*;

use super::block::Part;
use super::buckets::Low;
use super::{Direction, Sorting};
use crate::base::check::try_with_capacity;
use crate::base::memory::Buffer;
use crate::base::stream::Publish;
use crate::bijection::Bijection;
use crate::compact::cpu::places::Source;
use crate::compact::cpu::survivors::{SlotRange, Tile, Values, room_for};
use crate::compact::cpu::tuning;
use crate::error::Error;

impl Sorting<'_> {
    /// Sorts the items into the buckets of the parts. Not all of them are there afterwards if a bucket overflows.
    ///
    /// # Safety
    ///
    /// `items` are as many as the sorting was made for, and nobody writes to them meanwhile.
    pub(super) unsafe fn sort<T: Send, L: Low>(
        &self,
        items: &impl Source<T>,
        parts: &mut [Part<T, L>],
        tiles: &mut Buffer,
    ) -> Result<(), Error> {
        match self.direction {
            // SAFETY: the caller's promise.
            Direction::Shuffle => unsafe { self.sort_by_slot(items, parts) },
            // SAFETY: the caller promises the number of items, and that nobody writes to them, for
            // both directions.
            Direction::Unshuffle => unsafe { self.sort_by_index(items, parts, tiles) }?,
        }
        Ok(())
    }

    /// Sorts the items by their slots.
    ///
    /// # Safety
    ///
    /// As [`sort`](Self::sort).
    unsafe fn sort_by_slot<T: Send, L: Low, S: Source<T>>(
        &self,
        items: &S,
        parts: &mut [Part<T, L>],
    ) {
        let share = self.len.div_ceil(parts.len());
        parts.par_iter_mut().enumerate().with_max_len(1).for_each(|(number, part)| {
            let _publish = Publish;
            let mut slots = [L::Index::zero(); tuning::RUN];
            let mut room = S::room();
            let end = ((number + 1) * share).min(self.len);
            for first in (number * share..end).step_by(tuning::RUN) {
                let slots = &mut slots[..(end - first).min(tuning::RUN)];
                L::inverse_run(self.f, first as u64, slots);
                // SAFETY: the indexes are below the length.
                unsafe { push_all(part, slots, items, first, &mut room) };
            }
        });
    }

    /// Sorts the items by the indexes that survive, as far as there are indexes.
    ///
    /// # Safety
    ///
    /// As [`sort`](Self::sort).
    unsafe fn sort_by_index<T: Send, L: Low, S: Source<T>>(
        &self,
        items: &S,
        parts: &mut [Part<T, L>],
        tiles: &mut Buffer,
    ) -> Result<(), Error> {
        let last = self.f.last();
        let most = tile_slots(last, parts.len());
        let room = tiles.room::<L::Index>(parts.len() * room_for(most))?;
        // Each part's tile, and the place of its first survivor.
        let mut tiles = try_with_capacity(parts.len())?;
        tiles.extend(room.chunks_mut(room_for(most)).map(|room| (Tile::new(room), 0)));
        let values = Values::of_trusted(self.f, self.len);
        // Callers are in the pool, but compiled in a scope of its own this is faster: 572, 548 and 549 at 2^25 + 1, and
        // 542, 511 and 512 without.
        rayon::scope(|_| {
            let mut next = Some(SlotRange::first(last, most));
            let mut position = 0;
            loop {
                for (tile, _) in &mut tiles {
                    tile.slots = next;
                    next = next.and_then(|slots| slots.next(last, most));
                }
                let work = tiles.par_iter_mut().zip(&mut *parts).with_max_len(1);
                work.for_each(|((tile, position), part)| {
                    let _publish = Publish;
                    // The survivors of the wave before, whose places are known by now.
                    // SAFETY: the places that were given out are below the length.
                    unsafe { push_all(part, tile.survivors(), items, *position, &mut S::room()) };
                    tile.evaluate(&values);
                });
                let mut any = false;
                for (tile, first) in &mut tiles {
                    *first = position;
                    position += tile.survivors().len();
                    any |= !tile.survivors().is_empty();
                }
                if position > self.len || (!any && next.is_none()) {
                    return Ok(());
                }
            }
        })
    }
}

/// Pushes the items from the first on to the buckets of as many slots or indexes.
///
/// # Safety
///
/// There are so many items, and nobody writes to them meanwhile.
#[inline(always)]
unsafe fn push_all<T, L: Low, S: Source<T>>(
    part: &mut Part<T, L>,
    to: &[L::Index],
    items: &S,
    first: usize,
    room: &mut S::Room,
) {
    for (first, to) in (first..).step_by(S::RUN).zip(to.chunks(S::RUN)) {
        // SAFETY: the caller's promise.
        unsafe { items.prepare(first, to.len(), room) };
        for (k, &to) in to.iter().enumerate() {
            // SAFETY: the item is in the run.
            let copy = |place: *mut u8| unsafe { items.copy(first, k, room, place) };
            // SAFETY: it copies an item.
            unsafe { part.push(to, copy) };
        }
    }
}

/// How many slots each part takes at a time: as many as make all parts take equally many in the end, since their
/// rooms are.
fn tile_slots(last: u64, parts: usize) -> usize {
    let (slots, parts) = (last + 1, parts as u64);
    let waves = slots.div_ceil(parts * tuning::LONG_TILE as u64);
    slots.div_ceil(parts * waves) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_take_equally_many_slots() {
        for last in [0, 1, 65_535, 131_071, (1 << 22) - 1, (1 << 27) - 1, 1 << 27] {
            for parts in [1, 2, 3, 6, 12, 24, 64] {
                let tile = tile_slots(last, parts);
                let waves = (last as usize + 1).div_ceil(parts * tile);
                assert!(tile <= tuning::LONG_TILE);
                // No more than a slot a wave and part too many.
                assert!(
                    waves * parts * tile <= last as usize + 1 + waves * parts,
                    "{last}, {parts}"
                );
            }
        }
    }
}
