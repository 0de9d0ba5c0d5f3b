//! [`CudaGroup`]: the engine on several GPUs.

use std::sync::Arc;

use cudarc::driver::{CudaStream, DeviceRepr};

use super::direct;
use super::exchange::MemberExchange;
use super::given::{job_of_items, reading, total, writing};
use super::members::Members;
use super::movement::Sharded;
use super::phase::Phase;
use super::room::Room;
use super::shards::{MOST_MEMBERS, MemberShards};
use super::sizes::GroupSizes;
use crate::Error;
use crate::compact::{Direction, Order};
use crate::cuda::engine::Cuda;
use crate::cuda::runtime::array::{DeviceArray, DeviceArrayMut};
use crate::cuda::runtime::in_use::SlicesInUse;
use crate::cuda::runtime::memory::Memory;
use crate::cuda::runtime::plan::{Address, DevicePlan};
use crate::cuda::runtime::word_type::WordType;
use crate::cuda::shuffle::checked;
use crate::cuda::shuffle::job::Job;
use crate::cuda::shuffle::strategy::CudaStrategy;
use crate::error::GpuError;

/// The engine on several GPUs of one host, for arrays that are divided among them.
///
/// An array is a slice on each GPU: the first member of the group holds the first items, and so on.
/// The slices may have any lengths, also 0, and before and after a shuffle different ones. The
/// result is the permutation that one GPU or a CPU would make.
///
/// The GPUs reach each other's memory directly (peer access), and an array whose items are words
/// crosses the links between them once: each GPU sorts its items into buckets, piece by piece, and
/// copy engines move these to the GPUs where they will be needed, while the next piece is sorted.
/// Items of other arrays are fetched one by one, which takes several times as long. Several arrays
/// are moved alike by a call for each, by the same seed.
///
/// Every call puts its kernels in the streams of all members and returns. Each stream waits, on the
/// device, for the others' earlier work and for their part of the call. The host waits for the GPUs
/// only if the bijection is not [trusted](crate::TrustedBijection), because its values must then be
/// checked, which the first member does.
///
/// Kernels are compiled, by NVRTC, and working memory is allocated on all members before anything
/// is moved. If one of them does not have enough memory, [`Auto`](CudaStrategy::Auto) takes a
/// strategy that needs hardly any.
///
/// Members may be on one device, each with a stream of its own. That gains nothing, except that a
/// program for several GPUs can be tried on one.
///
/// # Memory
///
/// [`Partitioned`](CudaStrategy::Partitioned): on each member at most about `2 s + 6` bytes for
/// each of its items of `s` bytes, from 2^25 items a member on, below that up to `3 s + 10`. Where
/// there is less, [`Auto`](CudaStrategy::Auto) sends the items in more
/// and smaller pieces, down to about `s + 2` bytes an item. A bijection that has to be checked
/// takes `8 m + m / 8` bytes on the first member, for all `m` items. What has been allocated is
/// kept for later calls.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::Error;
/// use bijective_shuffle::prelude::*;
/// use bijective_shuffle::cuda::CudaGroup;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut group = match CudaGroup::on_all_devices() {
///     Ok(group) => group,
///     // No GPU or no driver is an ordinary state.
///     Err(Error::BackendUnavailable { reason }) => return Ok(println!("skipped: {reason}")),
///     Err(error) => return Err(error.into()),
/// };
/// // A thousand items on each GPU.
/// let len = 1000 * group.streams().len() as u64;
/// let (mut source, mut out) = (Vec::new(), Vec::new());
/// for (stream, first) in group.streams().zip((0..).step_by(1000)) {
///     source.push(stream.clone_htod(&(first..first + 1000_u64).collect::<Vec<_>>())?);
///     out.push(stream.alloc_zeros::<u64>(1000)?);
/// }
/// match group.shuffle_into(42, &source, &mut out) {
///     // NVRTC, which compiles the kernels of groups, is not installed.
///     Err(Error::BackendUnavailable { reason }) => return Ok(println!("skipped: {reason}")),
///     shuffled => shuffled?,
/// }
///
/// let mut shuffled = Vec::new();
/// for (stream, part) in group.streams().zip(&out) {
///     shuffled.extend(stream.clone_dtoh(part)?);
///     stream.synchronize()?;
/// }
/// assert_eq!(shuffled, Permutation::new(len, 42).to_vec());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct CudaGroup {
    pub(super) members: Members,
    strategy: CudaStrategy,
    /// The checked permutation, on the first member.
    indexes: Memory,
}

impl CudaGroup {
    /// Makes a group of engines, one for each member, with the strategy of the first one.
    ///
    /// That gives each GPU access to the memory of the others, for the whole process and for as
    /// long as it runs: to what the driver allocates in their contexts, and to the memory pool from
    /// which the driver now takes their stream-ordered allocations, as cudarc's are. Slices that
    /// come from another pool are out of reach: moving them fails with a
    /// [`GpuError::DriverFailed`](crate::error::GpuError::DriverFailed), and the contexts cannot be
    /// used any more.
    ///
    /// # Errors
    ///
    /// [`GpuError::GroupSizeOutOfRange`](crate::error::GpuError::GroupSizeOutOfRange) if there are
    /// no engines, or more than 16;
    /// [`GpuError::NoPeerAccess`](crate::error::GpuError::NoPeerAccess) if the memory of one GPU is
    /// out of another's reach; [`GpuError::DriverFailed`](crate::error::GpuError::DriverFailed).
    pub fn new(engines: &[Cuda]) -> Result<Self, Error> {
        let Some(first) = engines.first().filter(|_| engines.len() <= MOST_MEMBERS) else {
            let (members, most) = (engines.len(), MOST_MEMBERS);
            return Err(GpuError::GroupSizeOutOfRange { members, most }.into());
        };
        let (members, strategy) = (Members::new(first, engines)?, first.strategy);
        Ok(Self { members, strategy, indexes: Memory::new() })
    }

    /// Makes a group of GPUs, counted from 0, with a new stream on each. A GPU that is named twice
    /// is two members.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new), and [`Error::BackendUnavailable`].
    pub fn on_devices(ordinals: &[usize]) -> Result<Self, Error> {
        let engines: Result<Vec<_>, _> = ordinals.iter().map(|&gpu| Cuda::on_device(gpu)).collect();
        Self::new(&engines?)
    }

    /// Makes a group of all GPUs of this process.
    ///
    /// # Errors
    ///
    /// As [`on_devices`](Self::on_devices).
    pub fn on_all_devices() -> Result<Self, Error> {
        Self::on_devices(&(0..Cuda::device_count()?).collect::<Vec<_>>())
    }

    /// The same group with another strategy. [`Partitioned`](CudaStrategy::Partitioned) serves
    /// items of 1, 2, 4, 8 or 16 bytes, in slices that begin at multiples of that, and trusted
    /// bijections with less than eight times as many points as items, also more than 2^32;
    /// [`Auto`](CudaStrategy::Auto) takes it for 2^18 items a member or more. Elsewhere, and for
    /// all other strategies, members fetch their items one by one. Where some slots do not survive,
    /// each member then evaluates all of them.
    #[must_use]
    pub fn with_strategy(mut self, strategy: CudaStrategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// The streams of the members, in their order.
    pub fn streams(&self) -> impl ExactSizeIterator<Item = &Arc<CudaStream>> {
        self.members.streams()
    }

    /// The bytes of device memory that it holds, on all members.
    pub fn bytes(&self) -> usize {
        self.members.bytes() + self.indexes.held()
    }

    /// Waits until all members have finished what is in their streams.
    ///
    /// # Errors
    ///
    /// [`GpuError::DriverFailed`](crate::error::GpuError::DriverFailed).
    pub fn synchronize(&self) -> Result<(), Error> {
        self.members.synchronize()
    }

    /// Copies the items in shuffled order: item `p[k]` of the array `source` to place `k` of the
    /// array `out`. Both have one slice for each member.
    ///
    /// `source` is not written, whatever happens.
    ///
    /// # Errors
    ///
    /// * [`GpuError::SliceCountMismatch`](crate::error::GpuError::SliceCountMismatch) if there is
    ///   not one slice for each member, and
    ///   [`GpuError::WrongDevice`](crate::error::GpuError::WrongDevice) if a slice is in another
    ///   context than its member.
    /// * [`Error::LengthMismatch`] if the arrays have different lengths, and
    ///   [`Error::LengthExceedsDomain`].
    /// * [`Error::NotABijection`]; nothing was moved.
    /// * [`Error::BackendUnavailable`] if NVRTC is not found, since the crate has no compiled
    ///   kernels for groups; nothing was moved.
    /// * [`GpuError::NoSource`](crate::error::GpuError::NoSource),
    ///   [`GpuError::ParamsTooLarge`](crate::error::GpuError::ParamsTooLarge),
    ///   [`GpuError::CompileFailed`](crate::error::GpuError::CompileFailed),
    ///   [`GpuError::ItemTooLarge`](crate::error::GpuError::ItemTooLarge),
    ///   [`GpuError::DomainTooWide`](crate::error::GpuError::DomainTooWide),
    ///   [`GpuError::OutOfMemory`](crate::error::GpuError::OutOfMemory) if a member has too little
    ///   memory for the strategy, and with [`Auto`](CudaStrategy::Auto) also for the
    ///   direct one, and [`GpuError::StreamCaptured`](crate::error::GpuError::StreamCaptured) if a
    ///   stream is being captured in a graph, which a group does not support; nothing was moved.
    /// * [`GpuError::DriverFailed`](crate::error::GpuError::DriverFailed).
    pub fn shuffle_into<'o, T: DeviceRepr>(
        &mut self,
        order: impl Into<Order<'o>>,
        source: &[impl DeviceArray<T>],
        out: &mut [impl DeviceArrayMut<T>],
    ) -> Result<(), Error> {
        self.copy(order.into(), source, out, Direction::Shuffle)
    }

    /// Copies the items back into their original order: item `k` of `source` to place `p[k]` of
    /// `out`.
    ///
    /// # Errors
    ///
    /// As [`shuffle_into`](Self::shuffle_into).
    pub fn unshuffle_into<'o, T: DeviceRepr>(
        &mut self,
        order: impl Into<Order<'o>>,
        source: &[impl DeviceArray<T>],
        out: &mut [impl DeviceArrayMut<T>],
    ) -> Result<(), Error> {
        self.copy(order.into(), source, out, Direction::Unshuffle)
    }

    fn copy<T: DeviceRepr>(
        &mut self,
        order: Order,
        source: &[impl DeviceArray<T>],
        out: &mut [impl DeviceArrayMut<T>],
        direction: Direction,
    ) -> Result<(), Error> {
        self.members.check(source.iter().map(|slice| slice.stream()))?;
        self.members.check(out.iter().map(|slice| slice.stream()))?;
        let expected = total(source.iter().map(|slice| slice.len()), order)?;
        let actual = total(out.iter().map(|slice| slice.len()), order)?;
        if actual != expected {
            return Err(Error::LengthMismatch { expected, actual });
        }
        let chosen = order.for_len(expected);
        let job = job_of_items(chosen.bijection(), expected, size_of::<T>())?;
        let Some(job) = job else { return Ok(()) };
        let streams: Vec<_> = self.streams().cloned().collect();
        self.members.enter()?;
        let mut guards = SlicesInUse::default();
        let source = reading(source, &streams, &mut guards);
        let out = writing(out, &streams, &mut guards);
        self.members.check_slices()?;
        // SAFETY: each slice belongs to its member's context, and each array has as many items as
        // the job. The source is borrowed and the target borrowed mutably, so they do not overlap,
        // and the guards, each an `InUse`, ensure that neither is freed or otherwise used before
        // its member's stream has finished, for which all streams wait in the end.
        let moved = unsafe { self.move_items(&job, [&source, &out], direction) };
        drop(guards);
        moved
    }

    /// Moves an array from its source to its target. All working memory is there before anything
    /// is launched.
    ///
    /// # Safety
    ///
    /// As [`Members::execute`], for both arrays.
    unsafe fn move_items(
        &mut self,
        job: &Job,
        [source, out]: [&MemberShards; 2],
        direction: Direction,
    ) -> Result<(), Error> {
        if let Some(sizes) = self.partitioned(job, [source, out], direction) {
            let is_auto = self.strategy == CudaStrategy::Auto;
            if let Some(room) = Room::find(sizes, is_auto, &mut self.members)? {
                let Room { sizes, layouts, memory } = &room;
                let exchange =
                    MemberExchange { job, source, out, direction, sizes, layouts, memory };
                // SAFETY: the caller vouches for the arrays.
                return unsafe { self.members.execute(&exchange.phases()?) };
            }
        }
        let (of, members) = (Sharded::Items { source, out, direction }, 0..self.members.len());
        if job.trusted {
            let plans = members.map(|member| direct::plan(job, of, member));
            let moves = Phase::Plans(plans.collect::<Result<_, _>>()?);
            // SAFETY: the caller vouches for the arrays.
            return unsafe { self.members.execute(&[moves]) };
        }
        let bytes = job.len.checked_mul(8).ok_or(GpuError::OutOfMemory)?;
        let (indexes, _) = self.indexes.room(self.members.first(), bytes)?;
        let checked = job.writing(Address::Given(indexes), WordType::U64);
        // The first member writes and checks the permutation, before anything is moved.
        let mut first = vec![checked::plan(&checked)?];
        first.resize_with(self.members.len(), DevicePlan::new);
        let plans = members.map(|member| direct::by_table(indexes, of, member));
        let moves = Phase::Plans(plans.collect::<Result<_, _>>()?);
        // SAFETY: the caller vouches for the arrays.
        unsafe { self.members.execute(&[Phase::Plans(first), moves]) }
    }

    /// The sizes of the partitioned strategy, if it is to be used.
    fn partitioned(
        &self,
        job: &Job,
        [source, out]: [&MemberShards; 2],
        direction: Direction,
    ) -> Option<GroupSizes> {
        let (from, to) = (source.unit(), out.unit());
        let word = (from == to && from.bytes() == source.item()).then_some(from)?;
        let limits = &self.members.limits;
        GroupSizes::of_job(limits, job, self.strategy, word, [source, out], direction)
    }
}
