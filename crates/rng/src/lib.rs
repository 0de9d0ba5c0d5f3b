//! Random number generators for parallel programs: words and numbers in bulk ([`Fill`]), many
//! streams at once ([`Streams`]), with the same bits on every machine and on a GPU.
//!
//! They are the generators of Manssen, Weigel and Hartmann, *Random number generators for massively
//! parallel simulations on GPU*, European Physical Journal Special Topics 210 (2012), with the
//! quality that they found. Use Philox unless you have a reason for another.
//!
//! | | bits of state | period, words | streams |
//! | --- | --- | --- | --- |
//! | [`Philox4x32Rng`] | none but the position | 2^66 | 2^64 for each key, without overlap |
//! | [`XorShift1024Weyl`] | 1056 for 32 words a step | (2^1024 - 1) 2^37 | 2^142 words apart |
//! | [`LaggedFibonacci1279`] | 1279 words | 2^31 (2^1279 - 1) | random starts |
//! | [`LaggedFibonacci521`] | 521 words | 2^31 (2^521 - 1) | random starts |
//! | [`Xorwow`] | 192 | 2^192 - 2^32 | random starts |
//! | [`Mwc`] | 64, and 32 of the multiplier | 2^63 | random starts, or different multipliers |
//! | [`Lcg64`] | 64 | 2^64 | random starts, or every S-th word |
//! | [`Lcg32`] | 32 | 2^32 | random starts, or every S-th word |
//!
//! [`Philox4x32`] is the function itself, of a counter and a key; the crate draws its keys with it
//! (see [`Seed`](bijective_shuffle_core::Seed)).
//!
//! [`Fill`] draws many numbers at once, into slices. For words one at a time, through `rand_core`,
//! a [`Buffered`] generator is fastest.
//!
//! # Seeds
//!
//! A generator is made from a seed and the number of a stream. The words of its state are those of
//! the seed's child of the domain `Generator`, at the epoch that is the stream's number. There are
//! two exceptions. For `Philox4x32Rng` the child gives the key, and the number is part of the
//! counter. For `XorShift1024Weyl` the child gives stream 0, and stream `s`
//! is `s` jumps from there. So seed, epoch and stream never add up, and no generator shares words
//! with a permutation's keys.
//!
//! Starts are random except where streams can be spaced. Random starts in a small state space may
//! overlap; the generators' documentation says how likely that is.
//!
//! # The same bits
//!
//! Words are made by integer operations and are the same everywhere. Floating-point numbers are the
//! same wherever each operation on `f32` and `f64` is rounded to nearest as IEEE 754 requires: not
//! on 32-bit x86 without SSE2 (`i586`), nor if the program changes the rounding mode. Subnormal
//! numbers do not occur, so it does not matter whether they are flushed to zero.
//!
//! # Examples
//!
//! ```
//! use bijective_shuffle::bijection::VariablePhilox;
//! use bijective_shuffle::prelude::*;
//! use bijective_shuffle::rng::{Fill, Philox4x32Rng, Streams};
//!
//! // A million uniform numbers, on all cores. Any part of them can also be computed alone.
//! let mut numbers = vec![0.0_f32; 1 << 20];
//! Philox4x32Rng::new(42, 0).fill_f32(&mut numbers);
//! let mut rng = Philox4x32Rng::new(42, 0);
//! rng.skip(1000);
//! let mut part = [0.0; 10];
//! rng.fill_f32(&mut part);
//! assert_eq!(part, numbers[1000..1010]);
//!
//! // Normal numbers for 64 walkers, each with its own stream.
//! let mut walkers = Streams::<Philox4x32Rng>::new(42, 0..64)?;
//! let mut steps = vec![0.0; walkers.row_len()];
//! walkers.fill_normal_f64(&mut steps);
//!
//! // Every generator can key permutations.
//! let bijection = VariablePhilox::<24>::from_rng(1000, &mut rng);
//! assert_eq!(bijection.last(), 1023);
//! # Ok::<(), bijective_shuffle::Error>(())
//! ```

mod buffered;
mod convert;
mod error;
mod exponential;
mod fill;
mod generator;
mod lagged_fibonacci;
mod lcg;
mod lockstep;
mod mwc;
mod normal;
#[allow(missing_debug_implementations, reason = "only the project's own packages see it")]
mod number;
mod philox4x32_fill;
mod philox4x32_rng;
mod rectangle;
mod scale;
mod steps;
mod streams;
mod tuning;
mod words;
mod xorshift1024;
mod xorwow;

#[doc(inline)]
pub use bijective_shuffle_core::Philox4x32;
pub use buffered::Buffered;
pub use error::GeneratorError;
pub use fill::Fill;
pub use generator::Generator;
pub use lagged_fibonacci::{LaggedFibonacci, LaggedFibonacci521, LaggedFibonacci1279};
pub use lcg::{Congruential, Lcg32, Lcg64};
pub(crate) use mwc::Multipliers;
pub use mwc::Mwc;
pub use philox4x32_rng::Philox4x32Rng;
pub use streams::Streams;
pub use xorshift1024::XorShift1024Weyl;
pub use xorwow::Xorwow;

use generator::{FirstWords, generator};

/// What the engine on a GPU takes of this package. It promises nothing to others.
#[doc(hidden)]
pub mod engine {
    pub use crate::fill::NumberSource;
    pub use crate::number::{Distribution, F32, F64, NormalF32, NormalF64, U32, U64};
}

#[cfg(test)]
mod tests;
