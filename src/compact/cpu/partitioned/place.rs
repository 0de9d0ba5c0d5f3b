//! Putting a bucket's items in order, in the cache.

use core::mem::MaybeUninit;

use super::block::{InBuckets, PackedItem};
use crate::compact::cpu::taken::{SlotBits, TakenSlots};
use crate::engine::simd::SimdKernel;

/// How a bucket's items are put in order.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PartitionedBucketOrder {
    /// Every slot is taken, so that there are no gaps to close.
    Dense,
    /// A bitmap of the slots tells how many are taken before each.
    Gaps,
    /// Few slots are taken: the items are sorted ([`Cells`](super::few::Cells)).
    Sparse,
}

/// Puts a bucket's items in the order of their slots, without gaps. It is compiled for each
/// instruction set, since most machines have an instruction that counts bits.
pub(super) struct OrderBucket<'a, T, P> {
    pub(super) parts: &'a [P],
    pub(super) bucket: usize,
    /// Any but [`PartitionedBucketOrder::Sparse`].
    pub(super) order: PartitionedBucketOrder,
    /// Room for [`TakenSlots::count`] words, for [`PartitionedBucketOrder::Gaps`].
    pub(super) taken: &'a mut [MaybeUninit<TakenSlots>],
    /// As many places as the bucket has items.
    pub(super) stage: &'a mut [MaybeUninit<T>],
}

/// Finds the taken slots of a bucket, and how many they are.
#[inline(always)]
fn find_taken<'a, T, P: InBuckets<T>>(
    parts: &[P],
    bucket: usize,
    room: &'a mut [MaybeUninit<TakenSlots>],
) -> (&'a [TakenSlots], usize) {
    let taken = TakenSlots::none(room);
    for part in parts {
        part.for_each(bucket, |slot, _| TakenSlots::take(taken, slot));
    }
    let count = TakenSlots::count_before(taken);
    (taken, count)
}

impl<T, P: InBuckets<T>> SimdKernel for OrderBucket<'_, T, P> {
    /// Whether each place has got one item. With gaps that is checked; it does not hold if two
    /// items have one slot.
    type Output = bool;

    #[cfg(target_arch = "x86_64")]
    const USES_AVX512: bool = false;

    #[inline(always)]
    fn run(self) -> bool {
        let Self { parts, bucket, order, taken, stage } = self;
        let copy = |item: PackedItem<T>, place: &mut MaybeUninit<T>| {
            // SAFETY: the item is in a block of one of the parts, which are borrowed for this whole
            // call.
            unsafe { item.copy_to(place) };
        };
        if order == PartitionedBucketOrder::Dense {
            for part in parts {
                part.for_each(bucket, |slot, item| copy(item, &mut stage[slot]));
            }
            return true;
        }
        // There is a word for every slot that 16 bits can name, so the compiler can drop the bounds
        // checks.
        assert!(taken.len() >= TakenSlots::count(1 << u16::BITS));
        let (taken, count) = find_taken(parts, bucket, taken);
        if count != stage.len() {
            return false;
        }
        for part in parts {
            part.for_each(bucket, |slot, item| {
                copy(item, &mut stage[taken[slot / 64].rank(slot)]);
            });
        }
        true
    }
}

/// Puts a bucket's items at their slots. Their gaps are closed later
/// ([`CloseGaps`](crate::compact::cpu::gaps::CloseGaps)).
pub(super) struct PutAtSlots<'a, T, P> {
    pub(super) parts: &'a [P],
    pub(super) bucket: usize,
    /// Where it says which slots are taken.
    pub(super) taken: &'a mut SlotBits,
    /// A place for each slot.
    pub(super) stage: &'a mut [MaybeUninit<T>],
}

impl<T, P: InBuckets<T>> SimdKernel for PutAtSlots<'_, T, P> {
    type Output = ();

    #[cfg(target_arch = "x86_64")]
    const USES_AVX512: bool = false;

    #[inline(always)]
    fn run(self) {
        let Self { parts, bucket, taken, stage } = self;
        *taken = SlotBits::NONE;
        for part in parts {
            part.for_each(bucket, |slot, item: PackedItem<T>| {
                taken.take(slot);
                // SAFETY: the item is in a block of one of the parts, which are borrowed for this
                // whole call.
                unsafe { item.copy_to(&mut stage[slot]) };
            });
        }
    }
}
