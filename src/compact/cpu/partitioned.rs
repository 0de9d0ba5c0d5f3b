//! The partitioned strategy: items are sorted by where they go, roughly, with sequential traffic only, and then put
//! in their places a cache's worth at a time.
//!
//! Past the caches, a gather pays a line of memory and a miss of the address cache for every item. Here the source is
//! read in order instead, `slot = f.inverse(index)`, and each item goes to the *bucket* of its slot: a run of slots
//! so short that its items fit the second-level cache. Items on their way to a bucket are collected in a *block* of a
//! few lines, which is written to memory when it is full. When all items are in their buckets, each bucket's items
//! are put in the order of their slots, without gaps, by a bitmap of its slots. As many evaluations are made as there
//! are items, and not as there are slots.
//!
//! To undo a shuffle the source is read in order as well, beside the indexes that survive, and the buckets are runs
//! of indexes, which have no gaps.
//!
//! The items are copied bit by bit, and the source is only read until every item is in its bucket. So all this can
//! be abandoned until then, and is, if a bucket overflows: there is room for many standard deviations more than the
//! mean of a random permutation, and none for every permutation.

use core::mem::MaybeUninit;
use std::sync::Mutex;

use rayon::prelude::*;

use super::block::{BUCKET_BITS, Packed, Part, items_per_block};
use super::memory::{Base, Buffer};
use super::stream::{publish, stream};
use super::survivors::{SlotRange, Tile, Values, room_for};
use super::tuning;
use crate::bijection::{Bijection, Trusted};
use crate::compact::try_with_capacity;
use crate::error::Error;
use crate::simd::{Kernel, Level};

/// The buffers that the strategy needs.
#[derive(Debug, Default)]
pub(in crate::compact) struct Buffers {
    /// The blocks that are being filled, which stay in the cache.
    open: Buffer,
    /// Those that are full.
    full: Buffer,
    /// Indexes that survive.
    pub(in crate::compact) tiles: Buffer,
    /// A bucket's items in order, for each thread.
    desks: Buffer,
}

impl Buffers {
    pub(super) const fn new() -> Self {
        Self {
            open: Buffer::new(),
            full: Buffer::new(),
            desks: Buffer::new(),
            tiles: Buffer::new(),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.open.bytes() + self.full.bytes() + self.desks.bytes() + self.tiles.bytes()
    }
}

/// Whether the strategy can be used at all for items of a type.
pub(in crate::compact) fn serves<T>(len: usize, last: u64) -> bool {
    (1..=tuning::LARGEST_ITEM).contains(&size_of::<T>())
        && last >> BUCKET_BITS < tuning::MOST_BUCKETS
        // With so many holes the buckets would be nearly empty.
        && len as u64 > last / 8
}

/// How much room there is for items on the way.
struct Rooms {
    parts: usize,
    buckets: usize,
    /// Full blocks to each bucket of each part.
    blocks: usize,
}

impl Rooms {
    fn new<T>(last: u64, len: usize) -> Self {
        let parts = rayon::current_num_threads();
        let buckets = (last >> BUCKET_BITS) as usize + 1;
        // What a part has of a bucket is hypergeometric, of less variance than Poisson's distribution.
        let share = (last + 1).min(1 << BUCKET_BITS) as f64 / (last + 1) as f64;
        let mean = len.div_ceil(parts) as f64 * share;
        let most = mean + tuning::DEVIATIONS * mean.sqrt() + 1.0;
        let blocks = (most / items_per_block::<T>() as f64).ceil() as usize;
        Self { parts, buckets, blocks }
    }

    /// What all the blocks take, the open ones among them.
    fn bytes(&self) -> usize {
        let blocks = self.parts * self.buckets * (self.blocks + 1);
        blocks.saturating_mul(tuning::BLOCK_BYTES)
    }
}

/// How many bytes the strategy needs for its blocks, which is nearly all that it needs.
pub(in crate::compact) fn bytes<T>(len: usize, last: u64) -> usize {
    Rooms::new::<T>(last, len).bytes()
}

/// Items in their buckets, as bits.
pub(in crate::compact) struct Partition<'a> {
    parts: Vec<Part<'a>>,
    buckets: usize,
    /// Room for a bucket in the cache of each thread.
    desks: &'a mut Buffer,
    /// Whether every slot is taken, so that there are no gaps to be closed.
    dense: bool,
}

impl<'a> Partition<'a> {
    /// Sorts the items by their slots; `None` if a bucket overflows.
    ///
    /// # Safety
    ///
    /// `items` are `len` items, which nobody writes to meanwhile, and [`serves`] says that they can be sorted.
    pub(in crate::compact) unsafe fn by_slot<T: Send>(
        f: &Trusted,
        items: &Base<T>,
        len: usize,
        buffers: &'a mut Buffers,
    ) -> Result<Option<Self>, Error> {
        let last = f.last();
        let Buffers { open, full, desks, .. } = buffers;
        let dense = len as u64 - 1 == last;
        let mut partition = Self::empty::<T>(last, len, dense, open, full, desks)?;
        let share = len.div_ceil(partition.parts.len());
        partition.parts.par_iter_mut().enumerate().with_max_len(1).for_each(|(number, part)| {
            let mut slots = [0; tuning::RUN];
            let end = ((number + 1) * share).min(len);
            for first in (number * share..end).step_by(tuning::RUN) {
                let slots = &mut slots[..(end - first).min(tuning::RUN)];
                f.inverse_run_u32(first as u64, slots);
                for (index, &slot) in (first..).zip(&*slots) {
                    // SAFETY: the index is below the length.
                    let item = unsafe { items.at(index) };
                    // SAFETY: it is an item, and of the type that `serves` was asked for.
                    unsafe { part.push(slot as usize, item) };
                }
            }
            part.finish();
        });
        Ok(partition.if_complete::<T>(len))
    }

    /// Sorts the items by the indexes that survive; `None` if a bucket overflows, or if there are not as many indexes
    /// as items.
    ///
    /// # Safety
    ///
    /// As [`by_slot`](Self::by_slot).
    pub(in crate::compact) unsafe fn by_index<T: Send>(
        f: &Trusted,
        items: &Base<T>,
        len: usize,
        buffers: &'a mut Buffers,
    ) -> Result<Option<Self>, Error> {
        let last = f.last();
        let Buffers { open, full, desks, tiles } = buffers;
        let mut partition = Self::empty::<T>(len as u64 - 1, len, true, open, full, desks)?;
        let parts = partition.parts.len();
        let most = tile_slots(last, parts);
        let room = tiles.room::<u32>(parts * room_for(most))?;
        // Each part's tile, and the place of its first survivor.
        let tiles = room.chunks_mut(room_for(most)).map(|room| (Tile::new(room), 0));
        let mut tiles: Vec<_> = tiles.collect();
        let values = Values::of_trusted(f, len);
        let mut next = Some(SlotRange::first(last, most));
        let mut position = 0;
        loop {
            for (tile, _) in &mut tiles {
                tile.slots = next;
                next = next.and_then(|slots| slots.next(last, most));
            }
            let work = tiles.par_iter_mut().zip(&mut partition.parts).with_max_len(1);
            work.for_each(|((tile, position), part)| {
                // The survivors of the wave before, whose places are known by now.
                for (place, &index) in (*position..).zip(tile.survivors()) {
                    // SAFETY: the places that were given out are below the length.
                    let item = unsafe { items.at(place) };
                    // SAFETY: as in `by_slot`.
                    unsafe { part.push(index as usize, item) };
                }
                tile.evaluate(&values);
                part.finish();
            });
            let mut any = false;
            for (tile, first) in &mut tiles {
                *first = position;
                position += tile.survivors().len();
                any |= !tile.survivors().is_empty();
            }
            if position > len {
                return Ok(None);
            }
            if !any && next.is_none() {
                break;
            }
        }
        Ok(partition.if_complete::<T>(len))
    }

    /// Empty buckets for slots, or indexes, up to the last.
    fn empty<T>(
        last: u64,
        len: usize,
        dense: bool,
        open: &'a mut Buffer,
        full: &'a mut Buffer,
        desks: &'a mut Buffer,
    ) -> Result<Self, Error> {
        let Rooms { parts, buckets, blocks } = Rooms::new::<T>(last, len);
        let open = open.room(parts * buckets)?;
        let full = full.room(parts * buckets * blocks)?;
        let parts = open.chunks_mut(buckets).zip(full.chunks_mut(buckets * blocks));
        let parts = parts.map(|(open, full)| Part::new(open, full, blocks));
        Ok(Self { parts: parts.collect::<Result<_, _>>()?, buckets, desks, dense })
    }

    /// Itself, if all items are in their buckets.
    fn if_complete<T>(self, len: usize) -> Option<Self> {
        let overflows = self.parts.iter().any(Part::overflows);
        let count = (0..self.buckets).map(|bucket| self.count::<T>(bucket)).sum::<usize>();
        (!overflows && count == len).then_some(self)
    }

    /// How many items a bucket has.
    fn count<T>(&self, bucket: usize) -> usize {
        self.parts.iter().map(|part| part.count::<T>(bucket)).sum()
    }

    /// Writes the items, in order, over all of `out`.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], before anything was written.
    ///
    /// # Safety
    ///
    /// They are of type T and as many as `out` has places.
    pub(in crate::compact) unsafe fn place<T: Send>(
        self,
        out: &mut [MaybeUninit<T>],
    ) -> Result<(), Error> {
        let mut rest = out;
        let mut buckets = try_with_capacity(self.buckets)?;
        for bucket in 0..self.buckets {
            let places;
            (places, rest) = rest.split_at_mut(self.count::<T>(bucket));
            buckets.push((bucket, places));
        }
        let most = buckets.iter().map(|(_, places)| places.len()).max().unwrap_or(0);
        let desks = self.desks.room(self.parts.len() * most)?;
        // Nothing unwinds from here on; should it, items would exist twice or not at all.
        let guard = AbortOnUnwind;
        let level = Level::current();
        let buckets = Mutex::new(buckets.into_iter());
        let next = || buckets.lock().expect("nobody panics with it").next();
        desks.par_chunks_mut(most).with_max_len(1).for_each(|desk| {
            while let Some((bucket, out)) = next() {
                let desk = &mut desk[..out.len()];
                level.run(Place { parts: &self.parts, bucket, dense: self.dense, desk });
                stream(desk, out);
            }
            publish();
        });
        core::mem::forget(guard);
        Ok(())
    }
}

/// How many slots each part takes at a time: as many as make all parts take equally many in the end, since their
/// rooms are.
fn tile_slots(last: u64, parts: usize) -> usize {
    let slots = last as usize + 1;
    let waves = slots.div_ceil(parts * tuning::LONG_TILE);
    slots.div_ceil(parts * waves)
}

struct AbortOnUnwind;

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        std::process::abort();
    }
}

/// Puts a bucket's items in order. A kernel, since counting bits is an instruction of its own on most machines.
struct Place<'a, T> {
    parts: &'a [Part<'a>],
    bucket: usize,
    dense: bool,
    desk: &'a mut [MaybeUninit<T>],
}

/// A bucket's slots.
const SLOTS: usize = 1 << BUCKET_BITS;

/// 64 slots: which of them are taken, and how many are before them.
#[derive(Clone, Copy, Default)]
struct Taken {
    slots: u64,
    before: u32,
}

/// The taken slots of a bucket.
#[inline(always)]
fn taken<T>(parts: &[Part], bucket: usize) -> [Taken; SLOTS / 64] {
    let mut words = [Taken::default(); SLOTS / 64];
    for part in parts {
        part.for_each::<T>(bucket, |low, _| words[low / 64].slots |= 1 << (low % 64));
    }
    let mut before = 0;
    for word in &mut words {
        word.before = before;
        before += word.slots.count_ones();
    }
    words
}

impl<T> Kernel for Place<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { parts, bucket, dense, desk } = self;
        let copy = |item: Packed<T>, place: &mut MaybeUninit<T>| {
            // SAFETY: the block is in one of the parts, which are borrowed.
            unsafe { item.copy_to(place) };
        };
        if dense {
            for part in parts {
                part.for_each(bucket, |low, item| copy(item, &mut desk[low]));
            }
            return;
        }
        let taken = taken::<T>(parts, bucket);
        for part in parts {
            part.for_each(bucket, |low, item| {
                let Taken { slots, before } = taken[low / 64];
                let below = slots & ((1 << (low % 64)) - 1);
                copy(item, &mut desk[(before + below.count_ones()) as usize]);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use rayon::ThreadPoolBuilder;

    use super::*;
    use crate::bijection::{FromSeed, MulXorshift};

    /// Overflows would be mended by the direct strategy, and so not be seen from outside.
    #[test]
    fn random_permutations_do_not_overflow() {
        for threads in [1, 2, 3, 7, 16] {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            for len in [1, 1000, 65_537, 200_000, 1 << 18, (1 << 20) + 1] {
                let f = MulXorshift::<10>::from_seed(len as u64, 1);
                let f = f.trusted().unwrap();
                let mut items: Vec<u32> = (0..len as u32).collect();
                let base = Base::new(items.as_mut_ptr());
                let mut buffers = Buffers::new();
                pool.install(|| {
                    // SAFETY: these are the items, and nobody writes to them.
                    let sorted = unsafe { Partition::by_slot(&f, &base, len, &mut buffers) };
                    assert!(sorted.unwrap().is_some(), "{len} by slot, {threads} threads");
                    // SAFETY: as above.
                    let sorted = unsafe { Partition::by_index(&f, &base, len, &mut buffers) };
                    assert!(sorted.unwrap().is_some(), "{len} by index, {threads} threads");
                });
            }
        }
    }

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
