//! [`Members`]: the GPUs of a group, their streams, and what all of them do together.

use std::sync::Arc;

use cudarc::driver::{CudaEvent, CudaStream};

use super::peer_access;
use crate::cuda::engine::Cuda;
use crate::cuda::runtime::device::Limits;
use crate::cuda::runtime::executor::Executor;
use crate::cuda::runtime::memory::Memory;
use crate::cuda::runtime::plan::Plan;
use crate::cuda::runtime::stream::{check_device, failed, finish};
use crate::error::{Error, GpuError};

/// The GPUs of a group, at least one.
#[derive(Debug)]
pub(super) struct Members {
    all: Vec<Member>,
    /// The smallest of their limits.
    pub(super) limits: Limits,
}

/// One of the GPUs.
#[derive(Debug)]
struct Member {
    stream: Arc<CudaStream>,
    executor: Executor,
    /// What the others wait for.
    event: CudaEvent,
    /// The items of a shuffle in place, between two phases.
    copies: Memory,
}

impl Members {
    /// The GPUs of some engines, of which this is the first, with access to each other's memory.
    pub(super) fn new(first: &Cuda, engines: &[Cuda]) -> Result<Self, Error> {
        for (from, to) in engines.iter().flat_map(|from| engines.iter().map(move |to| (from, to))) {
            peer_access::allow(from.stream.context(), to.stream.context())?;
        }
        let limits = engines.iter().map(|engine| engine.device.limits);
        let limits = limits.fold(first.device.limits, smaller);
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
        self.all.iter().map(|member| member.executor.bytes() + member.copies.held()).sum()
    }

    /// The address of memory for a member's items in a shuffle in place, of this size.
    pub(super) fn copies(&mut self, member: usize, bytes: usize) -> Result<u64, Error> {
        let member = &mut self.all[member];
        // An empty run needs an address too.
        Ok(member.copies.room(&member.stream, bytes.max(1) as u64)?.0)
    }

    /// Waits until all have finished what is in their streams, also those after one that fails.
    /// Returns the first error.
    pub(super) fn finish(&self) -> Result<(), Error> {
        let finished = self.streams().map(|stream| finish(stream));
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
            return Err(GpuError::Members { members, slices }.into());
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

    /// The address of working memory on each member, of these sizes.
    pub(super) fn memory(&mut self, bytes: impl Iterator<Item = u64>) -> Result<Vec<u64>, Error> {
        let members = self.all.iter_mut().zip(bytes);
        members.map(|(member, bytes)| member.executor.working_memory(bytes)).collect()
    }

    /// Frees the working memory of all members.
    pub(super) fn give_up_memory(&mut self) {
        self.all.iter_mut().for_each(|member| member.executor.give_up_memory());
    }

    /// Compiles the kernels of all members' plans, and allocates their memory.
    pub(super) fn reserve_all(&mut self, plans: &[Plan<'_>]) -> Result<(), Error> {
        let mut pairs = self.all.iter_mut().zip(plans);
        pairs.try_for_each(|(member, plan)| member.executor.reserve(plan))
    }

    /// Executes phases, each of which has a plan for each member. Before the first and after every
    /// phase, each member waits for all others.
    ///
    /// # Safety
    ///
    /// As [`Executor::execute`], for the memory that a plan was made for, other than the group's
    /// own: there is as much of it as the plan's arrays say, it does not overlap, and nobody else
    /// uses it until all streams have finished.
    pub(super) unsafe fn execute(&mut self, phases: &[Vec<Plan<'_>>]) -> Result<(), Error> {
        for phase in phases {
            self.reserve_all(phase)?;
        }
        // SAFETY: the caller vouches for the arrays. Each member has got as much working memory as
        // the plans were made for, and members read and write each other's. In one phase no member
        // uses what another writes, and between phases all wait for each other, by `meet`. What a
        // member clears was last read by others in an earlier call, which ended with `meet`. All
        // places have been written before a member moves an item again because a bucket has
        // overflowed.
        let done = unsafe { self.launch(phases) };
        if done.is_err() {
            // Some streams may not wait for others that use the memory, so the host does. There is
            // an error to report already.
            let _ = self.finish();
        }
        done
    }

    /// Launches phases.
    ///
    /// # Safety
    ///
    /// As [`execute`](Self::execute), and where it fails, the caller waits for all streams.
    unsafe fn launch(&mut self, phases: &[Vec<Plan<'_>>]) -> Result<(), Error> {
        self.meet()?;
        for phase in phases {
            for (member, plan) in self.all.iter_mut().zip(phase) {
                // SAFETY: the caller vouches for the plan's memory.
                unsafe { member.executor.execute(plan) }?;
            }
            self.meet()?;
        }
        Ok(())
    }

    /// Makes all streams wait for what is now in the others.
    fn meet(&self) -> Result<(), Error> {
        let failed = |error| failed(error, "wait for another device");
        for member in &self.all {
            member.event.record(&member.stream).map_err(failed)?;
        }
        for (k, member) in self.all.iter().enumerate() {
            let others = self.all.iter().enumerate().filter(|&(other, _)| other != k);
            for (_, other) in others {
                member.stream.wait(&other.event).map_err(failed)?;
            }
        }
        Ok(())
    }
}

impl Member {
    fn new(engine: &Cuda) -> Result<Self, Error> {
        let stream = engine.stream.clone();
        let event = stream.context().new_event(None);
        let event = event.map_err(|error| failed(error, "make an event"))?;
        // What a group does in several streams is not for a graph.
        let executor = Executor::new(&engine.device, &stream, false);
        Ok(Self { stream, executor, event, copies: Memory::new() })
    }
}

/// What two devices both have.
fn smaller(a: Limits, b: Limits) -> Limits {
    Limits {
        multiprocessors: a.multiprocessors.min(b.multiprocessors),
        threads_per_multiprocessor: a.threads_per_multiprocessor.min(b.threads_per_multiprocessor),
        shared_per_block: a.shared_per_block.min(b.shared_per_block),
        shared_per_multiprocessor: a.shared_per_multiprocessor.min(b.shared_per_multiprocessor),
        l2_bytes: a.l2_bytes.min(b.l2_bytes),
    }
}
