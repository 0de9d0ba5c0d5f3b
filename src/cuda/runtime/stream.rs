//! The checks at the beginning of every call on device memory, and the conversion of the driver's
//! errors.

use std::sync::Arc;

use cudarc::driver::sys::CUstreamCaptureStatus;
use cudarc::driver::{CudaStream, DriverError};

use crate::error::{Error, GpuError};

/// Converts an error of the driver. Only its number is kept, since getting its name takes another
/// call of the driver.
pub(crate) fn failed(error: DriverError, during: &'static str) -> Error {
    let code = error.0 as u32;
    match code {
        2 => Error::Gpu(GpuError::OutOfMemory),
        code => Error::Gpu(GpuError::Driver { code, during }),
    }
}

/// Begins a call on device memory. Returns whether the stream is being captured in a graph.
///
/// It reports an earlier error that could not be reported at the time, when something was dropped:
/// cudarc keeps such an error for the next call in the context, which is this one.
///
/// A capture that another thread begins on this stream between this check and the launch is not
/// noticed. cudarc's own calls, such as copies and the freeing of memory, would be captured in the
/// same way.
///
/// # Errors
///
/// [`GpuError::Captured`](crate::GpuError::Captured) if the stream is being captured and the engine
/// was not made by `with_capture`.
pub(crate) fn enter(stream: &CudaStream, may_be_captured: bool) -> Result<bool, Error> {
    let earlier = stream.context().check_err();
    earlier.map_err(|error| failed(error, "finish what was done before"))?;
    let status = stream.capture_status().map_err(|error| failed(error, "ask for a capture"))?;
    match status {
        CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE => Ok(false),
        _ if may_be_captured => Ok(true),
        _ => Err(Error::Gpu(GpuError::Captured)),
    }
}

/// Reports an error that occurred when cudarc gave out the addresses of slices, which it also keeps
/// for later.
pub(crate) fn check_slices(stream: &CudaStream) -> Result<(), Error> {
    stream.context().check_err().map_err(|error| failed(error, "wait for the slices' other users"))
}

/// Checks that a slice belongs to the engine's context. A slice of another `CudaContext` is refused
/// even if it is on the same device.
pub(crate) fn check_device(ours: &CudaStream, theirs: &CudaStream) -> Result<(), Error> {
    // Two `CudaContext`s do not know each other's streams, so the engine would not wait for pending
    // writes. (`Cuda::on_stream` makes an engine on the slice's own stream.)
    let (ours, theirs) = (ours.context(), theirs.context());
    if Arc::ptr_eq(ours, theirs) {
        return Ok(());
    }
    Err(Error::Gpu(GpuError::WrongDevice { expected: ours.ordinal(), actual: theirs.ordinal() }))
}
