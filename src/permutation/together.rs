//! The methods of [`Permutation`] that move several arrays at once.

use super::Permutation;
use crate::compact::{ColumnSet, Columns, Direction};
use crate::{Bijection, Error, Workspace};

impl<B: Bijection> Permutation<B> {
    /// Shuffles several columns together: item `p[k]` of each column moves to its place `k`. See
    /// [`Columns`] for what a column may be. Items are moved, not cloned.
    ///
    /// The columns share the evaluations of the bijection. Every call allocates its working memory
    /// anew; [`Workspace::shuffle_together`] keeps it. The CPU moves the columns, whatever the back
    /// end of the permutation is.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if not all columns have the permutation's length, and otherwise as
    /// [`apply`](Self::apply). After an error the columns are unchanged.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::Error;
    /// use bijective_shuffle::Rows;
    /// use bijective_shuffle::prelude::*;
    ///
    /// let p = Permutation::new(3, 42);
    /// let mut pixels = [0_u8, 0, 0, 1, 1, 1, 2, 2, 2];
    /// let mut labels = vec!["zero".to_string(), "one".to_string(), "two".to_string()];
    /// p.apply_together((Rows::new(&mut pixels, 3)?, &mut labels))?;
    /// for (k, index) in p.iter().enumerate() {
    ///     assert_eq!(u64::from(pixels[3 * k]), index);
    ///     assert_eq!(labels[k], ["zero", "one", "two"][index as usize]);
    /// }
    /// p.unapply_together((Rows::new(&mut pixels, 3)?, &mut labels))?;
    /// assert_eq!(labels, ["zero", "one", "two"]);
    ///
    /// let error = p.apply_together((&mut [1, 2, 3], &mut [1, 2])).unwrap_err();
    /// assert_eq!(error, Error::LengthMismatch { expected: 3, actual: 2 });
    /// # Ok::<(), Error>(())
    /// ```
    pub fn apply_together(&self, columns: impl Columns) -> Result<(), Error> {
        self.reorder_together(columns, Direction::Shuffle)
    }

    /// Undoes [`apply_together`](Self::apply_together): item `k` of each column moves to its place
    /// `p[k]`.
    ///
    /// # Errors
    ///
    /// As [`apply_together`](Self::apply_together).
    pub fn unapply_together(&self, columns: impl Columns) -> Result<(), Error> {
        self.reorder_together(columns, Direction::Unshuffle)
    }

    /// Moves the items of all columns by the permutation, in a given direction.
    fn reorder_together(&self, columns: impl Columns, direction: Direction) -> Result<(), Error> {
        let direction = if self.inverted { direction.flip() } else { direction };
        let mut columns = ColumnSet::new(columns)?;
        match columns.len() {
            Some(len) => self.check_slice(len)?,
            None => return Ok(()),
        }
        Workspace::once().reorder_together(&self.bijection, &mut columns, direction)
    }
}
