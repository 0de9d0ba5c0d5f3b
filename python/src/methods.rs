//! The methods of [`Permutation`] that Python calls.

use bijective_shuffle_bindings::{Lookup, OrderKind, PlaceRun};
use numpy::PyUntypedArray;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::argument;
use crate::dtype::IndexType;
use crate::errors::exception;
use crate::evaluate;
use crate::iter::{Chunks, Indexes};
use crate::passes::refuse_loaders;
use crate::permutation::Permutation;
use crate::places::{self, Places};
use crate::run::length;
use crate::seed;
use crate::threads::interruptible;

impl Permutation {
    fn all(&self) -> PlaceRun {
        PlaceRun::first(self.order.len())
    }

    /// A view of some places.
    fn places(slf: &Bound<'_, Self>, run: PlaceRun) -> Places {
        Places { of: slf.clone().unbind(), run }
    }
}

#[pymethods]
impl Permutation {
    #[new]
    #[pyo3(signature = (n, seed, epoch=0))]
    fn new(
        #[pyo3(from_py_with = argument::n)] n: u64,
        seed: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = argument::epoch)] epoch: u64,
    ) -> PyResult<Self> {
        Self::make(OrderKind::Compacted, n, seed::read(seed, epoch)?)
    }

    /// A different permutation of `range(n)`, which needs no index for any view at any length. It
    /// is `Permutation::walk` in Rust.
    #[staticmethod]
    #[pyo3(signature = (n, seed, epoch=0))]
    fn walk(
        #[pyo3(from_py_with = argument::n)] n: u64,
        seed: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = argument::epoch)] epoch: u64,
    ) -> PyResult<Self> {
        Self::make(OrderKind::Walk, n, seed::read(seed, epoch)?)
    }

    fn __len__(&self) -> PyResult<usize> {
        length(self.order.len(), "places", ".n")
    }

    fn __bool__(&self) -> bool {
        self.order.len() > 0
    }

    /// The number of items, also where `len` has no room for it.
    #[getter]
    fn n(&self) -> u64 {
        self.order.len()
    }

    /// The seed, as it was given.
    #[getter]
    fn seed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        seed::to_python(self.seed, py)
    }

    /// The epoch.
    #[getter]
    fn epoch(&self) -> u64 {
        self.seed.epoch()
    }

    /// Whether this is the inverse of the permutation that the seed determines.
    #[getter]
    fn is_inverted(&self) -> bool {
        self.order.is_inverted()
    }

    fn __getitem__<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        places::look_up(slf.as_unbound(), slf.py(), slf.get().all(), key)
    }

    fn __contains__(&self, value: &Bound<'_, PyAny>) -> bool {
        value.extract::<u64>().is_ok_and(|value| value < self.order.len())
    }

    fn __iter__(slf: &Bound<'_, Self>) -> PyResult<Indexes> {
        refuse_loaders(slf.py(), "Permutation")?;
        Ok(Indexes::new(slf.py(), slf.as_unbound(), slf.get().all()))
    }

    /// The place of an index, the `k` with `p[k] == index`; for an array of indexes, an array of
    /// places. Raises `ValueError` for what is no index below `n`.
    fn position<'py>(&self, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = index.py();
        if index.is_instance_of::<PyUntypedArray>() || !index.hasattr("__index__")? {
            return self.several(py, index, Lookup::Place, None);
        }
        let number = py.import("operator")?.call_method1("index", (index,))?;
        let not_there = |_| PyValueError::new_err(format!("{number} is not in the permutation"));
        let index = self.index(number.extract::<i128>().map_err(not_there)?)?;
        Ok(self.place_of(py, index)?.into_pyobject(py)?.into_any())
    }

    /// The contiguous share of one of `ranks` workers: the places from `n * rank // ranks` up to
    /// `n * (rank + 1) // ranks`.
    fn shard(
        slf: &Bound<'_, Self>,
        #[pyo3(from_py_with = argument::rank)] rank: u64,
        #[pyo3(from_py_with = argument::ranks)] ranks: u64,
    ) -> PyResult<Places> {
        let run = PlaceRun::shard(slf.get().order.len(), rank, ranks).map_err(exception)?;
        Ok(Self::places(slf, run))
    }

    /// The places `rank`, `rank + ranks`, `rank + 2 * ranks` and so on.
    fn shard_strided(
        slf: &Bound<'_, Self>,
        #[pyo3(from_py_with = argument::rank)] rank: u64,
        #[pyo3(from_py_with = argument::ranks)] ranks: u64,
    ) -> PyResult<Places> {
        let run = PlaceRun::shard_strided(slf.get().order.len(), rank, ranks).map_err(exception)?;
        Ok(Self::places(slf, run))
    }

    /// The first `count` places, or all if there are fewer.
    fn head(slf: &Bound<'_, Self>, #[pyo3(from_py_with = argument::count)] count: u64) -> Places {
        Self::places(slf, PlaceRun::first(count.min(slf.get().order.len())))
    }

    /// Iterates over arrays of `size` indexes; the last may be shorter.
    #[pyo3(signature = (size, dtype=None))]
    fn chunks(
        slf: &Bound<'_, Self>,
        #[pyo3(from_py_with = argument::size)] size: u64,
        dtype: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Chunks> {
        Chunks::new(slf.py(), slf.as_unbound(), slf.get().all(), size, dtype)
    }

    /// All indexes as an array of int32, uint32, int64 (the default) or uint64.
    #[pyo3(signature = (dtype=None))]
    fn to_numpy<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let dtype = IndexType::new(dtype, self.order.len())?;
        evaluate::array(py, &self.order, None, self.all(), dtype)
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        evaluate::as_array(py, self.to_numpy(py, None)?, dtype, copy)
    }

    /// The inverse permutation.
    fn inverted(&self) -> Self {
        Self { order: self.order.inverted(), kind: self.kind, seed: self.seed }
    }

    /// Builds the index that single places need, if they need one. It evaluates every item, on all
    /// threads. Ctrl-C ends it, and nothing of it is kept.
    fn build_index(&self, py: Python<'_>) -> PyResult<()> {
        interruptible(py, |stop| self.order.build_index_while(|| !stop.is_set()))?
            .map_err(exception)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.text(py)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| self.is_same(other.get()))
    }

    fn __hash__(&self) -> u64 {
        self.hash_with(())
    }

    /// Some places, for pickling them.
    fn _places(slf: &Bound<'_, Self>, start: u64, step: i128, count: u64) -> PyResult<Places> {
        let run = PlaceRun::within(slf.get().order.len(), start, step, count);
        let run =
            run.ok_or_else(|| PyValueError::new_err("places that are not in the permutation"))?;
        Ok(Self::places(slf, run))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, this) = (slf.py(), slf.get());
        let kind = match this.kind {
            OrderKind::Compacted => (0, 0, 0),
            OrderKind::Walk => (1, 0, 0),
            OrderKind::Blocks { block, window } => (2, block, window),
        };
        let restore = py.import("bijective_shuffle._native")?.getattr("restore")?;
        let seed = seed::to_python(this.seed, py)?;
        let state = (this.order.len(), seed, this.seed.epoch(), this.order.is_inverted(), kind);
        Ok((restore, state).into_pyobject(py)?.into_any())
    }
}

/// The permutation that was pickled.
#[pyfunction]
pub(crate) fn restore(
    n: u64,
    seed: &Bound<'_, PyAny>,
    epoch: u64,
    is_inverted: bool,
    kind: (u8, u64, u64),
) -> PyResult<Permutation> {
    let kind = match kind {
        (0, ..) => OrderKind::Compacted,
        (1, ..) => OrderKind::Walk,
        (2, block, window) => OrderKind::Blocks { block, window },
        (other, ..) => {
            let text = format!("permutations of kind {other} come from a later version");
            return Err(PyValueError::new_err(text));
        }
    };
    let permutation = Permutation::make(kind, n, seed::read(seed, epoch)?)?;
    Ok(if is_inverted { permutation.inverted() } else { permutation })
}
