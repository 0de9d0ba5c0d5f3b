//! [`is_zlib`]: whether a file is compressed by zlib, which has no mark.

use flate2::{Decompress, FlushDecompress, Status};

use super::marks::has_controls;

/// A text that begins as a stream of zlib cannot be decoded for this many bytes, nor into this many
/// below: most fail within twenty.
const ENOUGH: u64 = 256;
const ENOUGH_DECODED: u64 = 64 << 10;

/// Whether a file with these first bytes is compressed by zlib: its first two bytes are a header,
/// as `x^` and `X\t` are too, and the others can be decoded. One that is so short that a text could
/// be decoded has characters that texts do not have, unless all of it is there.
pub(super) fn is_zlib(start: &[u8]) -> bool {
    let Some([method, flags]) = start.first_chunk() else { return false };
    // Deflate, a window of up to 32 KiB, no dictionary, and a sum.
    let is_header = method & 0x0F == 8
        && method >> 4 <= 7
        && flags & 0x20 == 0
        && u16::from_be_bytes([*method, *flags]).is_multiple_of(31);
    if !is_header {
        return false;
    }
    let (mut stream, mut text) = (Decompress::new(true), [0; 4096]);
    loop {
        let (read, decoded) = (stream.total_in(), stream.total_out());
        // Both are within the bytes that there are.
        let rest = &start[read as usize..];
        match stream.decompress(rest, &mut text, FlushDecompress::None) {
            Err(_) => return false,
            // Its checksum is right.
            Ok(Status::StreamEnd) => return true,
            Ok(_) if stream.total_out() > ENOUGH_DECODED => return true,
            Ok(_) if (stream.total_in(), stream.total_out()) == (read, decoded) => break,
            Ok(_) => {}
        }
    }
    stream.total_in() >= ENOUGH || has_controls(start)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::ZlibEncoder;

    use super::super::{Format, LOOKED_AT};
    use super::*;

    /// All first two bytes that zlib writes: of each size of window, and of each level.
    fn headers() -> Vec<[u8; 2]> {
        let all = (0..8).flat_map(|size| (0..4).map(move |level| (size << 4 | 8, level << 6)));
        let sum = |(method, level)| 31 - u16::from_be_bytes([method, level]) % 31;
        all.map(|(method, level)| [method, level + sum((method, level)) as u8]).collect()
    }

    /// Numbers that look random.
    fn numbers(seed: u64) -> impl Iterator<Item = usize> {
        let next = |state: &u64| Some(state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1));
        std::iter::successors(Some(seed), next).skip(3).map(|state| (state >> 33) as usize)
    }

    #[test]
    fn headers_are_known() {
        let headers = headers();
        assert_eq!(headers.len(), 32);
        for known in [b"\x78\x01", b"x^", b"\x78\x9C", b"\x78\xDA", b"X\t", b"\x18\x95", b"h\x81"] {
            assert!(headers.contains(known), "{}", known.escape_ascii());
        }
    }

    #[test]
    fn streams_of_all_levels_and_windows_are_known() {
        for level in 0..=9 {
            for lines in [0, 1, 5, 40, 300, 5000] {
                let text: String =
                    numbers(7).take(lines).map(|k| format!("{} line\n", k % 9999)).collect();
                let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(level));
                encoder.write_all(text.as_bytes()).unwrap();
                let file = encoder.finish().unwrap();
                assert!(headers().contains(file.first_chunk().unwrap()));
                // Also one that is cut short, if only behind some bytes.
                for end in
                    [file.len(), file.len() - 1, file.len().div_ceil(2).max(30.min(file.len()))]
                {
                    let start = &file[..end.min(LOOKED_AT)];
                    assert!(is_zlib(start), "level {level}, {lines} lines, {end} bytes");
                    let format = Format::of(start, None, Some(b'\n')).unwrap().to_string();
                    assert!(format.starts_with("is compressed by zlib, "), "{format}");
                }
                // The window says how far back the data go, and those of a few lines go nowhere.
                if lines <= 5 {
                    for header in headers() {
                        let file = [&header, &file[2..]].concat();
                        assert!(is_zlib(&file), "{}", header.escape_ascii());
                    }
                }
                let mut damaged = file.clone();
                *damaged.last_mut().unwrap() ^= 1;
                assert!(file.len() > LOOKED_AT || !is_zlib(&damaged));
            }
        }
    }

    #[test]
    fn texts_that_begin_as_streams_are_texts() {
        let alphabets: [&[u8]; 4] = [
            b"0123456789,.\n",
            b"etaoin shrdlu cmfwyp vbgkjqxz ETAOIN\n\t",
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=",
            b"{}[]\"':,()<>=-_ abcdefghij\n",
        ];
        for header in headers() {
            for (alphabet, seed) in
                alphabets.iter().flat_map(|one| (0..60).map(move |seed| (one, seed)))
            {
                for bytes in [0, 1, 3, 9, 30, 100, 1000] {
                    let rest = numbers(seed).take(bytes).map(|k| alphabet[k % alphabet.len()]);
                    let text: Vec<u8> = header.into_iter().chain(rest).collect();
                    let is_text = !has_controls(&header) || bytes > 100;
                    assert!(!is_text || !is_zlib(&text), "{}", text.escape_ascii());
                }
            }
        }
    }
}
