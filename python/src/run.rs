//! [`Run`]: places at equal distances, and what Python's slices and `len` make of them.

use pyo3::exceptions::{PyIndexError, PyOverflowError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PySlice;

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
    pub(crate) fn has(self, place: u64) -> bool {
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
            return Err(PyValueError::new_err("slice step cannot be zero"));
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

/// A length for `len`, which has no more than 63 bits. For more, what has no such bound is named.
pub(crate) fn length(count: u64, what: &str, instead: &str) -> PyResult<usize> {
    usize::try_from(count).ok().filter(|&count| isize::try_from(count).is_ok()).ok_or_else(|| {
        PyOverflowError::new_err(format!("{count} {what} are too many for len(): use {instead}"))
    })
}
