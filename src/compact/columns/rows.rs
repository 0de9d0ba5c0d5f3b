//! [`Rows`]: a matrix as a column of rows.

use crate::Error;
use crate::error::ViewError;

/// The rows of a matrix in row-major order, as a column: each row of `width` items moves as one.
///
/// The width may be a run-time value. If the compiler knows it, a slice of arrays (`as_chunks_mut`)
/// serves as well.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::prelude::*;
///
/// let mut samples = vec![0.0, 0.5, 1.0, 1.5, 2.0, 2.5]; // three rows of two
/// let mut labels = [0, 1, 2];
/// (Rows::new(&mut samples, 2)?, &mut labels).par_bijective_shuffle_together(42);
/// for (row, label) in samples.chunks(2).zip(labels) {
///     assert_eq!(row, [f64::from(label), f64::from(label) + 0.5]);
/// }
/// # Ok::<(), Error>(())
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
    /// [`ViewError::NoWidth`](crate::error::ViewError::NoWidth) if the width is 0, and
    /// [`ViewError::NotWhole`](crate::error::ViewError::NotWhole) if it does not divide the length
    /// of the slice.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::error::ViewError;
    /// use bijective_shuffle::prelude::*;
    ///
    /// let mut matrix = [0_u8; 12];
    /// assert_eq!(Rows::new(&mut matrix, 3)?.len(), 4);
    /// let error = Rows::new(&mut matrix, 5).unwrap_err();
    /// assert_eq!(error, Error::View(ViewError::NotWhole { len: 5, actual: 12 }));
    /// assert_eq!(Rows::new(&mut matrix, 0).unwrap_err(), Error::View(ViewError::NoWidth));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn new(items: &'a mut [T], width: usize) -> Result<Self, Error> {
        match items.len().checked_rem(width) {
            Some(0) => Ok(Self { items, width }),
            Some(_) => Err(Error::View(ViewError::NotWhole {
                len: width as u64,
                actual: items.len() as u64,
            })),
            None => Err(Error::View(ViewError::NoWidth)),
        }
    }

    /// The number of rows.
    pub const fn len(&self) -> usize {
        self.items.len() / self.width
    }

    /// Whether there are no rows.
    pub const fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The number of items in a row.
    pub const fn width(&self) -> usize {
        self.width
    }

    pub(crate) fn into_parts(self) -> (&'a mut [T], usize) {
        (self.items, self.width)
    }
}
