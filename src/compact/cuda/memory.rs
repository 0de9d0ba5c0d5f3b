//! [`Memory`]: working memory on the device, which grows when more is asked for.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, DevicePtr};

use super::device::failed;
use crate::error::Error;

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
}
