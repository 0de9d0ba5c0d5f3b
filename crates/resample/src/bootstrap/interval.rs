//! Confidence intervals from the values of a bootstrap.
//!
//! `tail` is the probability on either side of an interval, so 0.025 is for 95 %. An end of the
//! interval is also the bound of a one-sided one: with 0.05, the lower end alone holds for 95 %.
//! With a NaN among the values, both ends are NaN.

use bijective_shuffle_engine::check;

use super::statistic::{quantile_of, sum};
use crate::Error;

/// The percentile interval: quantiles of the values (Efron and Tibshirani, *An introduction to the
/// bootstrap*, 1993, chapter 13). `tail` is the probability on either side, 0.025 for 95 %.
///
/// # Errors
///
/// [`Error::NoValues`]; [`Error::NotBetweenZeroAndOne`] if `tail` is not, or is an end;
/// [`Error::Shuffle`] if there is too little memory for a copy of the values.
pub fn percentile_interval(values: &[f64], tail: f64) -> Result<[f64; 2], Error> {
    check_tail(tail)?;
    quantiles(values, [tail, 1.0 - tail])
}

/// The basic interval: that of the percentiles, reflected in the observed value (Davison and
/// Hinkley, *Bootstrap methods and their application*, 1997, section 2.4; "reverse percentile").
///
/// # Errors
///
/// As [`percentile_interval`].
pub fn basic_interval(values: &[f64], observed: f64, tail: f64) -> Result<[f64; 2], Error> {
    let [low, high] = percentile_interval(values, tail)?;
    Ok([2.0 * observed - high, 2.0 * observed - low])
}

/// The bias-corrected and accelerated interval of Efron, *Better bootstrap confidence intervals*
/// (1987): percentiles whose places are corrected by the share of the values below the observed
/// one, and by the skewness of the jackknife.
///
/// `jackknife` has the statistics without each of the items, as
/// [`RowStatistic::leave_one_out`](crate::RowStatistic::leave_one_out) gives them; of several
/// independent samples, a list for each sample.
///
/// # Errors
///
/// As [`percentile_interval`], and [`Error::Degenerate`] if all values are on one side of the
/// observed one, or the jackknife's are all equal.
pub fn bca_interval(
    values: &[f64],
    observed: f64,
    jackknife: &[&[f64]],
    tail: f64,
) -> Result<[f64; 2], Error> {
    check_tail(tail)?;
    if values.iter().any(|value| value.is_nan()) || observed.is_nan() {
        return quantiles(values, [tail, 1.0 - tail]).map(|_| [f64::NAN; 2]);
    }
    let less = values.iter().filter(|&&value| value < observed).count();
    let at_most = values.iter().filter(|&&value| value <= observed).count();
    let share = (less + at_most) as f64 / (2.0 * values.len() as f64);
    let acceleration = acceleration(jackknife);
    if values.is_empty() {
        return Err(Error::NoValues);
    }
    if share <= 0.0 || share >= 1.0 || !acceleration.is_finite() {
        return Err(Error::Degenerate);
    }
    let bias = normal_quantile(share);
    let place = |probability: f64| {
        let z = bias + normal_quantile(probability);
        normal_probability(bias + z / (1.0 - acceleration * z))
    };
    quantiles(values, [tail, 1.0 - tail].map(place))
}

/// The standard error: the standard deviation of the values, with one less than their number as
/// the divisor. Of a single value it is NaN.
pub fn standard_error(values: &[f64]) -> f64 {
    let len = values.len() as f64;
    let mean = sum(values) / len;
    let squares = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>();
    (squares / (len - 1.0)).sqrt()
}

fn check_tail(tail: f64) -> Result<(), Error> {
    if 0.0 < tail && tail < 1.0 { Ok(()) } else { Err(Error::NotBetweenZeroAndOne { given: tail }) }
}

/// The acceleration, from the skewness of the jackknife: the sums of the samples' cubes, each
/// divided by the cube of the sample's size, and of their squares likewise (Efron and Tibshirani,
/// equation 14.15; for several samples Davison and Hinkley, equation 5.25).
fn acceleration(jackknife: &[&[f64]]) -> f64 {
    let (mut cubes, mut squares) = (0.0, 0.0);
    for values in jackknife {
        let len = values.len() as f64;
        let mean = sum(values) / len;
        for value in *values {
            let influence = (len - 1.0) * (mean - value) / len;
            squares += influence * influence;
            cubes += influence * influence * influence;
        }
    }
    cubes / (6.0 * squares * squares.sqrt())
}

/// The probability that a normal number is at most `z`, by a function that is the same everywhere:
/// the system's own differ in their last bits.
fn normal_probability(z: f64) -> f64 {
    0.5 * libm::erfc(-z * core::f64::consts::FRAC_1_SQRT_2)
}

/// The inverse of [`normal_probability`], by bisection, which ends where no number lies between.
fn normal_quantile(probability: f64) -> f64 {
    if probability > 0.5 {
        return -normal_quantile(1.0 - probability);
    }
    // No probability of an `f64` above 0 is as small as that of -39.
    let (mut low, mut high) = (-39.0, 0.0);
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return high;
        }
        if normal_probability(middle) < probability {
            low = middle;
        } else {
            high = middle;
        }
    }
}

/// Quantiles of values in any order.
fn quantiles(values: &[f64], places: [f64; 2]) -> Result<[f64; 2], Error> {
    if values.is_empty() {
        return Err(Error::NoValues);
    }
    if values.iter().any(|value| value.is_nan()) {
        return Ok([f64::NAN; 2]);
    }
    let mut sorted = check::try_with_capacity(values.len())?;
    sorted.extend_from_slice(values);
    sorted.sort_unstable_by(f64::total_cmp);
    Ok(places.map(|place| quantile_of(sorted.len(), place, |k| sorted[k])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_scipy() {
        // scipy 1.17, given these values as its distribution.
        let values: Vec<f64> = (0..101_u32).map(|k| f64::from(k * k) / 100.0).collect();
        assert_eq!(percentile_interval(&values, 0.05).unwrap(), [0.25, 90.25]);
        assert_eq!(basic_interval(&values, 30.0, 0.05).unwrap(), [-30.25, 59.75]);
    }

    #[test]
    fn normal_quantiles_are_those_of_tables() {
        // From scipy's `ndtri`.
        let known = [
            (0.025, -1.959_963_984_540_054),
            (1e-10, -6.361_340_902_404_056),
            (0.9, 1.281_551_565_544_600_4),
        ];
        for (probability, z) in known {
            assert!((normal_quantile(probability) - z).abs() < 1e-14 * z.abs());
            assert!((normal_probability(z) / probability - 1.0).abs() < 1e-13);
        }
        assert!(normal_quantile(0.5).abs() < 1e-16);
        assert!(normal_quantile(f64::MIN_POSITIVE) > -39.0);
    }

    #[test]
    fn what_is_undefined_is_refused_or_nan() {
        let wrong = |tail| Err(Error::NotBetweenZeroAndOne { given: tail });
        assert_eq!(percentile_interval(&[1.0], 0.0), wrong(0.0));
        assert_eq!(percentile_interval(&[1.0], 1.0), wrong(1.0));
        assert!(percentile_interval(&[1.0], f64::NAN).is_err());
        assert_eq!(percentile_interval(&[], 0.1), Err(Error::NoValues));
        assert_eq!(bca_interval(&[], 1.0, &[&[1.0, 2.0]], 0.1), Err(Error::NoValues));
        let degenerate = Err(Error::Degenerate);
        assert_eq!(bca_interval(&[2.0, 3.0], 1.0, &[&[1.0, 2.0]], 0.1), degenerate);
        assert_eq!(bca_interval(&[1.0, 3.0], 2.0, &[&[1.0, 1.0]], 0.1), degenerate);
        let nan = percentile_interval(&[1.0, f64::NAN], 0.1).unwrap();
        assert!(nan.iter().all(|end| end.is_nan()));
    }
}
