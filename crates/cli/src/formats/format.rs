//! [`Format`]: files that have no lines.

use std::fmt;
use std::path::Path;

use memchr::memchr;

use super::codecs::Codec;
use super::marks::{LONGEST_MARK, LOOKED_AT, MARK, has_controls, is_tar, is_tfrecord};
use super::zlib::is_zlib;

/// A format whose files would be destroyed if they were shuffled as lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Compressed by the program of this name.
    Compressed(&'static str),
    /// Rows: what the file is, and the extension that its name must have.
    Rows(&'static str, &'static str),
    /// Another format: what the file is, and what to do with it.
    Other(&'static str, &'static str),
    /// Text after a [`MARK`], which stays there where its records are those of a data set.
    Marked,
}

use Format::{Compressed, Marked, Other, Rows};

/// What to do with files that are moved whole or not at all.
const WHOLE: &str = "shuffle a list of such files, or put them into a tar archive";

const AS_LINES: &str = "write its rows as lines";

/// The first bytes of formats. Those that could also begin a text are longer than a word, or end
/// their files too.
const STARTS: &[(&[u8], Format)] = &[
    (b"\xFD7zXZ\0", Compressed("xz")),
    (b"LZIP\x01", Compressed("lzip")),
    (b"\x89LZO\0\r\n\x1A\n", Compressed("lzop")),
    (b"\x1F\x9D", Compressed("uncompress")),
    (b"\x5D\0\0", Compressed("lzma")),
    (b"\x02\x21\x4C\x18", LEGACY),
    (b"\x78\x9C", ZLIB),
    (b"\x78\xDA", ZLIB),
    (b"7z\xBC\xAF\x27\x1C", Other("a 7z archive", "unpack it")),
    (b"Rar!\x1A\x07", Other("a RAR archive", "unpack it")),
    (b"\x93NUMPY", Rows("a NumPy array", ".npy")),
    (b"ARROW1\0\0", Rows("an Arrow file", ".arrow")),
    (PARQUET, Rows("a Parquet file", ".parquet")),
    (b"PK\x03\x04", Other("a ZIP archive, as of `numpy.savez`", "unpack it")),
    (b"\x89HDF\r\n\x1A\n", Other("an HDF5 file", AS_LINES)),
    (b"SQLite format 3\0", Other("an SQLite database", AS_LINES)),
    (b"Obj\x01", Other("an Avro file", AS_LINES)),
    (ORC, Other("an ORC file", AS_LINES)),
    (b"BAM\x01", Other("a BAM file", "try `samtools view -h FILE | bshuf --header-prefix @`")),
    (b"BCF\x02", Other("a BCF file", "try `bcftools view FILE | bshuf --header-prefix '#'`")),
    (b"\x80\x02", PICKLE),
    (b"\x80\x03", PICKLE),
    (b"\x80\x04", PICKLE),
    (b"\x80\x05", PICKLE),
    (b"(lp0\n", PICKLE),
    (b"(dp0\n", PICKLE),
    (b"ccopy_reg\n_reconstructor\n", PICKLE),
    (b"\x89PNG\r\n\x1A\n", Other("a PNG image", WHOLE)),
    (b"\xFF\xD8\xFF", Other("a JPEG image", WHOLE)),
    (b"%PDF-", Other("a PDF document", WHOLE)),
];

const LEGACY: Format = Other("an LZ4 file of the legacy format", "try `lz4 -dc FILE | bshuf`");

const ZLIB: Format = Other("compressed by zlib", "try `pigz -dc FILE | bshuf`");

const PICKLE: Format = Other("a pickle of Python", AS_LINES);

/// An ORC file begins with it, and control characters follow soon.
const ORC: &[u8] = b"ORC";

/// A Parquet file begins with it and ends in it.
const PARQUET: &[u8] = b"PAR1";

/// Whether a file of this size has the end of a Parquet file: the length of the footer, which
/// fits the file, and the mark.
fn ends_as_parquet(end: &[u8], bytes: u64) -> bool {
    let Some((_, [length @ .., _, _, _, _])) = end.split_last_chunk::<8>() else { return false };
    let length = u32::from_le_bytes(*length);
    end.ends_with(PARQUET) && u64::from(length) + 12 <= bytes
}

/// Text whose newlines are of more than one byte.
const WIDE: Format = Other("text in UTF-16 or UTF-32", "convert it, as by `iconv -t UTF-8`");

const TAR: Format = Other("a tar archive", "unpack it");

const TFRECORD: Format = Other("a TFRecord file", "give --tfrecord");

/// What has a NUL may be anything.
const BINARY: Format = Other(
    "binary, as a NUL among its first bytes says",
    "give -z, --separator or --record if its records end otherwise, or --text if it is text",
);

/// An archive without files, where others are archives.
const ZEROS: Format = Other("all zeros, as an archive without files", "give --tar if it is one");

impl Format {
    /// Whether files of this format can be decoded and divided into records.
    pub fn is_decoded(self) -> bool {
        match self {
            Compressed(name) => Codec::of_program(name).is_some(),
            other => [TAR, ZEROS, Marked].contains(&other),
        }
    }

    /// Whether it may be read as text if that is asked for. Compressed data cannot, and a mark is
    /// not a part of a line.
    pub fn may_be_text(self) -> bool {
        !matches!(self, Compressed(_) | Marked) && self != TAR
    }

    /// The compression that the name of a file says, if these bytes are all of it and fewer than
    /// tell that.
    pub fn of_cut(name: &Path, start: &[u8]) -> Option<Self> {
        let codec = Codec::of_file(name, start);
        (codec != Codec::Plain).then(|| Compressed(codec.name()))
    }

    /// The format of a file with these first bytes, if it is recognised. `tail` is its last
    /// bytes, and how many it has in all, where they are known. The delimiter is what ends a line;
    /// none where records are any bytes.
    pub fn of(start: &[u8], tail: Option<(&[u8], u64)>, delimiter: Option<u8>) -> Option<Self> {
        if is_tfrecord(start) {
            return Some(TFRECORD);
        }
        let is_parquet = match tail {
            Some((end, bytes)) => ends_as_parquet(end, bytes),
            None => start.starts_with(b"PAR1\x15"),
        };
        let codec = Codec::of_start(start);
        if codec != Codec::Plain {
            return Some(Compressed(codec.name()));
        }
        // An archive begins with the name of a file, which may be as one of the marks.
        if is_tar(start) {
            return Some(TAR);
        }
        let is_marked = |mark: &[u8]| {
            start.starts_with(mark)
                && match mark {
                    PARQUET => is_parquet,
                    ORC => has_controls(&start[..start.len().min(LONGEST_MARK)]),
                    _ => true,
                }
        };
        // All of a file that was cut short among its first bytes, if they are no text.
        let is_cut = |mark: &[u8], format: Self| {
            matches!(format, Compressed(_) | LEGACY)
                && delimiter.is_some()
                && has_controls(start) | std::str::from_utf8(start).is_err()
                && mark.starts_with(start)
        };
        let is_marked = |mark: &[u8], format: Self| is_marked(mark) || is_cut(mark, format);
        let marked = STARTS
            .iter()
            .find(|(mark, format)| is_marked(mark, *format))
            .map(|(_, format)| *format);
        // Its mark, and a letter that is nearly always of one byte.
        let is_wide = matches!(
            start,
            [0xFF, 0xFE, _, 0, ..] | [0xFE, 0xFF, 0, _, ..] | [0, 0, 0xFE, 0xFF, ..]
        );
        let is_line = delimiter == Some(b'\n');
        let is_zero = is_line && start.len() >= LONGEST_MARK && start.iter().all(|&byte| byte == 0);
        let has_nul = || memchr(0, &start[..start.len().min(LOOKED_AT)]).is_some();
        marked
            .or_else(|| is_zlib(start).then_some(ZLIB))
            .or((is_wide && delimiter != Some(0)).then_some(WIDE))
            .or(is_zero.then_some(ZEROS))
            .or_else(|| (is_line && has_nul()).then_some(BINARY))
            .or(start.starts_with(MARK).then_some(Marked))
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Compressed(name) => {
                write!(
                    f,
                    "is compressed by {name}, and has no lines: try `{name} -dc FILE | bshuf`"
                )
            }
            Rows(what, ending) => {
                write!(f, "is {what}, and has no lines: give it a name that ends in {ending}")
            }
            Other(what, advice) => write!(f, "is {what}, and has no lines of bytes: {advice}"),
            Marked => f.write_str(
                "begins with a byte order mark, which would move with its first line: take it off, \
                 as by `tail -c +4`",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Codec::{Bzip2, Gzip, Lz4, Plain, Zstd};
    use super::super::codecs::other_packer_of_name;
    use super::super::marks::masked_crc;
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
            b"\xEF\xBBa\n",
            b"ORC\nand GOBLIN\n",
            b"%PDF\n",
            b"GIF89a\n",
        ] {
            let tail = Some((text, text.len() as u64));
            assert_eq!(Format::of(text, tail, Some(b'\n')), None, "{}", text.escape_ascii());
            assert_eq!(Format::of(text, None, Some(b'\n')), None, "{}", text.escape_ascii());
        }
        assert_eq!(Format::of(b"\xFF\xFEa\0", None, Some(b'\n')), Some(WIDE));
        assert_eq!(Format::of(b"\xFF\xFEa\0", None, Some(0)), None);
        for level in b'1'..=b'9' {
            let start = [b"BZh", &[level][..], b"1AY&SY"].concat();
            assert_eq!(Format::of(&start, None, Some(b'\n')), Some(Compressed("bzip2")));
        }
        let parquet = |end: &[u8]| Format::of(b"PAR1\x15\0", Some((end, 14)), Some(0));
        assert!(parquet(b"\x15\0\x02\0\0\0PAR1").is_some());
        assert!(parquet(b"\x15\0\x03\0\0\0PAR1").is_none());
        assert!(Format::of(b"PAR1\x15\0", None, Some(0)).is_some());
    }

    #[test]
    fn a_nul_says_that_there_are_no_lines_unless_records_have_it() {
        let text = |at: usize| [vec![b'a'; at], vec![0]].concat();
        let of = |text: &[u8], delimiter| Format::of(text, None, delimiter);
        assert_eq!(of(&text(LOOKED_AT - 1), Some(b'\n')), Some(BINARY));
        assert_eq!(of(&[0; 512], Some(b'\n')), Some(ZEROS));
        assert_eq!((of(&[0; 512], Some(0)), of(&[0; 511], Some(b'\n'))), (None, Some(BINARY)));
        for (at, delimiter) in [(LOOKED_AT, Some(b'\n')), (0, Some(0)), (0, None)] {
            assert_eq!(of(&text(at), delimiter), None);
        }
        assert_eq!(of(b"ORC\n\x08\x01", None), of(b"ORC\x0A\x03\x01", Some(b'\n')));
        for delimiter in [Some(b'\n'), Some(0), None] {
            assert_eq!(of(b"\xEF\xBB\xBFa\n", delimiter), Some(Marked));
        }
        assert!(BINARY.may_be_text() && !TAR.may_be_text() && !Compressed("xz").may_be_text());
    }

    /// The checksum is that of <https://www.rfc-editor.org/rfc/rfc3720#appendix-B.4>.
    #[test]
    fn records_of_tensorflow_are_known_by_the_checksum_of_their_length() {
        assert_eq!(crc32c::crc32c(&[0; 32]), 0x8A91_36AA);
        let start = |length: u64| {
            let length = length.to_le_bytes();
            [length.as_slice(), &masked_crc(&length).to_le_bytes()].concat()
        };
        // Also where the length is the mark of a codec.
        for length in [0, 5, 0x08_8B1F, 0x184D_2204, 0xFD2F_B528, (1 << 56) - 1] {
            assert!(is_tfrecord(&start(length)), "{length}");
            assert_eq!(Codec::of_start(&start(length)), Plain);
            assert_eq!(Format::of(&start(length), None, None), Some(TFRECORD));
            let mut other = start(length);
            other[9] ^= 1;
            assert!(!is_tfrecord(&other) && !is_tfrecord(&start(length)[..11]));
        }
        assert!(!is_tfrecord(&start(1 << 56)));
    }

    #[test]
    fn codec_is_known_behind_skippable_frames() {
        let skipped = |bytes: u32| {
            [&b"\x50\x2A\x4D\x18"[..], &bytes.to_le_bytes(), &vec![7; bytes as usize]].concat()
        };
        let codec = |parts: &[&[u8]]| Codec::of_start(&parts.concat());
        let (zstd, lz4) = (b"\x28\xB5\x2F\xFD", b"\x04\x22\x4D\x18");
        assert_eq!(codec(&[&skipped(4), zstd]), Zstd);
        assert_eq!(codec(&[&skipped(0), &skipped(9), lz4]), Lz4);
        // Cut short, or too long to be looked behind: never lines.
        assert_eq!(codec(&[&skipped(4)]), Zstd);
        assert_eq!(codec(&[&skipped(4)[..9]]), Zstd);
        assert_eq!(codec(&[&skipped(4)[..6]]), Zstd);
        assert_eq!(codec(&[&skipped(4), b"\x1F\x8B\x08"]), Zstd);
        assert_eq!(codec(&[&skipped(0).repeat(1 << 20)]), Zstd);
    }

    #[test]
    fn codecs_are_known_by_names() {
        for (name, codec) in [
            ("a.jsonl.ZST", Zstd),
            ("a.tgz", Gzip),
            ("a.tzst", Zstd),
            ("a.tbz2", Bzip2),
            ("a.vcf.bgz", Gzip),
            ("a.tar", Plain),
            ("zst", Plain),
            ("a.txt", Plain),
        ] {
            assert_eq!(Codec::of_name(Path::new(name)), codec, "{name}");
            assert_eq!(other_packer_of_name(Path::new(name)), None, "{name}");
        }
        for (name, packer) in [("a.csv.XZ", "xz"), ("a.Z", "compress"), ("a.zip", "zip")] {
            assert_eq!(other_packer_of_name(Path::new(name)), Some(packer), "{name}");
            assert_eq!(Codec::of_name(Path::new(name)), Plain, "{name}");
        }
    }

    #[test]
    fn archives_are_known_by_their_mark_or_their_checksum() {
        let mut header = [0; 512];
        header[0] = b'a';
        header[148..156].copy_from_slice(b"000541\0 ");
        assert!(is_tar(&header));
        assert!(!is_tar(&header[..511]));
        // Whatever the name of its first file is.
        header[..8].copy_from_slice(b"ARROW1\0\0");
        header[148..156].copy_from_slice(b"001274\0 ");
        assert_eq!(Format::of(&header, None, Some(b'\n')), Some(TAR));
        header[1] = b'a';
        assert!(!is_tar(&header));
        assert!(!is_tar(&[0; 512]));
        assert!(!is_tar(&[b'1'; 512]));
    }
}
