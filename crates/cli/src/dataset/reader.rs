//! What a shuffle reads of an input: whole lines, or records after their lengths.

use std::io::{self, Read};
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};

use memchr::memchr_iter;

use super::lines::Ends;
use super::splitter::Splitter;
use super::text::{PendingText, Sought};
use crate::files::items::FRAME;

/// What was noticed of the inputs.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// The last records that had no end and got one.
    pub(super) ends_added: AtomicU64,
    /// What is no record, such as folders in archives.
    pub(super) left_out: AtomicU64,
    /// Inputs without a byte.
    pub(super) empty: AtomicU64,
}

/// Lines as they are. The last one gets the end that it may lack.
pub(super) struct DataLines<'i> {
    pub(super) text: PendingText<'i>,
    pub(super) delimiter: u8,
    pub(super) ends: Ends,
    pub(super) notes: &'i Notes,
    /// The last byte.
    pub(super) last: Option<u8>,
    /// What is still to be read of the end that is added.
    pub(super) added: Vec<u8>,
    pub(super) is_end: bool,
}

impl Read for DataLines<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        while self.text.rest().is_empty() && !self.text.is_end() {
            self.text.read_more()?;
        }
        let read = self.text.rest().read(out)?;
        if read == 0 {
            return self.read_end(out);
        }
        let bytes = &out[..read];
        if self.delimiter == b'\n' && (self.ends.are_windows() || !self.ends.any()) {
            let before = self.last;
            for at in memchr_iter(b'\n', bytes) {
                let is_windows = match at.checked_sub(1) {
                    Some(at) => bytes[at] == b'\r',
                    None => before == Some(b'\r'),
                };
                self.ends.note(if is_windows { b"\r\n" } else { b"\n" });
            }
        }
        self.last = Some(bytes[read - 1]);
        self.text.advance(read);
        Ok(read)
    }
}

impl DataLines<'_> {
    /// Reads what is added after the last byte.
    fn read_end(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if !self.is_end {
            self.is_end = true;
            if let Some(last) = self.last
                && last != self.delimiter
            {
                self.notes.ends_added.fetch_add(1, Ordering::Relaxed);
                self.added = self.ends.missing(&[last], self.delimiter);
            }
        }
        let read = self.added.as_slice().read(out)?;
        self.added.drain(..read);
        Ok(read)
    }
}

/// Records, each after its length.
pub(super) struct Framed<'i> {
    text: PendingText<'i>,
    splitter: Box<dyn Splitter>,
    notes: &'i Notes,
    /// The most bytes of a record.
    most: usize,
    /// How many records were found.
    records: u64,
    /// The record that is being read: its length as it stands before it, how many of its bytes the
    /// text begins with, and the end that is added to it.
    length: [u8; FRAME],
    bytes: usize,
    end: Vec<u8>,
    /// How much of all that was read.
    at: usize,
}

impl<'i> Framed<'i> {
    pub(super) fn new(
        text: PendingText<'i>,
        splitter: Box<dyn Splitter>,
        notes: &'i Notes,
        most: usize,
    ) -> Self {
        let (length, end) = ([0; FRAME], Vec::new());
        Self { text, splitter, notes, most, records: 0, length, bytes: 0, end, at: FRAME }
    }

    /// Finds the next record. Returns whether there is one.
    fn find(&mut self) -> io::Result<bool> {
        self.text.advance(mem::take(&mut self.bytes));
        self.end.clear();
        self.at = FRAME;
        let found =
            self.text.find(&mut *self.splitter, self.most, Sought::Record(self.records + 1))?;
        self.notes.left_out.fetch_add(self.text.take_skipped(), Ordering::Relaxed);
        let Some((bytes, end)) = found else { return Ok(false) };
        self.records += 1;
        self.notes.ends_added.fetch_add(u64::from(!end.is_empty()), Ordering::Relaxed);
        // The most is below 2^32.
        self.length = ((bytes + end.len()) as u32).to_le_bytes();
        (self.bytes, self.end, self.at) = (bytes, end, 0);
        Ok(true)
    }

    /// The next bytes of the record; none if all of it was read.
    fn rest(&self) -> &[u8] {
        match self.at.checked_sub(FRAME) {
            None => &self.length[self.at..],
            Some(at) if at < self.bytes => &self.text.rest()[at..self.bytes],
            Some(at) => &self.end[at - self.bytes..],
        }
    }
}

impl Read for Framed<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < out.len() {
            let read = self.rest().read(&mut out[filled..])?;
            if read == 0 && !self.find()? {
                break;
            }
            self.at += read;
            filled += read;
        }
        Ok(filled)
    }
}
