//! p-values: the tails of the statistics' distributions.

use statrs::distribution::{ChiSquared, ContinuousCDF};
use statrs::function::factorial::ln_binomial;

use super::Outcome;

/// The probability that a standard normal variable is at least as far from 0 as `z`.
///
/// It is the tail of the square, which is chi-squared with one degree of freedom. (The library's
/// `erfc` would work, too, but has only 10 correct digits for arguments from 0.5 to 0.75.) Small
/// values keep their digits: 1e-300 is accurate, and anything below about 1e-308 is 0.
pub(super) fn two_sided(z: f64) -> f64 {
    chi_squared(z * z, 1.0)
}

/// The probability that a chi-squared variable with `degrees` degrees of freedom is at least
/// `statistic`; 1 if there are none.
pub(super) fn chi_squared(statistic: f64, degrees: f64) -> f64 {
    if degrees <= 0.0 { 1.0 } else { ChiSquared::new(degrees).map_or(1.0, |x| x.sf(statistic)) }
}

/// The probability that `tosses` of a fair coin differ from their expectation at least as much as
/// `heads` does. It is exact.
///
/// It is twice the binomial tail, at most 1, summed outwards from its largest term, where each term
/// is the one before times a ratio. All terms are positive, and a few times `sqrt(tosses)` of them
/// matter. The relative error is that of the first term, about 1e-16 times `tosses ln tosses`.
pub(super) fn fair_coin(heads: u64, tosses: u64) -> f64 {
    let more = heads.max(tosses - heads);
    let (mut term, mut sum) = (1.0, 1.0);
    for k in more..tosses {
        term *= (tosses - k) as f64 / (k + 1) as f64;
        sum += term;
        if term < sum * f64::EPSILON / 16.0 {
            break;
        }
    }
    let first = ln_binomial(tosses, more) - tosses as f64 * core::f64::consts::LN_2;
    (2.0 * sum * first.exp()).min(1.0)
}

/// The outcome for a mean of `samples` independent values, by the normal distribution that it tends
/// to. The statistic is the difference from the expectation in standard deviations, and the p-value
/// is two-sided.
///
/// `excess` is the sum of the values minus its expectation, and `variance` that of one value.
pub(super) fn mean_outcome(excess: f64, variance: f64, samples: u64) -> Outcome {
    if samples == 0 || variance <= 0.0 {
        return Outcome::silent(samples);
    }
    let z = excess / (variance * samples as f64).sqrt();
    Outcome { statistic: z, p_value: two_sided(z), samples }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_close(actual: f64, expected: f64, tolerance: f64) {
        assert!((actual / expected - 1.0).abs() < tolerance, "{actual:e} instead of {expected:e}");
    }

    // The expected values in this module are from mpmath with 50 digits: erfc(z / sqrt 2),
    // 1 - P(df / 2, x / 2) by its power series in 400 digits, and sums of binomial(n, k) / 2^n.

    #[test]
    fn normal_tails_keep_their_digits() {
        assert_eq!(two_sided(0.0), 1.0);
        assert_close(two_sided(0.01), 0.9920212873707368, 1e-12);
        assert_close(two_sided(1.0), 0.3173105078629141, 1e-12);
        assert_close(two_sided(3.0), 0.002699796063260189, 1e-12);
        assert_close(two_sided(8.0), 1.2441921148543568e-15, 1e-12);
        assert_close(two_sided(20.0), 5.5072482372124675e-89, 1e-12);
        assert_close(two_sided(37.0), 1.1451142445049154e-299, 1e-12);
        assert_eq!(two_sided(1e6), 0.0);
    }

    #[test]
    fn chi_squared_tails_keep_their_digits() {
        assert_eq!(chi_squared(0.0, 7.0), 1.0);
        assert_eq!(chi_squared(3.0, 0.0), 1.0);
        assert_close(chi_squared(100.0, 119.0), 0.8961968945761919, 1e-12);
        assert_close(chi_squared(119.0, 119.0), 0.482758726082452, 1e-12);
        assert_close(chi_squared(300.0, 119.0), 1.2978853931360236e-17, 1e-12);
        assert_close(chi_squared(1800.0, 119.0), 5.39048949023081e-298, 1e-11);
        assert_close(chi_squared(5.0, 1.0), 0.025347318677468263, 1e-12);
        assert_close(chi_squared(1370.0, 1.0), 6.942937364643268e-300, 1e-11);
        assert_close(chi_squared(41000.0, 40319.0), 0.008490266651830908, 1e-9);
        assert_close(chi_squared(998001.0, 998001.0), 0.49981174855194227, 1e-9);
        assert_close(chi_squared(1010000.0, 998001.0), 1.3398944716466319e-17, 1e-8);
        assert_close(chi_squared(4026001.0, 3996001.0), 1.7358294306643993e-26, 1e-7);
        assert_eq!(chi_squared(1e9, 7.0), 0.0);
    }

    #[test]
    fn coin_tails_are_exact() {
        assert_eq!(fair_coin(0, 0), 1.0);
        assert_eq!(fair_coin(5, 10), 1.0);
        assert_close(fair_coin(10, 10), 2.0 / 1024.0, 1e-13);
        assert_close(fair_coin(1, 10), 22.0 / 1024.0, 1e-13);
        assert_close(fair_coin(0, 1000), 2.0 * (-1000.0 * core::f64::consts::LN_2).exp(), 1e-12);
        assert_close(fair_coin(480, 1000), 0.21744829320414094, 1e-12);
        assert_close(fair_coin(900, 1000), 1.3403435580012592e-161, 1e-12);
        assert_close(fair_coin(50300, 100000), 0.05819735311019374, 1e-9);
        assert_close(fair_coin(45000, 100000), 8.600341645714696e-220, 1e-8);
        assert_eq!(fair_coin(0, 100_000), 0.0);
    }
}
