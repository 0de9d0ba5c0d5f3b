//! gzip: one or more members.

use std::io::{BufRead, Write};

use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;

use super::members::{CodecMember, CodecMembers};
use super::row::{File, Row};

pub(super) static ROW: Row = Row {
    name: "gzip",
    extensions: &["gz", "tgz", "bgz", "gzip"],
    mark: b"\x1F\x8B\x08",
    is_file: |_| true,
    may_start: |bytes| ROW.mark.starts_with(bytes),
    end: end_of_blocks,
    // The flags that programs set, the level, and the system, as far as they have numbers.
    is_frame: |bytes| {
        matches!(bytes, [_, _, _, 0 | 4 | 8, _, _, _, _, 0 | 2 | 4, 0..=13 | 255, ..])
    },
    may_skip: false,
    skips_zeros: true,
    levels: 1..=9,
    level: 6,
    decoder: |file| Ok(Box::new(CodecMembers::<GzDecoder<File>>::new(file, &ROW))),
    encode: |bytes, level| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::new(level.unsigned_abs()));
        encoder.write_all(bytes)?;
        encoder.finish()
    },
};

/// The empty block that ends a file of blocks, as `bgzip` writes them, without its last zeros.
/// <https://samtools.github.io/hts-specs/SAMv1.pdf>, section 4.1.2.
const LAST_BLOCK: &[u8] = b"\x1F\x8B\x08\x04\0\0\0\0\0\xFF\x06\0BC\x02\0\x1B\0\x03";

/// The end of a file of blocks. Whether other members follow cannot be told.
fn end_of_blocks(start: &[u8]) -> Option<&'static [u8]> {
    let (head, rest) = start.split_first_chunk::<12>()?;
    let extra = rest.get(..usize::from(u16::from_le_bytes([head[10], head[11]])))?;
    let has_extra = head[3] & 4 != 0;
    let mut fields = extra;
    while let [one, other, low, high, after @ ..] = fields {
        if has_extra && [*one, *other, *low, *high] == *b"BC\x02\0" {
            return Some(LAST_BLOCK);
        }
        fields = after.get(usize::from(u16::from_le_bytes([*low, *high]))..)?;
    }
    None
}

impl<R: BufRead> CodecMember for GzDecoder<R> {
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
