//! What one thread does: it reads blocks, and collects their items by bucket.
//!
//! ```text
//! while a block is left to read, or a full one to write:
//!     until there are steps enough, or no block is left:            plan
//!         if a full block waits:
//!             claim a block of its bucket's places
//!             if that is unread: add the step (read it there, then write the full block over it)
//!             else: write the full block there, once the block has been read
//!         else:
//!             take an unread block, copy it, and add the step (read the copy, then free it)
//!     list where the items of all these steps go                    Destinations::list
//!     for each step:
//!         for each of its items:                                    collect
//!             append it, and its low bits, to the open block of its bucket
//!             if that is full: let it wait, and open a free block for the bucket
//!         write the full block, or free the copy                    write
//! ```
//!
//! * **Destinations come some blocks at a time**, so that vectors of them are full, and the lines
//!   of open blocks can be prefetched some items ahead.
//! * **A claimed block is read where it is**, without a copy: it is written over afterwards by its
//!   own thread.
//! * **Nobody waits for a thread that evaluates.** A taken block is copied, and said to be read,
//!   before its thread does anything else.
//! * **No thread runs out of free blocks**: [`Collector::blocks`] counts them.

use core::mem::MaybeUninit;
use core::ops::Range;
use core::ptr;

use super::claims::{Claim, Claims, Search, Taken};
use super::destinations::{self, Destinations};
use super::grid::BlockGrid;
use crate::compact::cpu::buckets::{BucketDivision, LowBits};
use crate::compact::cpu::tuning;
use crate::engine::check::try_with_capacity;
use crate::engine::memory::{SharedPtr, assume_init};
use crate::engine::simd::SimdKernel;
use crate::engine::stream::{LINE, prefetch_lines_to_write};
use crate::engine::word::Index;
use crate::{Error, Word};

/// What all threads share.
pub(super) struct BlockExchange<'a, T, L> {
    /// The array.
    pub(super) items: SharedPtr<T>,
    /// The low bits of the items that have been written, each at its item's place.
    pub(super) lows: SharedPtr<L>,
    pub(super) buckets: BucketDivision,
    pub(super) grid: &'a BlockGrid,
    pub(super) claims: &'a Claims,
    pub(super) destinations: &'a dyn Destinations<L>,
    /// Whether lines of open blocks are prefetched, and those of their low bits.
    pub(super) prefetches: bool,
}

/// A block whose items a thread is about to collect.
#[derive(Clone, Copy)]
struct BlockToCollect {
    first: usize,
    count: usize,
    then: AfterCollecting,
}

impl BlockToCollect {
    fn new(places: Range<usize>, then: AfterCollecting) -> Self {
        Self { first: places.start, count: places.len(), then }
    }

    fn places(&self) -> Range<usize> {
        self.first..self.first + self.count
    }
}

/// Where a block's items are, and what the thread does when it has collected them.
#[derive(Clone, Copy)]
enum AfterCollecting {
    /// It has claimed the block, reads it in the array, and writes this full one there.
    Write(u32),
    /// It has taken the block, whose items are in this one of its own, which is free then.
    Free(u32),
}

/// For how many items a thread needs memory, and for how many low bits.
pub(super) struct CollectorRoom {
    pub(super) items: usize,
    pub(super) lows: usize,
}

/// One thread's blocks. Each collector begins with a pair of lines, since cores fetch lines in
/// pairs, and its thread writes to its fields all the time.
#[repr(align(128))]
pub(super) struct Collector<'a, T, L: LowBits> {
    exchange: &'a BlockExchange<'a, T, L>,
    /// Blocks of items, and of their low bits: open ones, full ones and free ones; and, without low
    /// bits, those that have been taken.
    items: &'a mut [MaybeUninit<T>],
    lows: &'a mut [MaybeUninit<L>],
    /// The memory in which no block is, once this is [closed](Self::close).
    spare: &'a mut [MaybeUninit<T>],
    /// For each bucket, where the next item goes in its open block. That block is never full.
    nexts: Vec<u32>,
    /// The full blocks that wait to be written, each with its bucket.
    full: Vec<(u32, u32)>,
    free: Vec<u32>,
    search: Search,
    /// The blocks that are to be read next, and where their items go.
    steps: Vec<BlockToCollect>,
    to: Vec<L::Index>,
}

// SAFETY: through a shared collector other threads only reach the bits of items, to copy them. That
// moves the items to those threads, so T has to be `Send`; `LowBits` are plain words.
unsafe impl<T: Send, L: LowBits> Sync for Collector<'_, T, L> {}

impl<'a, T, L: LowBits> Collector<'a, T, L> {
    /// The number of blocks that are read at a time.
    fn steps_at_once(grid: &BlockGrid) -> usize {
        (tuning::COLLECTED_ITEMS / grid.block_len()).clamp(1, tuning::MOST_STEPS)
    }

    /// The number of blocks that a thread needs.
    ///
    /// Each bucket has an open one. The others are full or taken, and they are never more than the
    /// buckets, the steps and one: a thread takes a block only while no full one waits, so the
    /// items that it then holds are in open blocks or in those of its steps; and where it has
    /// claimed a block, it reads no more items than it writes, after it has read them.
    fn blocks(grid: &BlockGrid) -> usize {
        2 * grid.buckets() + Self::steps_at_once(grid) + 1
    }

    /// The memory of a thread: for its blocks, and when it is [closed](Self::close), for an open
    /// block of each bucket and `spare` items.
    pub(super) fn room(grid: &BlockGrid, spare: usize) -> CollectorRoom {
        let [blocks, open] = [Self::blocks(grid), grid.buckets()].map(|n| n * grid.block_len());
        // Whole blocks, so that no two threads' memory meets within a line.
        let spare = spare.next_multiple_of(grid.block_len());
        CollectorRoom { items: blocks.max(open + spare), lows: blocks }
    }

    /// A thread's blocks in the given memory, whose size is the one that [`room`](Self::room) says.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub(super) fn new(
        exchange: &'a BlockExchange<'a, T, L>,
        search: Search,
        items: &'a mut [MaybeUninit<T>],
        lows: &'a mut [MaybeUninit<L>],
    ) -> Result<Self, Error> {
        let BlockExchange { grid, .. } = exchange;
        let (blocks, block_len) = (Self::blocks(grid), grid.block_len());
        assert!(items.len() >= blocks * block_len && lows.len() == blocks * block_len);
        let open = grid.buckets();
        let mut nexts = try_with_capacity(open)?;
        nexts.extend((0..open as u32).map(|block| block * block_len as u32));
        let mut free = try_with_capacity(blocks - open)?;
        free.extend((open as u32..blocks as u32).rev());
        let full = try_with_capacity(blocks)?;
        let most_steps = Self::steps_at_once(grid);
        let steps = try_with_capacity(most_steps)?;
        let to = try_with_capacity(
            most_steps * block_len + tuning::ITEMS_AHEAD.max(destinations::SLACK),
        )?;
        let spare = &mut [];
        Ok(Self { exchange, items, lows, spare, nexts, full, free, search, steps, to })
    }

    /// Moves the open blocks, which are all that is left when this has run, to the front.
    pub(super) fn close(&mut self) {
        let Self { exchange, items, lows, spare, nexts, free, .. } = self;
        let (block_len, open) = (exchange.grid.block_len(), exchange.grid.buckets());
        let mut free = free.iter().map(|&block| block as usize).filter(|&block| block < open);
        for next in nexts {
            let (block, count) = (*next as usize / block_len, *next as usize % block_len);
            if block >= open {
                let free = free.next().expect("one for each open block that is not at the front");
                let to = free * block_len;
                let (front, behind) = items.split_at_mut(block * block_len);
                front[to..][..count].swap_with_slice(&mut behind[..count]);
                let (front, behind) = lows.split_at_mut(block * block_len);
                front[to..][..count].swap_with_slice(&mut behind[..count]);
                *next = (to + count) as u32;
            }
        }
        (*items, *spare) = core::mem::take(items).split_at_mut(open * block_len);
    }

    /// What [`close`](Self::close) has left over.
    pub(super) fn take_spare(&mut self) -> &'a mut [MaybeUninit<T>] {
        core::mem::take(&mut self.spare)
    }

    /// The items that are left in a bucket's open block, and their low bits.
    pub(super) fn rest(&self, bucket: usize) -> (&[MaybeUninit<T>], &[L]) {
        let next = self.nexts[bucket] as usize;
        let first = next & !(self.exchange.grid.block_len() - 1);
        // SAFETY: `collect` has written low bits to every place of the open block before the next.
        let lows = unsafe { assume_init(&self.lows[first..next]) };
        (&self.items[first..next], lows)
    }

    /// Finds one more block whose items are to be collected, and writes full blocks where nothing
    /// has to be read first. Returns `false` if there is none; then no full block is left either.
    ///
    /// # Safety
    ///
    /// The exchange's array and low bits have as many places as its grid, and only the collectors
    /// of this exchange use them.
    #[inline(always)]
    unsafe fn plan(&mut self) -> bool {
        let BlockExchange { items, grid, claims, .. } = self.exchange;
        while let Some((full, bucket)) = self.full.pop() {
            let bucket = bucket as usize;
            let Claim { share, block, is_unread } = claims.claim(bucket, &self.search);
            let places = grid.block(bucket, block);
            assert_eq!(places.len(), grid.block_len(), "only whole blocks are claimed");
            if is_unread {
                self.step(BlockToCollect::new(places, AfterCollecting::Write(full)));
                return true;
            }
            // A thread has taken the block, and if that is another one, it is about to say that it
            // has read it: it waits for nobody before it does.
            while !claims.are_read(share) {
                std::thread::yield_now();
            }
            // SAFETY: this thread has claimed the block, and the one that took it has read it.
            unsafe { self.write(full, places.start) };
        }
        let taken = claims.take(&mut self.search);
        let Some(Taken { bucket, share, block }) = taken else { return false };
        let places = grid.block(bucket, block);
        let room = self.free.pop().expect("`blocks` counts all that can be taken");
        let to = self.items[room as usize * grid.block_len()..][..places.len()].as_mut_ptr();
        // SAFETY: the caller promises that this is a place of the array.
        let from = unsafe { items.at(places.start) };
        // SAFETY: the block is this thread's alone until it says that it has read it, and its items
        // are initialised. There is room for as many, outside of the array.
        unsafe { ptr::copy_nonoverlapping(from, to.cast(), places.len()) };
        claims.has_read(share);
        self.step(BlockToCollect::new(places, AfterCollecting::Free(room)));
        true
    }

    /// Adds a step, and prefetches what it will use: for writing, since other cores may have lines
    /// of this block that they fetched with those before it.
    #[inline(always)]
    fn step(&mut self, step: BlockToCollect) {
        if let AfterCollecting::Write(_) = step.then {
            let BlockExchange { items, lows, .. } = self.exchange;
            // A block need not begin with a line.
            let lines = |bytes: usize| bytes.div_ceil(LINE) + 1;
            let BlockToCollect { first, count, .. } = step;
            prefetch_lines_to_write(items.wrapping_at(first).cast(), lines(count * size_of::<T>()));
            prefetch_lines_to_write(lows.wrapping_at(first).cast(), lines(count * size_of::<L>()));
        }
        self.steps.push(step);
    }

    /// Moves the items of a step to the open blocks of the buckets that some of the listed
    /// destinations are in, one for each item. [`tuning::ITEMS_AHEAD`] more are listed after them.
    ///
    /// # Safety
    ///
    /// [`plan`](Self::plan) has made the step, and its items have not been collected.
    #[inline(always)]
    unsafe fn collect(&mut self, step: BlockToCollect, to: Range<usize>) {
        // The compiler makes a loop for each case. In the usual two, the size of a block is a
        // constant, and a call 2 to 3 % faster than with one that is not.
        let usual = const { tuning::exchanged_bits::<T>(tuning::EXCHANGED_BYTES) };
        match (self.exchange.grid.block_bits(), self.exchange.prefetches) {
            // SAFETY: the caller promises the step, and the grid's blocks have the usual size.
            (bits, false) if bits == usual => unsafe { self.collect_as(step, to, false, usual) },
            // SAFETY: the caller promises the step, and this is the size of the grid's blocks.
            (bits, true) if bits == usual => unsafe { self.collect_as(step, to, true, usual) },
            // SAFETY: the grid has this size of blocks, and the caller promises the step.
            (bits, _) => unsafe { self.collect_as(step, to, true, bits) },
        }
    }

    /// [`collect`](Self::collect) in blocks of `2^block_bits`, and whether lines of open blocks are
    /// prefetched.
    ///
    /// # Safety
    ///
    /// As for `collect`. The blocks of the grid have that size.
    #[inline(always)]
    unsafe fn collect_as(
        &mut self,
        step: BlockToCollect,
        to: Range<usize>,
        prefetches: bool,
        block_bits: u32,
    ) {
        // Each of these in a variable of its own: behind `self` they would be loaded again for
        // every item.
        let Self { exchange, items, lows, nexts, full, free, to: all, .. } = self;
        let (items, lows, nexts) = (items.as_mut_ptr(), &mut **lows, &mut **nexts);
        let (bits, mask) = (exchange.buckets.bits, exchange.buckets.len() as u64 - 1);
        let block_len = 1 << block_bits;
        let from: *const T = match step.then {
            // SAFETY: `plan` has got the first place of a block of the array from the grid.
            AfterCollecting::Write(_) => unsafe { exchange.items.at(step.first) },
            // SAFETY: the number is that of one of this thread's blocks.
            AfterCollecting::Free(block) => unsafe { items.add(block as usize * block_len) }.cast(),
        };
        let later = &all[to.start + tuning::ITEMS_AHEAD..][..to.len()];
        for ((k, &to), &later) in all[to].iter().enumerate().zip(later) {
            if prefetches {
                let later = nexts[(later.widen() >> bits) as usize] as usize;
                prefetch_lines_to_write(items.wrapping_add(later).cast(), 1);
                prefetch_lines_to_write(lows.as_ptr().wrapping_add(later).cast(), 1);
            }
            let to = to.widen();
            let bucket = (to >> bits) as usize;
            let next = &mut nexts[bucket];
            let place = *next as usize;
            // SAFETY: `nexts` holds places of open blocks, which are among `items`.
            let open = unsafe { items.add(place) };
            // SAFETY: there is an item for each destination: in the array, where nobody else uses a
            // block that this thread has claimed, or in the block to which `plan` has copied it.
            // The open block is another one.
            unsafe { ptr::copy_nonoverlapping(from.wrapping_add(k), open.cast(), 1) };
            // SAFETY: the open block is one of `blocks`, and each of these has its low bits.
            unsafe { lows.get_unchecked_mut(place) }.write(L::of(to & mask));
            *next = place as u32 + 1;
            if (place + 1) & (block_len - 1) == 0 {
                let block = free.pop().expect("`blocks` counts all that can be full");
                *next = block * block_len as u32;
                full.push(((place >> block_bits) as u32, bucket as u32));
            }
        }
    }

    /// Writes a full block to the array, from place `first` on.
    ///
    /// # Safety
    ///
    /// There are as many places, they have been read, and only this thread uses them.
    #[inline(always)]
    unsafe fn write(&mut self, full: u32, first: usize) {
        let block_len = self.exchange.grid.block_len();
        let from = full as usize * block_len;
        let items = self.items[from..][..block_len].as_ptr().cast();
        let lows = self.lows[from..][..block_len].as_ptr().cast();
        // SAFETY: the caller promises that this is a place of the array.
        let places = unsafe { self.exchange.items.at(first) };
        // SAFETY: the exchange has low bits for each place of the array.
        let low_places = unsafe { self.exchange.lows.at(first) };
        // SAFETY: the caller promises that many places, which are outside of this thread's blocks.
        unsafe { ptr::copy_nonoverlapping(items, places, block_len) };
        // SAFETY: they are the low bits of the same places, and so as many, and this thread's.
        unsafe { ptr::copy_nonoverlapping(lows, low_places, block_len) };
        self.free.push(full);
    }
}

/// What a collector does, with the vector instructions of this machine: it reads blocks, and writes
/// full ones, until no block is left to read and no full one to write.
pub(super) struct CollectorRun<'c, 'a, T, L: LowBits>(&'c mut Collector<'a, T, L>);

impl<'c, 'a, T, L: LowBits> CollectorRun<'c, 'a, T, L> {
    /// # Safety
    ///
    /// The exchange's array and low bits have as many places as its grid, and only the collectors
    /// of this exchange use them until this has run.
    pub(super) unsafe fn new(collector: &'c mut Collector<'a, T, L>) -> Self {
        Self(collector)
    }
}

impl<T, L: LowBits> SimdKernel for CollectorRun<'_, '_, T, L> {
    type Output = ();

    #[cfg(target_arch = "x86_64")]
    const USES_AVX512: bool = false;

    #[inline(always)]
    fn run(self) {
        let collector = self.0;
        let most_steps = Collector::<T, L>::steps_at_once(collector.exchange.grid);
        loop {
            // SAFETY: `new` asks for what `plan` does.
            while collector.steps.len() < most_steps && unsafe { collector.plan() } {}
            if collector.steps.is_empty() {
                return;
            }
            // A bijection may wait for tasks of its own here, and this thread do others meanwhile,
            // such as that of another collector. So nobody ever waits for a thread that is here: it
            // has read all blocks that it has taken.
            let mut runs = [const { 0..0 }; tuning::MOST_STEPS];
            runs.iter_mut().zip(&collector.steps).for_each(|(run, step)| *run = step.places());
            let runs = &runs[..collector.steps.len()];
            collector.to.clear();
            collector.exchange.destinations.list(runs, &mut collector.to);
            let listed = collector.to.len();
            collector.to.resize(listed + tuning::ITEMS_AHEAD, Index::ZERO);
            let mut done = 0;
            for number in 0..collector.steps.len() {
                let step = collector.steps[number];
                // SAFETY: `plan` has made the step, which is done once.
                unsafe { collector.collect(step, done..done + step.count) };
                done += step.count;
                match step.then {
                    // SAFETY: this thread has claimed the block, and has now read it.
                    AfterCollecting::Write(full) => unsafe { collector.write(full, step.first) },
                    AfterCollecting::Free(block) => collector.free.push(block),
                }
            }
            collector.steps.clear();
        }
    }
}
