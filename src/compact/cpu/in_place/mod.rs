//! The strategy in place: items are exchanged within the array a block at a time, and then put in
//! order a cache's worth at a time.
//!
//! ```text
//! each thread:                                        collect.rs, claims.rs
//!     take a block that nobody has read, and read it
//!     for item in the block:
//!         append it to the open block of its bucket   its low bits too
//!         if the open block is full:
//!             claim a block of the bucket's places
//!             if that has not been read: read it, and go on with its items afterwards
//!             write the full block there
//! for bucket, on all threads:                         order.rs
//!     stage = its items, from its places and from all open blocks, in order
//!     copy the stage to its places
//! ```
//!
//! It does what the partitioned strategy does without a second copy of the items. Each bucket's
//! final places are divided into blocks of equal length; the last may be shorter. Each block is
//! read once, and written at most once, after it has been read.
//!
//! This is one pass of an in-place sample sort as in Axtmann, Witt, Ferizovic and Sanders,
//! *Engineering In-place (Shared-memory) Sorting Algorithms* (2022), with two differences. The
//! bijection tells in advance how many items each bucket gets, so a block goes to its place at
//! once, where a sort has to write it back, count, and exchange it in a second pass. And where an
//! item belongs is computed from where it was, which nobody knows once it has moved. So its *low
//! bits*, its number within the bucket, are kept beside the array.
//!
//! In a shuffle with gaps, a bucket has as many places as taken slots, which are counted before any
//! item moves. Which slots are taken is told by the low bits of the bucket's items.
//!
//! The working memory is the low bits, two bytes an item, and each thread's blocks, among which is
//! room for a bucket in order when they are no longer needed; to undo a shuffle with gaps, also the
//! marks of the taken slots. It is all allocated before the first item moves. From then on nothing
//! can fail: the bijection is trusted not to panic, the counts are exact, and no bucket can
//! overflow.

mod claims;
// Loom has no 64-bit atomics on machines of 32 bits.
#[cfg(all(test, target_pointer_width = "64"))]
mod claims_model;
mod collect;
mod destinations;
mod grid;
mod marks;
mod order;
mod points;
#[cfg(test)]
mod tests;

use core::sync::atomic;

use claims::Claims;
use collect::{BlockExchange, Collector, CollectorRoom, CollectorRun};
use destinations::{Destinations, SlotDestinations, SurvivorDestinations, ValueDestinations};
use grid::BlockGrid;
use order::InPlaceBucketOrder;

use super::buckets::{BucketDivision, LowBits};
use super::call::Call;
use super::taken::TakenSlots;
use super::{gaps, tuning};
use crate::compact::Direction;
use crate::engine::abort::AbortOnUnwind;
use crate::engine::check::try_with_capacity;
use crate::engine::memory::{Buffer, SharedPtr};
use crate::engine::parallel;
use crate::engine::simd::SimdLevel;
use crate::{Bijection, Error, Trusted};

/// The buffers that the strategy needs.
#[derive(Debug, Default)]
pub(in crate::compact::cpu) struct InPlaceBuffers {
    /// The low bits of the items that have been written, at the items' places.
    lows: Buffer,
    /// The blocks of all threads, where each later puts a bucket's items in order, and their low
    /// bits.
    blocks: Buffer,
    block_lows: Buffer,
    /// The taken slots, a bit for each slot, to undo a shuffle.
    marks: Buffer,
    /// One bucket's taken slots, for each thread.
    taken: Buffer,
}

impl InPlaceBuffers {
    pub(in crate::compact::cpu) const fn new() -> Self {
        Self {
            lows: Buffer::new(),
            blocks: Buffer::new(),
            block_lows: Buffer::new(),
            marks: Buffer::new(),
            taken: Buffer::new(),
        }
    }

    pub(in crate::compact::cpu) fn bytes(&self) -> usize {
        let Self { lows, blocks, block_lows, marks, taken } = self;
        [lows, blocks, block_lows, marks, taken].map(Buffer::bytes).iter().sum()
    }

    /// Buffers with room for this many bytes of low bits, and of blocks.
    #[cfg(test)]
    pub(in crate::compact::cpu) fn of_sizes(lows: usize, blocks: usize) -> Self {
        let mut all = Self::new();
        for (buffer, bytes) in [(&mut all.lows, lows), (&mut all.blocks, blocks)] {
            if bytes > 0 {
                buffer.room::<u8>(bytes).unwrap();
            }
        }
        all
    }

    /// The same except for the low bits, which take memory for each item, if all would be more than
    /// `most` bytes.
    pub(in crate::compact::cpu) fn within(mut self, most: usize) -> Self {
        if self.bytes() > most {
            self.lows = Buffer::new();
        }
        if self.bytes() > most { Self::new() } else { self }
    }
}

/// A move in place that is to be made: by which bijection, in which direction, and with which
/// buckets and blocks.
pub(in crate::compact::cpu) struct InPlace<'a, C> {
    f: &'a Trusted<'a>,
    len: usize,
    call: C,
    buckets: BucketDivision,
    /// The number of items in a block, as a power of two.
    block_bits: u32,
}

impl<'a, C: Call> InPlace<'a, C> {
    /// A move of `len` items of type T with at most `most_buckets` buckets; `None` where the
    /// strategy does not apply.
    pub(in crate::compact::cpu) fn new<T>(
        f: &'a Trusted<'a>,
        len: usize,
        call: C,
        most_buckets: u64,
    ) -> Option<Self> {
        let last = match call.direction() {
            Direction::Shuffle => f.last(),
            Direction::Unshuffle => (len as u64).checked_sub(1)?,
        };
        let buckets =
            BucketDivision::of_bits(tuning::bucket_bits(size_of::<T>())?, last, most_buckets);
        let (bytes, threads) = (len.saturating_mul(size_of::<T>()), rayon::current_num_threads());
        let block_bytes = tuning::block_bytes(bytes, buckets.count, threads);
        let block_bits = tuning::exchanged_bits::<T>(block_bytes);
        let serves = f.conduct().is_panic_free
            && buckets.bits <= tuning::MOST_BUCKET_BITS
            && buckets.len() >> block_bits < claims::MOST_BLOCKS
            // With fewer items for their slots, most evaluations would be for empty slots.
            && len as u64 > f.last() / tuning::SPARSE;
        serves.then_some(Self { f, len, call, buckets, block_bits })
    }

    /// Moves the items.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], before anything is moved.
    ///
    /// # Safety
    ///
    /// There are as many items of type T from `items` on as this was created for, and nobody else
    /// uses them meanwhile.
    pub(in crate::compact::cpu) unsafe fn run<T: Send>(
        &self,
        items: SharedPtr<T>,
        buffers: &mut InPlaceBuffers,
    ) -> Result<(), Error> {
        if self.buckets.bits <= u16::BITS {
            // SAFETY: `run_with` asks for what the caller has promised of the items.
            unsafe { self.run_with::<T, u16>(items, buffers) }
        } else {
            // SAFETY: the caller's promise does not depend on the width of the low bits.
            unsafe { self.run_with::<T, u32>(items, buffers) }
        }
    }

    /// Moves the items, with low bits of type L.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], before anything is moved.
    ///
    /// # Safety
    ///
    /// As [`run`](Self::run).
    unsafe fn run_with<T: Send, L: LowBits>(
        &self,
        items: SharedPtr<T>,
        buffers: &mut InPlaceBuffers,
    ) -> Result<(), Error> {
        let Self { f, len, call, buckets, block_bits } = *self;
        let InPlaceBuffers { lows, blocks, block_lows, marks, taken } = buffers;
        let fills_domain = len as u64 - 1 == f.last();
        let order = match call.direction() {
            Direction::Unshuffle => InPlaceBucketOrder::Dense,
            Direction::Shuffle if fills_domain => InPlaceBucketOrder::Dense,
            Direction::Shuffle if gaps::are_closed::<T>(SimdLevel::current(), buckets) => {
                InPlaceBucketOrder::Slots
            }
            Direction::Shuffle => InPlaceBucketOrder::Gaps,
        };
        let counts = match order {
            InPlaceBucketOrder::Dense => self.even_counts()?,
            InPlaceBucketOrder::Slots | InPlaceBucketOrder::Gaps => marks::counts(f, len, buckets)?,
        };
        let (slots, values, survivors);
        let destinations: &dyn Destinations<L> = match call.direction() {
            Direction::Shuffle => {
                slots = SlotDestinations(f);
                &slots
            }
            Direction::Unshuffle if fills_domain => {
                values = ValueDestinations(f);
                &values
            }
            Direction::Unshuffle => {
                survivors = SurvivorDestinations::new(f, len, marks)?;
                &survivors
            }
        };
        let buffers = [lows, blocks, block_lows, taken];
        // SAFETY: the caller promises as many items as the counts add up to, and that nobody else
        // uses them.
        unsafe { exchange(items, &counts, order, destinations, buckets, block_bits, buffers) }
    }

    /// The number of items in each bucket, where all slots or indexes before the last are taken.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    fn even_counts(&self) -> Result<Vec<usize>, Error> {
        let Self { len, buckets, .. } = *self;
        let mut counts = try_with_capacity(buckets.count)?;
        let before = (0..buckets.count).map(|bucket| bucket * buckets.len());
        counts.extend(before.map(|before| (len - before).min(buckets.len())));
        Ok(counts)
    }
}

/// Moves items with given numbers in each bucket to their destinations, in blocks of
/// `2^block_bits`, and orders each bucket.
///
/// # Errors
///
/// [`Error::OutOfMemory`], before anything is moved.
///
/// # Safety
///
/// There are as many items as the counts add up to from `items` on, and nobody else uses them
/// meanwhile. The destinations are a permutation, with that many in each bucket.
unsafe fn exchange<T: Send, L: LowBits>(
    items: SharedPtr<T>,
    counts: &[usize],
    order: InPlaceBucketOrder,
    destinations: &dyn Destinations<L>,
    buckets: BucketDivision,
    block_bits: u32,
    [lows, blocks, block_lows, taken]: [&mut Buffer; 4],
) -> Result<(), Error> {
    let level = SimdLevel::current();
    let grid = BlockGrid::new(counts, block_bits)?;
    let threads = rayon::current_num_threads();
    let exchange = BlockExchange {
        items,
        lows: SharedPtr::new(
            lows.room_in_pages::<L>(counts.iter().sum())?.as_mut_ptr().cast::<L>(),
        ),
        buckets,
        grid: &grid,
        claims: &Claims::new(&grid, tuning::bucket_shares(buckets.count, threads))?,
        destinations,
        prefetches: tuning::prefetches_open(buckets.count),
    };

    let most = match order {
        InPlaceBucketOrder::Slots => buckets.len(),
        InPlaceBucketOrder::Dense | InPlaceBucketOrder::Gaps => {
            counts.iter().copied().max().unwrap_or(0).max(1)
        }
    };
    let CollectorRoom { items: room, lows: low_room } = Collector::<T, L>::room(&grid, most);
    let blocks = blocks.room_in_pages(threads * room)?.chunks_mut(room);
    let block_lows = block_lows.room_in_pages(threads * low_room)?.chunks_mut(low_room);
    let mut collectors = try_with_capacity(threads)?;
    for (thread, (items, lows)) in blocks.zip(block_lows).enumerate() {
        let search = exchange.claims.search(thread, threads);
        collectors.push(Collector::new(&exchange, search, items, lows)?);
    }
    let words =
        if order == InPlaceBucketOrder::Gaps { TakenSlots::count(buckets.len()) } else { 1 };
    let taken = taken.room(threads * words)?.chunks_mut(words);
    let mut stages = try_with_capacity(threads)?;

    // Nothing below unwinds. If it did, items would exist twice or not at all, so the guard
    // aborts.
    let guard = AbortOnUnwind;
    parallel::each_mut(&mut collectors, |_, collector| {
        // SAFETY: the caller promises as many items as this was created for, which is the
        // number of the grid's places, and that nobody else uses them. There are as many low
        // bits, in a buffer that is borrowed for this whole call.
        level.run(unsafe { CollectorRun::new(collector) });
        collector.close();
    });
    stages.extend(collectors.iter_mut().map(Collector::take_spare).zip(taken));
    // SAFETY: all collectors have run. The promise of the items is the same.
    unsafe { order::all(&exchange, &collectors, order, stages) };
    core::mem::forget(guard);
    Ok(())
}
