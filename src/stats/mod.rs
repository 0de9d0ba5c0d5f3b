//! Statistical tests of shuffles: does every permutation come equally often?
//!
//! The tests see slices of indexes and nothing else, so they judge any shuffler. A sample is a
//! permutation `p` of `0..n`, 1 <= `n` <= 2^32, as a `&[u32]`: `p[k]` is the index of the item that
//! comes to place `k`. The hypothesis is always that the samples are independent and that each is
//! uniform among the `n!` permutations.
//!
//! | test | what it sees | time per sample | fewest sensible samples |
//! | --- | --- | --- | --- |
//! | [`Orders`] | everything, at `n` from 2 to 8 | `n` | 5 `n!` |
//! | [`Mmd::pairs`] | clusters of similar orders; samples that depend on each other | `n log n` | 200 |
//! | [`Mmd::identity`] | a wrong number of inversions | `n log n` | 100 |
//! | [`Signs`] | even and odd permutations out of balance | `n` | 20 |
//! | [`Places::new`] | indexes that prefer certain places | `n`, and `n^2` counts | `n` |
//! | [`Places::coarse`] | the same for ranges of indexes and places | `n`, and `b^2` counts for `b` bins | `b` |
//! | [`Displacement`] | items that stay too near to their places, or move too far | `n` | 30 |
//! | [`Successors`] | neighbours that stay neighbours | `n` | 50 |
//! | [`Differences`] | steps from one index to the next, modulo `n`, that come too often | `n`, and `n` counts | 10 |
//! | [`Cycles`] | a wrong number of cycles | `n` | 50 |
//! | [`FixedPoints`] | items that stay in place | `n` | 50 |
//!
//! From the fewest samples on, and from 5 items on, a perfect shuffle was measured to get p-values
//! below 0.05, 0.01 and 0.001 as often as that, but for a factor of 2 at the last. Much smaller
//! p-values take more samples to mean what they say. How many it takes to *find* a fault depends on
//! the fault: where it moves a mean by `s` standard deviations of a single sample, about
//! `20 / s^2`. Which tests find which known faults, after how many samples, is listed in
//! `tests/suite/stats.rs` of the repository.
//!
//! # Use
//!
//! [`run`] draws the samples, in parallel, and passes them to a test; a tuple of tests judges the
//! same samples. Whoever has the samples already can call [`Test::record`] for each.
//!
//! A p-value is the probability that a perfect shuffle gives a statistic at least as extreme. One
//! of 0.01 is nothing unusual where a hundred tests are made. Choose the smallest p-value that is
//! still to pass before looking, and divide it by the number of tests.
//!
//! # Examples
//!
//! ```
//! use bijective_shuffle::stats::{Cycles, FixedPoints, Signs, Test, run};
//!
//! // Sattolo's algorithm, the classic slip in a shuffle: an item is never exchanged with itself.
//! let sattolo = |sample: u64, out: &mut [u32]| {
//!     let mut rng = fastrand::Rng::with_seed(sample);
//!     (0..).zip(&mut *out).for_each(|(index, place)| *place = index);
//!     for k in (1..out.len()).rev() {
//!         out.swap(k, rng.usize(..k));
//!     }
//! };
//! let len = 52;
//! let tests = || (Signs::new(len), Cycles::new(len), FixedPoints::new(len));
//! let (signs, cycles, fixed_points) = run(1000, len, tests, sattolo);
//! assert!(signs.outcome().p_value < 1e-100, "all have the same sign");
//! assert!(cycles.outcome().p_value < 1e-100, "all are a single cycle");
//! assert!(fixed_points.outcome().p_value < 1e-100, "nothing stays in place");
//! ```
//!
//! # Sources
//!
//! [`Orders`] and [`Mmd`] are the tests of Mitchell, Stokes, Frank, Holmes, *Bandwidth-Optimal
//! Random Shuffling for GPUs*, ACM TOPC 9(1), 2022, section 5. The others are classical; each names
//! its source.

mod adjacency;
mod counts;
mod cycles;
mod displacement;
mod driver;
#[cfg(test)]
mod exhaustive;
mod mallows;
mod mmd;
mod orders;
mod places;
mod sign;
mod tails;
mod tuples;

pub use adjacency::{Differences, Successors};
pub use cycles::{Cycles, FixedPoints};
pub use displacement::{Displacement, Distance};
pub use driver::run;
pub use mallows::{DiscordantPairs, Mallows};
pub use mmd::{Design, Mmd};
pub use orders::Orders;
pub use places::Places;
pub use sign::Signs;

/// What a test found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// The test's statistic; what it is, and in which unit, is said at the test.
    pub statistic: f64,
    /// The probability, from 0 to 1, that uniform permutations give a statistic at least as
    /// extreme. Values below about 1e-308 are given as 0.
    pub p_value: f64,
    /// The number of samples that the statistic is made of.
    pub samples: u64,
}

impl Outcome {
    /// The outcome where nothing can be said: of no samples, or of too few.
    const fn silent(samples: u64) -> Self {
        Self { statistic: 0.0, p_value: 1.0, samples }
    }
}

/// A statistic of a stream of permutations, all of the same length.
///
/// The results of a test do not depend on the order of the samples, unless it says so.
///
/// # Examples
///
/// A test of one's own, that looks where item 0 goes:
///
/// ```
/// use bijective_shuffle::stats::{Outcome, Test};
///
/// #[derive(Default)]
/// struct StaysFirst {
///     hits: u64,
///     samples: u64,
///     expected: f64,
/// }
///
/// impl Test for StaysFirst {
///     fn record(&mut self, permutation: &[u32]) {
///         self.hits += u64::from(permutation[0] == 0);
///         self.samples += 1;
///         self.expected += 1.0 / permutation.len() as f64;
///     }
///     fn merge(&mut self, other: Self) {
///         self.hits += other.hits;
///         self.samples += other.samples;
///         self.expected += other.expected;
///     }
///     fn outcome(&self) -> Outcome {
///         // Chebyshev's inequality, for want of something better.
///         let off = self.hits as f64 - self.expected;
///         let p_value = (self.expected / (off * off)).min(1.0);
///         Outcome { statistic: off, p_value, samples: self.samples }
///     }
/// }
///
/// let mut test = StaysFirst::default();
/// (0..500).for_each(|_| test.record(&[0, 1, 2, 3, 4]));
/// assert!(test.outcome().p_value < 0.001);
/// ```
pub trait Test {
    /// Takes a sample.
    ///
    /// # Panics
    ///
    /// If its length is not the test's. It should be a permutation of the indexes below its length.
    /// That is not checked: if it is not, the call may panic, and else the outcome means nothing.
    fn record(&mut self, permutation: &[u32]);

    /// Takes the samples of another test of the same kind, length and parameters as if they came
    /// after the own.
    ///
    /// # Panics
    ///
    /// If the lengths or parameters differ.
    fn merge(&mut self, other: Self)
    where
        Self: Sized;

    /// What the samples so far say. Without samples the statistic is 0 and the p-value 1.
    fn outcome(&self) -> Outcome;
}

/// Refuses lengths at which there is one permutation only, and those whose indexes do not fit.
#[track_caller]
fn check_len(len: usize) {
    assert!(len >= 2, "a test needs at least 2 items: fewer have one order only");
    assert!(len as u64 <= 1 << 32, "indexes are held in 32 bits");
}

/// Refuses a sample of another length than the test's.
#[track_caller]
fn check_sample(permutation: &[u32], len: usize) {
    assert_eq!(permutation.len(), len, "the sample is not as long as the test was made for");
}
