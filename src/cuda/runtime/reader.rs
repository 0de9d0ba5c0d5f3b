//! [`StreamReader`]: lets the host read what a stream has written.

use cudarc::driver::{CudaStream, result};

use super::stream::{failed, finish};
use crate::Error;

/// Reads what a stream has written.
pub(crate) struct StreamReader<'e> {
    stream: &'e CudaStream,
}

impl<'e> StreamReader<'e> {
    pub(super) fn new(stream: &'e CudaStream) -> Self {
        Self { stream }
    }

    /// Reads numbers at an address, after all that is in the stream has finished.
    ///
    /// # Safety
    ///
    /// There are `out.len()` numbers of type N at the address, which the stream may read, and any
    /// bits are a valid N.
    pub(crate) unsafe fn read<N: Copy>(&self, address: u64, out: &mut [N]) -> Result<(), Error> {
        let failed = |error| failed(error, "read from the device");
        // SAFETY: the caller promises as many numbers at the address as `out` has, and that any
        // bits are a valid N. `out` is borrowed until the copy has finished, since this function
        // waits for the stream, whatever errors cudarc has kept. If the driver cannot wait, it
        // copies nothing any more.
        unsafe { result::memcpy_dtoh_async(out, address, self.stream.cu_stream()) }
            .map_err(failed)?;
        finish(self.stream).map_err(failed)
    }
}
