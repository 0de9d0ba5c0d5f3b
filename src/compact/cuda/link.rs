//! [`Link`]: copies between host and device, in pieces through page-locked memory, so that the device's copies run while
//! the host's threads fill and empty the other piece.

use cudarc::driver::sys::{self, CUevent_flags};
use cudarc::driver::{CudaEvent, CudaStream, PinnedHostSlice};
use rayon::prelude::*;
use std::sync::Arc;

use super::device::failed;
use super::tuning;
use crate::compact::cpu::memory::Base;
use crate::error::Error;

/// Two pieces of page-locked memory.
pub(super) struct Link {
    stream: Arc<CudaStream>,
    pieces: [Piece; 2],
}

/// Page-locked memory, and when the device has done with it.
struct Piece {
    start: *mut u8,
    done: CudaEvent,
    _memory: PinnedHostSlice<u8>,
}

// SAFETY: the pointer is to the memory that is owned beside it.
unsafe impl Send for Piece {}

impl Piece {
    fn new(stream: &CudaStream) -> Result<Self, Error> {
        let failed = |error| failed(error, "get page-locked memory");
        let context = stream.context();
        // SAFETY: what is read of it has been written before, by the host or by the device.
        let memory = unsafe { context.alloc_pinned_with_flags::<u8>(tuning::PIECE_BYTES, 0) };
        let mut memory = memory.map_err(failed)?;
        let start = memory.as_mut_ptr().map_err(failed)?;
        let done = context.new_event(Some(CUevent_flags::CU_EVENT_DISABLE_TIMING));
        Ok(Self { start, done: done.map_err(failed)?, _memory: memory })
    }

    /// Waits until the device has done with the memory.
    fn wait(&self) -> Result<(), Error> {
        self.done.synchronize().map_err(|error| failed(error, "wait for a copy"))
    }
}

impl Link {
    /// Gets the memory.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceMemory`], [`Error::Driver`].
    pub(super) fn new(stream: &Arc<CudaStream>) -> Result<Self, Error> {
        let pieces = [Piece::new(stream)?, Piece::new(stream)?];
        Ok(Self { stream: stream.clone(), pieces })
    }

    /// Copies to the device. When it returns, the source is not needed any more; the device's copies are in the
    /// stream.
    ///
    /// # Safety
    ///
    /// There are so many bytes at both addresses, those on the device for the stream to write.
    pub(super) unsafe fn upload(
        &mut self,
        source: *const u8,
        address: u64,
        bytes: usize,
    ) -> Result<(), Error> {
        for (number, at) in (0..bytes).step_by(tuning::PIECE_BYTES).enumerate() {
            let len = (bytes - at).min(tuning::PIECE_BYTES);
            let piece = &self.pieces[number % 2];
            piece.wait()?;
            // SAFETY: within the source, by the caller's word.
            let source = unsafe { source.add(at) };
            // SAFETY: both are of so many bytes; nobody else has the piece.
            unsafe { copy_bits(source, piece.start, len) };
            let (to, stream) = (address + at as u64, self.stream.cu_stream());
            // SAFETY: the piece is kept until the device has done with it, and the address is the caller's word.
            unsafe { sys::cuMemcpyHtoDAsync_v2(to, piece.start.cast(), len, stream) }
                .result()
                .map_err(|error| failed(error, "copy to the device"))?;
            self.record(piece)?;
        }
        Ok(())
    }

    /// Copies from the device, in the stream's order, and waits for it.
    ///
    /// # Safety
    ///
    /// There are so many bytes at both addresses, those on the device for the stream to read.
    pub(super) unsafe fn download(
        &mut self,
        address: u64,
        out: *mut u8,
        bytes: usize,
    ) -> Result<(), Error> {
        let pieces = bytes.div_ceil(tuning::PIECE_BYTES);
        let start = |number: usize| {
            let at = number * tuning::PIECE_BYTES;
            let len = (bytes - at).min(tuning::PIECE_BYTES);
            let piece = &self.pieces[number % 2];
            piece.wait()?;
            let (from, stream) = (address + at as u64, self.stream.cu_stream());
            // SAFETY: the piece is kept until the device has done with it, and the address is the caller's word.
            unsafe { sys::cuMemcpyDtoHAsync_v2(piece.start.cast(), from, len, stream) }
                .result()
                .map_err(|error| failed(error, "copy from the device"))?;
            self.record(piece)
        };
        if pieces > 0 {
            start(0)?;
        }
        for number in 0..pieces {
            if number + 1 < pieces {
                start(number + 1)?;
            }
            let at = number * tuning::PIECE_BYTES;
            let len = (bytes - at).min(tuning::PIECE_BYTES);
            let piece = &self.pieces[number % 2];
            piece.wait()?;
            // SAFETY: within `out`, by the caller's word.
            let out = unsafe { out.add(at) };
            // SAFETY: both are of so many bytes; the device has done with the piece.
            unsafe { copy_bits(piece.start, out, len) };
        }
        Ok(())
    }

    fn record(&self, piece: &Piece) -> Result<(), Error> {
        piece.done.record(&self.stream).map_err(|error| failed(error, "mark a copy"))
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        for piece in &self.pieces {
            // If the driver has failed, nothing will be copied any more.
            let _ = piece.wait();
        }
    }
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Link").finish_non_exhaustive()
    }
}

/// Copies bytes, initialised or not, on the threads of the current pool if they are many.
///
/// # Safety
///
/// There are so many bytes at both addresses, which do not overlap, and nobody else uses them.
pub(super) unsafe fn copy_bits(source: *const u8, out: *mut u8, bytes: usize) {
    if bytes <= tuning::COPY_BYTES {
        // SAFETY: the caller's word.
        unsafe { core::ptr::copy_nonoverlapping(source, out, bytes) };
        return;
    }
    let (source, out) = (Base::new(source.cast_mut()), Base::new(out));
    (0..bytes.div_ceil(tuning::COPY_BYTES)).into_par_iter().for_each(|number| {
        let at = number * tuning::COPY_BYTES;
        let len = (bytes - at).min(tuning::COPY_BYTES);
        // SAFETY: below the number of bytes.
        let source = unsafe { source.at(at) };
        // SAFETY: below the number of bytes.
        let out = unsafe { out.at(at) };
        // SAFETY: the caller's word; the parts do not overlap.
        unsafe { core::ptr::copy_nonoverlapping(source, out, len) };
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_copied_whole() {
        for len in [0, 1, tuning::COPY_BYTES, tuning::COPY_BYTES + 1, 5 * tuning::COPY_BYTES - 3] {
            let source: Vec<u8> = (0..len).map(|k| (k * 7 % 251) as u8).collect();
            let mut out = vec![0; len];
            // SAFETY: both are that long.
            unsafe { copy_bits(source.as_ptr(), out.as_mut_ptr(), len) };
            assert_eq!(source, out);
        }
    }
}
