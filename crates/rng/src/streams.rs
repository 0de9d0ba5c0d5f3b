//! [`Streams`]: an ensemble of streams that step together.
//!
//! In the literature, the order in which a parallel program draws depends on its threads. An
//! ensemble fixes the order: blocks of words row by row, one stream after another. The number of
//! streams is part of the result; threads, vector instructions and GPUs are not. It is also the
//! order in which a GPU writes whole cache lines.

use core::fmt;
use core::ops::Range;

use super::fill::{Fill, NumberSource};
use super::number::Distribution;
use super::rectangle::Rectangle;
use super::words::kernel;
use super::{Generator, Multipliers, Mwc, convert, generator, tuning};
use crate::GeneratorError;
use bijective_shuffle_core::Seed;
use bijective_shuffle_engine::check::{try_with_capacity, try_with_capacity_u64};
use bijective_shuffle_engine::parallel;
use bijective_shuffle_engine::simd::{SimdKernel, SimdLevel};

/// Streams of one generator that step together.
///
/// # The order of the numbers
///
/// A *row* is one block of [`BLOCK`](Generator::BLOCK) numbers of each stream, in the order of the
/// streams: with `S` streams, block `t` of stream `i` is at
/// `out[(t * S + i) * BLOCK ..][.. BLOCK]`. The numbers thus depend neither on the threads nor on
/// whether a CPU or a GPU makes them.
///
/// A [fill](Fill) draws whole rows; what does not fit the slice is dropped. Each stream turns its
/// own words into numbers, as [`Fill`] says: if a number takes two words, a row takes two blocks of
/// each stream. Normal numbers come in pairs. If a block is a single word, a stream's pair lies in
/// two rows, so a fill draws an even number of rows.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::rand_core::Rng;
/// use bijective_shuffle::rng::{Fill, Generator, Streams, Xorwow};
///
/// // Three rows of 100 streams.
/// let mut streams = Streams::<Xorwow>::new(42, 0..100)?;
/// let mut words = [0; 300];
/// streams.fill_u32(&mut words);
///
/// let mut stream = Xorwow::new(42, 7);
/// assert_eq!([words[7], words[107], words[207]], [(); 3].map(|()| stream.next_u32()));
/// # Ok::<(), bijective_shuffle::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Streams<G> {
    /// All are at the start of a block.
    streams: Vec<G>,
}

impl<G: Generator> Streams<G> {
    /// The streams of a seed with the given numbers.
    ///
    /// # Errors
    ///
    /// [`GeneratorError::NoStreams`] if the range is empty, and [`GeneratorError::OutOfMemory`].
    pub fn new(seed: impl Into<Seed>, streams: Range<u64>) -> Result<Self, GeneratorError> {
        if streams.is_empty() {
            return Err(GeneratorError::NoStreams);
        }
        let len = streams.end - streams.start;
        let mut generators = try_with_capacity_u64(len)?;
        // The room is for as many, so this is no truncation.
        G::extend(generator::child::<G>(seed), streams.start, len as usize, &mut generators);
        Ok(Self { streams: generators })
    }

    /// An ensemble of the given generators, in this order. If their state advances by whole blocks,
    /// as those of `Philox4x32Rng` and `XorShift1024Weyl` do, the rest of a block that one of them
    /// has begun is dropped.
    ///
    /// # Errors
    ///
    /// [`GeneratorError::NoStreams`] if there are no generators.
    pub fn from_generators(mut generators: Vec<G>) -> Result<Self, GeneratorError> {
        if generators.is_empty() {
            return Err(GeneratorError::NoStreams);
        }
        generators.iter_mut().for_each(G::start_block);
        Ok(Self { streams: generators })
    }

    /// The number of streams, which is at least one.
    #[expect(clippy::len_without_is_empty, reason = "there is at least one stream")]
    pub fn len(&self) -> usize {
        self.streams.len()
    }

    /// The number of numbers in a row: a block of each stream.
    pub fn row_len(&self) -> usize {
        self.streams.len() * G::BLOCK
    }

    /// The streams, in order, each positioned after the last row drawn.
    pub fn generators(&self) -> &[G] {
        &self.streams
    }
}

impl Streams<Mwc> {
    /// Streams `0..count` of a seed, each with its own multiplier: the good ones from the largest
    /// down ([`Mwc::multipliers`]).
    ///
    /// # Errors
    ///
    /// [`GeneratorError::NoStreams`] if `count` is 0, [`GeneratorError::TooFewMultipliers`] if
    /// there are fewer good multipliers, and [`GeneratorError::OutOfMemory`].
    pub fn different(seed: impl Into<Seed>, count: usize) -> Result<Self, GeneratorError> {
        let child = generator::child::<Mwc>(seed);
        let streams = Multipliers::new()
            .zip(0..)
            .map(|(multiplier, stream)| Ok(Mwc::start(child, stream, multiplier)));
        let streams = Self::collect(count, streams)?;
        if streams.len() < count {
            return Err(GeneratorError::TooFewMultipliers {
                streams: count,
                multipliers: streams.len(),
            });
        }
        Ok(streams)
    }
}

impl<G: Generator> Streams<G> {
    /// Collects the first `count` generators of an iterator.
    pub(super) fn collect(
        count: usize,
        generators: impl Iterator<Item = Result<G, GeneratorError>>,
    ) -> Result<Self, GeneratorError> {
        let mut streams = try_with_capacity(count)?;
        for generator in generators.take(count) {
            streams.push(generator?);
        }
        Self::from_generators(streams)
    }
}

impl<G: Generator> fmt::Debug for Streams<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streams")
            .field("len", &self.len())
            .field("first", &self.streams[0])
            .finish_non_exhaustive()
    }
}

impl<G: Generator> Fill for Streams<G> {}

impl<G: Generator> NumberSource for Streams<G> {
    fn draw<D: Distribution>(&mut self, out: &mut [D::Number]) {
        draw_at::<G, D>(SimdLevel::current(), self, out);
    }
}

/// Fills row by row, at a given level of vector instructions.
pub(super) fn draw_at<G: Generator, D: Distribution>(
    level: SimdLevel,
    streams: &mut Streams<G>,
    out: &mut [D::Number],
) {
    let row = streams.row_len();
    let group = row * convert::rows::<G, D>();
    let (whole, rest) = out.split_at_mut(out.len() / group * group);
    draw_rows::<G, D>(level, &mut streams.streams, whole);
    if !rest.is_empty() {
        let mut last = vec![D::Number::default(); group];
        draw_rows::<G, D>(level, &mut streams.streams, &mut last);
        rest.copy_from_slice(&last[..rest.len()]);
    }
}

/// Fills whole groups of rows.
fn draw_rows<G: Generator, D: Distribution>(
    level: SimdLevel,
    streams: &mut [G],
    out: &mut [D::Number],
) {
    let words = out.len() / D::NUMBERS * D::WORDS;
    let mut out = Rectangle::new(out, streams.len() * G::BLOCK);
    if tuning::is_sequential(words) {
        return draw_part::<G, D>(level, streams, out);
    }
    let share = streams.len() / (4 * rayon::current_num_threads());
    let lanes = (tuning::LANES / G::BLOCK).max(1);
    let together = share.clamp(1, tuning::STREAMS).next_multiple_of(lanes);
    let mut tasks = Vec::with_capacity(streams.len().div_ceil(together));
    for streams in streams.chunks_mut(together) {
        let (part, others) = out.split(streams.len() * G::BLOCK);
        out = others;
        tasks.push((streams, part));
    }
    parallel::each_of(tasks, |(streams, part)| draw_part::<G, D>(level, streams, part));
}

/// Fills the rows of some streams, on the calling thread.
fn draw_part<G: Generator, D: Distribution>(
    level: SimdLevel,
    streams: &mut [G],
    mut out: Rectangle<'_, D::Number>,
) {
    if let Some(out) = D::rows_of_words(out.reborrow()) {
        return level.run(NextRows { streams, out });
    }
    let (rows, rows_of_words) = (convert::rows::<G, D>(), convert::rows_of_words::<G, D>());
    let lanes = (tuning::LANES / G::BLOCK).max(1);
    // As many rows of a few streams as the buffer holds, and then as many streams as it holds.
    let groups = tuning::BUFFER / (rows_of_words * G::BLOCK * lanes);
    let groups = groups.min(out.rows() / rows).max(1);
    let together = tuning::BUFFER / (groups * rows_of_words * G::BLOCK) / lanes * lanes;
    let mut words = [0; tuning::BUFFER];
    for streams in streams.chunks_mut(together) {
        let columns = streams.len() * G::BLOCK;
        let (mut part, others) = out.split(columns);
        out = others;
        while part.rows() > 0 {
            let groups = groups.min(part.rows() / rows);
            let (now, later) = part.split_rows(groups * rows);
            part = later;
            let words = &mut words[..groups * rows_of_words * columns];
            level.run(NextRows { streams, out: Rectangle::new(words, columns) });
            convert::run::<G, D>(level, words, now);
        }
    }
}

/// Writes rows of words.
struct NextRows<'a, G> {
    streams: &'a mut [G],
    out: Rectangle<'a, u32>,
}

impl<G: Generator> NextRows<'_, G> {
    #[inline(always)]
    fn fill<const VECTOR: usize>(self) {
        G::next_rows::<VECTOR>(self.streams, self.out);
    }
}

kernel!(NextRows<Generator>);
