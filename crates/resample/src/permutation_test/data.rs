//! Checks of data, and what statistics make of it.

use bijective_shuffle_engine::check::try_with_capacity;

use super::sums::{mean, sum};
use crate::Error;

/// Values are equal if they differ by less than this, in units of their size: a hundred times the
/// distance of 1 from the next number, as in SciPy.
pub(super) const ROUNDING: f64 = 100.0 * f64::EPSILON;

/// Checks that no value is NaN or infinite.
pub(super) fn check_finite(values: &[f64]) -> Result<(), Error> {
    match values.iter().position(|value| !value.is_finite()) {
        Some(index) => Err(Error::NotFinite { index: index as u64 }),
        None => Ok(()),
    }
}

pub(super) fn check_rows(rows: usize, others: usize) -> Result<(), Error> {
    let (expected, actual) = (rows as u64, others as u64);
    if expected == actual { Ok(()) } else { Err(Error::RowCount { expected, actual }) }
}

/// Values less their mean. Equal values give zeros.
pub(super) fn centred(values: &[f64]) -> Result<Vec<f64>, Error> {
    check_finite(values)?;
    let mut own = try_with_capacity(values.len())?;
    own.extend_from_slice(values);
    centre(&mut own);
    Ok(own)
}

/// Takes the mean away from some values.
pub(super) fn centre(values: &mut [f64]) {
    let Some(&first) = values.first() else { return };
    let is_constant = values.iter().all(|&value| value == first);
    let centre = if is_constant { first } else { mean(values) };
    values.iter_mut().for_each(|value| *value -= centre);
}

/// Centred values, divided by the root of their sum of squares.
pub(super) fn standardised(values: &[f64]) -> Result<Vec<f64>, Error> {
    if values.len() < 2 {
        return Err(Error::SmallSample { rows: values.len() as u64, least: 2 });
    }
    let mut own = centred(values)?;
    // First by the largest value, whose square may be too large or too small.
    let most = own.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    if most == 0.0 {
        return Err(Error::Constant);
    }
    own.iter_mut().for_each(|x| *x /= most);
    let norm = sum(&own, |x| x * x).sqrt();
    own.iter_mut().for_each(|x| *x /= norm);
    Ok(own)
}

/// Sizes of at least two groups of all rows, which are more than the groups.
pub(super) fn sizes(sizes: &[u64], rows: usize) -> Result<Vec<usize>, Error> {
    let total = sizes.iter().try_fold(0_u64, |sum, &size| sum.checked_add(size));
    if sizes.len() < 2 || sizes.contains(&0) || total != Some(rows as u64) {
        return Err(Error::GroupSizes { rows: rows as u64 });
    }
    if rows <= sizes.len() {
        return Err(Error::SmallSample { rows: rows as u64, least: sizes.len() as u64 + 1 });
    }
    let mut own = try_with_capacity(sizes.len())?;
    // They add up to the rows, so they fit.
    own.extend(sizes.iter().map(|&size| size as usize));
    Ok(own)
}

/// Divides values by a power of two, so that the largest is from 1 to 2 and no square is too large
/// or too small. Nothing is rounded unless it is smaller than the largest by many orders.
pub(super) fn scale(values: &mut [f64]) {
    const EXPONENT: u64 = 0x7FF << 52;
    let most = values.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let power = f64::from_bits(most.to_bits() & EXPONENT);
    if power > 0.0 {
        values.iter_mut().for_each(|x| *x /= power);
    }
}

/// The rounding of a ratio of mean squares between `groups` groups and within them, of which the
/// shares of all squares are rounded to [`ROUNDING`].
pub(super) fn rounding_of_ratio(observed: f64, rows: usize, groups: usize) -> f64 {
    let d = (rows - groups) as f64 / (groups - 1) as f64;
    ROUNDING * (d + observed) * (1.0 + observed / d)
}

/// Where each of some groups ends, unless there is no memory to say so.
pub(super) fn ends(sizes: &[usize]) -> Option<Vec<u64>> {
    let mut ends = try_with_capacity(sizes.len()).ok()?;
    ends.extend(sizes.iter().scan(0, |end, &size| {
        *end += size as u64;
        Some(*end)
    }));
    Some(ends)
}
