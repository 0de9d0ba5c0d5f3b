//! Turns words into numbers, many at once.

use super::Generator;
use super::number::{Draw, MOST_NUMBERS, MOST_WORDS, memory};
use super::rows::Rows;
use super::tuning::GROUPS;
use crate::base::simd::{SimdKernel, SimdLevel};

/// Turns words in the memory of numbers into the numbers, whole groups of them.
pub(super) fn in_order<D: Draw>(level: SimdLevel, numbers: &mut [D::Number]) {
    level.run(InOrder::<D>(numbers));
}

struct InOrder<'a, D: Draw>(&'a mut [D::Number]);

impl<D: Draw> SimdKernel for InOrder<'_, D> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        D::convert(self.0);
    }
}

/// [`Draw::convert`] by [`Draw::draw`], so many groups side by side.
#[inline(always)]
pub(super) fn by_groups<const LANES: usize, D: Draw>(numbers: &mut [D::Number]) {
    let mut chunks = numbers.chunks_exact_mut(D::NUMBERS * LANES);
    for numbers in &mut chunks {
        groups::<LANES, D>(numbers, LANES);
    }
    let rest = chunks.into_remainder();
    if !rest.is_empty() {
        groups::<LANES, D>(rest, rest.len() / D::NUMBERS);
    }
}

/// Up to `LANES` groups.
#[inline(always)]
fn groups<const LANES: usize, D: Draw>(numbers: &mut [D::Number], count: usize) {
    const { assert!(D::WORDS * size_of::<u32>() == D::NUMBERS * size_of::<D::Number>()) };
    let mut of = [[0; LANES]; MOST_WORDS];
    let words = &memory(numbers)[..count * D::WORDS];
    for (k, &word) in words.iter().enumerate() {
        of[k % D::WORDS][k / D::WORDS] = word;
    }
    let mut drawn = [[D::Number::default(); LANES]; MOST_NUMBERS];
    D::draw(&of, &mut drawn);
    for (k, number) in numbers[..count * D::NUMBERS].iter_mut().enumerate() {
        *number = drawn[k % D::NUMBERS][k / D::NUMBERS];
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
pub(super) fn run<G: Generator, D: Draw>(
    level: SimdLevel,
    words: &[u32],
    out: Rows<'_, D::Number>,
) {
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

impl<D: Draw> SimdKernel for ByColumns<'_, D> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { words, mut out } = self;
        let columns = out.columns();
        let mut of = [[0; GROUPS]; MOST_WORDS];
        let mut drawn = [[D::Number::default(); GROUPS]; MOST_NUMBERS];
        let rows = (0..out.rows()).step_by(D::NUMBERS);
        for (words, row) in words.chunks_exact(D::WORDS * columns).zip(rows) {
            let mut column = 0;
            while column + GROUPS <= columns {
                for (of, words) in of.iter_mut().zip(words.chunks_exact(columns)) {
                    of.copy_from_slice(&words[column..][..GROUPS]);
                }
                D::draw(&of, &mut drawn);
                for (k, drawn) in drawn[..D::NUMBERS].iter().enumerate() {
                    out.row(row + k)[column..][..GROUPS].copy_from_slice(drawn);
                }
                column += GROUPS;
            }
            let rest = columns - column;
            if rest > 0 {
                for (of, words) in of.iter_mut().zip(words.chunks_exact(columns)) {
                    of[..rest].copy_from_slice(&words[column..]);
                }
                D::draw(&of, &mut drawn);
                for (k, drawn) in drawn[..D::NUMBERS].iter().enumerate() {
                    out.row(row + k)[column..].copy_from_slice(&drawn[..rest]);
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

impl<D: Draw> SimdKernel for ByBlocks<'_, D> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { words, block, mut out } = self;
        let columns = out.columns();
        let per_number = D::WORDS / D::NUMBERS;
        for (row, words) in words.chunks_exact(per_number * columns).enumerate() {
            let numbers = out.row(row);
            let of = memory(numbers);
            // A stream's next blocks, one after another.
            for (k, words) in words.chunks_exact(columns).enumerate() {
                let blocks = of.chunks_exact_mut(per_number * block);
                for (of, words) in blocks.zip(words.chunks_exact(block)) {
                    of[k * block..][..block].copy_from_slice(words);
                }
            }
            D::convert(numbers);
        }
    }
}
