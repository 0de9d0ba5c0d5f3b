//! Refuses objects of one epoch where a loader would ask them anew for each.

use pyo3::prelude::*;

/// Raises `TypeError` if a loader of PyTorch is asking a class for its items.
pub(crate) fn refuse_loaders(py: Python<'_>, name: &str) -> PyResult<()> {
    // Native functions have no frame, so the first one above the function's is the caller's.
    let module = py.import("bijective_shuffle._passes")?;
    module.getattr("refuse_loaders")?.call1((name, 0)).map(|_| ())
}
