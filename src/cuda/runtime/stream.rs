//! What every call on device memory begins with, and the driver's errors as ours.

use std::sync::Arc;

use cudarc::driver::sys::CUstreamCaptureStatus;
use cudarc::driver::{CudaStream, DriverError};

use crate::error::{Error, GpuError};

/// The driver's error as ours. Its number is kept, since asking for its name is another call into the driver.
pub(crate) fn failed(error: DriverError, during: &'static str) -> Error {
    let code = error.0 as u32;
    match code {
        2 => Error::Gpu(GpuError::OutOfMemory),
        code => Error::Gpu(GpuError::Driver { code, during }),
    }
}

/// What every call on device memory begins with; whether what it puts in the stream is captured.
///
/// It reports what went wrong earlier where it could not be reported, when something was dropped:
/// cudarc keeps it for the next call in the context, which is this one.
///
/// A capture that another thread begins on this stream between here and the launch is not seen.
/// cudarc's own calls, its copies and its freeing of memory, would be captured in the same way.
///
/// # Errors
///
/// [`GpuError::Captured`](crate::GpuError::Captured) if the stream is captured, and the engine is not one `with_capture`.
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

/// Reports what went wrong when slices were asked for their addresses, which cudarc keeps as well.
pub(crate) fn check_slices(stream: &CudaStream) -> Result<(), Error> {
    stream.context().check_err().map_err(|error| failed(error, "wait for the slices' other users"))
}

/// Checks that a slice is of the engine's context.
pub(crate) fn check_device(ours: &CudaStream, theirs: &CudaStream) -> Result<(), Error> {
    // Two handles of one context do not know of each other's streams, and would not wait for them.
    let (ours, theirs) = (ours.context(), theirs.context());
    if Arc::ptr_eq(ours, theirs) {
        return Ok(());
    }
    Err(Error::Gpu(GpuError::WrongDevice { expected: ours.ordinal(), actual: theirs.ordinal() }))
}
