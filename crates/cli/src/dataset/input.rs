//! [`Input`]: what is read.

use std::io::{self, Read};

/// An input that can be read from its start repeatedly, and while other inputs are read.
pub trait Input: Sync {
    /// What it is called in messages.
    fn name(&self) -> String;

    /// How many bytes it has, as far as it is known; it serves to show the progress.
    fn bytes(&self) -> u64;

    /// The number of its bytes that are always in memory. A data set keeps that much less of what
    /// it reads.
    fn held(&self) -> usize {
        0
    }

    /// Opens it at its start.
    ///
    /// # Errors
    ///
    /// Those of opening it. An input that changes while it is read should be an error of reading,
    /// as far as it can be known.
    fn open(&self) -> io::Result<Box<dyn Read + Send + '_>>;

    /// Opens it after this many of its bytes; none if it can only be read from its start. Only an
    /// input that can be opened there may be divided among several workers.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open).
    fn open_at(&self, _bytes: u64) -> io::Result<Option<Box<dyn Read + Send + '_>>> {
        Ok(None)
    }
}
