//! [`Divided`]: a text in memory and its items, and [`split`], which finds lines.

use std::mem;

use bijective_shuffle::Word;
use memchr::memchr_iter;
use rayon::prelude::*;

/// How many bytes a thread searches at a time: some 20 microseconds of work, which is well worth a
/// task.
const CHUNK: usize = 1 << 18;

/// A text that is divided into items.
pub trait Divided: Sync {
    /// How many items there are.
    fn count(&self) -> usize;

    /// How many bytes they have.
    fn bytes(&self) -> usize;

    /// An item, counted from 0. Panics if there is no such item.
    fn get(&self, index: usize) -> &[u8];
}

/// The lines of a text, each with the delimiter that ends it; the last may have none. Joined in
/// order they are the text. Offsets of 32 bits take half the memory of 64, and reach up to 4 GiB.
#[derive(Debug)]
pub struct Lines<'a, W> {
    text: &'a [u8],
    /// Where each line starts, and at last where the text ends.
    bounds: Vec<W>,
}

impl<'a> Lines<'a, u64> {
    /// The lines of a text that have these lengths, whatever is in them.
    pub(crate) fn of_lengths(text: &'a [u8], lengths: impl Iterator<Item = usize>) -> Self {
        let ends = lengths.scan(0, |end, length| {
            *end += length as u64;
            Some(*end)
        });
        Self { text, bounds: [0].into_iter().chain(ends).collect() }
    }
}

impl<W: Word> Divided for Lines<'_, W> {
    /// How many lines there are; none in an empty text.
    fn count(&self) -> usize {
        self.bounds.len() - 1
    }

    fn bytes(&self) -> usize {
        self.text.len()
    }

    /// A line, counted from 0. Panics if there is no such line.
    ///
    /// A text that is mapped may lose delimiters to another program between the two passes of
    /// [`split`], which leaves bounds at 0. A line between two such bounds is empty; the program
    /// notices the change in the end.
    #[inline]
    fn get(&self, index: usize) -> &[u8] {
        let [start, end] = [index, index + 1].map(|bound| self.bounds[bound].widen() as usize);
        self.text.get(start..end).unwrap_or_default()
    }
}

/// Records of one size.
pub(crate) struct SizedRecords<'a> {
    pub(crate) text: &'a [u8],
    /// At least 1.
    pub(crate) record: usize,
}

impl Divided for SizedRecords<'_> {
    fn count(&self) -> usize {
        self.text.len() / self.record
    }

    fn bytes(&self) -> usize {
        self.text.len()
    }

    #[inline]
    fn get(&self, index: usize) -> &[u8] {
        &self.text[index * self.record..][..self.record]
    }
}

/// Cuts a text after each delimiter.
///
/// # Panics
///
/// If the text is too long for the offsets.
pub fn split<W: Word>(text: &[u8], delimiter: u8) -> Lines<'_, W> {
    split_in_chunks(text, delimiter, CHUNK)
}

/// Counts the lines of a text.
pub fn count(text: &[u8], delimiter: u8) -> usize {
    let ends: usize = text.par_chunks(CHUNK).map(|own| memchr_iter(delimiter, own).count()).sum();
    ends + usize::from(text.last().is_some_and(|&last| last != delimiter))
}

/// [`split`] in chunks of a certain number of bytes, which makes no difference but to the time it
/// takes.
pub fn split_in_chunks<W: Word>(text: &[u8], delimiter: u8, chunk: usize) -> Lines<'_, W> {
    assert!(text.len() as u64 <= W::MAX.into(), "the offsets reach the end of the text");
    // Counting comes first: it is much faster than finding, and tells each chunk where its bounds
    // belong.
    let counts: Vec<usize> =
        text.par_chunks(chunk).map(|own| memchr_iter(delimiter, own).count()).collect();
    let is_open = text.last().is_some_and(|&last| last != delimiter);
    let lines = counts.iter().sum::<usize>() + usize::from(is_open);
    let mut bounds = vec![W::ZERO; lines + 1];

    let mut rest = &mut bounds[1..];
    let mut places = Vec::with_capacity(counts.len());
    for count in counts {
        let (own, others) = mem::take(&mut rest).split_at_mut(count);
        places.push(own);
        rest = others;
    }
    if let [end] = rest {
        *end = W::wrap(text.len() as u64);
    }
    text.par_chunks(chunk).zip(places).enumerate().for_each(|(number, (own, places))| {
        let start = number * chunk;
        for (place, at) in places.iter_mut().zip(memchr_iter(delimiter, own)) {
            *place = W::wrap((start + at + 1) as u64);
        }
    });
    Lines { text, bounds }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_that_were_never_found_make_empty_lines() {
        // As if the second of three delimiters had gone after it was counted.
        let lines = Lines { text: b"ab\ncd ef\n", bounds: vec![0_u32, 3, 9, 0] };
        let found: Vec<&[u8]> = (0..lines.count()).map(|index| lines.get(index)).collect();
        assert_eq!(found, [&b"ab\n"[..], b"cd ef\n", b""]);
    }
}
