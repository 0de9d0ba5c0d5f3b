//! [`Npy`]: the header of a NumPy array in a file.
//!
//! The format is that of `numpy.lib.format`: a magic string, a version, the length of the rest, and
//! a Python dictionary with the type of an element, the order and the shape.

mod literal;
#[cfg(test)]
mod tests;

use std::io::{self, Read};
use std::ops::Range;

use literal::{Literal, Parser};

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Data begins at a multiple of this.
const ALIGNMENT: usize = 64;

/// No header is longer. NumPy itself reads headers of up to 10,000 bytes, if it is not told to
/// trust the file.
const LONGEST: usize = 1 << 20;

/// What is said of rows whose bytes cannot be counted.
const TOO_LARGE: &str = "has rows of more bytes than can be";

/// What is said of a type that is none.
const NONSENSE: &str = "has a NumPy header whose type makes no sense";

/// What a header says.
#[derive(Clone, Debug)]
pub struct Npy {
    version: u8,
    /// The dictionary as it is written, up to where the data begins.
    text: Vec<u8>,
    /// Where the digits of the number of rows are in it.
    digits: Range<usize>,
    descr: Literal,
    is_fortran: bool,
    shape: Vec<u64>,
    /// The length of the whole header in bytes.
    pub bytes: u64,
}

impl Npy {
    /// Reads a header.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn read(file: &mut dyn Read) -> io::Result<Self> {
        let cut_short = |error: io::Error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                io::Error::other("is not a NumPy array: it ends within its header")
            }
            _ => error,
        };
        let mut start = [0; 8];
        file.read_exact(&mut start).map_err(cut_short)?;
        if !start.starts_with(MAGIC) {
            return Err(io::Error::other("is not a NumPy array"));
        }
        let [.., version, minor] = start;
        let (length, prefix) = match (version, minor) {
            (1, 0) => {
                let mut length = [0; 2];
                file.read_exact(&mut length).map_err(cut_short)?;
                (usize::from(u16::from_le_bytes(length)), 10)
            }
            (2 | 3, 0) => {
                let mut length = [0; 4];
                file.read_exact(&mut length).map_err(cut_short)?;
                (u32::from_le_bytes(length) as usize, 12)
            }
            _ => {
                let why = format!("has version {version}.{minor} of the NumPy format");
                return Err(io::Error::other(why));
            }
        };
        if length > LONGEST {
            return Err(io::Error::other(format!("has a NumPy header of {length} bytes")));
        }
        let mut text = vec![0; length];
        file.read_exact(&mut text).map_err(cut_short)?;
        let bytes = prefix + length as u64;
        Self::parse(version, text, bytes)
            .ok_or_else(|| io::Error::other("has a NumPy header that makes no sense"))
    }

    fn parse(version: u8, text: Vec<u8>, bytes: u64) -> Option<Self> {
        let (mut descr, mut is_fortran, mut shape) = (None, None, None);
        // Names of fields, the only part that may not be ASCII, are Latin-1 before version 3.
        for (key, value, digits) in Parser::new(&text, version == 3).dictionary()? {
            let is_again = match (key.as_str(), &value) {
                ("descr", _) => descr.replace(value).is_some(),
                ("fortran_order", Literal::Word(word)) if word != "None" => {
                    is_fortran.replace(word == "True").is_some()
                }
                ("shape", Literal::Tuple(_)) => shape.replace((value.shape()?, digits)).is_some(),
                _ => return None,
            };
            if is_again {
                return None;
            }
        }
        let (descr, is_fortran, (shape, digits)) = (descr?, is_fortran?, shape?);
        Some(Self { version, text, digits, descr, is_fortran, shape, bytes })
    }

    /// The number of rows.
    pub fn rows(&self) -> u64 {
        self.shape.first().copied().unwrap_or(0)
    }

    /// The size of a row, in a file with this number of bytes after the header.
    ///
    /// # Errors
    ///
    /// Why the rows cannot be told apart.
    pub fn row_bytes(&self, data: u64) -> Result<u64, String> {
        let Some((&rows, row)) = self.shape.split_first() else {
            return Err("is a NumPy array without rows".to_owned());
        };
        let elements = product(row).ok_or(TOO_LARGE)?;
        if self.is_fortran && elements > 1 {
            return Err("is a NumPy array in Fortran's order, by columns".to_owned());
        }
        let bytes = element_bytes(&self.descr)?.checked_mul(elements).ok_or(TOO_LARGE)?;
        if bytes.checked_mul(rows) != Some(data) {
            let why = format!("has {data} bytes of data, which are not {rows} rows of {bytes}");
            return Err(why);
        }
        Ok(bytes)
    }

    /// Whether rows of both have the same type and shape.
    pub fn is_like(&self, other: &Self) -> bool {
        self.descr == other.descr && self.shape.get(1..) == other.shape.get(1..)
    }

    /// The same header except for the number of rows. All other bytes of the dictionary stay as
    /// they are, whatever they mean; and if the number does, so does the whole header.
    pub fn with_rows(&self, rows: u64) -> Vec<u8> {
        let mut text = self.text.clone();
        if rows != self.rows() {
            text.truncate(text.trim_ascii_end().len());
            text.splice(self.digits.clone(), rows.to_string().into_bytes());
        }
        // More rows have more digits, which can be too many for the length in version 1. Version 2
        // differs from it in nothing else.
        let is_short = |bytes: usize| self.version == 1 && u16::try_from(bytes - 10).is_ok();
        let padded = |prefix: usize| match rows == self.rows() {
            true => prefix + text.len(),
            false => (prefix + text.len() + 1).next_multiple_of(ALIGNMENT),
        };
        let (version, bytes) = match padded(10) {
            bytes if is_short(bytes) => (1, bytes),
            _ => (self.version.max(2), padded(12)),
        };
        let mut header = [&MAGIC[..], &[version, 0]].concat();
        match version {
            1 => header.extend(((bytes - 10) as u16).to_le_bytes()),
            // Below `LONGEST` and some digits.
            _ => header.extend(((bytes - 12) as u32).to_le_bytes()),
        }
        header.extend(text);
        if header.len() < bytes {
            header.resize(bytes - 1, b' ');
            header.push(b'\n');
        }
        header
    }
}

/// The size of an element of a type.
fn element_bytes(descr: &Literal) -> Result<u64, String> {
    match descr {
        // With commas, the types of the fields of a structure.
        Literal::Text(text) => text.split(',').try_fold(0_u64, |sum, one| {
            sum.checked_add(plain_bytes(one.trim())?).ok_or_else(|| TOO_LARGE.to_owned())
        }),
        // A type, and how many of it make an element.
        Literal::Tuple(pair) => match pair.as_slice() {
            [base, shape] => repeated_bytes(base, shape),
            _ => Err(NONSENSE.to_owned()),
        },
        // The fields of a structure: a name, or a title and a name; a type; and perhaps a shape.
        Literal::List(fields) => fields.iter().try_fold(0_u64, |sum, field| {
            let Literal::Tuple(field) = field else { return Err(NONSENSE.to_owned()) };
            let bytes = match field.as_slice() {
                [_, base] => element_bytes(base)?,
                [_, base, shape] => repeated_bytes(base, shape)?,
                _ => return Err(NONSENSE.to_owned()),
            };
            sum.checked_add(bytes).ok_or_else(|| TOO_LARGE.to_owned())
        }),
        _ => Err(NONSENSE.to_owned()),
    }
}

/// The size of as many elements as a shape has.
fn repeated_bytes(base: &Literal, shape: &Literal) -> Result<u64, String> {
    let one = element_bytes(base)?;
    let shape = shape.shape().ok_or(NONSENSE)?;
    let bytes = product(&shape).and_then(|count| one.checked_mul(count));
    bytes.ok_or_else(|| TOO_LARGE.to_owned())
}

/// The size of an element that is no structure, by the name of its type.
fn plain_bytes(text: &str) -> Result<u64, String> {
    let unknown = || format!("has elements of type '{text}', whose size is not known");
    let name = text.strip_prefix(['<', '>', '|', '=']).unwrap_or(text);
    // A date has its unit behind the size.
    let name = match name.split_once('[') {
        Some((name, unit)) if unit.ends_with(']') => name,
        Some(_) => return Err(unknown()),
        None => name,
    };
    let digits =
        name.trim_start_matches(|letter: char| letter.is_ascii_alphabetic() || letter == '?');
    let kind = &name[..name.len() - digits.len()];
    let size: Option<u64> = match digits {
        "" => None,
        _ => Some(digits.parse().map_err(|_| unknown())?),
    };
    match (kind, size) {
        ("O" | "object", _) => Err("is a NumPy array of Python objects".to_owned()),
        ("b" | "i" | "u" | "f" | "c" | "m" | "M" | "S" | "a" | "V", Some(size)) => Ok(size),
        ("U", Some(size)) => size.checked_mul(4).ok_or_else(|| TOO_LARGE.to_owned()),
        ("S" | "U" | "V", None) => Ok(0),
        ("?" | "b" | "B" | "bool", None) => Ok(1),
        ("h" | "H" | "e", None) => Ok(2),
        ("i" | "I" | "f", None) => Ok(4),
        ("q" | "Q" | "d" | "F" | "m" | "M", None) => Ok(8),
        ("D", None) => Ok(16),
        ("int" | "uint" | "float" | "complex" | "datetime" | "timedelta", Some(bits))
            if bits.is_multiple_of(8) =>
        {
            Ok(bits / 8)
        }
        _ => Err(unknown()),
    }
}

/// The product of sizes, if it can be counted.
fn product(sizes: &[u64]) -> Option<u64> {
    sizes.iter().try_fold(1_u64, |product, &size| product.checked_mul(size))
}
