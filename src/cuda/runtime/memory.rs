//! [`Memory`]: working memory on the device, which grows when more is asked for.

use std::sync::Arc;

use cudarc::driver::sys::CUstreamCaptureStatus;
use cudarc::driver::{CudaSlice, CudaStream, CudaViewMut, DevicePtr, DeviceRepr};

use super::stream::failed;
use crate::error::{Error, GpuError};

/// `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED`
const CAPTURE_UNSUPPORTED: u32 = 900;

/// Bytes on the device of a stream, aligned to 256. Only that stream uses them.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    bytes: Option<CudaSlice<u8>>,
    /// Asked for once: every time it is asked for, cudarc looks for other streams to be waited for.
    address: u64,
    /// Whether a graph has the address, so that the bytes may not be freed before this is dropped.
    captured: bool,
    /// What graphs have the addresses of, and what is no longer used otherwise.
    outgrown: Vec<CudaSlice<u8>>,
}

impl Memory {
    pub(crate) const fn new() -> Self {
        Self { bytes: None, address: 0, captured: false, outgrown: Vec::new() }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes.as_ref().map_or(0, CudaSlice::len)
    }

    /// How many bytes it keeps in all, those included that are only there for graphs.
    pub(crate) fn held(&self) -> usize {
        self.bytes() + self.outgrown.iter().map(CudaSlice::len).sum::<usize>()
    }

    /// Keeps what there is until this is dropped, because a graph has its address.
    pub(crate) fn keep(&mut self) {
        self.captured = self.bytes.is_some();
    }

    /// Frees the bytes, or puts them by if a graph has their address.
    pub(crate) fn give_up(&mut self) {
        let bytes = self.bytes.take();
        if core::mem::take(&mut self.captured) {
            self.outgrown.extend(bytes);
        }
    }

    /// Whichever of the two is larger; it keeps what graphs have of the other.
    pub(crate) fn or_larger(self, other: Self) -> Self {
        let (mut larger, mut smaller) =
            if other.bytes() > self.bytes() { (other, self) } else { (self, other) };
        smaller.give_up();
        larger.outgrown.append(&mut smaller.outgrown);
        larger
    }

    /// The address of at least so many bytes, whose values are not kept when they grow; and whether they are new.
    ///
    /// # Errors
    ///
    /// [`GpuError::OutOfMemory`](crate::GpuError::OutOfMemory), [`GpuError::Driver`](crate::GpuError::Driver).
    pub(crate) fn room(
        &mut self,
        stream: &Arc<CudaStream>,
        bytes: u64,
    ) -> Result<(u64, bool), Error> {
        let bytes = usize::try_from(bytes).map_err(|_| Error::Gpu(GpuError::OutOfMemory))?;
        let grows = self.bytes() < bytes;
        if grows {
            let status =
                stream.capture_status().map_err(|error| failed(error, "ask for a capture"))?;
            if status != CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE {
                // The memory would be the graph's, and there only while it runs.
                return Err(Error::Gpu(GpuError::Driver {
                    code: CAPTURE_UNSUPPORTED,
                    during: "reserve memory in a capture",
                }));
            }
            // First give back what there is.
            self.give_up();
            // SAFETY: `alloc` leaves the bytes as they are, so nobody may read them before they are
            // written. Host code never does: only the kernels have the address, and each of them
            // reads what one before it in the stream has written.
            let memory = unsafe { stream.alloc::<u8>(bytes) };
            let memory = memory.map_err(|error| failed(error, "allocate working memory"))?;
            self.address = memory.device_ptr(stream).0;
            self.bytes = Some(memory);
        }
        Ok((self.address, grows))
    }

    /// So many items of a type, which are so many bytes.
    ///
    /// # Errors
    ///
    /// [`GpuError::OutOfMemory`](crate::GpuError::OutOfMemory), [`GpuError::Driver`](crate::GpuError::Driver).
    ///
    /// # Safety
    ///
    /// The items are written before they are read.
    pub(crate) unsafe fn items<T: DeviceRepr>(
        &mut self,
        stream: &Arc<CudaStream>,
        len: usize,
        bytes: u64,
    ) -> Result<CudaViewMut<'_, T>, Error> {
        // There is a view of no bytes, but none of no memory.
        self.room(stream, bytes.max(1))?;
        let memory = self.bytes.as_mut().ok_or(Error::Gpu(GpuError::OutOfMemory))?;
        // SAFETY: the caller promises that an item is written before it is read. The memory is
        // aligned to 256 bytes, which is enough for any item, and `transmute_mut` answers `None` if
        // it were too short.
        unsafe { memory.transmute_mut(len) }.ok_or(Error::Gpu(GpuError::OutOfMemory))
    }
}
