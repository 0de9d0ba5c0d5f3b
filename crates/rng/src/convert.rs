//! Turns words into numbers, many at once.

use super::Generator;
use super::number::{Distribution, MOST_NUMBERS, MOST_WORDS, memory};
use super::rectangle::Rectangle;
use super::tuning::GROUPS;
use bijective_shuffle_engine::simd::{SimdKernel, SimdLevel};

/// Turns words that lie in the memory of numbers into those numbers, in whole groups.
pub(super) fn in_order<D: Distribution>(level: SimdLevel, numbers: &mut [D::Number]) {
    level.run(InOrder::<D>(numbers));
}

struct InOrder<'a, D: Distribution>(&'a mut [D::Number]);

impl<D: Distribution> SimdKernel for InOrder<'_, D> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        D::convert(self.0);
    }
}

/// A fill takes a multiple of this many rows. With blocks of one word, a pair of normal numbers is
/// in two rows.
pub(super) const fn rows<G: Generator, D: Distribution>() -> usize {
    if G::BLOCK == 1 { D::NUMBERS } else { 1 }
}

/// How many rows of words make [`rows`] rows of numbers.
pub(super) const fn rows_of_words<G: Generator, D: Distribution>() -> usize {
    D::WORDS * rows::<G, D>() / D::NUMBERS
}

/// Turns rows of words into rows of numbers.
pub(super) fn run<G: Generator, D: Distribution>(
    level: SimdLevel,
    words: &[u32],
    out: Rectangle<'_, D::Number>,
) {
    if G::BLOCK == 1 {
        level.run(ByColumns::<D> { words, out });
    } else {
        level.run(ByBlocks::<D> { words, block: G::BLOCK, out });
    }
}

/// Converts rows of words column by column, for generators with blocks of one word.
struct ByColumns<'a, D: Distribution> {
    words: &'a [u32],
    out: Rectangle<'a, D::Number>,
}

impl<D: Distribution> SimdKernel for ByColumns<'_, D> {
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

/// Converts rows of words block by block, for generators with longer blocks.
struct ByBlocks<'a, D: Distribution> {
    words: &'a [u32],
    block: usize,
    out: Rectangle<'a, D::Number>,
}

impl<D: Distribution> SimdKernel for ByBlocks<'_, D> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { words, block, mut out } = self;
        let columns = out.columns();
        let per_number = D::WORDS / D::NUMBERS;
        for (row, words) in words.chunks_exact(per_number * columns).enumerate() {
            let numbers = out.row(row);
            let of = memory(numbers);
            // The next blocks of a stream, one after another.
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
