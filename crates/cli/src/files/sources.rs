//! [`Sources`] and [`Pieces`]: what is read side by side, and what is written one after the other.

use std::collections::TryReserveError;
use std::error::Error;
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::{Mutex, PoisonError};

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
    /// The kind of the error: that of the system's error behind it, if there is one.
    pub kind: ErrorKind,
    /// The number that the system has for the error, if it is one of the system.
    pub os_error: Option<i32>,
}

impl NamedError {
    /// An error of a file, as one of reading or writing. `why` is a text or another error.
    pub fn io(name: impl fmt::Display, why: impl Into<BoxedError>) -> io::Error {
        io::Error::other(Self::new(name, why))
    }

    pub(crate) fn new(name: impl fmt::Display, why: impl Into<BoxedError>) -> Self {
        let why = why.into();
        Self::caused(name, &why, &*why)
    }

    /// The same with another text than that of the error.
    pub(crate) fn caused(
        name: impl fmt::Display,
        why: impl fmt::Display,
        error: &(dyn Error + 'static),
    ) -> Self {
        let (kind, os_error) = cause(error);
        Self { name: name.to_string(), why: why.to_string(), kind, os_error }
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

impl Error for NamedError {}

/// An error of any type, or a text.
type BoxedError = Box<dyn Error + Send + Sync>;

/// The kind of an error and the system's number for it, from the errors that it stands on. The text
/// tells neither: the numbers of other systems, and of files' own texts, mean something else.
fn cause(error: &(dyn Error + 'static)) -> (ErrorKind, Option<i32>) {
    let (mut kind, mut next) = (ErrorKind::Other, Some(error));
    while let Some(error) = next {
        next = error.source();
        if let Some(error) = error.downcast_ref::<io::Error>() {
            if let Some(number) = error.raw_os_error() {
                return (error.kind(), Some(number));
            }
            if kind == ErrorKind::Other {
                kind = error.kind();
            }
            next = error.get_ref().map(|error| error as &(dyn Error + 'static));
        } else if let Some(named) = error.downcast_ref::<NamedError>() {
            return (named.kind, named.os_error);
        } else if error.is::<TryReserveError>()
            || matches!(error.downcast_ref(), Some(bijective_shuffle::Error::OutOfMemory { .. }))
        {
            return (ErrorKind::OutOfMemory, None);
        }
    }
    (kind, None)
}

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
