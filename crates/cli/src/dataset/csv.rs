//! [`Rows`]: rows of CSV.

use memchr::{memchr, memchr2};

use super::lines::Ends;
use super::splitter::{Broken, Found, Splitter};

/// The byte order mark of UTF-8, which may stand before a text.
pub(super) const MARK: &[u8] = b"\xEF\xBB\xBF";

/// Where in a row a byte is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// At the start of a field.
    Start,
    /// In a field, where quotes mean nothing.
    Plain,
    /// Between quotes.
    Quoted,
    /// Behind a quote that ends a field, or is the first of two that stand for one.
    Quote,
}

/// Finds where rows of CSV end: at a newline that is not between quotes.
///
/// It does what `csv-core` does, against which it is tested, except in three cases: a quote
/// that is never closed is an error; a carriage return alone does not end a row; and an empty line
/// is a row. A byte order mark is before the first field, and not in it.
pub(super) struct Rows {
    delimiter: u8,
    state: State,
    at: usize,
    /// Whether a mark may come.
    is_first: bool,
    ends: Ends,
}

impl Rows {
    pub(super) fn new(delimiter: u8, ends: Ends) -> Self {
        Self { delimiter, state: State::Start, at: 0, is_first: !ends.any(), ends }
    }

    /// The end of the row, if it is found.
    fn end(&mut self, text: &[u8]) -> Option<usize> {
        loop {
            let rest = text.get(self.at..).filter(|rest| !rest.is_empty())?;
            let (taken, state) = match self.state {
                State::Quoted => match memchr(b'"', rest) {
                    Some(at) => (at + 1, State::Quote),
                    None => (rest.len(), State::Quoted),
                },
                State::Start if rest[0] == b'"' => (1, State::Quoted),
                State::Quote if rest[0] == b'"' => (1, State::Quoted),
                _ => match memchr2(self.delimiter, b'\n', rest) {
                    Some(at) if rest[at] == b'\n' => {
                        let end = self.at + at + 1;
                        (self.at, self.state) = (0, State::Start);
                        return Some(end);
                    }
                    Some(at) => (at + 1, State::Start),
                    None => (rest.len(), State::Plain),
                },
            };
            self.at += taken;
            self.state = state;
        }
    }
}

impl Splitter for Rows {
    fn find(&mut self, text: &[u8], is_end: bool) -> Result<Found, Broken> {
        if self.is_first {
            if text.len() < MARK.len() && !is_end {
                return Ok(Found::More);
            }
            self.is_first = false;
            self.at = if text.starts_with(MARK) { MARK.len() } else { 0 };
        }
        if let Some(bytes) = self.end(text) {
            self.ends.note(&text[..bytes]);
            return Ok(Found::Record { bytes, end: Vec::new() });
        }
        if !is_end {
            return Ok(Found::More);
        }
        if self.state == State::Quoted {
            return Err(Broken("has a quote that is not closed".to_owned()));
        }
        (self.at, self.state) = (0, State::Start);
        Ok(Found::Record { bytes: text.len(), end: self.ends.missing(text, b'\n') })
    }
}
