//! [`Link`]: one rank's calls of NCCL. None hangs, and every failure has a type.
//!
//! No call blocks: NCCL is told so when a communicator is made, and is then asked whether it is
//! done, until a time limit. (`NCCL_COMM_BLOCKING=1` in the environment overrides that, and the
//! limit with it.) Whatever fails, the communicator is aborted, which ends its kernels on the GPU,
//! and the error is kept: every later call returns it. The other ranks notice by NCCL, or by their
//! own limits.
//!
//! None of the calls may be made while the thread has begun a group of NCCL's of its own: NCCL
//! would put them off until the end of that group.

use std::ffi::{c_int, c_void};
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::id::NcclId;
use super::library::{
    BYTE, Config, IN_PROGRESS, INTERNAL_ERROR, Nccl, REMOTE_ERROR, SUCCESS, Stream,
};
use super::patience::{Patience, within};
use crate::Error;
use crate::error::GpuError;

/// What is sent to one rank, or received from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cuda) struct LinkMessage {
    /// The other rank, which may be this one.
    pub(in crate::cuda) peer: usize,
    /// Where it is, or goes to, in device memory.
    pub(in crate::cuda) address: u64,
    /// Its size. Without any bytes there is no message, and the other rank must not expect one.
    pub(in crate::cuda) bytes: u64,
}

/// A communicator's handle.
#[derive(Clone, Copy, Debug)]
struct Handle(NonNull<c_void>);

// SAFETY: a communicator may be used by any thread, but by one at a time, which is why the handle
// is behind a lock. The only state that NCCL keeps for each thread is that of a group, which begins
// and ends in one call of ours under the lock, and that of work in the background, which `settle`
// joins on the thread that started it. After a failure the abort joins it, for which that thread
// waits.
unsafe impl Send for Handle {}

#[derive(Debug)]
enum State {
    Open(Handle),
    /// Aborted because of this error.
    Failed(Error),
}

/// One rank of a communicator.
///
/// `Sync` because its calls take turns. But all ranks have to make the same calls in the same
/// order, which threads that share a link must see to themselves; where they do not, ranks wait for
/// each other until the time limit.
#[derive(Debug)]
pub(super) struct Link {
    nccl: &'static Nccl,
    rank: usize,
    ranks: usize,
    limit: Duration,
    state: Mutex<State>,
}

impl Link {
    /// Joins a communicator, when all its ranks do. The GPU is that of the context that is current.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchRank`]; [`GpuError::TimedOut`] if the others do not join within the limit;
    /// [`GpuError::PeerLost`], [`GpuError::NcclFailed`].
    pub(super) fn new(
        nccl: &'static Nccl,
        id: &NcclId,
        rank: usize,
        ranks: usize,
        limit: Duration,
    ) -> Result<Self, Error> {
        let number = c_int::try_from(rank).ok().filter(|_| rank < ranks);
        let (Some(number), Ok(count)) = (number, c_int::try_from(ranks)) else {
            return Err(Error::NoSuchRank { rank: rank as u64, ranks: ranks as u64 });
        };
        let during = "join the other ranks";
        let mut config = Config::without_blocking();
        // NCCL keeps the address of the handle, and its thread stores to it once more when it ends.
        // So that is not on the stack, and it is left behind unless the thread has ended.
        let place = ManuallyDrop::new(Box::new(AtomicPtr::new(ptr::null_mut())));
        // SAFETY: both pointers are to variables of their types, the first is not freed before NCCL
        // has forgotten it, and the configuration is complete for the version that it names. NCCL
        // copies what it keeps of it, and of the id.
        let code = unsafe { (nccl.init)(place.as_ptr(), count, id.as_raw(), number, &mut config) };
        let Some(handle) = NonNull::new(place.load(Ordering::Acquire)) else {
            let code = if has_failed(code) { code } else { INTERNAL_ERROR };
            return Err(failure(rank, code, during));
        };
        let state = Mutex::new(State::Open(Handle(handle)));
        let link = Self { nccl, rank, ranks, limit, state };
        link.call(|handle| link.settle(handle, code, during))?;
        // `settle` has joined NCCL's thread.
        drop(ManuallyDrop::into_inner(place));
        Ok(link)
    }

    pub(super) fn rank(&self) -> usize {
        self.rank
    }

    pub(super) fn ranks(&self) -> usize {
        self.ranks
    }

    /// Puts messages into a stream, in the order given. Between two ranks they arrive in that
    /// order: the first that one sends is the first that the other receives.
    ///
    /// It returns when the messages are in the stream, for which all ranks that take part have to
    /// make their calls.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchRank`] and [`Error::OutOfMemory`] if a message cannot be, in which case
    /// nothing was done; else as [`new`](Self::new).
    ///
    /// # Safety
    ///
    /// The stream is of the context in which the link was made. Until what it holds now has
    /// finished, the memory of each message exists on that context's device, nothing else writes to
    /// that of `sends`, and nothing else reads or writes that of `receives`, whose bytes may take
    /// any values.
    pub(super) unsafe fn exchange(
        &self,
        stream: Stream,
        sends: &[LinkMessage],
        receives: &[LinkMessage],
    ) -> Result<(), Error> {
        for message in sends.iter().chain(receives) {
            if message.peer >= self.ranks {
                let (rank, ranks) = (message.peer, self.ranks);
                return Err(Error::NoSuchRank { rank: rank as u64, ranks: ranks as u64 });
            }
            size(message.bytes)?;
        }
        self.call(|handle| {
            if sends.iter().chain(receives).all(|message| message.bytes == 0) {
                return Ok(());
            }
            // SAFETY: the caller promises device memory for each message until the stream has done
            // with it. Ranks and sizes have been checked.
            let code = unsafe { self.group(handle, stream, sends, receives) };
            self.settle(handle, code, "exchange items with the other ranks")
        })
    }

    /// Calls NCCL for a group of messages, and returns its code.
    ///
    /// # Safety
    ///
    /// As [`exchange`](Self::exchange); moreover, the messages are among the ranks that there are,
    /// and their sizes fit a `usize`.
    unsafe fn group(
        &self,
        handle: Handle,
        stream: Stream,
        sends: &[LinkMessage],
        receives: &[LinkMessage],
    ) -> c_int {
        let (nccl, comm) = (self.nccl, handle.0.as_ptr());
        // SAFETY: a group may be begun at any time; it is ended below, whatever happens.
        let begun = unsafe { (nccl.group_start)() };
        if has_failed(begun) {
            return begun;
        }
        let is_there = |message: &&LinkMessage| message.bytes > 0;
        let mut code = SUCCESS;
        for &LinkMessage { peer, address, bytes } in sends.iter().filter(is_there) {
            if !has_failed(code) {
                let (from, peer) = (ptr::without_provenance(address as usize), peer as c_int);
                // SAFETY: the communicator is open, the peer is one of its ranks, and all of them
                // fit a `c_int`. The caller vouches for the memory and the stream.
                code = unsafe { (nccl.send)(from, bytes as usize, BYTE, peer, comm, stream) };
            }
        }
        for &LinkMessage { peer, address, bytes } in receives.iter().filter(is_there) {
            if !has_failed(code) {
                let (to, peer) = (ptr::without_provenance_mut(address as usize), peer as c_int);
                // SAFETY: the communicator is open, the peer is one of its ranks, and all of them
                // fit a `c_int`. The caller vouches for the memory, that it may be written, and the
                // stream.
                code = unsafe { (nccl.receive)(to, bytes as usize, BYTE, peer, comm, stream) };
            }
        }
        // SAFETY: this thread has begun the group above. It is ended after an error too, because
        // this thread's later calls of NCCL would be part of it.
        let ended = unsafe { (nccl.group_end)() };
        if has_failed(code) { code } else { ended }
    }

    /// Enqueues a gather: each rank gets the same number of bytes of every rank, in the order of
    /// the ranks, `ranks() * bytes` bytes in all.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`] if a slice cannot have that many bytes, and then nothing was done;
    /// otherwise as [`new`](Self::new).
    ///
    /// # Safety
    ///
    /// As for [`exchange`](Self::exchange): this rank's bytes are sent from the address `from`, and
    /// all are received at the address `to`. The first may also be this rank's place within the
    /// second.
    pub(super) unsafe fn all_gather(
        &self,
        stream: Stream,
        from: u64,
        to: u64,
        bytes: u64,
    ) -> Result<(), Error> {
        size(bytes.saturating_mul(self.ranks as u64))?;
        self.call(|handle| {
            if bytes == 0 {
                return Ok(());
            }
            let (nccl, comm) = (self.nccl, handle.0.as_ptr());
            let from = ptr::without_provenance(from as usize);
            let to = ptr::without_provenance_mut(to as usize);
            // SAFETY: the communicator is open. The caller vouches for the memory and the stream.
            let code = unsafe { (nccl.all_gather)(from, to, bytes as usize, BYTE, comm, stream) };
            self.settle(handle, code, "gather from all ranks")
        })
    }

    /// Asks NCCL whether anything has failed since the last call.
    ///
    /// # Errors
    ///
    /// [`GpuError::PeerLost`], [`GpuError::NcclFailed`].
    pub(super) fn check(&self) -> Result<(), Error> {
        self.call(|handle| self.is_idle(handle, "stay in touch with the other ranks").map(drop))
    }

    /// Aborts because of an error of the caller's, which every later call returns.
    pub(super) fn fail(&self, error: Error) {
        // The call returns the error, or an earlier one.
        let _ = self.call(|_| Err::<(), _>(error));
    }

    /// Waits for what the closure says is done, such as a stream. The limit counts from this call.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new), and those of the closure.
    pub(super) fn wait(
        &self,
        mut is_done: impl FnMut() -> Result<bool, Error>,
    ) -> Result<(), Error> {
        let during = "finish what was begun with the other ranks";
        let mut patience = Patience::new(self.limit);
        loop {
            // Asked first: if it is done, what NCCL says after that is about all of it.
            let is_done = is_done();
            let is_done = self.call(|handle| {
                self.is_idle(handle, during)?;
                match is_done? {
                    false if patience.is_over() => Err(self.timed_out(during)),
                    is_done => Ok(is_done),
                }
            })?;
            if is_done {
                return Ok(());
            }
            patience.pause();
        }
    }

    /// Does something with an open communicator. If it fails, the communicator is aborted.
    fn call<R>(&self, call: impl FnOnce(Handle) -> Result<R, Error>) -> Result<R, Error> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let handle = match &*state {
            State::Open(handle) => *handle,
            State::Failed(error) => return Err(error.clone()),
        };
        call(handle).inspect_err(|error| {
            *state = State::Failed(error.clone());
            let nccl = self.nccl;
            within(self.limit, move || abort(nccl, handle));
        })
    }

    /// Waits until NCCL has done what a call returned a code for.
    fn settle(&self, handle: Handle, code: c_int, during: &'static str) -> Result<(), Error> {
        if has_failed(code) {
            return Err(failure(self.rank, code, during));
        }
        let mut patience = Patience::new(self.limit);
        while !self.is_idle(handle, during)? {
            if patience.is_over() {
                return Err(self.timed_out(during));
            }
            patience.pause();
        }
        // NCCL joins its thread in the next call that needs the communicator. Until version 2.26
        // that must not come after the end of the thread that made the call, whose memory the work
        // is in. So there is such a call right here.
        let mut rank = 0;
        // SAFETY: the communicator is open, and the number is written to a variable of its type.
        match unsafe { (self.nccl.user_rank)(handle.0.as_ptr(), &mut rank) } {
            SUCCESS => Ok(()),
            code => Err(failure(self.rank, code, during)),
        }
    }

    /// Whether NCCL has done all that it was told.
    fn is_idle(&self, handle: Handle, during: &'static str) -> Result<bool, Error> {
        match status(self.nccl, handle) {
            SUCCESS => Ok(true),
            IN_PROGRESS => Ok(false),
            code => Err(failure(self.rank, code, during)),
        }
    }

    fn timed_out(&self, during: &'static str) -> Error {
        GpuError::TimedOut { own_rank: self.rank, during, after: self.limit }.into()
    }
}

impl Drop for Link {
    /// Takes at most twice the time limit.
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let State::Open(handle) = *state {
            let (nccl, limit) = (self.nccl, self.limit);
            within(limit.saturating_mul(2), move || close(nccl, handle, limit));
        }
    }
}

/// Ends a communicator in order, for which the other ranks have to do the same; or aborts it, if
/// they do not within the time limit.
fn close(nccl: &Nccl, handle: Handle, limit: Duration) {
    let mut patience = Patience::new(limit);
    // SAFETY: the communicator is open.
    let mut code = unsafe { (nccl.finalize)(handle.0.as_ptr()) };
    while code == IN_PROGRESS && !patience.is_over() {
        patience.pause();
        code = status(nccl, handle);
    }
    if code == SUCCESS {
        // SAFETY: the communicator has been finalized, and is not used again.
        unsafe { (nccl.destroy)(handle.0.as_ptr()) };
    } else {
        abort(nccl, handle);
    }
}

/// Ends a communicator at once, with its kernels on the GPU. It must not be used again.
fn abort(nccl: &Nccl, handle: Handle) {
    // SAFETY: the callers have not ended the communicator before, and do not use it again. NCCL
    // allows this in any state, also while it is still being made. There is nothing to do about an
    // error.
    unsafe { (nccl.abort)(handle.0.as_ptr()) };
}

/// What NCCL says of a communicator that has not been ended.
fn status(nccl: &Nccl, handle: Handle) -> c_int {
    let mut status = SUCCESS;
    // SAFETY: the communicator has not been ended, and the status is written to a variable of its
    // type.
    match unsafe { (nccl.async_error)(handle.0.as_ptr(), &mut status) } {
        SUCCESS => status,
        code => code,
    }
}

fn has_failed(code: c_int) -> bool {
    !matches!(code, SUCCESS | IN_PROGRESS)
}

/// The error for a code of NCCL that is one.
fn failure(rank: usize, code: c_int, during: &'static str) -> Error {
    match code {
        REMOTE_ERROR => GpuError::PeerLost { own_rank: rank, during }.into(),
        code => GpuError::NcclFailed { code: code as u32, during }.into(),
    }
}

/// Checks a size in bytes.
fn size(bytes: u64) -> Result<usize, Error> {
    usize::try_from(bytes).map_err(|_| Error::OutOfMemory { bytes })
}
