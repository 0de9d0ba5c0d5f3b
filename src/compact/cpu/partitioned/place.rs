//! Putting a bucket's items in order, in the cache.

use core::mem::MaybeUninit;

use super::block::{PackedItem, Part};
use super::buckets::LowBits;
use crate::base::memory::assume_init_mut;
use crate::base::simd::SimdKernel;

/// Puts a bucket's items in the order of their slots, without gaps. A kernel, since counting bits
/// is an instruction of its own on most machines.
pub(super) struct OrderBucket<'a, T, L> {
    pub(super) parts: &'a [Part<'a, T, L>],
    pub(super) bucket: usize,
    /// Whether every slot is taken, so that there are no gaps to be closed.
    pub(super) dense: bool,
    /// Room for [`TakenSlots::count`] of them.
    pub(super) taken: &'a mut [MaybeUninit<TakenSlots>],
    /// As many places as there are items.
    pub(super) stage: &'a mut [MaybeUninit<T>],
}

/// 64 slots: which of them are taken, and how many are before them.
#[derive(Clone, Copy)]
pub(super) struct TakenSlots {
    slots: u64,
    before: u32,
}

impl TakenSlots {
    /// How many of them `slots` slots need.
    pub(super) const fn count(slots: usize) -> usize {
        slots.div_ceil(64)
    }
}

/// Finds the taken slots of a bucket.
#[inline(always)]
fn find_taken<'a, T, L: LowBits>(
    parts: &[Part<T, L>],
    bucket: usize,
    room: &'a mut [MaybeUninit<TakenSlots>],
) -> &'a [TakenSlots] {
    room.fill(MaybeUninit::new(TakenSlots { slots: 0, before: 0 }));
    // SAFETY: `fill` has just written a value to each of them.
    let taken = unsafe { assume_init_mut(room) };
    for part in parts {
        part.for_each(bucket, |slot, _| taken[slot / 64].slots |= 1 << (slot % 64));
    }
    let mut before = 0;
    for word in &mut *taken {
        word.before = before;
        before += word.slots.count_ones();
    }
    taken
}

impl<T, L: LowBits> SimdKernel for OrderBucket<'_, T, L> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { parts, bucket, dense, taken, stage } = self;
        let copy = |item: PackedItem<T>, place: &mut MaybeUninit<T>| {
            // SAFETY: the block is in one of the parts, which are borrowed.
            unsafe { item.copy_to(place) };
        };
        if dense {
            for part in parts {
                part.for_each(bucket, |slot, item| copy(item, &mut stage[slot]));
            }
            return;
        }
        // For all slots that 16 bits tell apart, so that no access has to be checked.
        assert!(taken.len() >= TakenSlots::count(1 << u16::BITS));
        let taken = find_taken(parts, bucket, taken);
        for part in parts {
            part.for_each(bucket, |slot, item| {
                let TakenSlots { slots, before } = taken[slot / 64];
                let below = slots & ((1 << (slot % 64)) - 1);
                copy(item, &mut stage[(before + below.count_ones()) as usize]);
            });
        }
    }
}
