//! [`Successors`] and [`Differences`]: tests of which index follows which.

use super::counts::{Counts, Probabilities, inverse_factorial, no_fixed_point, probabilities};
use super::tails::chi_squared;
use super::{Outcome, Test, check_len, check_sample, zeros};

/// The test of the number of successors: places at which the next index is greater by 1,
/// `p[i + 1] = p[i] + 1`.
///
/// [`outcome`](Test::outcome) compares how often each number occurred with its exact distribution,
/// by Pearson's statistic and its upper tail. It pools neighbouring numbers until 5 samples are
/// expected. [`mean`](Self::mean) tests the mean.
///
/// The number of permutations with `k` successors is `C(n - 1, k) (D(n - k) + D(n - k - 1))`, where
/// `D(m)` is the number of permutations of `m` items without a fixed point (Tanny, *Permutations
/// and successions*, Journal of Combinatorial Theory A 21, 1976). The mean is `(n - 1) / n` and the
/// variance `(n^2 - n - 1) / n^2`, close to those of a Poisson variable of mean 1.
///
/// # Examples
///
/// ```
/// use bijective_shuffle_stats::{Successors, Test};
///
/// let mut successors = Successors::new(5);
/// (0..100).for_each(|_| successors.record(&[3, 4, 0, 1, 2]));
/// assert!(successors.outcome().p_value < 1e-50);
/// assert!(successors.mean().statistic > 10.0);
/// ```
#[derive(Clone, Debug)]
pub struct Successors {
    len: usize,
    counts: Counts,
}

impl Successors {
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
        let n = self.len as f64;
        self.counts.mean((n - 1.0) / n, (n * n - n - 1.0) / (n * n))
    }

    fn probabilities(&self) -> Probabilities {
        let n = self.len;
        probabilities(n - 1, |k| {
            // D(m) is m! times the probability of no fixed point; the factorials cancel.
            let rest = n - k;
            let ways = rest as f64 * no_fixed_point(rest) + no_fixed_point(rest - 1);
            ways / n as f64 * inverse_factorial(k)
        })
    }
}

impl Test for Successors {
    fn record(&mut self, permutation: &[u32]) {
        check_sample(permutation, self.len);
        let follow = |pair: &&[u32]| pair[1].wrapping_sub(pair[0]) == 1;
        self.counts.record(permutation.windows(2).filter(follow).count() as u64);
    }

    fn merge(&mut self, other: Self) {
        assert_eq!(self.len, other.len, "tests of different lengths");
        self.counts.merge(&other.counts);
    }

    fn outcome(&self) -> Outcome {
        self.counts.distribution(&self.probabilities())
    }
}

/// The test of the differences `p[i + 1] - p[i]` modulo `n`, which should all occur equally often.
///
/// It stores `n` counts of 8 bytes. The statistic is Pearson's with different weights, derived
/// below. The p-value is its upper tail, from the chi-squared distribution with `n - 2` degrees of
/// freedom. 10 samples are enough.
///
/// # Distribution
///
/// For one uniform permutation, let `N(d)` be the number of places with the difference `d`, for `d`
/// from 1 to `n - 1`. Its expectation is 1. For the covariances, take two places. Either they are
/// adjacent, and then `d` and `e` can follow each other unless `d + e = 0`; or they are not, and
/// then the four indexes have to be different. Counting the ways gives, with `m = n - 1`,
///
/// ```text
/// Cov(N(d), N(e)) = (1 + 1/m) [d = e] - 1/m - 1/m [d + e = 0 mod n]
/// ```
///
/// This matrix maps vectors with equal values at `d` and `n - d` to such vectors, and vectors with
/// opposite values there to such vectors. It multiplies the opposite ones by
/// `1 + 2/m = (n + 1) / (n - 1)`, and the equal ones by 1, except that it maps the constant vector
/// to 0. So for `N` samples with total counts `O(d)`, split `O(d) - N` into the opposite part
/// `a(d) = (O(d) - O(n - d)) / 2` and the rest `s(d)`. The sum of
/// `s(d)^2 + a(d)^2 (n - 1) / (n + 1)` over `d`, divided by `N`, is then the squared length of a
/// vector whose covariance is a projection to `n - 2` dimensions. Its mean is exactly `n - 2`, and
/// its distribution tends to the chi-squared one.
///
/// # Examples
///
/// ```
/// use bijective_shuffle_stats::{Differences, Test};
///
/// let mut differences = Differences::new(5);
/// (0..10).for_each(|_| differences.record(&[0, 2, 4, 1, 3]));
/// assert_eq!(differences.counts(), [0, 40, 0, 0]);
/// assert!(differences.outcome().p_value < 1e-15);
/// ```
#[derive(Clone, Debug)]
pub struct Differences {
    /// How often each difference occurred, from 0; the first count stays 0.
    counts: Vec<u64>,
    samples: u64,
}

impl Differences {
    /// A test for permutations of `len` items.
    ///
    /// # Panics
    ///
    /// If `len` is below 3, since two items have only one difference, or above `2^32`, or there is
    /// no memory for as many counts.
    pub fn new(len: usize) -> Self {
        check_len(len);
        assert!(len >= 3, "2 items have only one difference");
        Self { counts: zeros(Some(len)), samples: 0 }
    }

    /// How often each difference from 1 to `n - 1` occurred.
    pub fn counts(&self) -> &[u64] {
        &self.counts[1..]
    }

    /// The squared length of the standardised counts.
    fn statistic(&self) -> f64 {
        let n = self.counts.len() as f64;
        let weight = (n - 1.0) / (n + 1.0);
        let counts = self.counts();
        let off = |count: u64| count as f64 - self.samples as f64;
        let terms = counts.iter().zip(counts.iter().rev()).map(|(&count, &opposite)| {
            let same = (off(count) + off(opposite)) / 2.0;
            let opposed = (off(count) - off(opposite)) / 2.0;
            same * same + opposed * opposed * weight
        });
        terms.sum::<f64>() / self.samples as f64
    }
}

impl Test for Differences {
    fn record(&mut self, permutation: &[u32]) {
        let len = self.counts.len();
        check_sample(permutation, len);
        for pair in permutation.windows(2) {
            let (from, to) = (pair[0] as usize, pair[1] as usize);
            let round = if to < from { len } else { 0 };
            self.counts[to + round - from] += 1;
        }
        self.samples += 1;
    }

    fn merge(&mut self, other: Self) {
        assert_eq!(self.counts.len(), other.counts.len(), "tests of different lengths");
        self.counts.iter_mut().zip(other.counts).for_each(|(count, more)| *count += more);
        self.samples += other.samples;
    }

    fn outcome(&self) -> Outcome {
        if self.samples == 0 {
            return Outcome::silent(0);
        }
        let statistic = self.statistic();
        let degrees = self.counts.len() as f64 - 2.0;
        Outcome { statistic, p_value: chi_squared(statistic, degrees), samples: self.samples }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exhaustive::{distribution, for_all, moments};

    fn successors(p: &[u32]) -> u64 {
        p.windows(2).filter(|pair| pair[0] + 1 == pair[1]).count() as u64
    }

    #[test]
    fn successors_are_distributed_as_in_all_permutations() {
        for len in 2..=7 {
            let exact = distribution(len, successors);
            let formula = Successors::new(len).probabilities();
            assert!(formula.iter().zip(exact).all(|(a, b)| (a - b).abs() < 1e-15), "length {len}");
            let [mean, variance] = moments(len, |p| successors(p) as f64);
            let n = len as f64;
            assert!((mean - (n - 1.0) / n).abs() < 1e-14);
            assert!((variance - (n * n - n - 1.0) / (n * n)).abs() < 1e-14);
        }
        let sum: f64 = Successors::new(1 << 30).probabilities().iter().sum();
        assert!((sum - 1.0).abs() < 1e-14);
    }

    #[test]
    fn differences_of_one_sample_have_the_stated_mean() {
        for len in 3..=8 {
            let (mut sum, mut all) = (0.0, 0.0);
            for_all(len, |p| {
                let mut test = Differences::new(len);
                test.record(p);
                sum += test.statistic();
                all += 1.0;
            });
            assert!((sum / all - (len as f64 - 2.0)).abs() < 1e-10, "length {len}: {}", sum / all);
        }
    }

    #[test]
    fn differences_have_the_stated_covariances() {
        for len in 3..=7 {
            let m = len as f64 - 1.0;
            for d in 1..len {
                for e in 1..len {
                    let mut sum = 0.0;
                    let mut all = 0.0;
                    for_all(len, |p| {
                        let mut test = Differences::new(len);
                        test.record(p);
                        sum += (test.counts[d] * test.counts[e]) as f64;
                        all += 1.0;
                    });
                    let stated = f64::from(u8::from(d == e)) * (1.0 + 1.0 / m)
                        - 1.0 / m
                        - f64::from(u8::from(d + e == len)) / m;
                    assert!((sum / all - 1.0 - stated).abs() < 1e-12, "length {len}: {d}, {e}");
                }
            }
        }
    }

    #[test]
    fn differences_of_no_samples_have_no_outcome() {
        assert_eq!(Differences::new(3).outcome(), Outcome::silent(0));
        assert_eq!(Successors::new(2).outcome(), Outcome::silent(0));
    }
}
