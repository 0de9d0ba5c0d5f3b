//! [`Memory`]: working memory on the device, which grows when more is asked for.

use std::sync::Arc;

use cudarc::driver::sys::CUstreamCaptureStatus;
use cudarc::driver::{CudaSlice, CudaStream, CudaViewMut, DevicePtr, DeviceRepr};

use super::device::failed;
use crate::error::Error;

/// `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED`
const CAPTURE_UNSUPPORTED: u32 = 900;

/// Bytes on the device of a stream, aligned to 256. Only that stream uses them.
#[derive(Debug, Default)]
pub(super) struct Memory {
    bytes: Option<CudaSlice<u8>>,
    /// Asked for once: every time it is asked for, cudarc looks for other streams to be waited for.
    address: u64,
}

impl Memory {
    pub(super) const fn new() -> Self {
        Self { bytes: None, address: 0 }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.as_ref().map_or(0, CudaSlice::len)
    }

    /// The address of at least so many bytes, whose values are not kept when they grow; and whether they are new.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceMemory`], [`Error::Driver`].
    pub(super) fn room(
        &mut self,
        stream: &Arc<CudaStream>,
        bytes: u64,
    ) -> Result<(u64, bool), Error> {
        let bytes = usize::try_from(bytes).map_err(|_| Error::DeviceMemory)?;
        let grows = self.bytes() < bytes;
        if grows {
            let status =
                stream.capture_status().map_err(|error| failed(error, "ask for a capture"))?;
            if status != CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE {
                // The memory would be the graph's, and there only while it runs.
                return Err(Error::Driver {
                    code: CAPTURE_UNSUPPORTED,
                    during: "reserve memory in a capture",
                });
            }
            // First give back what there is.
            self.bytes = None;
            // SAFETY: the bytes are written before they are read: by the kernels.
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
    /// [`Error::DeviceMemory`], [`Error::Driver`].
    ///
    /// # Safety
    ///
    /// The items are written before they are read.
    pub(super) unsafe fn items<T: DeviceRepr>(
        &mut self,
        stream: &Arc<CudaStream>,
        len: usize,
        bytes: u64,
    ) -> Result<CudaViewMut<'_, T>, Error> {
        // There is a view of no bytes, but none of no memory.
        self.room(stream, bytes.max(1))?;
        let memory = self.bytes.as_mut().ok_or(Error::DeviceMemory)?;
        // SAFETY: whatever is read has been written as such an item, and the memory is as aligned as any.
        unsafe { memory.transmute_mut(len) }.ok_or(Error::DeviceMemory)
    }
}
