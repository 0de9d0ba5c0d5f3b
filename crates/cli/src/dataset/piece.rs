//! [`InputPiece`]: an input, or a part of one that is divided among workers.

use std::io::{self, ErrorKind, Read};
use std::ops::Range;

use memchr::memchr;

use super::input::Input;
use crate::files::Watch;
use crate::files::watch::Watched;

/// An input, or the lines that begin in a part of it.
#[derive(Clone, Debug)]
pub(super) struct InputPiece {
    pub(super) input: usize,
    range: Range<u64>,
    /// What ends a line; none if the piece is the whole input.
    delimiter: Option<u8>,
}

impl InputPiece {
    /// An input, by its number and its size.
    pub(super) fn whole(input: usize, bytes: u64) -> Self {
        Self { input, range: 0..bytes, delimiter: None }
    }

    /// This many pieces of it, of about the same size.
    pub(super) fn divided(self, pieces: u64, delimiter: u8) -> impl Iterator<Item = Self> {
        let Self { input, range: Range { end, .. }, .. } = self;
        // Not above the end.
        let at =
            move |piece: u64| (u128::from(end) * u128::from(piece) / u128::from(pieces)) as u64;
        let delimiter = (pieces > 1).then_some(delimiter);
        (0..pieces).map(move |piece| Self { input, range: at(piece)..at(piece + 1), delimiter })
    }

    /// About how many bytes it has.
    pub(super) fn bytes(&self) -> u64 {
        self.range.end - self.range.start
    }

    /// Whether its input begins with it.
    pub(super) fn is_start(&self) -> bool {
        self.range.start == 0
    }

    /// Whether it is the whole input.
    pub(super) fn is_whole(&self) -> bool {
        self.delimiter.is_none()
    }

    /// Its lines, unless it is the whole input.
    pub(super) fn lines<'a>(
        &self,
        input: &'a dyn Input,
        watch: &'a dyn Watch,
    ) -> io::Result<Option<Box<dyn Read + Send + 'a>>> {
        let Some(delimiter) = self.delimiter else { return Ok(None) };
        // The byte before the piece tells whether a line begins with it.
        let start = self.range.start.saturating_sub(1);
        let reader = input.open_at(start)?.ok_or(ErrorKind::Unsupported)?;
        let (reader, left) = (Watched { reader, watch }, self.range.end - 1 - start);
        let (is_begun, is_end) = (self.is_start(), false);
        Ok(Some(Box::new(LinesOf { reader, delimiter, left, is_begun, is_end })))
    }
}

/// The last byte of an input, if it has any and can be read elsewhere than from its start.
pub(super) fn last_byte(input: &dyn Input) -> io::Result<Option<u8>> {
    let Some(before) = input.bytes().checked_sub(1) else { return Ok(None) };
    let Some(mut reader) = input.open_at(before)? else { return Ok(None) };
    let mut last = [0];
    reader.read_exact(&mut last)?;
    Ok(Some(last[0]))
}

/// The lines that begin in a part of an input. Wherever two parts meet, the first ends with the
/// line to which the last byte of it belongs, and the second begins after that.
struct LinesOf<R> {
    reader: R,
    delimiter: u8,
    /// How many bytes come before the last one of the piece.
    left: u64,
    /// Whether the line that begins before the piece has ended.
    is_begun: bool,
    is_end: bool,
}

impl<R: Read> Read for LinesOf<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while !self.is_end && !out.is_empty() {
            let read = self.reader.read(out)?;
            let bytes = &out[..read];
            // From here on the end of a line is that of the last one.
            let last = usize::try_from(self.left).map_or(read, |left| left.min(read));
            self.left -= last as u64;
            let mut start = 0;
            if !self.is_begun {
                start = memchr(self.delimiter, bytes).map_or(read, |at| at + 1);
                self.is_begun = start > 0 && bytes[start - 1] == self.delimiter;
            }
            // The line that ends there may be that before the piece.
            let end = match start.checked_sub(1) {
                Some(before) if self.is_begun && before >= last => Some(start),
                _ => memchr(self.delimiter, &bytes[last..]).map(|at| last + at + 1),
            };
            self.is_end = read == 0 || end.is_some();
            let end = end.unwrap_or(read);
            out.copy_within(start..end, 0);
            if start < end {
                return Ok(end - start);
            }
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text that is read a few bytes at a time.
    struct Slowly(Vec<u8>, usize);

    impl Input for Slowly {
        fn name(&self) -> String {
            "slowly".to_owned()
        }

        fn bytes(&self) -> u64 {
            self.0.len() as u64
        }

        fn open(&self) -> io::Result<Box<dyn Read + Send + '_>> {
            Ok(self.open_at(0)?.unwrap())
        }

        fn open_at(&self, bytes: u64) -> io::Result<Option<Box<dyn Read + Send + '_>>> {
            let chunks = self.0[bytes as usize..].chunks(self.1);
            let none: Box<dyn Read + Send + '_> = Box::new(io::empty());
            Ok(Some(chunks.rev().fold(none, |rest, chunk| Box::new(chunk.chain(rest)))))
        }
    }

    #[test]
    fn each_line_is_in_the_piece_that_it_begins_in() {
        for text in
            ["a\n", "\n\n\n\n", "a\nbcdefghijk\n\nl\n", "abcdefghijkl\n", "ab\ncd\nef\ngh\n"]
        {
            for step in 1..5 {
                let input = Slowly(text.into(), step);
                let bytes = input.bytes();
                assert_eq!(last_byte(&input).unwrap(), Some(b'\n'));
                for pieces in 2..=bytes {
                    let mut begin = 0;
                    for piece in InputPiece::whole(0, bytes).divided(pieces, b'\n') {
                        let mut found = String::new();
                        let mut lines = piece.lines(&input, &()).unwrap().unwrap();
                        lines.read_to_string(&mut found).unwrap();
                        let starts = |at: u64| at == 0 || text.as_bytes()[at as usize - 1] == b'\n';
                        let of_piece = piece.range.clone().filter(|&at| starts(at));
                        assert_eq!(found.lines().count(), of_piece.count(), "{text:?} {piece:?}");
                        assert!(text[begin..].starts_with(&found), "{text:?} {piece:?}");
                        begin += found.len();
                    }
                    assert_eq!(begin, text.len(), "{text:?}");
                }
            }
        }
    }
}
