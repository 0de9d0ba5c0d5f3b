//! [`Runner`]: which kernels run, in what order, on what memory. The strategies are in files of their own.

mod affine;
mod batch;
mod checked;
mod direct;
mod partitioned;

use std::sync::Arc;

use cudarc::driver::CudaStream;

pub(super) use self::affine::array_bytes;
pub(super) use self::batch::RowsJob;
use super::device::{Device, Kernel, failed};
use super::kernels;
use super::memory::Memory;
use super::movement::Movement;
use super::program::Program;
use super::workspace::enter;
use super::{Cuda, CudaStrategy, tuning};
use crate::base::check::check_length;
use crate::bijection::{Bijection, DeviceSource};
use crate::error::Error;

/// The most bytes of parameters that a bijection may have: a kernel has 4096, and is given more than the bijection.
const MOST_PARAMS: usize = 4096 - 512;

/// More values than this are not kept in any device's memory, and their bytes are counted without overflow up to it.
const WIDEST_KEPT: u64 = 1 << 44;

/// How much stands before the status words of `Chain` in gpu/lookback.cuh.
const CHAIN_HEADER: u64 = 24;

/// A permutation to be applied.
pub(super) struct Job {
    source: DeviceSource,
    last: u64,
    len: u64,
    trusted: bool,
    movement: Movement,
}

impl Job {
    /// Looks at a bijection.
    ///
    /// # Errors
    ///
    /// [`Error::LengthExceedsDomain`], [`Error::NoDeviceSource`], [`Error::DeviceParams`].
    pub(super) fn new(f: &dyn Bijection, len: u64, movement: Movement) -> Result<Self, Error> {
        // What is vouched for is the trusted form, so that is what is asked from here on.
        let vouched = f.trusted();
        let (last, source) = match &vouched {
            Some(f) => (f.last(), f.device_source()),
            None => (f.last(), f.device_source()),
        };
        check_length(len, last)?;
        let source = source.ok_or(Error::NoDeviceSource)?;
        let bytes = source.params().len();
        if bytes > MOST_PARAMS {
            let type_name = source.type_name().into();
            return Err(Error::DeviceParams { type_name, bytes, most: MOST_PARAMS });
        }
        Ok(Self { source, last, len, trusted: vouched.is_some(), movement })
    }

    /// Whether every slot survives.
    fn is_dense(&self) -> bool {
        self.len - 1 == self.last
    }
}

/// A kernel with what is asked of the driver once: how many of its blocks a multiprocessor holds.
#[derive(Clone)]
struct Ready {
    kernel: Arc<Kernel>,
    blocks: u32,
}

/// How far a job is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Only the kernels are got.
    Compile,
    /// The kernels and the memory are got, and nothing is launched.
    Reserve,
    /// It is done.
    Run,
}

/// An engine's kernels and working memory, on one stream.
pub(super) struct Runner {
    pub(super) device: Arc<Device>,
    pub(super) stream: Arc<CudaStream>,
    pub(super) strategy: CudaStrategy,
    may_be_captured: bool,
    mode: Mode,
    kernels: Vec<(Program, Ready)>,
    chain: Memory,
    scratch: Memory,
}

impl Runner {
    pub(super) fn new(cuda: &Cuda) -> Self {
        Self {
            device: cuda.device.clone(),
            stream: cuda.stream.clone(),
            strategy: cuda.strategy,
            may_be_captured: cuda.may_be_captured,
            mode: Mode::Run,
            kernels: Vec::new(),
            chain: Memory::new(),
            scratch: Memory::new(),
        }
    }

    /// How many bytes of working memory it holds.
    pub(super) fn bytes(&self) -> usize {
        self.chain.held() + self.scratch.held()
    }

    /// Begins a call on device memory; whether what it puts in the stream is captured in a graph,
    /// which the working memory then is kept for.
    ///
    /// # Errors
    ///
    /// [`Error::Captured`] if it is captured, and the engine is not one `with_capture`;
    /// [`Error::Driver`].
    pub(super) fn enter(&mut self) -> Result<bool, Error> {
        let captured = enter(&self.stream, self.may_be_captured)?;
        if captured {
            self.chain.keep();
            self.scratch.keep();
        }
        Ok(captured)
    }

    /// Does the job: puts its kernels in the stream, and waits only if the bijection has to be checked.
    ///
    /// # Safety
    ///
    /// The movement's addresses are of that many items on the device, which the stream may read and write, and nothing
    /// that is written overlaps with anything else.
    pub(super) unsafe fn run(&mut self, job: &Job) -> Result<(), Error> {
        if job.len == 0 {
            return Ok(());
        }
        let context = self.stream.context();
        context.bind_to_thread().map_err(|error| failed(error, "use the device"))?;
        if !job.trusted {
            return self.checked(job);
        }
        match self.strategy {
            CudaStrategy::Auto => self.best(job),
            CudaStrategy::Unfused => self.unfused(job),
            CudaStrategy::TwoPass => self.two_pass(job),
            CudaStrategy::SinglePass => self.single_pass(job),
            CudaStrategy::Partitioned => match self.partition(job) {
                Some((array, partition)) => self.partitioned(job, array, &partition),
                None => self.single_pass(job),
            },
        }
    }

    /// Gets what the job will need, so that [`run`](Self::run) finds it.
    pub(super) fn rehearse(&mut self, job: &Job, mode: Mode) -> Result<(), Error> {
        self.mode = mode;
        // SAFETY: nothing is launched, so no address is used.
        let done = unsafe { self.run(job) };
        self.mode = Mode::Run;
        done
    }

    /// The fastest strategy for the job.
    fn best(&mut self, job: &Job) -> Result<(), Error> {
        let caches = if job.movement.scatters() {
            tuning::PARTITION_BACK_CACHES
        } else {
            tuning::PARTITION_CACHES
        };
        if let Some((array, partition)) = self.partition(job)
            && job.len * array.item as u64 >= caches * self.device.limits.l2_bytes
        {
            match self.partitioned(job, array, &partition) {
                // Nothing has been launched then.
                Err(Error::DeviceMemory) => {}
                done => return done,
            }
        }
        self.single_pass(job)
    }

    /// A kernel, and what the driver says of it.
    fn kernel(
        &mut self,
        f: Option<&DeviceSource>,
        text: String,
        threads: u32,
        shared: usize,
    ) -> Result<Ready, Error> {
        if let Some((_, ready)) = self.kernels.iter().find(|(program, _)| program.is(f, &text)) {
            return Ok(ready.clone());
        }
        let program = Program::new(f, text);
        let kernel = self.device.kernel(&program)?;
        let blocks = kernel.blocks_per_multiprocessor(threads, shared)?;
        let ready = Ready { kernel, blocks };
        self.kernels.push((program, ready.clone()));
        Ok(ready)
    }

    /// As many blocks as there is work for, but no more than the device holds.
    fn resident(&self, ready: &Ready, work: u64) -> u32 {
        work.min(u64::from(ready.blocks * self.device.limits.multiprocessors)) as u32
    }

    fn launch(
        &self,
        ready: &Ready,
        grid: (u32, u32),
        threads: u32,
        shared: usize,
        arguments: &[&[u8]],
    ) -> Result<(), Error> {
        if self.mode != Mode::Run {
            return Ok(());
        }
        // SAFETY: whoever launches pairs each kernel's text with its arguments. The addresses are of working memory, which is
        // kept until the stream has done with it, and of what the caller vouches for: of the movement for `run`, of the
        // rows for `rows`, and of the arrays for `permute`, `permute_in_place` and `order_by_network`, which have as many
        // items as an affine map has points, all of which it permutes.
        unsafe { ready.kernel.launch(self.stream.cu_stream(), grid, threads, shared, arguments) }
    }

    /// Sets working memory to zero: that many bytes, a multiple of 4.
    fn clear(&mut self, address: u64, bytes: u64) -> Result<(), Error> {
        let ready = self.kernel(None, kernels::clear(), tuning::THREADS, 0)?;
        let words = bytes / 4;
        let grid = self.resident(&ready, words.div_ceil(u64::from(tuning::THREADS)));
        let arguments: [&[u8]; 2] = [&address.to_le_bytes(), &words.to_le_bytes()];
        self.launch(&ready, (grid, 1), tuning::THREADS, 0, &arguments)
    }

    /// The address of a chain of so many tiles.
    fn chain(&mut self, tiles: u64) -> Result<u64, Error> {
        // Blocks take one ticket more than there are tiles.
        let tiles = u32::try_from(tiles).ok().filter(|&tiles| tiles < u32::MAX / 2);
        let tiles = tiles.ok_or(Error::DomainTooWide)?;
        let ready = self.kernel(None, kernels::new_chain(), tuning::THREADS, 0)?;
        if self.mode == Mode::Compile {
            return Ok(0);
        }
        let bytes = CHAIN_HEADER + u64::from(tiles) * 8;
        let (address, new) = self.chain.room(&self.stream, bytes)?;
        if new {
            let grid = self.resident(&ready, u64::from(tiles.div_ceil(tuning::THREADS)));
            let arguments: [&[u8]; 2] = [&address.to_le_bytes(), &tiles.to_le_bytes()];
            // In earnest even in a rehearsal: the memory is new only once.
            let mode = core::mem::replace(&mut self.mode, Mode::Run);
            let done = self.launch(&ready, (grid, 1), tuning::THREADS, 0, &arguments);
            self.mode = mode;
            if done.is_err() {
                // It must not be taken for a chain.
                self.chain.give_up();
                return done.map(|()| 0);
            }
        }
        Ok(address)
    }

    /// The address of scratch memory.
    fn scratch(&mut self, bytes: u64) -> Result<u64, Error> {
        if self.mode == Mode::Compile {
            return Ok(0);
        }
        Ok(self.scratch.room(&self.stream, bytes)?.0)
    }
}

/// A number of blocks as the driver takes it.
fn blocks(number: u64) -> Result<u32, Error> {
    i32::try_from(number).map(|number| number as u32).map_err(|_| Error::DomainTooWide)
}

impl std::fmt::Debug for Runner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runner")
            .field("device", &self.device)
            .field("strategy", &self.strategy)
            .field("bytes", &self.bytes())
            .finish_non_exhaustive()
    }
}
