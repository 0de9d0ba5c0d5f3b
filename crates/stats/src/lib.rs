//! Statistical tests of shuffles: is every permutation equally likely?
//!
//! The tests see only slices of indexes, so they can judge any shuffler. A sample is a permutation
//! `p` of `0..n`, 1 <= `n` <= 2^32, as a `&[u32]`: `p[k]` is the index of the item that moves to
//! place `k`. The hypothesis is always that the samples are independent and that each is uniform
//! among the `n!` permutations.
//!
//! | test | what it detects | time per sample | fewest sensible samples |
//! | --- | --- | --- | --- |
//! | [`Orders`] | every fault, for `n` from 2 to 8 | `n` | 5 `n!` |
//! | [`Mmd::pairs`] | clusters of similar orders; samples that depend on each other | `n log n` | 200 |
//! | [`Mmd::identity`] | a wrong number of inversions | `n log n` | 100 |
//! | [`Signs`] | an imbalance of even and odd permutations | `n` | 20 |
//! | [`Places::new`] | indexes that prefer certain places | `n`, and `n^2` counts | `n` |
//! | [`Places::coarse`] | the same for ranges of indexes and places | `n`, and `b^2` counts for `b` bins | `b` |
//! | [`Displacement`] | items that stay too near to their places, or move too far | `n` | 30 |
//! | [`Successors`] | neighbours that stay neighbours | `n` | 50 |
//! | [`Differences`] | steps from one index to the next, modulo `n`, that occur too often | `n`, and `n` counts | 10 |
//! | [`Cycles`] | a wrong number of cycles | `n` | 50 |
//! | [`FixedPoints`] | items that stay in place | `n` | 50 |
//!
//! With at least the fewest samples, and at least 5 items, a perfect shuffle was measured to get
//! p-values below 0.05, 0.01 and 0.001 with those frequencies, within a factor of 2 for the last.
//! Much smaller p-values need more samples to be accurate. How many samples it takes to *detect* a
//! fault depends on the fault: about `20 / s^2` if it shifts a mean by `s` standard deviations of a
//! single sample. `tests/suite/stats.rs` of the repository lists which tests detect which known
//! faults, and after how many samples.
//!
//! # Use
//!
//! [`run`] draws the samples, in parallel, and passes them to a test; a tuple of tests judges the
//! same samples. If you already have the samples, call [`Test::record`] for each.
//!
//! A p-value is the probability that a perfect shuffle gives a statistic at least as extreme. A
//! p-value of 0.01 is nothing unusual among a hundred tests. Before looking at the results, choose
//! the smallest p-value that should still pass, and divide it by the number of tests.
//!
//! # Examples
//!
//! ```
//! use bijective_shuffle_stats::{Cycles, FixedPoints, Signs, Test, run};
//!
//! // Sattolo's algorithm, the classic mistake in a shuffle: no item is exchanged with itself.
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
pub use mmd::Mmd;
pub use orders::Orders;
pub use places::Places;
pub use sign::Signs;

/// The result of a test.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// The test's statistic; the test documents its meaning and unit.
    pub statistic: f64,
    /// The probability, from 0 to 1, that uniform permutations give a statistic at least as
    /// extreme. Values below about 1e-308 are reported as 0.
    pub p_value: f64,
    /// The number of samples in the statistic.
    pub samples: u64,
}

impl Outcome {
    /// The result of a test that found this statistic, with this p-value, in this many samples.
    pub const fn new(statistic: f64, p_value: f64, samples: u64) -> Self {
        Self { statistic, p_value, samples }
    }

    /// The outcome of no samples, or of too few to say anything.
    const fn silent(samples: u64) -> Self {
        Self { statistic: 0.0, p_value: 1.0, samples }
    }
}

/// A statistic of a stream of permutations, all of the same length.
///
/// Unless a test says otherwise, its results do not depend on the order of the samples.
///
/// # Examples
///
/// A custom test, which looks where item 0 goes:
///
/// ```
/// use bijective_shuffle_stats::{Outcome, Test};
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
///         Outcome::new(off, p_value, self.samples)
///     }
/// }
///
/// let mut test = StaysFirst::default();
/// (0..500).for_each(|_| test.record(&[0, 1, 2, 3, 4]));
/// assert!(test.outcome().p_value < 0.001);
/// ```
pub trait Test {
    /// Adds a sample.
    ///
    /// # Panics
    ///
    /// If its length is not the test's. The sample should be a permutation of the indexes below its
    /// length. That is not checked: otherwise the call may panic, or the outcome is meaningless.
    fn record(&mut self, permutation: &[u32]);

    /// Adds the samples of another test of the same kind, length and parameters, as if they came
    /// after this test's own.
    ///
    /// # Panics
    ///
    /// If the lengths or parameters differ.
    fn merge(&mut self, other: Self)
    where
        Self: Sized;

    /// The result of the samples so far. Without samples the statistic is 0 and the p-value 1.
    fn outcome(&self) -> Outcome;
}

/// Rejects lengths that have only one permutation, and those whose indexes do not fit.
#[track_caller]
fn check_len(len: usize) {
    assert!(len >= 2, "a test needs at least 2 items: fewer have one order only");
    assert!(len as u64 <= 1 << 32, "indexes are held in 32 bits");
}

/// This many zeros; `None` is a number that no memory can hold.
///
/// # Panics
///
/// If there is no memory for them.
#[track_caller]
fn zeros<T: Clone + Default>(len: Option<usize>) -> Vec<T> {
    let mut zeros = Vec::new();
    let len = len.filter(|&len| zeros.try_reserve_exact(len).is_ok());
    zeros.resize(len.expect("there is memory for the numbers that are counted"), T::default());
    zeros
}

/// Rejects a sample whose length is not the test's.
#[track_caller]
fn check_sample(permutation: &[u32], len: usize) {
    assert_eq!(permutation.len(), len, "the sample is not as long as the test was made for");
}
