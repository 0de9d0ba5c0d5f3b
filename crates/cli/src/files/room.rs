//! [`try_reserve`], [`try_resize`] and [`try_filled`]: memory, or an error; and [`Spare`], memory
//! for reuse.

use std::hint::black_box;
use std::sync::{Mutex, PoisonError};

use bijective_shuffle::Error;

/// Makes room for `more` items, and no more.
pub(super) fn try_reserve<T>(vec: &mut Vec<T>, more: usize) -> Result<(), Error> {
    let bytes =
        (vec.len() as u64).saturating_add(more as u64).saturating_mul(size_of::<T>() as u64);
    vec.try_reserve_exact(more).map_err(|_| Error::OutOfMemory { bytes })
}

/// Has a vector grow or shrink to a length.
pub(super) fn try_resize<T: Clone>(vec: &mut Vec<T>, len: usize, value: T) -> Result<(), Error> {
    try_reserve(vec, len.saturating_sub(vec.len()))?;
    vec.resize(len, value);
    Ok(())
}

/// A value, `len` times.
///
/// Zeros come from the system, and no thread has to write them before they are used. There is no
/// way to ask for them that may fail, so it is asked first whether there is as much memory.
pub(super) fn try_filled<T: Clone>(len: usize, value: T) -> Result<Vec<T>, Error> {
    let mut room = Vec::<T>::new();
    try_reserve(&mut room, len)?;
    // A compiler may leave out memory that is not used.
    drop(black_box(room));
    Ok(vec![value; len])
}

/// Memory for reuse. An allocator that is given back large pieces in another order than that in
/// which it gave them out may hold half as much again as is used.
#[derive(Default)]
pub(crate) struct Spare<T>(Mutex<Vec<T>>);

impl<T: Default> Spare<T> {
    pub(crate) fn take(&self) -> T {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    pub(crate) fn give(&self, memory: T) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(memory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_reservations_are_errors_and_change_nothing() {
        const LEN: usize = isize::MAX as usize / 4;
        let expected = Err(Error::OutOfMemory { bytes: 4 * LEN as u64 + 4 });
        let mut vec = vec![7_u32];
        assert_eq!(try_reserve(&mut vec, LEN), expected);
        assert_eq!(try_resize(&mut vec, LEN + 1, 0), expected);
        assert_eq!(try_filled(LEN + 1, 0_u32).map(|_| ()), expected);
        assert_eq!(vec, [7]);
    }

    #[test]
    fn resized_vectors_have_the_values() {
        let mut vec = try_filled(3, 5_u8).unwrap();
        try_resize(&mut vec, 5, 6).unwrap();
        assert_eq!(vec, [5, 5, 5, 6, 6]);
        try_resize(&mut vec, 1, 6).unwrap();
        assert_eq!(vec, [5]);
    }
}
