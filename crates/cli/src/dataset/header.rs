//! [`Header`]: what stands before the first record of an input.

use std::io::{self, ErrorKind};

use super::lines::Ends;
use super::records::{RecordForm, Records};
use super::splitter::Splitter;
use super::text::{PendingText, Sought};
use crate::formats::MARK;

/// The most bytes of a header.
pub(super) const LONGEST_HEADER: usize = 16 << 20;

/// What stands before the first record of an input.
#[derive(Default)]
pub(super) struct Header {
    /// A byte order mark, and the lines of the header.
    pub(super) bytes: Vec<u8>,
    /// How its lines end.
    pub(super) ends: Ends,
    /// How many fields the last of its rows of CSV has, or the first record, if it is of interest.
    pub(super) fields: Option<usize>,
}

impl Header {
    /// Takes the header from the start of an input: a byte order mark, lines with a prefix, and as
    /// many lines as are counted.
    pub(super) fn take(form: &RecordForm, text: &mut PendingText) -> io::Result<Self> {
        let RecordForm { header_prefixes, headers, .. } = form;
        let mut header = Self::default();
        text.read_at_least(MARK.len())?;
        if text.rest().starts_with(MARK) {
            header.bytes.extend_from_slice(MARK);
            text.advance(MARK.len());
        }
        let delimiter = match form.header_records() {
            Records::Lines(delimiter) => delimiter,
            _ => b'\n',
        };
        let mut lines = Records::Lines(delimiter).splits();
        let longest = header_prefixes.iter().map(Vec::len).max().unwrap_or(0);
        let mut number = 0;
        loop {
            text.read_at_least(longest)?;
            if !header_prefixes.iter().any(|prefix| text.rest().starts_with(prefix)) {
                break;
            }
            number += 1;
            header.take_line(form, text, &mut *lines, number)?;
        }
        let mut splitter = form.header_records().splits();
        for line in 1..=*headers {
            if !header.take_line(form, text, &mut *splitter, number + line)? {
                let why = format!("has {} lines and no header of {headers}", line - 1);
                return Err(invalid(why));
            }
        }
        Ok(header)
    }

    /// Adds a line. Returns whether there is one.
    fn take_line(
        &mut self,
        form: &RecordForm,
        text: &mut PendingText,
        splitter: &mut dyn Splitter,
        number: u64,
    ) -> io::Result<bool> {
        let left = LONGEST_HEADER.saturating_sub(self.bytes.len());
        let Some((bytes, end)) = text.find(splitter, left, Sought::HeaderLine(number))? else {
            return Ok(false);
        };
        let line = [&text.rest()[..bytes], &end].concat();
        if let Records::Csv(csv) = form.records {
            self.fields = Some(csv.fields(&line));
        }
        self.ends.note(&line);
        self.bytes.extend_from_slice(&line);
        text.advance(bytes);
        Ok(true)
    }

    /// Checks that it is the header of the first input, which has this name.
    pub(super) fn check(&self, first: &Self, name: impl Fn() -> String) -> io::Result<()> {
        let [is_marked, is_first_marked] = [self, first].map(|one| one.bytes.starts_with(MARK));
        let why = match (is_marked, is_first_marked) {
            _ if self.bytes == first.bytes => return Ok(()),
            (true, false) => format!("begins with a byte order mark, and {} does not", name()),
            (false, true) => format!("begins without the byte order mark that {} has", name()),
            _ => format!("has another header than {}", name()),
        };
        Err(invalid(why))
    }
}

/// The error of an input that is not what it should be.
pub(super) fn invalid(why: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, why)
}
