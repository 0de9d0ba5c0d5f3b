//! [`FilesError`]: what can go wrong with a shuffle of a file.

use std::{fmt, io};

use bijective_shuffle::Error;

/// Why a file could not be shuffled. What was written to the output until then is a part of it.
#[derive(Debug)]
#[non_exhaustive]
pub enum FilesError {
    /// The source could not be read.
    Read(io::Error),
    /// The output could not be written.
    Write(io::Error),
    /// The temporary store could not be written or read, for instance because the disk is full.
    Temporary(io::Error),
    /// The source did not have the same items when it was read a second time.
    Changed,
    /// An item is too long for the memory that was given.
    ItemTooLong {
        /// The number of the item, counted from 0.
        item: u64,
        /// The most bytes that an item may have with this memory.
        most: usize,
    },
    /// The source ends within a record.
    PartOfRecord {
        /// The size of a record in bytes.
        record: usize,
        /// The number of bytes after the last whole record.
        rest: usize,
    },
    /// The order is one of another number of items.
    LengthMismatch {
        /// The number of items of the source.
        items: u64,
        /// The number of items of the order.
        order: u64,
    },
    /// A thread could not be started.
    Thread(io::Error),
    /// The order could not be computed, or there was not the memory for it or for the items
    /// ([`Error::OutOfMemory`]).
    Shuffle(Error),
}

impl fmt::Display for FilesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) | Self::Write(error) => error.fmt(f),
            Self::Temporary(error) => write!(f, "temporary file: {error}"),
            Self::Changed => f.write_str("the input changed while it was read"),
            Self::ItemTooLong { item, most } => write!(
                f,
                "item {item}, counted from 0, has more than {most} bytes, the most for this much \
                 memory"
            ),
            Self::PartOfRecord { record, rest } => {
                write!(f, "{rest} bytes are left after the last whole record of {record} bytes")
            }
            Self::LengthMismatch { items, order } => {
                write!(f, "an order of {order} items was given for {items} items")
            }
            Self::Thread(error) => write!(f, "threads cannot be started: {error}"),
            Self::Shuffle(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for FilesError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read(error)
            | Self::Write(error)
            | Self::Temporary(error)
            | Self::Thread(error) => Some(error),
            Self::Shuffle(error) => Some(error),
            _ => None,
        }
    }
}

impl From<Error> for FilesError {
    fn from(error: Error) -> Self {
        Self::Shuffle(error)
    }
}
