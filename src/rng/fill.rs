//! [`Fill`]: numbers of several types for a whole slice.

use rayon::prelude::*;

use super::Generator;
use super::number::{self, Draw, F32, F64, NormalF32, NormalF64, U32, U64};
use super::tuning::{self, AT_ONCE};
use crate::simd::{Kernel, Level};

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
///
/// The numbers are the same bits on every machine and on a GPU: they are made by operations that IEEE 754 rounds
/// exactly, and no library's logarithm or sine. Of the last pair of normal numbers the second is dropped if there is no room for it.
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

pub trait Fill: Draws {
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
}

/// The inner side of [`Fill`].
pub trait Draws {
    /// Fills with numbers of any type.
    fn draw<D: Draw>(&mut self, out: &mut [D::Number]);
}

/// Writes the next words of a generator.
pub(super) fn words<G: Generator>(rng: &mut G, out: &mut [u32]) {
    Level::current().run(InOrder::<G, U32> { rng, out });
}

impl<G: Generator> Fill for G {}

impl<G: Generator> Draws for G {
    fn draw<D: Draw>(&mut self, out: &mut [D::Number]) {
        draw_at::<G, D>(Level::current(), self, out);
    }
}

/// Fills in order, with certain instructions.
pub(super) fn draw_at<G: Generator, D: Draw>(level: Level, rng: &mut G, out: &mut [D::Number]) {
    let words = |numbers: usize| numbers.div_ceil(D::NUMBERS) * D::WORDS;
    if !G::SKIPS || tuning::is_sequential(words(out.len())) {
        return level.run(InOrder::<G, D> { rng, out });
    }
    let task = tuning::TASK / D::WORDS * D::NUMBERS;
    let len = out.len();
    let start = &*rng;
    out.par_chunks_mut(task).enumerate().for_each(|(number, out)| {
        let mut rng = start.clone();
        rng.skip_words(number as u64 * tuning::TASK as u64);
        level.run(InOrder::<G, D> { rng: &mut rng, out });
    });
    rng.skip_words(words(len) as u64);
}

/// A generator's numbers in order.
struct InOrder<'a, G, D: Draw> {
    rng: &'a mut G,
    out: &'a mut [D::Number],
}

impl<G: Generator, D: Draw> InOrder<'_, G, D> {
    #[inline(always)]
    fn fill<const VECTOR: usize>(self) {
        let Self { rng, out } = self;
        if let Some(out) = D::as_words(out) {
            return rng.next_words::<VECTOR>(out);
        }
        let mut words = [0; AT_ONCE];
        for numbers in out.chunks_mut(AT_ONCE / D::WORDS * D::NUMBERS) {
            let words = &mut words[..numbers.len().div_ceil(D::NUMBERS) * D::WORDS];
            rng.next_words::<VECTOR>(words);
            number::in_order::<D>(words, numbers);
        }
    }
}

/// Runs `fill` with vectors of 16, 32 or 64 bytes.
macro_rules! kernel {
    ($type:ident) => {
        impl<G: Generator, D: Draw> Kernel for $type<'_, G, D> {
            type Output = ();

            #[inline(always)]
            fn run(self) {
                self.fill::<16>();
            }

            #[cfg(target_arch = "x86_64")]
            #[inline(always)]
            unsafe fn run_avx2(self) {
                self.fill::<32>();
            }

            #[cfg(target_arch = "x86_64")]
            #[inline(always)]
            unsafe fn run_avx512(self) {
                self.fill::<64>();
            }
        }
    };
}

kernel!(InOrder);

pub(super) use kernel;
