//! [`Group::exchange_while`]: messages that are on their way while a rank computes.
//!
//! MPI moves a large message only while its sender and receiver call it, unless the network does it
//! alone. It may be called by one thread. So that thread leaves the computing to rayon's threads,
//! and asks MPI from time to time whether all messages have arrived.

use core::ffi::c_int;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::thread::{self, Thread};

use bijective_shuffle::Error;
use bijective_shuffle::exchange::{Blocks, Message};
use bijective_shuffle::rayon;
use mpi::ffi;
use rayon::Yield;

use crate::buffers::ensure_capacity;
use crate::error::MpiShuffleError;
use crate::group::{Group, ItemType, check};

/// How long MPI is left alone while there is work. A chunk of a few MiB takes a millisecond or more
/// to be placed, and the calls take processor time from that where all cores are busy.
const PAUSE: Duration = Duration::from_micros(100);

/// The tag of all these messages: MPI keeps the order of those from one rank to another.
const TAG: c_int = 1;

/// Memory for the handles of messages that are on their way.
pub(crate) struct Requests(Vec<ffi::MPI_Request>);

impl Requests {
    /// Memory for a number of messages.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub(crate) fn for_messages(count: u64) -> Result<Self, Error> {
        let mut requests = Vec::new();
        ensure_capacity(&mut requests, count)?;
        Ok(Self(requests))
    }
}

impl Group {
    /// Sends each rank its messages and receives others, and works meanwhile. Returns what the work
    /// does when both are done.
    ///
    /// # Errors
    ///
    /// What MPI returns. No message is on its way then either, and the work may have been done.
    ///
    /// # Panics
    ///
    /// If the work does, once all messages have arrived.
    pub(crate) fn exchange_while<R: Send>(
        &self,
        blocks: Blocks<'_>,
        requests: &mut Requests,
        work: impl FnOnce() -> R + Send,
    ) -> Result<R, MpiShuffleError> {
        // It is never handed out, so that nobody can forget it: dropping it waits.
        let mut in_flight = InFlight::new(self, requests)?;
        let sent = blocks.sent();
        for room in blocks.received() {
            in_flight.receive(room)?;
        }
        for message in sent {
            in_flight.send(message)?;
        }
        let result = in_flight.while_working(work);
        in_flight.wait()?;
        Ok(result)
    }
}

/// Messages on their way. MPI reads and writes their bytes, so these are borrowed until all have
/// arrived, for which dropping it waits.
struct InFlight<'d, 'g> {
    group: &'g Group,
    requests: &'g mut Vec<ffi::MPI_Request>,
    /// The MPI type of a block.
    block: ItemType,
    /// The first error of a message.
    error: Result<(), MpiShuffleError>,
    bytes: PhantomData<&'d mut [MaybeUninit<u8>]>,
}

impl<'d, 'g> InFlight<'d, 'g> {
    fn new(group: &'g Group, requests: &'g mut Requests) -> Result<Self, MpiShuffleError> {
        let block = ItemType::of_bytes(Blocks::BLOCK_BYTES)?;
        let requests = &mut requests.0;
        Ok(Self { group, requests, block, error: Ok(()), bytes: PhantomData })
    }

    /// Starts to receive a message.
    fn receive(&mut self, room: Message<&'d mut [MaybeUninit<u8>]>) -> Result<(), MpiShuffleError> {
        let (bytes, count) = (room.bytes.as_mut_ptr(), blocks_in(room.bytes));
        self.start("MPI_Irecv", |group, block, request| {
            // SAFETY: there is room for as many blocks, which nobody else uses until the message
            // has arrived: it is borrowed as long as `self`, whose drop waits for that. If more
            // arrive, MPI writes no more than that.
            unsafe {
                ffi::MPI_Irecv(
                    bytes.cast(),
                    count,
                    block,
                    room.rank as c_int,
                    TAG,
                    group.communicator(),
                    request,
                )
            }
        })
    }

    /// Starts to send a message.
    fn send(&mut self, message: Message<&'d [MaybeUninit<u8>]>) -> Result<(), MpiShuffleError> {
        let (bytes, count) = (message.bytes.as_ptr(), blocks_in(message.bytes));
        self.start("MPI_Isend", |group, block, request| {
            // SAFETY: there are as many blocks, to which nobody writes until the message has been
            // sent: they are borrowed as long as `self`, whose drop waits for that. MPI copies
            // bytes whatever they are.
            unsafe {
                ffi::MPI_Isend(
                    bytes.cast(),
                    count,
                    block,
                    message.rank as c_int,
                    TAG,
                    group.communicator(),
                    request,
                )
            }
        })
    }

    /// Starts a message with a call of MPI, to which the type of a block is passed, and where to
    /// write the handle.
    fn start(
        &mut self,
        call: &'static str,
        start: impl FnOnce(&Group, ffi::MPI_Datatype, *mut ffi::MPI_Request) -> c_int,
    ) -> Result<(), MpiShuffleError> {
        let mut request = no_request();
        check(call, start(self.group, self.block.0, &mut request))?;
        self.requests.push(request);
        Ok(())
    }

    /// Does some work, while this thread asks MPI from time to time.
    fn while_working<R: Send>(&mut self, work: impl FnOnce() -> R + Send) -> R {
        if self.requests.is_empty() {
            return work();
        }
        let (is_done, mut result) = (AtomicBool::new(false), None);
        let (done, caller) = (&is_done, thread::current());
        let out = &mut result;
        rayon::in_place_scope(|scope| {
            scope.spawn(move |_| {
                let _done = DoneSignal { done, caller };
                *out = Some(work());
            });
            while !done.load(Ordering::Acquire) && !self.have_arrived() {
                // If the program has called from one of rayon's threads, the work may be left to
                // this one.
                if !matches!(rayon::yield_now(), Some(Yield::Executed)) {
                    thread::park_timeout(PAUSE);
                }
            }
        });
        result.expect("its panic would have gone on when the scope ended")
    }

    /// Whether all messages have arrived, or there is an error.
    fn have_arrived(&mut self) -> bool {
        let (count, mut have_arrived) = (self.requests.len() as c_int, 0);
        // SAFETY: a constant of the library.
        let ignore = unsafe { ffi::RSMPI_STATUSES_IGNORE };
        let requests = self.requests.as_mut_ptr();
        // SAFETY: there are as many handles, each of a message that was started or of none, and the
        // answer is written to a variable.
        let code = unsafe { ffi::MPI_Testall(count, requests, &mut have_arrived, ignore) };
        let tested = check("MPI_Testall", code);
        let is_error = tested.is_err();
        self.note(tested);
        is_error || have_arrived != 0
    }

    /// Keeps the first error.
    fn note(&mut self, outcome: Result<(), MpiShuffleError>) {
        if self.error.is_ok() {
            self.error = outcome;
        }
    }

    /// Waits until all messages have arrived.
    fn wait(mut self) -> Result<(), MpiShuffleError> {
        self.finish();
        core::mem::replace(&mut self.error, Ok(()))
    }

    /// Waits for one message after the other, so that an error of one leaves no other on its way.
    fn finish(&mut self) {
        while let Some(mut request) = self.requests.pop() {
            // SAFETY: a constant of the library.
            let ignore = unsafe { ffi::RSMPI_STATUS_IGNORE };
            // SAFETY: it is the handle of a message that was started, or of none.
            let code = unsafe { ffi::MPI_Wait(&mut request, ignore) };
            self.note(check("MPI_Wait", code));
            if request != no_request() {
                // MPI has given up on the message but not let go of its bytes. Nothing can be done
                // with them any more.
                // SAFETY: the communicator is valid.
                unsafe { ffi::MPI_Abort(self.group.communicator(), 1) };
                std::process::abort();
            }
        }
    }
}

impl Drop for InFlight<'_, '_> {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Tells the thread that waits for it that some work has ended, also by a panic.
struct DoneSignal<'a> {
    done: &'a AtomicBool,
    caller: Thread,
}

impl Drop for DoneSignal<'_> {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Release);
        self.caller.unpark();
    }
}

/// The number of blocks of a message.
///
/// # Panics
///
/// If they are more than MPI counts.
fn blocks_in(bytes: &[MaybeUninit<u8>]) -> c_int {
    c_int::try_from(bytes.len() / Blocks::BLOCK_BYTES).expect("fewer blocks than items")
}

/// The handle of no message.
fn no_request() -> ffi::MPI_Request {
    // SAFETY: a constant of the library.
    unsafe { ffi::RSMPI_REQUEST_NULL }
}
