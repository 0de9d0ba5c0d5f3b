//! [`PinnedPair`]: copies between host and device through two pieces of page-locked memory. The
//! device copies one piece while the host's threads fill or empty the other.

use cudarc::driver::sys::{self, CUevent_flags};
use cudarc::driver::{CudaEvent, CudaStream, PinnedHostSlice, result};
use rayon::prelude::*;
use std::sync::Arc;

use super::stream::{failed, finish, finish_event};
use crate::Error;
use crate::engine::memory::SharedPtr;

/// The bytes of a piece of page-locked memory.
pub(crate) const PIECE_BYTES: usize = 8 << 20;

/// The fewest bytes that are copied through page-locked memory. The driver copies fewer bytes just
/// as fast.
pub(crate) const LINK_BYTES: usize = 1 << 20;

/// The bytes that a thread copies at a time within host memory.
pub(crate) const COPY_BYTES: usize = 256 << 10;

/// Two pieces of page-locked memory.
pub(crate) struct PinnedPair {
    stream: Arc<CudaStream>,
    pieces: [PinnedPiece; 2],
}

/// Page-locked memory, and the event after the device's last use of it.
struct PinnedPiece {
    start: *mut u8,
    done: CudaEvent,
    _memory: PinnedHostSlice<u8>,
}

// SAFETY: `start` points to page-locked memory that `_memory` owns and that does not move when the
// `PinnedPiece` does. cudarc's types for the memory and the event are `Send`, and one thread at a
// time uses a piece, the one that has borrowed the `PinnedPair`.
unsafe impl Send for PinnedPiece {}

impl PinnedPiece {
    fn new(stream: &CudaStream) -> Result<Self, Error> {
        let failed = |error| failed(error, "get page-locked memory");
        let context = stream.context();
        // SAFETY: the memory is uninitialised, and is read only where it has been written: `upload`
        // fills a piece before the device reads it, and `download` waits for the device's copy
        // before it reads.
        let memory = unsafe { context.alloc_pinned_with_flags::<u8>(PIECE_BYTES, 0) };
        let mut memory = memory.map_err(failed)?;
        let start = memory.as_mut_ptr().map_err(failed)?;
        let done = context.new_event(Some(CUevent_flags::CU_EVENT_DISABLE_TIMING));
        Ok(Self { start, done: done.map_err(failed)?, _memory: memory })
    }

    /// Waits until the device has finished with the memory.
    fn wait(&self) -> Result<(), Error> {
        finish_event(&self.done).map_err(|error| failed(error, "wait for a copy"))
    }
}

impl PinnedPair {
    /// Allocates the page-locked memory.
    ///
    /// # Errors
    ///
    /// [`GpuError::OutOfMemory`](crate::error::GpuError::OutOfMemory),
    /// [`GpuError::DriverFailed`](crate::error::GpuError::DriverFailed).
    pub(crate) fn new(stream: &Arc<CudaStream>) -> Result<Self, Error> {
        let pieces = [PinnedPiece::new(stream)?, PinnedPiece::new(stream)?];
        Ok(Self { stream: stream.clone(), pieces })
    }

    /// Copies to the device. The source is no longer needed when it returns; the last of the
    /// device's copies may still be in the stream.
    ///
    /// # Safety
    ///
    /// There are `bytes` bytes to read at `source` and to write at `address`. The stream may write
    /// the latter.
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
            // SAFETY: `at` is below `bytes`, and the caller promises `bytes` bytes at `source`.
            let source = unsafe { source.add(at) };
            // SAFETY: `len` bytes of the source are left, and a piece has room for them. `wait` has
            // waited until the device has finished with the piece, and `self` is borrowed mutably,
            // so nobody else uses it.
            unsafe { copy_bits(source, piece.start, len) };
            let (to, stream) = (address + at as u64, self.stream.cu_stream());
            // SAFETY: the piece has been filled with `len` bytes, and is neither changed nor freed
            // before `wait`, or the link's `Drop`, has waited for the event that is recorded after
            // this copy. The caller promises `bytes` bytes at the address that the stream may
            // write, and these `len` are among them.
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
    /// There are `bytes` bytes to read at `address` and to write at `out`. The stream may read the
    /// former, and nobody else uses the latter.
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
            // SAFETY: the piece has room for `len` bytes, what it held has been copied out, and it
            // is neither read nor freed before `wait`, or the link's `Drop`, has waited for the
            // event that is recorded after this copy. The caller promises `bytes` bytes at the
            // address that the stream may read, and these `len` are among them.
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
            // SAFETY: `at` is below `bytes`, and the caller promises room for `bytes` bytes at
            // `out`.
            let out = unsafe { out.add(at) };
            // SAFETY: `len` bytes of room are left at `out`. The device has written as many to the
            // piece, for which `wait` has waited, and its next copy is to the other piece.
            unsafe { copy_bits(piece.start, out, len) };
        }
        Ok(())
    }

    /// Records the event that says when the device has finished with a piece.
    fn record(&self, piece: &PinnedPiece) -> Result<(), Error> {
        // SAFETY: the event and the stream exist, since they are borrowed, and are of one context,
        // in which the piece was made. cudarc's own function would not record the event if there
        // were an error that it has kept for later.
        let recorded =
            unsafe { result::event::record(piece.done.cu_event(), self.stream.cu_stream()) };
        recorded.map_err(|error| {
            // Nothing else says when the copy has finished. There is an error to report already.
            let _ = finish(&self.stream);
            failed(error, "mark a copy")
        })
    }
}

impl Drop for PinnedPair {
    fn drop(&mut self) {
        for piece in &self.pieces {
            // If the driver cannot wait, it copies nothing any more.
            let _ = piece.wait();
        }
    }
}

impl std::fmt::Debug for PinnedPair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Link").finish_non_exhaustive()
    }
}

/// Copies bytes, initialised or not, on the threads of the current pool if there are many.
///
/// # Safety
///
/// There are `bytes` bytes to read at `source` and to write at `out`. The two do not overlap, and
/// nobody else uses them meanwhile.
pub(crate) unsafe fn copy_bits(source: *const u8, out: *mut u8, bytes: usize) {
    if bytes <= COPY_BYTES {
        // SAFETY: the caller promises `bytes` bytes at both addresses, which do not overlap and
        // which nobody else uses. Bytes need no alignment, and an untyped copy may copy
        // uninitialised ones.
        unsafe { core::ptr::copy_nonoverlapping(source, out, bytes) };
        return;
    }
    let (source, out) = (SharedPtr::new(source.cast_mut()), SharedPtr::new(out));
    (0..bytes.div_ceil(COPY_BYTES)).into_par_iter().for_each(|number| {
        let at = number * COPY_BYTES;
        let len = (bytes - at).min(COPY_BYTES);
        // SAFETY: `at` is below `bytes`, since the number of parts is just enough to cover them,
        // and the caller promises `bytes` bytes at `source`.
        let source = unsafe { source.at(at) };
        // SAFETY: `at` is below `bytes`, and the caller promises room for `bytes` bytes at `out`.
        let out = unsafe { out.at(at) };
        // SAFETY: `at + len` is at most `bytes`, and the caller promises that many at both
        // addresses, without overlap. Parts with different numbers do not overlap either, so no
        // thread writes what another reads or writes.
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
            // SAFETY: both vectors have `len` bytes, in two allocations that nobody else uses.
            unsafe { copy_bits(source.as_ptr(), out.as_mut_ptr(), len) };
            assert_eq!(source, out);
        }
    }
}
