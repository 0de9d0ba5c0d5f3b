//! [`split`]: where the lines of a text are.

use std::mem;

use memchr::memchr_iter;
use rayon::prelude::*;

/// How many bytes a thread searches at a time: some 20 microseconds of work, which is well worth a
/// task.
const CHUNK: usize = 1 << 18;

/// An offset into a text: `u32` takes half the memory of `u64` and reaches up to 4 GiB.
pub trait Offset: Copy + Default + Send + Sync {
    /// The offset of a position; panics if it does not reach so far.
    fn new(position: usize) -> Self;

    /// The position.
    fn position(self) -> usize;
}

impl Offset for u32 {
    #[inline]
    fn new(position: usize) -> Self {
        Self::try_from(position).expect("texts of 4 GiB and more need 64-bit offsets")
    }

    #[inline]
    fn position(self) -> usize {
        self as usize
    }
}

impl Offset for u64 {
    #[inline]
    fn new(position: usize) -> Self {
        position as Self
    }

    #[inline]
    fn position(self) -> usize {
        // It was a `usize`.
        self as usize
    }
}

/// The lines of a text, each with the delimiter that ends it; the last may have none. Joined in
/// order they are the text.
#[derive(Debug)]
pub struct Lines<'a, W> {
    text: &'a [u8],
    /// Where each line starts, and at last where the text ends.
    bounds: Vec<W>,
}

impl<'a, W: Offset> Lines<'a, W> {
    /// How many lines there are; none in an empty text.
    pub fn count(&self) -> usize {
        self.bounds.len() - 1
    }

    /// All of the text.
    pub fn text(&self) -> &'a [u8] {
        self.text
    }

    /// A line, counted from 0. Panics if there is no such line.
    ///
    /// A text that is mapped may lose delimiters to another program between the two passes of
    /// [`split`], which leaves bounds at 0. A line between two such bounds is empty; the program
    /// notices the change in the end.
    #[inline]
    pub fn get(&self, index: usize) -> &'a [u8] {
        let (start, end) = (self.bounds[index].position(), self.bounds[index + 1].position());
        self.text.get(start..end).unwrap_or_default()
    }
}

/// Cuts a text after each delimiter.
///
/// # Panics
///
/// If the text is too long for the offsets.
pub fn split<W: Offset>(text: &[u8], delimiter: u8) -> Lines<'_, W> {
    split_in_chunks(text, delimiter, CHUNK)
}

/// Counts the lines of a text.
pub fn count(text: &[u8], delimiter: u8) -> usize {
    let ends: usize = text.par_chunks(CHUNK).map(|part| memchr_iter(delimiter, part).count()).sum();
    ends + usize::from(text.last().is_some_and(|&last| last != delimiter))
}

/// [`split`] in chunks of a certain number of bytes, which makes no difference but to the time it
/// takes.
pub fn split_in_chunks<W: Offset>(text: &[u8], delimiter: u8, chunk: usize) -> Lines<'_, W> {
    // Counting comes first: it is much faster than finding, and tells each chunk where its bounds
    // belong.
    let counts: Vec<usize> =
        text.par_chunks(chunk).map(|part| memchr_iter(delimiter, part).count()).collect();
    let is_open = text.last().is_some_and(|&last| last != delimiter);
    let lines = counts.iter().sum::<usize>() + usize::from(is_open);
    let mut bounds = vec![W::default(); lines + 1];

    let mut rest = &mut bounds[1..];
    let mut places = Vec::with_capacity(counts.len());
    for count in counts {
        let (own, others) = mem::take(&mut rest).split_at_mut(count);
        places.push(own);
        rest = others;
    }
    if let [end] = rest {
        *end = W::new(text.len());
    }
    text.par_chunks(chunk).zip(places).enumerate().for_each(|(number, (part, places))| {
        let start = number * chunk;
        for (place, at) in places.iter_mut().zip(memchr_iter(delimiter, part)) {
            *place = W::new(start + at + 1);
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
