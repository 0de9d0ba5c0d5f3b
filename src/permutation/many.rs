//! [`Permutations`]: many independent permutations of one length.

use crate::compact::Direction;
use crate::compact::batch::{self, Batch};
use crate::engine::check::{check_word, or_panic, try_with_capacity};
use crate::error::ViewError;
use crate::permutation::Permutation;
use crate::{Error, Seed, Word};

/// A batch of independent pseudo-random permutations of one length, as the rows of a matrix: for
/// permutation tests, Shapley values, or a bootstrap.
///
/// Row `r` is [`Permutation::new`]`(len, seed.with_epoch(r))`, whether it is drawn alone or with
/// others, on every machine and back end. The seed's own epoch is not used: the row's number
/// replaces it. Nothing is stored; rows are drawn on demand, many at a time.
///
/// # Examples
///
/// A permutation test: is the mean of the first three as far above that of the others by chance?
///
/// ```
/// use bijective_shuffle::prelude::*;
///
/// let values = [5.1, 4.9, 5.6, 3.2, 3.9, 4.1, 3.3, 2.8];
/// let difference = |order: &[u32]| {
///     let mean = |part: &[u32]| {
///         part.iter().map(|&index| values[index as usize]).sum::<f64>() / part.len() as f64
///     };
///     mean(&order[..3]) - mean(&order[3..])
/// };
/// let observed = difference(&[0, 1, 2, 3, 4, 5, 6, 7]);
/// let permutations = Permutations::new(10_000, 8, 42);
/// let drawn = permutations.par_map(|_, order: &[u32]| difference(order))?;
/// let extreme = drawn.iter().filter(|&&other| other >= observed).count();
/// let p_value = (extreme + 1) as f64 / (drawn.len() + 1) as f64;
/// assert!(p_value < 0.05); // exactly 1 in 56
/// # Ok::<(), bijective_shuffle::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Permutations {
    rows: u64,
    row_len: u64,
    seed: Seed,
}

impl Permutations {
    /// The batch of `rows` permutations of `row_len` items that a seed determines.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let permutations = Permutations::new(3, 5, 42);
    /// let rows = permutations.to_vec();
    /// for (r, row) in rows.chunks(5).enumerate() {
    ///     assert_eq!(row, Permutation::new(5, Seed::new(42).with_epoch(r as u64)).to_vec());
    /// }
    /// ```
    pub fn new(rows: u64, row_len: u64, seed: impl Into<Seed>) -> Self {
        // Batches that differ only in the seed's epoch are equal.
        Self { rows, row_len, seed: seed.into().with_epoch(0) }
    }

    /// The number of permutations, or rows.
    pub const fn rows(&self) -> u64 {
        self.rows
    }

    /// The number of items in each permutation, or the length of a row.
    pub const fn row_len(&self) -> u64 {
        self.row_len
    }

    /// The seed, whose epochs are the rows.
    pub const fn seed(&self) -> Seed {
        self.seed
    }

    /// One of the permutations; `None` if `row` is not below [`rows`](Self::rows).
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let permutations = Permutations::new(100, 9, 42);
    /// let row = permutations.row(99).unwrap();
    /// assert_eq!(row.to_vec(), permutations.to_vec()[99 * 9..]);
    /// assert!(permutations.row(100).is_none());
    /// ```
    pub fn row(&self, row: u64) -> Option<Permutation> {
        (row < self.rows).then(|| Permutation::new(self.row_len, self.seed.with_epoch(row)))
    }

    /// All permutations, one after another.
    ///
    /// # Panics
    ///
    /// If there is not enough memory; [`try_to_vec`](Self::try_to_vec) returns an error instead.
    #[track_caller]
    #[inline]
    pub fn to_vec(&self) -> Vec<u64> {
        or_panic(self.try_to_vec())
    }

    /// All permutations, one after another.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    #[inline]
    pub fn try_to_vec(&self) -> Result<Vec<u64>, Error> {
        let items = self.rows.checked_mul(self.row_len);
        let bytes = items.and_then(|items| items.checked_mul(8)).unwrap_or(u64::MAX);
        let items = items.and_then(|items| usize::try_from(items).ok());
        let items = items.ok_or(Error::OutOfMemory { bytes })?;
        let mut rows = try_with_capacity(items)?;
        rows.resize(items, 0_u64);
        self.write_indexes(&mut rows)?;
        Ok(rows)
    }

    /// Writes all permutations, one after another, into a slice of 32-bit or 64-bit words: index
    /// `k` of row `r` is word `r * row_len + k`.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the slice's length is not `rows * row_len`,
    /// [`Error::IndexTooWide`] if the word cannot hold the indexes, and otherwise as
    /// [`try_to_vec`](Self::try_to_vec), after which the slice holds unspecified values.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let mut rows = vec![0_u32; 1000 * 32];
    /// Permutations::new(1000, 32, 42).write_indexes(&mut rows)?;
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn write_indexes<N: Word>(&self, out: &mut [N]) -> Result<(), Error> {
        self.check_all(out.len())?;
        self.write_rows(0, out)
    }

    /// Writes the rows from row `first` on, as many as the slice holds.
    ///
    /// # Errors
    ///
    /// [`ViewError::NotWholeRows`](crate::error::ViewError::NotWholeRows) if the slice's length is
    /// not a multiple of a row's, [`ViewError::OutOfRange`](crate::error::ViewError::OutOfRange) if
    /// the batch has fewer rows than that, and otherwise as [`write_indexes`](Self::write_indexes).
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let permutations = Permutations::new(1 << 40, 4, 42);
    /// let mut rows = [0_u32; 2 * 4];
    /// permutations.write_rows(1 << 39, &mut rows)?;
    /// let second = permutations.row((1 << 39) + 1).unwrap();
    /// assert!(second.iter().eq(rows[4..].iter().map(|&index| u64::from(index))));
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn write_rows<N: Word>(&self, first: u64, out: &mut [N]) -> Result<(), Error> {
        let batch = self.batch_of(first, out.len())?;
        batch::fill(&batch, first, out)
    }

    /// Maps each permutation with a function, and returns the results in the order of the rows. The
    /// function is called on the threads of the current rayon pool, and only a few rows are in
    /// memory at a time.
    ///
    /// The function gets the row's number and the permutation, in words of type `N`.
    ///
    /// # Errors
    ///
    /// [`Error::IndexTooWide`] if the word cannot hold the indexes, and otherwise as
    /// [`try_to_vec`](Self::try_to_vec). The function may have been called for some of the rows by
    /// then.
    ///
    /// # Panics
    ///
    /// If the function panics.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let permutations = Permutations::new(1000, 32, 42);
    /// let fixed = permutations.par_map(|_, order: &[u32]| {
    ///     (0..).zip(order).filter(|&(place, &index)| place == index).count()
    /// })?;
    /// // One on average.
    /// assert!((900..1100).contains(&fixed.iter().sum::<usize>()));
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn par_map<N: Word, R: Send>(
        &self,
        visit: impl Fn(u64, &[N]) -> R + Sync,
    ) -> Result<Vec<R>, Error> {
        let batch = self.visited::<N>()?;
        batch::map(&batch, self.rows, visit)
    }

    /// Calls a function for each permutation, in any order and in constant memory; otherwise like
    /// [`par_map`](Self::par_map). After a panic of the function most of the remaining rows are
    /// skipped.
    ///
    /// # Errors
    ///
    /// As [`par_map`](Self::par_map).
    ///
    /// # Panics
    ///
    /// As [`par_map`](Self::par_map).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// use bijective_shuffle::prelude::*;
    ///
    /// // How often item 0 comes to each place.
    /// let places = [const { AtomicU32::new(0) }; 4];
    /// Permutations::new(1000, 4, 42).par_for_each(|_, order: &[u32]| {
    ///     let place = order.iter().position(|&index| index == 0).unwrap();
    ///     places[place].fetch_add(1, Ordering::Relaxed);
    /// })?;
    /// assert!(places.iter().all(|count| (200..300).contains(&count.load(Ordering::Relaxed))));
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn par_for_each<N: Word>(&self, visit: impl Fn(u64, &[N]) + Sync) -> Result<(), Error> {
        let batch = self.visited::<N>()?;
        batch::for_each(&batch, self.rows, visit)
    }

    /// Shuffles each row of a matrix by its own permutation: with `p` the permutation
    /// [`row`](Self::row) `r`, item `p[k]` of row `r` moves to its place `k`.
    ///
    /// `items` is the matrix in row-major order: [`rows`](Self::rows) rows of
    /// [`row_len`](Self::row_len) items. Items are moved, not cloned, on the threads of the current
    /// rayon pool.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the slice's length is not `rows * row_len`; the items are then
    /// unchanged. [`Error::OutOfMemory`], though never for rows of at most
    /// [`Standard::EXACT_MAX`](crate::bijection::Standard::EXACT_MAX) items; each row is then
    /// either shuffled or unchanged.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let mut matrix = [1, 2, 3, 10, 20, 30];
    /// let permutations = Permutations::new(2, 3, 42);
    /// permutations.apply_rows(&mut matrix)?;
    /// assert_eq!(matrix[..3], permutations.row(0).unwrap().apply(&[1, 2, 3])?);
    /// assert_eq!(matrix[3..], permutations.row(1).unwrap().apply(&[10, 20, 30])?);
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn apply_rows<T: Send>(&self, items: &mut [T]) -> Result<(), Error> {
        self.reorder_rows(items, Direction::Shuffle)
    }

    /// Undoes [`apply_rows`](Self::apply_rows): item `k` of row `r` moves to its place `p[k]`.
    ///
    /// # Errors
    ///
    /// As [`apply_rows`](Self::apply_rows).
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let mut matrix = [1, 2, 3, 10, 20, 30];
    /// let permutations = Permutations::new(2, 3, 42);
    /// permutations.apply_rows(&mut matrix)?;
    /// permutations.unapply_rows(&mut matrix)?;
    /// assert_eq!(matrix, [1, 2, 3, 10, 20, 30]);
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn unapply_rows<T: Send>(&self, items: &mut [T]) -> Result<(), Error> {
        self.reorder_rows(items, Direction::Unshuffle)
    }

    fn reorder_rows<T: Send>(&self, items: &mut [T], direction: Direction) -> Result<(), Error> {
        self.check_all(items.len())?;
        // If there are items, a row's length is at most their number, and so fits a `usize`.
        let len = if items.is_empty() { 0 } else { self.row_len as usize };
        batch::reorder_rows(&self.batch(len), items, direction)
    }

    /// Checks that a slice has the length of all rows together.
    fn check_all(&self, actual: usize) -> Result<(), Error> {
        let (expected, actual) = (self.rows.checked_mul(self.row_len), actual as u64);
        if expected == Some(actual) {
            Ok(())
        } else {
            Err(Error::LengthMismatch { expected: expected.unwrap_or(u64::MAX), actual })
        }
    }

    /// The batch, for rows that are passed to a function in words of type N.
    fn visited<N: Word>(&self) -> Result<Batch, Error> {
        let too_long = |_| Error::OutOfMemory { bytes: self.row_len.saturating_mul(8) };
        let batch = self.batch(usize::try_from(self.row_len).map_err(too_long)?);
        check_word::<N>(batch.len)?;
        Ok(batch)
    }

    /// The batch, for a slice of `words` words or items, if it consists of whole rows that exist.
    pub(super) fn batch_of(&self, first: u64, words: usize) -> Result<Batch, Error> {
        let (len, words) = (self.row_len, words as u64);
        if words.checked_rem(len).unwrap_or(words) != 0 {
            return Err(Error::View(ViewError::NotWholeRows { len, actual: words }));
        }
        let (rows, count) = (words.checked_div(len).unwrap_or(0), self.rows);
        let (start, end) = (u128::from(first), u128::from(first) + u128::from(rows));
        if end > u128::from(count) {
            return Err(Error::View(ViewError::OutOfRange { start, end, len: count }));
        }
        // If a row is longer than a `usize` can count, the slice has no rows.
        Ok(self.batch(if rows == 0 { 0 } else { len as usize }))
    }

    fn batch(&self, len: usize) -> Batch {
        Batch { len, seed: self.seed }
    }
}
