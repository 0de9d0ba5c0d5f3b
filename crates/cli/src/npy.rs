//! [`Npy`]: the header of a NumPy array in a file.
//!
//! The format is that of `numpy.lib.format`: a magic string, a version, the length of the rest, and
//! a Python dictionary with the type of an element, the order and the shape.

use std::io::{self, Read};

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Data begins at a multiple of this.
const ALIGNMENT: usize = 64;

/// No header is longer. NumPy itself reads headers of up to 10,000 bytes, if it is not told to
/// trust the file.
const LONGEST: usize = 1 << 20;

/// What a header says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Npy {
    version: [u8; 2],
    /// The type of an element, as it is written.
    descr: String,
    is_fortran: bool,
    shape: Vec<u64>,
    /// The length of the whole header in bytes.
    pub(crate) bytes: u64,
}

impl Npy {
    /// Reads a header.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub(crate) fn read(file: &mut dyn Read) -> Result<Self, String> {
        let cut_short = |error: io::Error| match error.kind() {
            io::ErrorKind::UnexpectedEof => "is no NumPy array: it ends in its header".to_owned(),
            _ => error.to_string(),
        };
        let mut start = [0; 8];
        file.read_exact(&mut start).map_err(cut_short)?;
        if !start.starts_with(MAGIC) {
            return Err("is no NumPy array".to_owned());
        }
        let version = [start[6], start[7]];
        let (length, prefix) = match version[0] {
            1 => {
                let mut length = [0; 2];
                file.read_exact(&mut length).map_err(cut_short)?;
                (usize::from(u16::from_le_bytes(length)), 10)
            }
            2 | 3 => {
                let mut length = [0; 4];
                file.read_exact(&mut length).map_err(cut_short)?;
                (u32::from_le_bytes(length) as usize, 12)
            }
            _ => return Err(format!("has version {} of the NumPy format", version[0])),
        };
        if length > LONGEST {
            return Err(format!("has a NumPy header of {length} bytes"));
        }
        let mut text = vec![0; length];
        file.read_exact(&mut text).map_err(cut_short)?;
        // Names of fields, the only part that may not be ASCII, are Latin-1 before version 3.
        let text = String::from_utf8_lossy(&text);
        let found = Self::parse(&text);
        let (descr, is_fortran, shape) = found.ok_or("has a NumPy header that makes no sense")?;
        Ok(Self { version, descr, is_fortran, shape, bytes: prefix + length as u64 })
    }

    /// The type, whether the order is Fortran's, and the shape.
    fn parse(text: &str) -> Option<(String, bool, Vec<u64>)> {
        // NumPy writes keys in this order.
        let (_, rest) = text.trim_start().strip_prefix('{')?.split_once("'descr':")?;
        let (descr, rest) = rest.rsplit_once("'fortran_order':")?;
        let descr = descr.trim().strip_suffix(',')?.to_owned();
        let (order, shape) = rest.split_once("'shape':")?;
        let is_fortran = match order.trim().strip_suffix(',')? {
            "True" => true,
            "False" => false,
            _ => return None,
        };
        let (shape, end) = shape.trim_start().strip_prefix('(')?.split_once(')')?;
        if !matches!(end.trim(), "}" | ", }" | ",}") {
            return None;
        }
        let shape = shape.trim().trim_end_matches(',');
        let sizes = shape.split(',').filter(|_| !shape.is_empty());
        let shape: Option<_> = sizes.map(|size| size.trim().parse().ok()).collect();
        Some((descr, is_fortran, shape?))
    }

    /// The number of rows.
    pub(crate) fn rows(&self) -> u64 {
        self.shape.first().copied().unwrap_or(0)
    }

    /// The size of a row, in a file with this number of bytes behind the header.
    ///
    /// # Errors
    ///
    /// Why the rows cannot be told apart.
    pub(crate) fn row_bytes(&self, data: u64) -> Result<u64, String> {
        let Some((&rows, row)) = self.shape.split_first() else {
            return Err("is a NumPy array without rows".to_owned());
        };
        if self.is_fortran && !row.is_empty() {
            return Err("is a NumPy array in Fortran's order, by columns".to_owned());
        }
        if self.descr.contains("|O") {
            return Err("is a NumPy array of Python objects".to_owned());
        }
        let elements = row.iter().try_fold(1_u64, |product, &size| product.checked_mul(size));
        let row_bytes = match self.element_bytes() {
            Some(element) => elements.and_then(|elements| elements.checked_mul(element)),
            // The fields of a structure, which have a size as well, are not looked at.
            None if rows == 0 => Some(0),
            None => data.is_multiple_of(rows).then_some(data / rows),
        };
        row_bytes
            .filter(|bytes| bytes.checked_mul(rows) == Some(data))
            .ok_or_else(|| format!("has {data} bytes of data, which are not {rows} rows"))
    }

    /// The size of an element that is no structure.
    fn element_bytes(&self) -> Option<u64> {
        let text = self.descr.strip_prefix('\'')?.strip_suffix('\'')?;
        let text = text.trim_start_matches(['<', '>', '|', '=']);
        // A date has its unit behind the size.
        let text = text.split('[').next()?;
        let kind = text.chars().next()?;
        let size: u64 = text[kind.len_utf8()..].parse().ok()?;
        size.checked_mul(if kind == 'U' { 4 } else { 1 })
    }

    /// Whether rows of both have the same type and shape.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.descr == other.descr && self.shape.get(1..) == other.shape.get(1..)
    }

    /// The header of as many rows of the same kind.
    pub(crate) fn with_rows(&self, rows: u64) -> Vec<u8> {
        let sizes = [rows].into_iter().chain(self.shape.iter().skip(1).copied());
        // A tuple of one has a comma.
        let shape: String = sizes.map(|size| format!("{size}, ")).collect();
        let shape = if self.shape.len() > 1 { shape.trim_end_matches(", ") } else { shape.trim() };
        let descr = &self.descr;
        let text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': ({shape}), }}");
        let aligned = |prefix: usize| (prefix + text.len() + 1).next_multiple_of(ALIGNMENT);
        let mut header = MAGIC.to_vec();
        // More rows have more digits, which can be too many for the length in version 1.
        let length = u16::try_from(aligned(10) - 10).ok().filter(|_| self.version[0] == 1);
        let bytes = match length {
            Some(length) => {
                header.extend(self.version);
                header.extend(length.to_le_bytes());
                aligned(10)
            }
            None => {
                header.extend([self.version[0].max(2), 0]);
                // Below `LONGEST` and some digits.
                header.extend(((aligned(12) - 12) as u32).to_le_bytes());
                aligned(12)
            }
        };
        header.extend(text.into_bytes());
        header.resize(bytes - 1, b' ');
        header.push(b'\n');
        header
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(version: u8, text: &str) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([version, 0]);
        match version {
            1 => bytes.extend((text.len() as u16).to_le_bytes()),
            _ => bytes.extend((text.len() as u32).to_le_bytes()),
        }
        bytes.extend(text.bytes());
        bytes
    }

    fn read(text: &str) -> Result<Npy, String> {
        Npy::read(&mut header(1, text).as_slice())
    }

    #[test]
    fn headers_are_read_and_written() {
        for (text, rows, data, row_bytes) in [
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }  \n", 3, 48, 16),
            ("{'descr': '|u1', 'fortran_order': False, 'shape': (5,), }\n", 5, 5, 1),
            ("{'descr': '<i8', 'fortran_order': True, 'shape': (2,), }\n", 2, 16, 8),
            ("{'descr': '<U3', 'fortran_order': False, 'shape': (2,), }\n", 2, 24, 12),
            ("{'descr': '<M8[25us]', 'fortran_order': False, 'shape': (2,), }\n", 2, 16, 8),
            ("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 7), }\n", 0, 0, 56),
            (
                "{'descr': [('shape', '<f4'), ('b', '|S3')], 'fortran_order': False, \
                 'shape': (2, 2), }\n",
                2,
                28,
                14,
            ),
        ] {
            let found = read(text).unwrap();
            assert_eq!((found.rows(), found.row_bytes(data)), (rows, Ok(row_bytes)), "{text}");
            assert!(found.row_bytes(data + 1).is_err());
            assert_eq!(found.bytes, 10 + text.len() as u64);
            for version in [1, 2] {
                let found = Npy::read(&mut header(version, text).as_slice()).unwrap();
                for rows in [0, 1, 1_000_000] {
                    let written = found.with_rows(rows);
                    assert_eq!(written.len() % ALIGNMENT, 0);
                    let again = Npy::read(&mut written.as_slice()).unwrap();
                    assert!(again.is_like(&found));
                    assert_eq!((again.rows(), again.bytes), (rows, written.len() as u64));
                }
            }
        }
    }

    #[test]
    fn header_that_grows_too_long_gets_another_version() {
        let names = "x".repeat(65_440);
        let descr = format!("[('{names}', '<f4')]");
        let text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (1,), }}");
        let found = read(&text).unwrap();
        for rows in [1, u64::MAX] {
            let written = found.with_rows(rows);
            let again = Npy::read(&mut written.as_slice()).unwrap();
            assert!(again.is_like(&found));
            assert_eq!((again.rows(), again.bytes), (rows, written.len() as u64));
        }
    }

    #[test]
    fn what_is_no_array_of_rows_is_refused() {
        for text in [
            "",
            "{}",
            "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (3,), }",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (x,), }",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'more': 1}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (-3,), }",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
        for text in [
            "{'descr': '<f4', 'fortran_order': False, 'shape': (), }",
            "{'descr': '<f4', 'fortran_order': True, 'shape': (3, 4), }",
            "{'descr': '|O', 'fortran_order': False, 'shape': (12,), }",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 9999999999999999999), }",
        ] {
            assert!(read(text).unwrap().row_bytes(48).is_err(), "{text}");
        }
        assert!(Npy::read(&mut b"one\ntwo\nthree\n".as_slice()).is_err());
        assert!(Npy::read(&mut b"\x93NUMPY\x01\0\xff\xff{".as_slice()).is_err());
        assert!(Npy::read(&mut b"\x93NUMPY\x04\0\x01\0{".as_slice()).is_err());
    }
}
