//! bzip2: one or more streams.

use std::io::{BufRead, Write};

use bzip2::Compression;
use bzip2::bufread::BzDecoder;
use bzip2::write::BzEncoder;

use super::members::{CodecMember, CodecMembers};
use super::row::{File, Row};

/// The beginning of a block.
const BLOCK: &[u8] = b"1AY&SY";

/// The end of a stream without blocks, as of nothing at all.
const END: &[u8] = b"\x17\x72\x45\x38\x50\x90";

pub(super) static ROW: Row = Row {
    name: "bzip2",
    extensions: &["bz2", "tbz", "tbz2", "bz"],
    mark: b"BZh",
    is_file: |bytes| {
        matches!(bytes, [_, _, _, b'1'..=b'9', rest @ ..]
            if rest.starts_with(BLOCK) || rest.starts_with(END))
    },
    may_start: |bytes| {
        let (mark, rest) = bytes.split_at(bytes.len().min(4));
        let is_marked =
            matches!(mark, [b'B', b'Z', b'h', b'1'..=b'9']) || ROW.mark.starts_with(mark);
        is_marked && (BLOCK.starts_with(rest) || END.starts_with(rest))
    },
    end: |_| None,
    is_frame: |bytes| matches!(bytes, [_, _, _, b'1'..=b'9', rest @ ..] if rest.starts_with(BLOCK)),
    may_skip: false,
    skips_zeros: true,
    levels: 1..=9,
    level: 9,
    decoder: |file| Ok(Box::new(CodecMembers::<BzDecoder<File>>::new(file, &ROW))),
    encode: |bytes, level| {
        let mut encoder = BzEncoder::new(Vec::new(), Compression::new(level.unsigned_abs()));
        encoder.write_all(bytes)?;
        encoder.finish()
    },
};

impl<R: BufRead> CodecMember for BzDecoder<R> {
    type File = R;

    fn new(file: R) -> Self {
        Self::new(file)
    }

    fn may_begin(byte: u8) -> bool {
        byte == b'B'
    }

    fn into_file(self) -> R {
        self.into_inner()
    }
}
