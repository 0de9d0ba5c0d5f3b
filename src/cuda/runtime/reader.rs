//! [`Reader`]: what a stream has written, on the host.

use cudarc::driver::{CudaStream, result};

use super::stream::failed;
use crate::error::Error;

/// Reads what a stream has written.
pub(crate) struct Reader<'e> {
    stream: &'e CudaStream,
}

impl<'e> Reader<'e> {
    pub(super) fn new(stream: &'e CudaStream) -> Self {
        Self { stream }
    }

    /// Reads numbers at an address, when the stream has done what was put in it before.
    ///
    /// # Safety
    ///
    /// There are as many numbers at the address, which is the stream's to read, and any bits are
    /// one.
    pub(crate) unsafe fn read<N: Copy>(&self, address: u64, out: &mut [N]) -> Result<(), Error> {
        let failed = |error| failed(error, "read from the device");
        // SAFETY: the caller promises as many numbers at the address, and that any bits are one.
        // `out` is borrowed until they are there, since the stream is waited for.
        unsafe { result::memcpy_dtoh_async(out, address, self.stream.cu_stream()) }
            .map_err(failed)?;
        self.stream.synchronize().map_err(failed)
    }
}
