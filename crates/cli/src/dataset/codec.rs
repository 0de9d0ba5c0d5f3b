//! What a [`Codec`] decodes, and [`Compression`], which encodes.

use std::fmt;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::str::FromStr;

use bzip2::bufread::BzDecoder;
use bzip2::write::BzEncoder;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use lz4_flex::frame::{FrameDecoder, FrameEncoder};
use zstd::zstd_safe::CParameter;

use super::side_by_side::SideBySide;
use crate::formats::Codec::{self, Bzip2, Gzip, Lz4, Plain, Zstd};

/// How much of a compressed file is read at a time.
const BUFFER: usize = 256 << 10;

impl Codec {
    /// What is in a file of this codec, which so many threads decode. One that is cut short, or has
    /// anything but what the codec wrote, is an error.
    pub(super) fn decoder<'r>(
        self,
        file: impl Read + Send + 'r,
        threads: usize,
    ) -> io::Result<Box<dyn Read + Send + 'r>> {
        let decoder = match threads {
            // It is read in large pieces anyway.
            _ if self == Plain => return Ok(Box::new(file)),
            0 | 1 => self.one_decoder(file)?,
            _ => Box::new(SideBySide::new(self, file, threads)),
        };
        Ok(Box::new(Decoded { codec: self, decoder }))
    }

    /// What is in a file of this codec, by one thread. Its errors are the decoder's.
    pub(super) fn one_decoder<'r>(
        self,
        file: impl Read + Send + 'r,
    ) -> io::Result<Box<dyn Read + Send + 'r>> {
        let buffered = |file| BufReader::with_capacity(BUFFER, file);
        Ok(match self {
            Plain => Box::new(file),
            Zstd => Box::new(zstd::Decoder::with_buffer(buffered(file))?),
            Gzip | Lz4 | Bzip2 => {
                let member = Member::new(self, Ended::new(buffered(file)));
                Box::new(Members { member: Some(member) })
            }
        })
    }
}

/// What a decoder gives. Its errors say what was decoded.
struct Decoded<'r> {
    codec: Codec,
    decoder: Box<dyn Read + Send + 'r>,
}

impl Read for Decoded<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.decoder.read(bytes).map_err(|error| match error.kind() {
            ErrorKind::Interrupted => error,
            ErrorKind::UnexpectedEof => {
                let why = format!("is cut short: its {} data do not end", self.codec);
                io::Error::new(ErrorKind::InvalidData, why)
            }
            _ => {
                let mut why = format!("its {} data are damaged: {error}", self.codec);
                let is_behind = error.get_ref().is_some_and(|error| error.is::<TrailingGarbage>());
                // The decoder of zstd has no code of its own for these.
                if is_behind || error.to_string().contains("Unknown frame descriptor") {
                    why = format!(
                        "has trailing garbage: behind its {0} data there are bytes of something \
                         else, which may be lost data: cut them off, or read what is before them \
                         by `{0} -dc FILE | bshuf`",
                        self.codec
                    );
                } else if error.to_string().contains("requires too much memory") {
                    why = "its zstd data need a window of more than 128 MiB: try \
                           `zstd -dc --long=31 FILE | bshuf`"
                        .to_owned();
                }
                io::Error::new(ErrorKind::InvalidData, why)
            }
        })
    }
}

/// A reader that knows whether it was asked for more than it had.
struct Ended<R> {
    reader: R,
    is_ended: bool,
}

impl<R> Ended<R> {
    fn new(reader: R) -> Self {
        Self { reader, is_ended: false }
    }
}

impl<R: Read> Read for Ended<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(bytes)?;
        self.is_ended |= read == 0 && !bytes.is_empty();
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Ended<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.reader.fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        self.reader.consume(bytes);
    }
}

/// Members of gzip, streams of bzip2 or frames of LZ4, one after the other.
///
/// The zeros behind members of gzip and bzip2, with which tapes and other blocks are filled up, are
/// skipped. Frames of LZ4 are read one by one because their decoder takes the end of the file for
/// the end of a frame, wherever a block could begin, and is tripped up by frames of other blocks
/// than the first.
struct Members<R: BufRead> {
    /// The one that is read. It is there between calls.
    member: Option<Member<Ended<R>>>,
}

enum Member<R: BufRead> {
    Gzip(GzDecoder<R>),
    Bzip2(BzDecoder<R>),
    Lz4(FrameDecoder<R>),
}

impl<R: BufRead> Member<R> {
    fn new(codec: Codec, file: R) -> Self {
        match codec {
            Gzip => Self::Gzip(GzDecoder::new(file)),
            Bzip2 => Self::Bzip2(BzDecoder::new(file)),
            _ => Self::Lz4(FrameDecoder::new(file)),
        }
    }

    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Gzip(member) => member.read(bytes),
            Self::Bzip2(member) => member.read(bytes),
            Self::Lz4(member) => member.read(bytes),
        }
    }

    /// The codec, and the file behind what was read.
    fn into_file(self) -> (Codec, R) {
        match self {
            Self::Gzip(member) => (Gzip, member.into_inner()),
            Self::Bzip2(member) => (Bzip2, member.into_inner()),
            Self::Lz4(member) => (Lz4, member.into_inner()),
        }
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        while let Some(member) = &mut self.member {
            let read = member.read(bytes)?;
            if read > 0 {
                return Ok(read);
            }
            if let Member::Lz4(frame) = member
                && frame.get_ref().is_ended
            {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            // A member has ended.
            let Some((codec, mut file)) = self.member.take().map(Member::into_file) else { break };
            let next = loop {
                let start = file.fill_buf()?;
                let zeros = start.iter().take_while(|&&byte| byte == 0 && codec != Lz4).count();
                match start.get(zeros) {
                    None if zeros > 0 => file.consume(zeros),
                    next => {
                        let next = next.copied();
                        file.consume(zeros);
                        break next;
                    }
                }
            };
            match (codec, next) {
                (_, None) => {}
                (Gzip, Some(0x1F))
                | (Bzip2, Some(b'B'))
                | (Lz4, Some(0x02 | 0x04 | 0x50..=0x5F)) => {
                    self.member = Some(Member::new(codec, file));
                }
                _ => return Err(io::Error::new(ErrorKind::InvalidData, TrailingGarbage)),
            }
        }
        Ok(0)
    }
}

/// What stands behind the last member is none.
#[derive(Debug)]
struct TrailingGarbage;

impl fmt::Display for TrailingGarbage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("trailing garbage")
    }
}

impl std::error::Error for TrailingGarbage {}

/// A codec and its level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compression {
    codec: Codec,
    level: i32,
}

impl From<Codec> for Compression {
    /// The level that the program of that name takes by itself.
    fn from(codec: Codec) -> Self {
        let level = match codec {
            Plain | Lz4 => 0,
            Gzip => 6,
            Zstd => 3,
            Bzip2 => 9,
        };
        Self { codec, level }
    }
}

impl Compression {
    /// The codec.
    pub fn codec(self) -> Codec {
        self.codec
    }

    /// The levels that there are.
    fn levels(codec: Codec) -> std::ops::RangeInclusive<i32> {
        match codec {
            Plain | Lz4 => 0..=0,
            Gzip | Bzip2 => 1..=9,
            Zstd => 1..=22,
        }
    }

    /// These bytes as a file by themselves. Such files, one behind the other, are a file again.
    pub(super) fn compressed(self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        let level = self.level.unsigned_abs();
        match self.codec {
            Plain => Ok(bytes.to_vec()),
            Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::new(level));
                encoder.write_all(bytes)?;
                encoder.finish()
            }
            Zstd => {
                let mut encoder = zstd::bulk::Compressor::new(self.level)?;
                encoder.set_parameter(CParameter::ChecksumFlag(true))?;
                encoder.compress(bytes)
            }
            Lz4 => {
                let mut encoder = FrameEncoder::with_frame_info(
                    lz4_flex::frame::FrameInfo::new().content_checksum(true),
                    Vec::new(),
                );
                encoder.write_all(bytes)?;
                encoder.finish().map_err(io::Error::other)
            }
            Bzip2 => {
                let mut encoder = BzEncoder::new(Vec::new(), bzip2::Compression::new(level));
                encoder.write_all(bytes)?;
                encoder.finish()
            }
        }
    }
}

impl FromStr for Compression {
    type Err = String;

    /// `zstd`, or `zstd:3`, or with the end of names, `zst`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, level) = match text.split_once(':') {
            Some((name, level)) => (name, Some(level)),
            None => (text, None),
        };
        let codec = Codec::ALL.into_iter().find(|codec| {
            codec.to_string() == name || (!name.is_empty() && codec.extension() == name)
        });
        let codec = codec.ok_or(
            "give none, gzip (or gz), zstd (or zst), lz4 or bzip2 (or bz2), perhaps with a level",
        )?;
        let Some(level) = level else { return Ok(codec.into()) };
        let levels = Self::levels(codec);
        if levels.end() == levels.start() {
            return Err(format!("{codec} has no levels"));
        }
        match level.parse() {
            Ok(level) if levels.contains(&level) => Ok(Self { codec, level }),
            _ => Err(format!("{codec} has levels {} to {}", levels.start(), levels.end())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(codec: Codec, file: &[u8]) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        codec.decoder(file, 1)?.read_to_end(&mut text)?;
        Ok(text)
    }

    fn text(bytes: usize) -> Vec<u8> {
        (0..bytes).map(|k| (k * k * 31 % 251 % 64) as u8).collect()
    }

    #[test]
    fn files_are_known_and_decoded() {
        for codec in Codec::ALL {
            let compression = Compression::from(codec);
            for bytes in [0, 1, 1000, 300_000] {
                let (first, second) = (text(bytes), text(bytes / 3));
                let one = compression.compressed(&first).unwrap();
                if codec != Plain {
                    assert_eq!(Codec::of_start(&one), codec);
                }
                assert!(decoded(codec, &one).unwrap() == first);
                let two = [one, compression.compressed(&second).unwrap()].concat();
                assert!(decoded(codec, &two).unwrap() == [first, second].concat(), "{codec}");
            }
        }
    }

    #[test]
    fn files_that_are_cut_short_are_errors() {
        for codec in &Codec::ALL[1..] {
            let compression = Compression::from(*codec);
            let one = compression.compressed(&text(700)).unwrap();
            let two = [one.clone(), compression.compressed(&text(90)).unwrap()].concat();
            for end in (1..two.len()).filter(|&end| end != one.len()) {
                let error = decoded(*codec, &two[..end]).expect_err(&format!("{codec} {end}"));
                let said = error.to_string();
                assert!(said.contains("is cut short") || said.contains("damaged"), "{said}");
            }
            // Nor is anything behind the end left out, except what fills up blocks.
            for more in [&b"x"[..], b"more than one byte behind the end", b"\0\0\0x", &[0; 1000]] {
                let is_filled_up =
                    matches!(codec, Gzip | Bzip2) && more.iter().all(|&one| one == 0);
                let found = decoded(*codec, &[&one, more].concat());
                match found {
                    Ok(found) => assert!(is_filled_up && found == text(700), "{codec}"),
                    Err(error) => {
                        assert!(!is_filled_up, "{codec}: {error}");
                        assert!(error.to_string().contains("trailing garbage"), "{codec}: {error}");
                    }
                }
            }
            let between = [&one[..], &[0; 600_000], &one, &[0]].concat();
            match decoded(*codec, &between) {
                Ok(found) => assert!(matches!(codec, Gzip | Bzip2) && found.len() == 1400),
                Err(_) => assert!(matches!(codec, Zstd | Lz4)),
            }
            let mut damaged = one.clone();
            damaged[one.len() / 2] ^= 0x40;
            assert!(decoded(*codec, &damaged).is_err(), "{codec}");
        }
    }

    #[test]
    fn compressions_are_read() {
        let read = |text: &str| text.parse::<Compression>();
        assert_eq!(read("zstd"), Ok(Compression { codec: Zstd, level: 3 }));
        assert_eq!(read("zst:19"), Ok(Compression { codec: Zstd, level: 19 }));
        assert_eq!(read("none"), Ok(Compression { codec: Plain, level: 0 }));
        assert_eq!(read("gz:9"), Ok(Compression { codec: Gzip, level: 9 }));
        for text in ["", "xz", "zstd:", "zstd:23", "gzip:0", "lz4:1", "none:1", "zstd:3:4"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
