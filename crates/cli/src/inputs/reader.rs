//! [`Reader`]: the inputs as one source.

use std::io::{self, ErrorKind, Read, Seek, SeekFrom};

use super::Inputs;
use super::source::{CHANGED, InputSource, OpenSource};

/// Reads the inputs, one after the other.
pub(crate) struct Reader<'a> {
    inputs: &'a Inputs,
    source: usize,
    /// How many of the source's bytes were read, with the end that is added.
    at: u64,
    open: Option<OpenSource<'a>>,
}

impl Inputs {
    /// Reads all of it, from the start.
    pub(crate) fn reader(&self) -> Reader<'_> {
        Reader { inputs: self, source: 0, at: 0, open: None }
    }
}

impl Reader<'_> {
    /// Reads from a source that has bytes left.
    fn read_source(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let source = &self.inputs.sources[self.source];
        let open = match &mut self.open {
            Some(open) => open,
            none => {
                let mut open = source.open().map_err(|error| source.error(error))?;
                source.check(&open)?;
                let to = SeekFrom::Start(source.start + self.at);
                open.seek(to).map_err(|error| source.error(error))?;
                none.insert(open)
            }
        };
        let left = source.bytes - self.at;
        let room = out.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let read = match open.read(&mut out[..room]) {
            Ok(0) => return Err(source.error(CHANGED)),
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => return Err(error),
            Err(error) => return Err(source.error(error)),
        };
        if read as u64 == left {
            source.check(open)?;
        }
        Ok(read)
    }
}

impl Read for Reader<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        while let Some(source) = self.inputs.sources.get(self.source) {
            if self.at < source.bytes {
                let read = self.read_source(out)?;
                self.at += read as u64;
                return Ok(read);
            }
            if self.at < source.joined_bytes() {
                // Its two bytes at most fit an index.
                let read = (&source.end[(self.at - source.bytes) as usize..]).read(out)?;
                self.at += read as u64;
                return Ok(read);
            }
            (self.source, self.at, self.open) = (self.source + 1, 0, None);
        }
        Ok(0)
    }
}

impl Seek for Reader<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let before =
            self.inputs.sources[..self.source].iter().map(InputSource::joined_bytes).sum::<u64>();
        let here = before + self.at;
        let to = match to {
            SeekFrom::Start(to) => Some(to),
            SeekFrom::Current(by) => here.checked_add_signed(by),
            SeekFrom::End(by) => self.inputs.bytes.checked_add_signed(by),
        };
        let to = to.ok_or(ErrorKind::InvalidInput)?;
        if to != here {
            (self.source, self.at, self.open) = (0, to, None);
            while let Some(source) = self.inputs.sources.get(self.source)
                && self.at >= source.joined_bytes()
            {
                self.at -= source.joined_bytes();
                self.source += 1;
            }
        }
        Ok(to)
    }
}
