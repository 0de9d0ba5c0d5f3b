//! [`Sources`] and [`Pieces`]: what is read side by side, and what is written one after the other.

use std::io::{self, Read, Write};
use std::sync::{Mutex, PoisonError};
use std::{error, fmt};

/// Sources that are joined. Each can be read from its start at any time, and beside the others.
pub trait Sources: Sync {
    /// Opens a source, counted from 0, at its start.
    ///
    /// # Errors
    ///
    /// Those of opening it. They, and those of reading, should name the source, as an
    /// [`NamedError`] does.
    fn open(&self, source: usize) -> io::Result<Box<dyn Read + Send + '_>>;
}

/// An output in pieces. Each gets some of the items.
pub trait Pieces: Send {
    /// For each piece, in order, the place after its last item. Places are counted from the first
    /// item that is written.
    fn ends(&self) -> &[u64];

    /// Appends whole items to a piece, counted from 0. All of a piece comes before the next; a
    /// piece without items does not come.
    ///
    /// # Errors
    ///
    /// Those of writing.
    fn write(&mut self, piece: usize, items: &[u8]) -> io::Result<()>;
}

/// An error, and the name of the file that it was met with.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NamedError {
    /// What the file is called.
    pub name: String,
    /// What is wrong with it.
    pub why: String,
}

impl NamedError {
    /// An error of a file, as one of reading or writing.
    pub fn io(name: impl fmt::Display, why: impl fmt::Display) -> io::Error {
        io::Error::other(Self { name: name.to_string(), why: why.to_string() })
    }

    /// The error that one of reading or writing has in it, if it names a file.
    pub fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}

impl fmt::Display for NamedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.why)
    }
}

impl error::Error for NamedError {}

/// A source that is read once, as the only one.
pub(super) struct Single<'s, R>(Mutex<Option<&'s mut R>>);

impl<'s, R> Single<'s, R> {
    pub(super) fn new(source: &'s mut R) -> Self {
        Self(Mutex::new(Some(source)))
    }
}

impl<R: Read + Send> Sources for Single<'_, R> {
    fn open(&self, _: usize) -> io::Result<Box<dyn Read + Send + '_>> {
        let source = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        Ok(Box::new(source.ok_or(io::ErrorKind::InvalidInput)?))
    }
}

/// An output that takes all items.
pub(crate) struct Whole<'o, W>(pub(crate) &'o mut W);

impl<W: Write + Send> Pieces for Whole<'_, W> {
    fn ends(&self) -> &[u64] {
        &[u64::MAX]
    }

    fn write(&mut self, _: usize, items: &[u8]) -> io::Result<()> {
        self.0.write_all(items)
    }
}
