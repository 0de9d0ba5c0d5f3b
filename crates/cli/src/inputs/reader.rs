//! [`Reader`]: the inputs as one source.

use std::io::{self, Chain, Read};
use std::slice::Iter;

use super::Inputs;
use super::source::{InputSource, SourceReader};

/// Reads the inputs, one after the other, each with the end that is added to it.
pub(crate) struct Reader<'a> {
    sources: Iter<'a, InputSource>,
    open: Option<Chain<SourceReader<'a>, &'static [u8]>>,
}

impl Inputs {
    /// Reads all of it, from the start.
    pub(crate) fn reader(&self) -> Reader<'_> {
        Reader { sources: self.sources.iter(), open: None }
    }
}

impl Read for Reader<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(open) = &mut self.open {
                let read = open.read(out)?;
                if read > 0 || out.is_empty() {
                    return Ok(read);
                }
            }
            let Some(source) = self.sources.next() else { return Ok(0) };
            self.open = Some(source.reader(0)?.chain(source.end));
        }
    }
}
