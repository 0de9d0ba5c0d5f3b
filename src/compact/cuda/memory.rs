//! [`Memory`]: working memory on the device, which grows when more is asked for.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, result};

use super::device::failed;
use crate::error::Error;

/// Bytes on the device of a stream, aligned to 256.
#[derive(Debug, Default)]
pub(super) struct Memory(Option<CudaSlice<u8>>);

impl Memory {
    pub(super) const fn new() -> Self {
        Self(None)
    }

    pub(super) fn bytes(&self) -> usize {
        self.0.as_ref().map_or(0, CudaSlice::len)
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
            // First give back what there is.
            self.0 = None;
            // SAFETY: the bytes are written before they are read: by the kernels, or by `clear`.
            let memory = unsafe { stream.alloc::<u8>(bytes) };
            self.0 = Some(memory.map_err(|error| failed(error, "allocate working memory"))?);
        }
        let address = self.0.as_ref().map_or(0, |memory| memory.device_ptr(stream).0);
        Ok((address, grows))
    }
}

/// Sets bytes to zero, in the stream's order.
///
/// # Safety
///
/// The bytes are on the stream's device, and the stream's to write.
pub(super) unsafe fn clear(stream: &CudaStream, address: u64, bytes: u64) -> Result<(), Error> {
    // SAFETY: the caller's word.
    unsafe { result::memset_d8_async(address, 0, bytes as usize, stream.cu_stream()) }
        .map_err(|error| failed(error, "clear working memory"))
}
