//! [`Link`]: copies between host and device, in pieces through page-locked memory, so that the device's copies run while
//! the host's threads fill and empty the other piece.

use cudarc::driver::sys::{self, CUevent_flags};
use cudarc::driver::{CudaEvent, CudaStream, PinnedHostSlice};
use rayon::prelude::*;
use std::sync::Arc;

use super::stream::failed;
use crate::base::memory::SharedPtr;
use crate::error::Error;

/// Bytes of a piece of page-locked memory, of which there are two, for copies between host and device.
pub(crate) const PIECE_BYTES: usize = 8 << 20;

/// Bytes from which copies go through page-locked memory. What is less, the driver copies as fast.
pub(crate) const LINK_BYTES: usize = 1 << 20;

/// Bytes that a thread copies at a time from one place in host memory to another.
pub(crate) const COPY_BYTES: usize = 256 << 10;

/// Two pieces of page-locked memory.
pub(crate) struct Link {
    stream: Arc<CudaStream>,
    pieces: [Piece; 2],
}

/// Page-locked memory, and when the device has done with it.
struct Piece {
    start: *mut u8,
    done: CudaEvent,
    _memory: PinnedHostSlice<u8>,
}

// SAFETY: `start` points to page-locked memory that `_memory` owns and that stays where it is when
// a piece moves. cudarc lets both the memory and the event be sent, and a piece is used by one
// thread at a time, which has it borrowed from its `Link`.
unsafe impl Send for Piece {}

impl Piece {
    fn new(stream: &CudaStream) -> Result<Self, Error> {
        let failed = |error| failed(error, "get page-locked memory");
        let context = stream.context();
        // SAFETY: the memory comes uninitialised, and is read only where it has been written:
        // `upload` fills a piece before the device reads it, and `download` waits for the device's
        // copy before it reads.
        let memory = unsafe { context.alloc_pinned_with_flags::<u8>(PIECE_BYTES, 0) };
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
    /// [`GpuError::OutOfMemory`](crate::GpuError::OutOfMemory), [`GpuError::Driver`](crate::GpuError::Driver).
    pub(crate) fn new(stream: &Arc<CudaStream>) -> Result<Self, Error> {
        let pieces = [Piece::new(stream)?, Piece::new(stream)?];
        Ok(Self { stream: stream.clone(), pieces })
    }

    /// Copies to the device. When it returns, the source is not needed any more; the device's copies are in the
    /// stream.
    ///
    /// # Safety
    ///
    /// There are so many bytes at both addresses, those on the device for the stream to write.
    pub(crate) unsafe fn upload(
        &mut self,
        source: *const u8,
        address: u64,
        bytes: usize,
    ) -> Result<(), Error> {
        for (number, at) in (0..bytes).step_by(PIECE_BYTES).enumerate() {
            let len = (bytes - at).min(PIECE_BYTES);
            let piece = &self.pieces[number % 2];
            piece.wait()?;
            // SAFETY: `at` is below `bytes`, which is how many the caller promises that there are
            // at `source`.
            let source = unsafe { source.add(at) };
            // SAFETY: `len` bytes are left of the source, and are no more than a piece has. The
            // device has done with the piece, which `wait` has waited for, and `self` is borrowed
            // alone.
            unsafe { copy_bits(source, piece.start, len) };
            let (to, stream) = (address + at as u64, self.stream.cu_stream());
            // SAFETY: the piece has been filled with `len` bytes, and neither changes nor is freed
            // before `wait` or the `Drop` of the link has waited for the event after this copy. The
            // caller promises that there are `bytes` at the address for the stream to write, of
            // which these are a part.
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
    pub(crate) unsafe fn download(
        &mut self,
        address: u64,
        out: *mut u8,
        bytes: usize,
    ) -> Result<(), Error> {
        let pieces = bytes.div_ceil(PIECE_BYTES);
        let start = |number: usize| {
            let at = number * PIECE_BYTES;
            let len = (bytes - at).min(PIECE_BYTES);
            let piece = &self.pieces[number % 2];
            piece.wait()?;
            let (from, stream) = (address + at as u64, self.stream.cu_stream());
            // SAFETY: the piece has room for `len` bytes, has been emptied before, and is neither
            // read nor freed before `wait` or the `Drop` of the link has waited for the event after
            // this copy. The caller promises that there are `bytes` at the address for the stream
            // to read, of which these are a part.
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
            let at = number * PIECE_BYTES;
            let len = (bytes - at).min(PIECE_BYTES);
            let piece = &self.pieces[number % 2];
            piece.wait()?;
            // SAFETY: `at` is below `bytes`, for which the caller promises that there is room at
            // `out`.
            let out = unsafe { out.add(at) };
            // SAFETY: `len` bytes of room are left from here, and the piece has as many, which the
            // device has written: `wait` has waited for its copy. The next copy is to the other
            // piece.
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
pub(crate) unsafe fn copy_bits(source: *const u8, out: *mut u8, bytes: usize) {
    if bytes <= COPY_BYTES {
        // SAFETY: the caller promises that there are `bytes` at both addresses, that the two do not
        // overlap, and that nobody else uses them. Bytes have no alignment, and are copied without
        // being looked at.
        unsafe { core::ptr::copy_nonoverlapping(source, out, bytes) };
        return;
    }
    let (source, out) = (SharedPtr::new(source.cast_mut()), SharedPtr::new(out));
    (0..bytes.div_ceil(COPY_BYTES)).into_par_iter().for_each(|number| {
        let at = number * COPY_BYTES;
        let len = (bytes - at).min(COPY_BYTES);
        // SAFETY: `at` is below `bytes`, since there are no more parts than cover them, and so many
        // are at the address.
        let source = unsafe { source.at(at) };
        // SAFETY: `at` is below `bytes`, and there is room for so many at the address.
        let out = unsafe { out.at(at) };
        // SAFETY: `at + len` is at most `bytes`, which are at both addresses and do not overlap.
        // Parts of different numbers do not overlap either, so no thread writes what another reads
        // or writes.
        unsafe { core::ptr::copy_nonoverlapping(source, out, len) };
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_copied_whole() {
        for len in [0, 1, COPY_BYTES, COPY_BYTES + 1, 5 * COPY_BYTES - 3] {
            let source: Vec<u8> = (0..len).map(|k| (k * 7 % 251) as u8).collect();
            let mut out = vec![0; len];
            // SAFETY: both vectors are of `len` bytes, and are two allocations.
            unsafe { copy_bits(source.as_ptr(), out.as_mut_ptr(), len) };
            assert_eq!(source, out);
        }
    }
}
