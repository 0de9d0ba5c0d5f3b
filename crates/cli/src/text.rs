//! [`Text`]: all of an input at once.

use std::ops::Deref;

/// A text that was read, or a file that is mapped.
pub(crate) enum Text {
    Read(Vec<u8>),
    #[cfg(unix)]
    Mapped(memmap2::Mmap),
}

impl Text {
    /// Maps a file.
    ///
    /// Nothing prevents others from changing the file meanwhile. What is read from the map may then
    /// differ from one time to the next. So its readers have to keep within its bounds whatever
    /// it says, and to check in the end that the file has not changed. If the file has become
    /// shorter, the program gets the signal `SIGBUS`, and [`signals`](crate::signals) has the
    /// answer to it.
    #[cfg(unix)]
    pub(crate) fn map(file: &std::fs::File) -> std::io::Result<Self> {
        // SAFETY: the bytes are searched and copied, by safe code that checks its bounds at each
        // step and keeps no invariant that depends on reading the same byte twice.
        let map = unsafe { memmap2::Mmap::map(file) };
        map.map(Self::Mapped)
    }

    /// Whether it is a map of a file that may change.
    pub(crate) fn is_mapped(&self) -> bool {
        !matches!(self, Self::Read(_))
    }
}

impl Deref for Text {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Read(text) => text,
            #[cfg(unix)]
            Self::Mapped(text) => text,
        }
    }
}
