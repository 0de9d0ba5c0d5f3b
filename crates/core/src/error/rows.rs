//! [`RowsError`]: what is wrong with the rows of a batch.

use core::fmt;

/// Why the rows of a batch cannot be written or moved.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RowsError {
    /// Rows of no items are asked for, and a slice has no number of these.
    NoWidth,
    /// A slice does not consist of whole rows.
    NotWhole {
        /// The length of a row.
        len: u64,
        /// The length of the slice.
        actual: u64,
    },
    /// The range of rows is not within the batch.
    OutOfRange {
        /// The first row asked for.
        first: u64,
        /// The number of rows asked for.
        rows: u64,
        /// The number of rows in the batch.
        count: u64,
    },
}

impl fmt::Display for RowsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoWidth => write!(f, "rows of 0 items were asked for: a row needs at least one"),
            Self::NotWhole { len: 0, actual } => write!(
                f,
                "a slice of {actual} items does not consist of rows of 0: it must be empty"
            ),
            Self::NotWhole { len, actual } => write!(
                f,
                "a slice of {actual} items does not consist of rows of {len}: \
                 its length must be a multiple of {len}"
            ),
            Self::OutOfRange { first, rows, count } => {
                write!(f, "{rows} rows from row {first} on are not within a batch of {count} rows")
            }
        }
    }
}
