//! [`Mmd`]: the maximum mean discrepancy between a sample and uniform permutations.

use statrs::function::erf::erfc_inv;

use super::mallows::{DiscordantPairs, Mallows};
use super::tails::two_sided;
use super::{Outcome, Test, check_len, check_sample};

/// What an [`Mmd`] compares the samples with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum MmdDesign {
    /// Each other, in pairs: the first with the second, the third with the fourth, and so on.
    Pairs,
    /// The identity.
    Identity,
}

/// The test of the squared maximum mean discrepancy with the Mallows kernel: Mitchell, Stokes,
/// Frank, Holmes, *Bandwidth-Optimal Random Shuffling for GPUs*, 2022, section 5.
///
/// The kernel of two permutations that order `d` pairs of items differently is
/// `K = exp(-5 d / C(n, 2))`: 1 if they are equal, and `exp(-5)` if they are opposite. See also
/// Jiao, Vert, *The Kendall and Mallows kernels for permutations*, ICML 2015.
///
/// The statistic is the mean of `m` values of the kernel, minus its expectation under uniformity.
/// For `N` samples there are two designs:
///
/// * [`pairs`](Self::pairs), from the published version (equations 5 to 7): the kernel of samples
///   `2 i - 1` and `2 i`, so `m = N / 2`; an odd last sample waits for another. The expectation of
///   the statistic is the squared discrepancy of the two distributions, which is never negative,
///   and 0 only if the samples are uniform. With enough samples this design therefore detects every
///   fault, but it takes many samples unless the permutations form clusters.
/// * [`identity`](Self::identity), from the first preprint (arXiv:2106.06161v1, equations 4 and 5):
///   the kernel of each sample and the identity, so `m = N`. It is a test of the number of
///   inversions, and a fast one. The expectation is 0 for many non-uniform distributions, too, so
///   it does not measure a discrepancy: shuffles with the right inversions pass it.
///
/// # Distribution
///
/// Under uniformity the kernel of a sample and the identity has the same distribution as that of
/// two independent samples: `K(a, b)` depends on `a` and `b` only through `b a^-1`, which is
/// uniform if `b` is, whatever `a` is. In both designs the `m` values are independent, since no
/// sample is in two of them. So the statistic has expectation 0 and variance `Var(K) / m`:
/// `2 Var(K) / N` for pairs, and half of that, `Var(K) / N`, for the identity.
///
/// There are two bounds for the probability that it is at least `t` from 0:
///
/// * Hoeffding's inequality, since `K` is between 0 and 1: at most `2 exp(-2 m t^2)`. It holds for
///   every number of samples, but is far too conservative if `K` varies little.
/// * The central limit theorem: `erfc(t / sqrt(2 Var(K) / m))`, which is accurate if `m` is large.
///
/// [`outcome`](Test::outcome) uses Hoeffding's bound for fewer than 100 samples, as the authors
/// recommend, and the normal distribution from there on. Both are two-sided.
///
/// # Examples
///
/// ```
/// use bijective_shuffle_stats::{Mmd, Test, run};
///
/// // A cut: every item moves, but the order within each of the two parts stays.
/// let cut = |sample: u64, out: &mut [u32]| {
///     (0..).zip(&mut *out).for_each(|(index, place)| *place = index);
///     out.rotate_left(fastrand::Rng::with_seed(sample).usize(..out.len()));
/// };
/// let mmd = run(1000, 52, || Mmd::pairs(52), cut);
/// let outcome = mmd.outcome();
/// assert!(outcome.p_value < 1e-100);
/// // Equivalently, the statistic is far outside the acceptance region.
/// assert!(outcome.statistic > mmd.normal_threshold(1e-100));
/// ```
#[derive(Clone, Debug)]
pub struct Mmd {
    kernel: Mallows,
    design: MmdDesign,
    pairs: DiscordantPairs,
    /// The sample that waits for the second of its pair; empty if none does.
    waiting: Vec<u32>,
    /// The sum of the kernel's values, and their number.
    sum: f64,
    values: u64,
}

impl Mmd {
    /// A test by pairs of samples of `len` items, with the paper's `lambda` of 5.
    ///
    /// # Panics
    ///
    /// If `len` is below 2 or above `2^32`.
    pub fn pairs(len: usize) -> Self {
        Self::new(MmdDesign::Pairs, Mallows::new(len, Mallows::LAMBDA))
    }

    /// A test of samples of `len` items against the identity, with the paper's `lambda` of 5.
    ///
    /// # Panics
    ///
    /// If `len` is below 2 or above `2^32`.
    pub fn identity(len: usize) -> Self {
        Self::new(MmdDesign::Identity, Mallows::new(len, Mallows::LAMBDA))
    }

    fn new(design: MmdDesign, kernel: Mallows) -> Self {
        check_len(kernel.len());
        let pairs = DiscordantPairs::new();
        Self { kernel, design, pairs, waiting: Vec::new(), sum: 0.0, values: 0 }
    }

    /// The number of samples in the statistic: all but one that waits for the second of its pair.
    const fn samples(&self) -> u64 {
        match self.design {
            MmdDesign::Pairs => 2 * self.values,
            MmdDesign::Identity => self.values,
        }
    }

    /// The estimate of the squared discrepancy; 0 without samples.
    fn statistic(&self) -> f64 {
        if self.values == 0 { 0.0 } else { self.sum / self.values as f64 - self.kernel.mean() }
    }

    /// The statistic's variance under uniformity; infinite without samples.
    fn variance(&self) -> f64 {
        self.kernel.variance() / self.values as f64
    }

    /// The outcome by Hoeffding's inequality. Its p-value is never too small, and usually far too
    /// large.
    fn hoeffding(&self) -> Outcome {
        let statistic = self.statistic();
        let p_value = (2.0 * (-2.0 * self.values as f64 * statistic.powi(2)).exp()).min(1.0);
        Outcome { statistic, p_value, samples: self.samples() }
    }

    /// The outcome by the central limit theorem.
    pub fn normal(&self) -> Outcome {
        let (statistic, variance) = (self.statistic(), self.variance());
        let samples = self.samples();
        if statistic == 0.0 || variance == 0.0 {
            return Outcome::silent(samples);
        }
        Outcome { statistic, p_value: two_sided(statistic / variance.sqrt()), samples }
    }

    /// The smallest distance from 0 that is significant at the level `alpha` by Hoeffding's
    /// inequality: equation 6 of the paper, `sqrt(ln(2 / alpha) / N)`, for `N` samples in pairs,
    /// and equation 4 of the preprint, `sqrt(ln(2 / alpha) / (2 N))`, against the identity.
    ///
    /// It is infinite without samples.
    ///
    /// # Panics
    ///
    /// If `alpha` is not above 0, or is above 1.
    pub fn hoeffding_threshold(&self, alpha: f64) -> f64 {
        check_level(alpha);
        ((2.0 / alpha).ln() / (2.0 * self.values as f64)).sqrt()
    }

    /// The smallest distance from 0 that is significant at the level `alpha` by the central limit
    /// theorem: equation 7 of the paper and equation 5 of the preprint,
    /// `sqrt(2 Var) erf^-1(1 - alpha)`. It is computed with `erfc^-1(alpha)`, which keeps the
    /// digits of a small `alpha`.
    ///
    /// It is infinite without samples.
    ///
    /// # Panics
    ///
    /// If `alpha` is not above 0, or is above 1.
    pub fn normal_threshold(&self, alpha: f64) -> f64 {
        check_level(alpha);
        (2.0 * self.variance()).sqrt() * erfc_inv(alpha)
    }

    /// Adds the kernel's value for two permutations that order `discordant` pairs differently.
    fn take(&mut self, discordant: u64) {
        self.sum += self.kernel.value(discordant);
        self.values += 1;
    }

    /// Takes a sample as the second of a pair if one is waiting, and otherwise as the first.
    fn take_in_pairs(&mut self, permutation: &[u32]) {
        if self.waiting.is_empty() {
            self.waiting.extend_from_slice(permutation);
        } else {
            let discordant = self.pairs.between(&self.waiting, permutation);
            self.take(discordant);
            self.waiting.clear();
        }
    }
}

#[track_caller]
fn check_level(alpha: f64) {
    assert!(
        alpha > 0.0 && alpha <= 1.0,
        "the significance level {alpha} is not above 0 and at most 1"
    );
}

impl Test for Mmd {
    fn record(&mut self, permutation: &[u32]) {
        check_sample(permutation, self.kernel.len());
        match self.design {
            MmdDesign::Pairs => self.take_in_pairs(permutation),
            MmdDesign::Identity => {
                let discordant = self.pairs.inversions(permutation);
                self.take(discordant);
            }
        }
    }

    /// If a sample waits in each of the two tests, they form a pair.
    fn merge(&mut self, other: Self) {
        assert_eq!(
            (self.kernel, self.design),
            (other.kernel, other.design),
            "tests of different kinds"
        );
        self.sum += other.sum;
        self.values += other.values;
        if !other.waiting.is_empty() {
            self.take_in_pairs(&other.waiting);
        }
    }

    fn outcome(&self) -> Outcome {
        if self.samples() < 100 { self.hoeffding() } else { self.normal() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDERS: [[u32; 3]; 6] =
        [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

    fn recorded<'a>(mut mmd: Mmd, samples: impl IntoIterator<Item = &'a [u32; 3]>) -> Mmd {
        samples.into_iter().for_each(|sample| mmd.record(sample));
        mmd
    }

    #[test]
    fn the_statistic_of_all_permutations_is_zero() {
        let all_pairs = ORDERS.iter().flat_map(|a| ORDERS.iter().flat_map(move |b| [a, b]));
        for mmd in [recorded(Mmd::identity(3), &ORDERS), recorded(Mmd::pairs(3), all_pairs)] {
            assert!(mmd.statistic().abs() < 1e-15);
            assert!(mmd.normal().p_value > 0.999);
            assert_eq!(mmd.hoeffding().p_value, 1.0);
        }
    }

    #[test]
    fn the_variance_is_that_of_the_values_over_their_number() {
        let constant = |samples: usize| vec![[2, 1, 0]; samples];
        let variance = Mallows::new(3, 5.0).variance();
        let identity = recorded(Mmd::identity(3), &constant(200));
        assert_eq!(identity.variance(), variance / 200.0);
        assert_eq!(identity.samples(), 200);
        let pairs = recorded(Mmd::pairs(3), &constant(201));
        assert_eq!(pairs.variance(), 2.0 * variance / 200.0);
        assert_eq!(pairs.samples(), 200);
        // All samples are the same, so their kernel is 1; with the identity it is exp(-5).
        assert_eq!(pairs.statistic(), 1.0 - pairs.kernel.mean());
        assert!((identity.statistic() + identity.kernel.mean() - (-5.0_f64).exp()).abs() < 1e-15);
    }

    #[test]
    fn thresholds_are_where_the_p_values_are_the_level() {
        for mmd in
            [recorded(Mmd::pairs(3), &vec![[2, 1, 0]; 200]), recorded(Mmd::identity(3), &ORDERS)]
        {
            for alpha in [0.5, 0.05, 1e-5, 1e-100, 1e-300] {
                let t = mmd.normal_threshold(alpha);
                let p = two_sided(t / mmd.variance().sqrt());
                assert!((p / alpha - 1.0).abs() < 1e-9, "{p:e} instead of {alpha:e}");
                let t = mmd.hoeffding_threshold(alpha);
                let p = 2.0 * (-2.0 * mmd.values as f64 * t * t).exp();
                assert!((p / alpha - 1.0).abs() < 1e-9, "{p:e} instead of {alpha:e}");
            }
        }
        // The paper's form, equation 6, for 200 samples in pairs.
        let pairs = recorded(Mmd::pairs(3), &vec![[2, 1, 0]; 200]);
        assert_eq!(pairs.hoeffding_threshold(0.05), ((2.0 / 0.05_f64).ln() / 200.0).sqrt());
    }

    #[test]
    fn merging_joins_the_samples_that_wait() {
        let mut a = recorded(Mmd::pairs(3), &ORDERS[..3]);
        let b = recorded(Mmd::pairs(3), &ORDERS[..1]);
        a.merge(b);
        let whole = recorded(Mmd::pairs(3), [&ORDERS[0], &ORDERS[1], &ORDERS[2], &ORDERS[0]]);
        assert_eq!((a.sum, a.values, a.waiting.len()), (whole.sum, 2, 0));
    }

    #[test]
    fn discrepancy_of_no_samples_has_no_outcome() {
        assert_eq!(Mmd::pairs(3).outcome(), Outcome::silent(0));
        assert_eq!(Mmd::identity(3).normal(), Outcome::silent(0));
        assert_eq!(Mmd::identity(3).normal_threshold(0.05), f64::INFINITY);
    }
}
