//! The checks at the beginning of every call on device memory, and the conversion of the driver's
//! errors.

use std::sync::Arc;

use cudarc::driver::sys::{CUresult, CUstreamCaptureStatus};
use cudarc::driver::{CudaEvent, CudaStream, DriverError, result, sys};

use crate::Error;
use crate::error::GpuError;

/// Converts an error of the driver. Only its number is kept, since getting its name takes another
/// call of the driver.
pub(crate) fn failed(error: DriverError, during: &'static str) -> Error {
    let code = error.0 as u32;
    match code {
        2 => Error::Gpu(GpuError::OutOfMemory),
        code => Error::Gpu(GpuError::DriverFailed { code, during }),
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
/// [`GpuError::StreamCaptured`](crate::error::GpuError::StreamCaptured) if the stream is being
/// captured and the engine was not made by `with_capture`.
pub(crate) fn enter(stream: &CudaStream, may_be_captured: bool) -> Result<bool, Error> {
    let earlier = stream.context().check_err();
    earlier.map_err(|error| failed(error, "finish what was done before"))?;
    let status = stream.capture_status().map_err(|error| failed(error, "ask for a capture"))?;
    match status {
        CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE => Ok(false),
        _ if may_be_captured => Ok(true),
        _ => Err(Error::Gpu(GpuError::StreamCaptured)),
    }
}

/// Reports an error that occurred when cudarc gave out the addresses of slices, which it also keeps
/// for later. Returns whether waiting for others may have made the stream part of a capture.
///
/// For each slice, the stream waits for an event after the slice's last use. If that use was
/// captured in another stream, waiting for it has made this stream part of the capture, which may
/// not have been one when the call was entered.
///
/// # Errors
///
/// As [`enter`].
pub(crate) fn check_slices(stream: &CudaStream, may_be_captured: bool) -> Result<bool, Error> {
    let waited = stream.context().check_err();
    waited.map_err(|error| failed(error, "wait for the slices' other users"))?;
    // Where cudarc has no other streams to wait for, it has not waited.
    if !stream.context().is_managing_stream_synchronization() {
        return Ok(false);
    }
    enter(stream, may_be_captured)
}

/// Waits until a stream has finished.
///
/// cudarc's `CudaStream::synchronize` first looks for an error that it has kept for later, and
/// returns that instead of waiting. This waits in any case, and leaves such an error to the next
/// call.
///
/// # Errors
///
/// That of the driver. A stream that is being captured cannot be waited for, which also ends the
/// capture without a graph; any other error means that the context executes nothing any more.
pub(crate) fn finish(stream: &CudaStream) -> Result<(), DriverError> {
    // SAFETY: the context exists as long as the stream, which is borrowed.
    unsafe { result::ctx::set_current(stream.context().cu_ctx()) }?;
    // SAFETY: the stream exists, since it is borrowed, and its context is current.
    unsafe { result::stream::synchronize(stream.cu_stream()) }
}

/// Whether a stream has finished, without waiting for it.
///
/// # Errors
///
/// As [`finish`].
pub(crate) fn is_finished(stream: &CudaStream) -> Result<bool, DriverError> {
    // SAFETY: the context exists as long as the stream, which is borrowed.
    unsafe { result::ctx::set_current(stream.context().cu_ctx()) }?;
    // SAFETY: the stream exists, since it is borrowed, and its context is current.
    match unsafe { sys::cuStreamQuery(stream.cu_stream()) } {
        CUresult::CUDA_SUCCESS => Ok(true),
        CUresult::CUDA_ERROR_NOT_READY => Ok(false),
        error => Err(DriverError(error)),
    }
}

/// As [`finish`], until what came before an event was recorded has finished.
///
/// # Errors
///
/// That of the driver, after which the context executes nothing any more. The event must not have
/// been recorded in a stream that was being captured.
pub(crate) fn finish_event(event: &CudaEvent) -> Result<(), DriverError> {
    // SAFETY: the context exists as long as the event, which is borrowed.
    unsafe { result::ctx::set_current(event.context().cu_ctx()) }?;
    // SAFETY: the event exists, since it is borrowed, and its context is current.
    unsafe { result::event::synchronize(event.cu_event()) }
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
