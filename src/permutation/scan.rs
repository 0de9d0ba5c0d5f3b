//! Finding places near either end by counting survivors from there, without a [`SurvivorIndex`].

use super::index::{Landmark, for_each_run, room};
use super::{Permutation, tuning};
use crate::Bijection;
use crate::compact::{SlotRange, Values};

impl<B: Bijection> Permutation<B> {
    /// The approximate number of slots between two places that are `places` apart, in a permutation
    /// of at least one item.
    pub(super) fn slots_between(&self, places: u64) -> u128 {
        // At most 2^64 slots for each place, so the product is below 2^128.
        let slots_per_place = u128::from(self.bijection.last() / self.len.max(1)) + 1;
        u128::from(places) * slots_per_place
    }

    /// Whether querying an index is faster than evaluating the slots between places this far apart.
    pub(super) fn is_long_jump(&self, places: u64) -> bool {
        self.slots_between(places) >= u128::from(tuning::LONG_JUMP)
    }

    /// Whether the slots between places this far apart should be evaluated, instead of building an
    /// index.
    pub(super) fn is_within_reach(&self, places: u64) -> bool {
        self.slots_between(places) < u128::from(self.reach())
    }

    /// The most slots that are evaluated instead of building an index.
    fn reach(&self) -> u64 {
        let is_built = self.is_built_unasked() || self.index().is_some();
        if is_built { tuning::LONG_JUMP } else { tuning::REACH }
    }

    /// Whether an index that is needed is built at first use, and not only by
    /// [`build_index`](Self::build_index).
    #[doc(hidden)]
    pub fn is_built_unasked(&self) -> bool {
        // Listing the slot of one item takes as long as counting `SPARSE` slots.
        let slots = self.bijection.last().min(self.len.saturating_mul(tuning::SPARSE));
        slots < tuning::AUTO_INDEX_SLOTS_MAX
    }

    /// The index at a place below the length, if the place is so near an end that evaluating the
    /// slots from there is faster than building an index.
    pub(super) fn select_near(&self, place: u64) -> Option<u64> {
        let start = if self.is_near_start(place) {
            Landmark { slot: 0, place: 0 }
        } else if self.is_near_end(place) {
            self.landmark_near_end(place)?
        } else {
            return None;
        };
        let values = Values::unchecked(&self.bijection, self.len);
        let mut left = usize::try_from(place.checked_sub(start.place)?).ok()?;
        let mut room = room();
        let mut found = None;
        for_each_run(start.slot, values.last_slot(), self.patience(), |slots| {
            let survivors = values.survivors(slots, &mut room);
            found = survivors.get(left).copied();
            left = left.saturating_sub(survivors.len());
            found.is_none()
        });
        found
    }

    /// The number of survivors before a slot, if the slot is so near an end that evaluating the
    /// slots from there is faster than building an index.
    pub(super) fn rank_near(&self, slot: u64) -> Option<u64> {
        let values = Values::unchecked(&self.bijection, self.len);
        let last_slot = values.last_slot();
        let mut room = room();
        let mut count = 0;
        let mut count_from = |first, last, most| {
            for_each_run(first, last, most, |slots| {
                count += values.survivors::<u64>(slots, &mut room).len() as u64;
                true
            });
        };
        if slot == 0 {
            Some(0)
        } else if slot <= self.most_slots() {
            count_from(0, slot - 1, slot as usize);
            Some(count)
        } else if self.is_slot_near(slot) {
            count_from(slot, last_slot, (last_slot - slot + 1) as usize);
            Some(self.len.saturating_sub(count))
        } else {
            None
        }
    }

    /// Whether [`select_near`](Self::select_near) finds a place below the length.
    pub(super) fn is_place_near(&self, place: u64) -> bool {
        self.is_near_start(place) || self.is_near_end(place)
    }

    fn is_near_start(&self, place: u64) -> bool {
        self.slots_between(place.saturating_add(1)) < u128::from(self.most_slots())
    }

    fn is_near_end(&self, place: u64) -> bool {
        self.slots_between(self.len - place) < u128::from(self.most_slots())
    }

    /// Whether [`rank_near`](Self::rank_near) finds what comes before a slot.
    pub(super) fn is_slot_near(&self, slot: u64) -> bool {
        let (last_slot, most) = (self.bijection.last(), self.most_slots());
        slot <= most || (slot <= last_slot && last_slot - slot < most)
    }

    /// The most slots whose evaluation is a small part of the work of building an index.
    fn most_slots(&self) -> u64 {
        self.reach().min(self.bijection.last() / tuning::NEAR_SHARE)
    }

    /// The most slots that are evaluated to find a place that should be within reach. In a random
    /// permutation it is; in one with all survivors at one end it may not be.
    fn patience(&self) -> usize {
        2 * self.reach() as usize
    }

    /// A slot not after that of a place, and the number of survivors before it, found by counting
    /// backwards from the end, if the place is within reach from there.
    pub(super) fn landmark_near_end(&self, place: u64) -> Option<Landmark> {
        if !self.is_within_reach(self.len.checked_sub(place)?) {
            return None;
        }
        let values = Values::unchecked(&self.bijection, self.len);
        let mut room = room();
        let mut end = u128::from(values.last_slot()) + 1;
        let mut at = self.len;
        let mut left = self.patience();
        while at > place && end > 0 && left > 0 {
            let first = end.saturating_sub(tuning::SCAN_RUN as u128) as u64;
            let slots = SlotRange::from(first, (end - 1) as u64, tuning::SCAN_RUN);
            at = at.checked_sub(values.survivors::<u64>(slots, &mut room).len() as u64)?;
            left = left.saturating_sub(tuning::SCAN_RUN);
            end = u128::from(first);
        }
        // This fits 64 bits, unless the place is the length.
        let slot = u64::try_from(end).ok()?;
        (at <= place).then_some(Landmark { slot, place: at })
    }
}
