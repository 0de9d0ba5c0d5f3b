//! Splitters of lines, groups of lines, and records that begin or end with some bytes.

use memchr::memchr;
use memchr::memmem::Finder;

use super::splitter::{Broken, Found, Splitter};

/// What the last line of an input lacks, as far as its other lines tell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ends {
    /// Whether a line has ended.
    any: bool,
    /// Whether one has ended with no carriage return before its newline.
    is_plain: bool,
}

impl Ends {
    /// A line has ended, whose bytes, or the last of them, are these.
    #[inline]
    pub(super) fn note(&mut self, line: &[u8]) {
        self.any = true;
        self.is_plain |= !line.ends_with(b"\r\n");
    }

    /// Whether a line has ended.
    pub(super) fn any(self) -> bool {
        self.any
    }

    /// Whether all lines that have ended end with a carriage return and a newline.
    pub(super) fn are_windows(self) -> bool {
        self.any && !self.is_plain
    }

    /// The end that a last line lacks.
    pub(super) fn missing(self, line: &[u8], delimiter: u8) -> Vec<u8> {
        match delimiter {
            b'\n' if self.are_windows() && !line.ends_with(b"\r") => b"\r\n".to_vec(),
            delimiter => vec![delimiter],
        }
    }
}

/// Groups of a fixed number of lines.
pub(super) struct LineGroups {
    delimiter: u8,
    lines: u32,
    ends: Ends,
    /// How many lines of the group were found, where the next begins, and how many bytes were
    /// looked at.
    found: u32,
    line: usize,
    at: usize,
}

impl LineGroups {
    pub(super) fn new(delimiter: u8, lines: u32, ends: Ends) -> Self {
        Self { delimiter, lines, ends, found: 0, line: 0, at: 0 }
    }

    fn record(&mut self, bytes: usize, end: Vec<u8>) -> Found {
        (self.found, self.line, self.at) = (0, 0, 0);
        Found::Record { bytes, end }
    }
}

impl Splitter for LineGroups {
    fn find(&mut self, text: &[u8], is_end: bool) -> Result<Found, Broken> {
        while let Some(at) = memchr(self.delimiter, &text[self.at..]) {
            self.at += at + 1;
            self.ends.note(&text[self.line..self.at]);
            self.line = self.at;
            self.found += 1;
            if self.found == self.lines {
                return Ok(self.record(self.at, Vec::new()));
            }
        }
        if !is_end {
            self.at = text.len();
            return Ok(Found::More);
        }
        let last = &text[self.line..];
        let found = self.found + u32::from(!last.is_empty());
        if found < self.lines {
            let Self { lines, .. } = self;
            let why = format!("has {found} of its {lines} lines: the input ends there");
            return Err(Broken(why));
        }
        let end = self.ends.missing(text, self.delimiter);
        Ok(self.record(text.len(), end))
    }
}

/// Reads of FASTQ.
pub(super) struct Reads(LineGroups);

impl Reads {
    pub(super) fn new(ends: Ends) -> Self {
        Self(LineGroups::new(b'\n', 4, ends))
    }
}

impl Splitter for Reads {
    fn find(&mut self, text: &[u8], is_end: bool) -> Result<Found, Broken> {
        let found = self.0.find(text, is_end)?;
        if let Found::Record { bytes, .. } = found {
            check_read(&text[..bytes]).map_err(Broken)?;
        }
        Ok(found)
    }
}

/// Checks the four lines of a read.
fn check_read(read: &[u8]) -> Result<(), String> {
    let mut lines = read.split(|&byte| byte == b'\n');
    let mut line = || {
        let line = lines.next().unwrap_or_default();
        line.strip_suffix(b"\r").unwrap_or(line)
    };
    let (name, bases, plus, qualities) = (line(), line(), line(), line());
    if !name.starts_with(b"@") {
        return Err("is not a read of FASTQ: its first line does not begin with @".to_owned());
    }
    if !plus.starts_with(b"+") {
        return Err("is not a read of FASTQ: its third line does not begin with +".to_owned());
    }
    if bases.len() != qualities.len() {
        let (bases, qualities) = (bases.len(), qualities.len());
        return Err(format!(
            "is not a read of FASTQ: it has {bases} bases and {qualities} qualities"
        ));
    }
    Ok(())
}

/// Records that end with some bytes.
pub(super) struct Separated {
    separator: Finder<'static>,
    at: usize,
}

impl Separated {
    pub(super) fn new(separator: &[u8]) -> Self {
        Self { separator: Finder::new(separator).into_owned(), at: 0 }
    }
}

impl Splitter for Separated {
    fn find(&mut self, text: &[u8], is_end: bool) -> Result<Found, Broken> {
        let length = self.separator.needle().len();
        if let Some(at) = self.separator.find(&text[self.at..]) {
            let bytes = self.at + at + length;
            self.at = 0;
            return Ok(Found::Record { bytes, end: Vec::new() });
        }
        if is_end {
            self.at = 0;
            let end = self.separator.needle().to_vec();
            return Ok(Found::Record { bytes: text.len(), end });
        }
        // The separator may have begun.
        self.at = text.len().saturating_sub(length - 1);
        Ok(Found::More)
    }
}

/// Records that begin with a line that begins with some bytes, and have all lines up to the next.
pub(super) struct Started {
    /// A newline, and the bytes behind it.
    next: Finder<'static>,
    at: usize,
    ends: Ends,
}

impl Started {
    pub(super) fn new(start: &[u8], ends: Ends) -> Self {
        let next = Finder::new(&[b"\n", start].concat()).into_owned();
        Self { next, at: 0, ends }
    }

    /// How the lines of a record end, as long as that tells anything.
    fn note(&mut self, record: &[u8]) {
        for line in record.split_inclusive(|&byte| byte == b'\n') {
            if self.ends.any() && !self.ends.are_windows() {
                break;
            }
            if line.ends_with(b"\n") {
                self.ends.note(line);
            }
        }
    }
}

impl Splitter for Started {
    fn find(&mut self, text: &[u8], is_end: bool) -> Result<Found, Broken> {
        let start = &self.next.needle()[1..];
        if text.len() < start.len() && !is_end {
            return Ok(Found::More);
        }
        if !text.starts_with(start) {
            let start = start.escape_ascii();
            return Err(Broken(format!("does not begin with `{start}`, as records here do")));
        }
        if let Some(at) = self.next.find(&text[self.at..]) {
            let bytes = self.at + at + 1;
            self.note(&text[..bytes]);
            self.at = 0;
            return Ok(Found::Record { bytes, end: Vec::new() });
        }
        if !is_end {
            // The next one may have begun.
            self.at = text.len().saturating_sub(start.len());
            return Ok(Found::More);
        }
        self.at = 0;
        self.note(text);
        let end = if text.ends_with(b"\n") { Vec::new() } else { self.ends.missing(text, b'\n') };
        Ok(Found::Record { bytes: text.len(), end })
    }
}
