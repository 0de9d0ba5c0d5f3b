//! [`InUse`]: a slice that a stream uses, and how its other users wait for that stream.
//!
//! cudarc has two events for a slice, after its last read and after its last write. A writer waits
//! for both, a reader for the second, and a slice that is dropped is freed in the order of the
//! stream that it was made in, after both. But each event is that of the last user alone: a second
//! reader records it in its own stream, and whatever waits for it then does not wait for the first
//! reader. benches/notes/gpu.md has a program that shows it with cudarc alone.
//!
//! So a stream of ours waits for the event before it records it, which makes the event that of all
//! users so far. That comes after our kernels, and after the events of what they write: two streams
//! may still read a slice at the same time.
//! The stream that a source was made in waits too, so that it neither frees nor writes the source
//! under our kernels, even if one of cudarc's own functions reads the source in a third stream and
//! records its event there alone.
//!
//! What is left is a write in yet another stream after such a read of cudarc's. Nothing that a user
//! of cudarc can reach would make it wait; `CudaWorkspace` and docs/gpu.md say so.

use std::sync::{Mutex, PoisonError};

use cudarc::driver::sys::{CUevent_wait_flags, CUstreamCaptureStatus};
use cudarc::driver::{CudaEvent, CudaStream, DriverError, SyncOnDrop, result};

use super::array::{DeviceArray, DeviceArrayMut};
use super::stream::finish;

/// Held while a stream waits for an event and records it, so that no two threads wait for the same
/// state of it and one of them then records over the other.
static TURN: Mutex<()> = Mutex::new(());

/// A slice that a stream uses. Drop it when all that uses the slice is in the stream: the slice is
/// not freed or otherwise used before that has finished, as far as the module's text says.
///
/// A call that is captured in a graph changes no events, since it uses nothing yet. The program
/// that launches the graph orders it with the slices' other users, as
/// [`with_capture`](crate::cuda::Cuda::with_capture) demands.
#[must_use]
pub(crate) struct InUse<'a> {
    stream: &'a CudaStream,
    /// The slice's event, unless cudarc was told not to track it.
    event: Option<&'a CudaEvent>,
    /// The stream that a source was made in, and that frees it, if that is another one.
    home: Option<&'a CudaStream>,
    /// Whether others may have recorded the event since the slice was taken into use.
    is_shared: bool,
}

/// Takes a slice into use that a stream reads. Returns its address.
pub(crate) fn reading<'a, T>(
    slice: &'a impl DeviceArray<T>,
    stream: &'a CudaStream,
) -> (u64, InUse<'a>) {
    let (address, guard) = slice.device_ptr(stream);
    let home = Some(&**slice.stream()).filter(|&home| home != stream);
    (address, InUse { stream, event: event(guard), home, is_shared: true })
}

/// Takes a slice into use that a stream writes. Returns its address.
///
/// Writers of a whole slice are in order, since each borrows it mutably. Writers of two parts of it
/// have one event, and the stream that the slice was made in waits for that when it is dropped.
pub(crate) fn writing<'a, T, A: DeviceArrayMut<T>>(
    slice: &'a mut A,
    stream: &'a CudaStream,
) -> (u64, InUse<'a>) {
    let (address, guard) = slice.device_ptr_mut(stream);
    (address, InUse { stream, event: event(guard), home: None, is_shared: A::IS_PART })
}

/// The slices of a call, which are let go when this is dropped: those that are written first, so
/// that what waits for them does not wait for other readers of the sources.
#[derive(Default)]
pub(crate) struct SlicesInUse<'a> {
    written: Vec<InUse<'a>>,
    read: Vec<InUse<'a>>,
}

impl<'a> SlicesInUse<'a> {
    /// As [`reading`].
    pub(crate) fn read<T>(
        &mut self,
        slice: &'a impl DeviceArray<T>,
        stream: &'a CudaStream,
    ) -> u64 {
        let (address, in_use) = reading(slice, stream);
        self.read.push(in_use);
        address
    }

    /// As [`writing`].
    pub(crate) fn write<T>(
        &mut self,
        slice: &'a mut impl DeviceArrayMut<T>,
        stream: &'a CudaStream,
    ) -> u64 {
        let (address, in_use) = writing(slice, stream);
        self.written.push(in_use);
        address
    }

    /// Whether no slice has been taken into use.
    pub(crate) fn is_empty(&self) -> bool {
        self.read.is_empty() && self.written.is_empty()
    }
}

/// The event that cudarc would record.
fn event(mut guard: SyncOnDrop<'_>) -> Option<&CudaEvent> {
    match &mut guard {
        SyncOnDrop::Record(target) => target.take().map(|(event, _)| event),
        // That is how cudarc returns host memory.
        SyncOnDrop::Sync(_) => None,
    }
}

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        let Some(event) = self.event else { return };
        // Otherwise nobody waits for events.
        if !self.stream.context().is_managing_stream_synchronization() {
            return;
        }
        if let Err(error) = self.record(event) {
            // So the host waits. The next call in the context reports the error.
            let _ = finish(self.stream);
            self.stream.context().record_err::<()>(Err(error));
        }
    }
}

impl InUse<'_> {
    /// Records the event after all that is in the stream now and all that the event stood for.
    ///
    /// It calls the driver itself, because cudarc's functions do nothing but return an error that
    /// it has kept for later, if there is one.
    fn record(&self, event: &CudaEvent) -> Result<(), DriverError> {
        let (stream, wait) = (self.stream.cu_stream(), CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT);
        // SAFETY: the context exists as long as the stream, which is borrowed.
        unsafe { result::ctx::set_current(self.stream.context().cu_ctx()) }?;
        if is_captured(self.stream)? {
            return Ok(());
        }
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_shared {
            // SAFETY: the stream and the event exist, since they are borrowed.
            unsafe { result::stream::wait_event(stream, event.cu_event(), wait) }?;
        }
        // SAFETY: the stream and the event exist, since they are borrowed, and the event is of the
        // stream's context, as every slice that is accepted.
        unsafe { result::event::record(event.cu_event(), stream) }?;
        if let Some(home) = self.home {
            // A capture cannot wait for what is outside of it. What the graph does with the source
            // is for those to order who launch it.
            if let Ok(false) = is_captured(home) {
                // SAFETY: the event exists, since it is borrowed, and the slice, which is borrowed
                // too, keeps its stream.
                unsafe { result::stream::wait_event(home.cu_stream(), event.cu_event(), wait) }?;
            }
        }
        Ok(())
    }
}

/// Whether a stream of the current context is being captured in a graph.
fn is_captured(stream: &CudaStream) -> Result<bool, DriverError> {
    // SAFETY: the stream exists, since it is borrowed.
    let status = unsafe { result::stream::is_capturing(stream.cu_stream()) }?;
    Ok(status != CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    /// Each slice that is taken into use elsewhere would have the hole that the module's text
    /// describes.
    #[test]
    fn slices_are_taken_into_use_here_alone() {
        fn search(folder: &Path, found: &mut Vec<String>) {
            for entry in folder.read_dir().unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    search(&path, found);
                } else if std::fs::read_to_string(&path).is_ok_and(|text| text.contains(NAME)) {
                    found.push(path.file_name().unwrap().to_str().unwrap().into());
                }
            }
        }
        const NAME: &str = concat!(".device", "_ptr");
        let mut found = Vec::new();
        search(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
        assert_eq!(found, ["in_use.rs"]);
    }
}
