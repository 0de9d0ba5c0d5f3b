//! [`Fill`]: fills slices with numbers of several types and distributions.
//!
//! Words are drawn where the numbers will be. For all types, a group of words takes exactly the
//! room of the numbers made from it, so there is no buffer between them (docs/results/rng.md).

use super::number::{
    Distribution, ExponentialF32, ExponentialF64, F32, F64, MOST_NUMBERS, NormalF32, NormalF64,
    U32, U64, memory,
};
use super::scale::scale;
use super::tuning::{self, AT_ONCE};
use super::words::NextWords;
use super::{Generator, convert};
use bijective_shuffle_engine::parallel;
use bijective_shuffle_engine::simd::SimdLevel;

/// Fills slices with random numbers.
///
/// A generator uses its words in order, and continues after them. [`Streams`](super::Streams) fill
/// row by row.
///
/// | numbers | words | values |
/// | --- | --- | --- |
/// | `u32` | 1 | the word |
/// | `u64` | 2 | the first word is the low half |
/// | `f32` | 1 | `word >> 8` in units of 2^-24: below 1 |
/// | `f64` | 2 | the `u64 >> 11` in units of 2^-53: below 1 |
/// | normal `f32` | 2 for a pair | mean 0, standard deviation 1, by Box and Muller; at most 6.66 from 0 |
/// | normal `f64` | 4 for a pair | the same; at most 8.49 from 0 |
/// | exponential `f32` | 1 | mean 1, by inversion: -ln of a number from 2^-32 to 1, so at most 22.2 |
/// | exponential `f64` | 2 | the same, of a number from 2^-52 to 1, so at most 36.04 |
///
/// The relative error of a logarithm is at most 1.2e-7 for `f32`, and 2.3e-16 for `f64`. Its
/// argument has 24 bits, or 52: exponential numbers near 0 are multiples of about 2^-24, or 2^-52.
///
/// The numbers have the same bits on every machine whose `f32` and `f64` are rounded as IEEE 754
/// requires (not on 32-bit x86 without SSE2). They are made by such operations alone, without any
/// library's logarithm or sine. A GPU gives the same bits, and has no exponential numbers. If the
/// slice has no room for the second number of the last pair of normal numbers, it is dropped.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::rng::{Fill, Philox4x32Rng};
///
/// let mut uniform = vec![0.0; 100_000];
/// Philox4x32Rng::new(42, 0).fill_f64(&mut uniform);
/// let mean = uniform.iter().sum::<f64>() / 100_000.0;
/// assert!((0.49..0.51).contains(&mean));
/// ```
pub trait Fill: NumberSource {
    /// Fills with words.
    fn fill_u32(&mut self, out: &mut [u32]) {
        self.draw::<U32>(out);
    }

    /// Fills with 64-bit integers, each of two words.
    fn fill_u64(&mut self, out: &mut [u64]) {
        self.draw::<U64>(out);
    }

    /// Fills with numbers that are uniform in \[0, 1), with 24 random bits.
    fn fill_f32(&mut self, out: &mut [f32]) {
        self.draw::<F32>(out);
    }

    /// Fills with numbers that are uniform in \[0, 1), with 53 random bits.
    fn fill_f64(&mut self, out: &mut [f64]) {
        self.draw::<F64>(out);
    }

    /// Fills with normal numbers of mean 0 and standard deviation 1.
    fn fill_normal_f32(&mut self, out: &mut [f32]) {
        self.draw::<NormalF32>(out);
    }

    /// Fills with normal numbers of mean 0 and standard deviation 1.
    fn fill_normal_f64(&mut self, out: &mut [f64]) {
        self.draw::<NormalF64>(out);
    }

    /// Fills with normal numbers of the given mean and standard deviation.
    ///
    /// They are the numbers of [`fill_normal_f32`](Self::fill_normal_f32), each multiplied by the
    /// deviation and added to the mean, with both results rounded. Neither parameter is checked:
    /// negative, infinite and NaN values enter this arithmetic unchanged.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::rng::{Fill, Philox4x32Rng};
    ///
    /// let mut heights = vec![0.0; 100_000];
    /// Philox4x32Rng::new(42, 0).fill_normal_f32_with(178.0, 7.0, &mut heights);
    /// let tall = heights.iter().filter(|&&height| height > 185.0).count();
    /// assert!((15_500..16_300).contains(&tall)); // 15.87 % are a deviation above the mean
    /// ```
    fn fill_normal_f32_with(&mut self, mean: f32, deviation: f32, out: &mut [f32]) {
        self.fill_normal_f32(out);
        scale(out, mean, deviation);
    }

    /// Fills with normal numbers of the given mean and standard deviation.
    ///
    /// They are the numbers of [`fill_normal_f64`](Self::fill_normal_f64), each multiplied by the
    /// deviation and added to the mean, with both results rounded. Neither parameter is checked:
    /// negative, infinite and NaN values enter this arithmetic unchanged.
    fn fill_normal_f64_with(&mut self, mean: f64, deviation: f64, out: &mut [f64]) {
        self.fill_normal_f64(out);
        scale(out, mean, deviation);
    }

    /// Fills with exponential numbers of mean 1. Multiply them by any other mean.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::rng::{Fill, Philox4x32Rng};
    ///
    /// let mut waits = vec![0.0; 100_000];
    /// Philox4x32Rng::new(42, 0).fill_exponential_f32(&mut waits);
    /// let long = waits.iter().filter(|&&wait| wait > 1.0).count();
    /// assert!((36_300..37_300).contains(&long)); // 36.79 % are above the mean
    /// ```
    fn fill_exponential_f32(&mut self, out: &mut [f32]) {
        self.draw::<ExponentialF32>(out);
    }

    /// Fills with exponential numbers of mean 1. Multiply them by any other mean.
    fn fill_exponential_f64(&mut self, out: &mut [f64]) {
        self.draw::<ExponentialF64>(out);
    }
}

/// The inner side of [`Fill`], which seals it.
pub trait NumberSource {
    /// Fills with numbers of any distribution.
    fn draw<D: Distribution>(&mut self, out: &mut [D::Number]);
}

impl<G: Generator> Fill for G {}

impl<G: Generator> NumberSource for G {
    fn draw<D: Distribution>(&mut self, out: &mut [D::Number]) {
        draw_at::<G, D>(SimdLevel::current(), self, out);
    }
}

/// How many words make `numbers` numbers.
fn words_of<D: Distribution>(numbers: usize) -> usize {
    numbers.div_ceil(D::NUMBERS) * D::WORDS
}

/// Fills in order, at a given level of vector instructions.
pub(super) fn draw_at<G: Generator, D: Distribution>(
    level: SimdLevel,
    rng: &mut G,
    out: &mut [D::Number],
) {
    let words = words_of::<D>(out.len());
    if !G::SKIPS || tuning::is_sequential(words) {
        return draw_part::<G, D>(level, rng, out);
    }
    let start = &*rng;
    let task = tuning::TASK / D::WORDS * D::NUMBERS;
    parallel::each_chunk(out, task, |number, out| {
        let mut rng = start.clone();
        rng.skip_words(number as u64 * tuning::TASK as u64);
        draw_part::<G, D>(level, &mut rng, out);
    });
    rng.skip_words(words as u64);
}

/// Fills in order, on the calling thread.
fn draw_part<G: Generator, D: Distribution>(level: SimdLevel, rng: &mut G, out: &mut [D::Number]) {
    let whole = out.len() / D::NUMBERS * D::NUMBERS;
    let (whole, rest) = out.split_at_mut(whole);
    let at_once = if D::IS_WORDS { usize::MAX } else { AT_ONCE / D::WORDS * D::NUMBERS };
    for numbers in whole.chunks_mut(at_once) {
        draw_groups::<G, D>(level, rng, numbers);
    }
    if !rest.is_empty() {
        let mut last = [D::Number::default(); MOST_NUMBERS];
        draw_groups::<G, D>(level, rng, &mut last[..D::NUMBERS]);
        rest.copy_from_slice(&last[..rest.len()]);
    }
}

/// Fills with whole groups. The words are drawn where the numbers will be.
fn draw_groups<G: Generator, D: Distribution>(
    level: SimdLevel,
    rng: &mut G,
    numbers: &mut [D::Number],
) {
    level.run(NextWords { rng, out: memory(numbers) });
    convert::in_order::<D>(level, numbers);
}
