//! [`Reader`]: the inputs as one source.

use std::io::{self, ErrorKind, Read, Seek, SeekFrom};

use super::Inputs;
use super::part::{CHANGED, OpenPart, Part};

/// Reads the inputs, one after the other.
pub(crate) struct Reader<'a> {
    inputs: &'a Inputs,
    part: usize,
    /// How many of the part's bytes were read, with the end that is added.
    at: u64,
    open: Option<OpenPart<'a>>,
}

impl Inputs {
    /// Reads all of it, from the start.
    pub(crate) fn reader(&self) -> Reader<'_> {
        Reader { inputs: self, part: 0, at: 0, open: None }
    }
}

impl Reader<'_> {
    /// Reads from a part that has bytes left.
    fn read_part(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let part = &self.inputs.parts[self.part];
        let open = match &mut self.open {
            Some(open) => open,
            none => {
                let mut open = part.open().map_err(|error| part.error(error))?;
                part.check(&open)?;
                let to = SeekFrom::Start(part.start + self.at);
                open.seek(to).map_err(|error| part.error(error))?;
                none.insert(open)
            }
        };
        let left = part.bytes - self.at;
        let room = out.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let read = match open.read(&mut out[..room]) {
            Ok(0) => return Err(part.error(CHANGED)),
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => return Err(error),
            Err(error) => return Err(part.error(error)),
        };
        if read as u64 == left {
            part.check(open)?;
        }
        Ok(read)
    }
}

impl Read for Reader<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        while let Some(part) = self.inputs.parts.get(self.part) {
            if self.at < part.bytes {
                let read = self.read_part(out)?;
                self.at += read as u64;
                return Ok(read);
            }
            if self.at < part.joined_bytes() {
                // Its two bytes at most fit an index.
                let read = (&part.end[(self.at - part.bytes) as usize..]).read(out)?;
                self.at += read as u64;
                return Ok(read);
            }
            (self.part, self.at, self.open) = (self.part + 1, 0, None);
        }
        Ok(0)
    }
}

impl Seek for Reader<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let before = self.inputs.parts[..self.part].iter().map(Part::joined_bytes).sum::<u64>();
        let here = before + self.at;
        let to = match to {
            SeekFrom::Start(to) => Some(to),
            SeekFrom::Current(by) => here.checked_add_signed(by),
            SeekFrom::End(by) => self.inputs.bytes.checked_add_signed(by),
        };
        let to = to.ok_or(ErrorKind::InvalidInput)?;
        if to != here {
            (self.part, self.at, self.open) = (0, to, None);
            while let Some(part) = self.inputs.parts.get(self.part)
                && self.at >= part.joined_bytes()
            {
                self.at -= part.joined_bytes();
                self.part += 1;
            }
        }
        Ok(to)
    }
}
