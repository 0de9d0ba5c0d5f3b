//! What the GPU side finds on this machine.

use bijective_shuffle::Cuda;
use pyo3::prelude::*;

use crate::errors::exception;

/// The name of a GPU that can be used, or `GpuUnavailableError`, which says what is missing.
///
/// It starts CUDA in this process, after which children that are forked cannot use it.
#[pyfunction]
#[pyo3(signature = (device=0))]
pub(crate) fn gpu(py: Python<'_>, device: usize) -> PyResult<String> {
    let cuda = py.detach(|| Cuda::on_device(device)).map_err(exception)?;
    Ok(name(&cuda))
}

#[cfg(all(feature = "cuda", any(target_os = "linux", target_os = "windows")))]
fn name(cuda: &Cuda) -> String {
    // The device was found, so a missing name is no reason to say that it was not.
    cuda.stream().context().name().unwrap_or_else(|_| "a GPU without a name".into())
}

#[cfg(not(all(feature = "cuda", any(target_os = "linux", target_os = "windows"))))]
fn name(_: &Cuda) -> String {
    unreachable!("an engine that was not built cannot be created")
}
