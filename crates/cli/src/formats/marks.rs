//! The first bytes of files: how many are looked at, and what archives and TFRecords begin with.

/// The greatest number of first or last bytes that identify a format.
pub const LONGEST_MARK: usize = 512;

/// How many first bytes of a file are looked at, as by `grep`: a NUL among them says that it has no
/// lines.
pub const LOOKED_AT: usize = 32 << 10;

/// The byte order mark of UTF-8, which may stand before a text.
pub const MARK: &[u8] = b"\xEF\xBB\xBF";

/// Whether a text has characters that texts do not have.
pub(super) fn has_controls(text: &[u8]) -> bool {
    text.iter().any(|byte| matches!(byte, 0..=8 | 14..=26 | 28..=31))
}

/// Whether a file with these first bytes is a tar archive: by its mark, or by the checksum of its
/// first header, as the oldest archives have no mark.
pub fn is_tar(start: &[u8]) -> bool {
    start.get(257..).is_some_and(|mark| mark.starts_with(b"ustar"))
        || start.first_chunk().is_some_and(has_checksum)
}

/// Whether a header of an archive has the sum of its bytes, in which those of the sum count as
/// spaces.
pub fn has_checksum(header: &[u8; 512]) -> bool {
    let sum = |bytes: &[u8]| bytes.iter().map(|&byte| u32::from(byte)).sum::<u32>();
    let own = &header[148..156];
    let digits = std::str::from_utf8(own).unwrap_or_default().trim_matches([' ', '\0']);
    u32::from_str_radix(digits, 8)
        .is_ok_and(|found| found == sum(header) - sum(own) + 8 * u32::from(b' '))
}

/// The size of what stands before the bytes of a TFRecord: their number, and its checksum.
pub(crate) const TFRECORD_HEAD: usize = 12;

/// The checksum that TFRecord files have of some bytes.
pub(crate) fn masked_crc(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xA282_EAD8)
}

/// Whether a file with these first bytes begins with a TFRecord: the number of its bytes, least
/// byte first, has its checksum behind it. A number with all eight digits would be a text.
pub fn is_tfrecord(start: &[u8]) -> bool {
    let Some(([length @ .., a, b, c, d], _)) = start.split_first_chunk::<TFRECORD_HEAD>() else {
        return false;
    };
    length[7] == 0 && masked_crc(length) == u32::from_le_bytes([*a, *b, *c, *d])
}
