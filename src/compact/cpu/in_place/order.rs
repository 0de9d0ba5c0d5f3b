//! Putting each bucket's items in order, in the cache.

use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::{ptr, slice};

use super::collect::{BlockExchange, Collector};
use crate::compact::cpu::buckets::LowBits;
use crate::compact::cpu::gaps::CloseGaps;
use crate::compact::cpu::taken::{SlotBits, TakenSlots};
use crate::compact::cpu::tuning;
use crate::engine::parallel;
use crate::engine::simd::{SimdKernel, SimdLevel};
use crate::engine::stream::{LINE, prefetch_lines_l2, prefetch_lines_to_write};

/// How a bucket's items are put in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InPlaceBucketOrder {
    /// Every slot or index is taken, so that an item's number in the bucket is its place.
    Dense,
    /// Which slots are taken is found out first, and tells how many are before each.
    Gaps,
    /// The items are put at their slots first, and then the gaps are closed.
    Slots,
}

/// A thread's room for one bucket's items in order, and for its taken slots.
pub(super) type BucketStage<'a, T> = (&'a mut [MaybeUninit<T>], &'a mut [MaybeUninit<TakenSlots>]);

/// Puts the items of every bucket in the order of their slots or indexes. Each stage has room for
/// the largest bucket, with its gaps for [`InPlaceBucketOrder::Slots`].
///
/// # Safety
///
/// The collectors are all those of the exchange, and they have run. The array and its low bits have
/// as many places as the grid, and nobody else uses them.
pub(super) unsafe fn all<T: Send, L: LowBits>(
    exchange: &BlockExchange<T, L>,
    collectors: &[Collector<T, L>],
    order: InPlaceBucketOrder,
    stages: Vec<BucketStage<T>>,
) {
    let level = SimdLevel::current();
    let buckets = exchange.grid.buckets();
    let next = AtomicUsize::new(0);
    parallel::each_of(stages, |(stage, room)| {
        let (taken, mut bits) = (TakenSlots::none(room), SlotBits::NONE);
        let numbers = || next.fetch_add(1, Ordering::Relaxed);
        for bucket in core::iter::repeat_with(numbers).take_while(|&bucket| bucket < buckets) {
            let places = exchange.grid.places(bucket);
            if places.is_empty() {
                continue;
            }
            let first = places.start;
            // SAFETY: the grid's places are in the array. This bucket has at least one, and its
            // places are only this thread's.
            let to = unsafe { exchange.items.at(first) };
            let room = if order == InPlaceBucketOrder::Slots {
                exchange.buckets.len()
            } else {
                places.len()
            };
            let stage = &mut stage[..room];
            let items = BucketItems { exchange, collectors, bucket, first };
            level.run(StageBucket { items, order, taken, bits: &mut bits, stage });
            if order == InPlaceBucketOrder::Slots {
                // SAFETY: `StageBucket` has written an item to the stage, which is elsewhere, for
                // each taken slot: the bucket's own items, and it has as many items as places.
                level.run(unsafe { CloseGaps::new(stage, &bits, to, places.len()) });
            } else {
                // SAFETY: `StageBucket` has written an item to every place of the stage, which is
                // elsewhere: the bucket's own items, each once. So none is lost or duplicated.
                unsafe { ptr::copy_nonoverlapping(stage.as_ptr().cast(), to, stage.len()) };
            }
        }
    });
}

/// Where a bucket's items are.
struct BucketItems<'a, 'e, T, L: LowBits> {
    exchange: &'a BlockExchange<'e, T, L>,
    collectors: &'a [Collector<'e, T, L>],
    bucket: usize,
    /// The bucket's first place.
    first: usize,
}

impl<T, L: LowBits> BucketItems<'_, '_, T, L> {
    /// Visits each item: where it is, and its number in the bucket. Narrow items and their low bits
    /// are prefetched some way ahead; and of a stage, the place with an item's number some items
    /// before.
    #[inline(always)]
    fn for_each<P>(&self, stage: Option<*const P>, mut visit: impl FnMut(*const T, usize)) {
        let Self { exchange, collectors, bucket, first } = *self;
        let block_len = exchange.grid.block_len();
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
            for (start, run) in (0..).step_by(LINE).zip(lows.chunks(LINE)) {
                if const { size_of::<T>() <= tuning::LARGEST_AHEAD } {
                    // As many items as a line has bytes take as many lines as an item has bytes.
                    let ahead = |from: *const u8| from.wrapping_add(tuning::BUCKET_AHEAD);
                    prefetch_lines_l2(ahead(items.wrapping_add(start).cast()), size_of::<T>());
                    prefetch_lines_l2(ahead(run.as_ptr().cast()), size_of::<L>());
                }
                for (k, low) in (start..).zip(run) {
                    if let Some(stage) = stage {
                        let later = lows[(k + tuning::PLACES_AHEAD).min(lows.len() - 1)];
                        let place = stage.wrapping_add(later.number(exchange.buckets));
                        prefetch_lines_to_write(place.cast(), 1);
                    }
                    visit(items.wrapping_add(k), low.number(exchange.buckets));
                }
            }
        }
    }
}

/// Copies a bucket's items to the stage. It is compiled for each instruction set, since most
/// machines have an instruction that counts bits.
struct StageBucket<'a, 'e, T, L: LowBits> {
    items: BucketItems<'a, 'e, T, L>,
    order: InPlaceBucketOrder,
    /// Where it says which slots are taken, for [`InPlaceBucketOrder::Gaps`].
    taken: &'a mut [TakenSlots],
    /// The same for [`InPlaceBucketOrder::Slots`].
    bits: &'a mut SlotBits,
    /// As many places as the bucket has items, or a place for each slot for
    /// [`InPlaceBucketOrder::Slots`].
    stage: &'a mut [MaybeUninit<T>],
}

impl<T, L: LowBits> SimdKernel for StageBucket<'_, '_, T, L> {
    type Output = ();

    #[cfg(target_arch = "x86_64")]
    const USES_AVX512: bool = false;

    #[inline(always)]
    fn run(self) {
        let Self { items, order, taken, bits, stage } = self;
        let copy = |item: *const T, place: &mut MaybeUninit<T>| {
            // SAFETY: the item is in the array or in an open block, and the stage is elsewhere.
            unsafe { ptr::copy_nonoverlapping(item, place.as_mut_ptr(), 1) };
        };
        let ahead = tuning::prefetches_places().then_some(stage.as_ptr());
        match order {
            InPlaceBucketOrder::Dense => {
                items.for_each(ahead, |item, number| copy(item, &mut stage[number]));
            }
            InPlaceBucketOrder::Slots => {
                *bits = SlotBits::NONE;
                items.for_each(ahead, |item, slot| {
                    bits.take(slot);
                    copy(item, &mut stage[slot]);
                });
            }
            InPlaceBucketOrder::Gaps => {
                taken.fill(TakenSlots::NONE);
                items.for_each(None::<*const T>, |_, slot| TakenSlots::take(taken, slot));
                TakenSlots::count_before(taken);
                items.for_each(None::<*const T>, |item, slot| {
                    copy(item, &mut stage[taken[slot / 64].rank(slot)]);
                });
            }
        }
    }
}
