//! The partitioned strategy: items are sorted into buckets by where they go, with sequential
//! traffic only, and then put in order a cache's worth at a time.
//!
//! ```text
//! for index in source, on all threads:               sort.rs, block.rs
//!     slot = f.inverse(index)
//!     append (item, low bits of slot) to the open block of bucket slot >> 16
//!     if the block is full: stream it to memory      or give up if the bucket is full
//! for bucket, on all threads:                        place.rs, few.rs; nothing fails from here on
//!     stage[rank of slot] = item                     in the cache
//!     stream the stage to the bucket's places
//! ```
//!
//! Beyond the caches, a gather pays a cache line and a TLB miss for every item. Here memory is read
//! and written in order, and only the cache is accessed at random: a bucket's items fit L2, and so
//! do the open blocks of a few lines. A bitmap of the bucket's slots gives the ranks. The bijection
//! is evaluated once for each item, and not for each slot.
//!
//! For very many slots the buckets become larger instead of more numerous, because each bucket's
//! open block has to stay in the cache.
//!
//! Where the items are few for the slots, a bucket has more slots than the bitmap would fit the
//! cache for, and its items are sorted by their slots instead.
//!
//! Undoing a shuffle also reads the source in order, along with the surviving indexes. The buckets
//! are then runs of indexes, which have no gaps.
//!
//! The items are copied as bits, and the source is only read until every item is in its bucket. So
//! the sort can be abandoned until then, and is if a bucket overflows. A bucket has room for many
//! standard deviations more than the mean of a random permutation, but not for every permutation.

pub(crate) mod block;
mod few;
pub(crate) mod mailbox;
pub(crate) mod outbox;
mod place;
mod sealed;
pub(crate) mod shape;
pub(crate) mod sort;
#[cfg(test)]
mod tests;

use core::mem::MaybeUninit;
use std::sync::Mutex;

use few::Cells;
use place::{OrderBucket, PartitionedBucketOrder, PutAtSlots};
use sort::{BucketKey, Capacity, Partition};

use super::buckets::{BucketDivision, LowBits};
use super::gaps::{self, CloseGaps};
use super::places::{ItemSource, ItemTarget};
use super::taken::{SlotBits, TakenSlots};
use super::tuning;
use crate::compact::Direction;
use crate::engine::abort::AbortOnUnwind;
use crate::engine::check::try_with_capacity;
use crate::engine::memory::Buffer;
use crate::engine::parallel;
use crate::engine::simd::SimdLevel;
use crate::engine::stream::publish;
use crate::{Bijection, Error, Trusted};

/// The buffers that the strategy needs.
#[derive(Debug, Default)]
pub(in crate::compact::cpu) struct PartitionedBuffers {
    /// The blocks that are being filled, which stay in the cache.
    open: Buffer,
    /// The full blocks.
    full: Buffer,
    /// The indexes that survive, a tile for each thread.
    pub(in crate::compact::cpu) tiles: Buffer,
    /// Room for one bucket's items in order, for each thread.
    stages: Buffer,
    /// The bitmap of one bucket's taken slots, for each thread.
    taken: Buffer,
    /// The cells of one bucket, for each thread.
    cells: Buffer,
}

impl PartitionedBuffers {
    pub(in crate::compact::cpu) const fn new() -> Self {
        Self {
            open: Buffer::new(),
            full: Buffer::new(),
            tiles: Buffer::new(),
            stages: Buffer::new(),
            taken: Buffer::new(),
            cells: Buffer::new(),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let Self { open, full, tiles, stages, taken, cells } = self;
        [open, full, tiles, stages, taken, cells].map(Buffer::bytes).iter().sum()
    }
}

/// A sort that is to be made: by which bijection, in which direction, and into which buckets.
pub(in crate::compact::cpu) struct Sorting<'a> {
    f: &'a Trusted<'a>,
    len: usize,
    direction: Direction,
    buckets: BucketDivision,
    /// Whether the items are few for the slots.
    is_sparse: bool,
}

impl<'a> Sorting<'a> {
    /// A sort of `len` items of type T into at most `most_buckets` buckets; `None` where the
    /// strategy does not apply.
    pub(in crate::compact::cpu) fn new<T>(
        f: &'a Trusted<'a>,
        len: usize,
        direction: Direction,
        most_buckets: u64,
    ) -> Option<Self> {
        let len_less_one = (len as u64).checked_sub(1)?;
        let is_sparse = f.last() / tuning::SPARSE >= len as u64;
        let (bits, last, most_bits) = match direction {
            // As many items in a bucket as with half of the usual size's slots taken.
            Direction::Shuffle if is_sparse => {
                ((u16::BITS - 1 + (f.last() / len as u64).ilog2()).min(63), f.last(), u32::BITS - 1)
            }
            Direction::Shuffle => (u16::BITS, f.last(), tuning::MOST_BUCKET_BITS),
            // All slots would be evaluated to find the surviving indexes.
            Direction::Unshuffle if is_sparse => return None,
            Direction::Unshuffle => (u16::BITS, len_less_one, tuning::MOST_BUCKET_BITS),
        };
        let buckets = BucketDivision::of_bits(bits, last, most_buckets);
        let serves =
            (1..=tuning::LARGEST_ITEM).contains(&size_of::<T>()) && buckets.bits <= most_bits;
        serves.then_some(Self { f, len, direction, buckets, is_sparse })
    }

    /// Whether the blocks, which are nearly all of the working memory, would take much more memory
    /// than the items in them.
    pub(in crate::compact::cpu) fn wastes_memory<T>(&self) -> bool {
        if self.buckets.are_usual() {
            self.capacity::<T, u16>().bytes() > tuning::most_bytes::<T, u16>(self.len)
        } else {
            self.capacity::<T, u32>().bytes() > tuning::most_bytes::<T, u32>(self.len)
        }
    }

    /// Whether the items are few for the slots.
    pub(in crate::compact::cpu) fn is_sparse(&self) -> bool {
        self.is_sparse
    }

    fn capacity<T, L>(&self) -> Capacity {
        let points = match self.direction {
            Direction::Shuffle => self.f.last() as f64 + 1.0,
            Direction::Unshuffle => self.len as f64,
        };
        Capacity::new::<T, L>(self.len, points, self.buckets, 0)
    }

    /// Sorts the items from `source` into buckets, and returns what writes them to `out`, which may
    /// be the same memory. `None`, with nothing to write, if a bucket overflows.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    ///
    /// # Safety
    ///
    /// The source has as many items of type T as the sort was created for, and nobody else uses
    /// them until they are placed.
    ///
    /// # Panics
    ///
    /// If `out` has a different number of places.
    pub(in crate::compact::cpu) unsafe fn sort<'b, T: Send + 'b>(
        &self,
        source: &impl ItemSource<T>,
        out: impl ItemTarget<T> + 'b,
        buffers: &'b mut PartitionedBuffers,
    ) -> Result<Option<Placing<'b>>, Error> {
        assert_eq!(out.len(), self.len);
        let Self { f, len, direction, is_sparse, buckets } = *self;
        let (key, order) = match direction {
            Direction::Unshuffle => (
                BucketKey::Index { first: 0, last: f.last(), len: len as u64 },
                PartitionedBucketOrder::Dense,
            ),
            Direction::Shuffle if len as u64 - 1 == f.last() => {
                (BucketKey::Slot, PartitionedBucketOrder::Dense)
            }
            Direction::Shuffle if is_sparse => (BucketKey::Slot, PartitionedBucketOrder::Sparse),
            Direction::Shuffle => (BucketKey::Slot, PartitionedBucketOrder::Gaps),
        };
        let PartitionedBuffers { open, full, tiles, stages, taken, cells } = buffers;
        let (blocks, rest) = ([open, full], [stages, taken, cells]);
        if buckets.are_usual() {
            let capacity = self.capacity::<T, u16>();
            // SAFETY: the caller promises as many items as the sort was created for, which is
            // `len`, and that nobody writes to them.
            let sorted = unsafe {
                Partition::<T, u16>::sort(&capacity, f, key, source, len, blocks, tiles)
            }?;
            sorted.map(|sorted| placing(sorted, order, out, rest)).transpose()
        } else {
            let capacity = self.capacity::<T, u32>();
            // SAFETY: the caller's promise about the source does not depend on the width of the low
            // bits.
            let sorted = unsafe {
                Partition::<T, u32>::sort(&capacity, f, key, source, len, blocks, tiles)
            }?;
            sorted.map(|sorted| placing(sorted, order, out, rest)).transpose()
        }
    }
}

/// Writes sorted items to their places. Nothing can fail any more.
pub(in crate::compact::cpu) type Placing<'a> = Box<dyn FnOnce() + 'a>;

/// Writes what [`Sorting::sort`] has sorted. Returns `false`, with nothing moved, if that was
/// nothing, because a bucket has overflowed.
pub(in crate::compact::cpu) fn place(sorted: Option<Placing>) -> bool {
    sorted.map(|write| write()).is_some()
}

/// Allocates what writing the items to `out` needs.
///
/// # Errors
///
/// [`Error::OutOfMemory`].
///
/// # Panics
///
/// If there are more items than `out` has places.
fn placing<'a, T: Send + 'a, L: LowBits + 'a>(
    partition: Partition<'a, T, L>,
    order: PartitionedBucketOrder,
    out: impl ItemTarget<T> + 'a,
    [stages, taken, cells]: [&'a mut Buffer; 3],
) -> Result<Placing<'a>, Error> {
    let (all, threads) = (partition.buckets, partition.parts.len());
    let mut rest = out;
    let mut buckets = try_with_capacity(all.count)?;
    for bucket in 0..all.count {
        let places;
        (places, rest) = rest.cut(partition.count(bucket));
        buckets.push((bucket, places));
    }
    let most = buckets.iter().map(|(_, places)| places.len()).max().unwrap_or(0);
    let room = places_at_slots::<T>(order, all) + most;
    let stages = stages.room(threads * room)?.chunks_mut(room);
    // Chunks of what is not needed are not empty either. The bitmap is there without gaps too, so
    // that a later call with gaps needs no more memory.
    let words =
        if order == PartitionedBucketOrder::Sparse { 1 } else { TakenSlots::count(all.len()) };
    let taken = taken.room(threads * words)?.chunks_mut(words);
    let words = if order == PartitionedBucketOrder::Sparse { Cells::room(most) } else { 1 };
    let cells = cells.room(threads * words)?.chunks_mut(words);
    let mut rooms = try_with_capacity(threads)?;
    let stages = stages.zip(taken).zip(cells);
    rooms.extend(stages.map(|((places, taken), cells)| PlacingStage { places, taken, cells }));
    let sorted = SortedItems { partition, order, buckets, stages: rooms };
    Ok(Box::new(move || sorted.place()))
}

/// The places at which a thread puts a bucket's items before it closes their gaps, if it does so
/// wherever there are gaps. They are there without gaps too, as the bitmap is.
fn places_at_slots<T>(order: PartitionedBucketOrder, buckets: BucketDivision) -> usize {
    let are_closed = gaps::are_closed::<T>(SimdLevel::current(), buckets);
    if are_closed && order != PartitionedBucketOrder::Sparse { buckets.len() } else { 0 }
}

/// A thread's room for one bucket's items in order, and for what puts them in order.
struct PlacingStage<'a, T> {
    places: &'a mut [MaybeUninit<T>],
    taken: &'a mut [MaybeUninit<TakenSlots>],
    cells: &'a mut [MaybeUninit<u32>],
}

/// Items in their buckets, with everything that is needed to write them to their places.
struct SortedItems<'a, T, L, O> {
    partition: Partition<'a, T, L>,
    order: PartitionedBucketOrder,
    /// The buckets, each with the places of its items.
    buckets: Vec<(usize, O)>,
    stages: Vec<PlacingStage<'a, T>>,
}

impl<T: Send, L: LowBits, O: ItemTarget<T>> SortedItems<'_, T, L, O> {
    /// Writes the items, in order, to their places.
    fn place(self) {
        let Self { partition, order, buckets, stages } = self;
        // Nothing below unwinds. If it did, items would exist twice or not at all, so the guard
        // aborts.
        let guard = AbortOnUnwind;
        let level = SimdLevel::current();
        let buckets = Mutex::new(buckets.into_iter());
        let next = || buckets.lock().expect("nobody panics with it").next();
        parallel::each_of(stages, |PlacingStage { places, taken, cells }| {
            let of = partition.buckets;
            let (at_slots, places) = places.split_at_mut(places_at_slots::<T>(order, of));
            let closes_gaps = order == PartitionedBucketOrder::Gaps && !at_slots.is_empty();
            let mut bits = SlotBits::NONE;
            while let Some((bucket, out)) = next() {
                let count = out.len();
                let (parts, stage) = (partition.parts.as_slice(), &mut places[..count]);
                if order == PartitionedBucketOrder::Sparse {
                    Cells::new(cells, count).order(parts, bucket, of, stage);
                } else if closes_gaps {
                    let taken = &mut bits;
                    level.run(PutAtSlots { parts, bucket, taken, stage: &mut *at_slots });
                    let all = bits.words().iter().map(|word| word.count_ones() as usize);
                    debug_assert_eq!(all.sum::<usize>(), count, "one slot for each item");
                    let to = stage.as_mut_ptr().cast();
                    // SAFETY: there are `count` places, which are not among those at slots. There
                    // is an item at each taken slot, and a trusted bijection has `count` taken
                    // slots.
                    level.run(unsafe { CloseGaps::<T>::new(at_slots, &bits, to, count) });
                } else {
                    let is_complete = level.run(OrderBucket { parts, bucket, order, taken, stage });
                    debug_assert!(is_complete, "a trusted bijection has one slot for each item");
                }
                out.stream(&places[..count]);
            }
            publish();
        });
        core::mem::forget(guard);
    }
}
