//! [`Communicator`]: a [`Link`] on a stream of the driver.

use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::{CudaContext, CudaStream};

use super::id::NcclId;
use super::library::{Nccl, Stream};
use super::link::{Link, LinkMessage};
use crate::Error;
use crate::cuda::runtime::stream::{failed, is_finished};

/// One rank of a group of processes with a GPU each.
///
/// Each call takes at most the time limit that [`new`](Self::new) is given, and as much again to
/// abort if it fails; the drop, which ends the communicator together with the other ranks, takes at
/// most twice the limit. After an error every call returns the same one.
///
/// Its calls take turns when threads share it. All ranks have to make the same calls in the same
/// order, which those threads must see to.
#[derive(Debug)]
pub(in crate::cuda) struct Communicator {
    link: Link,
    context: Arc<CudaContext>,
}

impl Communicator {
    /// Joins the ranks that have the same id, on the GPU of a stream. All of them make this call,
    /// each with another rank and, as NCCL demands, another GPU.
    ///
    /// # Errors
    ///
    /// [`Error::BackendUnavailable`] if there is no NCCL; [`Error::NoSuchRank`];
    /// [`GpuError::TimedOut`](crate::error::GpuError::TimedOut) if the other ranks do not join
    /// within the time limit; [`GpuError::PeerLost`](crate::error::GpuError::PeerLost),
    /// [`GpuError::NcclFailed`](crate::error::GpuError::NcclFailed),
    /// [`GpuError::DriverFailed`](crate::error::GpuError::DriverFailed).
    pub(in crate::cuda) fn new(
        stream: &Arc<CudaStream>,
        id: &NcclId,
        rank: usize,
        ranks: usize,
        limit: Duration,
    ) -> Result<Self, Error> {
        let nccl = Nccl::get().map_err(Error::no_cuda)?;
        let context = stream.context().clone();
        enter(&context)?;
        Ok(Self { link: Link::new(nccl, id, rank, ranks, limit)?, context })
    }

    /// This rank, below [`ranks`](Self::ranks).
    pub(in crate::cuda) fn rank(&self) -> usize {
        self.link.rank()
    }

    /// The number of ranks, at least 1.
    pub(in crate::cuda) fn ranks(&self) -> usize {
        self.link.ranks()
    }

    /// Puts messages into a stream, in the order given, and returns when they are in it. Messages
    /// of 0 bytes are left out. Between two ranks, the first that one sends is the first that the
    /// other receives, and has to be of the same size.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchRank`] if a message is of no rank, and then nothing was done; else as
    /// [`new`](Self::new).
    ///
    /// # Safety
    ///
    /// The stream is of the context of the one that the communicator was made on, and is not being
    /// captured. Until what it holds now has finished, the memory of each message exists on that
    /// context's device, nothing else writes to that of `sends`, and nothing else reads or writes
    /// that of `receives`, whose bytes may take any values: also after an error.
    pub(in crate::cuda) unsafe fn exchange(
        &self,
        stream: &CudaStream,
        sends: &[LinkMessage],
        receives: &[LinkMessage],
    ) -> Result<(), Error> {
        enter(&self.context)?;
        // SAFETY: the caller promises what is needed, and the stream is borrowed.
        unsafe { self.link.exchange(handle(stream), sends, receives) }
    }

    /// Puts into a stream that every rank gets `bytes` bytes of each rank, in the order of the
    /// ranks: those of this rank are at the address `from`, and all are received at the address
    /// `to`. The first may be this rank's place within the second.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    ///
    /// # Safety
    ///
    /// As for [`exchange`](Self::exchange), with `bytes` bytes to be sent and `ranks() * bytes`
    /// bytes to be received.
    pub(in crate::cuda) unsafe fn all_gather(
        &self,
        stream: &CudaStream,
        from: u64,
        to: u64,
        bytes: u64,
    ) -> Result<(), Error> {
        enter(&self.context)?;
        // SAFETY: the caller promises what is needed, and the stream is borrowed.
        unsafe { self.link.all_gather(handle(stream), from, to, bytes) }
    }

    /// Asks NCCL whether anything has failed, without waiting.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new), except for the time limit.
    pub(in crate::cuda) fn check(&self) -> Result<(), Error> {
        self.link.check()
    }

    /// Ends the communication because of an error, which every later call returns. What the ranks
    /// have begun together fails on the others too, or keeps them until their time limit.
    pub(in crate::cuda) fn fail(&self, error: Error) {
        self.link.fail(error);
    }

    /// Waits until a stream has finished, which must not be one that is being captured. The time
    /// limit is for all that the stream holds, and counts from this call.
    ///
    /// After an error the stream does not hang: the communicator has been aborted, which ends its
    /// part of it.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub(in crate::cuda) fn wait(&self, stream: &CudaStream) -> Result<(), Error> {
        self.wait_for(|| is_finished(stream).map_err(|error| failed(error, "wait for a stream")))
    }

    /// As [`wait`](Self::wait), until the closure says that it is done.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new), and those of the closure.
    pub(in crate::cuda) fn wait_for(
        &self,
        is_done: impl FnMut() -> Result<bool, Error>,
    ) -> Result<(), Error> {
        self.link.wait(is_done)
    }
}

/// Makes a context that of the thread, since NCCL takes its GPU from there.
fn enter(context: &CudaContext) -> Result<(), Error> {
    context.bind_to_thread().map_err(|error| failed(error, "enter its context"))
}

/// A stream's handle. The driver's is that of the runtime library, which NCCL uses.
fn handle(stream: &CudaStream) -> Stream {
    stream.cu_stream().cast()
}
