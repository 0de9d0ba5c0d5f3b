//! [`Explained`]: a reader whose errors are said in other words.

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
