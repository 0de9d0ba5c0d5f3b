//! [`RankWords`]: numbers that every rank gets of every rank.

use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cudarc::driver::{CudaStream, result, sys};

use crate::Error;
use crate::cuda::nccl::Communicator;
use crate::cuda::runtime::memory::Memory;
use crate::cuda::runtime::stream::{failed, finish};
use crate::error::GpuError;

/// The most numbers that are gathered at a time.
pub(super) const MOST: usize = 16;

/// The bytes of a rank's numbers, and of the mark after them.
const BYTES: u64 = 8 * (MOST as u64 + 1);

/// Device memory for the numbers of one rank, and then for those of all ranks. It is there before
/// the ranks join, so that a rank without memory can say so.
#[derive(Debug)]
pub(super) struct RankWords {
    memory: Memory,
    own: u64,
    /// How often numbers were gathered, which is the same for all ranks.
    turns: AtomicU64,
}

impl RankWords {
    /// Memory for the numbers of some ranks, which any stream of the context may use.
    ///
    /// # Errors
    ///
    /// [`GpuError::OutOfMemory`](crate::error::GpuError::OutOfMemory),
    /// [`GpuError::DriverFailed`](crate::error::GpuError::DriverFailed).
    pub(super) fn new(stream: &Arc<CudaStream>, ranks: usize) -> Result<Self, Error> {
        let mut memory = Memory::new();
        let (own, _) = memory.room(stream, BYTES * (ranks as u64 + 1))?;
        finish(stream).map_err(|error| failed(error, "allocate memory"))?;
        Ok(Self { memory, own, turns: AtomicU64::new(0) })
    }

    /// The bytes of device memory that it holds.
    pub(super) fn bytes(&self) -> usize {
        self.memory.held()
    }

    /// Gathers numbers of the host. All ranks give as many, at most 16. The host waits for the
    /// stream.
    ///
    /// # Errors
    ///
    /// As [`Communicator::wait`].
    pub(super) fn gather(
        &self,
        ranks: &Communicator,
        stream: &CudaStream,
        own: &[u64],
    ) -> Result<Vec<Vec<u64>>, Error> {
        assert!(own.len() <= MOST);
        bind(stream)?;
        // The driver may read the words until the stream has finished. Where that does not come,
        // nobody may free them: they are left behind.
        let mark = self.mark();
        let own = ManuallyDrop::new([own, &[mark]].concat());
        // SAFETY: the memory has room for `MOST` words and a mark, and nothing else uses it, since
        // the host has waited for all that was gathered before. The host's words are freed only
        // when the stream has finished.
        unsafe { result::memcpy_htod_async(self.own, &own, stream.cu_stream()) }
            .map_err(|error| failed(error, "write to the device"))?;
        // SAFETY: the words have just been written.
        let words = unsafe { self.gather_written(ranks, stream, own.len(), mark) }?;
        drop(ManuallyDrop::into_inner(own));
        Ok(words)
    }

    /// Gathers numbers of the device: as many bytes as each address comes with, at most 8.
    ///
    /// # Errors
    ///
    /// As [`gather`](Self::gather).
    ///
    /// # Safety
    ///
    /// Each address is that of as many bytes of device memory, which the stream may read.
    pub(super) unsafe fn gather_at(
        &self,
        ranks: &Communicator,
        stream: &CudaStream,
        own: &[(u64, usize)],
    ) -> Result<Vec<Vec<u64>>, Error> {
        assert!(own.len() <= MOST && own.iter().all(|&(_, bytes)| bytes <= 8));
        bind(stream)?;
        for (word, &(from, bytes)) in (0_u64..).zip(own) {
            let to = self.own + 8 * word;
            // SAFETY: the memory has room for `MOST` words.
            unsafe { set_word(stream, to, 0) }?;
            // SAFETY: the caller vouches for the bytes to be read, and the memory has room for
            // `MOST` words.
            unsafe { sys::cuMemcpyDtoDAsync_v2(to, from, bytes, stream.cu_stream()) }
                .result()
                .map_err(|error| failed(error, "copy on the device"))?;
        }
        let mark = self.mark();
        // SAFETY: the memory has room for a mark after `MOST` words.
        unsafe { set_word(stream, self.own + 8 * own.len() as u64, mark) }?;
        // SAFETY: the words have just been written.
        unsafe { self.gather_written(ranks, stream, own.len() + 1, mark) }
    }

    /// What stands after the numbers of every rank this time, and did not before.
    fn mark(&self) -> u64 {
        let turn = self.turns.fetch_add(1, Ordering::Relaxed);
        0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(turn + 1)
    }

    /// Gathers as many words as have been written, the mark among them. If it succeeds, the stream
    /// has finished.
    ///
    /// Where one of several ranks is gone, and another one no longer waits for it, NCCL ends what
    /// the others gather without an error, and without having written all of it. Then the marks
    /// tell.
    ///
    /// # Safety
    ///
    /// There are as many of them at the beginning of the memory.
    unsafe fn gather_written(
        &self,
        ranks: &Communicator,
        stream: &CudaStream,
        number: usize,
        mark: u64,
    ) -> Result<Vec<Vec<u64>>, Error> {
        let (all, bytes) = (self.own + BYTES, 8 * number as u64);
        // SAFETY: this rank's words are there, as the caller promises. Behind them is room for
        // those of all ranks, and nothing else uses it.
        unsafe { ranks.all_gather(stream, self.own, all, bytes) }?;
        // Waiting here, and not in the driver's copy, so that a rank that is gone is noticed.
        ranks.wait(stream)?;
        // As in `gather`: the driver may write them until the stream has finished.
        let mut words = ManuallyDrop::new(vec![0_u64; number * ranks.ranks()]);
        // SAFETY: there are as many words at the address, and any bits are a number. The host's
        // words are freed and read only when the stream has finished.
        unsafe { result::memcpy_dtoh_async(&mut words, all, stream.cu_stream()) }
            .map_err(|error| failed(error, "read from the device"))?;
        ranks.wait(stream)?;
        let words = ManuallyDrop::into_inner(words);
        let of_ranks = words.chunks(number).map(<[u64]>::split_last);
        let numbers = of_ranks.map(|of_rank| match of_rank {
            Some((&last, numbers)) if last == mark => Some(numbers.to_vec()),
            _ => None,
        });
        numbers.collect::<Option<_>>().ok_or_else(|| {
            let during = "gather from all ranks";
            let lost = Error::from(GpuError::PeerLost { own_rank: ranks.rank(), during });
            ranks.fail(lost.clone());
            lost
        })
    }
}

/// Makes a stream's context that of the thread, as the driver's calls need it: the caller may have
/// used another one since.
fn bind(stream: &CudaStream) -> Result<(), Error> {
    stream.context().bind_to_thread().map_err(|error| failed(error, "use the device"))
}

/// Writes a number to device memory, in a stream's order.
///
/// # Errors
///
/// [`GpuError::DriverFailed`](crate::error::GpuError::DriverFailed).
///
/// # Safety
///
/// There are 8 bytes at the address, a multiple of 4, which the stream may write.
pub(super) unsafe fn set_word(stream: &CudaStream, address: u64, word: u64) -> Result<(), Error> {
    for (at, half) in [(address, word as u32), (address + 4, (word >> 32) as u32)] {
        // SAFETY: the caller promises 8 bytes, and this writes 4 of them.
        unsafe { sys::cuMemsetD32Async(at, half, 1, stream.cu_stream()) }
            .result()
            .map_err(|error| failed(error, "write to the device"))?;
    }
    Ok(())
}
