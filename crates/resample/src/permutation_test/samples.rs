//! Statistics of samples that lie one after another: means, medians, t, F.

use bijective_shuffle_engine::check::try_with_capacity;

use super::data;
use super::statistic::{ArrangementBatch, Statistic};
use super::sums::{sum, sum2};
use crate::Error;

/// A statistic of two independent samples: the first rows of the data are sample 1, the others
/// sample 2.
///
/// The design is [`Design::groups`](crate::Design::groups) of the two sizes, or any other that
/// moves rows between the samples.
#[derive(Clone, Debug)]
pub struct TwoSamples {
    /// The values less their mean, which changes no statistic but keeps sums exact.
    values: Vec<f64>,
    first: usize,
    kind: Comparison,
    /// The sum and the sum of squares of all values.
    total: f64,
    squares: f64,
    /// The largest distance of a value from the mean.
    spread: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Means,
    Medians,
    Student,
    Welch,
}

impl TwoSamples {
    /// The mean of sample 1 less that of sample 2. The first `first` values are sample 1.
    ///
    /// # Errors
    ///
    /// [`Error::NotFinite`] if a value is NaN or infinite, [`Error::SmallSample`] unless each
    /// sample has a row, and [`Error::Shuffle`] if there is too little memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle_resample::{Design, PermutationTest, TwoSamples};
    ///
    /// let values = [5.1, 4.9, 5.6, 3.2, 3.9, 4.1, 3.3, 2.8];
    /// let statistic = TwoSamples::difference_of_means(&values, 3)?;
    /// let design = Design::groups(&[3, 5])?;
    /// let result = PermutationTest::new(&design, &statistic).run()?;
    /// assert_eq!(result.p_value(), 2.0 / 56.0); // two-sided: twice the smaller tail
    /// # Ok::<(), bijective_shuffle_resample::Error>(())
    /// ```
    pub fn difference_of_means(values: &[f64], first: usize) -> Result<Self, Error> {
        Self::new(values, first, Comparison::Means, 1)
    }

    /// The median of sample 1 less that of sample 2; otherwise as
    /// [`difference_of_means`](Self::difference_of_means). The median of an even number of values
    /// is the mean of the two in the middle.
    ///
    /// # Errors
    ///
    /// As [`difference_of_means`](Self::difference_of_means).
    pub fn difference_of_medians(values: &[f64], first: usize) -> Result<Self, Error> {
        Self::new(values, first, Comparison::Medians, 1)
    }

    /// Student's t, with the pooled variance. It is infinite for samples that are constant and
    /// different.
    ///
    /// # Errors
    ///
    /// [`Error::SmallSample`] also if there are fewer than three values, [`Error::Constant`] if all
    /// are equal, and as [`difference_of_means`](Self::difference_of_means).
    pub fn student_t(values: &[f64], first: usize) -> Result<Self, Error> {
        if values.len() < 3 {
            return Err(Error::SmallSample { rows: values.len() as u64, least: 3 });
        }
        Self::new(values, first, Comparison::Student, 1)
    }

    /// Welch's t, with a variance for each sample. It is 0 for samples that are constant and equal,
    /// and infinite for those that are constant and different.
    ///
    /// # Errors
    ///
    /// [`Error::SmallSample`] unless each sample has two rows, [`Error::Constant`] if all are
    /// equal, and as [`difference_of_means`](Self::difference_of_means).
    pub fn welch_t(values: &[f64], first: usize) -> Result<Self, Error> {
        Self::new(values, first, Comparison::Welch, 2)
    }

    fn new(values: &[f64], first: usize, kind: Comparison, least: usize) -> Result<Self, Error> {
        let rows = first.min(values.len().saturating_sub(first));
        if rows < least {
            return Err(Error::SmallSample { rows: rows as u64, least: least as u64 });
        }
        let mut values = data::centred(values)?;
        let is_scale_free = matches!(kind, Comparison::Student | Comparison::Welch);
        if is_scale_free {
            data::scale(&mut values);
        }
        let (total, squares) = (sum(&values, |x| x), sum(&values, |x| x * x));
        let spread = values.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        if is_scale_free && spread == 0.0 {
            return Err(Error::Constant);
        }
        Ok(Self { values, first, kind, total, squares, spread })
    }

    fn value(&self, order: &[u32], room: &mut Vec<f64>) -> f64 {
        let (one, other) = order.split_at(self.first);
        let (n1, n2) = (one.len() as f64, other.len() as f64);
        let at = |row: u32| self.values[row as usize];
        if self.kind == Comparison::Medians {
            return median(one.iter().map(|&row| at(row)), room)
                - median(other.iter().map(|&row| at(row)), room);
        }
        // Only the smaller sample is added up; the rest of the total is the other's.
        let is_first = one.len() <= other.len();
        let smaller = if is_first { one } else { other };
        let part = sum(smaller, at);
        let (s1, s2) = if is_first { (part, self.total - part) } else { (self.total - part, part) };
        let difference = s1 / n1 - s2 / n2;
        match self.kind {
            Comparison::Means | Comparison::Medians => difference,
            Comparison::Student => {
                let within = self.squares - s1 * s1 / n1 - s2 * s2 / n2;
                let variance = self.cleared(within) / (n1 + n2 - 2.0);
                difference / (variance * (1.0 / n1 + 1.0 / n2)).sqrt()
            }
            Comparison::Welch => {
                let part = sum(smaller, |row| at(row) * at(row));
                let rest = self.squares - part;
                let (q1, q2) = if is_first { (part, rest) } else { (rest, part) };
                let variance = |q: f64, s: f64, n: f64| self.cleared(q - s * s / n) / (n - 1.0) / n;
                let variance = variance(q1, s1, n1) + variance(q2, s2, n2);
                // Constant samples with one value: the total is not constant, so never all of both.
                if difference == 0.0 { 0.0 } else { difference / variance.sqrt() }
            }
        }
    }

    /// A sum of squares, or 0 where nothing but rounding is left of it.
    fn cleared(&self, squares: f64) -> f64 {
        if squares < self.squares * 1e-14 { 0.0 } else { squares }
    }
}

/// The median of some values.
fn median(values: impl Iterator<Item = f64>, room: &mut Vec<f64>) -> f64 {
    room.clear();
    room.extend(values);
    let half = room.len() / 2;
    let is_odd = !room.len().is_multiple_of(2);
    let (below, &mut middle, _) = room.select_nth_unstable_by(half, f64::total_cmp);
    if is_odd {
        return middle;
    }
    let lower = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    lower / 2.0 + middle / 2.0
}

impl Statistic for TwoSamples {
    fn rows(&self) -> u64 {
        self.values.len() as u64
    }

    fn evaluate(&self, batch: ArrangementBatch<'_>, values: &mut [f64]) -> Result<(), Error> {
        let mut room = try_with_capacity(self.values.len())?;
        for (value, (order, _)) in values.iter_mut().zip(batch.iter()) {
            *value = self.value(order, &mut room);
        }
        Ok(())
    }

    fn rounding(&self, observed: f64) -> f64 {
        match self.kind {
            Comparison::Means | Comparison::Medians => {
                data::ROUNDING * observed.abs().max(self.spread)
            }
            // t is `r sqrt(d / (1 - r^2))` for a correlation `r`, which is rounded to ROUNDING.
            Comparison::Student | Comparison::Welch => {
                let d = self.values.len() as f64 - 2.0;
                data::ROUNDING * d.sqrt() * (1.0 + observed * observed / d).powf(1.5)
            }
        }
    }

    fn sample_ends(&self) -> Option<Vec<u64>> {
        Some(vec![self.first as u64])
    }
}

/// The F statistic of a one-way analysis of variance: the rows of the data are groups, one after
/// another.
///
/// The design is [`Design::groups`](crate::Design::groups) of the sizes, or any other that moves
/// rows between the groups. F is infinite where each group is constant.
#[derive(Clone, Debug)]
pub struct GroupsF {
    values: Vec<f64>,
    sizes: Vec<usize>,
    squares: f64,
    correction: f64,
}

impl GroupsF {
    /// The statistic of values in groups of some sizes.
    ///
    /// # Errors
    ///
    /// [`Error::GroupSizes`] unless the sizes are those of at least two groups, each with a row, of
    /// all values, [`Error::SmallSample`] if there are no more values than groups,
    /// [`Error::Constant`] if all values are equal, [`Error::NotFinite`] if a value is NaN or
    /// infinite, and [`Error::Shuffle`] if there is too little memory.
    pub fn new(values: &[f64], sizes: &[u64]) -> Result<Self, Error> {
        let own = data::sizes(sizes, values.len())?;
        let mut values = data::centred(values)?;
        data::scale(&mut values);
        let squares = sum(&values, |x| x * x);
        if squares == 0.0 {
            return Err(Error::Constant);
        }
        let total = sum(&values, |x| x);
        let correction = total * total / values.len() as f64;
        Ok(Self { values, sizes: own, squares, correction })
    }
}

impl Statistic for GroupsF {
    fn rows(&self) -> u64 {
        self.values.len() as u64
    }

    fn evaluate(&self, batch: ArrangementBatch<'_>, values: &mut [f64]) -> Result<(), Error> {
        let (n, k) = (self.values.len() as f64, self.sizes.len() as f64);
        for (value, (mut order, _)) in values.iter_mut().zip(batch.iter()) {
            let mut between = -self.correction;
            for &size in &self.sizes {
                let (group, rest) = order.split_at(size);
                let total = sum(group, |row| self.values[row as usize]);
                between += total * total / size as f64;
                order = rest;
            }
            let within = self.squares - self.correction - between;
            let within = if within < self.squares * 1e-14 { 0.0 } else { within };
            *value = (between.max(0.0) / (k - 1.0)) / (within / (n - k));
        }
        Ok(())
    }

    fn rounding(&self, observed: f64) -> f64 {
        data::rounding_of_ratio(observed, self.values.len(), self.sizes.len())
    }

    fn sample_ends(&self) -> Option<Vec<u64>> {
        data::ends(&self.sizes)
    }
}

/// The mean of one sample, whose null hypothesis is that values are symmetric about 0: for designs
/// with signs, such as the differences of pairs.
#[derive(Clone, Debug)]
pub struct OneSampleMean {
    values: Vec<f64>,
    spread: f64,
}

impl OneSampleMean {
    /// The mean of some values.
    ///
    /// # Errors
    ///
    /// [`Error::NotFinite`] if a value is NaN or infinite, [`Error::SmallSample`] if there are
    /// none, and [`Error::Shuffle`] if there is too little memory.
    pub fn new(values: &[f64]) -> Result<Self, Error> {
        data::check_finite(values)?;
        if values.is_empty() {
            return Err(Error::SmallSample { rows: 0, least: 1 });
        }
        let mut own = try_with_capacity(values.len())?;
        own.extend_from_slice(values);
        let spread = own.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        Ok(Self { values: own, spread })
    }
}

impl Statistic for OneSampleMean {
    fn rows(&self) -> u64 {
        self.values.len() as u64
    }

    fn evaluate(&self, batch: ArrangementBatch<'_>, values: &mut [f64]) -> Result<(), Error> {
        let n = self.values.len() as f64;
        for (value, (order, signs)) in values.iter_mut().zip(batch.iter()) {
            *value = match signs {
                [] => sum(order, |row| self.values[row as usize] / n),
                _ => {
                    sum2(order, signs, |row, sign| self.values[row as usize] * f64::from(sign) / n)
                }
            };
        }
        Ok(())
    }

    fn takes_signs(&self) -> bool {
        true
    }

    fn rounding(&self, observed: f64) -> f64 {
        data::ROUNDING * observed.abs().max(self.spread)
    }
}

/// The coefficient of correlation of two variables, of which the first is arranged and the second
/// stays. With signs those of the first variable, less its mean, are flipped.
#[derive(Clone, Debug)]
pub struct Correlation {
    /// Centred, and divided by the root of the sum of squares.
    arranged: Vec<f64>,
    fixed: Vec<f64>,
}

impl Correlation {
    /// The correlation of two variables.
    ///
    /// # Errors
    ///
    /// [`Error::RowCount`] if they have different lengths, [`Error::SmallSample`] for fewer than
    /// two rows, [`Error::Constant`] if one is constant, [`Error::NotFinite`] if a value is NaN or
    /// infinite, and [`Error::Shuffle`] if there is too little memory.
    pub fn new(arranged: &[f64], fixed: &[f64]) -> Result<Self, Error> {
        data::check_rows(arranged.len(), fixed.len())?;
        Ok(Self { arranged: data::standardised(arranged)?, fixed: data::standardised(fixed)? })
    }
}

impl Statistic for Correlation {
    fn rows(&self) -> u64 {
        self.arranged.len() as u64
    }

    fn evaluate(&self, batch: ArrangementBatch<'_>, values: &mut [f64]) -> Result<(), Error> {
        for (value, (order, signs)) in values.iter_mut().zip(batch.iter()) {
            *value = if signs.is_empty() {
                sum2(order, &self.fixed, |row, y| self.arranged[row as usize] * y)
            } else {
                let places = order.iter().zip(signs).zip(&self.fixed);
                places
                    .map(|((&row, &sign), y)| self.arranged[row as usize] * f64::from(sign) * y)
                    .sum()
            };
        }
        Ok(())
    }

    fn takes_signs(&self) -> bool {
        true
    }

    fn rounding(&self, _: f64) -> f64 {
        data::ROUNDING
    }
}
