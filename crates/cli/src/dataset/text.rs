//! [`PendingText`]: what was read of an input and not used yet.

use std::fmt;
use std::io::{self, ErrorKind, Read};

use super::splitter::{Broken, Found, Splitter};

/// How many bytes are read at a time.
const STEP: usize = 256 << 10;

/// What was read of an input and not used yet.
pub(super) struct PendingText<'i> {
    source: Box<dyn Read + Send + 'i>,
    /// Room for what is read.
    bytes: Vec<u8>,
    /// Where in it is what was read and not used.
    at: usize,
    end: usize,
    is_end: bool,
    /// How many things were skipped.
    skipped: u64,
}

impl<'i> PendingText<'i> {
    pub(super) fn new(source: Box<dyn Read + Send + 'i>) -> Self {
        Self { source, bytes: Vec::new(), at: 0, end: 0, is_end: false, skipped: 0 }
    }

    /// What was read and not used.
    pub(super) fn rest(&self) -> &[u8] {
        &self.bytes[self.at..self.end]
    }

    /// Whether there is nothing to read, which is known once some was read.
    pub(super) fn is_empty(&self) -> bool {
        self.rest().is_empty() && self.is_end
    }

    /// Whether there is no more to read.
    pub(super) fn is_end(&self) -> bool {
        self.is_end
    }

    /// These first bytes of the rest are used.
    pub(super) fn advance(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// How many things were skipped since it was asked last.
    pub(super) fn take_skipped(&mut self) -> u64 {
        std::mem::take(&mut self.skipped)
    }

    /// Reads until the rest has this many bytes, or all that are left.
    pub(super) fn read_at_least(&mut self, bytes: usize) -> io::Result<()> {
        while self.rest().len() < bytes && !self.is_end {
            self.read_more()?;
        }
        Ok(())
    }

    /// Reads some more.
    pub(super) fn read_more(&mut self) -> io::Result<()> {
        if self.at > 0 {
            self.bytes.copy_within(self.at..self.end, 0);
            (self.at, self.end) = (0, self.end - self.at);
        }
        let room = self.end + STEP;
        if self.bytes.len() < room {
            // A long record should take little more than its bytes, and not be copied too often.
            let room = room.max(self.bytes.len() / 8 * 9);
            self.bytes.try_reserve_exact(room - self.bytes.len())?;
            self.bytes.resize(room, 0);
        }
        let end = self.end + STEP;
        while self.end < end && !self.is_end {
            match self.source.read(&mut self.bytes[self.end..end]) {
                Ok(read) => {
                    self.end += read;
                    self.is_end = read == 0;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Finds the next record, or line of a header, which has at most `most` bytes; `None` at the
    /// end.
    pub(super) fn find(
        &mut self,
        splitter: &mut dyn Splitter,
        most: usize,
        sought: Sought,
    ) -> io::Result<Option<(usize, Vec<u8>)>> {
        let said = |broken: &Broken| io::Error::other(format!("{sought} {broken}"));
        loop {
            if self.is_empty() {
                splitter.finish().map_err(|broken| said(&broken))?;
                return Ok(None);
            }
            match splitter.find(self.rest(), self.is_end) {
                Ok(Found::Record { bytes, end }) if bytes + end.len() <= most => {
                    return Ok(Some((bytes, end)));
                }
                Ok(Found::Skip { bytes, entries }) => {
                    self.skipped += entries;
                    self.advance(bytes);
                }
                Ok(Found::More) if self.rest().len() <= most => self.read_more()?,
                Ok(Found::Record { .. } | Found::More) => {
                    let advice = match sought {
                        Sought::Record(_) => ": raise --memory",
                        Sought::HeaderLine(_) => ", with which the header is too long",
                    };
                    return Err(said(&Broken(format!("has more than {most} bytes{advice}"))));
                }
                Err(broken) => return Err(said(&broken)),
            }
        }
    }
}

/// What is to be found, by its number, counted from 1.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sought {
    Record(u64),
    HeaderLine(u64),
}

impl fmt::Display for Sought {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Record(number) => write!(f, "record {number}"),
            Self::HeaderLine(number) => write!(f, "header line {number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Records;
    use super::*;

    #[test]
    fn a_long_record_takes_little_more_than_its_bytes() {
        let long = [&vec![b'x'; 5 << 20][..], b"#"].concat();
        let mut text = PendingText::new(Box::new(&long[..]));
        let mut splitter = Records::Separated(b"#".to_vec()).splits();
        let found = text.find(&mut *splitter, long.len(), Sought::Record(1)).unwrap();
        assert_eq!(found, Some((long.len(), Vec::new())));
        assert!(text.bytes.capacity() < long.len() / 4 * 5, "{}", text.bytes.capacity());
    }
}
