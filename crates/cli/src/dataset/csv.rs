//! [`CsvRows`]: rows of CSV.

use memchr::{memchr, memchr3};
use serde::{Deserialize, Serialize};

use super::lines::Ends;
use super::splitter::{Broken, Found, Splitter};

/// A dialect of CSV: RFC 4180 and what is allowed beyond it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Csv {
    /// The byte that separates fields.
    pub delimiter: u8,
    /// Whether rows may have other numbers of fields than the header, or than the first row.
    #[serde(rename = "uneven")]
    pub is_uneven: bool,
    /// Whether a quote within a field that is not quoted is a letter, as in `5" pipe`.
    #[serde(rename = "loose_quotes")]
    pub has_loose_quotes: bool,
}

impl Csv {
    /// CSV with this byte between fields, and nothing beyond RFC 4180.
    pub fn new(delimiter: u8) -> Self {
        Self { delimiter, is_uneven: false, has_loose_quotes: false }
    }

    /// How many fields a row has, which a splitter has found.
    pub(super) fn fields(self, row: &[u8]) -> usize {
        let mut rows = CsvRows::new(self, Ends::default(), None);
        // What is wrong with the row was said when it was found.
        let _ = rows.end(row, true);
        rows.fields
    }
}

/// Where in a row a byte is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowState {
    /// At the start of a field.
    Start,
    /// In a field that is not quoted.
    Plain,
    /// Between quotes.
    Quoted,
    /// After a quote that ends a field, or is the first of two that stand for one.
    Quote,
}

/// A row with this many bytes is searched for carriage returns before its end is found: a file
/// whose rows end with them has only one.
const LONG: usize = 16 << 10;

/// Finds where rows of CSV end: at a newline that is not between quotes.
///
/// Where it finds a row, `csv-core`, against which it is tested, finds the same one, except that
/// an empty line is a row. What readers of CSV understand in different ways is an error: a quote
/// that is never closed, or within a field that is not quoted, text after a closing quote, a
/// carriage return without a newline, and a row of another number of fields.
pub(super) struct CsvRows {
    csv: Csv,
    /// How many fields each row has, unless that is open.
    expected: Option<usize>,
    ends: Ends,
    /// What is known of the row that was begun.
    state: RowState,
    at: usize,
    fields: usize,
}

impl CsvRows {
    pub(super) fn new(csv: Csv, ends: Ends, expected: Option<usize>) -> Self {
        Self { csv, expected, ends, state: RowState::Start, at: 0, fields: 1 }
    }

    /// The end of the row, if it is found. What is wrong with it is wrong at `at`, now and later.
    fn end(&mut self, text: &[u8], is_end: bool) -> Result<Option<usize>, &'static str> {
        while let Some(rest) = text.get(self.at..).filter(|rest| !rest.is_empty()) {
            let (taken, state) = match (self.state, rest[0]) {
                (RowState::Quoted, _) => match memchr(b'"', rest) {
                    Some(at) => (at + 1, RowState::Quote),
                    None => (rest.len(), RowState::Quoted),
                },
                (RowState::Start | RowState::Quote, b'"') => (1, RowState::Quoted),
                (RowState::Quote, b'\r') if rest.len() == 1 && !is_end => break,
                (RowState::Quote, b'\r') => (1, RowState::Plain),
                (RowState::Quote, byte) if byte != self.csv.delimiter && byte != b'\n' => {
                    return Err(BEHIND_A_QUOTE);
                }
                _ => match memchr3(self.csv.delimiter, b'\n', b'"', rest) {
                    None => (rest.len(), RowState::Plain),
                    Some(at) if rest[at] == b'\n' => {
                        self.at += at + 1;
                        return Ok(Some(self.at));
                    }
                    Some(at) if rest[at] == self.csv.delimiter => {
                        self.fields += 1;
                        (at + 1, RowState::Start)
                    }
                    Some(at) if self.csv.has_loose_quotes => (at + 1, RowState::Plain),
                    Some(at) => {
                        (self.at, self.state) = (self.at + at, RowState::Plain);
                        return Err(WITHIN_A_FIELD);
                    }
                },
            };
            self.at += taken;
            self.state = state;
        }
        Ok(None)
    }

    /// How many carriage returns these bytes of a row have that no newline follows, if that can be
    /// told; quotes have as many as they like.
    fn lone_returns(&self, row: &[u8]) -> usize {
        let behind = row.strip_suffix(b"\n").unwrap_or(row);
        let behind = behind.strip_suffix(b"\r").unwrap_or(behind);
        if memchr(b'\r', behind).is_none() {
            return 0;
        }
        let (mut count, mut state) = (0, RowState::Start);
        for (at, &byte) in row.iter().enumerate() {
            state = match (state, byte) {
                (RowState::Quoted, b'"') => RowState::Quote,
                (RowState::Quoted, _) => RowState::Quoted,
                (RowState::Start | RowState::Quote, b'"') => RowState::Quoted,
                (_, b'\r') if row.get(at + 1).is_some_and(|&next| next != b'\n') => {
                    count += 1;
                    RowState::Start
                }
                (_, byte) if byte == self.csv.delimiter => RowState::Start,
                _ => RowState::Plain,
            };
        }
        // The last one ends a row as the others do.
        count + usize::from(count > 0 && row.ends_with(b"\r") && state != RowState::Quoted)
    }

    /// What is wrong with a row that was found.
    fn check(&self, row: &[u8]) -> Result<(), Broken> {
        let (fields, number) = (self.fields, |count: usize| match count {
            1 => "1 field".to_owned(),
            count => format!("{count} fields"),
        });
        match self.expected {
            Some(expected) if expected != fields => {
                let own = if row.trim_ascii().is_empty() {
                    "is an empty line".to_owned()
                } else {
                    format!("has {}", number(fields))
                };
                let others = number(expected);
                Err(Broken(format!(
                    "{own}, and the first row has {others}: give --uneven if that is as it should \
                     be, and --csv=DELIM if another byte than `{}` separates fields",
                    self.csv.delimiter.escape_ascii()
                )))
            }
            // Where the delimiter is another, quotes are loose that are none, and a quoted newline
            // behind one would end a row.
            Some(1) if !row.starts_with(b"\"") && memchr(b'"', row).is_some() => {
                Err(Broken(format!(
                    "has a quote within a field, and the first row has 1 field: give --csv=DELIM if \
                     another byte than `{}` separates fields, and --uneven if none does",
                    self.csv.delimiter.escape_ascii()
                )))
            }
            _ => Ok(()),
        }
    }
}

pub(super) const BEHIND_A_QUOTE: &str =
    "has text after a closing quote: a quote within quotes must be written twice";

pub(super) const WITHIN_A_FIELD: &str = "has a quote within a field that is not quoted: give \
                                         --loose-quotes if it is a letter there, as in 5\" pipe";

impl Splitter for CsvRows {
    fn find(&mut self, text: &[u8], is_end: bool) -> Result<Found, Broken> {
        let end = self.end(text, is_end);
        let (is_seen, seen) = match end {
            Ok(Some(bytes)) => (true, bytes),
            Ok(None) => (is_end || text.len() >= LONG, text.len()),
            // Rows that end with carriage returns are no reason to speak of quotes.
            Err(why) if self.lone_returns(&text[..=self.at]) == 0 => {
                return Err(Broken(why.to_owned()));
            }
            Err(_) if !is_end && text.len() < LONG => return Ok(Found::More),
            Err(_) => (true, text.len()),
        };
        // The first bytes tell, wherever the text that is seen ends.
        let mut count = 0;
        if is_seen {
            count = self.lone_returns(&text[..seen.min(LONG)]);
        }
        if count == 0 && seen > LONG && (is_end || end != Ok(None)) {
            count = self.lone_returns(&text[..seen]);
        }
        if count > 0 {
            let plural = if count == 1 { "" } else { "s" };
            let why = format!(
                "has {count} carriage return{plural} without a newline, which do not end a row: \
                 convert the input, as by `tr '\\r' '\\n'`"
            );
            return Err(Broken(why));
        }
        let end = end.map_err(|why| Broken(why.to_owned()))?;
        if end.is_none() && !is_end {
            return Ok(Found::More);
        }
        if end.is_none() && self.state == RowState::Quoted {
            return Err(Broken("has a quote that is not closed".to_owned()));
        }
        let bytes = end.unwrap_or(text.len());
        self.check(&text[..bytes])?;
        let missing = match end {
            Some(_) => Vec::new(),
            None => self.ends.missing(text, b'\n'),
        };
        self.ends.note(&text[..bytes]);
        (self.state, self.at, self.fields) = (RowState::Start, 0, 1);
        Ok(Found::Record { bytes, end: missing })
    }
}
