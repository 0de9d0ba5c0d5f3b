//! The partitioned strategy: items are sorted into buckets by where they go, with sequential
//! traffic only, and then put in order a cache's worth at a time.
//!
//! Beyond the caches, a gather pays a cache line and a TLB miss for every item. Here the source is
//! read in order instead, `slot = f.inverse(index)`, and each item goes to the *bucket* of its
//! slot: a run of slots so short that its items fit the L2 cache. Items on their way to a bucket
//! are collected in a *block* of a few lines, which is written to memory when it is full. When all
//! items are in their buckets, each bucket's items are put in the order of their slots, without
//! gaps, with the help of a bitmap of the slots. The bijection is evaluated once for each item, and
//! not for each slot.
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
mod sort;
#[cfg(test)]
mod tests;

use core::mem::MaybeUninit;
use std::sync::Mutex;

use block::{Part, items_per_block};
use few::Cells;
use place::{Order, OrderBucket};

use super::buckets::{Buckets, LowBits};
use super::places::{Source, Target};
use super::survivors::Values;
use super::taken::TakenSlots;
use super::tuning;
use crate::base::abort::AbortOnUnwind;
use crate::base::check::try_with_capacity;
use crate::base::memory::Buffer;
use crate::base::parallel;
use crate::base::simd::SimdLevel;
use crate::base::stream::publish;
use crate::bijection::{Bijection, Trusted};
use crate::compact::Direction;
use crate::error::Error;

/// The buffers that the strategy needs.
#[derive(Debug, Default)]
pub(in crate::compact::cpu) struct Buffers {
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

impl Buffers {
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
    buckets: Buckets,
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
        let buckets = Buckets::of_bits(bits, last, most_buckets);
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
        let parts = rayon::current_num_threads();
        // The number of a bucket's items in one part has a hypergeometric distribution, whose
        // variance is less than that of a Poisson distribution with the same mean.
        let points = match self.direction {
            Direction::Shuffle => self.f.last() as f64 + 1.0,
            Direction::Unshuffle => self.len as f64,
        };
        let share = (self.buckets.len() as f64 / points).min(1.0);
        let mean = self.len.div_ceil(parts) as f64 * share;
        let most = mean + tuning::DEVIATIONS * mean.sqrt() + 1.0;
        let blocks = (most / items_per_block::<T, L>() as f64).ceil() as usize;
        Capacity { parts, buckets: self.buckets, blocks }
    }

    /// Moves the items from `source` to `out`, which may be the same memory. Returns `false`, with
    /// nothing written, if a bucket overflows.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], before anything is written.
    ///
    /// # Safety
    ///
    /// The source has as many items of type T as the sort was created for, and nobody else uses
    /// them meanwhile.
    ///
    /// # Panics
    ///
    /// If `out` has a different number of places; before anything is written.
    pub(in crate::compact::cpu) unsafe fn run<T: Send>(
        &self,
        source: &impl Source<T>,
        out: impl Target<T>,
        buffers: &mut Buffers,
    ) -> Result<bool, Error> {
        if self.buckets.are_usual() {
            // SAFETY: `sort_with` asks for what the caller has promised of the source.
            let sorted = unsafe { self.sort_with::<T, u16, _>(source, out, buffers) }?;
            Ok(sorted.map(Sorted::place).is_some())
        } else {
            // SAFETY: the caller's promise about the source does not depend on the width of the low
            // bits.
            let sorted = unsafe { self.sort_with::<T, u32, _>(source, out, buffers) }?;
            Ok(sorted.map(Sorted::place).is_some())
        }
    }

    /// Sorts the items into buckets, and leaves it to the caller to place them. `None` if a bucket
    /// overflows.
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
    /// If there are not as many places.
    pub(in crate::compact::cpu) unsafe fn sort<'b, T: Send + 'b>(
        &self,
        source: &impl Source<T>,
        out: impl Target<T> + 'b,
        buffers: &'b mut Buffers,
    ) -> Result<Option<Box<dyn PlaceItems + 'b>>, Error> {
        if self.buckets.are_usual() {
            // SAFETY: `sort_with` asks for what the caller has promised of the source.
            let sorted = unsafe { self.sort_with::<T, u16, _>(source, out, buffers) }?;
            Ok(sorted.map(|sorted| Box::new(sorted) as Box<dyn PlaceItems>))
        } else {
            // SAFETY: the caller's promise about the source does not depend on the width of the low
            // bits.
            let sorted = unsafe { self.sort_with::<T, u32, _>(source, out, buffers) }?;
            Ok(sorted.map(|sorted| Box::new(sorted) as Box<dyn PlaceItems>))
        }
    }

    /// Sorts the items into buckets, with low bits of type L. `None` if a bucket overflows.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    ///
    /// # Safety
    ///
    /// The source has as many items of type T as the sort was created for, and nobody writes to
    /// them meanwhile.
    ///
    /// # Panics
    ///
    /// If there are not as many places.
    unsafe fn sort_with<'b, T: Send, L: LowBits, O: Target<T>>(
        &self,
        source: &impl Source<T>,
        out: O,
        buffers: &'b mut Buffers,
    ) -> Result<Option<Sorted<'b, T, L, O>>, Error> {
        assert_eq!(out.len(), self.len);
        let Self { f, len, direction, is_sparse, .. } = *self;
        let Buffers { open, full, tiles, stages, taken, cells } = buffers;
        let mut partition = Partition::<T, L>::empty(self.capacity::<T, L>(), open, full)?;
        let parts = &mut partition.parts;
        let values = Values::of_trusted(f, len);
        match direction {
            // SAFETY: the caller promises as many items as the sort was created for, which is
            // `len`, and that nobody writes to them.
            Direction::Shuffle => unsafe { sort::by_slot(f, len, source, parts) },
            Direction::Unshuffle => {
                let slots = [0, f.last()];
                // SAFETY: the caller's promise of the items is the same for both directions.
                unsafe { sort::by_index(&values, slots, len, source, parts, tiles) }?;
            }
        }
        if !partition.is_complete(len) {
            return Ok(None);
        }
        let order = if direction == Direction::Unshuffle || len as u64 - 1 == f.last() {
            Order::Dense
        } else if is_sparse {
            Order::Sparse
        } else {
            Order::Gaps
        };
        partition.sorted(order, out, stages, taken, cells).map(Some)
    }
}

/// The number of blocks that a sort needs.
struct Capacity {
    parts: usize,
    buckets: Buckets,
    /// Full blocks for each bucket of each part.
    blocks: usize,
}

impl Capacity {
    /// The bytes of all blocks, including the open ones.
    fn bytes(&self) -> usize {
        let blocks = self.parts * self.buckets.count * (self.blocks + 1);
        blocks.saturating_mul(tuning::BLOCK_BYTES)
    }
}

/// Items in their buckets, as bits: a part for each thread.
struct Partition<'a, T, L> {
    parts: Vec<Part<'a, T, L>>,
    buckets: Buckets,
}

impl<'a, T: Send, L: LowBits> Partition<'a, T, L> {
    /// Empty buckets.
    fn empty(
        capacity: Capacity,
        open: &'a mut Buffer,
        full: &'a mut Buffer,
    ) -> Result<Self, Error> {
        let Capacity { parts, buckets, blocks } = capacity;
        let open = open.room(parts * buckets.count)?;
        let full = full.room(parts * buckets.count * blocks)?;
        let rooms = open.chunks_mut(buckets.count).zip(full.chunks_mut(buckets.count * blocks));
        let mut parts = try_with_capacity(parts)?;
        for (open, full) in rooms {
            parts.push(Part::new(buckets, open, full, blocks, 0)?);
        }
        Ok(Self { parts, buckets })
    }

    /// Whether all items are in their buckets.
    fn is_complete(&self, len: usize) -> bool {
        let overflows = self.parts.iter().any(Part::overflows);
        let count = (0..self.buckets.count).map(|bucket| self.count(bucket)).sum::<usize>();
        !overflows && count == len
    }

    /// The number of items in a bucket.
    fn count(&self, bucket: usize) -> usize {
        self.parts.iter().map(|part| part.count(bucket)).sum()
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
    fn sorted<O: Target<T>>(
        self,
        order: Order,
        out: O,
        stages: &'a mut Buffer,
        taken: &'a mut Buffer,
        cells: &'a mut Buffer,
    ) -> Result<Sorted<'a, T, L, O>, Error> {
        let mut rest = out;
        let mut buckets = try_with_capacity(self.buckets.count)?;
        for bucket in 0..self.buckets.count {
            let places;
            (places, rest) = rest.cut(self.count(bucket));
            buckets.push((bucket, places));
        }
        let most = buckets.iter().map(|(_, places)| places.len()).max().unwrap_or(0);
        let stages = stages.room(self.parts.len() * most)?.chunks_mut(most);
        // Chunks of what is not needed are not empty either. The bitmap is there without gaps too,
        // so that a later call with gaps needs no more memory.
        let words = if order == Order::Sparse { 1 } else { TakenSlots::count(self.buckets.len()) };
        let taken = taken.room(self.parts.len() * words)?.chunks_mut(words);
        let words = if order == Order::Sparse { Cells::room(most) } else { 1 };
        let cells = cells.room(self.parts.len() * words)?.chunks_mut(words);
        let mut all = try_with_capacity(self.parts.len())?;
        let stages = stages.zip(taken).zip(cells);
        all.extend(stages.map(|((places, taken), cells)| Stage { places, taken, cells }));
        Ok(Sorted { partition: self, order, buckets, stages: all })
    }
}

/// A thread's room for one bucket's items in order, and for what puts them in order.
struct Stage<'a, T> {
    places: &'a mut [MaybeUninit<T>],
    taken: &'a mut [MaybeUninit<TakenSlots>],
    cells: &'a mut [MaybeUninit<u32>],
}

/// Items in their buckets, with everything that is needed to write them to their places.
struct Sorted<'a, T, L, O> {
    partition: Partition<'a, T, L>,
    order: Order,
    /// The buckets, each with the places of its items.
    buckets: Vec<(usize, O)>,
    stages: Vec<Stage<'a, T>>,
}

impl<T: Send, L: LowBits, O: Target<T>> Sorted<'_, T, L, O> {
    /// Writes the items, in order, to their places. Nothing can fail any more.
    fn place(self) {
        let Self { partition, order, buckets, stages } = self;
        // Nothing below unwinds. If it did, items would exist twice or not at all, so the guard
        // aborts.
        let guard = AbortOnUnwind;
        let level = SimdLevel::current();
        let buckets = Mutex::new(buckets.into_iter());
        let next = || buckets.lock().expect("nobody panics with it").next();
        parallel::each_of(stages, |Stage { places, taken, cells }| {
            let of = partition.buckets;
            while let Some((bucket, out)) = next() {
                let stage = &mut places[..out.len()];
                let parts = partition.parts.as_slice();
                let order = OrderBucket { parts, bucket, buckets: of, order, taken, cells, stage };
                let is_complete = level.run(order);
                debug_assert!(is_complete, "a trusted bijection has one slot for each item");
                out.stream(stage);
            }
            publish();
        });
        core::mem::forget(guard);
    }
}

/// [`Sorted`] items of any type.
pub(in crate::compact::cpu) trait PlaceItems {
    /// Writes the items to their places.
    fn place(self: Box<Self>);
}

impl<T: Send, L: LowBits, O: Target<T>> PlaceItems for Sorted<'_, T, L, O> {
    fn place(self: Box<Self>) {
        Sorted::place(*self);
    }
}
