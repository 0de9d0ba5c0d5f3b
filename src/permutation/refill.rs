//! Evaluating the next indexes of an [`Indexes`], at either end.

use core::borrow::Borrow;
use core::mem::{self, MaybeUninit};

use super::ahead::Bound;
use super::iter::Indexes;
use super::{Permutation, tuning};
use crate::compact::{SlotRange, Values, room_for};
use crate::engine::check::{or_panic, try_reserve};
use crate::error::Defect;
use crate::{Bijection, Error};

impl<P: Borrow<Permutation<B>>, B: Bijection> Indexes<P, B> {
    /// Whether each place is evaluated by itself, instead of a run of slots together.
    pub(super) fn is_direct(&self) -> bool {
        let permutation = self.permutation();
        self.inverted || permutation.fills_domain() || permutation.slots().is_some()
    }

    /// The indexes at `count` places from `first` on, if places are [direct](Self::is_direct). It
    /// reuses the memory of `indices`.
    ///
    /// # Errors
    ///
    /// [`Error::NotABijection`].
    fn evaluate(&self, first: u64, count: usize, mut indices: Vec<u64>) -> Result<Vec<u64>, Error> {
        indices.clear();
        indices.extend((0..count as u64).map(|k| first + k * self.stride));
        self.permutation().evaluate(self.inverted, self.stride == 1, &mut indices);
        let last = self.permutation().len.saturating_sub(1);
        // Without a branch for each index, so that the compiler uses vectors.
        if !indices.iter().fold(false, |is_wrong, &index| is_wrong | (index > last)) {
            return Ok(indices);
        }
        let wrong = (0..).zip(&indices).find(|&(_, &index)| index > last);
        let (k, &value) = wrong.expect("one index is not below the length");
        let method = if self.inverted { "inverse" } else { "forward" };
        // The defect's points are places of this permutation.
        let point = first + k * self.stride;
        Err(Error::NotABijection(Defect::OutOfRange { method, point, value, last }))
    }

    /// The next index, when no evaluated one is left.
    #[cold]
    pub(super) fn next_of_refilled(&mut self) -> Option<u64> {
        if self.left == 0 {
            return None;
        }
        or_panic(self.refill());
        self.next()
    }

    /// The next indexes at the front that are evaluated together: at least one, if any is left.
    ///
    /// # Errors
    ///
    /// [`Error::NotABijection`] if one is left and the bijection has none.
    pub(super) fn run(&mut self) -> Result<&[u64], Error> {
        if self.left > 0 && self.front.rest().is_empty() {
            self.refill()?;
        }
        let rest = self.front.rest();
        Ok(&rest[..rest.len().min(usize::try_from(self.left).unwrap_or(usize::MAX))])
    }

    /// Calls `take` with all remaining indexes, in runs. The iterator itself panics where this
    /// returns an error.
    ///
    /// # Errors
    ///
    /// [`Error::NotABijection`] if the bijection has fewer than are left.
    #[doc(hidden)]
    pub fn try_for_each_run(mut self, mut take: impl FnMut(&[u64])) -> Result<(), Error> {
        while self.left > 0 {
            let run = self.run()?;
            take(run);
            let count = run.len() as u64;
            self.advance(count);
        }
        Ok(())
    }

    /// Reserves the memory for evaluating at the front, which is otherwise allocated without a way
    /// to fail when it is needed.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub(super) fn reserve_run(&mut self) -> Result<(), Error> {
        Ok(try_reserve(&mut self.front.indices, tuning::RUN)?)
    }

    /// Evaluates the next indexes at the front. At least one must be left.
    fn refill(&mut self) -> Result<(), Error> {
        self.front.clear();
        if !self.is_direct() {
            return self.refill_with_survivors();
        }
        let count = self.left.min(tuning::RUN as u64) as usize;
        let memory = mem::take(&mut self.front.indices);
        self.front.indices = self.evaluate(self.next, count, memory)?;
        Ok(())
    }

    fn refill_with_survivors(&mut self) -> Result<(), Error> {
        let Permutation { bijection, len, .. } = self.permutation.borrow();
        let values = Values::unchecked(bijection, *len);
        let mut at = self.front.ended.unwrap_or_default();
        self.jump(&mut at);
        let mut room = [MaybeUninit::uninit(); room_for(tuning::RUN)];
        let stride = usize::try_from(self.stride).unwrap_or(usize::MAX);
        while let Ok(slot) = u64::try_from(at.slot)
            && slot <= values.last_slot()
        {
            let slots = SlotRange::from(slot, values.last_slot(), tuning::RUN);
            let survivors = values.survivors(slots, &mut room);
            self.front.begun = Some(at);
            let skipped = self.next.saturating_sub(at.place);
            at.slot += slots.count() as u128;
            // A wrong bijection may have any number of survivors.
            at.place = at.place.saturating_add(survivors.len() as u64);
            self.front.ended = Some(at);
            if skipped < survivors.len() as u64 {
                let survivors = &survivors[skipped as usize..];
                if stride == 1 {
                    self.front.indices.extend_from_slice(survivors);
                } else {
                    self.front.indices.extend(survivors.iter().step_by(stride));
                }
                return Ok(());
            }
        }
        Err(wrong_count(*len, at.place))
    }

    /// Jumps to a slot nearer to the next place, if that place is far away and the index has such a
    /// slot, or the place is nearer to the end.
    pub(super) fn jump(&self, at: &mut Bound) {
        let permutation = self.permutation();
        let places = self.next.saturating_sub(at.place);
        if !permutation.is_long_jump(places) {
            return;
        }
        let landmark = match permutation.index() {
            Some(index) => index.before(self.next),
            None if permutation.len.saturating_sub(self.next) < places => {
                permutation.landmark_near_end(self.next)
            }
            None => None,
        };
        if let Some(landmark) = landmark
            && u128::from(landmark.slot) > at.slot
        {
            *at = landmark.into();
        }
    }

    /// Evaluates the next indexes at the back. At least one must be left.
    #[cold]
    pub(super) fn refill_back(&mut self) -> Result<(), Error> {
        self.back.clear();
        if !self.is_direct() {
            return self.refill_back_with_survivors();
        }
        let count = self.left.min(tuning::RUN as u64);
        let first = self.last_place() - (count - 1) * self.stride;
        let memory = mem::take(&mut self.back.indices);
        self.back.indices = self.evaluate(first, count as usize, memory)?;
        self.back.indices.reverse();
        Ok(())
    }

    fn refill_back_with_survivors(&mut self) -> Result<(), Error> {
        let Permutation { bijection, len, .. } = self.permutation.borrow();
        let last = self.last_place();
        let places = self.back.ended.map_or(*len, |bound| bound.place).saturating_sub(last);
        let is_reached = self.permutation().is_within_reach(places.saturating_add(1));
        // The index lists the slots if there are many for each item.
        let is_sparse = self.permutation().is_sparse();
        if is_sparse && (self.permutation().is_built_unasked() || !is_reached) {
            self.permutation().expect_index();
            // This holds unless the bijection is wrong about its domain.
            if self.is_direct() {
                return self.refill_back();
            }
        }
        let permutation: &Permutation<B> = self.permutation.borrow();
        let values = Values::unchecked(bijection, *len);
        let end = Bound { slot: u128::from(values.last_slot()) + 1, place: *len };
        let mut at = self.back.ended.unwrap_or(end);
        if permutation.is_long_jump(places) {
            if !is_reached {
                permutation.expect_index();
            }
            let index = permutation.index();
            if let Some(landmark) = index.and_then(|index| index.after(last))
                && u128::from(landmark.slot) < at.slot
            {
                at = landmark.into();
            }
        }
        let mut room = [MaybeUninit::uninit(); room_for(tuning::RUN)];
        while at.slot > 0 {
            // Both are below 2^64.
            let first = at.slot.saturating_sub(tuning::RUN as u128) as u64;
            let slots = SlotRange::from(first, (at.slot - 1) as u64, tuning::RUN);
            let survivors = values.survivors::<u64>(slots, &mut room);
            self.back.begun = Some(at);
            let too_many = || wrong_count(*len, len.saturating_add(1));
            let before = at.place.checked_sub(survivors.len() as u64).ok_or_else(too_many)?;
            at = Bound { slot: u128::from(first), place: before };
            self.back.ended = Some(at);
            if last >= before {
                let stride = usize::try_from(self.stride).unwrap_or(usize::MAX);
                let survivors = survivors.get(..=(last - before) as usize).ok_or_else(too_many)?;
                self.back.indices.extend(survivors.iter().rev().step_by(stride));
                return Ok(());
            }
        }
        Err(wrong_count(*len, len.saturating_sub(at.place)))
    }
}

/// The error for a bijection with another number of survivors than the length.
fn wrong_count(expected: u64, actual: u64) -> Error {
    Error::NotABijection(Defect::Survivors { expected, actual })
}
