//! [`Weights`] and [`Sets`]: what the classes `Weighted` and `Mixture` of the package stand on, and
//! [`weighted_sample`].

use bijective_shuffle_engine::check::try_with_capacity;
use bijective_shuffle_loaders::{ItemWeights, Mixture, Source, Weighted, integer_weights};
use numpy::{Element, PyArray1, PyArrayMethods, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::argument::{self, List};
use crate::errors::exception;
use crate::evaluate::{copied, zeros};
use crate::numbers::FEW;
use crate::seed;
use crate::shared::Shared;
use crate::threads::detached;

/// Weights in an array of NumPy: integers of 32 or 64 bits are read where they are, and float64
/// becomes whole numbers.
fn weights_of(py: Python<'_>, weights: &Bound<'_, PyAny>) -> PyResult<Box<dyn ItemWeights + Send>> {
    macro_rules! integers {
        ($($number:ty)+) => {$(
            if let Ok(array) = weights.cast::<PyArray1<$number>>() {
                return Ok(Box::new(Shared::new(array, "weights")?));
            }
        )+};
    }
    integers!(u64 i64 u32 i32);
    if let Ok(array) = weights.cast::<PyArray1<f64>>() {
        let floats = Shared::new(array, "weights")?;
        let whole = || floats.copied().and_then(|own| integer_weights(&own));
        return Ok(Box::new(detached(py, whole)?.map_err(exception)?));
    }
    Err(PyTypeError::new_err(
        "weights are an array of int32, uint32, int64, uint64 or float64 with one axis",
    ))
}

/// The numbers of an array, with any strides.
pub(crate) fn numbers_of<N: Element + Copy>(array: &PyReadonlyArray1<'_, N>) -> PyResult<Vec<N>> {
    // A view of items that are not aligned has no meaning in Rust, not even to copy it.
    if !array.is_aligned() {
        return Err(PyTypeError::new_err("the numbers of an array are aligned: give a copy of it"));
    }
    let mut numbers = try_with_capacity(array.len()).map_err(exception)?;
    numbers.extend(array.as_array());
    Ok(numbers)
}

/// Draws by weights, of all epochs.
#[pyclass(module = "bijective_shuffle", frozen)]
pub(crate) struct Weights {
    inner: Weighted,
}

#[pymethods]
impl Weights {
    #[new]
    fn new(py: Python<'_>, weights: &Bound<'_, PyAny>, seed: &Bound<'_, PyAny>) -> PyResult<Self> {
        let seed = seed::read(seed, 0)?;
        let weights = weights_of(py, weights)?;
        let inner = detached(py, || Weighted::new(&*weights, seed))?.map_err(exception)?;
        Ok(Self { inner })
    }

    /// The draws of a table that `table` gave. The table is copied.
    #[staticmethod]
    fn from_table(
        py: Python<'_>,
        table: &Bound<'_, PyArray1<u64>>,
        seed: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let seed = seed::read(seed, 0)?;
        let table = Shared::new(table, "the numbers of a table")?;
        let copy = || table.copied().and_then(|own| Weighted::from_table(own, seed));
        Ok(Self { inner: detached(py, copy)?.map_err(exception)? })
    }

    /// The table, one entry after another.
    fn table<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u64>>> {
        copied(py, self.inner.table())
    }

    /// The number of items.
    #[getter]
    fn n(&self) -> u64 {
        self.inner.len()
    }

    /// What distinguishes these draws from others, apart from the epoch.
    #[getter]
    fn fingerprint(&self) -> u64 {
        self.inner.fingerprint()
    }

    /// The item at a place of an epoch.
    fn item(
        &self,
        #[pyo3(from_py_with = argument::epoch)] epoch: u64,
        #[pyo3(from_py_with = argument::place)] place: u64,
    ) -> PyResult<u64> {
        let mut item = Vec::new();
        self.inner.items(epoch, 0, &mut [place], &mut item).map_err(exception)?;
        Ok(item[0])
    }

    /// The items at some places of an epoch.
    fn items<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = argument::epoch)] epoch: u64,
        places: PyReadonlyArray1<'py, u64>,
    ) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let mut places = numbers_of(&places)?;
        let is_short = places.len() <= FEW;
        let mut draw = || {
            let mut items = Vec::new();
            self.inner.items(epoch, 0, &mut places, &mut items).map(|()| items)
        };
        // A few are drawn by the calling thread, which keeps the GIL.
        let items = if is_short { draw() } else { detached(py, draw)? };
        Ok(PyArray1::from_vec(py, items.map_err(exception)?))
    }
}

/// Sets in fixed shares.
#[pyclass(module = "bijective_shuffle", frozen)]
pub(crate) struct Sets {
    inner: Mixture,
}

#[pymethods]
impl Sets {
    #[new]
    fn new(lengths: List<u64>, weights: List<u64>, seed: &Bound<'_, PyAny>) -> PyResult<Self> {
        let seed = seed::read(seed, 0)?;
        Ok(Self { inner: Mixture::new(&lengths.0, &weights.0, seed).map_err(exception)? })
    }

    /// Other weights, and more sets, from a place on.
    fn changed(
        &self,
        #[pyo3(from_py_with = argument::start)] start: u64,
        added: List<u64>,
        weights: List<u64>,
    ) -> PyResult<Self> {
        let mut inner = self.inner.clone();
        inner.change(start, &weights.0, &added.0).map_err(exception)?;
        Ok(Self { inner })
    }

    /// The number of places in which all counts are exact.
    #[getter]
    fn quota(&self) -> u64 {
        self.inner.quota()
    }

    /// The number of places in which each set comes as a whole, if it fits 64 bits.
    #[getter]
    fn one_pass(&self) -> Option<u64> {
        self.inner.pass()
    }

    /// What tells this mixture from others.
    #[getter]
    fn fingerprint(&self) -> u64 {
        self.inner.fingerprint()
    }

    /// Checks that there are places for an epoch.
    fn check_epoch(
        &self,
        #[pyo3(from_py_with = argument::epoch)] epoch: u64,
        #[pyo3(from_py_with = argument::n)] n: u64,
    ) -> PyResult<()> {
        self.inner.begin(epoch, Some(n)).map(|_| ()).map_err(exception)
    }

    /// The set and the item at a place.
    fn item(&self, #[pyo3(from_py_with = argument::place)] place: u64) -> (usize, u64) {
        self.inner.get(place)
    }

    /// The sets and the items at some places.
    #[expect(clippy::type_complexity, reason = "two arrays")]
    fn items<'py>(
        &self,
        py: Python<'py>,
        places: PyReadonlyArray1<'py, u64>,
    ) -> PyResult<(Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<u64>>)> {
        let places = numbers_of(&places)?;
        let mut pairs = try_with_capacity(places.len()).map_err(exception)?;
        pairs.resize(places.len(), (0, 0));
        let mut look_up = || self.inner.get_many(&places, &mut pairs);
        let found = if places.len() <= FEW { look_up() } else { detached(py, look_up)? };
        found.map_err(exception)?;
        let (sets, items) = (zeros(py, pairs.len() as u64)?, zeros(py, pairs.len() as u64)?);
        // SAFETY: the array is new, so nobody else reads or writes it.
        let (sets_out, items_out) =
            (unsafe { sets.as_slice_mut() }?, unsafe { items.as_slice_mut() }?);
        for ((set, item), pair) in sets_out.iter_mut().zip(items_out).zip(pairs) {
            (*set, *item) = (pair.0 as u64, pair.1);
        }
        Ok((sets, items))
    }
}

/// Items by weights, without replacement, in the order in which they are drawn.
#[pyfunction]
pub(crate) fn weighted_sample<'py>(
    py: Python<'py>,
    weights: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = argument::count)] count: u64,
    seed: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = argument::epoch)] epoch: u64,
) -> PyResult<Bound<'py, PyArray1<u64>>> {
    let seed = seed::read(seed, epoch)?;
    let weights = weights_of(py, weights)?;
    // No slice has more items than a `usize` counts; then more are asked for than there are.
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let sample = || bijective_shuffle_loaders::weighted_sample(&*weights, count, seed);
    let items = detached(py, sample)?.map_err(exception)?;
    Ok(PyArray1::from_vec(py, items))
}
