//! [`Steps`]: what ensembles, fills and GPUs need of a generator.

use rayon::prelude::*;

use super::rectangle::Rectangle;
use super::tuning;
use bijective_shuffle_core::Seed;

/// The inner side of a [`Generator`](super::Generator). The crate does not export its name, so
/// nobody else can implement it.
///
/// Loops over words must be `#[inline(always)]`, so that they are compiled for each level of
/// `simd`.
pub trait Steps: Sized {
    /// Distinguishes the generator's key stream from those of others. It never changes.
    const NUMBER: u32;

    /// The number of words in a stream's state.
    const STATE: usize;

    /// A stream's generator, from the seed that [`child`](super::generator::child) returns.
    fn from_child(child: Seed, stream: u64) -> Self;

    /// Appends streams with consecutive numbers; the range does not wrap.
    fn extend(child: Seed, first: u64, count: usize, streams: &mut Vec<Self>)
    where
        Self: Send,
    {
        let start = |k: u64| Self::from_child(child, first + k);
        if tuning::is_sequential(count * Self::STATE) {
            streams.extend((0..count as u64).map(start));
        } else {
            streams.par_extend((0..count).into_par_iter().map(|k| start(k as u64)));
        }
    }

    /// Drops the rest of a block that was begun.
    fn start_block(&mut self) {}

    /// Writes the [`STATE`](Self::STATE) words of state at the start of the next block.
    fn save(&self, words: &mut [u32]);

    /// Restores the generator from these words of state.
    fn load(words: &[u32]) -> Self;

    /// Writes the next words, with vectors of `VECTOR` bytes.
    fn next_words<const VECTOR: usize>(&mut self, out: &mut [u32]);

    /// Whether [`skip_words`](Self::skip_words) is fast.
    const SKIPS: bool = false;

    /// Skips the given number of words. Called only if [`SKIPS`](Self::SKIPS) is set.
    fn skip_words(&mut self, _count: u64) {
        unreachable!("a generator that skips says how");
    }

    /// Writes rows of words, with vectors of `VECTOR` bytes. All streams are at the start of a
    /// block, and `out` has one column of [`Generator::BLOCK`](super::Generator::BLOCK) words for
    /// each.
    fn next_rows<const VECTOR: usize>(streams: &mut [Self], out: Rectangle<'_, u32>);
}
