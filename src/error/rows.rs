//! [`RowsError`]: what is wrong with rows of a batch.

use core::fmt;

/// Why rows of a batch cannot be written or moved.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RowsError {
    /// A slice does not consist of whole rows, or rows of no items were asked for.
    NotWhole {
        /// A row's length.
        len: u64,
        /// The slice's.
        actual: u64,
    },
    /// Rows that a batch does not have.
    OutOfRange {
        /// The first row asked for.
        first: u64,
        /// How many were asked for.
        rows: u64,
        /// How many there are in all.
        count: u64,
    },
}

impl fmt::Display for RowsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotWhole { len, actual } => write!(
                f,
                "a slice of {actual} items does not consist of rows of {len}: \
                 its length must be a multiple of that"
            ),
            Self::OutOfRange { first, rows, count } => {
                write!(f, "{rows} rows from row {first} on were asked for, and there are {count}")
            }
        }
    }
}
