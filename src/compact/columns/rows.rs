//! [`Rows`]: a matrix as a column of rows.

use crate::Error;
use crate::error::ViewError;

/// The rows of a matrix in row-major order, as a column: each row of `width` items moves as one.
///
/// All columns get one order. [`Permutations::apply_rows`](crate::Permutations::apply_rows) is for
/// the opposite: rows that stay where they are, each with its items in an order of its own.
///
/// The width may be a run-time value. If the compiler knows it, a slice of arrays (`as_chunks_mut`)
/// serves as well.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::Rows;
/// use bijective_shuffle::prelude::*;
///
/// let mut samples = vec![0.0, 0.5, 1.0, 1.5, 2.0, 2.5]; // three rows of two
/// let mut labels = [0, 1, 2];
/// (Rows::new(&mut samples, 2)?, &mut labels).par_bijective_shuffle_together(42);
/// for (row, label) in samples.chunks(2).zip(labels) {
///     assert_eq!(row, [f64::from(label), f64::from(label) + 0.5]);
/// }
/// // One matrix alone: a tuple of one column.
/// (Rows::new(&mut samples, 2)?,).par_bijective_unshuffle_together(42);
/// assert_eq!(samples, [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]);
/// # Ok::<(), bijective_shuffle::Error>(())
/// ```
#[derive(Debug)]
pub struct Rows<'a, T> {
    items: &'a mut [T],
    width: usize,
}

impl<'a, T> Rows<'a, T> {
    /// Views a slice as rows of `width` items.
    ///
    /// # Errors
    ///
    /// [`ViewError::NotWholeRows`](crate::error::ViewError::NotWholeRows) if the width is 0, or
    /// does not divide the length of the slice.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::Error;
    /// use bijective_shuffle::error::ViewError;
    /// use bijective_shuffle::Rows;
    /// use bijective_shuffle::prelude::*;
    ///
    /// let mut matrix = [0_u8; 12];
    /// assert!(Rows::new(&mut matrix, 3).is_ok());
    /// let error = Rows::new(&mut matrix, 5).unwrap_err();
    /// assert_eq!(error, Error::View(ViewError::NotWholeRows { len: 5, actual: 12 }));
    /// ```
    pub fn new(items: &'a mut [T], width: usize) -> Result<Self, Error> {
        if items.len().checked_rem(width) == Some(0) {
            return Ok(Self { items, width });
        }
        let (len, actual) = (width as u64, items.len() as u64);
        Err(Error::View(ViewError::NotWholeRows { len, actual }))
    }

    pub(crate) fn into_parts(self) -> (&'a mut [T], usize) {
        (self.items, self.width)
    }
}
