//! Checks of lengths, widths and indexes, fallible allocation, and panics made from errors.

use core::fmt::Display;

use crate::error::BijectionError;
#[cfg(feature = "alloc")]
use crate::error::{Defect, OutOfMemory};
use crate::word::Word;
#[cfg(feature = "alloc")]
use alloc::vec::Vec;

/// Checks that `len` items fit the domain.
pub fn check_length(len: u64, last: u64) -> Result<(), BijectionError> {
    match len.checked_sub(1) {
        Some(index) if index > last => Err(BijectionError::LengthExceedsDomain { len, last }),
        _ => Ok(()),
    }
}

/// Checks that all indexes below `len` can be held in a word.
pub fn check_word<N: Word>(len: usize) -> Result<(), BijectionError> {
    let len = len as u64;
    if len.saturating_sub(1) > N::MAX.widen() {
        return Err(BijectionError::IndexTooWide { len, bits: N::BITS });
    }
    Ok(())
}

/// Checks that a width in bits is at least the family's minimum and at most the word's width.
pub fn check_bits<N: Word>(bits: u32, min: u32) -> Result<(), BijectionError> {
    if (min..=N::BITS).contains(&bits) {
        Ok(())
    } else {
        Err(BijectionError::BitsOutOfRange { bits, min, max: N::BITS })
    }
}

/// Checks, on the calling thread, that the indexes are the numbers from 0 up to their count, each
/// once.
///
/// # Errors
///
/// [`BijectionError::NotABijection`] names the first index, in order, that is out of range or a
/// repeat; its slots are positions in the slice. [`BijectionError::OutOfMemory`] if the bitmap, one
/// bit per index, cannot be allocated.
#[cfg(feature = "alloc")]
pub fn check_in_order<N: Word>(indices: &[N]) -> Result<(), BijectionError> {
    let len = indices.len() as u64;
    let words = indices.len().div_ceil(64);
    let mut seen = try_with_capacity(words)?;
    seen.resize(words, 0_u64);
    for (slot, index) in (0..).zip(indices.iter().map(|index| index.widen())) {
        if index >= len {
            return Err(BijectionError::NotABijection(Defect::OutOfRange {
                method: "forward",
                point: slot,
                value: index,
                last: len - 1,
            }));
        }
        let word = &mut seen[(index / 64) as usize];
        let bit = 1 << (index % 64);
        if *word & bit != 0 {
            let first = (0..).zip(indices).find(|(_, other)| other.widen() == index);
            let slots = first.map(|(first, _)| [first, slot]);
            return Err(BijectionError::NotABijection(Defect::Repeats { index, slots }));
        }
        *word |= bit;
    }
    Ok(())
}

/// An empty vector with room for `len` items.
///
/// # Errors
///
/// [`OutOfMemory`].
#[cfg(feature = "alloc")]
pub fn try_with_capacity<T>(len: usize) -> Result<Vec<T>, OutOfMemory> {
    let mut vec = Vec::new();
    vec.try_reserve_exact(len).map_err(|_| OutOfMemory::for_items::<T>(len as u64))?;
    Ok(vec)
}

/// As [`try_with_capacity`], for a count that may not fit a `usize`.
///
/// # Errors
///
/// [`OutOfMemory`].
#[cfg(feature = "alloc")]
pub fn try_with_capacity_u64<T>(len: u64) -> Result<Vec<T>, OutOfMemory> {
    let room = usize::try_from(len).ok().and_then(|len| try_with_capacity(len).ok());
    room.ok_or(OutOfMemory::for_items::<T>(len))
}

/// Makes room for `more` items in a vector that grows.
///
/// # Errors
///
/// [`OutOfMemory`].
#[cfg(feature = "alloc")]
pub fn try_reserve<T>(vec: &mut Vec<T>, more: usize) -> Result<(), OutOfMemory> {
    let all = (more as u64).saturating_add(vec.len() as u64);
    vec.try_reserve(more).map_err(|_| OutOfMemory::for_items::<T>(all))
}

/// Unwraps a result, or panics with the error's message.
#[track_caller]
pub fn or_panic<R>(result: Result<R, impl Display>) -> R {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_that_cannot_be_made_is_an_error_with_its_bytes() {
        let lack = |len: u64| OutOfMemory { bytes: len.saturating_mul(4) };
        for len in [usize::MAX / 8 + 1, usize::MAX] {
            let mut vec = vec![7_u32];
            assert_eq!(try_with_capacity::<u32>(len), Err(lack(len as u64)));
            assert_eq!(try_reserve(&mut vec, len), Err(lack((len as u64).saturating_add(1))));
            assert_eq!(vec, [7]);
        }
        for len in [1 << 61, u64::MAX] {
            assert_eq!(try_with_capacity_u64::<u32>(len), Err(lack(len)));
        }
        assert!(try_with_capacity::<u32>(3).unwrap().capacity() >= 3);
        assert!(try_with_capacity_u64::<u32>(3).unwrap().capacity() >= 3);
    }
}
