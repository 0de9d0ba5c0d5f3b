//! The check that indexes are a permutation.

use core::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use crate::base::check::{check_in_order, try_with_capacity};
use crate::compact::cpu::tuning;
use crate::error::{Defect, Error};
use crate::word::Word;

/// Checks that the indexes are the numbers from 0 to their count, each once.
///
/// # Errors
///
/// [`Error::NotABijection`] with the first index, in order, that came before or is out of range, and
/// with places for slots; [`Error::OutOfMemory`] if there is none for a bit an index.
pub(crate) fn check_permutation<N: Word>(indices: &[N]) -> Result<(), Error> {
    if tuning::is_sequential(indices.len(), size_of::<N>()) {
        return check_in_order(indices);
    }
    let words = indices.len().div_ceil(BITS);
    let mut seen: Vec<AtomicUsize> = try_with_capacity(words)?;
    seen.resize_with(words, AtomicUsize::default);
    let is_new = |index: &N| {
        let Some(index) = usize::try_from(index.widen()).ok().filter(|&x| x < indices.len()) else {
            return false;
        };
        let bit = 1 << (index % BITS);
        // Relaxed: each bit stands for itself, and the join orders all of them before the answer.
        seen[index / BITS].fetch_or(bit, Ordering::Relaxed) & bit == 0
    };
    if indices.par_iter().with_min_len(tuning::MOVE_CHUNK).all(is_new) {
        Ok(())
    } else {
        // Which defect a thread met first is chance; the first in order is not.
        check_in_order(indices)
    }
}

/// How many bits are set and asked for together: a pointer's width, which every machine with threads has atomics of.
const BITS: usize = usize::BITS as usize;

/// An error of [`check_permutation`] with the bijection's slots instead of places among those that
/// survived. `last` is the last slot that was evaluated, and `run` evaluates a run again.
///
/// It evaluates up to the second of the slots, on one thread, which only an error has to pay for.
pub(crate) fn with_slots(error: Error, last: u64, run: impl Fn(u64, &mut [u64])) -> Error {
    match error {
        Error::NotABijection(Defect::Repeats { index, .. }) => {
            let slots = first_two_slots(index, last, run);
            Error::NotABijection(Defect::Repeats { index, slots })
        }
        error => error,
    }
}

/// The first two slots of `[0, last]` that have a value.
fn first_two_slots(index: u64, last: u64, run: impl Fn(u64, &mut [u64])) -> Option<[u64; 2]> {
    let mut room = [0; tuning::RUN];
    let mut before = None;
    let mut first = 0;
    loop {
        let count = (last - first).min(tuning::RUN as u64 - 1) as usize + 1;
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
    fn finds_what_is_wrong() {
        assert_eq!(check_permutation::<u32>(&[]), Ok(()));
        assert_eq!(check_permutation(&[2_u32, 0, 1]), Ok(()));
        assert_eq!(
            check_permutation(&[2_u64, 0, 2]),
            Err(Error::NotABijection(Defect::Repeats { index: 2, slots: Some([0, 2]) }))
        );
        assert_eq!(
            check_permutation(&[3_u64, 0, 1]),
            Err(Error::NotABijection(Defect::OutOfRange { slot: 0, index: 3, last: 2 }))
        );
        assert_eq!(
            check_permutation(&[u64::MAX]),
            Err(Error::NotABijection(Defect::OutOfRange { slot: 0, index: u64::MAX, last: 0 }))
        );
    }

    #[test]
    fn one_wrong_index_among_many_is_found() {
        let len = 200_000_u32;
        let good: Vec<u32> = (0..len).map(|k| (k * 7 + 3) % len).collect();
        assert_eq!(check_permutation(&good), Ok(()));
        for place in [0, 1, 63, 64, 99_999, 199_999] {
            let mut bad = good.clone();
            bad[place] = good[(place + 12_345) % good.len()];
            let index = u64::from(bad[place]);
            let other = (place + 12_345) % good.len();
            let slots = Some([place.min(other) as u64, place.max(other) as u64]);
            assert_eq!(
                check_permutation(&bad),
                Err(Error::NotABijection(Defect::Repeats { index, slots }))
            );
        }
    }

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
