//! Turns words into numbers, many at once.

use super::Generator;
use super::number::{Draw, MOST_NUMBERS, MOST_WORDS};
use super::rows::Rows;
use super::tuning;
use crate::simd::{Kernel, Level};

/// How many groups are drawn side by side.
const LANES: usize = 16;

/// Turns words in a row into numbers in a row. What is left of the last group is dropped.
pub(super) fn in_order<D: Draw>(level: Level, words: &[u32], numbers: &mut [D::Number]) {
    level.run(InOrder::<D> { words, numbers });
}

struct InOrder<'a, D: Draw> {
    words: &'a [u32],
    numbers: &'a mut [D::Number],
}

impl<D: Draw> Kernel for InOrder<'_, D> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        convert::<D>(self.words, self.numbers);
    }
}

#[inline(always)]
fn convert<D: Draw>(words: &[u32], numbers: &mut [D::Number]) {
    let mut of = [[0; LANES]; MOST_WORDS];
    let mut drawn = [[D::Number::default(); LANES]; MOST_NUMBERS];
    let words = words.chunks(D::WORDS * LANES);
    for (words, numbers) in words.zip(numbers.chunks_mut(D::NUMBERS * LANES)) {
        if words.len() == D::WORDS * LANES && numbers.len() == D::NUMBERS * LANES {
            for k in 0..D::WORDS * LANES {
                of[k % D::WORDS][k / D::WORDS] = words[k];
            }
            D::draw(&of, &mut drawn);
            for k in 0..D::NUMBERS * LANES {
                numbers[k] = drawn[k % D::NUMBERS][k / D::NUMBERS];
            }
        } else {
            for (k, &word) in words.iter().enumerate() {
                of[k % D::WORDS][k / D::WORDS] = word;
            }
            D::draw(&of, &mut drawn);
            for (k, number) in numbers.iter_mut().enumerate() {
                *number = drawn[k % D::NUMBERS][k / D::NUMBERS];
            }
        }
    }
}

/// A fill takes a multiple of so many rows: pairs of normal numbers are in two rows, where a block is one word.
pub(super) const fn rows<G: Generator, D: Draw>() -> usize {
    if G::BLOCK == 1 { D::NUMBERS } else { 1 }
}

/// How many rows of words are needed for [`rows`] of numbers.
pub(super) const fn rows_of_words<G: Generator, D: Draw>() -> usize {
    D::WORDS * rows::<G, D>() / D::NUMBERS
}

/// Turns rows of words into rows of numbers.
pub(super) fn run<G: Generator, D: Draw>(level: Level, words: &[u32], out: Rows<'_, D::Number>) {
    if G::BLOCK == 1 {
        level.run(ByColumns::<D> { words, out });
    } else {
        level.run(ByBlocks::<D> { words, block: G::BLOCK, out });
    }
}

/// Rows of words of generators with blocks of one word: each column by itself.
struct ByColumns<'a, D: Draw> {
    words: &'a [u32],
    out: Rows<'a, D::Number>,
}

impl<D: Draw> Kernel for ByColumns<'_, D> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { words, mut out } = self;
        let columns = out.columns();
        let mut of = [[0; LANES]; MOST_WORDS];
        let mut drawn = [[D::Number::default(); LANES]; MOST_NUMBERS];
        let rows = (0..out.rows()).step_by(D::NUMBERS);
        for (words, row) in words.chunks_exact(D::WORDS * columns).zip(rows) {
            let mut column = 0;
            while column + LANES <= columns {
                for k in 0..D::WORDS {
                    of[k].copy_from_slice(&words[k * columns + column..][..LANES]);
                }
                D::draw(&of, &mut drawn);
                for k in 0..D::NUMBERS {
                    out.row(row + k)[column..][..LANES].copy_from_slice(&drawn[k]);
                }
                column += LANES;
            }
            let rest = columns - column;
            if rest > 0 {
                for k in 0..D::WORDS {
                    of[k][..rest].copy_from_slice(&words[k * columns + column..][..rest]);
                }
                D::draw(&of, &mut drawn);
                for k in 0..D::NUMBERS {
                    out.row(row + k)[column..].copy_from_slice(&drawn[k][..rest]);
                }
            }
        }
    }
}

/// Rows of words of generators with longer blocks: each block by itself.
struct ByBlocks<'a, D: Draw> {
    words: &'a [u32],
    block: usize,
    out: Rows<'a, D::Number>,
}

impl<D: Draw> Kernel for ByBlocks<'_, D> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { words, block, mut out } = self;
        let columns = out.columns();
        let per_number = D::WORDS / D::NUMBERS;
        let mut of = [0; tuning::BUFFER];
        let of = &mut of[..per_number * columns];
        for (row, words) in words.chunks_exact(per_number * columns).enumerate() {
            if per_number == 1 {
                convert::<D>(words, out.row(row));
                continue;
            }
            // A stream's next blocks, one after another.
            for (k, words) in words.chunks_exact(columns).enumerate() {
                let blocks = of.chunks_exact_mut(per_number * block);
                for (of, words) in blocks.zip(words.chunks_exact(block)) {
                    of[k * block..][..block].copy_from_slice(words);
                }
            }
            convert::<D>(of, out.row(row));
        }
    }
}
