//! [`Places`]: some places of a permutation, evaluated when they are asked for.

use pyo3::exceptions::{PyIndexError, PyOverflowError};
use pyo3::prelude::*;
use pyo3::types::PySlice;

use crate::argument;
use crate::dtype::IndexType;
use crate::evaluate;
use crate::iter::{Chunks, Indexes};
use crate::permutation::Permutation;

/// Places at equal distances: `start`, `start + step` and so on.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Run {
    pub(crate) start: u64,
    /// Not 0.
    pub(crate) step: i64,
    pub(crate) count: u64,
}

impl Run {
    /// The first `count` places.
    pub(crate) fn first(count: u64) -> Self {
        Self { start: 0, step: 1, count }
    }

    /// What is left behind the first `count` places, which there are.
    pub(crate) fn after(self, count: u64) -> Self {
        // If nothing is left, the next place may be out of range, and has no meaning.
        let start = self.start.wrapping_add_signed(self.step.wrapping_mul(count as i64));
        Self { start, count: self.count.saturating_sub(count), ..self }
    }

    /// The place with a number, which may be negative and then counts from the end.
    pub(crate) fn place(self, number: i128) -> PyResult<u64> {
        let count = i128::from(self.count);
        let from_start = if number < 0 { number + count } else { number };
        if (0..count).contains(&from_start) {
            // Below 2^64, as all places are.
            Ok((i128::from(self.start) + from_start * i128::from(self.step)) as u64)
        } else {
            let count = self.count;
            Err(PyIndexError::new_err(format!("index {number} is out of range for {count} places")))
        }
    }

    /// Whether a place is one of these.
    fn has(self, place: u64) -> bool {
        let (distance, step) = (i128::from(place) - i128::from(self.start), i128::from(self.step));
        distance % step == 0 && (0..i128::from(self.count)).contains(&(distance / step))
    }

    /// The places of a slice of this.
    pub(crate) fn slice(self, slice: &Bound<'_, PySlice>) -> PyResult<Self> {
        let part = |name| -> PyResult<Option<i128>> {
            let value = slice.getattr(name)?;
            if value.is_none() {
                return Ok(None);
            }
            let index = slice.py().import("operator")?.call_method1("index", (value,))?;
            // Beyond 2^100 all bounds are the same.
            let is_negative = index.lt(0)?;
            let clamped = if is_negative { -(1 << 100) } else { 1 << 100 };
            Ok(Some(index.extract::<i128>().unwrap_or(clamped).clamp(-(1 << 100), 1 << 100)))
        };
        let step = part("step")?.unwrap_or(1);
        if step == 0 {
            return Err(pyo3::exceptions::PyValueError::new_err("slice step cannot be zero"));
        }
        let count = i128::from(self.count);
        // As `slice.indices` has it, which takes lengths up to 2^63 only.
        let (least, most) = if step < 0 { (-1, count - 1) } else { (0, count) };
        let bound = |value: Option<i128>, default: i128| match value {
            None => default,
            Some(value) if value < 0 => (value + count).clamp(least, most),
            Some(value) => value.clamp(least, most),
        };
        let (start, stop) = if step < 0 {
            (bound(part("start")?, most), bound(part("stop")?, least))
        } else {
            (bound(part("start")?, least), bound(part("stop")?, most))
        };
        let way = if step < 0 { start - stop } else { stop - start };
        let taken = if way <= 0 { 0 } else { (way + step.abs() - 1) / step.abs() };
        if taken == 0 {
            return Ok(Self { start: 0, step: 1, count: 0 });
        }
        let outer = i128::from(self.step);
        let start = (i128::from(self.start) + start * outer) as u64;
        // With a single place its distance to the next does not matter.
        let step = if taken == 1 { 1 } else { step * outer };
        let step = i64::try_from(step).map_err(|_| {
            PyOverflowError::new_err("places further apart than 2^63 cannot be sliced")
        })?;
        // At most as many as before.
        Ok(Self { start, step, count: taken as u64 })
    }
}

/// Some places of a `Permutation`: a slice, a shard or a head of it. Nothing is evaluated until it
/// is asked for, and nothing is kept.
#[pyclass(module = "bijective_shuffle", frozen, sequence)]
pub(crate) struct Places {
    pub(crate) of: Py<Permutation>,
    pub(crate) run: Run,
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
        Permutation::look_up(&self.of, py, self.run, key)
    }

    fn __iter__(&self, py: Python<'_>) -> Indexes {
        Indexes::new(py, &self.of, self.run)
    }

    /// Iterates over arrays of `size` values, of which the last may be shorter.
    #[pyo3(signature = (size, dtype=None))]
    fn chunks(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = argument::size)] size: u64,
        dtype: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Chunks> {
        Chunks::new(py, &self.of, self.run, size, dtype)
    }

    /// The values as an array of int32, uint32, int64 (the default) or uint64.
    #[pyo3(signature = (dtype=None))]
    fn to_numpy<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let order = &self.of.get().order;
        evaluate::array(py, order, self.run, IndexType::new(dtype, order.len())?)
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        as_array(py, self.to_numpy(py, None)?, dtype, copy)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let Run { start, step, count } = self.run;
        let of = self.of.get().__repr__(py)?;
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
        let Run { start, step, count } = slf.get().run;
        let slicer = slf.get().of.bind(py).getattr("_places")?;
        (slicer, (start, step, count)).into_pyobject(py).map(Bound::into_any)
    }
}

/// A length for `len`, which has no more than 63 bits. For more, what has no such bound is named.
pub(crate) fn length(count: u64, what: &str, instead: &str) -> PyResult<usize> {
    usize::try_from(count).ok().filter(|&count| isize::try_from(count).is_ok()).ok_or_else(|| {
        PyOverflowError::new_err(format!("{count} {what} are too many for len(): use {instead}"))
    })
}

/// What `__array__` returns, for a new array.
pub(crate) fn as_array<'py>(
    py: Python<'py>,
    array: Bound<'py, PyAny>,
    dtype: Option<&Bound<'py, PyAny>>,
    copy: Option<bool>,
) -> PyResult<Bound<'py, PyAny>> {
    if copy == Some(false) {
        return Err(pyo3::exceptions::PyValueError::new_err(
            "a permutation is not stored, so its array is always a copy",
        ));
    }
    match dtype {
        None => Ok(array),
        Some(dtype) => {
            let keywords = pyo3::types::PyDict::new(py);
            keywords.set_item("copy", false)?;
            array.call_method("astype", (dtype,), Some(&keywords))
        }
    }
}
