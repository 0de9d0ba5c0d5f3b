//! [`Memory`]: working memory on the device, which grows on demand.

use core::ops::{Deref, DerefMut};
use std::sync::Arc;

use cudarc::driver::sys::CUstreamCaptureStatus;
use cudarc::driver::{CudaContext, CudaSlice, CudaStream};

use super::in_use::reading;
use super::stream::failed;
use crate::Error;
use crate::error::GpuError;

/// `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED`
const CAPTURE_UNSUPPORTED: u32 = 900;

/// A slice that is freed in its own context, whatever context is the thread's by then. cudarc frees
/// it in the order of its stream without entering the context. The default stream has the same
/// handle in all contexts, so the memory might be given away while its own kernels still use it.
#[derive(Debug)]
pub(crate) struct Allocation<T>(CudaSlice<T>);

impl<T> Allocation<T> {
    pub(crate) const fn new(slice: CudaSlice<T>) -> Self {
        Self(slice)
    }
}

impl<T> Deref for Allocation<T> {
    type Target = CudaSlice<T>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<T> DerefMut for Allocation<T> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl<T> Drop for Allocation<T> {
    fn drop(&mut self) {
        let context = self.0.context();
        context.record_err(context.bind_to_thread());
    }
}

/// Whether a device seems to have that many bytes free. Asking takes microseconds, and an
/// allocation that fails takes many milliseconds. What an allocator still holds is not counted.
pub(crate) fn seems_free(context: &CudaContext, bytes: u64) -> bool {
    context.mem_get_info().map_or(true, |(free, _)| bytes <= free as u64)
}

/// Whether what is put in a stream is captured in a graph.
pub(super) fn is_captured(stream: &CudaStream) -> Result<bool, Error> {
    let status = stream.capture_status().map_err(|error| failed(error, "ask for a capture"))?;
    Ok(status != CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE)
}

/// Refuses to allocate memory in a capture: it would belong to the graph, and exist only while that
/// runs.
fn check_not_captured(stream: &CudaStream) -> Result<(), Error> {
    if is_captured(stream)? {
        let during = "reserve memory in a capture";
        return Err(GpuError::DriverFailed { code: CAPTURE_UNSUPPORTED, during }.into());
    }
    Ok(())
}

/// Device memory that is used in the order of one stream, aligned to 256 bytes. In a group the
/// streams of other members use it too, while this one waits for them.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    bytes: Option<Allocation<u8>>,
    /// Read once, because cudarc looks for other streams to wait for whenever it is asked for the
    /// address.
    address: u64,
    /// Whether a graph holds the address, so that the memory must not be freed before this is
    /// dropped.
    captured: bool,
    /// Memory whose addresses graphs hold, and which is not used otherwise any more.
    outgrown: Vec<Allocation<u8>>,
}

impl Memory {
    pub(crate) const fn new() -> Self {
        Self { bytes: None, address: 0, captured: false, outgrown: Vec::new() }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes.as_ref().map_or(0, |bytes| bytes.len())
    }

    /// The bytes that it holds in all, including those that are kept only for graphs.
    pub(crate) fn held(&self) -> usize {
        self.bytes() + self.outgrown.iter().map(|bytes| bytes.len()).sum::<usize>()
    }

    /// Keeps the present memory until this is dropped, because a graph holds its address.
    pub(crate) fn keep(&mut self) {
        self.captured = self.bytes.is_some();
    }

    /// Frees the memory, or sets it aside if a graph holds its address.
    pub(crate) fn give_up(&mut self) {
        let bytes = self.bytes.take();
        if core::mem::take(&mut self.captured) {
            self.outgrown.extend(bytes);
        }
    }

    /// The address of at least `bytes` bytes, and whether they are newly allocated. Their values
    /// are lost when the memory grows.
    ///
    /// # Errors
    ///
    /// [`GpuError::OutOfMemory`](crate::error::GpuError::OutOfMemory),
    /// [`GpuError::DriverFailed`](crate::error::GpuError::DriverFailed).
    pub(crate) fn room(
        &mut self,
        stream: &Arc<CudaStream>,
        bytes: u64,
    ) -> Result<(u64, bool), Error> {
        let bytes = usize::try_from(bytes).map_err(|_| Error::Gpu(GpuError::OutOfMemory))?;
        let grows = self.bytes() < bytes;
        if grows {
            check_not_captured(stream)?;
            // The old memory is freed first, so that the two need not exist together.
            self.give_up();
            // SAFETY: `alloc` returns uninitialised bytes, which must be written before they are
            // read. Kernels and copies of plans use the address, and in groups copies between
            // members and messages between ranks. Each reads only what an earlier one, or itself,
            // has written, except for copies of whole buckets, for which `working_memory` clears
            // it. Those of one plan are in the stream, in order; other streams and this one wait
            // for each other, by events, before and after they use it.
            let memory = unsafe { stream.alloc::<u8>(bytes) };
            let memory = memory.map_err(|error| failed(error, "allocate working memory"))?;
            self.address = reading(&memory, stream).0;
            self.bytes = Some(Allocation::new(memory));
        }
        Ok((self.address, grows))
    }

    /// As [`room`](Self::room), for memory that is allocated and freed in the order of the stream
    /// `home` and used in that of another one.
    ///
    /// # Errors
    ///
    /// As [`room`](Self::room).
    pub(crate) fn room_between(
        &mut self,
        home: &Arc<CudaStream>,
        user: &CudaStream,
        bytes: u64,
    ) -> Result<(u64, bool), Error> {
        if **home == *user || self.bytes() as u64 >= bytes {
            return self.room(home, bytes);
        }
        // Else the old memory would be freed while the other stream still uses it, and the new used
        // before it is there.
        check_not_captured(user)?;
        home.join(user).map_err(|error| failed(error, "allocate working memory"))?;
        let room = self.room(home, bytes)?;
        user.join(home).map_err(|error| failed(error, "allocate working memory"))?;
        Ok(room)
    }
}
