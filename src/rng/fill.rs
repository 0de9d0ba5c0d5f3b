//! [`Fill`]: numbers of several types for a whole slice.

use rayon::prelude::*;

use super::Generator;
use super::convert;
use super::number::{
    Distribution, ExponentialF32, ExponentialF64, F32, F64, MOST_NUMBERS, NormalF32, NormalF64,
    U32, U64, memory,
};
use super::scale::scale;
use super::tuning::{self, AT_ONCE};
use super::words::NextWords;
use crate::base::simd::SimdLevel;

/// Fills slices with numbers.
///
/// A generator fills with its words in order, and goes on after them. [`Streams`](super::Streams) fill row by row.
///
/// | numbers | of | are |
/// | --- | --- | --- |
/// | `u32` | 1 word | the word |
/// | `u64` | 2 words | the first is the low half |
/// | `f32` | 1 word | `word >> 8` in units of 2^-24: below 1 |
/// | `f64` | 2 words | the `u64 >> 11` in units of 2^-53: below 1 |
/// | normal `f32` | 2 words a pair | mean 0, standard deviation 1, by Box and Muller; up to 6.66 from 0 |
/// | normal `f64` | 4 words a pair | likewise; up to 8.49 from 0 |
/// | exponential `f32` | 1 word | mean 1, by inversion: -ln of a number from 2^-32 to 1, so up to 22.2 |
/// | exponential `f64` | 2 words | likewise; of a number from 2^-52 to 1, so up to 36.04 |
///
/// A logarithm is within 1.2e-7 of itself for `f32`, and 2.3e-16 for `f64`. The number that it is of has
/// 24 bits, or 52: exponential numbers near 0 are multiples of about 2^-24, or 2^-52.
///
/// The numbers are the same bits on every machine whose `f32` and `f64` are rounded as IEEE 754 says (not on 32-bit x86 without
/// SSE2), and on a GPU: they are made by such operations alone, and no library's logarithm or sine. Of the last pair of normal numbers the second is dropped if there is no room for it.
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

    /// Fills with numbers of two words.
    fn fill_u64(&mut self, out: &mut [u64]) {
        self.draw::<U64>(out);
    }

    /// Fills with numbers that are uniform in \[0, 1), of 24 bits.
    fn fill_f32(&mut self, out: &mut [f32]) {
        self.draw::<F32>(out);
    }

    /// Fills with numbers that are uniform in \[0, 1), of 53 bits.
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

    /// Fills with normal numbers of a mean and a standard deviation: those of
    /// [`fill_normal_f32`](Self::fill_normal_f32), each times the deviation, plus the mean, both
    /// rounded. Neither is checked: what is negative, infinite or NaN goes into the numbers as it does
    /// into that sum.
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

    /// Fills with normal numbers of a mean and a standard deviation: those of
    /// [`fill_normal_f64`](Self::fill_normal_f64), each times the deviation, plus the mean, both
    /// rounded. Neither is checked: what is negative, infinite or NaN goes into the numbers as it does
    /// into that sum.
    fn fill_normal_f64_with(&mut self, mean: f64, deviation: f64, out: &mut [f64]) {
        self.fill_normal_f64(out);
        scale(out, mean, deviation);
    }

    /// Fills with exponential numbers of mean 1; those of another mean are as many times as large.
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

    /// Fills with exponential numbers of mean 1; those of another mean are as many times as large.
    fn fill_exponential_f64(&mut self, out: &mut [f64]) {
        self.draw::<ExponentialF64>(out);
    }
}

/// The inner side of [`Fill`].
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

/// How many words give so many numbers.
fn words_of<D: Distribution>(numbers: usize) -> usize {
    numbers.div_ceil(D::NUMBERS) * D::WORDS
}

/// Fills in order, with certain instructions.
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
    out.par_chunks_mut(task).enumerate().for_each(|(number, out)| {
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

/// Fills with whole groups, whose words are drawn where the numbers will be.
fn draw_groups<G: Generator, D: Distribution>(
    level: SimdLevel,
    rng: &mut G,
    numbers: &mut [D::Number],
) {
    level.run(NextWords { rng, out: memory(numbers) });
    convert::in_order::<D>(level, numbers);
}
