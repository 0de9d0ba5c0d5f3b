//! The library's errors as exceptions.

use bijective_shuffle_bindings::{Fault, LanguageNames};
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
    let error = match error.into() {
        bijective_shuffle_loaders::Error::Shuffle(error) => error,
        other => return PyValueError::new_err(other.to_string()),
    };
    let names = LanguageNames { walk: "Permutation.walk", build_index: "build_index()" };
    let (fault, text) = Fault::of(&error, names);
    match fault {
        Fault::Memory => PyMemoryError::new_err(text),
        Fault::IndexNotBuilt => IndexNotBuiltError::new_err(text),
        Fault::Range => PyIndexError::new_err(text),
        Fault::TooWide => PyOverflowError::new_err(text),
        Fault::Length => ArrayError::new_err(text),
        Fault::Unavailable => GpuUnavailableError::new_err(text),
        Fault::State => ForeignStateError::new_err(text),
        Fault::Gpu => PyRuntimeError::new_err(text),
        Fault::Missing | Fault::NotABijection | Fault::Argument => PyValueError::new_err(text),
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
