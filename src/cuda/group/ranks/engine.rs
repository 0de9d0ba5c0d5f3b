//! [`CudaExchange`]: one rank's engine.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::{CudaStream, DeviceRepr};

use super::super::given::{job_of_items, total};
use super::super::peer_access;
use super::super::shards::MemberShards;
use super::super::tuning::MOST_RANKS;
use super::ballot::{Ballot, fingerprint, version};
use super::call::{Given, RankCall};
use super::near::Near;
use super::pieces::RankStreams;
use super::words::RankWords;
use crate::Error;
use crate::compact::{Direction, Order};
use crate::cuda::engine::Cuda;
use crate::cuda::nccl::{Communicator, LinkMessage, NcclId};
use crate::cuda::runtime::array::{DeviceArray, DeviceArrayMut};
use crate::cuda::runtime::executor::Executor;
use crate::cuda::runtime::in_use::{reading, writing};
use crate::cuda::runtime::memory::Memory;
use crate::cuda::runtime::stream::check_device;
use crate::cuda::shuffle::strategy::CudaStrategy;
use crate::error::{ExchangeError, GpuError};

/// The engine of one rank: a process, or a thread, with a GPU, that shuffles an array together with
/// other ranks. Each holds a run of the array's places in the memory of its GPU.
///
/// The first rank holds the first places, and so on. The runs may have any lengths, also 0, and
/// before and after a shuffle different ones. The result is the permutation that one GPU or a CPU
/// would make of the whole array.
///
/// NVIDIA's library NCCL moves what ranks send, over whatever links there are between them. Where
/// all ranks are processes on one host that can map each other's memory, and at most 16, pieces of
/// items (see below) go by the copy engines of the GPUs instead, as in a group. NCCL is part of
/// CUDA's packages, and separately the Python packages `nvidia-nccl-cu12` and `nvidia-nccl-cu13`.
/// If it is not where the system looks for libraries, set the environment variable
/// `BIJECTIVE_SHUFFLE_NCCL` to its path; the value `none` forbids it. NCCL refuses two ranks on one
/// GPU. For the GPUs of one process there is [`CudaGroup`](crate::cuda::CudaGroup), which needs no
/// library.
///
/// All ranks make the same calls, in the same order. In each call they first tell each other what
/// they are about to do, and whether they have the memory and the kernels for it. So if one rank
/// fails, or means another permutation, all of them get an error, and nothing is moved. A seed on
/// one rank and the bijection that is drawn from it on another are two permutations to them.
///
/// # How it works, and what it costs
///
/// Each item of 1, 2, 4, 8 or 16 bytes that leaves its GPU is sent once, with 4 bytes that say
/// where it goes. Items are sent in up to five pieces: while one is on its way, the GPU prepares
/// the next and sorts the one before. For items of `s` bytes, that takes at most about `2 s + 6`
/// bytes an item where a rank has 2^25 items or more, and up to `3 s + 10` where it has fewer and
/// sends them in fewer pieces; hundreds of ranks with few items each take up to 1.8 times as much.
/// Where a GPU has less memory, all ranks send smaller pieces. The bijection must be
/// [trusted](crate::TrustedBijection), have less than eight times as many points as items, and
/// scatter neighbours; there must be 2^18 items a rank, unless the strategy is
/// [`Partitioned`](CudaStrategy::Partitioned).
///
/// Other items, other bijections, and arrays of few items or of more than there are passes for
/// (2^37 of 8 bytes on an H100), are gathered by all ranks, each of which shuffles the whole array
/// and keeps its part. That takes memory for two whole arrays on each GPU, and for shuffling one.
///
/// The host waits for the other ranks three times: the third time until all items have been
/// gathered, or all pieces have been sorted, and once more to undo a shuffle in pieces, if not
/// every point of the bijection's domain is an item. The last kernels and messages are still
/// running when a call returns. Wait for them by [`synchronize`](Self::synchronize): the stream
/// itself never ends if another rank is lost. Dropping an engine waits for the others to drop
/// theirs, for at most three times the time limit. If they do not, memory that they have mapped is
/// not freed. At most 512 ranks make an exchange, and NVRTC compiles its kernels.
///
/// # Examples
///
/// Two ranks in two threads. In two processes, the first sends its id to the other by any means: a
/// file, MPI, or the store of `torchrun`.
///
/// ```
/// use std::time::Duration;
///
/// use bijective_shuffle::bijection::Standard;
/// use bijective_shuffle::prelude::*;
/// use bijective_shuffle::cuda::{Cuda, CudaExchange, NcclId};
///
/// fn rank(rank: usize, id: NcclId) -> Result<Vec<u64>, Box<dyn std::error::Error + Send + Sync>> {
///     let cuda = Cuda::on_device(rank)?;
///     let stream = cuda.stream().clone();
///     let mut exchange = CudaExchange::new(&cuda, &id, rank, 2, Duration::from_secs(60))?;
///     // A thousand items on each GPU.
///     let first = 1000 * rank as u64;
///     let source = stream.clone_htod(&(first..first + 1000).collect::<Vec<_>>())?;
///     let mut out = stream.alloc_zeros::<u64>(1000)?;
///     exchange.shuffle_into(&Standard::from_seed(2000, 42), &source, &mut out)?;
///     exchange.synchronize()?;
///     Ok(stream.clone_dtoh(&out)?)
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// // No driver, fewer GPUs and no NCCL are ordinary states.
/// let (Ok(2..), Ok(id)) = (Cuda::device_count(), NcclId::new()) else {
///     return Ok(println!("skipped: this takes two GPUs and NCCL"));
/// };
/// let parts = std::thread::scope(|scope| {
///     let ranks = [0, 1].map(|k| scope.spawn(move || rank(k, id)));
///     ranks.map(|rank| rank.join().expect("no rank panics"))
/// });
/// let [first, second] = parts;
/// assert_eq!([first?, second?].concat(), Permutation::new(2000, 42).to_vec());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct CudaExchange {
    // It ends what it does in the streams before anything else here is freed.
    pub(super) ranks: Communicator,
    /// If the ranks use each other's memory.
    pub(super) near: Option<Near>,
    pub(super) stream: Arc<CudaStream>,
    pub(super) lanes: RankStreams,
    pub(super) strategy: CudaStrategy,
    pub(super) executor: Executor,
    pub(super) words: RankWords,
    /// Whole arrays.
    pub(super) whole: Memory,
}

impl CudaExchange {
    /// Joins the ranks that have the same id, on the GPU and the stream of an engine, with its
    /// strategy. All ranks make this call, each with another rank and another GPU.
    ///
    /// This call and all later ones fail if a wait for other ranks takes longer than the time
    /// limit. A wait includes what is in the stream already, and how much later the other ranks
    /// make the same call. After that, an engine takes at most as long again to give up.
    ///
    /// # Errors
    ///
    /// [`Error::BackendUnavailable`] if NCCL cannot be found or loaded;
    /// [`GpuError::GroupSizeOutOfRange`](crate::error::GpuError::GroupSizeOutOfRange) for more than
    /// 512 ranks; [`Error::NoSuchRank`]; [`GpuError::TimedOut`](crate::error::GpuError::TimedOut)
    /// if the other ranks do not join in time;
    /// [`GpuError::NcclFailed`](crate::error::GpuError::NcclFailed),
    /// [`GpuError::PeerLost`](crate::error::GpuError::PeerLost),
    /// [`GpuError::DriverFailed`](crate::error::GpuError::DriverFailed).
    pub fn new(
        engine: &Cuda,
        id: &NcclId,
        rank: usize,
        ranks: usize,
        time_limit: Duration,
    ) -> Result<Self, Error> {
        if ranks > MOST_RANKS {
            return Err(GpuError::GroupSizeOutOfRange { members: ranks, most: MOST_RANKS }.into());
        }
        let stream = engine.stream.clone();
        // NCCL may have ranks of one process read and write each other's memory directly.
        peer_access::open_pool(stream.context())?;
        // What several ranks do is not for a graph.
        let executor = Executor::new(&engine.device, &stream, false);
        // What may fail on one rank comes before the others wait for it.
        let (lanes, words) = (RankStreams::new(&stream)?, RankWords::new(&stream, ranks)?);
        let ranks = Communicator::new(&stream, id, rank, ranks, time_limit)?;
        Ok(Self {
            near: Near::join(&ranks, &words, [&stream, lanes.messages()], time_limit)?,
            ranks,
            lanes,
            strategy: engine.strategy,
            words,
            whole: Memory::new(),
            executor,
            stream,
        })
    }

    /// This rank, counted from 0.
    pub fn rank(&self) -> usize {
        self.ranks.rank()
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.ranks.ranks()
    }

    /// The stream in which its kernels run.
    pub fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// The bytes of device memory that it holds for later calls.
    pub fn bytes(&self) -> usize {
        let own = self.words.bytes() + self.whole.held();
        let near = self.near.as_ref().map_or(0, Near::bytes);
        own + near + self.executor.bytes()
    }

    /// Waits until this rank has finished what is in its stream.
    ///
    /// # Errors
    ///
    /// [`GpuError::TimedOut`](crate::error::GpuError::TimedOut) and
    /// [`GpuError::PeerLost`](crate::error::GpuError::PeerLost) if other ranks do not send what
    /// they should, after which the engine cannot be used any more;
    /// [`GpuError::NcclFailed`](crate::error::GpuError::NcclFailed),
    /// [`GpuError::DriverFailed`](crate::error::GpuError::DriverFailed).
    pub fn synchronize(&self) -> Result<(), Error> {
        let done = self.ranks.wait(&self.stream);
        let done = done.and_then(|()| self.near.as_ref().map_or(Ok(()), Near::check));
        done.inspect_err(|_| self.near.iter().for_each(Near::fail))
    }

    /// Copies the items in shuffled order: item `p[k]` of the whole array to place `k` of its new
    /// order. `source` is this rank's run of the array, and `out` its run of the new one.
    ///
    /// `source` is not written, whatever happens, and `out` not before all of this rank's items
    /// have come.
    ///
    /// # Errors
    ///
    /// The same on all ranks, and nothing is moved:
    ///
    /// * [`ExchangeError::Disagreement`] if the ranks do not mean the same permutation, direction,
    ///   strategy or size of items, and [`Error::LengthMismatch`] if the new runs are not as long
    ///   together as the old ones.
    /// * [`Error::LengthExceedsDomain`], [`Error::NotABijection`],
    ///   [`GpuError::NoSource`](crate::error::GpuError::NoSource),
    ///   [`GpuError::ItemTooLarge`](crate::error::GpuError::ItemTooLarge).
    ///
    /// On a rank that cannot take part, and nothing is moved; the others get
    /// [`ExchangeError::RankFailed`]:
    ///
    /// * [`GpuError::WrongDevice`](crate::error::GpuError::WrongDevice),
    ///   [`GpuError::ParamsTooLarge`](crate::error::GpuError::ParamsTooLarge),
    ///   [`GpuError::CompileFailed`](crate::error::GpuError::CompileFailed),
    ///   [`Error::BackendUnavailable`] without NVRTC,
    ///   [`GpuError::OutOfMemory`](crate::error::GpuError::OutOfMemory),
    ///   [`GpuError::StreamCaptured`](crate::error::GpuError::StreamCaptured).
    ///
    /// If other ranks do not do their part, as [`synchronize`](Self::synchronize); `out` then holds
    /// unspecified items.
    pub fn shuffle_into<'o, T: DeviceRepr>(
        &mut self,
        order: impl Into<Order<'o>>,
        source: &impl DeviceArray<T>,
        out: &mut impl DeviceArrayMut<T>,
    ) -> Result<(), Error> {
        self.copy(order.into(), source, out, Direction::Shuffle)
    }

    /// Copies the items back into their original order: item `k` of the whole array to place `p[k]`
    /// of its new order.
    ///
    /// # Errors
    ///
    /// As [`shuffle_into`](Self::shuffle_into).
    pub fn unshuffle_into<'o, T: DeviceRepr>(
        &mut self,
        order: impl Into<Order<'o>>,
        source: &impl DeviceArray<T>,
        out: &mut impl DeviceArrayMut<T>,
    ) -> Result<(), Error> {
        self.copy(order.into(), source, out, Direction::Unshuffle)
    }

    fn copy<T: DeviceRepr>(
        &mut self,
        order: Order<'_>,
        source: &impl DeviceArray<T>,
        out: &mut impl DeviceArrayMut<T>,
        direction: Direction,
    ) -> Result<(), Error> {
        let stream = self.stream.clone();
        let checked = check_device(&stream, source.stream())
            .and_then(|()| check_device(&stream, out.stream()))
            .and_then(|()| self.executor.enter());
        let lens = [source.len(), out.len()];
        let guards;
        let given = match checked {
            Ok(()) => {
                let (source, read) = reading(source, &stream);
                let (out, written) = writing(out, &stream);
                guards = Some((read, written));
                let given = Given { source, out, lens, item: size_of::<T>(), direction };
                self.executor.check_slices().map(|()| given)
            }
            Err(error) => {
                guards = None;
                Err(error)
            }
        };
        // SAFETY: both slices are of this context, as long as they say, and borrowed, `out`
        // mutably, so they do not overlap. The guards, each an `InUse`, ensure that none is freed
        // or otherwise used before this stream has finished, which waits for the one of the
        // messages.
        let moved = unsafe { self.agree_and_move(order, given) };
        drop(guards);
        moved
    }

    /// Tells the other ranks what is to be moved, or that this one has failed, and moves it.
    ///
    /// # Safety
    ///
    /// There are as many items as `given` says at its addresses. This stream may read those of the
    /// source and write those of the target; they do not overlap, and nobody else uses them until
    /// the stream has finished.
    unsafe fn agree_and_move(
        &mut self,
        order: Order<'_>,
        given: Result<Given, Error>,
    ) -> Result<(), Error> {
        // What went wrong after the last call had returned.
        self.ranks.check()?;
        let limits = self.executor.device.limits;
        // A bijection that panics must not do so before the other ranks are told.
        let mut panic = None;
        let given = given.and_then(|given| {
            let hash = catch_unwind(AssertUnwindSafe(|| fingerprint(order)));
            let hash = hash.unwrap_or_else(|payload| {
                panic = Some(payload);
                Err(Error::Exchange(ExchangeError::RankFailed { rank: self.rank() }))
            });
            Ok((given, hash?))
        });
        let ballot = given.as_ref().ok().map(|(given, hash)| {
            let unit =
                |address, len| MemberShards::new([(address, len)], given.item).unit().bytes();
            let [from, to] = given.lens;
            Ballot {
                version: version(),
                direction: given.direction,
                bijection: *hash,
                strategy: self.strategy as u64,
                item: given.item as u64,
                unit: unit(given.source, from).min(unit(given.out, to)) as u64,
                lens: [from as u64, to as u64],
                limits,
            }
        });
        // Ballots go by a stream of their own, since the other may be captured, which is an error.
        let words = self.gather(&Ballot::words(ballot.as_ref()));
        if let Some(payload) = panic {
            resume_unwind(payload);
        }
        let (given, _) = given?;
        let ballots = Ballot::read_all(&words?).map_err(Error::Exchange)?;
        let lens = |side: usize| ballots.iter().map(move |ballot| ballot.lens[side] as usize);
        let (expected, actual) = (total(lens(0), order)?, total(lens(1), order)?);
        if actual != expected {
            return Err(Error::LengthMismatch { expected, actual });
        }
        let chosen = order.for_len(expected);
        let bijection = chosen.bijection();
        let Some(job) = job_of_items(bijection, expected, given.item)? else { return Ok(()) };
        let rank = self.rank();
        // Of other ranks' runs only the lengths are known.
        let array = |side: usize, own: u64| {
            let runs =
                lens(side).enumerate().map(|(k, len)| (if k == rank { own } else { 0 }, len));
            MemberShards::new(runs, given.item)
        };
        let (source, out) = (array(0, given.source), array(1, given.out));
        let call = RankCall { job: &job, given, source, out };
        if let Some(sizes) = call.sizes(self.strategy, &ballots) {
            // SAFETY: the caller vouches for the arrays.
            if unsafe { self.move_in_pieces(&call, sizes) }? {
                return Ok(());
            }
        }
        // SAFETY: the caller vouches for the arrays.
        unsafe { self.move_whole(&call, bijection) }
    }

    /// Tells the other ranks whether this one is ready, and goes on if all are.
    ///
    /// # Errors
    ///
    /// This rank's own, or [`ExchangeError::RankFailed`].
    pub(super) fn all_ready<R>(&mut self, ready: Result<R, Error>) -> Result<R, Error> {
        let words = self.gather(&[ready.is_ok().into()]);
        let ready = ready?;
        match words?.iter().position(|words| words[0] == 0) {
            Some(rank) => Err(Error::Exchange(ExchangeError::RankFailed { rank })),
            None => Ok(ready),
        }
    }

    /// Tells the other ranks whether this one has what it needs, and returns whether all have. If
    /// less memory `may_do`, want of memory is no error.
    ///
    /// # Errors
    ///
    /// As [`all_ready`](Self::all_ready).
    pub(super) fn all_have_room(
        &mut self,
        ready: Result<(), Error>,
        may_do: bool,
    ) -> Result<bool, Error> {
        let is_short = may_do && ready == Err(GpuError::OutOfMemory.into());
        let answer = if is_short { Ok(false) } else { ready.map(|()| true) };
        let has_room = u64::from(answer == Ok(true));
        let words = self.gather(&[answer.is_ok().into(), has_room]);
        answer?;
        let words = words?;
        match words.iter().position(|words| words[0] == 0) {
            Some(rank) => Err(Error::Exchange(ExchangeError::RankFailed { rank })),
            None => Ok(words.iter().all(|words| words[1] == 1)),
        }
    }

    /// Gathers numbers of the host, as [`RankWords::gather`].
    ///
    /// # Errors
    ///
    /// Those of [`RankWords::gather`].
    fn gather(&self, own: &[u64]) -> Result<Vec<Vec<u64>>, Error> {
        match &self.near {
            Some(near) => near.gather(&self.ranks, own),
            None => self.words.gather(&self.ranks, self.lanes.messages(), own),
        }
    }

    /// Sends and receives what the kernels in the stream are done with, and makes later kernels
    /// wait for that.
    ///
    /// # Safety
    ///
    /// As [`Communicator::exchange`], for the stream of kernels.
    pub(super) unsafe fn exchange(
        &self,
        sends: &[LinkMessage],
        receives: &[LinkMessage],
    ) -> Result<(), Error> {
        self.lanes.messages_after_kernels()?;
        // SAFETY: the caller vouches for the memory, for what the stream of kernels holds, and the
        // messages come between that and what it will hold.
        unsafe { self.ranks.exchange(self.lanes.messages(), sends, receives) }?;
        self.lanes.kernels_after_messages()
    }

    /// Ends the communication after an error that the other ranks do not know of, so that they get
    /// one too, and waits until neither stream uses any memory. Later calls return the error.
    pub(super) fn give_up(&self, error: Error) -> Error {
        self.ranks.fail(error.clone());
        match &self.near {
            Some(near) => near.give_up(),
            None => self.lanes.finish(),
        }
        error
    }
}
