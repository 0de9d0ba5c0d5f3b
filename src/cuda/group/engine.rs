//! [`CudaGroup`]: the engine on several GPUs.

use std::sync::Arc;

use cudarc::driver::{CudaStream, DeviceRepr};

use super::direct;
use super::exchange::Exchange;
use super::given::{job_of_items, nowhere, total, writing};
use super::members::Members;
use super::movement::Sharded;
use super::phase::Phase;
use super::room::{self, Candidate};
use super::shards::{MOST_MEMBERS, Shards};
use super::sizes::Sizes;
use crate::compact::{Direction, Order};
use crate::cuda::engine::Cuda;
use crate::cuda::runtime::array::DeviceArrayMut;
use crate::cuda::runtime::in_use::SlicesInUse;
use crate::cuda::runtime::memory::Memory;
use crate::cuda::runtime::plan::{Address, Plan};
use crate::cuda::runtime::word_type::WordType;
use crate::cuda::shuffle::checked;
use crate::cuda::shuffle::job::{Job, any_address};
use crate::cuda::shuffle::strategy::CudaStrategy;
use crate::engine::check::check_word;
use crate::error::GpuError;
use crate::{Error, Word};

/// The engine on several GPUs of one host, for arrays that are divided among them.
///
/// An array is a slice on each GPU: the first member of the group holds the first items, and so on.
/// The slices may have any lengths, also 0, and before and after a shuffle different ones. The
/// result is the permutation that one GPU or a CPU would make.
///
/// The GPUs reach each other's memory directly (peer access), and an array whose items are words
/// crosses the links between them once: each GPU sorts its items into buckets, piece by piece, and
/// copy engines move these to the GPUs where they will be needed, while the next piece is sorted.
/// Items of other arrays are fetched one by one, which takes several times as long.
/// [`arrays`](Self::arrays) moves several arrays by one permutation.
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
/// each of its items of `s` bytes, from 2^25 items a member on, below that up to `3 s + 10`, and
/// `s` more in place. Where there is less, [`Auto`](CudaStrategy::Auto) sends the items in more
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

/// What is done with phases.
type Then<'t> = dyn FnMut(&mut CudaGroup, &[Phase<'_>]) -> Result<(), Error> + 't;

impl CudaGroup {
    /// Makes a group of engines, one for each member, with the strategy of the first one.
    ///
    /// That gives each GPU access to the memory of the others, for the whole process and for as
    /// long as it runs: to what the driver allocates in their contexts, and to the memory pool from
    /// which the driver now takes their stream-ordered allocations, as cudarc's are. Slices that
    /// come from another pool are out of reach: moving them fails with a
    /// [`GpuError::Driver`](crate::error::GpuError::Driver), and the contexts cannot be used any
    /// more.
    ///
    /// # Errors
    ///
    /// [`GpuError::GroupSize`](crate::error::GpuError::GroupSize) if there are no engines, or more
    /// than 16; [`GpuError::NoPeerAccess`](crate::error::GpuError::NoPeerAccess) if the memory of
    /// one GPU is out of another's reach; [`GpuError::Driver`](crate::error::GpuError::Driver).
    pub fn new(engines: &[Cuda]) -> Result<Self, Error> {
        let Some(first) = engines.first().filter(|_| engines.len() <= MOST_MEMBERS) else {
            let (members, most) = (engines.len(), MOST_MEMBERS);
            return Err(GpuError::GroupSize { members, most }.into());
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
    /// [`GpuError::Driver`](crate::error::GpuError::Driver).
    pub fn synchronize(&self) -> Result<(), Error> {
        self.members.synchronize()
    }

    /// Shuffles an array where it is: item `p[k]` moves to place `k`.
    ///
    /// All items are first copied in shuffled order to working memory, as much as the array has on
    /// each member, and then back. So nothing that fails before loses an item.
    ///
    /// # Errors
    ///
    /// As [`shuffle_into`](Self::shuffle_into). After a
    /// [`GpuError::Driver`](crate::error::GpuError::Driver) some members may have their new items,
    /// and others still their old ones, so that items are lost.
    pub fn shuffle<'o, T: DeviceRepr>(
        &mut self,
        order: impl Into<Order<'o>>,
        items: &mut [impl DeviceArrayMut<T>],
    ) -> Result<(), Error> {
        self.reorder(order.into(), items, Direction::Shuffle)
    }

    /// Undoes [`shuffle`](Self::shuffle): item `k` moves to place `p[k]`.
    ///
    /// # Errors
    ///
    /// As [`shuffle`](Self::shuffle).
    pub fn unshuffle<'o, T: DeviceRepr>(
        &mut self,
        order: impl Into<Order<'o>>,
        items: &mut [impl DeviceArrayMut<T>],
    ) -> Result<(), Error> {
        self.reorder(order.into(), items, Direction::Unshuffle)
    }

    fn reorder<T: DeviceRepr>(
        &mut self,
        order: Order,
        items: &mut [impl DeviceArrayMut<T>],
        direction: Direction,
    ) -> Result<(), Error> {
        let streams: Vec<_> = self.streams().cloned().collect();
        self.members.check(items.iter().map(|slice| slice.stream()))?;
        let len = total(items.iter().map(|slice| slice.len()), order)?;
        let (chosen, item) = (order.for_len(len), size_of::<T>());
        let Some(job) = job_of_items(chosen.bijection(), len, item)? else { return Ok(()) };
        self.members.enter()?;
        let mut guards = SlicesInUse::default();
        let items = writing(items, &streams, &mut guards);
        self.members.check_slices()?;
        let mut copies = Vec::with_capacity(streams.len());
        let mut back = Vec::with_capacity(streams.len());
        for member in 0..streams.len() {
            let places = items.places(member);
            let len = (places.end - places.start) as usize;
            let copy = self.members.copies(member, len * item)?;
            copies.push((copy, len));
            let mut plan = Plan::new();
            if len > 0 {
                let (from, to) = (Address::Given(copy), Address::Given(items.address(member)));
                plan.copy(from, to, (len * item) as u64);
            }
            back.push(plan);
        }
        let back = [Phase::Plans(back)];
        let copies = Shards::new(copies, item);
        let arrays = [[items, copies]];
        let moved = self.plan_items(&job, &arrays, direction, &mut |group, phases| {
            // SAFETY: each slice belongs to its member's context, and each member's copies are
            // working memory with room for as many items. The slices are borrowed mutably, and the
            // guards, each an `InUse`, ensure that none is freed or otherwise used before its
            // member's stream has finished, for which all streams wait in the end.
            unsafe { group.members.execute(phases) }?;
            // SAFETY: the same memory, in the other direction, after all items have been copied.
            unsafe { group.members.execute(&back) }
        });
        drop(guards);
        moved
    }

    /// Compiles the kernels and allocates the working memory for shuffling and un-shuffling items
    /// of type T by such a bijection, from an array whose members have `from` items each to one
    /// whose members have `to` items each. Calls of [`shuffle_into`](Self::shuffle_into) and
    /// [`unshuffle_into`](Self::unshuffle_into) then do neither. Returns the bytes that the group
    /// then holds.
    ///
    /// # Errors
    ///
    /// As [`shuffle_into`](Self::shuffle_into), except for errors that occur only when the kernels
    /// run.
    pub fn reserve<'o, T: DeviceRepr>(
        &mut self,
        order: impl Into<Order<'o>>,
        from: &[usize],
        to: &[usize],
    ) -> Result<usize, Error> {
        for lens in [from, to] {
            if lens.len() != self.members.len() {
                let (members, slices) = (self.members.len(), lens.len());
                return Err(GpuError::Members { members, slices }.into());
            }
        }
        let order = order.into();
        let expected = total(from.iter().copied(), order)?;
        let actual = total(to.iter().copied(), order)?;
        if actual != expected {
            return Err(Error::LengthMismatch { expected, actual });
        }
        let (chosen, item) = (order.for_len(expected), size_of::<T>());
        let Some(job) = job_of_items(chosen.bijection(), expected, item)? else {
            return Ok(self.bytes());
        };
        let at = any_address::<T>();
        let of = |lens: &[usize]| Shards::new(lens.iter().map(|&len| (at, len)), item);
        let arrays = [[of(from), of(to)]];
        for direction in [Direction::Shuffle, Direction::Unshuffle] {
            self.plan_items(&job, &arrays, direction, &mut |group, phases| {
                phases.iter().try_for_each(|phase| group.members.reserve_all(phase))
            })?;
        }
        Ok(self.bytes())
    }

    /// Writes the permutation, whose length is that of all slices together: `out[k] = p[k]`.
    ///
    /// Where some slots do not survive, every member evaluates all of them, so that this is no
    /// faster than one GPU.
    ///
    /// # Errors
    ///
    /// As [`shuffle_into`](Self::shuffle_into), and [`Error::IndexTooWide`] if `N` cannot hold the
    /// indexes.
    pub fn write_indexes<'o, N: Word + DeviceRepr>(
        &mut self,
        order: impl Into<Order<'o>>,
        out: &mut [impl DeviceArrayMut<N>],
    ) -> Result<(), Error> {
        let streams: Vec<_> = self.streams().cloned().collect();
        self.members.check(out.iter().map(|slice| slice.stream()))?;
        let order = order.into();
        let len = total(out.iter().map(|slice| slice.len()), order)?;
        // CUDA has no driver for 32 bits, so no bit is lost.
        check_word::<N>(len as usize)?;
        let job = Job::new(order.for_len(len).bijection(), len, nowhere())?;
        self.members.enter()?;
        let mut guards = SlicesInUse::default();
        let out = writing(out, &streams, &mut guards);
        self.members.check_slices()?;
        let of = Sharded::Indices { out: &out, word: WordType::of_index::<N>() };
        let done = self.plan_directly(&job, Vec::new(), &[of], &mut |group, phases| {
            // SAFETY: each slice belongs to its member's context and is borrowed mutably, and the
            // guard, an `InUse`, ensures that it is neither freed nor otherwise used before its
            // member's stream has finished, for which all streams wait in the end.
            unsafe { group.members.execute(phases) }
        });
        drop(guards);
        done
    }

    /// Plans the movement of arrays from sources to targets, one after the other, and calls a
    /// function with the phases of all. All working memory is there when it is called.
    pub(super) fn plan_items(
        &mut self,
        job: &Job,
        arrays: &[[Shards; 2]],
        direction: Direction,
        then: &mut Then<'_>,
    ) -> Result<(), Error> {
        let candidates = arrays
            .iter()
            .map(|[source, out]| self.partitioned(job, source, out, direction).map(Candidate::new));
        let mut candidates: Vec<_> = candidates.collect();
        let (members, is_auto) = (&mut self.members, self.strategy == CudaStrategy::Auto);
        let memory = room::for_all(&mut candidates, is_auto, members)?;
        let (mut phases, mut others) = (Vec::new(), Vec::new());
        for ([source, out], candidate) in arrays.iter().zip(&candidates) {
            if let Some(Candidate { sizes, layouts }) = candidate {
                let memory = &memory[..];
                let exchange = Exchange { job, source, out, direction, sizes, layouts, memory };
                phases.extend(exchange.phases()?);
            } else {
                others.push(Sharded::Items { source, out, direction });
            }
        }
        self.plan_directly(job, phases, &others, then)
    }

    /// The sizes of the partitioned strategy, if it is to be used.
    fn partitioned(
        &self,
        job: &Job,
        source: &Shards,
        out: &Shards,
        direction: Direction,
    ) -> Option<Sizes> {
        let (from, to) = (source.unit(), out.unit());
        let word = (from == to && from.bytes() == source.item()).then_some(from)?;
        let limits = &self.members.limits;
        Sizes::of_job(limits, job, self.strategy, word, [source, out], direction)
    }

    /// Plans movements by the direct strategy, in one phase after those that are planned already,
    /// and calls a function with all phases.
    fn plan_directly(
        &mut self,
        job: &Job,
        planned: Vec<Phase<'_>>,
        movements: &[Sharded<'_>],
        then: &mut Then<'_>,
    ) -> Result<(), Error> {
        if job.len == 0 {
            return Ok(());
        }
        let mut phases: Vec<Phase<'_>> = planned;
        if job.trusted {
            // A phase without plans would be one more in which all wait for each other.
            if !movements.is_empty() {
                phases.push(self.phase(movements, |of, member| direct::plan(job, of, member))?);
            }
            return then(self, &phases);
        }
        let bytes = job.len.checked_mul(8).ok_or(GpuError::OutOfMemory)?;
        let (indexes, _) = self.indexes.room(self.members.first(), bytes)?;
        let checked = job.writing(Address::Given(indexes), WordType::U64);
        // The first member writes and checks the permutation, before anything is moved.
        let mut first = vec![checked::plan(&checked)?];
        first.resize_with(self.members.len(), Plan::new);
        let moves = self.phase(movements, |of, member| direct::by_table(indexes, of, member))?;
        then(self, &[Phase::Plans(first), moves])
    }

    /// A phase in which each member carries out a plan for each movement.
    fn phase<'a>(
        &self,
        movements: &[Sharded<'_>],
        plan: impl Fn(Sharded<'_>, usize) -> Result<Plan<'a>, Error>,
    ) -> Result<Phase<'a>, Error> {
        let of_member = |member| {
            let mut moves = movements.iter();
            moves.try_fold(Plan::new(), |all, &of| Ok::<_, Error>(all.then(plan(of, member)?)))
        };
        Ok(Phase::Plans((0..self.members.len()).map(of_member).collect::<Result<_, _>>()?))
    }
}
