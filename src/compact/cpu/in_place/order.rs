//! Putting each bucket's items in order, in the cache.

use core::mem::MaybeUninit;
use core::ptr;
use core::slice;
use core::sync::atomic::{AtomicUsize, Ordering};

use super::collect::{BlockExchange, Collector};
use super::marks::Marks;
use crate::base::memory::assume_init_mut;
use crate::base::parallel;
use crate::base::simd::{SimdKernel, SimdLevel};
use crate::compact::cpu::buckets::LowBits;
use crate::compact::cpu::gaps::{self, CloseGaps};
use crate::compact::cpu::taken::TakenSlots;
use crate::compact::cpu::tuning;

/// A thread's room for one bucket's items in order, and for its taken slots.
pub(super) type Stage<'a, T> = (&'a mut [MaybeUninit<T>], &'a mut [MaybeUninit<TakenSlots>]);

/// Puts the items of every bucket in the order of their slots or indexes. They are without gaps
/// unless there are `marks`. Each stage has room for the largest bucket, with its gaps
/// where those [are closed](gaps::are_closed).
///
/// # Safety
///
/// The collectors are all those of the exchange, and they have run. The array and its low bits have
/// as many places as the grid, and nobody else uses them.
pub(super) unsafe fn all<T: Send, L: LowBits>(
    exchange: &BlockExchange<T, L>,
    collectors: &[Collector<T, L>],
    marks: Option<&Marks>,
    stages: Vec<Stage<T>>,
) {
    let level = SimdLevel::current();
    let buckets = exchange.grid.buckets();
    let next = AtomicUsize::new(0);
    parallel::each_of(stages, |(stage, room)| {
        let taken = fill(room);
        let numbers = || next.fetch_add(1, Ordering::Relaxed);
        for bucket in core::iter::repeat_with(numbers).take_while(|&bucket| bucket < buckets) {
            if let Some(marks) = marks {
                marks.rank(bucket, taken);
            }
            let places = exchange.grid.places(bucket);
            if places.is_empty() {
                continue;
            }
            let first = places.start;
            // SAFETY: the grid's places are in the array, and this bucket's, of which there is one
            // at least, are only this thread's.
            let to = unsafe { exchange.items.at(first) };
            if marks.is_some() && gaps::are_closed::<T>(level, exchange.buckets) {
                let stage = &mut stage[..exchange.buckets.len()];
                level.run(OrderBucket { exchange, collectors, bucket, first, taken: None, stage });
                // SAFETY: `OrderBucket` has written an item to the stage, which is elsewhere, for
                // each taken slot: the bucket's own items, of which there are as many as places.
                level.run(unsafe { CloseGaps::new(stage, taken, to, places.len()) });
                continue;
            }
            let stage = &mut stage[..places.len()];
            let taken = marks.map(|_| &*taken);
            level.run(OrderBucket { exchange, collectors, bucket, first, taken, stage });
            // SAFETY: `OrderBucket` has written an item to every place of the stage, which is
            // elsewhere: the bucket's own items, each once. So none is lost or duplicated.
            unsafe { ptr::copy_nonoverlapping(stage.as_ptr().cast(), to, stage.len()) };
        }
    });
}

/// Makes words that say that no slot is taken.
fn fill(room: &mut [MaybeUninit<TakenSlots>]) -> &mut [TakenSlots] {
    room.fill(MaybeUninit::new(TakenSlots::NONE));
    // SAFETY: `fill` has just written every word.
    unsafe { assume_init_mut(room) }
}

/// Copies a bucket's items to the stage, in order. It is compiled for each instruction set, since
/// most machines have an instruction that counts bits.
struct OrderBucket<'a, 'e, T, L: LowBits> {
    exchange: &'a BlockExchange<'e, T, L>,
    collectors: &'a [Collector<'e, T, L>],
    bucket: usize,
    /// The bucket's first place.
    first: usize,
    /// Which slots are taken, if some are not.
    taken: Option<&'a [TakenSlots]>,
    /// As many places as the bucket has items.
    stage: &'a mut [MaybeUninit<T>],
}

impl<T, L: LowBits> OrderBucket<'_, '_, T, L> {
    /// Copies the items to the places that their numbers in the bucket give.
    #[inline(always)]
    fn place(self, place: impl Fn(usize) -> usize) {
        let Self { exchange, collectors, bucket, first, stage, .. } = self;
        let block_len = tuning::exchanged_items::<T>();
        let claimed = exchange.claims.claimed(bucket).filter(|blocks| !blocks.is_empty());
        let claimed = claimed.map(|blocks| {
            let [first, end] = [blocks.start, blocks.end].map(|block| first + block * block_len);
            // SAFETY: there is a block, and only whole ones are claimed, so these are places of the
            // bucket, and of the array.
            let items = unsafe { exchange.items.at(first) };
            // SAFETY: there are as many low bits as items.
            let lows = unsafe { exchange.lows.at(first) };
            // SAFETY: all blocks that were claimed have been written, with their low bits, and
            // nobody writes to the low bits any more.
            let lows = unsafe { slice::from_raw_parts(lows.cast_const(), end - first) };
            (items.cast_const(), lows)
        });
        let rests = collectors.iter().map(|collector| collector.rest(bucket));
        let rests = rests.map(|(items, lows)| (items.as_ptr().cast::<T>(), lows));
        for (items, lows) in claimed.chain(rests) {
            for (k, low) in lows.iter().enumerate() {
                let place = stage[place(low.number(exchange.buckets))].as_mut_ptr();
                // SAFETY: there is an item for each of the low bits, and the stage is elsewhere.
                unsafe { ptr::copy_nonoverlapping(items.wrapping_add(k), place, 1) };
            }
        }
    }
}

impl<T, L: LowBits> SimdKernel for OrderBucket<'_, '_, T, L> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        match self.taken {
            None => self.place(|number| number),
            Some(taken) => self.place(|slot| taken[slot / 64].rank(slot)),
        }
    }
}
