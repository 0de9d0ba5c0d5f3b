//! Checking on several threads that each index comes exactly once: that indexes are a permutation.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::tuning;
use crate::engine::check::{check_in_order, try_with_capacity};
use crate::engine::parallel;
use crate::{Error, Word};

/// Checks that the indexes are the numbers below their count, each exactly once.
///
/// # Errors
///
/// [`Error::NotABijection`] with the first index, in order, that repeats an earlier one or is out
/// of range; its slots are places in `indices`. [`Error::OutOfMemory`] if one bit for each index
/// cannot be allocated.
pub(super) fn check_each_once<N: Word>(indices: &[N]) -> Result<(), Error> {
    if tuning::is_sequential(indices.len(), size_of::<N>()) {
        return Ok(check_in_order(indices)?);
    }
    let words = indices.len().div_ceil(BITS);
    let mut seen: Vec<AtomicUsize> = try_with_capacity(words)?;
    seen.resize_with(words, AtomicUsize::default);
    let is_new = |index: &N| {
        let Some(index) = usize::try_from(index.widen()).ok().filter(|&x| x < indices.len()) else {
            return false;
        };
        let bit = 1 << (index % BITS);
        // Relaxed suffices: no other memory depends on a bit, and the join orders all of them
        // before the result is read.
        seen[index / BITS].fetch_or(bit, Ordering::Relaxed) & bit == 0
    };
    let all_are = AtomicBool::new(true);
    parallel::each(indices.len().div_ceil(tuning::MOVE_CHUNK), &|chunk| {
        let rest = &indices[chunk * tuning::MOVE_CHUNK..];
        let chunk = &rest[..rest.len().min(tuning::MOVE_CHUNK)];
        if all_are.load(Ordering::Relaxed) && !chunk.iter().all(is_new) {
            all_are.store(false, Ordering::Relaxed);
        }
    });
    if all_are.into_inner() {
        Ok(())
    } else {
        // Which defect a thread meets first is a matter of timing. The first in order is not.
        Ok(check_in_order(indices)?)
    }
}

/// The bits in one atomic word: the width of a pointer, for which every machine with threads has
/// atomics.
const BITS: usize = usize::BITS as usize;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Defect;

    #[test]
    fn repeated_and_stray_indexes_are_found() {
        assert_eq!(check_each_once::<u32>(&[]), Ok(()));
        assert_eq!(check_each_once(&[2_u32, 0, 1]), Ok(()));
        assert_eq!(
            check_each_once(&[2_u64, 0, 2]),
            Err(Error::NotABijection(Defect::Repeats { index: 2, slots: Some([0, 2]) }))
        );
        assert_eq!(
            check_each_once(&[3_u64, 0, 1]),
            Err(Error::NotABijection(Defect::OutOfRange {
                method: "forward",
                point: 0,
                value: 3,
                last: 2
            }))
        );
        assert_eq!(
            check_each_once(&[u64::MAX]),
            Err(Error::NotABijection(Defect::OutOfRange {
                method: "forward",
                point: 0,
                value: u64::MAX,
                last: 0
            }))
        );
    }

    #[test]
    fn one_wrong_index_among_many_is_found() {
        let len = 200_000_u32;
        let good: Vec<u32> = (0..len).map(|k| (k * 7 + 3) % len).collect();
        assert_eq!(check_each_once(&good), Ok(()));
        for place in [0, 1, 63, 64, 99_999, 199_999] {
            let mut bad = good.clone();
            bad[place] = good[(place + 12_345) % good.len()];
            let index = u64::from(bad[place]);
            let other = (place + 12_345) % good.len();
            let slots = Some([place.min(other) as u64, place.max(other) as u64]);
            assert_eq!(
                check_each_once(&bad),
                Err(Error::NotABijection(Defect::Repeats { index, slots }))
            );
        }
    }
}
