//! [`Pin`]: what keeps the memory of an array where it is while it is used by its address.

use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyMemoryView, PyWeakrefReference};

/// Keeps the memory of an array of NumPy: as long as this exists, it is neither freed nor moved.
///
/// A reference to the array is not enough. `resize(.., refcheck=False)` moves the memory of an
/// array that others refer to, and of one that others are views of. `close` of a mapped file or of
/// shared memory unmaps it under its arrays. NumPy resizes no array that has a weak reference, and
/// Python closes nothing that has exported its buffer. So this has both, of the array and of
/// everything that the array is a view of.
///
/// One way is left: `__setstate__` on an array that owns its memory, called by hand and not by
/// `pickle`, frees the memory whatever else uses it. It does so under NumPy's own views, too.
pub(crate) struct Pin {
    _kept: Vec<Py<PyAny>>,
}

impl Pin {
    pub(crate) fn new(array: &Bound<'_, PyUntypedArray>) -> PyResult<Self> {
        let (py, mut kept, mut next) = (array.py(), Vec::new(), array.clone());
        loop {
            kept.push(PyWeakrefReference::new(&next)?.into_any().unbind());
            // SAFETY: the array exists, and with the GIL nobody writes to the field.
            let base = unsafe { (*next.as_array_ptr()).fields.base };
            // A view keeps its base, but another can be given to it.
            kept.push(next.into_any().unbind());
            // SAFETY: an array's base is null or an object, to which the array has a reference.
            let Some(base) = (unsafe { Bound::from_borrowed_ptr_or_opt(py, base) }) else { break };
            next = match base.cast_into::<PyUntypedArray>() {
                Ok(base) => base,
                Err(other) => {
                    let base = other.into_inner();
                    // Not everything has a buffer. The rest is kept by its owner's own rules.
                    if let Ok(exported) = PyMemoryView::from(&base) {
                        kept.push(exported.into_any().unbind());
                    }
                    kept.push(base.unbind());
                    break;
                }
            };
        }
        Ok(Self { _kept: kept })
    }
}
