//! [`Steps`]: what the ensembles, the fills and the GPU ask of a generator.

use rayon::prelude::*;

use super::rectangle::Rectangle;
use super::tuning;
use crate::seed::Seed;

/// The inner side of a [`Generator`](super::Generator). It is named nowhere outside, so that nobody else can implement it.
///
/// Loops over words are `#[inline(always)]`, to be compiled for each level of `simd`.
pub trait Steps: Sized {
    /// Tells the generator's key stream from others'. For ever the same.
    const NUMBER: u32;

    /// How many words of state a stream has.
    const STATE: usize;

    /// The generator of a stream, of the seed that [`child`](super::generator::child) gives.
    fn from_child(child: Seed, stream: u64) -> Self;

    /// Streams with consecutive numbers, of a range that does not wrap.
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

    /// Drops what is left of a block that was begun.
    fn start_block(&mut self) {}

    /// Writes the [`STATE`](Self::STATE) words of state at the start of the next block.
    fn save(&self, words: &mut [u32]);

    /// The generator with these words of state.
    fn load(words: &[u32]) -> Self;

    /// Writes the next words, with vectors of so many bytes.
    fn next_words<const VECTOR: usize>(&mut self, out: &mut [u32]);

    /// Whether [`skip_words`](Self::skip_words) is quick.
    const SKIPS: bool = false;

    /// Leaves out as many words. Only called if [`SKIPS`](Self::SKIPS).
    fn skip_words(&mut self, _count: u64) {
        unreachable!("a generator that skips says how");
    }

    /// Writes rows of words of streams that are at the start of a block, with vectors of so many bytes: `out` has one column of
    /// [`Generator::BLOCK`](super::Generator::BLOCK) words a stream.
    fn next_rows<const VECTOR: usize>(streams: &mut [Self], out: Rectangle<'_, u32>);
}
