//! [`Row`]: what is known of a codec.

use std::fmt;
use std::io::{self, BufReader, ErrorKind, Read};
use std::ops::RangeInclusive;

/// A compressed file.
pub(super) type File<'r> = BufReader<Box<dyn Read + Send + 'r>>;

/// What is known of a codec. What its functions look at begins with the mark.
pub(super) struct Row {
    /// What it is called, as is the program.
    pub(super) name: &'static str,
    /// The ends of the names of its files. Outputs get the first.
    pub(super) extensions: &'static [&'static str],
    /// What all of its frames begin with.
    pub(super) mark: &'static [u8],
    /// Whether these are the first bytes of a file.
    pub(super) is_file: fn(&[u8]) -> bool,
    /// Whether a file may begin with these bytes, which are fewer than tell it.
    pub(super) may_start: fn(&[u8]) -> bool,
    /// What a file with these first bytes ends with, before zeros that may follow, if known.
    pub(super) end: fn(&[u8]) -> Option<&'static [u8]>,
    /// Whether a frame seems to begin with these bytes. The first ten tell.
    pub(super) is_frame: fn(&[u8]) -> bool,
    /// Whether the frames of zstd and LZ4 that are to be skipped may stand before its own.
    pub(super) may_skip: bool,
    /// Whether the zeros behind a frame, with which tapes and other blocks are filled up, are
    /// skipped.
    pub(super) skips_zeros: bool,
    pub(super) levels: RangeInclusive<i32>,
    /// The level that the program takes by itself.
    pub(super) level: i32,
    /// Decodes a file, by one thread.
    pub(super) decoder: for<'r> fn(File<'r>) -> io::Result<Box<dyn Read + Send + 'r>>,
    /// Encodes bytes at a level, as a file by themselves. Such files, one behind the other, are a
    /// file again.
    pub(super) encode: fn(&[u8], i32) -> io::Result<Vec<u8>>,
}

/// What a decoder says where it knows what to do. The errors of others mean damaged data.
#[derive(Clone, Copy, Debug)]
pub(super) enum DecoderFault {
    /// What stands behind the last frame is none.
    Trailing,
    /// What is wrong, and what to do.
    Known(&'static str),
}

impl fmt::Display for DecoderFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Trailing => "trailing garbage",
            Self::Known(why) => why,
        })
    }
}

impl std::error::Error for DecoderFault {}

impl From<DecoderFault> for io::Error {
    fn from(fault: DecoderFault) -> Self {
        Self::new(ErrorKind::InvalidData, fault)
    }
}
