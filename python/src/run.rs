//! What Python's indexes, slices and `len` make of a [`PlaceRun`] of places.

use bijective_shuffle_bindings::PlaceRun;
use pyo3::exceptions::{PyIndexError, PyOverflowError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PySlice;

/// The place of a run with a number, which may be negative and then counts from the end.
pub(crate) fn place(run: PlaceRun, number: i128) -> PyResult<u64> {
    run.place(number).ok_or_else(|| {
        let count = run.count;
        PyIndexError::new_err(format!("index {number} is out of range for {count} places"))
    })
}

/// The places of a slice of a run.
pub(crate) fn sliced(run: PlaceRun, slice: &Bound<'_, PySlice>) -> PyResult<PlaceRun> {
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
    match part("step")?.unwrap_or(1) {
        0 => Err(PyValueError::new_err("slice step cannot be zero")),
        step => Ok(run.slice(part("start")?, part("stop")?, step)),
    }
}

/// A length for `len`, which has no more than 63 bits. For more, what has no such bound is named.
pub(crate) fn length(count: u64, what: &str, instead: &str) -> PyResult<usize> {
    usize::try_from(count).ok().filter(|&count| isize::try_from(count).is_ok()).ok_or_else(|| {
        PyOverflowError::new_err(format!("{count} {what} are too many for len(): use {instead}"))
    })
}
