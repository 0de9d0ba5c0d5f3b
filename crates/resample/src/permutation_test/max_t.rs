//! [`MaxT`]: a statistic of many responses at once, with p-values corrected for their number.
//!
//! 1. Every statistic here is a linear function of a sum over rows of the data, with a factor for
//!    each column. So the inner loop adds rows of a table, for the smaller sample only.
//! 2. Columns are ordered by their observed values, and cut into tiles of 32, whose sums stay in
//!    registers and whose rows stay in the first cache.
//! 3. Each arrangement has its maximum over the columns so far, so that columns are visited once.

use std::sync::{Mutex, PoisonError};

use bijective_shuffle::Seed;
use bijective_shuffle_engine::check::try_with_capacity;
use bijective_shuffle_engine::simd::{SimdKernel, SimdLevel};
use rayon::prelude::*;

use super::alternative::Alternative;
use super::data::{self, ROUNDING};
use super::plan::{DrawPlan, resize};
use super::statistic::ArrangementBatch;
use super::sums::sum;
use crate::{Design, Error};

/// The columns of a tile: four vectors of AVX-512.
const TILE: usize = 32;

/// How many arrangements are compared with a tile's observed values together, so that their sums
/// stay in the first cache.
const TOGETHER: usize = 64;

/// How many arrangements a thread takes at a time. Each time it reads the whole table.
const BATCH: usize = 512;

/// A test of many responses at once: each column of a table is a response, and all columns are
/// arranged alike, which keeps their dependence on each other.
///
/// The corrected p-values are those of the step-down maximum of Westfall and Young,
/// *Resampling-based multiple testing*, 1993, algorithm 4.1: rejecting those below a level makes
/// any false rejection with a probability of at most that level. By default the test looks at 9999
/// arrangements of seed 0, and at absolute values; results are the same on any number of threads.
/// It takes 8 bytes for each value of the table.
///
/// A column that is constant, where its statistic divides by the spread, has a p-value of NaN and
/// takes no part in maxima.
///
/// # Examples
///
/// ```
/// use bijective_shuffle_resample::{Design, MaxT};
///
/// // 20 rows of 50 columns, of which column 7 differs between the first and the last ten rows.
/// let value = |row: u64, column: u64| {
///     let noise = (row * 7919 + column * 104_729 + row * row * column) % 101;
///     noise as f64 + if column == 7 && row < 10 { 80.0 } else { 0.0 }
/// };
/// let values: Vec<f64> = (0..1000).map(|k| value(k / 50, k % 50)).collect();
/// let test = MaxT::student_t(&values, 50, 10)?.permutations(999);
/// let results = test.run(&Design::groups(&[10, 10])?)?;
/// assert!(results[7].corrected < 0.01);
/// assert!(results.iter().all(|column| column.corrected >= column.p_value));
/// # Ok::<(), bijective_shuffle_resample::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct MaxT {
    table: ResponseTable,
    /// For each place the factor of its row, or the places that are added up.
    sum: Sum,
    /// What turns a sum into a correlation, or into a difference.
    factor: f64,
    /// The degrees of freedom of t, unless the statistic is linear.
    freedom: Option<f64>,
    alternative: Alternative,
    seed: Seed,
    permutations: u64,
}

/// The values of a table, column after column, and how far each column's sums round.
#[derive(Clone, Debug)]
struct ResponseTable {
    rows: usize,
    columns: Vec<f64>,
    spreads: Vec<f64>,
}

#[derive(Clone, Debug)]
enum Sum {
    /// The places from the first to the second, with the factor 1.
    Places(usize, usize),
    /// All places, with factors.
    Factors(Vec<f64>),
    /// All places, with their signs.
    Signs,
}

/// What a test has found in a column.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ColumnResult {
    /// The statistic of the data as they are.
    pub observed: f64,
    /// The p-value of the column by itself.
    pub p_value: f64,
    /// The p-value, corrected for the number of columns.
    pub corrected: f64,
}

/// How far a test of many columns has come.
#[derive(Clone, Debug, Default)]
pub struct ColumnTally {
    seen: u64,
    counts: Vec<[u64; 2]>,
}

impl ColumnTally {
    /// The tally of a test that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of arrangements that the test has seen.
    pub fn arrangements(&self) -> u64 {
        self.seen
    }
}

impl MaxT {
    /// The mean of the first `first` rows less that of the others, for each column. `values` has
    /// the rows of the table one after another, each with `columns` values.
    ///
    /// # Errors
    ///
    /// [`Error::RowCount`] unless the values are whole rows, [`Error::NotFinite`] if a value is NaN
    /// or infinite, [`Error::SmallSample`] if a sample has too few rows, and [`Error::Shuffle`] if
    /// there is too little memory.
    pub fn difference_of_means(
        values: &[f64],
        columns: usize,
        first: usize,
    ) -> Result<Self, Error> {
        let mut table = ResponseTable::new(values, columns)?;
        let (sum, n1, n2) = two_samples(table.rows, first)?;
        table.each(|column| {
            data::centre(column);
            column.iter().fold(0.0, |most: f64, x| most.max(x.abs()))
        });
        let factor = (1.0 / n1 + 1.0 / n2) * sign_of(&sum);
        Ok(Self::of(table, sum, factor, None))
    }

    /// Student's t of two samples, with the pooled variance; otherwise as
    /// [`difference_of_means`](Self::difference_of_means).
    ///
    /// # Errors
    ///
    /// [`Error::SmallSample`] also for fewer than three rows; otherwise as
    /// [`difference_of_means`](Self::difference_of_means).
    pub fn student_t(values: &[f64], columns: usize, first: usize) -> Result<Self, Error> {
        let mut table = ResponseTable::new(values, columns)?;
        let (sum, n1, n2) = two_samples(table.rows, first)?;
        let freedom = table.freedom(2)?;
        table.each(|column| {
            data::centre(column);
            normalise(column)
        });
        // The correlation with which sample a row is in.
        let factor = ((n1 + n2) / (n1 * n2)).sqrt() * sign_of(&sum);
        Ok(Self::of(table, sum, factor, Some(freedom)))
    }

    /// The t of each column's correlation with a covariate, which stays in its place; otherwise as
    /// [`difference_of_means`](Self::difference_of_means).
    ///
    /// # Errors
    ///
    /// [`Error::Constant`] for a constant covariate, [`Error::SmallSample`] for fewer than three
    /// rows; otherwise as [`difference_of_means`](Self::difference_of_means).
    pub fn correlation(values: &[f64], columns: usize, covariate: &[f64]) -> Result<Self, Error> {
        let mut table = ResponseTable::new(values, columns)?;
        data::check_rows(table.rows, covariate.len())?;
        let freedom = table.freedom(2)?;
        let factors = data::standardised(covariate)?;
        table.each(|column| {
            data::centre(column);
            normalise(column)
        });
        Ok(Self::of(table, Sum::Factors(factors), 1.0, Some(freedom)))
    }

    /// The t of one sample, whose null hypothesis is that values are symmetric about 0: for designs
    /// with signs; otherwise as [`difference_of_means`](Self::difference_of_means).
    ///
    /// # Errors
    ///
    /// [`Error::SmallSample`] for fewer than two rows; otherwise as
    /// [`difference_of_means`](Self::difference_of_means).
    pub fn one_sample_t(values: &[f64], columns: usize) -> Result<Self, Error> {
        let mut table = ResponseTable::new(values, columns)?;
        let freedom = table.freedom(1)?;
        table.each(normalise);
        let factor = 1.0 / (table.rows as f64).sqrt();
        Ok(Self::of(table, Sum::Signs, factor, Some(freedom)))
    }

    fn of(table: ResponseTable, sum: Sum, factor: f64, freedom: Option<f64>) -> Self {
        let (seed, permutations) = (Seed::new(0), 9999);
        let alternative = Alternative::Absolute;
        Self { table, sum, factor, freedom, alternative, seed, permutations }
    }

    /// The largest number of arrangements to look at. If the design has no more, all of them are
    /// enumerated.
    #[must_use]
    pub fn permutations(self, permutations: u64) -> Self {
        Self { permutations, ..self }
    }

    /// The seed of the arrangements. Its epoch is not used.
    #[must_use]
    pub fn seed(self, seed: impl Into<Seed>) -> Self {
        Self { seed: seed.into(), ..self }
    }

    /// Which values are extreme. [`Alternative::TwoSided`] is as [`Alternative::Absolute`].
    #[must_use]
    pub fn alternative(self, alternative: Alternative) -> Self {
        Self { alternative, ..self }
    }

    /// Runs the test, and returns a result for each column.
    ///
    /// # Errors
    ///
    /// [`Error::RowCount`] if the design has another number of rows than the table,
    /// [`Error::SignsUnused`] if it flips signs and the statistic is of two samples or a
    /// correlation, and [`Error::Shuffle`] if there is too little memory.
    pub fn run(&self, design: &Design) -> Result<Vec<ColumnResult>, Error> {
        let mut tally = ColumnTally::new();
        self.run_while(design, &mut tally, |_| true)?;
        self.result(design, &tally)
    }

    /// Runs the test from where a tally ends, and asks now and then whether to go on. It returns
    /// whether the test is complete; if not, a later call goes on with the tally.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run), and [`Error::Tally`] if the tally is of another test. After an error
    /// the tally is as it was when it was last asked whether to go on.
    pub fn run_while(
        &self,
        design: &Design,
        tally: &mut ColumnTally,
        mut go_on: impl FnMut(&ColumnTally) -> bool,
    ) -> Result<bool, Error> {
        let plan = self.plan(design)?;
        let tiles = self.tiles(&plan)?;
        let columns = self.table.spreads.len();
        if tally.counts.is_empty() {
            tally.counts = try_with_capacity(columns)?;
            tally.counts.resize(columns, [0; 2]);
        }
        if tally.counts.len() != columns || tally.seen > plan.count {
            return Err(Error::Tally);
        }
        // A round is a batch for each thread, or more where columns are few.
        let batches = rayon::current_num_threads() as u64 * (8192 / columns as u64).max(1);
        let round = batches.saturating_mul(BATCH as u64);
        while tally.seen < plan.count {
            if !go_on(tally) {
                return Ok(false);
            }
            let end = plan.count.min(tally.seen.saturating_add(round));
            let counts = tiles.count(&plan, tally.seen, end)?;
            for (position, column) in tiles.order.iter().enumerate() {
                let all = &mut tally.counts[*column];
                for counts in &counts {
                    all[0] += counts[tiles.skipped + position][0];
                    all[1] += counts[tiles.skipped + position][1];
                }
            }
            tally.seen = end;
        }
        Ok(true)
    }

    /// The results of what a tally has seen: of the whole test, if it is complete.
    ///
    /// # Errors
    ///
    /// As [`run_while`](Self::run_while).
    pub fn result(&self, design: &Design, tally: &ColumnTally) -> Result<Vec<ColumnResult>, Error> {
        let plan = self.plan(design)?;
        let tiles = self.tiles(&plan)?;
        let columns = self.table.spreads.len();
        if tally.counts.len() != columns || tally.seen > plan.count {
            return Err(Error::Tally);
        }
        let own = if plan.is_exact { 0.0 } else { 1.0 };
        let p_value = |count: u64| (count as f64 + own) / (tally.seen as f64 + own);
        let mut results = try_with_capacity(columns)?;
        let none = ColumnResult { observed: f64::NAN, p_value: f64::NAN, corrected: f64::NAN };
        results.resize(columns, none);
        let mut least = 0.0;
        // From the most extreme column on, none of which may be less significant than the next.
        for &column in tiles.order.iter().rev() {
            let [alone, maximum] = tally.counts[column].map(p_value);
            least = maximum.max(least);
            let observed = self.reported(tiles.observed[column]);
            results[column] = ColumnResult { observed, p_value: alone, corrected: least };
        }
        Ok(results)
    }

    fn plan<'a>(&self, design: &'a Design) -> Result<DrawPlan<'a>, Error> {
        data::check_rows(design.len() as usize, self.table.rows)?;
        if design.is_signed() && !matches!(self.sum, Sum::Signs) {
            return Err(Error::SignsUnused);
        }
        let mut plan = DrawPlan::new(design, self.seed, self.permutations);
        plan.batch = BATCH;
        if let Sum::Places(first, end) = self.sum {
            plan.sorts_groups = !design.splits_at(&[if first == 0 { end } else { first } as u64]);
        }
        Ok(plan)
    }

    /// A statistic from a correlation or a difference.
    fn reported(&self, value: f64) -> f64 {
        match self.freedom {
            // What rounding leaves of nothing is nothing.
            Some(freedom) => {
                let rest = 1.0 - value * value;
                value * (freedom / if rest < 1e-14 { 0.0 } else { rest }).sqrt()
            }
            None => value,
        }
    }

    /// The columns in the order of their observed values, in tiles.
    fn tiles(&self, plan: &DrawPlan<'_>) -> Result<ColumnTiles<'_>, Error> {
        let ResponseTable { rows, columns, spreads } = &self.table;
        let rows = *rows;
        let mut observed = try_with_capacity(spreads.len())?;
        plan.identity(|batch| {
            for column in columns.chunks_exact(rows) {
                let value = |place: &u32| column[*place as usize];
                let own = match &self.sum {
                    Sum::Places(first, end) => sum(&batch.orders[*first..*end], |row| value(&row)),
                    Sum::Factors(factors) => batch
                        .orders
                        .iter()
                        .zip(factors)
                        .map(|(row, factor)| value(row) * factor)
                        .sum(),
                    Sum::Signs => batch.orders.iter().map(value).sum(),
                };
                observed.push(own * self.factor);
            }
            Ok(())
        })?;
        let extremeness = |column: usize| match self.alternative {
            Alternative::Greater => observed[column],
            Alternative::Less => -observed[column],
            Alternative::TwoSided | Alternative::Absolute => f64::abs(observed[column]),
        };
        let mut order = try_with_capacity(spreads.len())?;
        let is_used = |column: &usize| self.freedom.is_none() || spreads[*column] > 0.0;
        order.extend((0..spreads.len()).filter(is_used));
        order.sort_by(|&a, &b| f64::total_cmp(&extremeness(a), &extremeness(b)).then(a.cmp(&b)));
        // Columns that fill the first tile are never looked at.
        let skipped = order.len().next_multiple_of(TILE) - order.len();
        let positions = skipped + order.len();
        let mut limits = try_with_capacity(positions)?;
        limits.resize(skipped, f64::INFINITY);
        limits.extend(order.iter().map(|&column| {
            let own = extremeness(column);
            own - ROUNDING * own.abs().max(spreads[column] * self.factor.abs())
        }));
        let mut values = try_with_capacity(positions.saturating_mul(rows))?;
        values.resize(positions * rows, 0.0);
        for (position, &column) in (skipped..).zip(&order) {
            let tile = &mut values[position / TILE * TILE * rows..][..TILE * rows];
            let column = &columns[column * rows..][..rows];
            for (row, &value) in tile.chunks_exact_mut(TILE).zip(column) {
                row[position % TILE] = value;
            }
        }
        Ok(ColumnTiles { test: self, order, skipped, limits, values, observed })
    }
}

/// The smaller of two samples, and their sizes.
fn two_samples(rows: usize, first: usize) -> Result<(Sum, f64, f64), Error> {
    let least = first.min(rows.saturating_sub(first));
    if least == 0 {
        return Err(Error::SmallSample { rows: 0, least: 1 });
    }
    let second = rows - first;
    let places = if first <= second { Sum::Places(0, first) } else { Sum::Places(first, rows) };
    Ok((places, first as f64, second as f64))
}

/// The sign of the sample that is added up in a difference.
fn sign_of(sum: &Sum) -> f64 {
    if matches!(sum, Sum::Places(1.., _)) { -1.0 } else { 1.0 }
}

/// Divides a column by the root of its sum of squares. It returns 1, to which correlations round,
/// or 0 for a column of zeros.
fn normalise(column: &mut [f64]) -> f64 {
    data::scale(column);
    let norm = sum(column, |x| x * x).sqrt();
    if norm == 0.0 {
        return 0.0;
    }
    column.iter_mut().for_each(|x| *x /= norm);
    1.0
}

impl ResponseTable {
    /// The transposed table.
    fn new(values: &[f64], columns: usize) -> Result<Self, Error> {
        let rows = values.len().checked_div(columns).unwrap_or(0);
        data::check_rows(rows * columns, values.len())?;
        if rows == 0 {
            return Err(Error::SmallSample { rows: 0, least: 1 });
        }
        data::check_finite(values)?;
        let mut own = try_with_capacity(values.len())?;
        own.resize(values.len(), 0.0);
        // A few rows at a time, whose lines stay in the cache while columns are written.
        for (first, some) in (0..).step_by(8).zip(values.chunks(8 * columns)) {
            for (column, own) in own.chunks_exact_mut(rows).enumerate() {
                for (place, row) in own[first..].iter_mut().zip(some.chunks_exact(columns)) {
                    *place = row[column];
                }
            }
        }
        let mut spreads = try_with_capacity(columns)?;
        spreads.resize(columns, 0.0);
        Ok(Self { rows, columns: own, spreads })
    }

    /// Changes each column, on all threads, by a function that returns how far its sums round.
    fn each(&mut self, change: impl Fn(&mut [f64]) -> f64 + Sync + Send) {
        let columns = self.columns.par_chunks_exact_mut(self.rows).zip(&mut self.spreads);
        columns.for_each(|(column, spread)| *spread = change(column));
    }

    fn freedom(&self, parameters: usize) -> Result<f64, Error> {
        if self.rows <= parameters {
            let least = parameters as u64 + 1;
            return Err(Error::SmallSample { rows: self.rows as u64, least });
        }
        Ok((self.rows - parameters) as f64)
    }
}

/// The columns in the order of their observed values, in tiles of rows.
struct ColumnTiles<'a> {
    test: &'a MaxT,
    /// The columns, the least extreme first.
    order: Vec<usize>,
    /// How many positions come before the first column.
    skipped: usize,
    /// For each position, from which value on another is as extreme.
    limits: Vec<f64>,
    values: Vec<f64>,
    observed: Vec<f64>,
}

/// For each position, how many values and how many maxima were as extreme.
type ColumnCounts = Vec<[u64; 2]>;

impl ColumnTiles<'_> {
    /// The counts of some arrangements, as several lists that are to be added up.
    fn count(&self, plan: &DrawPlan<'_>, first: u64, end: u64) -> Result<Vec<ColumnCounts>, Error> {
        let kept = Mutex::new(Vec::new());
        let lock = || kept.lock().unwrap_or_else(PoisonError::into_inner);
        let batches = (end - first).div_ceil(BATCH as u64);
        (0..batches).into_par_iter().try_for_each(|batch| {
            let first = first + batch * BATCH as u64;
            let rows = (end - first).min(BATCH as u64) as usize;
            let mut counts: ColumnCounts = lock().pop().unwrap_or_default();
            resize(&mut counts, self.limits.len())?;
            plan.show(first, rows, |batch| {
                SimdLevel::current().run(CountTiles { tiles: self, batch, counts: &mut counts })
            })?;
            lock().push(counts);
            Ok::<(), Error>(())
        })?;
        Ok(kept.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

struct CountTiles<'a> {
    tiles: &'a ColumnTiles<'a>,
    batch: ArrangementBatch<'a>,
    counts: &'a mut [[u64; 2]],
}

impl SimdKernel for CountTiles<'_> {
    type Output = Result<(), Error>;

    #[inline(always)]
    fn run(self) -> Result<(), Error> {
        let Self { tiles, batch, counts } = self;
        let rows = batch.len;
        let test = tiles.test;
        let is_absolute = matches!(test.alternative, Alternative::Absolute | Alternative::TwoSided);
        let factor = if test.alternative == Alternative::Less { -test.factor } else { test.factor };
        let mut maxima = [f64::NEG_INFINITY; BATCH];
        let mut room = [[0.0; TILE]; TOGETHER];
        for (tile, values) in tiles.values.chunks_exact(TILE * rows).enumerate() {
            let limits = &tiles.limits[tile * TILE..][..TILE];
            let counts = &mut counts[tile * TILE..][..TILE];
            let start = if tile == 0 { tiles.skipped } else { 0 };
            let sign_len = if batch.signs.is_empty() { 0 } else { rows };
            for (chunk, maxima) in maxima[..batch.rows()].chunks_mut(TOGETHER).enumerate() {
                for (lane, room) in room[..maxima.len()].iter_mut().enumerate() {
                    let row = chunk * TOGETHER + lane;
                    let order = &batch.orders[row * rows..][..rows];
                    let signs = &batch.signs[row * sign_len..][..sign_len];
                    *room = tile_sums(&test.sum, values, order, signs);
                    for value in room {
                        *value *= factor;
                        *value = if is_absolute { value.abs() } else { *value };
                    }
                }
                for column in start..TILE {
                    let limit = limits[column];
                    let (mut alone, mut maximum) = (0, 0);
                    for (most, room) in maxima.iter_mut().zip(&room) {
                        let value = room[column];
                        *most = if value > *most { value } else { *most };
                        alone += u64::from(value >= limit);
                        maximum += u64::from(*most >= limit);
                    }
                    counts[column][0] += alone;
                    counts[column][1] += maximum;
                }
            }
        }
        Ok(())
    }
}

/// The sums of a tile's columns in an arrangement, in the order of the places.
#[inline(always)]
fn tile_sums(sum: &Sum, values: &[f64], order: &[u32], signs: &[i8]) -> [f64; TILE] {
    let mut sums = [0.0; TILE];
    let rows = values.as_chunks::<TILE>().0;
    match sum {
        Sum::Places(first, end) => {
            for &row in &order[*first..*end] {
                let values = &rows[row as usize];
                for lane in 0..TILE {
                    sums[lane] += values[lane];
                }
            }
        }
        Sum::Factors(factors) => {
            for (&row, &factor) in order.iter().zip(factors) {
                let values = &rows[row as usize];
                for lane in 0..TILE {
                    sums[lane] += values[lane] * factor;
                }
            }
        }
        Sum::Signs => {
            for (place, &row) in order.iter().enumerate() {
                let sign = signs.get(place).map_or(1.0, |&sign| f64::from(sign));
                let values = &rows[row as usize];
                for lane in 0..TILE {
                    sums[lane] += values[lane] * sign;
                }
            }
        }
    }
    sums
}
