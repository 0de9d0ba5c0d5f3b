//! [`Places`]: some places of a permutation, evaluated when they are asked for.

use bijective_shuffle_bindings::{Lookup, PlaceRun};
use numpy::PyUntypedArray;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PySlice};

use crate::argument;
use crate::dtype::IndexType;
use crate::evaluate;
use crate::iter::{Chunks, Indexes};
use crate::passes::refuse_loaders;
use crate::permutation::Permutation;
use crate::run::{length, sliced};

/// Some places of a `Permutation`: a slice, a shard or a head of it. Nothing is evaluated until it
/// is asked for, and nothing is kept.
#[pyclass(module = "bijective_shuffle", frozen, sequence)]
pub(crate) struct Places {
    pub(crate) of: Py<Permutation>,
    pub(crate) run: PlaceRun,
}

#[pymethods]
impl Places {
    fn __len__(&self) -> PyResult<usize> {
        length(self.run.count, "places", ".n")
    }

    fn __bool__(&self) -> bool {
        self.run.count > 0
    }

    fn __contains__(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        let of = self.of.get();
        match value.extract::<u64>() {
            Ok(value) if value < of.order.len() => Ok(self.run.has(of.place_of(py, value)?)),
            _ => Ok(false),
        }
    }

    /// The number of places, also where `len` has no room for it.
    #[getter]
    fn n(&self) -> u64 {
        self.run.count
    }

    /// The permutation whose places these are.
    #[getter]
    fn permutation(&self, py: Python<'_>) -> Py<Permutation> {
        self.of.clone_ref(py)
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        look_up(&self.of, py, self.run, key)
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<Indexes> {
        refuse_loaders(py, "Places")?;
        Ok(Indexes::new(py, &self.of, self.run))
    }

    /// Iterates over arrays of `size` indexes; the last may be shorter.
    #[pyo3(signature = (size, dtype=None))]
    fn chunks(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = argument::size)] size: u64,
        dtype: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Chunks> {
        Chunks::new(py, &self.of, self.run, size, dtype)
    }

    /// The indexes as an array of int32, uint32, int64 (the default) or uint64.
    #[pyo3(signature = (dtype=None))]
    fn to_numpy<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let order = &self.of.get().order;
        evaluate::array(py, order, None, self.run, IndexType::new(dtype, order.len())?)
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

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let PlaceRun { start, step, count } = self.run;
        let of = self.of.get().text(py)?;
        let step = if step == 1 { String::new() } else { format!(", step {step}") };
        Ok(format!("<{count} places of {of} from {start}{step}>"))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| {
            let other = other.get();
            self.run == other.run && self.of.get().is_same(other.of.get())
        })
    }

    fn __hash__(&self) -> u64 {
        self.of.get().hash_with(self.run)
    }

    fn __reduce__<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let PlaceRun { start, step, count } = slf.get().run;
        let slicer = slf.get().of.bind(py).getattr("_places")?;
        (slicer, (start, step, count)).into_pyobject(py).map(Bound::into_any)
    }
}

/// What `[key]` gives, of all places of a permutation or some of them.
pub(crate) fn look_up<'py>(
    of: &Py<Permutation>,
    py: Python<'py>,
    run: PlaceRun,
    key: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let this = of.get();
    if key.is_exact_instance_of::<PyInt>() {
        return this.single(py, run, key);
    }
    if let Ok(slice) = key.cast::<PySlice>() {
        let places = Places { of: of.clone_ref(py), run: sliced(run, slice)? };
        return Ok(Bound::new(py, places)?.into_any());
    }
    // Integers of NumPy, and whatever else is one.
    if !key.is_instance_of::<PyUntypedArray>() && key.hasattr("__index__")? {
        return this.single(py, run, key);
    }
    this.several(py, key, Lookup::Index, Some(run))
}
