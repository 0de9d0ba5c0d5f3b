//! What one thread does: it reads blocks, and collects their items by bucket.

use core::mem::MaybeUninit;
use core::ops::Range;
use core::ptr;

use super::claims::{Claim, Claims};
use super::destinations::Destinations;
use super::grid::Grid;
use crate::base::check::try_with_capacity;
use crate::base::memory::{SharedPtr, assume_init};
use crate::base::simd::SimdKernel;
use crate::base::stream::{LINE, prefetch_lines};
use crate::compact::cpu::buckets::{Buckets, LowBits};
use crate::compact::cpu::tuning;
use crate::error::Error;

/// What all threads share.
pub(super) struct Exchange<'a, T, L> {
    /// The array.
    pub(super) items: SharedPtr<T>,
    /// The low bits of the items that have been written, each at its item's place.
    pub(super) lows: SharedPtr<L>,
    pub(super) buckets: Buckets,
    pub(super) grid: &'a Grid,
    pub(super) claims: &'a Claims,
    pub(super) destinations: &'a Destinations<'a>,
}

/// A block that a thread is about to read.
#[derive(Clone, Copy)]
struct Step {
    first: usize,
    count: usize,
    then: Then,
}

impl Step {
    fn new(places: Range<usize>, then: Then) -> Self {
        Self { first: places.start, count: places.len(), then }
    }

    fn places(&self) -> Range<usize> {
        self.first..self.first + self.count
    }
}

/// What a thread does when it has read a block.
#[derive(Clone, Copy)]
enum Then {
    /// It has claimed the block, and writes a full one there.
    Write(u32),
    /// It has taken the block from a bucket.
    Leave(usize),
}

/// One thread's blocks.
pub(super) struct Collector<'a, T, L> {
    exchange: &'a Exchange<'a, T, L>,
    /// Blocks of items, and of their low bits: open ones, full ones and free ones.
    items: &'a mut [MaybeUninit<T>],
    lows: &'a mut [MaybeUninit<L>],
    /// For each bucket, where the next item goes in its open block. That block is never full.
    nexts: Vec<u32>,
    /// The full blocks that wait to be written, each with its bucket.
    full: Vec<(u32, u32)>,
    free: Vec<u32>,
    /// The blocks that are to be read next, and where their items go.
    steps: Vec<Step>,
    to: Vec<u64>,
}

// SAFETY: through a shared collector other threads only reach the bits of items, to copy them. That
// moves the items to those threads, so T has to be `Send`; `LowBits` are plain words.
unsafe impl<T: Send, L: LowBits> Sync for Collector<'_, T, L> {}

impl<'a, T, L: LowBits> Collector<'a, T, L> {
    const BLOCK: usize = tuning::exchanged_items::<T>();

    /// The number of blocks that are read at a time.
    const STEPS: usize = {
        let steps = tuning::COLLECTED_ITEMS / Self::BLOCK;
        if steps < tuning::MOST_STEPS { steps } else { tuning::MOST_STEPS }
    };

    /// The number of blocks that a thread needs.
    ///
    /// Each bucket has an open one. The others are full, and they are never more than the buckets,
    /// the steps and one: a thread takes a block only while no full one waits, so the items that it
    /// then holds are in open blocks or in those of its steps; and where it has claimed a block, it
    /// reads no more items than it writes, after it has read them.
    pub(super) const fn blocks(buckets: Buckets) -> usize {
        2 * buckets.count + Self::STEPS + 1
    }

    /// A thread's blocks in the given memory, which holds as many as [`blocks`](Self::blocks) says.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub(super) fn new(
        exchange: &'a Exchange<'a, T, L>,
        items: &'a mut [MaybeUninit<T>],
        lows: &'a mut [MaybeUninit<L>],
    ) -> Result<Self, Error> {
        let blocks = Self::blocks(exchange.buckets);
        assert_eq!((items.len(), lows.len()), (blocks * Self::BLOCK, blocks * Self::BLOCK));
        let open = exchange.buckets.count;
        let mut nexts = try_with_capacity(open)?;
        nexts.extend((0..open as u32).map(|block| block * Self::BLOCK as u32));
        let mut free = try_with_capacity(blocks - open)?;
        free.extend((open as u32..blocks as u32).rev());
        let full = try_with_capacity(blocks)?;
        let steps = try_with_capacity(Self::STEPS)?;
        let to = try_with_capacity(Self::STEPS * Self::BLOCK)?;
        Ok(Self { exchange, items, lows, nexts, full, free, steps, to })
    }

    /// The items that are left in a bucket's open block, and their low bits.
    pub(super) fn rest(&self, bucket: usize) -> (&[MaybeUninit<T>], &[L]) {
        let next = self.nexts[bucket] as usize;
        let first = next - next % Self::BLOCK;
        // SAFETY: `collect` has written low bits to every place of the open block before the next.
        let lows = unsafe { assume_init(&self.lows[first..next]) };
        (&self.items[first..next], lows)
    }

    /// Reads blocks, and writes full ones, until no block is left to read and no full one to write.
    ///
    /// # Safety
    ///
    /// The exchange's array and low bits have as many places as its grid, and only the collectors
    /// of this exchange use them.
    #[inline(always)]
    unsafe fn run(&mut self) {
        loop {
            // SAFETY: the caller's promise is that of `plan`.
            while self.steps.len() < Self::STEPS && unsafe { self.plan() } {}
            if self.steps.is_empty() {
                if self.full.is_empty() {
                    return;
                }
                // Another thread has not read a block yet that this one is to write.
                std::thread::yield_now();
                continue;
            }
            let runs = self.steps.iter().map(Step::places);
            self.exchange.destinations.list(runs, &mut self.to);
            let mut done = 0;
            for number in 0..self.steps.len() {
                let Step { first, count, then } = self.steps[number];
                // SAFETY: nobody has written to the block's places yet, since they are this
                // thread's until it says that it has read them, or writes them.
                unsafe { self.collect(first, done..done + count) };
                done += count;
                match then {
                    // SAFETY: this thread has claimed the block, and has now read it.
                    Then::Write(full) => unsafe { self.write(full, first) },
                    Then::Leave(bucket) => self.exchange.claims.has_read(bucket),
                }
            }
            self.steps.clear();
        }
    }

    /// Finds one more block to read, and writes full blocks where nothing has to be read first.
    /// Returns `false` if there is none, or none yet.
    ///
    /// # Safety
    ///
    /// As [`run`](Self::run).
    #[inline(always)]
    unsafe fn plan(&mut self) -> bool {
        let Exchange { grid, claims, .. } = self.exchange;
        while let Some(&(full, bucket)) = self.full.last() {
            let bucket = bucket as usize;
            if !claims.are_read(bucket) {
                // Perhaps this thread has taken a block of the bucket itself.
                return false;
            }
            self.full.pop();
            let Claim { block, is_unread } = claims.claim(bucket);
            let places = grid.block(bucket, block);
            assert_eq!(places.len(), Self::BLOCK, "a bucket has room for its items");
            if is_unread {
                self.step(Step::new(places, Then::Write(full)));
                return true;
            }
            // Somebody may have taken a block since the check above. There is no circle of threads
            // that wait for each other here. A thread that is waited for has taken its block after
            // the other's check, and, if it waits as well, before its own: it takes none in
            // between. So in a circle each check would come before the next, all the way around.
            while !claims.are_read(bucket) {
                std::thread::yield_now();
            }
            // SAFETY: this thread has claimed the block, and the one that took it has read it.
            unsafe { self.write(full, places.start) };
        }
        let Some((bucket, block)) = claims.take() else { return false };
        self.step(Step::new(grid.block(bucket, block), Then::Leave(bucket)));
        true
    }

    /// Adds a step, and prefetches what it will use.
    #[inline(always)]
    fn step(&mut self, step: Step) {
        let Exchange { items, lows, .. } = self.exchange;
        // A block need not begin with a line.
        let lines = |bytes: usize| bytes.div_ceil(LINE) + 1;
        prefetch_lines(items.wrapping_at(step.first).cast(), lines(step.count * size_of::<T>()));
        if let Then::Write(_) = step.then {
            prefetch_lines(lows.wrapping_at(step.first).cast(), lines(step.count * size_of::<L>()));
        }
        self.steps.push(step);
    }

    /// Moves the items from `first` on to the open blocks of the buckets that some of the listed
    /// destinations are in, one for each item.
    ///
    /// # Safety
    ///
    /// There are as many items, and nobody writes to them meanwhile.
    #[inline(always)]
    unsafe fn collect(&mut self, first: usize, to: Range<usize>) {
        // Each of these in a variable of its own: behind `self` they would be loaded again for
        // every item.
        let Self { exchange, items, lows, nexts, full, free, to: all, .. } = self;
        let (items, lows, nexts) = (&mut **items, &mut **lows, &mut **nexts);
        let (bits, mask) = (exchange.buckets.bits, exchange.buckets.len() as u64 - 1);
        // SAFETY: the caller promises that the items begin there.
        let from = unsafe { exchange.items.at(first) };
        for (k, &to) in all[to].iter().enumerate() {
            let bucket = (to >> bits) as usize;
            let next = &mut nexts[bucket];
            let place = *next as usize;
            // SAFETY: `nexts` holds places of open blocks, which are among `items`.
            let open = unsafe { items.get_unchecked_mut(place) };
            // SAFETY: the caller promises that there is an item for each destination, and that
            // nobody writes to it. The open block is elsewhere.
            unsafe { ptr::copy_nonoverlapping(from.wrapping_add(k), open.as_mut_ptr(), 1) };
            // SAFETY: there are as many low bits as items.
            unsafe { lows.get_unchecked_mut(place) }.write(L::of(to & mask));
            *next = place as u32 + 1;
            if (place + 1).is_multiple_of(Self::BLOCK) {
                let block = free.pop().expect("`blocks` counts all that can be full");
                *next = block * Self::BLOCK as u32;
                full.push(((place / Self::BLOCK) as u32, bucket as u32));
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
        let from = full as usize * Self::BLOCK;
        let items = self.items[from..][..Self::BLOCK].as_ptr().cast();
        let lows = self.lows[from..][..Self::BLOCK].as_ptr().cast();
        // SAFETY: the caller promises that this is a place of the array.
        let places = unsafe { self.exchange.items.at(first) };
        // SAFETY: there are as many low bits as items.
        let low_places = unsafe { self.exchange.lows.at(first) };
        // SAFETY: the caller promises that many places, which are outside of this thread's blocks.
        unsafe { ptr::copy_nonoverlapping(items, places, Self::BLOCK) };
        // SAFETY: the low bits' places are as many, and as much this thread's.
        unsafe { ptr::copy_nonoverlapping(lows, low_places, Self::BLOCK) };
        self.free.push(full);
    }
}

/// Runs a collector with the vector instructions of this machine.
pub(super) struct Run<'c, 'a, T, L>(&'c mut Collector<'a, T, L>);

impl<'c, 'a, T, L> Run<'c, 'a, T, L> {
    /// # Safety
    ///
    /// The exchange's array and low bits have as many places as its grid, and only the collectors
    /// of this exchange use them until this has run.
    pub(super) unsafe fn new(collector: &'c mut Collector<'a, T, L>) -> Self {
        Self(collector)
    }
}

impl<T, L: LowBits> SimdKernel for Run<'_, '_, T, L> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        // SAFETY: `new` asks for what the collector does.
        unsafe { self.0.run() };
    }
}
