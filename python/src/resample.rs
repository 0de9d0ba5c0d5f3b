//! What the package `bijective_shuffle.resample` stands on: rows of the bootstrap, intervals, and
//! batches for private training.

use bijective_shuffle::rayon::prelude::*;
use bijective_shuffle_engine::check::try_with_capacity;
use bijective_shuffle_resample::{
    Bootstrap, Error, FixedSizeSample, PoissonSample, RowStatistic, SeriesBlocks, basic_interval,
    bca_interval, percentile_interval,
};
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::argument::{self, List};
use crate::errors::exception;
use crate::loaders::numbers_of;
use crate::seed;
use crate::threads::{Stop, detached, interruptible};

/// How many draws are made between two looks for Ctrl-C.
const PIECE: u64 = 1 << 24;

/// The exception for an error of the package.
fn refused(error: Error) -> PyErr {
    match error {
        Error::Shuffle(error) => exception(error),
        other => PyValueError::new_err(other.to_string()),
    }
}

/// A number of items, draws or rows. No memory has more than a `usize` counts.
fn number(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

/// Rows of a bootstrap.
#[pyclass(module = "bijective_shuffle", frozen)]
pub(crate) struct BootstrapRows {
    inner: Bootstrap,
    /// The number of items of each row; of a row of clusters the largest.
    draws: usize,
}

#[pymethods]
impl BootstrapRows {
    #[new]
    #[pyo3(signature = (n, seed, epoch, draws, strata, clusters, series))]
    #[expect(clippy::too_many_arguments, reason = "the arguments of a class in Python")]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = argument::n)] n: u64,
        seed: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = argument::epoch)] epoch: u64,
        draws: Option<u64>,
        strata: Option<PyReadonlyArray1<'_, i64>>,
        clusters: Option<PyReadonlyArray1<'_, i64>>,
        series: Option<(String, u64)>,
    ) -> PyResult<Self> {
        let seed = seed::read(seed, epoch)?;
        let [strata, clusters] =
            [strata, clusters].map(|labels| labels.map(|labels| numbers_of(&labels)).transpose());
        let (strata, clusters) = (strata?, clusters?);
        let mut largest = None;
        if let Some(clusters) = &clusters {
            largest = Some(largest_row(clusters)?);
        }
        let make = || {
            let mut inner = Bootstrap::new(number(n), seed)?;
            if let Some(labels) = &strata {
                inner = inner.strata(labels)?;
            }
            if let Some(labels) = &clusters {
                inner = inner.clusters(labels)?;
            }
            if let Some((kind, length)) = &series {
                inner = inner.series(blocks(kind, number(*length)))?;
            }
            match draws {
                Some(draws) => inner.with_draws(number(draws)),
                None => Ok(inner),
            }
        };
        let inner = detached(py, make)?.map_err(refused)?;
        let draws = largest.unwrap_or(number(draws.unwrap_or(n)));
        Ok(Self { inner, draws })
    }

    /// The items of some rows, one row after another. Rows of clusters are asked for one by one.
    fn indexes<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = argument::first)] first: u64,
        #[pyo3(from_py_with = argument::count)] count: u64,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let draw = |stop: &Stop| {
            if count == 1 {
                let mut row = Vec::new();
                self.inner.indexes(first, &mut row)?;
                return as_i64(&row);
            }
            let len = number(count).saturating_mul(self.draws);
            let mut out = try_with_capacity(len)?;
            out.resize(len, 0);
            let rows = out.par_chunks_mut(self.draws.max(1)).enumerate();
            rows.try_for_each_init(Vec::new, |row, (number, out)| {
                if !stop.is_set() {
                    self.inner.indexes(first.wrapping_add(number as u64), row)?;
                    out.iter_mut().zip(&*row).for_each(|(out, &item)| *out = item as i64);
                }
                Ok::<_, Error>(())
            })?;
            Ok(out)
        };
        Ok(PyArray1::from_vec(py, interruptible(py, draw)?.map_err(refused)?))
    }

    /// How often each item is in some rows, one row after another.
    fn counts<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = argument::first)] first: u64,
        #[pyo3(from_py_with = argument::count)] count: u64,
    ) -> PyResult<Bound<'py, PyArray1<u32>>> {
        self.written(py, first, count, |row, out| self.inner.counts(row, out))
    }

    /// The weights of some rows of the Bayesian bootstrap, one row after another.
    fn weights<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = argument::first)] first: u64,
        #[pyo3(from_py_with = argument::count)] count: u64,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        self.written(py, first, count, |row, out| self.inner.weights(row, out))
    }

    /// The values of a statistic of each of some columns, one row after another.
    fn statistics<'py>(
        &self,
        py: Python<'py>,
        columns: &Columns,
        #[pyo3(from_py_with = argument::first)] first: u64,
        #[pyo3(from_py_with = argument::count)] count: u64,
        bayesian: bool,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let values = interruptible(py, |stop| {
            let statistics = columns.statistics()?;
            let statistics: Vec<_> = statistics.iter().collect();
            let mut all = try_with_capacity(number(count).saturating_mul(statistics.len()))?;
            let (piece, mut done) = ((PIECE / (self.draws.max(1) as u64)).max(1), 0);
            while done < count && !stop.is_set() {
                let next = (done + piece).min(count);
                let rows = first.saturating_add(done)..first.saturating_add(next);
                all.extend(if bayesian {
                    self.inner.bayesian_statistics(rows, &statistics)?
                } else {
                    self.inner.statistics(rows, &statistics)?
                });
                done = next;
            }
            Ok(all)
        })?;
        Ok(PyArray1::from_vec(py, values.map_err(refused)?))
    }
}

impl BootstrapRows {
    /// An array with a number for each item of each row.
    fn written<'py, T: numpy::Element + Copy + Default + Send>(
        &self,
        py: Python<'py>,
        first: u64,
        count: u64,
        write: impl Fn(u64, &mut [T]) -> Result<(), Error> + Sync + Send,
    ) -> PyResult<Bound<'py, PyArray1<T>>> {
        let items = self.inner.items();
        let numbers = interruptible(py, |stop| {
            let len = number(count).saturating_mul(items);
            let mut out = try_with_capacity(len)?;
            out.resize(len, T::default());
            out.par_chunks_mut(items).enumerate().try_for_each(|(number, out)| {
                if stop.is_set() { Ok(()) } else { write(first.wrapping_add(number as u64), out) }
            })?;
            Ok(out)
        })?;
        Ok(PyArray1::from_vec(py, numbers.map_err(refused)?))
    }
}

fn as_i64(row: &[usize]) -> Result<Vec<i64>, Error> {
    let mut items = try_with_capacity(row.len())?;
    items.extend(row.iter().map(|&item| item as i64));
    Ok(items)
}

fn blocks(kind: &str, length: usize) -> SeriesBlocks {
    match kind {
        "moving" => SeriesBlocks::Moving(length),
        "circular" => SeriesBlocks::Circular(length),
        _ => SeriesBlocks::Stationary(length),
    }
}

/// The largest number of items of a row of clusters.
fn largest_row(labels: &[i64]) -> PyResult<usize> {
    let mut sorted = try_with_capacity(labels.len()).map_err(exception)?;
    sorted.extend_from_slice(labels);
    sorted.sort_unstable();
    let sizes = || sorted.chunk_by(|a, b| a == b).map(<[_]>::len);
    Ok(sizes().count().saturating_mul(sizes().max().unwrap_or(0)))
}

/// The data of a statistic: a column for each value of a row, and a second one where it takes two.
#[pyclass(module = "bijective_shuffle", frozen)]
pub(crate) struct Columns {
    kind: Kind,
    items: usize,
    x: Vec<f64>,
    y: Vec<f64>,
}

#[derive(Clone, Copy)]
enum Kind {
    Mean,
    WeightedMean,
    Quantile(f64),
    Correlation,
}

#[pymethods]
impl Columns {
    #[new]
    #[pyo3(signature = (kind, x, y, q))]
    fn new(
        kind: &str,
        x: PyReadonlyArray2<'_, f64>,
        y: Option<PyReadonlyArray2<'_, f64>>,
        q: f64,
    ) -> PyResult<Self> {
        let kind = match (kind, &y) {
            ("mean", None) => Kind::Mean,
            ("quantile", None) => Kind::Quantile(q),
            ("weighted_mean", Some(_)) => Kind::WeightedMean,
            ("correlation", Some(_)) => Kind::Correlation,
            _ => {
                let text = format!("{kind} is no statistic of this many samples");
                return Err(PyValueError::new_err(text));
            }
        };
        let items = x.as_array().ncols();
        if y.as_ref().is_some_and(|y| y.as_array().dim() != x.as_array().dim()) {
            return Err(PyValueError::new_err("both samples have one shape"));
        }
        let x = rows_of(&x)?;
        let y = y.map_or_else(|| Ok(Vec::new()), |y| rows_of(&y))?;
        Ok(Self { kind, items, x, y })
    }

    /// The statistics of the data themselves.
    fn observed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let values = detached(py, || {
            let statistics = self.statistics()?;
            let mut values = try_with_capacity(statistics.len())?;
            values.extend(statistics.iter().map(RowStatistic::observed));
            Ok(values)
        })?;
        Ok(PyArray1::from_vec(py, values.map_err(refused)?))
    }

    /// The statistics without each of the items, one column after another.
    fn leave_one_out<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let values = detached(py, || {
            let statistics = self.statistics()?;
            let mut values = try_with_capacity(self.x.len())?;
            for statistic in &statistics {
                values.extend(statistic.leave_one_out()?);
            }
            Ok(values)
        })?;
        Ok(PyArray1::from_vec(py, values.map_err(refused)?))
    }
}

impl Columns {
    fn statistics(&self) -> Result<Vec<RowStatistic<'_>>, Error> {
        let columns = self.x.len().checked_div(self.items).unwrap_or(0);
        let mut statistics = try_with_capacity(columns)?;
        for column in 0..columns {
            let of_column = column * self.items..(column + 1) * self.items;
            let x = &self.x[of_column.clone()];
            let y = || &self.y[of_column.clone()];
            statistics.push(match self.kind {
                Kind::Mean => RowStatistic::mean(x),
                Kind::WeightedMean => RowStatistic::weighted_mean(x, y())?,
                Kind::Quantile(q) => RowStatistic::quantile(x, q)?,
                Kind::Correlation => RowStatistic::correlation(x, y())?,
            });
        }
        Ok(statistics)
    }
}

/// A copy of an array, row by row.
fn rows_of(array: &PyReadonlyArray2<'_, f64>) -> PyResult<Vec<f64>> {
    if !array.is_c_contiguous() || !array.is_aligned() {
        return Err(PyValueError::new_err("the samples are contiguous and aligned"));
    }
    let mut numbers = try_with_capacity(array.len()).map_err(exception)?;
    numbers.extend(array.as_array());
    Ok(numbers)
}

/// The ends of a confidence interval. Both are NaN where it is undefined.
#[pyfunction]
pub(crate) fn bootstrap_interval(
    py: Python<'_>,
    method: &str,
    values: PyReadonlyArray1<'_, f64>,
    observed: f64,
    jackknife: List<PyReadonlyArray1<'_, f64>>,
    tail: f64,
) -> PyResult<[f64; 2]> {
    let values = numbers_of(&values)?;
    let mut samples = try_with_capacity(jackknife.0.len()).map_err(exception)?;
    for sample in &jackknife.0 {
        samples.push(numbers_of(sample)?);
    }
    let interval = || match method {
        "percentile" => percentile_interval(&values, tail),
        "basic" => basic_interval(&values, observed, tail),
        _ => {
            let samples: Vec<_> = samples.iter().map(Vec::as_slice).collect();
            bca_interval(&values, observed, &samples, tail)
        }
    };
    match detached(py, interval)? {
        Err(Error::Degenerate) => Ok([f64::NAN; 2]),
        ends => ends.map_err(refused),
    }
}

/// Batches that have each item by itself with one probability.
#[pyclass(module = "bijective_shuffle", frozen)]
pub(crate) struct PoissonBatches {
    inner: PoissonSample,
}

#[pymethods]
impl PoissonBatches {
    #[new]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = argument::n)] n: u64,
        probability: f64,
        seed: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let seed = seed::read(seed, 0)?;
        let make = || PoissonSample::new(check_items(n)?, probability, seed);
        Ok(Self { inner: detached(py, make)?.map_err(refused)? })
    }

    /// A rank's items of a step, in ascending order.
    fn batch<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = argument::epoch)] step: u64,
        #[pyo3(from_py_with = argument::rank)] rank: u64,
        #[pyo3(from_py_with = argument::ranks)] ranks: u64,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let mut items = Vec::new();
        let drawn = self.inner.share(step, rank, ranks, &mut items).and_then(|()| signed(&items));
        Ok(PyArray1::from_vec(py, drawn.map_err(refused)?))
    }
}

/// Batches of one size, without replacement.
#[pyclass(module = "bijective_shuffle", frozen)]
pub(crate) struct FixedSizeBatches {
    inner: FixedSizeSample,
}

#[pymethods]
impl FixedSizeBatches {
    #[new]
    fn new(
        #[pyo3(from_py_with = argument::n)] n: u64,
        #[pyo3(from_py_with = argument::size)] size: u64,
        seed: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let seed = seed::read(seed, 0)?;
        let made = check_items(n).and_then(|n| FixedSizeSample::new(n, size, seed));
        Ok(Self { inner: made.map_err(refused)? })
    }

    /// A rank's items of a step, in the order in which they are drawn.
    fn batch<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = argument::epoch)] step: u64,
        #[pyo3(from_py_with = argument::rank)] rank: u64,
        #[pyo3(from_py_with = argument::ranks)] ranks: u64,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let mut items = Vec::new();
        let drawn = self.inner.share(step, rank, ranks, &mut items).and_then(|()| signed(&items));
        Ok(PyArray1::from_vec(py, drawn.map_err(refused)?))
    }
}

/// Batches are of int64, which is what indexes are to data sets.
fn check_items(n: u64) -> Result<u64, Error> {
    if n > 1 << 63 { Err(Error::BatchTooLarge) } else { Ok(n) }
}

fn signed(items: &[u64]) -> Result<Vec<i64>, Error> {
    let mut out = try_with_capacity(items.len())?;
    out.extend(items.iter().map(|&item| item as i64));
    Ok(out)
}
