//! [`Counts`]: compares how often a statistic had each of its values with its exact distribution.

use super::Outcome;
use super::tails::{chi_squared, mean_outcome};

/// The number of cells: one for each of the values 0, 1, .., where the last is for all larger
/// values, too.
pub(super) const VALUES: usize = 64;

/// The probabilities of the values, in the same cells as the counts.
pub(super) type Probabilities = [f64; VALUES];

/// The smallest number of samples expected in a cell; neighbouring cells are pooled until they have
/// it.
const EXPECTED_MIN: f64 = 5.0;

/// Counts of the values of a small statistic, over permutations of one length.
#[derive(Clone, Debug)]
pub(super) struct Counts {
    cells: [u64; VALUES],
    sum: u64,
    samples: u64,
}

impl Counts {
    pub(super) const fn new() -> Self {
        Self { cells: [0; VALUES], sum: 0, samples: 0 }
    }

    pub(super) fn record(&mut self, value: u64) {
        self.cells[value.min(VALUES as u64 - 1) as usize] += 1;
        self.sum += value;
        self.samples += 1;
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.cells.iter_mut().zip(other.cells).for_each(|(cell, more)| *cell += more);
        self.sum += other.sum;
        self.samples += other.samples;
    }

    /// Compares the mean with its expectation: two-sided, by the normal distribution.
    pub(super) fn mean(&self, expectation: f64, variance: f64) -> Outcome {
        let excess = self.sum as f64 - self.samples as f64 * expectation;
        mean_outcome(excess, variance, self.samples)
    }

    /// Pearson's statistic of the counts of all values, pooled where few are expected, and its
    /// upper tail.
    pub(super) fn distribution(&self, probabilities: &Probabilities) -> Outcome {
        let pooled = self.pooled(probabilities);
        if pooled.len() < 2 {
            return Outcome::silent(self.samples);
        }
        let statistic = pooled
            .iter()
            .map(|&(count, expected)| (count as f64 - expected).powi(2) / expected)
            .sum();
        let p_value = chi_squared(statistic, (pooled.len() - 1) as f64);
        Outcome { statistic, p_value, samples: self.samples }
    }

    /// The counts and expectations of pooled runs of cells. Each run is as short as possible; the
    /// cells left at the end belong to the last run.
    fn pooled(&self, probabilities: &Probabilities) -> Vec<(u64, f64)> {
        let mut runs: Vec<(u64, f64)> = Vec::new();
        let (mut count, mut expected) = (0, 0.0);
        for (cell, probability) in self.cells.iter().zip(probabilities) {
            count += cell;
            expected += probability * self.samples as f64;
            if expected >= EXPECTED_MIN {
                runs.push((count, expected));
                (count, expected) = (0, 0.0);
            }
        }
        if let Some(last) = runs.last_mut() {
            *last = (last.0 + count, last.1 + expected);
        }
        runs
    }
}

/// The probabilities of a statistic with the values `0..=max`. Values of 64 or more have a
/// probability below 1e-80 for the statistics that use this.
pub(super) fn probabilities(max: usize, probability: impl Fn(usize) -> f64) -> Probabilities {
    core::array::from_fn(|value| if value <= max { probability(value) } else { 0.0 })
}

/// The probability that a uniform permutation of `m` items has no fixed point: a partial sum of the
/// series of `exp(-1)`.
pub(super) fn no_fixed_point(m: usize) -> f64 {
    let (mut term, mut sum) = (1.0, 1.0);
    // The terms from the 20th on do not change the last digit.
    for k in 1..=m.min(32) {
        term /= -(k as f64);
        sum += term;
    }
    sum
}

/// `1 / k!`.
pub(super) fn inverse_factorial(k: usize) -> f64 {
    (1..=k).fold(1.0, |product, factor| product / factor as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_values_are_pooled() {
        let mut counts = Counts::new();
        [0, 0, 0, 1, 1, 2, 3, 3, 70, 9].into_iter().for_each(|value| counts.record(value));
        let mut p = [0.0; VALUES];
        p[..5].copy_from_slice(&[0.3, 0.2, 0.1, 0.3, 0.1]);
        assert_eq!(counts.pooled(&p), [(5, 5.0), (5, 5.0)]);
        p[..5].copy_from_slice(&[0.3, 0.25, 0.05, 0.3, 0.1]);
        let pooled = counts.pooled(&p);
        assert_eq!(pooled.iter().map(|run| run.0).collect::<Vec<_>>(), [10]);
        p[..5].copy_from_slice(&[0.5, 0.2, 0.3, 0.0, 0.0]);
        assert_eq!(counts.pooled(&p).iter().map(|run| run.0).collect::<Vec<_>>(), [3, 7]);
        assert_eq!(counts.sum, 89);
    }

    #[test]
    fn counts_of_no_samples_have_no_outcome() {
        assert_eq!(Counts::new().distribution(&[0.5; VALUES]), Outcome::silent(0));
        assert_eq!(Counts::new().mean(1.0, 1.0), Outcome::silent(0));
    }

    #[test]
    fn chance_of_no_fixed_point_counts_derangements() {
        let derangements = [1.0, 0.0, 1.0, 2.0, 9.0, 44.0, 265.0];
        for (m, count) in derangements.into_iter().enumerate() {
            assert!((no_fixed_point(m) - count * inverse_factorial(m)).abs() < 1e-15);
        }
        assert!((no_fixed_point(1 << 30) - (-1.0_f64).exp()).abs() < 1e-15);
    }
}
