//! [`Codec`]: how files are compressed.
//!
//! To add a codec, write a file with its [`Row`](row::Row), as `gzip.rs` is one, and name it below,
//! in `codecs!`. Everything else follows from the row: how files are known by their first bytes and
//! by their names, how they are decoded and encoded, and what the options and the errors say.

mod bzip2;
mod compression;
mod decoder;
mod gzip;
mod lz4;
mod members;
mod plain;
mod row;
mod side_by_side;
mod zstd;

use std::fmt;
use std::io::{self, BufReader, Read};
use std::path::Path;

use super::marks::{LONGEST_MARK, has_controls, is_tfrecord};
pub use compression::Compression;

/// How much of a compressed file is read at a time.
const BUFFER: usize = 256 << 10;

macro_rules! codecs {
    ($($(#[$doc:meta])* $codec:ident: $file:ident,)+) => {
        /// How a file is compressed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Codec {
            $($(#[$doc])* $codec,)+
        }

        impl Codec {
            /// All codecs, with [`Plain`](Self::Plain) first.
            pub const ALL: &[Self] = &[$(Self::$codec),+];

            fn row(self) -> &'static row::Row {
                match self {
                    $(Self::$codec => &self::$file::ROW,)+
                }
            }
        }
    };
}

codecs! {
    /// Not compressed.
    Plain: plain,
    /// gzip: one or more members.
    Gzip: gzip,
    /// zstd: one or more frames.
    Zstd: zstd,
    /// LZ4 in its frame format: one or more frames.
    Lz4: lz4,
    /// bzip2: one or more streams.
    Bzip2: bzip2,
}

/// The most first bytes of a compressed file that may be a whole text: `BZh9`, and not `BZh91`.
const LONGEST_TEXT: usize = 4;

impl Codec {
    /// The codec of a file with this name and these first bytes.
    ///
    /// The bytes tell, whatever the name is, unless they are all of the file and fewer than tell
    /// it: of a file `x.bz2` that is cut short behind `BZ`, the name does.
    pub fn of_file(name: &Path, start: &[u8]) -> Self {
        match Self::of_start(start) {
            Self::Plain if Self::of_name(name).may_start(start) => Self::of_name(name),
            codec => codec,
        }
    }

    /// The codec of a file with these first bytes. Those of a file that was cut short among them
    /// tell it as well, if they are no text.
    pub fn of_start(start: &[u8]) -> Self {
        let is_text = || std::str::from_utf8(start).is_ok() && !has_controls(start);
        let cut = Self::ALL.iter().copied().find(|codec| codec.may_start(start));
        let cut = cut.filter(|_| start.len() > LONGEST_TEXT || !is_text());
        cut.unwrap_or_else(|| Self::of_whole_start(start))
    }

    /// Whether these bytes, which are all of a file, may be the first ones of one that was cut
    /// short before they told it.
    fn may_start(self, start: &[u8]) -> bool {
        let row = self.row();
        let begins = (row.may_start)(start)
            || row.may_skip
                && matches!(start, [0x50..=0x5F, rest @ ..] if b"\x2A\x4D\x18".starts_with(rest));
        begins && !start.is_empty() && !(start.starts_with(row.mark) && (row.is_file)(start))
    }

    fn of_whole_start(start: &[u8]) -> Self {
        let start = &start[..start.len().min(LONGEST_MARK)];
        // The length of a record may have the bytes of a mark, as 559,903 has those of gzip.
        if is_tfrecord(start) {
            return Self::Plain;
        }
        // Frames to be skipped, which zstd and LZ4 have both. What is behind them tells. If that is
        // too far away or something else, zstd refuses it.
        let mut rest = start;
        while let [0x50..=0x5F, 0x2A, 0x4D, 0x18, frame @ ..] = rest {
            let behind = frame.split_first_chunk().and_then(|(bytes, contents)| {
                contents.get(usize::try_from(u32::from_le_bytes(*bytes)).ok()?..)
            });
            rest = behind.unwrap_or_default();
        }
        let has_skipped = rest.len() < start.len();
        let begins = |row: &row::Row| {
            (row.may_skip || !has_skipped) && rest.starts_with(row.mark) && (row.is_file)(rest)
        };
        let found = Self::ALL.iter().copied().find(|codec| begins(codec.row()));
        found.unwrap_or(if has_skipped { Self::Zstd } else { Self::Plain })
    }

    /// The codec of a file name's extension, such as `.gz` or, for an archive, `.tgz`.
    pub fn of_name(path: &Path) -> Self {
        Self::of_extension(&end_of(path)).unwrap_or(Self::Plain)
    }

    fn of_extension(end: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|codec| codec.row().extensions.contains(&end))
    }

    /// The one of this name, which is also that of its program.
    pub(super) fn of_program(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|codec| codec.name() == name)
    }

    /// The extension of file names, without the dot; empty for files that are not compressed.
    pub fn extension(self) -> &'static str {
        self.row().extensions[0]
    }

    /// What it is called, as is the program of that name.
    pub(super) fn name(self) -> &'static str {
        self.row().name
    }

    /// What is in a file, by one thread. Its errors are the decoder's.
    fn one_decoder<'r>(self, file: impl Read + Send + 'r) -> io::Result<Box<dyn Read + Send + 'r>> {
        (self.row().decoder)(BufReader::with_capacity(BUFFER, Box::new(file)))
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a file's name says that it is packed by, if that is none of the [codecs](Codec): `xz` for
/// `a.xz`.
pub fn other_packer_of_name(path: &Path) -> Option<&'static str> {
    let packer = match end_of(path).as_str() {
        "xz" | "txz" => "xz",
        "lzma" | "tlz" => "lzma",
        "lz" => "lzip",
        "lzo" | "tzo" => "lzop",
        "z" | "taz" => "compress",
        "br" => "brotli",
        "snappy" | "sz" => "snappy",
        "zip" | "zipx" => "zip",
        "7z" => "7z",
        "rar" => "rar",
        _ => return None,
    };
    (Codec::of_name(path) == Codec::Plain).then_some(packer)
}

/// The end of a file's name behind its last dot, in small letters.
fn end_of(path: &Path) -> String {
    path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase()
}
