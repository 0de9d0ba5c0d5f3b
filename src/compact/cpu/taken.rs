//! Which slots of a bucket are taken: [`TakenSlots`], with how many are before each, and
//! [`SlotBits`].
//!
//! ```text
//! place of the item at slot = taken slots before its word + ones below its bit in the word
//! ```

use core::mem::MaybeUninit;

use crate::engine::memory::assume_init_mut;

/// 64 slots of a bucket's bitmap.
#[derive(Clone, Copy)]
pub(super) struct TakenSlots {
    pub(super) slots: u64,
    /// How many are taken before these.
    pub(super) before: u32,
}

impl TakenSlots {
    /// None are taken.
    pub(super) const NONE: Self = Self { slots: 0, before: 0 };

    /// The number of these words for `slots` slots.
    pub(super) const fn count(slots: usize) -> usize {
        slots.div_ceil(64)
    }

    /// Makes words that say that no slot is taken.
    #[inline(always)]
    pub(super) fn none(room: &mut [MaybeUninit<Self>]) -> &mut [Self] {
        room.fill(MaybeUninit::new(Self::NONE));
        // SAFETY: `fill` has just written a value to each word of the room.
        unsafe { assume_init_mut(room) }
    }

    /// Says that a slot of a bucket is taken.
    #[inline(always)]
    pub(super) fn take(bucket: &mut [Self], slot: usize) {
        bucket[slot / 64].slots |= 1 << (slot % 64);
    }

    /// Counts the slots that are taken before each word's, and returns the number of all.
    #[inline(always)]
    pub(super) fn count_before(bucket: &mut [Self]) -> usize {
        let mut before = 0;
        for word in bucket {
            word.before = before;
            before += word.slots.count_ones();
        }
        before as usize
    }

    /// How many slots of the bucket are taken before the given one, which is among these 64.
    #[inline(always)]
    pub(super) fn rank(self, slot: usize) -> usize {
        let below = self.slots & ((1 << (slot % 64)) - 1);
        (self.before + below.count_ones()) as usize
    }
}

/// A bit for each slot of a bucket of up to 2^16, which says whether it is taken.
///
/// It has half the bytes of [`TakenSlots`], which leaves more of the first-level cache to the items
/// that are put at their slots.
pub(super) struct SlotBits([u64; 1 << (u16::BITS - 6)]);

impl SlotBits {
    /// None are taken.
    pub(super) const NONE: Self = Self([0; 1 << (u16::BITS - 6)]);

    /// Says that a slot is taken.
    #[inline(always)]
    pub(super) fn take(&mut self, slot: usize) {
        self.0[slot / 64] |= 1 << (slot % 64);
    }

    /// The slots, 64 to a word.
    #[inline(always)]
    pub(super) fn words(&self) -> &[u64] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taken_slots_are_ranked() {
        let mut room = [MaybeUninit::uninit(); TakenSlots::count(200)];
        for step in [1, 3, 64, 199] {
            let bucket = TakenSlots::none(&mut room);
            (0..200).step_by(step).for_each(|slot| TakenSlots::take(bucket, slot));
            assert_eq!(TakenSlots::count_before(bucket), 200_usize.div_ceil(step));
            for slot in 0..200 {
                assert_eq!(bucket[slot / 64].rank(slot), slot.div_ceil(step));
            }
        }
    }
}
