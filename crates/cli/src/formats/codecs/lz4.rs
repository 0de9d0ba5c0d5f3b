//! LZ4 in its frame format: one or more frames.

use std::io::{self, BufRead, ErrorKind, Read, Write};

use lz4_flex::frame::{FrameDecoder, FrameEncoder, FrameInfo};

use super::members::{CodecMember, CodecMembers};
use super::row::{File, Row};

pub(super) static ROW: Row = Row {
    name: "lz4",
    extensions: &["lz4", "tlz4"],
    mark: b"\x04\x22\x4D\x18",
    is_file: |_| true,
    may_start: |bytes| ROW.mark.starts_with(bytes),
    end: |_| None,
    // The version, and the sizes that blocks have.
    is_frame: |bytes| matches!(bytes, [_, _, _, _, 0x40..=0x7F, 0x40 | 0x50 | 0x60 | 0x70, ..]),
    may_skip: true,
    skips_zeros: false,
    levels: 0..=0,
    level: 0,
    decoder: |file| Ok(Box::new(CodecMembers::<Frame<File>>::new(file, &ROW))),
    encode: |bytes, _| {
        let info = FrameInfo::new().content_checksum(true);
        let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
        encoder.write_all(bytes)?;
        encoder.finish().map_err(io::Error::other)
    },
};

/// A frame. They are read one by one because their decoder takes the end of the file for the end of
/// a frame, wherever a block could begin, and is tripped up by frames of other blocks than the
/// first.
struct Frame<R: BufRead>(FrameDecoder<WatchedEnd<R>>);

impl<R: BufRead> Read for Frame<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self.0.read(bytes)? {
            0 if self.0.get_ref().is_ended => Err(ErrorKind::UnexpectedEof.into()),
            read => Ok(read),
        }
    }
}

impl<R: BufRead> CodecMember for Frame<R> {
    type File = R;

    fn new(file: R) -> Self {
        Self(FrameDecoder::new(WatchedEnd { file, is_ended: false }))
    }

    fn may_begin(byte: u8) -> bool {
        matches!(byte, 0x02 | 0x04 | 0x50..=0x5F)
    }

    fn into_file(self) -> R {
        self.0.into_inner().file
    }
}

/// A file that knows whether it was asked for more than it had.
struct WatchedEnd<R> {
    file: R,
    is_ended: bool,
}

impl<R: Read> Read for WatchedEnd<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(bytes)?;
        self.is_ended |= read == 0 && !bytes.is_empty();
        Ok(read)
    }
}
