//! gzip: one or more members.

use std::io::{BufRead, Write};

use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;

use super::members::{Member, Members};
use super::row::{File, Row};

pub(super) static ROW: Row = Row {
    name: "gzip",
    extensions: &["gz", "tgz", "bgz", "gzip"],
    mark: b"\x1F\x8B\x08",
    is_file: |_| true,
    // The flags that programs set, the level, and the system, as far as they have numbers.
    is_frame: |bytes| {
        matches!(bytes, [_, _, _, 0 | 4 | 8, _, _, _, _, 0 | 2 | 4, 0..=13 | 255, ..])
    },
    may_skip: false,
    skips_zeros: true,
    levels: 1..=9,
    level: 6,
    decoder: |file| Ok(Box::new(Members::<GzDecoder<File>>::new(file, &ROW))),
    encode: |bytes, level| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::new(level.unsigned_abs()));
        encoder.write_all(bytes)?;
        encoder.finish()
    },
};

impl<R: BufRead> Member for GzDecoder<R> {
    type File = R;

    fn new(file: R) -> Self {
        Self::new(file)
    }

    fn may_begin(byte: u8) -> bool {
        byte == 0x1F
    }

    fn into_file(self) -> R {
        self.into_inner()
    }
}
