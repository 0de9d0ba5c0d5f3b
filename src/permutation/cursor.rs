//! [`Cursor`]: the position of an iterator, as numbers that can be saved.

use core::fmt;
use core::str::FromStr;

use super::Permutation;
use super::index::Landmark;
use crate::engine::saved;
use crate::error::SavedError;
use crate::{Bijection, Error};

/// The position of an [`Iter`](crate::iter::Iter): seven numbers, from which a later process
/// [resumes](Permutation::resume) the iteration.
///
/// It records which slots have been evaluated. So an iterator that has run to its position is
/// resumed at once, without an index and without repeating any evaluations. An iterator that began
/// or skipped far ahead without an index has no slot to continue from, and has to search for its
/// place.
///
/// `Display` writes it as text and `FromStr` reads it; with the feature `serde` it is serialised as
/// that text. It contains a checksum over the length, the domain and sixteen of the bijection's
/// values, so a cursor that was changed, or belongs to another permutation, is refused.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::{Error, Permutation};
/// use bijective_shuffle::error::SavedError;
///
/// let p = Permutation::new(100, 42);
/// let mut iter = p.iter();
/// iter.next();
/// let cursor = iter.cursor();
/// assert_eq!(cursor.remaining(), 99);
/// assert!(p.resume(&cursor)?.eq(iter));
/// let error = Permutation::new(100, 43).resume(&cursor).unwrap_err();
/// assert_eq!(error, Error::Saved(SavedError::Foreign));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cursor {
    len: u64,
    next: u64,
    left: u64,
    stride: u64,
    /// A slot not after that of the next place, and the number of survivors before it.
    slot: u64,
    survivors: u64,
    check: u64,
}

impl Cursor {
    /// The cursor of an iterator: its next place, the number of places left and the distance
    /// between them, and a slot not after that of the next place, with the number of survivors
    /// before it.
    pub(super) fn new<B: Bijection>(
        permutation: &Permutation<B>,
        [next, left, stride]: [u64; 3],
        landmark: Option<Landmark>,
    ) -> Self {
        let Landmark { slot, place } = landmark.unwrap_or(Landmark { slot: 0, place: 0 });
        let len = permutation.len;
        let cursor = Self { len, next, left, stride, slot, survivors: place, check: 0 };
        Self { check: cursor.check(permutation), ..cursor }
    }

    /// The number of indexes that are left.
    pub const fn remaining(&self) -> u64 {
        self.left
    }

    /// The next place; unspecified if none is left.
    pub const fn place(&self) -> u64 {
        self.next
    }

    fn words(&self) -> [u64; 7] {
        let Self { len, next, left, stride, slot, survivors, check } = *self;
        [len, next, left, stride, slot, survivors, check]
    }

    /// The next place, the number of places left and their distance, and the slot to continue from,
    /// if all of these are valid for a permutation.
    ///
    /// # Errors
    ///
    /// [`SavedError::Foreign`](crate::error::SavedError::Foreign).
    pub(super) fn checked<B: Bijection>(
        &self,
        permutation: &Permutation<B>,
    ) -> Result<([u64; 3], Landmark), Error> {
        if self.len != permutation.len || self.check != self.check(permutation) {
            return Err(Error::Saved(SavedError::Foreign));
        }
        let &Self { len, next, left, stride, slot, survivors: place, .. } = self;
        // The checksum is no secret: anyone can construct a cursor with a correct one.
        let last = u128::from(next) + u128::from(left.saturating_sub(1)) * u128::from(stride);
        let before = u128::from(slot);
        let after = (u128::from(permutation.bijection.last()) + 1).checked_sub(before);
        let is_there = last < u128::from(len)
            && place <= next
            && u128::from(place) <= before
            && after.is_some_and(|slots| u128::from(len - place) <= slots);
        if stride == 0 || (left > 0 && !is_there) {
            return Err(Error::Saved(SavedError::Foreign));
        }
        Ok(([next, left, stride], Landmark { slot, place }))
    }

    /// The checksum of the other numbers and of some of the bijection's values.
    fn check<B: Bijection>(&self, permutation: &Permutation<B>) -> u64 {
        let last = permutation.bijection.last();
        let words = self.words();
        let numbers = words[..6].iter().copied().chain([last, u64::from(permutation.inverted)]);
        let samples = saved::sample_points(last).map(|slot| permutation.bijection.forward(slot));
        saved::check(numbers.chain(samples))
    }
}

saved::serialised_as_text!(Cursor, "the text of a cursor");

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        saved::write(f, &self.words())
    }
}

impl FromStr for Cursor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let [len, next, left, stride, slot, survivors, check] =
            saved::read(text).ok_or(Error::Saved(SavedError::NotACursor))?;
        Ok(Self { len, next, left, stride, slot, survivors, check })
    }
}
