//! The library's errors as exceptions.

use bijective_shuffle::Error;
use bijective_shuffle::error::ViewError;
use pyo3::PyErr;
use pyo3::create_exception;
use pyo3::exceptions::{
    PyImportError, PyIndexError, PyMemoryError, PyOverflowError, PyRuntimeError, PyValueError,
};

create_exception!(
    bijective_shuffle,
    ArrayError,
    PyValueError,
    "An array cannot be shuffled: it is read-only, overlaps another or itself, or has another \
     length. No array has been changed."
);
create_exception!(
    bijective_shuffle,
    ForeignStateError,
    PyValueError,
    "A saved state is not one, was altered, or belongs to a sampler with another length, seed or \
     order."
);
create_exception!(
    bijective_shuffle,
    GpuUnavailableError,
    PyImportError,
    "There is no GPU that can be used here; the message says what is missing."
);
create_exception!(
    bijective_shuffle,
    IndexNotBuiltError,
    PyRuntimeError,
    "A place of `Permutation(n, seed)` cannot be looked up without an index that was not asked \
     for: use `Permutation.walk`, which needs none, or call `build_index` first."
);

/// The exception for an error of the library, or of its loaders.
pub(crate) fn exception(error: impl Into<bijective_shuffle_loaders::Error>) -> PyErr {
    let error = error.into();
    let text = error.to_string();
    let bijective_shuffle_loaders::Error::Shuffle(error) = error else {
        return PyValueError::new_err(text);
    };
    match error {
        Error::OutOfMemory { .. } | Error::View(ViewError::IndexTooLarge { .. }) => {
            PyMemoryError::new_err(text)
        }
        Error::View(ViewError::IndexNotBuilt { last }) => {
            let points = u128::from(last) + 1;
            IndexNotBuiltError::new_err(format!(
                "this place is found by an index over {points} points, too many to build it \
                 unasked: use Permutation.walk, which needs none, or call build_index() first"
            ))
        }
        Error::View(ViewError::OutOfRange { .. }) => PyIndexError::new_err(text),
        Error::IndexTooWide { .. } => PyOverflowError::new_err(text),
        Error::LengthMismatch { .. } => ArrayError::new_err(text),
        Error::BackendUnavailable { .. } => GpuUnavailableError::new_err(text),
        Error::Saved(_) => ForeignStateError::new_err(text),
        Error::Gpu(_) => PyRuntimeError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

/// The exception for an error of CUDA's driver.
#[cfg(all(
    feature = "cuda",
    target_pointer_width = "64",
    any(target_os = "linux", target_os = "windows")
))]
pub(crate) fn failed(error: bijective_shuffle::cuda::cudarc::driver::DriverError) -> PyErr {
    use bijective_shuffle::cuda::cudarc::driver::sys::CUresult;

    if error.0 == CUresult::CUDA_ERROR_OUT_OF_MEMORY {
        return PyMemoryError::new_err("the GPU has not enough free memory");
    }
    PyRuntimeError::new_err(format!("the CUDA driver failed: {error}"))
}
