//! Items in buckets that travel: one rank sorts its items as the strategy's first half does, and
//! another puts what it has been sent in order as the second half does.
//!
//! Each bucket's blocks have two more behind the full ones: one for the items that do not fill a
//! block, and one that tells how many items there are. So a run of buckets is a run of memory that
//! can be sent as it is. Each thread sorts into a part of its own, and every part has such a run.

use core::mem::MaybeUninit;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;

use rayon::prelude::*;

use super::block::{Block, Part, SPARE, items_per_block};
use super::place::{Order, OrderBucket};
use super::{Buffers, sort};
use crate::base::check::try_with_capacity;
use crate::base::memory::{Buffer, SharedPtr, assume_init_mut};
use crate::base::parallel;
use crate::base::simd::SimdLevel;
use crate::base::stream::{LINE, Publish};
use crate::bijection::Trusted;
use crate::compact::cpu::buckets::Buckets;
use crate::compact::cpu::pack::SLACK;
use crate::compact::cpu::places::{Places, Span, Target};
use crate::compact::cpu::survivors::Values;
use crate::compact::cpu::taken::TakenSlots;
use crate::compact::cpu::tuning;
use crate::error::Error;

/// The bytes of a block, the unit in which buckets are sent.
pub(crate) const BLOCK_BYTES: usize = size_of::<Block>();

/// The bytes of a bitmap of a bucket's taken slots, and of the rest of what a thread needs besides
/// its items: a tile of slots, and what packing it may write beyond its end.
const TAKEN_BYTES: u64 = (1 << 14) + (tuning::LONG_TILE + SLACK) as u64 * size_of::<u32>() as u64;

/// The low bits of a slot or an index, which travel with an item.
type Low = u16;

/// What decides the bucket of an item.
#[derive(Clone, Copy)]
pub(crate) enum Key {
    /// The slot of the item's number.
    Slot,
    /// The index below `len` that survives at one of the slots from `first` to `last`; that of item
    /// `k` is the `k`-th.
    Index { first: u64, last: u64, len: u64 },
}

/// The number of buckets of points up to `last`, or `None` if they are too many.
pub(crate) fn bucket_count(last: u64) -> Option<usize> {
    buckets_of(last).map(|buckets| buckets.count)
}

/// Whether items of a type fit the blocks.
pub(crate) const fn fits<T>() -> bool {
    size_of::<T>() > 0 && size_of::<T>() <= tuning::LARGEST_ITEM
}

/// How `items` items of type T lie once this rank has sorted them into buckets of the points up to
/// `last`.
fn shape_with<T>(items: usize, last: u64, buckets: Buckets) -> Shape {
    let parts = rayon::current_num_threads();
    // As in `Sorting::capacity`.
    let share = (buckets.len() as f64 / (last as f64 + 1.0)).min(1.0);
    let mean = items.div_ceil(parts) as f64 * share;
    let most = mean + tuning::DEVIATIONS * mean.sqrt() + 1.0;
    let blocks = (most / items_per_block::<T, Low>() as f64).ceil() as usize;
    Shape { parts, stride: blocks + SPARE }
}

/// How `items` items of type T lie once this rank has sorted them into buckets of the points up to
/// `last`, or `None` if those are too many.
pub(crate) fn shape_of<T>(items: usize, last: u64) -> Option<Shape> {
    Some(shape_with::<T>(items, last, buckets_of(last)?))
}

/// The bytes that this rank takes to sort items of type T, and to put in order what it is sent:
/// `mine` of the buckets of the points up to `last`, of all ranks in these shapes.
pub(crate) fn working_bytes<T>(last: u64, mine: u64, rank: usize, shapes: &[Shape]) -> u64 {
    let buckets = bucket_count(last).unwrap_or(0) as u64;
    let blocks = |shape: &Shape, buckets: u64, more: u64| {
        (shape.parts as u64).saturating_mul(shape.stride as u64 + more).saturating_mul(buckets)
    };
    // Each part also has an open block for each bucket while it is sorted, and when it has arrived.
    let sorted = blocks(&shapes[rank], buckets, 1);
    let others = shapes.iter().enumerate().filter(|&(other, _)| other != rank);
    let received = others.map(|(_, shape)| blocks(shape, mine, 1));
    let own = shapes[rank].parts as u64 * mine;
    let all = received.fold(sorted.saturating_add(own), u64::saturating_add);
    let bucket = (1_u64 << Low::BITS) * size_of::<T>() as u64 + TAKEN_BYTES;
    let threads = rayon::current_num_threads() as u64;
    // Each of a dozen buffers at most begins on a line.
    let lines = 12 * LINE as u64;
    let buckets = threads.saturating_mul(bucket);
    all.saturating_mul(BLOCK_BYTES as u64).saturating_add(buckets).saturating_add(lines)
}

/// The buckets of the points up to `last`, or `None` if they are too many.
fn buckets_of(last: u64) -> Option<Buckets> {
    Some(Buckets::of_bits(Low::BITS, last, tuning::MOST_BUCKETS)).filter(|all| all.are_usual())
}

/// A rank's items in buckets.
pub(crate) struct Outbox<'a, T> {
    buckets: Buckets,
    stride: usize,
    parts: Vec<&'a mut [Block]>,
    counts: Vec<u64>,
    rest: Rest<'a>,
    items: core::marker::PhantomData<fn(T)>,
}

/// The memory that is not in use before buckets arrive.
struct Rest<'a> {
    received: &'a mut Buffer,
    tails: &'a mut Buffer,
    stages: &'a mut Buffer,
    taken: &'a mut Buffer,
}

/// Sorts copies of a rank's items into buckets of the points up to `last`. What other ranks send is
/// to come to `received`. `None` if a bucket
/// overflows, as it may if the bijection is nothing like random.
///
/// # Errors
///
/// [`Error::OutOfMemory`].
///
/// # Panics
///
/// If there are too many buckets, or the items do not fit blocks, or there are not as many as
/// the key tells.
pub(in crate::compact::cpu) fn sort_to_send<'a, T: Copy + Send + Sync>(
    partition: &'a mut Buffers,
    received: &'a mut Buffer,
    f: &Trusted,
    key: Key,
    last: u64,
    items: &[T],
) -> Result<Option<Outbox<'a, T>>, Error> {
    let buckets = buckets_of(last).expect("few buckets");
    assert!(fits::<T>());
    let Shape { parts: part_count, stride } = shape_with::<T>(items.len(), last, buckets);
    let blocks = stride - SPARE;
    let open = partition.open.room(part_count * buckets.count)?;
    let full = partition.full.room(part_count * buckets.count * stride)?;
    let rooms = open.chunks_mut(buckets.count).zip(full.chunks_mut(buckets.count * stride));
    let mut parts = try_with_capacity(part_count)?;
    for (open, full) in rooms {
        parts.push(Part::<T, Low>::new(buckets, open, full, blocks, SPARE)?);
    }
    let source = SharedPtr::new(items.as_ptr().cast_mut());
    match key {
        _ if items.is_empty() => {}
        // SAFETY: there are as many items as is said, and they are borrowed, so nobody writes
        // to them. The source is only read.
        Key::Slot => unsafe { sort::by_slot(f, items.len(), &source, &mut parts) },
        Key::Index { first, last, len } => {
            let values = Values::unchecked(f, len);
            let (slots, tiles) = ([first, last], &mut partition.tiles);
            // SAFETY: as many items as is said are borrowed here too, and only read.
            unsafe { sort::by_index(&values, slots, items.len(), &source, &mut parts, tiles) }?;
        }
    }
    let mut counts = try_with_capacity(buckets.count)?;
    let count = |bucket| parts.iter().map(|part| part.count(bucket) as u64).sum::<u64>();
    counts.extend((0..buckets.count).map(count));
    let is_complete = counts.iter().sum::<u64>() == items.len() as u64;
    if parts.iter().any(Part::overflows) || !is_complete {
        return Ok(None);
    }
    let parts = parts.into_par_iter().with_max_len(1).map(seal).collect();
    let rest = Rest {
        received,
        tails: &mut partition.cells,
        stages: &mut partition.stages,
        taken: &mut partition.taken,
    };
    Ok(Some(Outbox { buckets, stride, parts, counts, rest, items: core::marker::PhantomData }))
}

/// Seals a part, so that other threads see all of it.
fn seal<'a, T>(part: Part<'a, T, Low>) -> &'a mut [Block] {
    let _publish = Publish;
    part.seal()
}

impl<'a, T: Copy + Send + Sync> Outbox<'a, T> {
    /// The number of items in each bucket.
    pub(crate) fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// The number of parts, and the blocks of a bucket in each.
    pub(crate) fn shape(&self) -> Shape {
        Shape { parts: self.parts.len(), stride: self.stride }
    }

    /// Makes room for the same run of buckets of all other ranks.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub(crate) fn exchange(
        self,
        shapes: Vec<Shape>,
        rank: usize,
        mine: Range<usize>,
    ) -> Result<Mailbox<'a, T>, Error> {
        let Self { buckets, stride, parts, rest, items, .. } = self;
        let Rest { received, tails, stages, taken } = rest;
        let others = shapes.iter().enumerate().filter(|&(other, _)| other != rank);
        // A sum that is too large is refused as memory.
        let blocks = others.fold(0_usize, |sum, (_, shape)| {
            sum.saturating_add(shape.parts.saturating_mul(shape.stride).saturating_mul(mine.len()))
        });
        let received = received.room::<Block>(blocks)?;
        // SAFETY: blocks consist of `MaybeUninit` bytes, for which any memory is valid.
        let received = unsafe { assume_init_mut(received) };
        Ok(Mailbox {
            buckets,
            stride,
            parts,
            shapes,
            rank,
            mine,
            received,
            tails,
            stages,
            taken,
            items,
        })
    }
}

/// How a rank's buckets lie: how many parts there are, and how many blocks each bucket has in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) parts: usize,
    pub(crate) stride: usize,
}

impl Shape {
    /// Whether there are the blocks that every bucket has beside the full ones.
    pub(crate) fn has_spare(self) -> bool {
        self.stride >= SPARE
    }
}

/// A rank's buckets, and room for those that other ranks send.
pub(crate) struct Mailbox<'a, T> {
    buckets: Buckets,
    stride: usize,
    parts: Vec<&'a mut [Block]>,
    shapes: Vec<Shape>,
    rank: usize,
    mine: Range<usize>,
    /// The blocks of each other rank, and of each of its parts.
    received: &'a mut [Block],
    tails: &'a mut Buffer,
    stages: &'a mut Buffer,
    taken: &'a mut Buffer,
    items: core::marker::PhantomData<fn(T)>,
}

impl<T: Copy + Send + Sync> Mailbox<'_, T> {
    /// The shapes of all ranks' buckets.
    pub(crate) fn shapes(&self) -> &[Shape] {
        &self.shapes
    }

    /// The blocks of one of this rank's parts, if it has that part, and the room for all blocks
    /// that are received.
    pub(crate) fn blocks(&mut self, part: usize) -> (&[MaybeUninit<u8>], &mut [MaybeUninit<u8>]) {
        let sent = self.parts.get(part).map_or(&[][..], |blocks| Block::bytes(blocks));
        (sent, Block::bytes_mut(self.received))
    }

    /// Puts what is in this rank's buckets at its places. The first bucket has `skipped` items that
    /// belong to the rank before, and the last one may have some that belong to the next rank.
    /// Returns `false` if there are other items than the counts of all ranks' buckets together, or
    /// two of one slot.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    ///
    /// # Safety
    ///
    /// The blocks received are those that the other ranks' mailboxes send, for items of the same
    /// type.
    pub(crate) unsafe fn place(
        self,
        totals: &[u64],
        skipped: u64,
        out: &mut [T],
    ) -> Result<bool, Error> {
        let Self { stride, mut parts, shapes, rank, mine, received, tails, stages, taken, .. } =
            self;
        let buckets = Buckets { bits: self.buckets.bits, count: mine.len() };
        let (Some(most), Ok(mut skipped)) =
            (totals[mine.clone()].iter().max(), usize::try_from(skipped))
        else {
            return Ok(out.is_empty());
        };
        let all_parts = shapes.iter().map(|shape| shape.parts).sum::<usize>();
        let open = tails.room(all_parts * buckets.count)?;
        let mut opens = open.chunks_mut(buckets.count);
        let mut all = try_with_capacity(all_parts)?;
        let mut add = |full, stride| -> Result<bool, Error> {
            let open = opens.next().expect("one for each part");
            // SAFETY: the caller promises that these are the blocks that were sealed.
            let part = unsafe { Part::<T, Low>::received(buckets, open, full, stride) }?;
            Ok(part.map(|part| all.push(part)).is_some())
        };
        let mut rest = received;
        for (_, shape) in shapes.iter().enumerate().filter(|&(other, _)| other != rank) {
            for _ in 0..shape.parts {
                let full;
                (full, rest) = rest.split_at_mut(buckets.count * shape.stride);
                if !add(full, shape.stride)? {
                    return Ok(false);
                }
            }
        }
        for part in &mut parts {
            if !add(&mut part[mine.start * stride..mine.end * stride], stride)? {
                return Ok(false);
            }
        }

        // The places of each bucket's items, behind those that are not this rank's.
        let mut work = try_with_capacity(buckets.count)?;
        // SAFETY: the places are borrowed mutably until all have been written to.
        let mut rest = unsafe { Span::new(core::ptr::from_mut(out) as *mut [MaybeUninit<T>]) };
        for bucket in 0..buckets.count {
            let count: usize = all.iter().map(|part| part.count(bucket)).sum();
            if count as u64 != totals[mine.start + bucket] || skipped > count {
                return Ok(false);
            }
            let places;
            (places, rest) = {
                let count = (count - skipped).min(rest.len());
                rest.cut(count)
            };
            work.push((bucket, skipped, count, places));
            skipped = 0;
        }
        if rest.len() > 0 {
            return Ok(false);
        }
        let threads = rayon::current_num_threads();
        let most = *most as usize;
        let stages = stages.room::<T>(threads * most)?.chunks_mut(most);
        let words = TakenSlots::count(buckets.len());
        let taken = taken.room(threads * words)?.chunks_mut(words);
        let mut rooms = try_with_capacity(threads)?;
        rooms.extend(stages.zip(taken));

        let level = SimdLevel::current();
        let (parts, is_complete) = (all.as_slice(), AtomicBool::new(true));
        let work = Mutex::new(work.into_iter());
        let next = || work.lock().expect("nobody panics with it").next();
        parallel::each_of(rooms, |(stage, taken)| {
            let _publish = Publish;
            while let Some((bucket, skipped, count, places)) = next() {
                let (stage, cells) = (&mut stage[..count], &mut [][..]);
                // Those of indexes have no gaps, but what was received might.
                let order = Order::Gaps;
                let taken = &mut *taken;
                if level.run(OrderBucket { parts, bucket, buckets, order, taken, cells, stage }) {
                    let count = places.len();
                    places.stream(&stage[skipped..][..count]);
                } else {
                    is_complete.store(false, Ordering::Relaxed);
                }
            }
        });
        Ok(is_complete.into_inner())
    }
}
