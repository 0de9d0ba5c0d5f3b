//! [`Watch`]: how far a shuffle is.

use std::io::{self, Read};

/// A phase of a shuffle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShufflePass {
    /// Lines are counted.
    Count,
    /// Items are read and brought to their buckets.
    Distribute,
    /// Buckets are read, put in order, and written.
    Place,
}

/// An observer that is told the progress of a shuffle, and may end it. `()` ignores it.
pub trait Watch: Sync {
    /// A pass begins, over this number of bytes if it is known.
    fn begin(&self, pass: ShufflePass, bytes: Option<u64>);

    /// This many more bytes of the pass are done. Any thread may say so.
    ///
    /// # Errors
    ///
    /// One ends the shuffle, as one of reading or writing these bytes would.
    fn advance(&self, bytes: u64) -> io::Result<()>;
}

impl Watch for () {
    fn begin(&self, _: ShufflePass, _: Option<u64>) {}

    fn advance(&self, _: u64) -> io::Result<()> {
        Ok(())
    }
}

/// A file whose reading is the progress.
pub(crate) struct Watched<'w, R> {
    pub(crate) reader: R,
    pub(crate) watch: &'w dyn Watch,
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(bytes)?;
        self.watch.advance(read as u64)?;
        Ok(read)
    }
}
