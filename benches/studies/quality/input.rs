//! [`Permutations`]: permutations that another program writes, checked one by one.

use std::fmt::{self, Display};
use std::io::{self, BufRead, Read};

/// How numbers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// In decimal, with spaces, commas, brackets or ends of lines between them.
    Text,
    /// As little-endian integers of this number of bytes, 4 or 8.
    Binary(usize),
}

/// What is wrong with the permutations that came, as a user reads it.
pub(crate) type Fault = String;

/// Where a number is, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Line(u64),
    /// The how manieth number of a binary input.
    Number(u64),
}

impl Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Number(number) => write!(f, "number {number} of the input"),
        }
    }
}

fn unreadable(error: io::Error) -> Fault {
    format!("the permutations cannot be read: {error}")
}

/// Reads permutations of one length, whose numbers begin with 0 or with 1.
pub(crate) struct Permutations<R> {
    source: R,
    format: Format,
    len: usize,
    /// Whether every line is a permutation, as the first one is.
    by_line: bool,
    /// The smallest number, once the first permutation is known.
    first: Option<u64>,
    read: u64,
    /// The line or the number that was read last, and what is left of the line.
    place: u64,
    line: Vec<u8>,
    offset: usize,
    current: Vec<(u64, Place)>,
    seen: Vec<bool>,
}

impl<R: BufRead> Permutations<R> {
    /// Without a length, that of the first line.
    pub(crate) fn new(source: R, format: Format, len: Option<usize>) -> Result<Self, Fault> {
        let mut this = Self {
            source,
            format,
            len: 0,
            by_line: false,
            first: None,
            read: 0,
            place: 0,
            line: Vec::new(),
            offset: 0,
            current: Vec::new(),
            seen: Vec::new(),
        };
        let mut in_line = 0;
        if format == Format::Text {
            while in_line == 0 {
                if !this.next_line()? {
                    return Err("the input has no permutation".into());
                }
                in_line = words(&this.line).count();
            }
        }
        this.len = match len {
            Some(len) => len,
            None if in_line > 1 => in_line,
            None => {
                let what = "give --length, or write one permutation to a line";
                return Err(format!("the length of a permutation is not known: {what}"));
            }
        };
        if !(2..=1 << 32).contains(&(this.len as u64)) {
            return Err(format!(
                "permutations of {} items cannot be judged: 2 to 2^32 can",
                this.len
            ));
        }
        this.by_line = in_line == this.len;
        this.seen = vec![false; this.len];
        Ok(this)
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The smallest number of each permutation, 0 or 1; 0 before there is one.
    pub(crate) fn first(&self) -> u64 {
        self.first.unwrap_or(0)
    }

    /// Appends the next permutation, of the indexes from 0 on; `false` at the end.
    pub(crate) fn read(&mut self, out: &mut Vec<u32>) -> Result<bool, Fault> {
        self.current.clear();
        while self.current.len() < self.len {
            let Some(number) = self.number()? else {
                return if self.current.is_empty() { Ok(false) } else { Err(self.incomplete()) };
            };
            self.current.push(number);
        }
        if self.by_line && words(&self.line[self.offset..]).next().is_some() {
            return Err(self.uneven());
        }
        self.read += 1;
        let first = match self.first {
            Some(first) => first,
            None => u64::from(self.current.iter().all(|&(number, _)| number != 0)),
        };
        self.first = Some(first);
        self.seen.fill(false);
        let len = self.len;
        let range = || format!("{first} to {}", first + (len as u64).wrapping_sub(1));
        for &(number, place) in &self.current {
            let index = number.checked_sub(first).filter(|&index| index < len as u64);
            let Some(index) = index else {
                return Err(format!(
                    "{place}: {number} is not in a permutation of {len} items, whose numbers are {}",
                    range()
                ));
            };
            if std::mem::replace(&mut self.seen[index as usize], true) {
                return Err(format!(
                    "{place}: permutation {} has {number} a second time, and should have each of \
                     {} once",
                    self.read,
                    range()
                ));
            }
            out.push(index as u32);
        }
        Ok(true)
    }

    /// The next number and where it is.
    fn number(&mut self) -> Result<Option<(u64, Place)>, Fault> {
        match self.format {
            Format::Text => self.number_of_text(),
            Format::Binary(bytes) => self.number_of_bytes(bytes),
        }
    }

    fn number_of_text(&mut self) -> Result<Option<(u64, Place)>, Fault> {
        loop {
            let rest = &self.line[self.offset..];
            if let Some(word) = words(rest).next() {
                let place = Place::Line(self.place);
                let number = std::str::from_utf8(word).ok().and_then(|word| word.parse().ok());
                let number = number.ok_or_else(|| {
                    let text = String::from_utf8_lossy(word);
                    format!("{place}: `{text}` is no whole number from 0 on")
                })?;
                // Where the word is in the line: both are of the same slice.
                let start = rest.iter().position(|&byte| !is_between(byte)).unwrap_or(0);
                self.offset += start + word.len();
                return Ok(Some((number, place)));
            }
            if self.by_line && !self.current.is_empty() {
                return Err(self.uneven());
            }
            if !self.next_line()? {
                return Ok(None);
            }
        }
    }

    fn number_of_bytes(&mut self, bytes: usize) -> Result<Option<(u64, Place)>, Fault> {
        let mut word = Vec::with_capacity(8);
        let limit = bytes as u64;
        self.source.by_ref().take(limit).read_to_end(&mut word).map_err(unreadable)?;
        match word.len() {
            0 => return Ok(None),
            there if there < bytes => return Err(self.incomplete()),
            _ => word.resize(8, 0),
        }
        let word = word.try_into().expect("8 bytes");
        self.place += 1;
        Ok(Some((u64::from_le_bytes(word), Place::Number(self.place))))
    }

    fn next_line(&mut self) -> Result<bool, Fault> {
        self.line.clear();
        self.offset = 0;
        self.place += 1;
        Ok(self.source.read_until(b'\n', &mut self.line).map_err(unreadable)? > 0)
    }

    fn uneven(&self) -> Fault {
        let (line, numbers, len) = (self.place, words(&self.line).count(), self.len);
        format!("line {line} has {numbers} numbers, where the first permutation has {len}")
    }

    fn incomplete(&self) -> Fault {
        let (permutation, numbers, len) = (self.read + 1, self.current.len(), self.len);
        format!("the input ends within permutation {permutation}, after {numbers} of {len} numbers")
    }
}

/// What is written between numbers: blanks, and what Python writes around lists and NumPy's arrays.
fn is_between(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b',' | b'[' | b']')
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|&byte| is_between(byte)).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(
        input: &[u8],
        format: Format,
        len: Option<usize>,
    ) -> Result<(u64, Vec<Vec<u32>>), Fault> {
        let mut permutations = Permutations::new(input, format, len)?;
        let mut all = Vec::new();
        loop {
            let mut one = Vec::new();
            if !permutations.read(&mut one)? {
                return Ok((permutations.first(), all));
            }
            all.push(one);
        }
    }

    fn fault(input: &str, len: Option<usize>) -> String {
        all(input.as_bytes(), Format::Text, len).unwrap_err()
    }

    #[test]
    fn permutations_are_read_in_every_format() {
        let two = vec![vec![2, 0, 1], vec![0, 1, 2]];
        for text in
            ["2\n0\n1\n0\n1\n2\n", "2 0 1\n0 1 2", "[2, 0, 1]\r\n\n[0,1,2]\n", "[2 0\n 1]0 1 2"]
        {
            assert_eq!(all(text.as_bytes(), Format::Text, Some(3)).unwrap(), (0, two.clone()));
        }
        let lines = all(b"\n3\t1 2\n 1 2 3\n", Format::Text, None).unwrap();
        assert_eq!(lines, (1, two.clone()), "from 1 on, and as long as the first line");
        let numbers = [2_u32, 0, 1, 0, 1, 2];
        let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
        assert_eq!(all(&bytes, Format::Binary(4), Some(3)).unwrap(), (0, two.clone()));
        let bytes: Vec<u8> = numbers.iter().flat_map(|&n| u64::from(n).to_le_bytes()).collect();
        assert_eq!(all(&bytes, Format::Binary(8), Some(3)).unwrap(), (0, two));
        assert_eq!(all(b"", Format::Binary(8), Some(3)).unwrap().1.len(), 0);
    }

    #[test]
    fn what_is_no_permutation_is_refused_with_its_line() {
        for (text, len, says) in [
            ("", None, "no permutation"),
            ("\n \n", Some(3), "no permutation"),
            ("0\n1\n", None, "give --length"),
            ("0\n", Some(1), "1 items cannot"),
            ("0\n1\nx\n", Some(3), "line 3: `x` is no"),
            ("0\n-1\n", Some(2), "line 2: `-1` is no"),
            (
                "0\n1\n2\n0\n3\n1\n",
                Some(3),
                "line 5: 3 is not in a permutation of 3 items, whose numbers are 0 to 2",
            ),
            (
                "1\n2\n3\n0\n1\n2\n",
                Some(3),
                "line 4: 0 is not in a permutation of 3 items, whose numbers are 1 to 3",
            ),
            ("0\n1\n2\n\n0\n2\n2\n", Some(3), "line 7: permutation 2 has 2 a second time"),
            ("0 1 2\n2 1\n", None, "line 2 has 2 numbers, where the first permutation has 3"),
            ("0 1 2\n2 1 0 2\n", None, "line 2 has 4 numbers"),
            ("0\n1\n2\n0\n1\n", Some(3), "ends within permutation 2, after 2 of 3"),
            ("0 1 18446744073709551616\n", None, "line 1: `18446744073709551616` is no"),
        ] {
            let fault = fault(text, len);
            assert!(fault.contains(says), "{text:?}: {fault}");
        }
        let half = all(&[0, 0, 0, 0, 1, 0, 0, 0, 1, 0], Format::Binary(4), Some(2)).unwrap_err();
        assert!(half.contains("ends within permutation 2, after 0 of 2"), "{half}");
        let far = all(&[0, 0, 0, 0, 9, 0, 0, 0], Format::Binary(4), Some(2)).unwrap_err();
        assert!(far.contains("number 2 of the input: 9 is not"), "{far}");
    }
}
