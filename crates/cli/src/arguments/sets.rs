//! [`SetArguments`]: the options of data sets.

use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;

use bijective_shuffle_cli::dataset::{Csv, RecordForm, Records};
use bijective_shuffle_cli::formats::Compression;
use clap::{ArgAction, ValueEnum};

use super::headings::{INPUT, MACHINES, MEMORY, OUTPUT, RECORDS};
use super::splits::NamedSplits;
use crate::memory::MemorySize;
use crate::selection::WorkerShard;

/// What goes with no kind of record: records of one size, arguments, numbers, and draws.
pub(super) const PLAIN: [&str; 4] = ["record", "echo", "input_range", "repeat"];

/// The options of data sets. Those that say what a record is exclude each other: their group lets
/// one of them pass.
#[derive(clap::Args)]
pub(crate) struct SetArguments {
    /// Read folders in folders too; links to folders are not followed
    #[arg(help_heading = INPUT)]
    #[arg(long, overrides_with = "recursive")]
    pub(crate) recursive: bool,

    /// Read input names from FILE, each terminated by NUL
    #[arg(help_heading = INPUT)]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["operands", "echo", "input_range", "together"])]
    pub(crate) files0_from: Option<PathBuf>,

    /// Keep the first K lines, the same in all inputs, atop each output
    #[arg(help_heading = RECORDS)]
    #[arg(long, value_name = "K", conflicts_with_all = PLAIN)]
    pub(crate) header_lines: Option<u64>,

    /// Keep first lines that begin with BYTES, as '#', too; repeatable
    #[arg(help_heading = RECORDS)]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, action = ArgAction::Append)]
    #[arg(conflicts_with_all = PLAIN)]
    header_prefix: Vec<ByteArgument>,

    /// Shuffle rows of CSV, with quotes; a comma or DELIM divides fields
    #[arg(help_heading = RECORDS)]
    #[arg(long, value_name = "DELIM", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = ",", value_parser = parse_delimiter)]
    #[arg(group = "kind", conflicts_with = "zero_terminated", conflicts_with_all = PLAIN)]
    csv: Option<u8>,

    /// Allow quotes within unquoted fields of CSV, as in 5" pipe
    #[arg(help_heading = RECORDS)]
    #[arg(long, overrides_with = "loose_quotes")]
    loose_quotes: bool,

    /// Shuffle groups of N lines
    #[arg(help_heading = RECORDS)]
    #[arg(long, value_name = "N", group = "kind", conflicts_with_all = PLAIN)]
    lines_per_record: Option<NonZeroU32>,

    /// Shuffle the reads of FASTQ files, and check them
    #[arg(help_heading = RECORDS)]
    #[arg(long, overrides_with = "fastq")]
    #[arg(group = "kind", conflicts_with = "zero_terminated", conflicts_with_all = PLAIN)]
    fastq: bool,

    /// Records end with BYTES; \n, \r, \t, \0 and \xHH stand for one each
    #[arg(help_heading = RECORDS)]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    #[arg(group = "kind", conflicts_with = "zero_terminated", conflicts_with_all = PLAIN)]
    separator: Option<ByteArgument>,

    /// Records begin with a line that starts with BYTES, as '>' for FASTA
    #[arg(help_heading = RECORDS)]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    #[arg(group = "kind", conflicts_with = "zero_terminated", conflicts_with_all = PLAIN)]
    record_start: Option<ByteArgument>,

    /// Shuffle the records of TFRecord files, and verify their checksums
    #[arg(help_heading = RECORDS)]
    #[arg(long, overrides_with = "tfrecord", group = "kind", conflicts_with_all = PLAIN)]
    #[arg(conflicts_with_all = ["zero_terminated", "text", "header_lines", "header_prefix"])]
    tfrecord: bool,

    /// Shuffle samples of tar archives: files alike up to their first dot
    #[arg(help_heading = RECORDS)]
    #[arg(long, overrides_with = "tar", group = "kind", conflicts_with_all = PLAIN)]
    #[arg(conflicts_with_all = ["zero_terminated", "text"])]
    tar: bool,

    /// Allow tar samples or CSV rows with other parts than the first
    #[arg(help_heading = RECORDS)]
    #[arg(long, overrides_with = "uneven")]
    #[arg(conflicts_with_all = ["record", "lines_per_record", "fastq", "separator", "record_start"])]
    #[arg(conflicts_with_all = ["tfrecord", "zero_terminated", "blocks"], conflicts_with_all = PLAIN)]
    pub(crate) uneven: bool,

    /// Write shards to DIR, empty or new; by default one for each input
    #[arg(help_heading = OUTPUT)]
    #[arg(long, value_name = "DIR", conflicts_with_all = ["output", "together"], conflicts_with_all = PLAIN)]
    pub(crate) output_dir: Option<PathBuf>,

    /// Write N shards
    #[arg(help_heading = OUTPUT)]
    #[arg(long, value_name = "N")]
    #[arg(conflicts_with_all = ["shard_bytes", "shard_records"])]
    pub(crate) shards: Option<NonZeroU64>,

    /// Write shards of about SIZE each, before compression
    #[arg(help_heading = OUTPUT)]
    #[arg(long, value_name = "SIZE", conflicts_with = "shard_records")]
    pub(crate) shard_bytes: Option<MemorySize>,

    /// Write shards of at most N records each
    #[arg(help_heading = OUTPUT)]
    #[arg(long, value_name = "N")]
    pub(crate) shard_records: Option<NonZeroU64>,

    /// Divide shards into folders: NAME=SHARE,.., as 0.98, 98%, 500 or rest
    #[arg(help_heading = OUTPUT)]
    #[arg(long, value_name = "SPLITS")]
    pub(crate) split: Option<NamedSplits>,

    #[arg(help_heading = OUTPUT)]
    #[arg(help = format!("Compress outputs: {}; a level as in zstd:3", Compression::names()))]
    #[arg(long, value_name = "CODEC", conflicts_with_all = PLAIN)]
    pub(crate) compress: Option<Compression>,

    /// Resume an interrupted run; its shards are verified and kept
    #[arg(help_heading = OUTPUT)]
    #[arg(long, overrides_with = "resume")]
    pub(crate) resume: bool,

    /// Run as worker R of W, from 0; all share the folder of the shards
    #[arg(help_heading = MACHINES)]
    #[arg(long, value_name = "R/W")]
    pub(crate) worker: Option<WorkerShard>,

    /// Run count, distribute or collect, each when all have ended the last
    #[arg(help_heading = MACHINES)]
    #[arg(long, value_enum, hide_possible_values = true)]
    pub(crate) stage: Option<WorkerStage>,

    /// Compress temporary files
    #[arg(help_heading = MEMORY)]
    #[arg(long, overrides_with = "temp_compress")]
    pub(crate) temp_compress: bool,
}

/// What a worker does.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum WorkerStage {
    Count,
    Distribute,
    Collect,
}

impl SetArguments {
    /// Whether an option is given that only data sets have, apart from those that name inputs.
    pub(crate) fn is_asked_for(&self) -> bool {
        self.records(b'\n').is_some()
            || self.header_lines.is_some_and(|lines| lines > 0)
            || !self.header_prefix.is_empty()
            || self.compress.is_some()
            || self.uneven
    }

    /// What the lines of a header begin with, if that is said.
    pub(crate) fn header_prefixes(&self) -> Option<Vec<Vec<u8>>> {
        let prefixes: Vec<_> =
            self.header_prefix.iter().map(|ByteArgument(bytes)| bytes.clone()).collect();
        (!prefixes.is_empty()).then_some(prefixes)
    }

    /// What inputs are. The indexes of folders may have said something of it, which is `known`.
    pub(crate) fn form(
        &self,
        records: Records,
        known: Option<&RecordForm>,
        is_text: bool,
    ) -> RecordForm {
        let known = known.cloned().unwrap_or_else(|| RecordForm::new(records.clone()));
        RecordForm {
            records,
            headers: self.header_lines.unwrap_or(known.headers),
            header_prefixes: self.header_prefixes().unwrap_or(known.header_prefixes),
            is_text: is_text || known.is_text,
        }
    }

    /// What the records are, if it is said, and lines end with this byte.
    pub(crate) fn records(&self, delimiter: u8) -> Option<Records> {
        let records = if let Some(delimiter) = self.csv {
            let (is_uneven, has_loose_quotes) = (self.uneven, self.loose_quotes);
            Records::Csv(Csv { delimiter, is_uneven, has_loose_quotes })
        } else if let Some(lines) = self.lines_per_record {
            Records::Groups(delimiter, lines)
        } else if self.fastq {
            Records::Fastq
        } else if let Some(ByteArgument(separator)) = &self.separator {
            Records::Separated(separator.clone())
        } else if let Some(ByteArgument(start)) = &self.record_start {
            Records::Started(start.clone())
        } else if self.tfrecord {
            Records::TfRecord
        } else if self.tar {
            Records::Samples { are_uneven: self.uneven }
        } else if delimiter != b'\n' {
            Records::Lines(delimiter)
        } else {
            return None;
        };
        Some(records)
    }
}

/// Some bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ByteArgument(Vec<u8>);

/// Bytes with escapes.
fn parse_bytes(text: &str) -> Result<ByteArgument, &'static str> {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((&first, others)) = rest.split_first() {
        let (byte, used) = match (first, others) {
            (b'\\', [b'n', ..]) => (b'\n', 1),
            (b'\\', [b'r', ..]) => (b'\r', 1),
            (b'\\', [b't', ..]) => (b'\t', 1),
            (b'\\', [b'0', ..]) => (0, 1),
            (b'\\', [b'\\', ..]) => (b'\\', 1),
            (b'\\', [b'x', high, low, ..]) => {
                let digit = |digit: u8| char::from(digit).to_digit(16);
                let (high, low) = digit(*high).zip(digit(*low)).ok_or("\\x needs two digits")?;
                ((16 * high + low) as u8, 3)
            }
            (b'\\', _) => return Err("\\ must be followed by n, r, t, 0, \\ or x and two digits"),
            (byte, _) => (byte, 0),
        };
        bytes.push(byte);
        rest = &others[used..];
    }
    if bytes.is_empty() { Err("give at least one byte") } else { Ok(ByteArgument(bytes)) }
}

/// What separates fields of CSV.
fn parse_delimiter(text: &str) -> Result<u8, &'static str> {
    match parse_bytes(text)?.0.as_slice() {
        [b'"' | b'\n' | b'\r'] => Err("a quote or the end of a line cannot separate fields"),
        [byte] => Ok(*byte),
        _ => Err("give one byte, such as ';' or '\\t'"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_escapes() {
        let bytes = |text: &str| parse_bytes(text).map(|ByteArgument(bytes)| bytes).ok();
        assert_eq!(bytes(r"a\n\r\t\0\\\x7F").as_deref(), Some(&b"a\n\r\t\0\\\x7F"[..]));
        for text in ["", r"\", r"\q", r"\x7", r"\x7g"] {
            assert_eq!(bytes(text), None, "{text}");
        }
        assert_eq!(parse_delimiter(r"\t"), Ok(b'\t'));
        for text in ["", "\"", r"\n", "ab"] {
            assert!(parse_delimiter(text).is_err(), "{text}");
        }
    }
}
