//! Sorting items into buckets, each thread into a part of its own.

use super::block::{ThreadBuckets, items_per_block};
use crate::compact::cpu::buckets::{BucketDivision, LowBits};
use crate::compact::cpu::places::ItemSource;
use crate::compact::cpu::survivors::{SlotRange, SurvivorTile, Values, room_for, workers};
use crate::compact::cpu::tuning;
use crate::engine::check::try_with_capacity;
use crate::engine::memory::{Buffer, SharedPtr};
use crate::engine::parallel::{self, Workers};
use crate::engine::stream::Publish;
use crate::engine::word::Index;
use crate::{Error, Trusted};

/// What decides the bucket of an item.
#[derive(Clone, Copy)]
pub(crate) enum BucketKey {
    /// The slot of the item's number.
    Slot,
    /// The index below `len` that survives at one of the slots from `first` to `last`; that of item
    /// `k` is the `k`-th.
    Index { first: u64, last: u64, len: u64 },
}

/// The number of blocks that a sort needs.
pub(super) struct Capacity {
    pub(super) parts: usize,
    pub(super) buckets: BucketDivision,
    /// Full blocks for each bucket of each part.
    pub(super) blocks: usize,
    /// More of them, which are not used for items.
    pub(super) spare: usize,
}

impl Capacity {
    /// The capacity for `len` items of type T with low bits of type L, each of which is at a random
    /// one of some points.
    pub(super) fn new<T, L>(
        len: usize,
        points: f64,
        buckets: BucketDivision,
        spare: usize,
    ) -> Self {
        let parts = rayon::current_num_threads();
        // The number of a bucket's items in one part has a hypergeometric distribution, whose
        // variance is less than that of a Poisson distribution with the same mean.
        let share = (buckets.len() as f64 / points).min(1.0);
        let mean = len.div_ceil(parts) as f64 * share;
        let most = mean + tuning::DEVIATIONS * mean.sqrt() + 1.0;
        let blocks = (most / items_per_block::<T, L>() as f64).ceil() as usize;
        Self { parts, buckets, blocks, spare }
    }

    /// The bytes of all blocks, including the open ones.
    pub(super) fn bytes(&self) -> usize {
        let blocks = self.parts * self.buckets.count * (self.blocks + self.spare + 1);
        blocks.saturating_mul(tuning::BLOCK_BYTES)
    }
}

/// Items in their buckets, as bits: a part for each thread.
pub(super) struct Partition<'a, T, L> {
    pub(super) parts: Vec<ThreadBuckets<'a, T, L>>,
    pub(super) buckets: BucketDivision,
}

impl<'a, T: Send, L: LowBits> Partition<'a, T, L> {
    /// Sorts `len` items into buckets, each thread into a part of its own. `None` if a bucket
    /// overflows.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    ///
    /// # Safety
    ///
    /// There are `len` items, and nobody writes to them meanwhile.
    pub(super) unsafe fn sort<S: ItemSource<T>>(
        capacity: &Capacity,
        f: &Trusted,
        key: BucketKey,
        items: &S,
        len: usize,
        [open, full]: [&'a mut Buffer; 2],
        tiles: &mut Buffer,
    ) -> Result<Option<Self>, Error> {
        let mut sorted = Self::empty(capacity, open, full)?;
        let share = len.div_ceil(capacity.parts);
        match key {
            _ if len == 0 => {}
            BucketKey::Slot => parallel::each_mut(&mut sorted.parts, |number, part| {
                let _publish = Publish;
                let mut slots = [L::Index::ZERO; tuning::RUN];
                let mut room = S::room();
                let end = ((number + 1) * share).min(len);
                for first in (number * share..end).step_by(tuning::RUN) {
                    let slots = &mut slots[..(end - first).min(tuning::RUN)];
                    L::inverse_run(f, first as u64, slots);
                    // SAFETY: the items from `first` on, as many as `slots`, are below `len`, and
                    // the caller promises that nobody writes to them.
                    unsafe { part.push_all(slots, items, first, &mut room) };
                }
            }),
            BucketKey::Index { first, last, len: most } => {
                let (values, slots) = (Values::unchecked(f, most), [first, last]);
                let parts = &mut sorted.parts;
                // SAFETY: the caller's promise of the items is the same for both keys.
                unsafe { by_index(workers(f), &values, slots, len, items, parts, tiles) }?;
            }
        }
        Ok(Some(sorted).filter(|sorted| sorted.is_complete(len)))
    }

    /// Empty buckets.
    fn empty(
        capacity: &Capacity,
        open: &'a mut Buffer,
        full: &'a mut Buffer,
    ) -> Result<Self, Error> {
        let &Capacity { parts, buckets, blocks, spare } = capacity;
        let in_part = buckets.count * (blocks + spare);
        let open = open.room(parts * buckets.count)?.chunks_mut(buckets.count);
        let rooms = open.zip(full.room(parts * in_part)?.chunks_mut(in_part));
        let mut parts = try_with_capacity(parts)?;
        for (open, full) in rooms {
            parts.push(ThreadBuckets::new(buckets, open, full, blocks, spare)?);
        }
        Ok(Self { parts, buckets })
    }

    /// Whether all items are in their buckets.
    fn is_complete(&self, len: usize) -> bool {
        let overflows = self.parts.iter().any(ThreadBuckets::overflows);
        let count = (0..self.buckets.count).map(|bucket| self.count(bucket)).sum::<usize>();
        !overflows && count == len
    }

    /// The number of items in a bucket.
    pub(super) fn count(&self, bucket: usize) -> usize {
        self.parts.iter().map(|part| part.count(bucket)).sum()
    }
}

/// Sorts `len` items by the values that survive among the slots `first..=last`, item `k` by the
/// `k`-th of them, for undoing a shuffle. If a bucket overflows, some items are in none afterwards.
///
/// # Errors
///
/// [`Error::OutOfMemory`].
///
/// # Safety
///
/// There are `len` items, and nobody writes to them meanwhile.
unsafe fn by_index<T: Send, L: LowBits, S: ItemSource<T>>(
    workers: Workers,
    values: &Values<'_>,
    [first, last]: [u64; 2],
    len: usize,
    items: &S,
    parts: &mut [ThreadBuckets<T, L>],
    tiles: &mut Buffer,
) -> Result<(), Error> {
    let most = tile_slots(last - first, parts.len());
    let room = tiles.room::<L::Index>(parts.len() * room_for(most))?;
    // Each part's tile, and the position of its first survivor.
    let mut tiles = try_with_capacity(parts.len())?;
    tiles.extend(room.chunks_mut(room_for(most)).map(|room| (SurvivorTile::new(room), 0)));
    // Callers are mostly in the pool already, but compiled as a function of its own this is faster:
    // 572, 548 and 549 at 2^25 + 1, and 542, 511 and 512 without it.
    parallel::inside(workers, || {
        let mut next = Some(SlotRange::from(first, last, most));
        let mut position = 0;
        loop {
            for (tile, _) in &mut tiles {
                tile.slots = next;
                next = next.and_then(|slots| slots.next(last, most));
            }
            let each_part = SharedPtr::new(parts.as_mut_ptr());
            parallel::each_mut(&mut tiles, |number, (tile, position)| {
                let _publish = Publish;
                // SAFETY: there is a part for each tile.
                let part = unsafe { each_part.at(number) };
                // SAFETY: the parts are borrowed mutably, and each number is passed once, so nobody
                // else uses this one.
                let part = unsafe { &mut *part };
                // Pushes the survivors of the wave before, whose positions are known by now.
                // SAFETY: after every wave the positions are at most `len`, or the loop would have
                // ended, so there is an item for each survivor. The caller promises that nobody
                // writes to the items.
                unsafe { part.push_all(tile.survivors(), items, *position, &mut S::room()) };
                tile.evaluate(values, None);
            });
            let mut any = false;
            for (tile, first) in &mut tiles {
                *first = position;
                position += tile.survivors().len();
                any |= !tile.survivors().is_empty();
            }
            if position > len || (!any && next.is_none()) {
                return Ok(());
            }
        }
    })
}

/// The number of slots that each part takes at a time, chosen so that all parts take equally many
/// in total, as they have room for equally many. There is one slot more than `last`.
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
                // At most one slot too many for each wave and part.
                assert!(
                    waves * parts * tile <= last as usize + 1 + waves * parts,
                    "{last}, {parts}"
                );
            }
        }
    }
}
