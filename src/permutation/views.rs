//! The views that iterate over some places.

use core::ops::{Bound, Range, RangeBounds};

use super::{Iter, Permutation};
use crate::error::ViewError;
use crate::{Bijection, Error};

impl<B: Bijection> Permutation<B> {
    /// Iterates over `p[0], p[1], ..` on the calling thread, in constant memory.
    ///
    /// From the front it needs no index, except for an [inverse](Self::inverted) or a
    /// [composition](Self::then). It evaluates every slot. Where there are many more slots than
    /// items, calling [`build_index`](Self::build_index) beforehand makes it evaluate only the
    /// slots of the items.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::Permutation;
    ///
    /// let p = Permutation::new(1 << 40, 42);
    /// let sample: Vec<u64> = p.iter().take(3).collect();
    /// assert_eq!(sample.len(), 3);
    /// ```
    pub fn iter(&self) -> Iter<'_, B> {
        Iter::new(self, self.inverted, 0, self.len)
    }

    /// Iterates over the places of a range.
    ///
    /// A range that begins far from both ends may need the [index](Self::build_index)
    /// to find its first slot.
    ///
    /// # Errors
    ///
    /// [`ViewError::OutOfRange`](crate::error::ViewError::OutOfRange) if the range does not lie
    /// within the permutation, and the errors of [`get`](Self::get) if the index is needed.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::Permutation;
    ///
    /// let p = Permutation::new(1000, 42);
    /// let middle: Vec<u64> = p.range(400..600)?.collect();
    /// assert_eq!(middle, p.to_vec()[400..600]);
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn range(&self, places: impl RangeBounds<u64>) -> Result<Iter<'_, B>, Error> {
        let Range { start, end } = self.places(places)?;
        if start < end {
            self.prepare(self.inverted, start, start)?;
        }
        Ok(Iter::new(self, self.inverted, start, end - start))
    }

    /// The places of a range.
    ///
    /// # Errors
    ///
    /// [`ViewError::OutOfRange`](crate::error::ViewError::OutOfRange).
    pub(super) fn places(&self, places: impl RangeBounds<u64>) -> Result<Range<u64>, Error> {
        let start = match places.start_bound() {
            Bound::Included(&start) => start.into(),
            Bound::Excluded(&before) => u128::from(before) + 1,
            Bound::Unbounded => 0,
        };
        let end = match places.end_bound() {
            Bound::Included(&last) => u128::from(last) + 1,
            Bound::Excluded(&end) => end.into(),
            Bound::Unbounded => self.len.into(),
        };
        if start <= end && end <= u128::from(self.len) {
            return Ok(start as u64..end as u64);
        }
        Err(Error::View(ViewError::OutOfRange { start, end, len: self.len }))
    }

    /// The contiguous share of one of several workers: the places from `len * rank / ranks` up to
    /// `len * (rank + 1) / ranks`, rounded down.
    ///
    /// The shares are disjoint, cover all places, and differ in length by at most one. A worker
    /// evaluates only its own share. Where the length does not fill the bijection's domain, it
    /// first needs the [index](Self::build_index) to find where its share begins.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchRank`] if `rank` is not below `ranks`, and the errors of
    /// [`get`](Self::get) if the index is needed.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::Permutation;
    ///
    /// let p = Permutation::new(1000, 42);
    /// let mut all = Vec::new();
    /// for rank in 0..3 {
    ///     all.extend(p.shard(rank, 3)?);
    /// }
    /// assert_eq!(all, p.to_vec());
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn shard(&self, rank: u64, ranks: u64) -> Result<Iter<'_, B>, Error> {
        self.iter().shard(rank, ranks)
    }

    /// The first `count` indexes, or all if there are fewer: a random sample without replacement,
    /// which does not evaluate the rest.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::Permutation;
    ///
    /// let winners: Vec<u64> = Permutation::new(1 << 40, 42).head(3).collect();
    /// assert_eq!(winners.len(), 3);
    /// ```
    pub fn head(&self, count: u64) -> Iter<'_, B> {
        Iter::new(self, self.inverted, 0, count.min(self.len))
    }

    /// The inverse permutation: its [`get`](Self::get) is this one's
    /// [`position`](Self::position), and applying it undoes this one.
    ///
    /// It is the same type with the two directions swapped. So the engines move its items as they
    /// undo a shuffle, without a query for each item.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::Permutation;
    ///
    /// let p = Permutation::new(1000, 42);
    /// let q = p.inverted();
    /// assert!(p.iter().zip(0..).all(|(index, k)| q.get(index) == Ok(k)));
    /// ```
    #[must_use]
    pub fn inverted(&self) -> Self
    where
        B: Clone,
    {
        Self { inverted: !self.inverted, ..self.clone() }
    }
}
