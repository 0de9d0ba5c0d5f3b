//! [`TableError`]: what can go wrong with a shuffle of a table.

use std::fmt;

use arrow_schema::ArrowError;
use bijective_shuffle::Error;

use crate::files::FilesError;

/// What a format's own crate says went wrong.
type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Why a table could not be shuffled. What was written until then is a part of the output.
#[derive(Debug)]
#[non_exhaustive]
pub enum TableError {
    /// The table could not be read.
    Read(Cause),
    /// The output could not be written.
    Write(Cause),
    /// Rows could not be put in order, for instance because a batch of texts is too long.
    Rows(ArrowError),
    /// The table has something that cannot be kept.
    Unsupported(String),
    /// The tables that are joined do not have the same columns.
    OtherColumns {
        /// The number of the first such table, counted from 0.
        table: usize,
    },
    /// A column has other values in its dictionary than in another table, or in another order, so
    /// its numbers stand for other values.
    OtherDictionary {
        /// The number of the first such table, counted from 0.
        table: usize,
        /// The name of the column.
        column: String,
    },
    /// A column of type INT96 has a value that timestamps of 64 bits cannot hold in their unit.
    Timestamp {
        /// The number of the table, counted from 0.
        table: usize,
        /// The path of the column.
        column: String,
        /// The number of the first row group with such a value, counted from 0.
        group: usize,
        /// The first value there, since 1970.
        nanoseconds: i128,
        /// The unit, as Parquet calls it.
        unit: &'static str,
    },
    /// Blocks are row groups of one size, except for the last, which may be smaller.
    UnequalGroups {
        /// The number of the first group of another size, counted from 0.
        group: usize,
        /// The number of its rows.
        rows: u64,
        /// The number of rows of the first group.
        expected: u64,
    },
    /// The row groups of a window do not fit memory.
    WindowTooLarge {
        /// The memory that is there for a window, in bytes.
        most: u64,
    },
    /// Something that cannot be divided does not fit memory.
    TooLarge {
        /// What it is, and a verb: "a row takes".
        what: String,
        /// The memory that it takes, in bytes.
        bytes: u64,
        /// The memory that is there for it, in bytes.
        most: u64,
    },
    /// There are more rows than can be counted.
    TooManyRows,
    /// What can go wrong with any shuffle: with the store, the threads and the order. It is
    /// [`FilesError::Changed`] if the table did not have the rows that it said it had.
    Files(FilesError),
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) | Self::Write(error) => error.fmt(f),
            Self::Rows(error) => error.fmt(f),
            Self::Unsupported(what) => write!(f, "{what} cannot be shuffled"),
            Self::OtherColumns { table } => {
                write!(f, "table {table}, counted from 0, has other columns than the first")
            }
            Self::OtherDictionary { column, .. } => write!(
                f,
                "column {column} has another dictionary than in the other tables, and only equal \
                 ones can be joined: write all tables with one, or the values themselves"
            ),
            Self::Timestamp { column, group, nanoseconds, unit, .. } => write!(
                f,
                "column {column} of the deprecated type INT96 has, in row group {group}, counted \
                 from 0, a time of {nanoseconds} nanoseconds since 1970, which TIMESTAMP({unit}) \
                 cannot hold: write the column as a timestamp of 64 bits"
            ),
            Self::UnequalGroups { group, rows, expected } => write!(
                f,
                "row group {group}, counted from 0, has {rows} rows, and the first has {expected}: \
                 blocks have to be of one size"
            ),
            Self::WindowTooLarge { most } => {
                write!(f, "a window of row groups takes more than {most} bytes of memory")
            }
            Self::TooLarge { what, bytes, most } => {
                write!(f, "{what} {bytes} bytes of memory, and may take {most}")
            }
            Self::TooManyRows => f.write_str("has more rows than can be counted"),
            Self::Files(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TableError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read(error) | Self::Write(error) => Some(&**error),
            Self::Rows(error) => Some(error),
            Self::Files(error) => Some(error),
            _ => None,
        }
    }
}

impl From<FilesError> for TableError {
    fn from(error: FilesError) -> Self {
        Self::Files(error)
    }
}

impl From<Error> for TableError {
    fn from(error: Error) -> Self {
        Self::Files(error.into())
    }
}

impl TableError {
    /// An error of reading.
    pub(super) fn read(error: impl Into<Cause>) -> Self {
        Self::Read(error.into())
    }

    /// An error of writing.
    pub(super) fn write(error: impl Into<Cause>) -> Self {
        Self::Write(error.into())
    }

    /// Checks that something that cannot be divided fits memory.
    pub(super) fn check_size(
        what: impl FnOnce() -> String,
        bytes: u64,
        most: u64,
    ) -> Result<(), Self> {
        if bytes > most { Err(Self::TooLarge { what: what(), bytes, most }) } else { Ok(()) }
    }
}

/// The sum of numbers of rows or of bytes. An order has at most `i64::MAX` items.
pub(super) fn checked_sum(numbers: impl IntoIterator<Item = u64>) -> Result<u64, TableError> {
    let sum = numbers.into_iter().try_fold(0_u64, u64::checked_add);
    sum.filter(|&sum| sum <= i64::MAX as u64).ok_or(TableError::TooManyRows)
}
