//! [`Records`]: what a record is.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::{Arc, OnceLock};

use super::csv::{MARK, Rows};
use super::lines::{Ends, Groups, Reads, Separated};
use super::samples::{Names, Samples};
use super::splitter::Splitter;
use crate::formats::{Format, is_tar};

/// What a record is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Records {
    /// A line, which ends with this byte.
    Lines(u8),
    /// So many lines, which end with this byte.
    Groups(u8, NonZeroU32),
    /// Four lines of FASTQ: a name behind `@`, bases, a `+`, and as many qualities as bases.
    Fastq,
    /// A row of CSV, as RFC 4180 has it: quoted fields may have newlines. The byte separates
    /// fields.
    Csv(u8),
    /// Any bytes up to and with these, which are not empty.
    Separated(Vec<u8>),
    /// The files of a tar archive that have one name up to its first dot, as WebDataset has them.
    Samples {
        /// Whether samples may have other parts than the first one.
        are_uneven: bool,
    },
}

impl Records {
    /// Splits an input, in which some lines have ended before. Splitters of one data set share
    /// `names`.
    pub(super) fn splitter(&self, names: &Arc<OnceLock<Names>>, ends: Ends) -> Box<dyn Splitter> {
        match self {
            Self::Lines(delimiter) => Box::new(Groups::new(*delimiter, 1, ends)),
            Self::Groups(delimiter, lines) => Box::new(Groups::new(*delimiter, lines.get(), ends)),
            Self::Fastq => Box::new(Reads::new(ends)),
            Self::Csv(delimiter) => Box::new(Rows::new(*delimiter, ends)),
            Self::Separated(separator) => Box::new(Separated::new(separator)),
            Self::Samples { are_uneven } => {
                Box::new(Samples::new((!are_uneven).then(|| Arc::clone(names))))
            }
        }
    }

    /// A splitter by itself, as for one input.
    pub fn splits(&self) -> Box<dyn Splitter> {
        self.splitter(&Arc::default(), Ends::default())
    }

    /// What stands behind the last record of each output.
    pub(super) fn trailer(&self) -> &'static [u8] {
        match self {
            Self::Samples { .. } => &[0; 1024],
            _ => b"",
        }
    }
}

impl fmt::Display for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lines(_) => f.write_str("lines"),
            Self::Groups(_, lines) => write!(f, "groups of {lines} lines"),
            Self::Fastq => f.write_str("reads of FASTQ"),
            Self::Csv(_) => f.write_str("rows of CSV"),
            Self::Separated(_) => f.write_str("separated records"),
            Self::Samples { .. } => f.write_str("samples of tar"),
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { records, headers } = self;
        write!(f, "{records}")?;
        match records {
            Records::Lines(0) | Records::Groups(0, _) => write!(f, " that end with a NUL")?,
            Records::Csv(delimiter) => write!(f, " with `{}`", delimiter.escape_ascii())?,
            Records::Separated(end) => write!(f, " that end with `{}`", end.escape_ascii())?,
            _ => {}
        }
        match headers {
            0 => Ok(()),
            1 => write!(f, " behind a header of 1 line"),
            lines => write!(f, " behind a header of {lines} lines"),
        }
    }
}

/// What the records are and what stands before them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    pub(super) records: Records,
    pub(super) headers: u64,
}

impl Form {
    /// Records without a header.
    pub fn new(records: Records) -> Self {
        Self { records, headers: 0 }
    }

    /// Lines that end with a newline.
    pub fn lines() -> Self {
        Self::new(Records::Lines(b'\n'))
    }

    /// Rows of CSV with this byte between fields.
    pub fn csv(delimiter: u8) -> Self {
        Self::new(Records::Csv(delimiter))
    }

    /// So many lines, or rows of CSV, at the head of each input are its header. It is the same for
    /// all inputs, and at the head of each output.
    #[must_use]
    pub fn with_headers(self, headers: u64) -> Self {
        Self { headers, ..self }
    }

    /// What the records are.
    pub fn records(&self) -> &Records {
        &self.records
    }

    /// How many lines, or rows of CSV, the header has.
    pub fn headers(&self) -> u64 {
        self.headers
    }

    /// Checks by the first bytes of an input, once it is decoded, whether it can have such records.
    pub(super) fn check_start(&self, start: &[u8]) -> Result<(), String> {
        if matches!(self.records, Records::Samples { .. }) {
            // An archive without files is all zeros.
            let is_archive = is_tar(start) || start.iter().all(|&byte| byte == 0);
            let why = "is not a tar archive: shuffle it by itself, without --tar";
            return if is_archive { Ok(()) } else { Err(why.to_owned()) };
        }
        if is_tar(start) {
            return Err("is a tar archive: give --tar, and archives alone".to_owned());
        }
        let delimiter = match self.header_records() {
            Records::Lines(delimiter) => delimiter,
            _ => b'\n',
        };
        if let Some(format) = Format::of(start, None, delimiter) {
            return Err(format.to_string());
        }
        if matches!(self.records, Records::Csv(_)) && self.headers == 0 && start.starts_with(MARK) {
            let why = "begins with a byte order mark, which would move with the first row: give \
                       --header-lines, or take the mark off, as by `tail -c +4`";
            return Err(why.to_owned());
        }
        Ok(())
    }

    /// What the header consists of.
    pub(super) fn header_records(&self) -> Records {
        match &self.records {
            Records::Csv(delimiter) => Records::Csv(*delimiter),
            Records::Lines(delimiter) | Records::Groups(delimiter, _) => Records::Lines(*delimiter),
            _ => Records::Lines(b'\n'),
        }
    }
}
