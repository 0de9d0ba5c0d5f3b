//! Checks of lengths and widths, memory that is asked for and not assumed, and errors as panics.

use crate::error::Error;
use crate::word::Word;

/// Checks that `len` items fit the domain.
pub(crate) fn check_length(len: u64, last: u64) -> Result<(), Error> {
    match len.checked_sub(1) {
        Some(index) if index > last => Err(Error::LengthExceedsDomain { len, last }),
        _ => Ok(()),
    }
}

/// Checks that the indexes below `len` fit a word.
pub(crate) fn check_word<N: Word>(len: usize) -> Result<(), Error> {
    let len = len as u64;
    if len.saturating_sub(1) > N::max_value().widen() {
        return Err(Error::IndexTooWide { len, bits: N::BITS });
    }
    Ok(())
}

/// An empty vector with room for `len` items.
pub(crate) fn try_with_capacity<T>(len: usize) -> Result<Vec<T>, Error> {
    let mut vec = Vec::new();
    vec.try_reserve_exact(len).map_err(|_| Error::OutOfMemory {
        bytes: (len as u64).saturating_mul(size_of::<T>() as u64),
    })?;
    Ok(vec)
}

/// The value of a result, or a panic with the error's message.
#[track_caller]
pub(crate) fn or_panic<R>(result: Result<R, Error>) -> R {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{error}"),
    }
}
