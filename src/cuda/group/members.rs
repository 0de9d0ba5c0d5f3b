//! [`Members`]: the GPUs of a group, their streams, and what all of them do together.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use cudarc::driver::{CudaEvent, CudaStream, sys};

use super::phase::{ExchangePiece, MemberCopy, Phase};
use super::{peer_access, room};
use crate::Error;
use crate::cuda::engine::Cuda;
use crate::cuda::runtime::device::GpuLimits;
use crate::cuda::runtime::executor::Executor;
use crate::cuda::runtime::memory::seems_free;
use crate::cuda::runtime::stream::{check_device, failed, finish};
use crate::error::GpuError;

/// The GPUs of a group, at least one.
#[derive(Debug)]
pub(super) struct Members {
    all: Vec<Member>,
    /// The smallest of their limits.
    pub(super) limits: GpuLimits,
}

/// One of the GPUs.
#[derive(Debug)]
struct Member {
    stream: Arc<CudaStream>,
    executor: Executor,
    /// The stream of its copies to other members. It waits for the other one before each of them,
    /// and all streams wait for it before a call ends.
    copying: Arc<CudaStream>,
    /// What the others wait for.
    met: CudaEvent,
    /// The last piece is in its outbox.
    filled: CudaEvent,
    /// The last copies to one member have been made.
    sent: CudaEvent,
    /// The last piece, and the one before, have been copied to the others.
    delivered: [CudaEvent; 2],
    /// The last piece has been sorted.
    sorted: CudaEvent,
}

impl Members {
    /// The GPUs of some engines, `first` before the others, with access to each other's memory.
    pub(super) fn new(first: &Cuda, engines: &[Cuda]) -> Result<Self, Error> {
        for (from, to) in engines.iter().flat_map(|from| engines.iter().map(move |to| (from, to))) {
            peer_access::allow(from.stream.context(), to.stream.context())?;
        }
        let limits = engines.iter().map(|engine| engine.device.limits);
        let limits = limits.fold(first.device.limits, GpuLimits::common);
        Ok(Self { all: engines.iter().map(Member::new).collect::<Result<_, _>>()?, limits })
    }

    /// Their number.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Their streams.
    pub(super) fn streams(&self) -> impl ExactSizeIterator<Item = &Arc<CudaStream>> {
        self.all.iter().map(|member| &member.stream)
    }

    /// The first one's stream.
    pub(super) fn first(&self) -> &Arc<CudaStream> {
        &self.all[0].stream
    }

    /// The bytes of device memory that they hold.
    pub(super) fn bytes(&self) -> usize {
        self.all.iter().map(|member| member.executor.bytes()).sum()
    }

    /// Waits until all have finished what is in their streams, also those after one that fails.
    /// Returns the first error.
    pub(super) fn finish(&self) -> Result<(), Error> {
        let streams = self.all.iter().flat_map(|member| [&member.copying, &member.stream]);
        let finished = streams.map(|stream| finish(stream));
        let finished = finished.fold(Ok(()), Result::and);
        finished.map_err(|error| failed(error, "wait for the device"))
    }

    /// As [`finish`](Self::finish), and reports errors that could not be reported before.
    pub(super) fn synchronize(&self) -> Result<(), Error> {
        let finished = self.finish();
        let kept = self.streams().map(|stream| stream.context().check_err());
        let kept = kept.fold(Ok(()), Result::and);
        finished.and(kept.map_err(|error| failed(error, "finish what was done before")))
    }

    /// Checks that there is a slice for each member, in its context.
    pub(super) fn check<'s>(
        &self,
        slices: impl ExactSizeIterator<Item = &'s Arc<CudaStream>>,
    ) -> Result<(), Error> {
        if slices.len() != self.all.len() {
            let (members, slices) = (self.all.len(), slices.len());
            return Err(GpuError::SliceCountMismatch { members, slices }.into());
        }
        let mut pairs = self.all.iter().zip(slices);
        pairs.try_for_each(|(member, slice)| check_device(&member.stream, slice))
    }

    /// Begins a call on device memory.
    pub(super) fn enter(&mut self) -> Result<(), Error> {
        self.all.iter_mut().try_for_each(|member| member.executor.enter())
    }

    /// Reports what went wrong when cudarc gave out the addresses of slices.
    pub(super) fn check_slices(&mut self) -> Result<(), Error> {
        self.all.iter_mut().try_for_each(|member| member.executor.check_slices())
    }

    /// Compiles the kernels of a phase's plans, and allocates their memory.
    fn reserve_all(&mut self, phase: &Phase<'_>) -> Result<(), Error> {
        phase.plans().try_for_each(|(member, plan)| self.all[member].executor.reserve(plan))
    }

    /// Executes phases. Before the first and after every phase, each member waits for all others.
    ///
    /// # Safety
    ///
    /// As [`Executor::execute`], for the memory that a plan was made for, other than the group's
    /// own: there is as much of it as the plan's arrays say, it does not overlap, and nobody else
    /// uses it until all streams have finished.
    pub(super) unsafe fn execute(&mut self, phases: &[Phase<'_>]) -> Result<(), Error> {
        for phase in phases {
            self.reserve_all(phase)?;
        }
        // SAFETY: the caller vouches for the arrays. Each member has got as much working memory as
        // the plans were made for, and members read and write each other's. In one phase no member
        // uses what another writes, other than what is delivered to it, and between phases all
        // wait for each other, by `meet`. What a member clears was last read by others in an
        // earlier call, which ended with `meet`. All places have been written before a member
        // moves an item again because a bucket has overflowed.
        let done = catch_unwind(AssertUnwindSafe(|| unsafe { self.launch(phases) }));
        if !matches!(done, Ok(Ok(()))) {
            // Some streams may not wait for others that use the memory, so the host does. There is
            // an error to report already, or a panic of a user's bijection.
            let _ = self.finish();
        }
        done.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Launches phases.
    ///
    /// # Safety
    ///
    /// As [`execute`](Self::execute), and where it fails, the caller waits for all streams.
    unsafe fn launch(&mut self, phases: &[Phase<'_>]) -> Result<(), Error> {
        self.meet()?;
        for phase in phases {
            match phase {
                Phase::Plans(plans) => {
                    for (member, plan) in self.all.iter_mut().zip(plans) {
                        // SAFETY: the caller vouches for the plan's memory.
                        unsafe { member.executor.execute(plan) }?;
                    }
                }
                // SAFETY: the caller vouches for the memory of all pieces.
                Phase::Pieces(pieces) => unsafe { self.send(pieces) }?,
            }
            self.meet()?;
        }
        Ok(())
    }

    /// Launches what sends pieces, and sorts each one while the next is on its way.
    ///
    /// # Safety
    ///
    /// As [`launch`](Self::launch).
    unsafe fn send(&mut self, pieces: &[ExchangePiece<'_>]) -> Result<(), Error> {
        for step in 0..=pieces.len() {
            if let Some(piece) = pieces.get(step) {
                for (member, fill) in self.all.iter_mut().zip(&piece.fill) {
                    // SAFETY: the caller vouches for the arrays. The outbox was last read by the
                    // copies of the piece before the last one, for which this stream has waited,
                    // by `sort`.
                    unsafe { member.executor.execute(fill) }?;
                    record(&member.filled, &member.stream)?;
                }
                // SAFETY: the caller vouches for the memory of both ends.
                unsafe { self.deliver(piece, step) }?;
            }
            if let Some(before) = step.checked_sub(1) {
                // SAFETY: the caller vouches for the arrays.
                unsafe { self.sort(&pieces[before], before) }?;
            }
        }
        Ok(())
    }

    /// Launches the copies of a piece.
    ///
    /// # Safety
    ///
    /// As [`launch`](Self::launch).
    unsafe fn deliver<'p>(
        &mut self,
        piece: &'p ExchangePiece<'_>,
        number: usize,
    ) -> Result<(), Error> {
        if piece.deliveries.iter().all(|deliveries| deliveries.is_empty()) {
            return Ok(());
        }
        for sender in &self.all {
            wait(&sender.copying, &sender.filled)?;
            for receiver in self.all.iter().filter(|_| number >= 2) {
                // What was in the inbox before has been sorted.
                wait(&sender.copying, &receiver.sorted)?;
            }
        }
        let each_receiver = |deliveries: &'p Vec<MemberCopy>| {
            let of_one = |one: &MemberCopy, next: &MemberCopy| one.receiver == next.receiver;
            deliveries.chunk_by(of_one).collect::<Vec<_>>()
        };
        let deliveries: Vec<_> = piece.deliveries.iter().map(each_receiver).collect();
        for turn in 0..deliveries.iter().map(Vec::len).max().unwrap_or(0) {
            if self.all.len() > 2 {
                self.meet_sending()?;
            }
            for (sender, deliveries) in self.all.iter().zip(&deliveries) {
                for delivery in deliveries.get(turn).copied().unwrap_or_default() {
                    // SAFETY: the caller vouches for both addresses. The outbox has been filled,
                    // and nothing in the inbox is needed any more, as this stream has waited for.
                    unsafe { copy(delivery, &sender.copying) }?;
                }
            }
        }
        self.all
            .iter()
            .try_for_each(|sender| record(&sender.delivered[number % 2], &sender.copying))
    }

    /// Makes all members send to the next one at the same time, so that no two send to the same:
    /// four H200s with 2^29 items of 8 bytes each take 18.5 ms then, and 19.2 to 20.7 without.
    fn meet_sending(&self) -> Result<(), Error> {
        for sender in &self.all {
            record(&sender.sent, &sender.copying)?;
        }
        for sender in &self.all {
            self.all.iter().try_for_each(|other| wait(&sender.copying, &other.sent))?;
        }
        Ok(())
    }

    /// Launches what sorts a piece.
    ///
    /// # Safety
    ///
    /// As [`launch`](Self::launch).
    unsafe fn sort(&mut self, piece: &ExchangePiece<'_>, number: usize) -> Result<(), Error> {
        let is_delivered = piece.deliveries.iter().any(|deliveries| !deliveries.is_empty());
        for member in 0..self.all.len() {
            // SAFETY: the caller vouches for the plan's memory, and the outbox has been filled in
            // the same stream.
            unsafe { self.all[member].executor.execute(&piece.kept[member]) }?;
            for sender in self.all.iter().filter(|_| is_delivered) {
                wait(&self.all[member].stream, &sender.delivered[number % 2])?;
            }
            // SAFETY: the caller vouches for the plan's memory, and the stream has waited for all
            // that comes from other members.
            unsafe { self.all[member].executor.execute(&piece.received[member]) }?;
            record(&self.all[member].sorted, &self.all[member].stream)?;
        }
        Ok(())
    }

    /// Makes all streams wait for what is now in the others.
    fn meet(&self) -> Result<(), Error> {
        for member in &self.all {
            record(&member.met, &member.stream)?;
        }
        for (k, member) in self.all.iter().enumerate() {
            let others = self.all.iter().enumerate().filter(|&(other, _)| other != k);
            for (_, other) in others {
                wait(&member.stream, &other.met)?;
            }
        }
        Ok(())
    }
}

impl room::RoomMembers for Members {
    fn may_have(&mut self, bytes: &[u64]) -> bool {
        let of_members = self.all.iter().zip(bytes);
        let lacking = of_members
            .map(|(member, &bytes)| (member.stream.context(), member.executor.lacking(bytes)));
        let lacking: Vec<_> = lacking.collect();
        // Several members may be on one device.
        lacking.iter().filter(|&&(_, bytes)| bytes > 0).all(|(context, _)| {
            let of_device = lacking.iter().filter(|(other, _)| other == context);
            let bytes = of_device.fold(0_u64, |sum, (_, bytes)| sum.saturating_add(*bytes));
            seems_free(context, bytes)
        })
    }

    fn memory(&mut self, bytes: &[u64]) -> Result<Vec<u64>, Error> {
        let members = self.all.iter_mut().zip(bytes);
        let memory = members.map(|(member, &bytes)| member.executor.working_memory(bytes));
        let memory: Result<Vec<u64>, Error> = memory.collect();
        if memory.is_err() {
            // Members that had enough would keep for nothing what they have taken.
            self.all.iter_mut().for_each(|member| member.executor.give_up_memory());
        }
        memory
    }
}

impl Member {
    fn new(engine: &Cuda) -> Result<Self, Error> {
        let stream = engine.stream.clone();
        let context = stream.context();
        let event = || context.new_event(None).map_err(|error| failed(error, "make an event"));
        let copying = context.new_stream().map_err(|error| failed(error, "make a stream"))?;
        // What a group does in several streams is not for a graph.
        let executor = Executor::new(&engine.device, &stream, false);
        Ok(Self {
            copying,
            met: event()?,
            filled: event()?,
            sent: event()?,
            delivered: [event()?, event()?],
            sorted: event()?,
            stream,
            executor,
        })
    }
}

/// Records an event: those that wait for it from now on wait for what is now in the stream.
fn record(event: &CudaEvent, stream: &CudaStream) -> Result<(), Error> {
    event.record(stream).map_err(|error| failed(error, "wait for another device"))
}

/// Makes a stream wait for an event.
fn wait(stream: &CudaStream, event: &CudaEvent) -> Result<(), Error> {
    stream.wait(event).map_err(|error| failed(error, "wait for another device"))
}

/// Copies bytes from one device to another, in a stream's order.
///
/// # Safety
///
/// There are as many bytes at both addresses, which the stream may read and write.
pub(super) unsafe fn copy(delivery: &MemberCopy, stream: &CudaStream) -> Result<(), Error> {
    let MemberCopy { from, to, bytes, .. } = *delivery;
    // Addresses of device memory have 64 bits, and so have `usize`s where CUDA has a driver.
    let bytes = bytes as usize;
    let context = stream.context();
    context.bind_to_thread().map_err(|error| failed(error, "use the device"))?;
    // SAFETY: the caller promises that many bytes to read and to write. With unified addressing the
    // driver finds out by itself on which devices they are.
    unsafe { sys::cuMemcpyAsync(to, from, bytes, stream.cu_stream()) }
        .result()
        .map_err(|error| failed(error, "copy to another device"))
}

#[cfg(test)]
mod tests {
    use std::ffi::c_void;
    use std::time::Duration;

    use cudarc::driver::result;

    use super::*;
    use crate::cuda::runtime::plan::DevicePlan;
    use crate::cuda::runtime::stream::is_finished;

    unsafe extern "C" fn sleep(_: *mut c_void) {
        std::thread::sleep(Duration::from_millis(200));
    }

    #[test]
    fn a_panic_waits_for_all_members() {
        let Ok(cuda) = Cuda::new() else { return println!("skipped: there is no GPU") };
        let stream = || Cuda::on_stream(cuda.stream.context().new_stream().unwrap()).unwrap();
        let engines = [stream(), stream()];
        let mut members = Members::new(&engines[0], &engines).unwrap();
        let busy = engines[0].stream.cu_stream();
        // SAFETY: the stream exists, and the function uses no argument.
        unsafe { result::stream::launch_host_function(busy, sleep, std::ptr::null_mut()) }.unwrap();
        let mut plan = DevicePlan::new();
        plan.check(|_, _| panic!("in a step of the second member"));
        let phases = [Phase::Plans(vec![DevicePlan::new(), plan])];
        // SAFETY: the plans use no memory.
        let done = catch_unwind(AssertUnwindSafe(|| unsafe { members.execute(&phases) }));
        assert!(done.is_err());
        assert!(members.streams().all(|stream| is_finished(stream).unwrap()));
    }
}
