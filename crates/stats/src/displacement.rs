//! [`Displacement`]: how far items move.

use super::tails::mean_outcome;
use super::{Outcome, Test, check_len, check_sample};

/// How to measure an item's move from place `i` to place `k`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Distance {
    /// `|i - k|`, in places. The sum over all items is Spearman's footrule.
    Absolute,
    /// `(i - k)^2`, in places squared. Spearman's rank correlation is made of the sum over all
    /// items.
    Squared,
}

/// The test of how far the items move in total.
///
/// The statistic is the mean over the samples of the sum over the items, minus its expectation, in
/// standard deviations. It is negative if items stay too near to their places. The p-value is
/// two-sided and from the normal distribution, for which 30 samples are enough.
///
/// For one uniform permutation, the sum of the absolute distances has the mean `(n^2 - 1) / 3` and
/// the variance `(n + 1) (2 n^2 + 7) / 45` (Diaconis, Graham, *Spearman's footrule as a measure of
/// disarray*, 1977). The sum of the squares has the mean `n (n^2 - 1) / 6` and the variance
/// `n^2 (n - 1) (n + 1)^2 / 36`, since rank correlations have the variance `1 / (n - 1)` (Kendall,
/// *Rank Correlation Methods*, 1948).
///
/// # Examples
///
/// ```
/// use bijective_shuffle_stats::{Displacement, Distance, Test};
///
/// let mut footrule = Displacement::new(4, Distance::Absolute);
/// (0..1000).for_each(|_| footrule.record(&[1, 0, 3, 2]));
/// assert!(footrule.outcome().statistic < -10.0);
/// ```
#[derive(Clone, Debug)]
pub struct Displacement {
    len: usize,
    distance: Distance,
    sum: u128,
    samples: u64,
}

impl Displacement {
    /// A test for permutations of `len` items, with a measure of distance.
    ///
    /// # Panics
    ///
    /// If `len` is below 2 or above `2^32`.
    pub fn new(len: usize, distance: Distance) -> Self {
        check_len(len);
        Self { len, distance, sum: 0, samples: 0 }
    }

    /// The mean of one sample as a fraction: a whole numerator and its denominator, so that the
    /// excess is exact.
    fn mean(&self) -> (u128, u128) {
        let n = self.len as u128;
        match self.distance {
            Distance::Absolute => (n * n - 1, 3),
            Distance::Squared => (n * (n * n - 1), 6),
        }
    }

    /// The variance of one sample.
    fn variance(&self) -> f64 {
        let n = self.len as f64;
        match self.distance {
            Distance::Absolute => (n + 1.0) * (2.0 * n * n + 7.0) / 45.0,
            Distance::Squared => n * n * (n - 1.0) * (n + 1.0).powi(2) / 36.0,
        }
    }

    /// The sum of the samples minus its expectation. The difference of the multiples is exact: it
    /// is far below 2^127, even where they wrap.
    fn excess(&self) -> f64 {
        let (mean, multiplier) = self.mean();
        let expected = mean.wrapping_mul(u128::from(self.samples));
        let off = self.sum.wrapping_mul(multiplier).wrapping_sub(expected) as i128;
        off as f64 / multiplier as f64
    }
}

/// The sum of the absolute distances of all items of a sample. It is at most `n^2 / 2`, so it fits
/// at every length.
fn absolute(permutation: &[u32]) -> u64 {
    (0_u32..).zip(permutation).map(|(place, &index)| u64::from(place.abs_diff(index))).sum()
}

/// The sum of the squared distances of all items of a sample. It is at most `n^3 / 3`, which fits
/// 64 bits for up to 2^20 items.
fn squared(permutation: &[u32]) -> u128 {
    let square = |(place, &index): (u32, &u32)| u64::from(place.abs_diff(index)).pow(2);
    if permutation.len() <= 1 << 20 {
        u128::from((0_u32..).zip(permutation).map(square).sum::<u64>())
    } else {
        (0_u32..).zip(permutation).map(|item| u128::from(square(item))).sum()
    }
}

impl Test for Displacement {
    fn record(&mut self, permutation: &[u32]) {
        check_sample(permutation, self.len);
        self.sum += match self.distance {
            Distance::Absolute => u128::from(absolute(permutation)),
            Distance::Squared => squared(permutation),
        };
        self.samples += 1;
    }

    fn merge(&mut self, other: Self) {
        let same = (self.len, self.distance) == (other.len, other.distance);
        assert!(same, "tests of different lengths or distances");
        self.sum += other.sum;
        self.samples += other.samples;
    }

    fn outcome(&self) -> Outcome {
        mean_outcome(self.excess(), self.variance(), self.samples)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exhaustive::moments;

    #[test]
    fn moments_are_those_of_all_permutations() {
        for len in 2..=7 {
            for distance in [Distance::Absolute, Distance::Squared] {
                let test = Displacement::new(len, distance);
                let [mean, variance] = moments(len, |p| match distance {
                    Distance::Absolute => absolute(p) as f64,
                    Distance::Squared => squared(p) as f64,
                });
                let (multiple, multiplier) = test.mean();
                assert!((multiple as f64 / multiplier as f64 - mean).abs() < 1e-10, "length {len}");
                assert!((test.variance() / variance - 1.0).abs() < 1e-10, "length {len}");
            }
        }
    }

    #[test]
    fn long_permutations_do_not_overflow() {
        // For the reversal, the sum of squares is (n^3 - n) / 3, twice the mean.
        for len in [1_u32 << 20, (1 << 20) + 1, 1 << 23] {
            let backwards: Vec<u32> = (0..len).rev().collect();
            let n = u128::from(len);
            assert_eq!(squared(&backwards), (n * n * n - n) / 3);
            assert_eq!(u128::from(absolute(&backwards)), n * n / 2);
        }
    }

    #[test]
    fn displacements_of_no_samples_have_no_outcome() {
        assert_eq!(Displacement::new(3, Distance::Squared).outcome(), Outcome::silent(0));
    }
}
