//! [`Cycles`] and [`FixedPoints`]: tests of permutations as maps.

use super::counts::{
    Counts, Probabilities, VALUES, inverse_factorial, no_fixed_point, probabilities,
};
use super::{Outcome, Test, check_len, check_sample};

/// Counts the cycles of permutations. It stores one bit for each item.
#[derive(Clone, Debug, Default)]
pub(super) struct CycleCounter {
    seen: Vec<u64>,
}

impl CycleCounter {
    /// The number of cycles. For a slice that is not a permutation, it returns a meaningless number
    /// or panics.
    pub(super) fn count(&mut self, permutation: &[u32]) -> u64 {
        self.seen.clear();
        self.seen.resize(permutation.len().div_ceil(64), 0);
        let mut cycles = 0;
        for start in 0..permutation.len() {
            let mut at = start;
            while self.mark(at) {
                at = permutation[at] as usize;
                cycles += u64::from(at == start);
            }
        }
        cycles
    }

    /// Marks an item as seen, and returns whether it was new.
    #[inline]
    fn mark(&mut self, item: usize) -> bool {
        let (word, bit) = (&mut self.seen[item / 64], 1_u64 << (item % 64));
        let new = *word & bit == 0;
        *word |= bit;
        new
    }
}

/// The test of the number of cycles, from 1 to `n`.
///
/// [`outcome`](Test::outcome) compares how often each number occurred with its exact distribution,
/// by Pearson's statistic and its upper tail. It pools neighbouring numbers until 5 samples are
/// expected. [`mean`](Self::mean) tests the mean. The first detects more kinds of faults (if all
/// permutations are even, the numbers of cycles have one parity and almost the right mean). The
/// second is more sensitive to a wrong mean.
///
/// The number of cycles is distributed as the sum, over `j` from 1 to `n`, of independent bits that
/// are 1 with probability `1 / j`: when item `j` is added, it either forms a cycle of its own or
/// enters an existing cycle at one of `j - 1` places (Feller, *An Introduction to Probability
/// Theory and Its Applications*, volume 1, X.6). So the mean is `H = 1 + 1/2 + .. + 1/n`, the
/// variance is `H - (1 + 1/4 + .. + 1/n^2)`, and the probabilities are the unsigned Stirling
/// numbers of the first kind over `n!`.
///
/// # Examples
///
/// ```
/// use bijective_shuffle_stats::{Cycles, Test};
///
/// let mut cycles = Cycles::new(5);
/// (0..100).for_each(|_| cycles.record(&[1, 2, 3, 4, 0]));
/// assert!(cycles.outcome().p_value < 1e-50, "all in one cycle");
/// assert!(cycles.mean().statistic < -10.0, "too few cycles");
/// ```
#[derive(Clone, Debug)]
pub struct Cycles {
    len: usize,
    counter: CycleCounter,
    counts: Counts,
}

impl Cycles {
    /// A test for permutations of `len` items.
    ///
    /// # Panics
    ///
    /// If `len` is below 2 or above `2^32`.
    pub fn new(len: usize) -> Self {
        check_len(len);
        Self { len, counter: CycleCounter::default(), counts: Counts::new() }
    }

    /// Compares the mean number with its expectation. The statistic is in standard deviations. The
    /// p-value is two-sided and from the normal distribution, for which 50 samples are enough.
    pub fn mean(&self) -> Outcome {
        let (mean, squares) = harmonic(self.len);
        self.counts.mean(mean, mean - squares)
    }

    /// The probabilities of the numbers of cycles, computed by adding one item after another. The
    /// number never decreases, so 63 and more can share a cell. Time `64 n`.
    fn probabilities(&self) -> Probabilities {
        let mut p = [0.0; VALUES];
        p[1] = 1.0;
        for items in 2..=self.len {
            let one_more = 1.0 / items as f64;
            p[VALUES - 1] += p[VALUES - 2] * one_more;
            for cycles in (1..VALUES - 1).rev() {
                p[cycles] += (p[cycles - 1] - p[cycles]) * one_more;
            }
        }
        p
    }
}

/// Euler's constant, which the standard library has only from Rust 1.94 on.
const EULER_GAMMA: f64 = 0.577_215_664_901_532_9;

/// The sums of `1 / j` and of `1 / j^2` for `j` from 1 to `n`. From 1000 on they come from
/// asymptotic series, which are then right to the last digits.
fn harmonic(n: usize) -> (f64, f64) {
    if n < 1000 {
        return (1..=n)
            .rev()
            .map(|j| 1.0 / j as f64)
            .fold((0.0, 0.0), |(h, s), x| (h + x, s + x * x));
    }
    let x = 1.0 / n as f64;
    let first = (n as f64).ln() + EULER_GAMMA + x / 2.0 - x * x / 12.0;
    let second = core::f64::consts::PI.powi(2) / 6.0 - x + x * x / 2.0 - x.powi(3) / 6.0;
    (first, second)
}

impl Test for Cycles {
    fn record(&mut self, permutation: &[u32]) {
        check_sample(permutation, self.len);
        self.counts.record(self.counter.count(permutation));
    }

    fn merge(&mut self, other: Self) {
        assert_eq!(self.len, other.len, "tests of different lengths");
        self.counts.merge(&other.counts);
    }

    fn outcome(&self) -> Outcome {
        self.counts.distribution(&self.probabilities())
    }
}

/// The test of the number of fixed points: indexes that are in their own place.
///
/// [`outcome`](Test::outcome) compares how often each number occurred with its exact distribution,
/// by Pearson's statistic and its upper tail. It pools neighbouring numbers until 5 samples are
/// expected. [`mean`](Self::mean) tests the mean.
///
/// The probability of `k` fixed points is `d(n - k) / k!`, where
/// `d(m) = 1 - 1/1! + 1/2! - .. +- 1/m!` is the probability of no fixed point among `m` items:
/// Montmort's matching problem (Feller, volume 1, IV.4). Mean and variance are 1.
///
/// # Examples
///
/// ```
/// use bijective_shuffle_stats::{FixedPoints, Test};
///
/// let mut fixed = FixedPoints::new(5);
/// (0..100).for_each(|_| fixed.record(&[1, 2, 3, 4, 0]));
/// assert!(fixed.outcome().p_value < 1e-20);
/// assert_eq!(fixed.mean().statistic, -10.0);
/// ```
#[derive(Clone, Debug)]
pub struct FixedPoints {
    len: usize,
    counts: Counts,
}

impl FixedPoints {
    /// A test for permutations of `len` items.
    ///
    /// # Panics
    ///
    /// If `len` is below 2 or above `2^32`.
    pub fn new(len: usize) -> Self {
        check_len(len);
        Self { len, counts: Counts::new() }
    }

    /// Compares the mean number with its expectation. The statistic is in standard deviations. The
    /// p-value is two-sided and from the normal distribution, for which 50 samples are enough.
    pub fn mean(&self) -> Outcome {
        self.counts.mean(1.0, 1.0)
    }

    fn probabilities(&self) -> Probabilities {
        probabilities(self.len, |k| no_fixed_point(self.len - k) * inverse_factorial(k))
    }
}

impl Test for FixedPoints {
    fn record(&mut self, permutation: &[u32]) {
        check_sample(permutation, self.len);
        let fixed = (0_u32..).zip(permutation).filter(|(place, index)| place == *index).count();
        self.counts.record(fixed as u64);
    }

    fn merge(&mut self, other: Self) {
        assert_eq!(self.len, other.len, "tests of different lengths");
        self.counts.merge(&other.counts);
    }

    fn outcome(&self) -> Outcome {
        self.counts.distribution(&self.probabilities())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exhaustive::{distribution, moments};

    fn assert_close(actual: &[f64], expected: &[f64]) {
        for (k, (a, e)) in actual.iter().zip(expected).enumerate() {
            assert!((a - e).abs() < 1e-14, "value {k}: {a} instead of {e}");
        }
    }

    #[test]
    fn the_distributions_are_those_of_all_permutations() {
        for len in 2..=7 {
            let count = |p: &[u32]| CycleCounter::default().count(p);
            let exact = distribution(len, count);
            assert_close(&Cycles::new(len).probabilities(), &exact);
            let (mean, squares) = harmonic(len);
            assert_close(&[mean, mean - squares], &moments(len, |p| count(p) as f64));

            let count =
                |p: &[u32]| p.iter().enumerate().filter(|(k, x)| *k == **x as usize).count() as u64;
            assert_close(&FixedPoints::new(len).probabilities(), &distribution(len, count));
            assert_close(&[1.0, 1.0], &moments(len, |p| count(p) as f64));
        }
    }

    #[test]
    fn probabilities_add_up() {
        for len in [2, 3, 63, 64, 65, 1000, 100_000] {
            for p in [Cycles::new(len).probabilities(), FixedPoints::new(len).probabilities()] {
                assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12, "length {len}");
            }
            let p = Cycles::new(len).probabilities();
            let mean: f64 = p.iter().zip(0..).map(|(p, k)| p * f64::from(k)).sum();
            assert!((mean - harmonic(len).0).abs() < 1e-11, "length {len}");
        }
    }

    #[test]
    fn the_series_meets_the_sum() {
        let sum = |n: usize| {
            (1..=n)
                .rev()
                .fold((0.0, 0.0), |(h, s), j| (h + 1.0 / j as f64, s + 1.0 / (j as f64).powi(2)))
        };
        for n in [999, 1000, 1001, 12345] {
            assert_close(&[harmonic(n).0, harmonic(n).1], &[sum(n).0, sum(n).1]);
        }
    }

    #[test]
    fn counting_ends_where_there_is_no_permutation() {
        CycleCounter::default().count(&[1, 2, 1, 0]);
    }
}
