//! Turning a permutation into an iterator: in `for` loops, and from a cursor.

use super::{Cursor, Indexes, IntoIter, Iter, Permutation};
use crate::{Bijection, Error};

impl<B: Bijection> Permutation<B> {
    /// Resumes an iteration at the position of a [cursor](Iter::cursor).
    ///
    /// # Errors
    ///
    /// [`SavedError::Foreign`](crate::error::SavedError::Foreign) if the cursor belongs to another
    /// permutation, or has been changed; and the errors of [`get`](Self::get), if the
    /// cursor has no slot for its place and the index is [not built at first
    /// use](Permutation#the-index).
    ///
    /// # Examples
    ///
    /// See [`Iter::cursor`].
    pub fn resume(&self, cursor: &Cursor) -> Result<Iter<'_, B>, Error> {
        Iter::resume(self, cursor)
    }
}

impl<'a, B: Bijection> IntoIterator for &'a Permutation<B> {
    type Item = u64;
    type IntoIter = Iter<'a, B>;

    fn into_iter(self) -> Iter<'a, B> {
        self.iter()
    }
}

/// # Examples
///
/// The iterator owns the permutation, so it can be put into a struct or sent to a thread:
///
/// ```
/// use bijective_shuffle::iter::IntoIter;
/// use bijective_shuffle::Permutation;
///
/// struct Loader {
///     indexes: IntoIter,
/// }
///
/// let mut loader = Loader { indexes: Permutation::new(1000, 42).into_iter() };
/// assert_eq!(loader.indexes.next(), Permutation::new(1000, 42).iter().next());
/// let rest = std::thread::spawn(move || loader.indexes.count());
/// assert_eq!(rest.join().unwrap(), 999);
/// ```
impl<B: Bijection> IntoIterator for Permutation<B> {
    type Item = u64;
    type IntoIter = IntoIter<B>;

    fn into_iter(self) -> IntoIter<B> {
        Indexes::over(self)
    }
}
