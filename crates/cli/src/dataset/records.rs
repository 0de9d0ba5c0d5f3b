//! [`Records`]: what a record is.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use super::csv::{Csv, CsvRows};
use super::lines::{Ends, LineGroups, Reads, Separated, Started};
use super::samples::{PartNames, Samples};
use super::splitter::Splitter;
use super::tfrecords::TfRecords;
use crate::formats::{Format, TFRECORD_HEAD, is_tar, is_tfrecord};

/// What a record is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "records", content = "of", rename_all = "lowercase")]
#[non_exhaustive]
pub enum Records {
    /// A line that ends with this byte.
    Lines(u8),
    /// A fixed number of lines, each ending with this byte.
    Groups(u8, NonZeroU32),
    /// Four lines of FASTQ: `@` and a name, bases, a `+`, and as many qualities as bases.
    Fastq,
    /// A row of CSV, whose quoted fields may contain newlines.
    Csv(Csv),
    /// Bytes up to and including this separator, which must not be empty.
    Separated(Vec<u8>),
    /// A line that begins with these bytes, which must not be empty, and all lines before the next
    /// such line: `>` for the sequences of FASTA.
    Started(Vec<u8>),
    /// A TFRecord of TensorFlow: the length, the bytes and their checksums.
    TfRecord,
    /// The files of a tar archive whose names agree up to their first dot, as in WebDataset.
    Samples {
        /// Whether samples may have other parts than the first one.
        #[serde(rename = "uneven")]
        are_uneven: bool,
    },
}

impl Records {
    /// Splits an input, in which some lines have ended before. Splitters of one data set share
    /// `names`, and rows of CSV have this number of fields, if it is known.
    pub(super) fn splitter(
        &self,
        names: &Arc<OnceLock<PartNames>>,
        ends: Ends,
        fields: Option<usize>,
    ) -> Box<dyn Splitter> {
        match self {
            Self::Lines(delimiter) => Box::new(LineGroups::new(*delimiter, 1, ends)),
            Self::Groups(delimiter, lines) => {
                Box::new(LineGroups::new(*delimiter, lines.get(), ends))
            }
            Self::Fastq => Box::new(Reads::new(ends)),
            Self::Csv(csv) => Box::new(CsvRows::new(*csv, ends, fields)),
            Self::Separated(separator) => Box::new(Separated::new(separator)),
            Self::Started(start) => Box::new(Started::new(start, ends)),
            Self::TfRecord => Box::new(TfRecords),
            Self::Samples { are_uneven } => {
                Box::new(Samples::new((!are_uneven).then(|| Arc::clone(names))))
            }
        }
    }

    /// Creates a splitter for a single input.
    pub fn splits(&self) -> Box<dyn Splitter> {
        self.splitter(&Arc::default(), Ends::default(), None)
    }

    /// What follows the last record of each output.
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
            Self::Started(_) => f.write_str("records with a start"),
            Self::TfRecord => f.write_str("TFRecords"),
            Self::Samples { .. } => f.write_str("samples of tar"),
        }
    }
}

impl fmt::Display for RecordForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { records, headers, header_prefixes, is_text } = self;
        write!(f, "{records}")?;
        match records {
            Records::Lines(0) | Records::Groups(0, _) => write!(f, " that end with a NUL")?,
            Records::Csv(Csv { delimiter, is_uneven, has_loose_quotes }) => {
                write!(f, " with `{}`", delimiter.escape_ascii())?;
                f.write_str(if *is_uneven { " of uneven lengths" } else { "" })?;
                f.write_str(if *has_loose_quotes { " and loose quotes" } else { "" })?;
            }
            Records::Separated(end) => write!(f, " that end with `{}`", end.escape_ascii())?,
            Records::Started(start) => write!(f, " `{}`", start.escape_ascii())?,
            _ => {}
        }
        f.write_str(if *is_text { " of any bytes" } else { "" })?;
        for prefix in header_prefixes {
            write!(f, " after a header of lines with `{}`", prefix.escape_ascii())?;
        }
        match headers {
            0 => Ok(()),
            1 => write!(f, " after a header of 1 line"),
            lines => write!(f, " after a header of {lines} lines"),
        }
    }
}

/// The kind of the records, and the header before them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RecordForm {
    /// What the records are.
    #[serde(flatten)]
    pub records: Records,
    /// The number of lines, or rows of CSV, in the header at the top of each input. All inputs
    /// share that header, and each output begins with it.
    #[serde(rename = "header_lines")]
    pub headers: u64,
    /// Prefixes of further header lines. All lines at the top of an input that begin with one of
    /// them belong to its header, before the lines that `headers` counts.
    pub header_prefixes: Vec<Vec<u8>>,
    /// Whether inputs are text whatever their first bytes are, unless they are compressed or
    /// archives.
    #[serde(rename = "text")]
    pub is_text: bool,
}

impl RecordForm {
    /// Records without a header.
    pub fn new(records: Records) -> Self {
        Self { records, headers: 0, header_prefixes: Vec::new(), is_text: false }
    }

    /// Lines that end with a newline.
    pub fn lines() -> Self {
        Self::new(Records::Lines(b'\n'))
    }

    /// Rows of CSV with this byte between fields, as RFC 4180 has them.
    pub fn csv(delimiter: u8) -> Self {
        Self::new(Records::Csv(Csv::new(delimiter)))
    }

    /// Whether inputs begin with text, which a byte order mark or a header may stand before.
    pub(super) fn has_text(&self) -> bool {
        !matches!(self.records, Records::Samples { .. } | Records::TfRecord)
    }

    /// Checks by the first bytes of an input, once it is decoded, whether it can have such records.
    pub(super) fn check_start(&self, start: &[u8]) -> Result<(), String> {
        if matches!(self.records, Records::Samples { .. }) {
            // An archive without files is all zeros.
            let is_archive = is_tar(start) || start.iter().all(|&byte| byte == 0);
            let why = "is not a tar archive: shuffle it by itself, without --tar";
            return if is_archive { Ok(()) } else { Err(why.to_owned()) };
        }
        if self.records == Records::TfRecord {
            // What is shorter is cut short, and its record is named.
            let is_one = is_tfrecord(start) || start.len() < TFRECORD_HEAD;
            let why = "is not a TFRecord file: its first bytes are not a length with its checksum";
            return if is_one { Ok(()) } else { Err(why.to_owned()) };
        }
        if !is_tfrecord(start) && is_tar(start) {
            return Err("is a tar archive: give --tar, and archives alone".to_owned());
        }
        let delimiter = match self.records {
            _ if self.is_text => None,
            Records::Lines(delimiter) | Records::Groups(delimiter, _) => Some(delimiter),
            Records::Separated(_) | Records::Csv(Csv { delimiter: 0, .. }) => None,
            _ => Some(b'\n'),
        };
        match Format::of(start, None, delimiter) {
            // The mark stands before all records.
            None | Some(Format::Marked) => Ok(()),
            Some(format) if self.is_text && format.may_be_text() => Ok(()),
            Some(format) => Err(format.to_string()),
        }
    }

    /// Whether there may be records of this form. An index, which may say anything, is not trusted.
    pub(super) fn can_be(&self) -> bool {
        let is_empty = match &self.records {
            Records::Separated(bytes) | Records::Started(bytes) => bytes.is_empty(),
            _ => false,
        };
        !is_empty && !self.header_prefixes.iter().any(Vec::is_empty)
    }

    /// What the header consists of.
    pub(super) fn header_records(&self) -> Records {
        match &self.records {
            Records::Csv(csv) => Records::Csv(*csv),
            Records::Lines(delimiter) | Records::Groups(delimiter, _) => Records::Lines(*delimiter),
            _ => Records::Lines(b'\n'),
        }
    }
}
