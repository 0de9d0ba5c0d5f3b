//! Where the buckets of other ranks arrive, chunk after chunk, and are put in order.
//!
//! A chunk is a part of the run of buckets that a rank receives. There is room for two chunks: one
//! arrives while the one before it is put in order.

use core::mem::MaybeUninit;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;

use super::block::Block;
use super::outbox::{Outbox, Rest};
use super::place::{OrderBucket, PartitionedBucketOrder};
use super::sealed::SealedPart;
use super::shape::{Low, OutboxShape, others};
use crate::Error;
use crate::compact::cpu::buckets::BucketDivision;
use crate::compact::cpu::places::{DivisiblePlaces, ItemTarget, Span};
use crate::compact::cpu::taken::TakenSlots;
use crate::engine::check::try_with_capacity;
use crate::engine::memory::assume_init_mut;
use crate::engine::parallel;
use crate::engine::simd::SimdLevel;
use crate::engine::stream::Publish;

/// A rank's buckets, and room for those that other ranks send.
pub(crate) struct Mailbox<'a, T> {
    /// This rank's parts.
    parts: Vec<&'a [Block]>,
    /// Room for the chunks of even and of odd numbers: in each for the blocks of each
    /// [other](others) rank, and of each of its parts.
    received: [&'a mut [Block]; 2],
    desk: Desk<'a, T>,
}

/// What is needed to put buckets in order, besides those.
struct Desk<'a, T> {
    buckets: BucketDivision,
    /// Those of all ranks' buckets.
    shapes: Vec<OutboxShape>,
    rank: usize,
    /// For each thread as many places as the largest bucket has items.
    stages: &'a mut [MaybeUninit<T>],
    /// For each thread a bitmap of a bucket's taken slots.
    taken: &'a mut [MaybeUninit<TakenSlots>],
    /// The items of the largest bucket, at least one.
    most: usize,
}

impl<'a, T: Copy + Send + Sync> Outbox<'a, T> {
    /// Makes room for what the other ranks send. A chunk of it has at most `at_once` buckets, each
    /// with at most `most` items. With a single chunk there is no room for another one.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub(crate) fn exchange(
        self,
        shapes: Vec<OutboxShape>,
        rank: usize,
        chunks: usize,
        at_once: usize,
        most: usize,
    ) -> Result<Mailbox<'a, T>, Error> {
        let Self { buckets, parts, rest, .. } = self;
        let Rest { received, stages, taken } = rest;
        // A sum that is too large is refused as memory.
        let blocks = others(rank, shapes.len()).fold(0_usize, |sum, other| {
            let OutboxShape { parts, stride } = shapes[other];
            sum.saturating_add(parts.saturating_mul(stride).saturating_mul(at_once))
        });
        let received = received.room::<Block>(blocks.saturating_mul(chunks.min(2)))?;
        // SAFETY: blocks consist of `MaybeUninit` bytes, for which any memory is valid.
        let received = unsafe { assume_init_mut(received) };
        let (even, odd) = received.split_at_mut(blocks);
        let threads = rayon::current_num_threads();
        let most = most.max(1);
        let stages = stages.room::<T>(threads.saturating_mul(most))?;
        let taken = taken.room(threads * TakenSlots::count(buckets.len()))?;
        let desk = Desk { buckets, shapes, rank, stages, taken, most };
        Ok(Mailbox { parts, received: [even, odd], desk })
    }
}

impl<T: Copy + Send + Sync> Mailbox<'_, T> {
    /// The parts that this rank sends, the room for the chunk of a number, and what has arrived in
    /// the room for the chunk before it.
    pub(crate) fn step(&mut self, chunk: usize) -> DividedMailbox<'_, T> {
        let Self { parts, received: [even, odd], desk } = self;
        let (room, received) = if chunk.is_multiple_of(2) { (even, odd) } else { (odd, even) };
        let Desk { buckets, ref shapes, rank, ref mut stages, ref mut taken, most } = *desk;
        let arrivals = Arrivals { parts, received, buckets, shapes, rank, stages, taken, most };
        DividedMailbox { parts, shapes, room, arrivals }
    }
}

/// A mailbox, divided into what is in use while a chunk is on its way and what is not.
pub(crate) struct DividedMailbox<'m, T> {
    pub(crate) parts: &'m [&'m [Block]],
    pub(crate) shapes: &'m [OutboxShape],
    /// Where the chunk arrives.
    pub(crate) room: &'m mut [Block],
    /// The chunk before it.
    pub(crate) arrivals: Arrivals<'m, T>,
}

/// A chunk of buckets that have arrived, and what is needed to put them in order.
pub(crate) struct Arrivals<'m, T> {
    parts: &'m [&'m [Block]],
    received: &'m [Block],
    buckets: BucketDivision,
    shapes: &'m [OutboxShape],
    rank: usize,
    stages: &'m mut [MaybeUninit<T>],
    taken: &'m mut [MaybeUninit<TakenSlots>],
    most: usize,
}

/// A bucket that is to be put in order.
struct Work<T> {
    /// Its number in the chunk.
    bucket: usize,
    /// The number of its items.
    count: usize,
    /// Those before the first one that is this rank's.
    skipped: usize,
    /// Where this rank's items of it go.
    places: Span<T>,
}

impl<'m, T: Copy + Send + Sync> Arrivals<'m, T> {
    /// Puts the items of a chunk of buckets at their places. Bucket `b` has the items of the places
    /// from `starts[b]` to `starts[b + 1]`; `out` is those of this rank, from `first` on. Returns
    /// `false` if there are other items than that, or two of one slot.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    ///
    /// # Safety
    ///
    /// The blocks received are those of this chunk that the other ranks' mailboxes send, for items
    /// of the same type, and the shapes are those of these ranks' outboxes.
    ///
    /// # Panics
    ///
    /// If the chunk has more buckets than there is room for, or larger ones.
    pub(crate) unsafe fn place(
        self,
        chunk: Range<usize>,
        starts: &[u64],
        first: u64,
        out: &mut [T],
    ) -> Result<bool, Error> {
        if chunk.is_empty() {
            return Ok(true);
        }
        // SAFETY: the caller promises that the blocks are those of this chunk.
        let parts = unsafe { self.parts_of(chunk.clone()) }?;
        let places = first..first + out.len() as u64;
        // SAFETY: the places are borrowed mutably for this whole call, which does not use them
        // otherwise, and all that is written to them is written before it returns.
        let out = unsafe { Span::new(core::ptr::from_mut(out) as *mut [MaybeUninit<T>]) };
        let Some(work) = work_of(&parts, chunk, starts, places, out)? else { return Ok(false) };
        let Self { buckets, stages, taken, most, .. } = self;
        let mut rooms = try_with_capacity(stages.len() / most)?;
        let words = TakenSlots::count(buckets.len());
        rooms.extend(stages.chunks_exact_mut(most).zip(taken.chunks_exact_mut(words)));

        let level = SimdLevel::current();
        let (parts, is_complete) = (parts.as_slice(), AtomicBool::new(true));
        let work = Mutex::new(work.into_iter());
        let next = || work.lock().expect("nobody panics with it").next();
        parallel::each_of(rooms, |(stage, taken)| {
            let _publish = Publish;
            while let Some(Work { bucket, count, skipped, places }) = next() {
                // Those of indexes have no gaps, but what was received might.
                let order = PartitionedBucketOrder::Gaps;
                let (taken, stage) = (&mut *taken, &mut stage[..count]);
                if level.run(OrderBucket { parts, bucket, order, taken, stage }) {
                    let count = places.len();
                    places.stream(&stage[skipped..][..count]);
                } else {
                    is_complete.store(false, Ordering::Relaxed);
                }
            }
        });
        Ok(is_complete.into_inner())
    }

    /// The buckets of a chunk, in all parts of all ranks.
    ///
    /// # Safety
    ///
    /// As for [`place`](Self::place).
    unsafe fn parts_of(&self, chunk: Range<usize>) -> Result<Vec<SealedPart<'m, T, Low>>, Error> {
        let &Self { buckets, shapes, rank, parts: own, .. } = self;
        let mut parts = try_with_capacity(shapes.iter().map(|shape| shape.parts).sum::<usize>())?;
        let mut rest = self.received;
        for other in others(rank, shapes.len()) {
            let OutboxShape { parts: count, stride } = shapes[other];
            for _ in 0..count {
                let blocks;
                (blocks, rest) = rest.split_at(chunk.len() * stride);
                // SAFETY: the caller promises that these blocks are what that rank has sealed, for
                // items of this type, with this number of blocks for each bucket.
                parts.push(unsafe { SealedPart::new(buckets, blocks, stride) });
            }
        }
        let stride = shapes[rank].stride;
        for blocks in own {
            let blocks = &blocks[chunk.start * stride..chunk.end * stride];
            // SAFETY: this rank has sealed all of its parts, for items of this type.
            parts.push(unsafe { SealedPart::new(buckets, blocks, stride) });
        }
        Ok(parts)
    }
}

/// The buckets of a chunk, with the places of their items among those of this rank, `out`. `None`
/// if they have other numbers of items than bucket `b` has places, from `starts[b]` on.
fn work_of<T: Send>(
    parts: &[SealedPart<'_, T, Low>],
    chunk: Range<usize>,
    starts: &[u64],
    places: Range<u64>,
    out: Span<T>,
) -> Result<Option<Vec<Work<T>>>, Error> {
    // This rank's places are in memory.
    let number = |place: u64| (place.clamp(places.start, places.end) - places.start) as usize;
    let (_, mut rest) = out.cut(number(starts[chunk.start]));
    let mut work = try_with_capacity(chunk.len())?;
    for (bucket, of_all) in chunk.enumerate() {
        let [start, end] = [starts[of_all], starts[of_all + 1]];
        let counts = parts.iter().map(|part| part.count(bucket));
        let count = counts.sum::<Option<usize>>().filter(|&count| count as u64 == end - start);
        let Some(count) = count else { return Ok(None) };
        // Fewer than the bucket's items, which are in memory too.
        let skipped = places.start.saturating_sub(start) as usize;
        let places;
        (places, rest) = rest.cut(number(end) - number(start));
        work.push(Work { bucket, count, skipped, places });
    }
    Ok(Some(work))
}
