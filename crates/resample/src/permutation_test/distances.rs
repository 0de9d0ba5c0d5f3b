//! Statistics of the distances between rows: PERMANOVA, ANOSIM, Mantel.

use bijective_shuffle_engine::check::try_with_capacity;
use bijective_shuffle_engine::simd::{SimdKernel, SimdLevel};

use super::data;
use super::statistic::{ArrangementBatch, Statistic};
use super::sums::{sum, sum2};
use crate::Error;

/// How many arrangements are looked at together, one to a lane: eight vectors of AVX-512.
const LANES: usize = 64;

/// Checks a square matrix of distances: as many columns as rows, symmetric, with zeros on the
/// diagonal, and no number that is negative, infinite or NaN.
fn check(distances: &[f64]) -> Result<usize, Error> {
    let rows = distances.len().isqrt();
    if rows * rows != distances.len() {
        return Err(Error::NotSquare { items: distances.len() as u64 });
    }
    data::check_finite(distances)?;
    for row in 0..rows {
        for column in 0..=row {
            let [one, other] = [row * rows + column, column * rows + row].map(|at| distances[at]);
            if one != other || one < 0.0 || row == column && one != 0.0 {
                return Err(Error::NotDistances { row: row as u64, column: column as u64 });
            }
        }
    }
    Ok(rows)
}

/// A number for each pair of rows, those of a row with all before it one after another.
fn below_diagonal(
    distances: &[f64],
    rows: usize,
    of: impl Fn(f64) -> f64,
) -> Result<Vec<f64>, Error> {
    let mut pairs = try_with_capacity(rows * rows.saturating_sub(1) / 2)?;
    for row in 1..rows {
        pairs.extend(distances[row * rows..][..row].iter().map(|&distance| of(distance)));
    }
    Ok(pairs)
}

/// Sums over the pairs of rows that are in one group, for many arrangements at once. The sum of a
/// row's pairs is weighted by its group.
struct WithinSums<'a> {
    pairs: &'a [f64],
    sizes: &'a [usize],
    weights: &'a [f64],
    batch: ArrangementBatch<'a>,
    sums: &'a mut [f64],
}

impl SimdKernel for WithinSums<'_> {
    type Output = Result<(), Error>;

    #[inline(always)]
    fn run(self) -> Result<(), Error> {
        // Groups are compared as bytes where there are few of them, in vectors of more lanes.
        if self.sizes.len() <= 256 { self.add::<u8>() } else { self.add::<u32>() }
    }
}

/// The number of a group.
trait GroupLabel: Copy + PartialEq + Default {
    fn of(number: usize) -> Self;
    fn number(self) -> usize;
}

macro_rules! group_labels {
    ($($label:ty)*) => {$(
        impl GroupLabel for $label {
            #[inline(always)]
            fn of(number: usize) -> Self {
                number as Self
            }
            #[inline(always)]
            fn number(self) -> usize {
                self as usize
            }
        }
    )*};
}
group_labels!(u8 u32);

impl WithinSums<'_> {
    #[inline(always)]
    fn add<L: GroupLabel>(self) -> Result<(), Error> {
        let Self { pairs, sizes, weights, batch, sums } = self;
        let rows = batch.len;
        let mut groups = try_with_capacity(rows)?;
        groups.resize(rows, [L::default(); LANES]);
        for (orders, sums) in batch.orders.chunks(LANES * rows).zip(sums.chunks_mut(LANES)) {
            for (lane, order) in orders.chunks_exact(rows).enumerate() {
                let mut order = order.iter();
                for (group, &size) in sizes.iter().enumerate() {
                    for &row in order.by_ref().take(size) {
                        groups[row as usize][lane] = L::of(group);
                    }
                }
            }
            let mut all = [0.0; LANES];
            let mut rest = pairs;
            for row in 1..rows {
                let (pairs, later) = rest.split_at(row);
                rest = later;
                let own = groups[row];
                let mut row_sums = [0.0; LANES];
                for (&number, other) in pairs.iter().zip(&groups[..row]) {
                    for lane in 0..LANES {
                        row_sums[lane] += if own[lane] == other[lane] { number } else { 0.0 };
                    }
                }
                for lane in 0..LANES {
                    all[lane] += row_sums[lane] * weights[own[lane].number()];
                }
            }
            sums.copy_from_slice(&all[..sums.len()]);
        }
        Ok(())
    }
}

/// The pseudo-F of PERMANOVA: the rows are groups, one after another, and only the distances
/// between rows are known.
///
/// Source: Anderson, *A new method for non-parametric multivariate analysis of variance*, Austral
/// Ecology 26, 2001, equations 1 to 4. It takes 8 bytes for each pair of rows.
#[derive(Clone, Debug)]
pub struct Permanova {
    /// Squares of distances, scaled by a power of two.
    pairs: Vec<f64>,
    rows: usize,
    sizes: Vec<usize>,
    weights: Vec<f64>,
    total: f64,
}

impl Permanova {
    /// The statistic of a square matrix of distances, row by row, for groups of some sizes.
    ///
    /// # Errors
    ///
    /// [`Error::NotSquare`], [`Error::NotDistances`] unless the matrix is symmetric and its
    /// diagonal 0, [`Error::NotFinite`] for a distance that is NaN or infinite,
    /// [`Error::GroupSizes`], [`Error::SmallSample`] unless there are more rows than groups,
    /// [`Error::Constant`] if all distances are 0, and [`Error::Shuffle`] if there is too little
    /// memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle_resample::{Alternative, Design, Permanova, PermutationTest};
    ///
    /// let places: [f64; 7] = [1.0, 1.5, 1.2, 5.0, 5.5, 5.2, 4.9];
    /// let distances = places.map(|a| places.map(|b| (a - b).abs())).concat();
    /// let statistic = Permanova::new(&distances, &[3, 4])?;
    /// let design = Design::groups(&[3, 4])?;
    /// let test = PermutationTest::new(&design, &statistic).alternative(Alternative::Greater);
    /// assert_eq!(test.run()?.p_value(), 1.0 / 35.0);
    /// # Ok::<(), bijective_shuffle_resample::Error>(())
    /// ```
    pub fn new(distances: &[f64], sizes: &[u64]) -> Result<Self, Error> {
        let rows = check(distances)?;
        let sizes = data::sizes(sizes, rows)?;
        let mut pairs = below_diagonal(distances, rows, |distance| distance)?;
        data::scale(&mut pairs);
        pairs.iter_mut().for_each(|distance| *distance *= *distance);
        let total = sum(&pairs, |square| square) / rows as f64;
        if total == 0.0 {
            return Err(Error::Constant);
        }
        let mut weights = try_with_capacity(sizes.len())?;
        weights.extend(sizes.iter().map(|&size| 1.0 / size as f64));
        Ok(Self { pairs, rows, sizes, weights, total })
    }
}

impl Statistic for Permanova {
    fn rows(&self) -> u64 {
        self.rows as u64
    }

    fn evaluate(&self, batch: ArrangementBatch<'_>, values: &mut [f64]) -> Result<(), Error> {
        let Self { pairs, sizes, weights, .. } = self;
        let sums = WithinSums { pairs, sizes, weights, batch, sums: values };
        SimdLevel::current().run(sums)?;
        let (n, k) = (self.rows as f64, self.sizes.len() as f64);
        for value in values {
            let within = if *value < self.total * 1e-14 { 0.0 } else { *value };
            *value = ((self.total - within).max(0.0) / (k - 1.0)) / (within / (n - k));
        }
        Ok(())
    }

    fn rounding(&self, observed: f64) -> f64 {
        data::rounding_of_ratio(observed, self.rows, self.sizes.len())
    }

    fn sample_ends(&self) -> Option<Vec<u64>> {
        data::ends(&self.sizes)
    }
}

/// The R of ANOSIM: how much higher the ranks of distances are between groups than within them.
///
/// Source: Clarke, *Non-parametric multivariate analyses of changes in community structure*,
/// Australian Journal of Ecology 18, 1993. Equal distances share the mean of their ranks. Values
/// are exact up to their last division.
#[derive(Clone, Debug)]
pub struct Anosim {
    ranks: Vec<f64>,
    rows: usize,
    sizes: Vec<usize>,
    weights: Vec<f64>,
}

impl Anosim {
    /// The statistic of a square matrix of distances, row by row, for groups of some sizes.
    ///
    /// # Errors
    ///
    /// [`Error::Constant`] if all distances are equal; otherwise as [`Permanova::new`].
    pub fn new(distances: &[f64], sizes: &[u64]) -> Result<Self, Error> {
        let rows = check(distances)?;
        let sizes = data::sizes(sizes, rows)?;
        let pairs = below_diagonal(distances, rows, |distance| distance)?;
        let mut order = try_with_capacity(pairs.len())?;
        order.extend(0..pairs.len());
        order.sort_unstable_by(|&a, &b| f64::total_cmp(&pairs[a], &pairs[b]));
        if order.first().map(|&a| pairs[a]) == order.last().map(|&a| pairs[a]) {
            return Err(Error::Constant);
        }
        let mut ranks = try_with_capacity(pairs.len())?;
        ranks.resize(pairs.len(), 0.0);
        let mut first = 0;
        for ties in order.chunk_by(|&a, &b| pairs[a] == pairs[b]) {
            // Ranks from 1 on: the mean of the first and the last.
            let rank = (2 * first + ties.len() + 1) as f64 / 2.0;
            ties.iter().for_each(|&pair| ranks[pair] = rank);
            first += ties.len();
        }
        let mut weights = try_with_capacity(sizes.len())?;
        weights.resize(sizes.len(), 1.0);
        Ok(Self { ranks, rows, sizes, weights })
    }
}

impl Statistic for Anosim {
    fn rows(&self) -> u64 {
        self.rows as u64
    }

    fn evaluate(&self, batch: ArrangementBatch<'_>, values: &mut [f64]) -> Result<(), Error> {
        let Self { ranks, sizes, weights, .. } = self;
        SimdLevel::current().run(WithinSums {
            pairs: ranks,
            sizes,
            weights,
            batch,
            sums: values,
        })?;
        let pairs = ranks.len() as f64;
        let total = pairs * (pairs + 1.0) / 2.0;
        let within: usize = sizes.iter().map(|size| size * (size - 1) / 2).sum();
        let within = within as f64;
        for value in values {
            let means = [(total - *value) / (pairs - within), *value / within];
            *value = (means[0] - means[1]) / (pairs / 2.0);
        }
        Ok(())
    }

    fn rounding(&self, _: f64) -> f64 {
        data::ROUNDING
    }

    fn sample_ends(&self) -> Option<Vec<u64>> {
        data::ends(&self.sizes)
    }
}

/// Mantel's r: the correlation of the distances of two matrices, of which the rows and columns of
/// the first are arranged.
///
/// Source: Mantel, *The detection of disease clustering and a generalized regression approach*,
/// Cancer Research 27, 1967. It takes 12 bytes for each entry of a matrix.
#[derive(Clone, Debug)]
pub struct Mantel {
    /// The whole matrix, of standardised distances.
    arranged: Vec<f64>,
    fixed: Vec<f64>,
    rows: usize,
}

impl Mantel {
    /// The statistic of two square matrices of distances, row by row.
    ///
    /// # Errors
    ///
    /// [`Error::RowCount`] if the matrices have different sizes, [`Error::SmallSample`] for fewer
    /// than three rows, [`Error::Constant`] if all distances of one are equal, and as
    /// [`Permanova::new`].
    pub fn new(arranged: &[f64], fixed: &[f64]) -> Result<Self, Error> {
        let rows = check(arranged)?;
        data::check_rows(rows, check(fixed)?)?;
        if rows < 3 {
            return Err(Error::SmallSample { rows: rows as u64, least: 3 });
        }
        let own = |distances| data::standardised(&below_diagonal(distances, rows, |d| d)?);
        let (pairs, fixed) = (own(arranged)?, own(fixed)?);
        let mut arranged = try_with_capacity(rows * rows)?;
        arranged.resize(rows * rows, 0.0);
        let mut rest = pairs.as_slice();
        for row in 1..rows {
            let (pairs, later) = rest.split_at(row);
            rest = later;
            for (column, &pair) in pairs.iter().enumerate() {
                arranged[row * rows + column] = pair;
                arranged[column * rows + row] = pair;
            }
        }
        Ok(Self { arranged, fixed, rows })
    }
}

impl Statistic for Mantel {
    fn rows(&self) -> u64 {
        self.rows as u64
    }

    fn evaluate(&self, batch: ArrangementBatch<'_>, values: &mut [f64]) -> Result<(), Error> {
        for (value, (order, _)) in values.iter_mut().zip(batch.iter()) {
            let mut rest = self.fixed.as_slice();
            *value = 0.0;
            for (place, &row) in order.iter().enumerate() {
                let (pairs, later) = rest.split_at(place);
                rest = later;
                let own = &self.arranged[row as usize * self.rows..][..self.rows];
                *value += sum2(&order[..place], pairs, |other, pair| own[other as usize] * pair);
            }
        }
        Ok(())
    }

    fn rounding(&self, _: f64) -> f64 {
        data::ROUNDING
    }
}
