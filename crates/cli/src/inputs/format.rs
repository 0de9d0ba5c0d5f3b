//! [`Format`]: files that have no lines, known by their first bytes.

use std::fmt;

/// No first or last bytes by which a format is known are longer.
pub(crate) const LONGEST_MARK: usize = 263;

/// Whether a file with these first bytes is compressed by bzip2: the size of its blocks, and the
/// start of one, or of the end.
fn is_bzip2(start: &[u8]) -> bool {
    let is_level = matches!(start, [b'B', b'Z', b'h', b'1'..=b'9', ..]);
    is_level
        && [b"1AY&SY", b"\x17\x72\x45\x38\x50\x90"].iter().any(|mark| start[4..].starts_with(*mark))
}

/// Whether a file with these first bytes is a tar archive.
pub(crate) fn is_tar(start: &[u8]) -> bool {
    start.get(257..).is_some_and(|mark| mark.starts_with(b"ustar"))
}

/// A format whose files would be destroyed if they were shuffled as lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// What decompresses it.
    Compressed(&'static str),
    /// What it is, and what its name has to end in.
    Rows(&'static str, &'static str),
    /// What it is, and what to do with it.
    Other(&'static str, &'static str),
}

use Format::{Compressed, Other, Rows};

/// The first bytes of formats. Those that could also begin a text are longer than a word, or end
/// their files too.
const STARTS: [(&[u8], Format); 11] = [
    (b"\x1F\x8B\x08", Compressed("gzip -dc")),
    (b"\x28\xB5\x2F\xFD", Compressed("zstd -dc")),
    (b"\xFD7zXZ\0", Compressed("xz -dc")),
    (b"\x04\x22\x4D\x18", Compressed("lz4 -dc")),
    (b"\x93NUMPY", Rows("a NumPy array", ".npy")),
    (b"ARROW1\0\0", Rows("an Arrow file", ".arrow")),
    (PARQUET, Rows("a Parquet file", ".parquet")),
    (b"PK\x03\x04", Other("a ZIP archive, as of `numpy.savez`", "unpack it")),
    (b"\x89HDF\r\n\x1A\n", Other("an HDF5 file", "write its rows as lines")),
    (b"SQLite format 3\0", Other("an SQLite database", "write its rows as lines")),
    (b"Obj\x01", Other("an Avro file", "write its rows as lines")),
];

/// A Parquet file begins with it and ends in it.
const PARQUET: &[u8] = b"PAR1";

/// Whether a file of so many bytes has the end of a Parquet file: the length of the footer, which
/// fits the file, and the mark.
fn ends_as_parquet(end: &[u8], bytes: u64) -> bool {
    let Some((_, [length @ .., _, _, _, _])) = end.split_last_chunk::<8>() else { return false };
    let length = u32::from_le_bytes(*length);
    end.ends_with(PARQUET) && u64::from(length) + 12 <= bytes
}

/// Text whose newlines are of more than one byte.
const WIDE: Format = Other("text in UTF-16 or UTF-32", "convert it, as by `iconv -t UTF-8`");

const TAR: Format = Other("a tar archive", "unpack it");

impl Format {
    /// Whether what it is can be decoded, and its records found.
    pub(super) fn is_decoded(self) -> bool {
        cfg!(feature = "datasets")
            && match self {
                Compressed(command) => command != "xz -dc",
                other => other == TAR,
            }
    }

    /// Whether a file that begins with these bytes has to be decoded first.
    pub(super) fn is_encoded(start: &[u8]) -> bool {
        #[cfg(feature = "datasets")]
        return bijective_shuffle_cli::dataset::Codec::of_start(start)
            != bijective_shuffle_cli::dataset::Codec::Plain;
        #[cfg(not(feature = "datasets"))]
        {
            let _ = start;
            false
        }
    }

    /// The format of a file with these first and last bytes, and so many in all, if it is one of
    /// those.
    pub(super) fn of(start: &[u8], end: &[u8], bytes: u64, delimiter: u8) -> Option<Self> {
        let is_parquet = ends_as_parquet(end, bytes);
        let marked = STARTS.iter().find(|(mark, _)| start.starts_with(mark));
        match (marked, start) {
            (Some((mark, _)), _) if *mark == PARQUET && !is_parquet => None,
            (Some((_, format)), _) => Some(*format),
            (None, start) if is_tar(start) => Some(TAR),
            (None, start) if is_bzip2(start) => Some(Compressed("bzip2 -dc")),
            // Its mark, and a letter that is nearly always of one byte.
            (None, [0xFF, 0xFE, _, 0, ..] | [0xFE, 0xFF, 0, _, ..] | [0, 0, 0xFE, 0xFF, ..]) => {
                (delimiter == b'\n').then_some(WIDE)
            }
            _ => None,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Compressed(command) => {
                let name = command.split(' ').next().unwrap_or_default();
                write!(f, "is compressed by {name}, and has no lines: try `{command} FILE | bshuf`")
            }
            Rows(what, ending) => {
                write!(f, "is {what}, and has no lines: give it a name that ends in {ending}")
            }
            Other(what, advice) => write!(f, "is {what}, and has no lines of bytes: {advice}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_no_longer_than_what_is_read() {
        assert!(STARTS.iter().all(|(mark, _)| mark.len() <= LONGEST_MARK));
    }

    #[test]
    fn texts_are_no_formats() {
        for text in [
            &b""[..],
            b"PAR1",
            b"PAR1PAR1",
            b"PAR1\nPAR1",
            b"PAR1 and more PAR1",
            b"PAR1S and more\n",
            b"PK\n",
            b"BZh\n",
            b"\x1F\x8B\n",
            b"ARROW1\n",
            b"\xFF\xFE\n\xC3",
            b"\xEF\xBB\xBFa\n",
        ] {
            let start = &text[..text.len().min(16)];
            let bytes = text.len() as u64;
            assert_eq!(Format::of(start, start, bytes, b'\n'), None, "{}", text.escape_ascii());
        }
        assert_eq!(Format::of(b"\xFF\xFEa\0", b"", 4, b'\n'), Some(WIDE));
        assert_eq!(Format::of(b"\xFF\xFEa\0", b"", 4, 0), None);
        for level in b'1'..=b'9' {
            let start = [b"BZh", &[level][..], b"1AY&SY"].concat();
            assert_eq!(Format::of(&start, b"", 99, b'\n'), Some(Compressed("bzip2 -dc")));
        }
        assert!(Format::of(b"PAR1\x15\0", b"\x15\0\x02\0\0\0PAR1", 14, 0).is_some());
        for level in b'1'..=b'9' {
            let start = [b"BZh", &[level][..], b"1AY&SY"].concat();
            assert_eq!(Format::of(&start, b"", 99, b'\n'), Some(Compressed("bzip2 -dc")));
        }
        assert!(Format::of(b"PAR1\x15\0", b"\x15\0\x03\0\0\0PAR1", 14, 0).is_none());
    }
}
