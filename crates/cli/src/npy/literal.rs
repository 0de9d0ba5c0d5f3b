//! [`Literal`]: a value as Python writes it, as far as headers of arrays have them.

use std::ops::Range;

/// How deep values may be nested. Python itself gives up at some 200.
const DEEPEST: usize = 100;

/// A value, without the way in which it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Literal {
    /// A text, whose escapes stay as they are written.
    Text(String),
    Number(u64),
    /// `True`, `False` or `None`.
    Word(String),
    Tuple(Vec<Self>),
    List(Vec<Self>),
}

impl Literal {
    /// A number, or a tuple of numbers.
    pub(super) fn shape(&self) -> Option<Vec<u64>> {
        let number = |one: &Self| match one {
            Self::Number(number) => Some(*number),
            _ => None,
        };
        match self {
            Self::Number(number) => Some(vec![*number]),
            Self::Tuple(numbers) => numbers.iter().map(number).collect(),
            _ => None,
        }
    }
}

/// Reads values from the bytes of a header. All of Python's syntax is ASCII; what is between quotes
/// need not be.
pub(super) struct Parser<'t> {
    text: &'t [u8],
    at: usize,
    /// Whether texts are UTF-8 and not Latin-1.
    is_utf8: bool,
    /// The digits of the first number of the tuple that was read last.
    first_digits: Range<usize>,
}

impl<'t> Parser<'t> {
    pub(super) fn new(text: &'t [u8], is_utf8: bool) -> Self {
        Self { text, at: 0, is_utf8, first_digits: 0..0 }
    }

    /// A dictionary whose keys are texts, with where the digits are that a value begins with, if
    /// it is a tuple of numbers. Nothing follows it.
    pub(super) fn dictionary(&mut self) -> Option<Vec<(String, Literal, Range<usize>)>> {
        let mut entries = Vec::new();
        self.expect(b'{')?;
        while !self.take(b'}') {
            let Literal::Text(key) = self.value(0)? else { return None };
            self.expect(b':')?;
            self.first_digits = 0..0;
            let value = self.value(0)?;
            entries.push((key, value, self.first_digits.clone()));
            if !self.take(b',') {
                self.expect(b'}')?;
                break;
            }
        }
        self.skip_blanks();
        (self.at == self.text.len()).then_some(entries)
    }

    fn value(&mut self, depth: usize) -> Option<Literal> {
        if depth > DEEPEST {
            return None;
        }
        self.skip_blanks();
        let start = self.at;
        match *self.text.get(start)? {
            b'(' => {
                let (mut values, has_comma) = self.values(b')', depth)?;
                // Without a comma these are but parentheses.
                if values.len() == 1 && !has_comma {
                    return values.pop();
                }
                Some(Literal::Tuple(values))
            }
            b'[' => Some(Literal::List(self.values(b']', depth)?.0)),
            b'\'' | b'"' => self.quoted(),
            b'0'..=b'9' => self.number().map(Literal::Number),
            _ => {
                let word = self.run(|byte| byte.is_ascii_alphabetic());
                match std::str::from_utf8(word).ok()? {
                    // Texts of Python 2 that were not bytes.
                    "u" | "U" => self.quoted(),
                    word @ ("True" | "False" | "None") => Some(Literal::Word(word.to_owned())),
                    _ => None,
                }
            }
        }
    }

    /// Values up to a bracket, and whether there was a comma.
    fn values(&mut self, end: u8, depth: usize) -> Option<(Vec<Literal>, bool)> {
        self.at += 1;
        let (mut values, mut has_comma) = (Vec::new(), false);
        let mut digits = 0..0;
        while !self.take(end) {
            self.skip_blanks();
            let start = self.at;
            values.push(self.value(depth + 1)?);
            if values.len() == 1 {
                let count = self.text[start..].iter().take_while(|byte| is_of_number(byte));
                digits = start..start + count.count();
            }
            if !self.take(b',') {
                self.expect(end)?;
                break;
            }
            has_comma = true;
        }
        self.first_digits = digits;
        Some((values, has_comma))
    }

    /// A number without a sign, in decimal digits.
    fn number(&mut self) -> Option<u64> {
        let digits = std::str::from_utf8(self.run(is_of_number)).ok()?;
        if digits.len() > 1 && digits.starts_with('0') {
            return None;
        }
        // One underscore may be between two digits.
        if digits.split('_').any(str::is_empty) {
            return None;
        }
        let number = digits.replace('_', "").parse().ok()?;
        // A long number of Python 2.
        if self.text.get(self.at) == Some(&b'L') {
            self.at += 1;
        }
        Some(number)
    }

    fn quoted(&mut self) -> Option<Literal> {
        let quote = *self.text.get(self.at).filter(|&&quote| quote == b'\'' || quote == b'"')?;
        let start = self.at + 1;
        let mut end = start;
        loop {
            match *self.text.get(end)? {
                byte if byte == quote => break,
                b'\\' => end += 2,
                b'\n' => return None,
                _ => end += 1,
            }
        }
        self.at = end + 1;
        let text = &self.text[start..end];
        let text = match self.is_utf8 {
            true => String::from_utf8(text.to_vec()).ok()?,
            false => text.iter().copied().map(char::from).collect(),
        };
        Some(Literal::Text(text))
    }

    /// The bytes from here on that are of a kind.
    fn run(&mut self, is_one: impl Fn(&u8) -> bool) -> &'t [u8] {
        let rest = &self.text[self.at..];
        let run = &rest[..rest.iter().take_while(|byte| is_one(byte)).count()];
        self.at += run.len();
        run
    }

    /// Skips blanks, and comments up to the ends of their lines.
    fn skip_blanks(&mut self) {
        loop {
            self.run(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'\x0C'));
            if self.text.get(self.at) != Some(&b'#') {
                return;
            }
            self.run(|byte| !matches!(byte, b'\n' | b'\r'));
        }
    }

    /// Whether this byte comes next, which is then read.
    fn take(&mut self, byte: u8) -> bool {
        self.skip_blanks();
        let is_next = self.text.get(self.at) == Some(&byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        self.take(byte).then_some(())
    }
}

/// Whether it is a digit, or what may be between two.
fn is_of_number(byte: &u8) -> bool {
    byte.is_ascii_digit() || *byte == b'_'
}
