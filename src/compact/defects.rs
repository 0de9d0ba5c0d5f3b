//! Describing what is wrong with a bijection in its own terms: how many slots survive, and which
//! slots collide.

use crate::Error;
use crate::error::Defect;

/// The error for a number of survivors that is not the length.
pub(crate) fn wrong_count(len: usize, survivors: usize) -> Error {
    // How many there are beyond that depends on how many are counted together, so at most one more
    // is reported.
    let (expected, actual) = (len as u64, survivors.min(len + 1) as u64);
    Error::NotABijection(Defect::Survivors { expected, actual })
}

/// The number of slots that are evaluated at a time.
const RUN: usize = 1 << 10;

/// An error of [`check_in_order`](crate::engine::check::check_in_order) with the bijection's
/// slots instead of places among those that survived. `last` is the last slot that was evaluated,
/// and `run` evaluates a run again.
///
/// It evaluates all slots up to the second of the two, on one thread. Only the error path pays for
/// that.
pub(crate) fn with_slots(error: Error, last: u64, run: impl Fn(u64, &mut [u64])) -> Error {
    match error {
        Error::NotABijection(Defect::Repeats { index, .. }) => {
            let slots = first_two_slots(index, last, run);
            Error::NotABijection(Defect::Repeats { index, slots })
        }
        error => error,
    }
}

/// The first two slots of `[0, last]` whose value is `index`.
fn first_two_slots(index: u64, last: u64, run: impl Fn(u64, &mut [u64])) -> Option<[u64; 2]> {
    let mut room = [0; RUN];
    let mut before = None;
    let mut first = 0;
    loop {
        let count = (last - first).min(RUN as u64 - 1) as usize + 1;
        let values = &mut room[..count];
        run(first, values);
        for (slot, _) in (first..).zip(&*values).filter(|(_, value)| **value == index) {
            if let Some(before) = before {
                return Some([before, slot]);
            }
            before = Some(slot);
        }
        first = first.checked_add(count as u64).filter(|&first| first <= last)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_found_again() {
        let error = || Error::NotABijection(Defect::Repeats { index: 7, slots: Some([1, 2]) });
        let found = |last, seventh: &[u64]| {
            let run = |first: u64, out: &mut [u64]| {
                for (slot, out) in (first..).zip(out) {
                    *out = if seventh.contains(&slot) { 7 } else { 0 };
                }
            };
            match with_slots(error(), last, run) {
                Error::NotABijection(Defect::Repeats { index: 7, slots }) => slots,
                other => panic!("{other}"),
            }
        };
        for slots in [[0, 1], [0, 9999], [1023, 1024], [5, 2048], [9998, 9999]] {
            assert_eq!(found(9999, &slots), Some(slots));
            assert_eq!(found(u64::MAX, &slots), Some(slots));
            assert_eq!(found(slots[1] - 1, &slots), None);
        }
        assert_eq!(found(9999, &[3, 4, 5]), Some([3, 4]));
        assert_eq!(found(0, &[0]), None);
        let other = Error::OutOfMemory { bytes: 1 };
        assert_eq!(with_slots(other.clone(), 9, |_, _| panic!("not asked for")), other);
    }
}
