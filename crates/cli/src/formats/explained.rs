//! [`Explained`] and [`reworded`]: errors that are said in other words.

use std::error::Error;
use std::fmt;
use std::io::{self, ErrorKind, Read};

/// A reader whose errors are said in other words.
pub(crate) struct Explained<R, F> {
    pub(crate) reader: R,
    pub(crate) explain: F,
}

impl<R: Read, F: FnMut(io::Error) -> io::Error> Read for Explained<R, F> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.reader.read(bytes).map_err(|error| match error.kind() {
            ErrorKind::Interrupted => error,
            _ => (self.explain)(error),
        })
    }
}

/// An error of reading or writing with another text, and of the same kind and number.
pub(crate) fn reworded(error: io::Error, text: impl fmt::Display) -> io::Error {
    io::Error::new(error.kind(), Reworded { text: text.to_string(), error })
}

/// What [`reworded`] makes.
#[derive(Debug)]
struct Reworded {
    text: String,
    error: io::Error,
}

impl fmt::Display for Reworded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Error for Reworded {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.error)
    }
}
