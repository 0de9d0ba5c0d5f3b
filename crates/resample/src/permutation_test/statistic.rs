//! [`Statistic`]: a number for each arrangement of the data, computed for many at a time.

use core::fmt;

use super::data::ROUNDING;
use crate::Error;

/// Arrangements of one design, row after row.
#[derive(Clone, Copy, Debug)]
pub struct ArrangementBatch<'a> {
    pub(super) len: usize,
    pub(super) orders: &'a [u32],
    /// As many as orders, or none.
    pub(super) signs: &'a [i8],
}

impl<'a> ArrangementBatch<'a> {
    /// The number of arrangements.
    pub fn rows(&self) -> usize {
        self.orders.len() / self.len
    }

    /// The order and the signs of each arrangement. There are no signs if the design has none.
    pub fn iter(&self) -> impl Iterator<Item = (&'a [u32], &'a [i8])> + use<'a> {
        let Self { len, orders, signs } = *self;
        let sign_len = if signs.is_empty() { 0 } else { len };
        let row =
            move |row: usize| (&orders[row * len..][..len], &signs[row * sign_len..][..sign_len]);
        (0..self.rows()).map(row)
    }
}

/// A statistic: what a test computes from the data in each arrangement.
///
/// Place `i` has the data of row `order[i]`, times `signs[i]` where the design has signs. A value
/// must depend on the arrangement alone, and not on the others of the batch; then a result is the
/// same on any number of threads. The statistics of this package compute each sum in a fixed order.
pub trait Statistic: Sync {
    /// The number of rows of the data.
    fn rows(&self) -> u64;

    /// Writes a value for each arrangement. `values` has as many places as the batch has rows.
    ///
    /// # Errors
    ///
    /// Those of the statistic, with which the test then ends.
    fn evaluate(&self, batch: ArrangementBatch<'_>, values: &mut [f64]) -> Result<(), Error>;

    /// Whether the statistic multiplies data by signs.
    fn takes_signs(&self) -> bool {
        false
    }

    /// How far from the observed value another may be because of rounding, though they are equal;
    /// see [`PermutationTest`](crate::PermutationTest#ties). By default it is 100 times the
    /// distance of 1 from the next number, times the size of the observed value, as in SciPy. It is
    /// 0 for a statistic whose values are exact.
    fn rounding(&self, observed: f64) -> f64 {
        ROUNDING * observed.abs()
    }

    /// Where samples end, if the value is the same, up to rounding, however the rows within each
    /// are ordered. Then a design of these groups need not put them in order.
    #[doc(hidden)]
    fn sample_ends(&self) -> Option<Vec<u64>> {
        None
    }
}

/// A statistic that is a function of an order and signs.
///
/// # Examples
///
/// ```
/// use bijective_shuffle_resample::{Design, FnStatistic, PermutationTest};
///
/// let values = [1.0, 4.0, 2.0, 8.0, 5.0, 7.0];
/// // Are neighbours alike? The sum of the steps from each value to the next.
/// let steps = FnStatistic::new(6, |order: &[u32], _: &[i8]| {
///     order.windows(2).map(|p| f64::abs(values[p[0] as usize] - values[p[1] as usize])).sum()
/// });
/// let design = Design::free(6)?;
/// let result = PermutationTest::new(&design, &steps).run()?;
/// assert_eq!(result.arrangements(), 720); // all of them
/// # Ok::<(), bijective_shuffle_resample::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct FnStatistic<F> {
    rows: u64,
    function: F,
}

impl<F: Fn(&[u32], &[i8]) -> f64 + Sync> FnStatistic<F> {
    /// The statistic of so many rows of data that a function computes. The function gets an order
    /// and its signs, which are empty if the design has none.
    pub fn new(rows: u64, function: F) -> Self {
        Self { rows, function }
    }
}

impl<F> fmt::Debug for FnStatistic<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnStatistic").field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl<F: Fn(&[u32], &[i8]) -> f64 + Sync> Statistic for FnStatistic<F> {
    fn rows(&self) -> u64 {
        self.rows
    }

    fn evaluate(&self, batch: ArrangementBatch<'_>, values: &mut [f64]) -> Result<(), Error> {
        for (value, (order, signs)) in values.iter_mut().zip(batch.iter()) {
            *value = (self.function)(order, signs);
        }
        Ok(())
    }

    fn takes_signs(&self) -> bool {
        true
    }
}
