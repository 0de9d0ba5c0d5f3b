//! [`Runner`]: the strategies. Which kernels run, in what order, on what memory.

use std::sync::Arc;

use cudarc::driver::{CudaStream, result};

use super::device::{Device, Kernel, failed};
use super::kernels::{self, Places, index_type};
use super::memory::Memory;
use super::movement::{Array, Movement, word_type};
use super::partition::{Layout, Level, Partition};
use super::program::Program;
use super::{CudaStrategy, tuning};
use crate::bijection::{Bijection, DeviceSource};
use crate::compact::{check_in_order, check_length, try_with_capacity, wrong_count};
use crate::error::{Defect, Error};

/// The most bytes of parameters that a bijection may have: a kernel has 4096, and is given more than the bijection.
const MOST_PARAMS: usize = 4096 - 512;

/// More values than this are not kept in any device's memory, and their bytes are counted without overflow up to it.
const WIDEST_KEPT: u64 = 1 << 44;

/// `Chain` in gpu/lookback.cuh: how much stands before the status words, and where the word for the host is.
const CHAIN_HEADER: u64 = 24;
const CHAIN_TOTAL: u64 = 16;

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
    mode: Mode,
    kernels: Vec<(Program, Ready)>,
    chain: Memory,
    scratch: Memory,
}

impl Runner {
    pub(super) fn new(
        device: Arc<Device>,
        stream: Arc<CudaStream>,
        strategy: CudaStrategy,
    ) -> Self {
        Self {
            device,
            stream,
            strategy,
            mode: Mode::Run,
            kernels: Vec::new(),
            chain: Memory::new(),
            scratch: Memory::new(),
        }
    }

    /// How many bytes of working memory it holds.
    pub(super) fn bytes(&self) -> usize {
        self.chain.bytes() + self.scratch.bytes()
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

    fn single_pass(&mut self, job: &Job) -> Result<(), Error> {
        if job.is_dense() {
            self.dense(&job.source, job.len, index_type(job.last), &job.movement)
        } else {
            let index = index_type(job.last);
            self.survivors(&job.source, job.last, job.len, index, &job.movement, 0)
        }
    }

    /// Moves items that all survive.
    fn dense(
        &mut self,
        f: &DeviceSource,
        len: u64,
        index: &str,
        movement: &Movement,
    ) -> Result<(), Error> {
        let shape = tuning::dense(len - 1, movement.writes_indexes());
        let text = kernels::dense(index, shape, &movement.type_name());
        let ready = self.kernel(Some(f), text, shape.threads, 0)?;
        let grid = blocks(len.div_ceil(shape.tile()))?;
        let arguments = [f.params(), &len.to_le_bytes(), &movement.argument()];
        self.launch(&ready, (grid, 1), shape.threads, 0, &arguments)
    }

    /// Moves survivors with places by look-back; if the address is not 0, only if there is something other than 0.
    fn survivors(
        &mut self,
        f: &DeviceSource,
        last: u64,
        len: u64,
        index: &str,
        movement: &Movement,
        only_if: u64,
    ) -> Result<(), Error> {
        // Slots are as wide as the kernel takes them, even where the domain is small.
        let wide = index == "uint64_t";
        let shape = tuning::survivors(last, movement.writes_indexes(), wide);
        let tiles = last / shape.tile() + 1;
        let text = kernels::survivors(index, shape, Places::Chained, &movement.type_name());
        let ready = self.kernel(Some(f), text, shape.threads, 0)?;
        let chain = self.chain(tiles)?;
        let grid = self.resident(&ready, tiles);
        let [last, len, chain, only_if] = [last, len, chain, only_if].map(u64::to_le_bytes);
        let arguments = [f.params(), &last, &len, &chain, &movement.argument(), &only_if];
        self.launch(&ready, (grid, 1), shape.threads, 0, &arguments)
    }

    /// Counts, sums and moves in three kernels, evaluating twice.
    fn two_pass(&mut self, job: &Job) -> Result<(), Error> {
        if job.is_dense() {
            return self.single_pass(job);
        }
        let index = index_type(job.last);
        let wide = index == "uint64_t";
        let shape = tuning::survivors(job.last, job.movement.writes_indexes(), wide);
        let tiles = job.last / shape.tile() + 1;
        let grid = blocks(tiles)?;
        let f = Some(&job.source);
        let count = self.kernel(f, kernels::count(index, shape), shape.threads, 0)?;
        let scan = self.kernel(None, kernels::scan(), 1024, 0)?;
        let name = job.movement.type_name();
        let text = kernels::survivors(index, shape, Places::Given, &name);
        let place = self.kernel(f, text, shape.threads, 0)?;
        let bases_at = (tiles * 4).next_multiple_of(256);
        let counts = self.scratch(bases_at + tiles * 8)?;
        let [last, len, none] = [job.last, job.len, 0].map(u64::to_le_bytes);
        let [counts, bases] = [counts, counts + bases_at].map(u64::to_le_bytes);
        let arguments = [job.source.params(), &last, &len, &counts];
        self.launch(&count, (grid, 1), shape.threads, 0, &arguments)?;
        self.launch(&scan, (1, 1), 1024, 0, &[&counts, &grid.to_le_bytes(), &bases])?;
        let arguments = [job.source.params(), &last, &len, &bases, &job.movement.argument(), &none];
        let grid = self.resident(&place, tiles);
        self.launch(&place, (grid, 1), shape.threads, 0, &arguments)
    }

    /// Every step by itself: values, survivors, movement.
    fn unfused(&mut self, job: &Job) -> Result<(), Error> {
        let index = index_type(job.last);
        let word = if index == "uint32_t" { 4 } else { 8 };
        if job.last >= WIDEST_KEPT {
            return Err(Error::DeviceMemory);
        }
        let points = job.last + 1;
        let indices_at = (points * word as u64).next_multiple_of(256);
        let values = self.scratch(indices_at + job.len * word as u64)?;
        let indices = values + indices_at;
        self.dense(&job.source, points, index, &Movement::Indices { out: values, word })?;
        let values = lookup(values, word);
        if job.is_dense() {
            return self.dense(&values, job.len, index, &job.movement);
        }
        if matches!(job.movement, Movement::Indices { .. }) {
            return self.survivors(&values, job.last, job.len, index, &job.movement, 0);
        }
        let to_indices = Movement::Indices { out: indices, word };
        self.survivors(&values, job.last, job.len, index, &to_indices, 0)?;
        self.dense(&lookup(indices, word), job.len, index, &job.movement)
    }

    /// The sizes of the partitioned strategy, if it serves.
    fn partition(&self, job: &Job) -> Option<(Array, Partition)> {
        let (array, item) = job.movement.word()?;
        let last = u64::from(u32::try_from(job.last).ok()?);
        // With so many holes the buckets would be nearly empty.
        if job.len <= last / 8 {
            return None;
        }
        let last = if job.movement.scatters() { job.len - 1 } else { job.last };
        Some((array, Partition::new(&self.device.limits, item, job.len, last)?))
    }

    fn partitioned(&mut self, job: &Job, array: Array, partition: &Partition) -> Result<(), Error> {
        if self.mode == Mode::Run {
            // Everything is got before anything is launched, so that another strategy can take over.
            self.mode = Mode::Reserve;
            let got = self.partitioned(job, array, partition);
            self.mode = Mode::Run;
            got?;
        }
        let word = word_type(array.item);
        let layout = partition.layout();
        let shared = partition.place_shared();
        let text = kernels::place(word, partition.bucket_bits, partition.dense);
        let threads = tuning::place(partition.dense).threads;
        let place = self.kernel(None, text, threads, shared)?;
        let at = self.scratch(layout.bytes)?;
        self.clear(at, layout.cleared_bytes)?;
        let first = buckets(at, &layout, &partition.first, 0);
        self.first_pass(job, array, partition, &first)?;
        let mut placed = first;
        if let Some(level) = &partition.second {
            placed = buckets(at, &layout, level, 1);
            self.second_pass(word, partition, level, &first, &placed)?;
        }
        let level = partition.last_level();
        let bases = (at + layout.bases).to_le_bytes();
        if !partition.dense {
            let scan = self.kernel(None, kernels::scan(), 1024, 0)?;
            let counts = &placed[16..24];
            let arguments = [counts, &blocks(level.buckets)?.to_le_bytes(), &bases];
            self.launch(&scan, (1, 1), 1024, 0, &arguments)?;
        }
        let arguments = [&placed[..], &bases, &array.out.to_le_bytes()];
        let grid = (blocks(level.buckets)?, 1);
        self.launch(&place, grid, threads, shared, &arguments)?;
        if partition.dense {
            // There is room for every key, so no bucket can overflow.
            return Ok(());
        }
        let overflow = at + layout.overflow;
        let index = index_type(job.last);
        self.survivors(&job.source, job.last, job.len, index, &job.movement, overflow)
    }

    fn first_pass(
        &mut self,
        job: &Job,
        array: Array,
        partition: &Partition,
        to: &[u8; 40],
    ) -> Result<(), Error> {
        let word = word_type(array.item);
        let Level { pass, shift, .. } = partition.first;
        let shared = partition.pass_shared(pass);
        let scatters = job.movement.scatters();
        let by_survivors = scatters && !job.is_dense();
        let text = if by_survivors {
            kernels::distribute_survivors(pass, word)
        } else {
            kernels::distribute_source(pass, word, scatters)
        };
        let ready = self.kernel(Some(&job.source), text, tuning::PASS_THREADS, shared)?;
        let tile = u64::from(tuning::PASS_THREADS * pass.records);
        let [last, len, source] = [job.last, job.len, array.source].map(u64::to_le_bytes);
        let shift = shift.to_le_bytes();
        let params = job.source.params();
        if by_survivors {
            let tiles = job.last / tile + 1;
            let chain = self.chain(tiles)?.to_le_bytes();
            let arguments = [params, &last, &len, &chain, &source, &shift, to];
            self.launch(&ready, (blocks(tiles)?, 1), tuning::PASS_THREADS, shared, &arguments)
        } else {
            let grid = (blocks(job.len.div_ceil(tile))?, 1);
            let arguments = [params, &source, &len, &shift, to];
            self.launch(&ready, grid, tuning::PASS_THREADS, shared, &arguments)
        }
    }

    fn second_pass(
        &mut self,
        word: &str,
        partition: &Partition,
        level: &Level,
        from: &[u8; 40],
        to: &[u8; 40],
    ) -> Result<(), Error> {
        let shared = partition.pass_shared(level.pass);
        let text = kernels::distribute_bucket(level.pass, word);
        let ready = self.kernel(None, text, tuning::PASS_THREADS, shared)?;
        let tile = u64::from(tuning::PASS_THREADS * level.pass.records);
        let grid =
            (blocks(partition.first.capacity.div_ceil(tile))?, blocks(partition.first.buckets)?);
        let arguments = [&from[..], &level.shift.to_le_bytes(), to];
        self.launch(&ready, grid, tuning::PASS_THREADS, shared, &arguments)
    }

    /// The indexes first, then the check, and then the movement, if there is one.
    fn checked(&mut self, job: &Job) -> Result<(), Error> {
        if job.len > WIDEST_KEPT {
            return Err(Error::DeviceMemory);
        }
        let word = match job.movement {
            Movement::Indices { word, .. } => word,
            Movement::Items { .. } => 8,
        };
        let seen_bytes = (job.len.div_ceil(32) * 4 + 4).next_multiple_of(256);
        let own = match job.movement {
            Movement::Indices { .. } => 0,
            Movement::Items { .. } => job.len * 8,
        };
        let text = kernels::find_repeats(word_type(word));
        let find = self.kernel(None, text, tuning::THREADS, 0)?;
        let seen = self.scratch(seen_bytes + own)?;
        let repeats = seen + job.len.div_ceil(32) * 4;
        let indices = match job.movement {
            Movement::Indices { out, .. } => out,
            Movement::Items { .. } => seen + seen_bytes,
        };
        // Not only slots but also values in 64 bits, since nothing says that they are in the domain; and survivors
        // are looked for even where every slot should survive.
        let to_indices = Movement::Indices { out: indices, word };
        self.survivors(&job.source, job.last, job.len, "uint64_t", &to_indices, 0)?;
        let movement = |runner: &mut Self| match job.movement {
            Movement::Indices { .. } => Ok(()),
            Movement::Items { .. } => {
                runner.dense(&lookup(indices, 8), job.len, "uint64_t", &job.movement)
            }
        };
        self.clear(seen, seen_bytes)?;
        if self.mode != Mode::Run {
            return movement(self);
        }
        let chain = self.chain(1)?;
        let arguments = [indices, job.len, chain, seen, repeats].map(u64::to_le_bytes);
        let arguments = arguments.each_ref().map(|bytes| &bytes[..]);
        let grid = self.resident(&find, job.len.div_ceil(u64::from(tuning::THREADS)));
        self.launch(&find, (grid, 1), tuning::THREADS, 0, &arguments)?;
        let total = chain + CHAIN_TOTAL;
        let (mut survivors, mut repeated) = ([0_u64], [0_u32]);
        self.read(total, &mut survivors)?;
        self.read(repeats, &mut repeated)?;
        let len = usize::try_from(job.len).map_err(|_| Error::DeviceMemory)?;
        if survivors[0] != job.len {
            return Err(wrong_count(len, survivors[0] as usize));
        }
        if repeated[0] != 0 {
            return Err(self.defect(indices, len, word));
        }
        movement(self)
    }

    /// What is wrong with indexes that repeat.
    fn defect(&self, indices: u64, len: usize, word: usize) -> Error {
        let found = if word == 4 {
            self.first_defect::<u32>(indices, len)
        } else {
            self.first_defect::<u64>(indices, len)
        };
        // The device has seen a repetition, so there is one.
        found.err().unwrap_or(Error::NotABijection(Defect::Repeats { index: 0 }))
    }

    fn first_defect<N: crate::Word>(&self, indices: u64, len: usize) -> Result<(), Error> {
        let mut words = try_with_capacity(len)?;
        words.resize(len, N::zero());
        self.read(indices, &mut words)?;
        check_in_order(&words)
    }

    /// Reads what the stream has written, when it is done.
    fn read<N: Copy>(&self, address: u64, out: &mut [N]) -> Result<(), Error> {
        let failed = |error| failed(error, "read from the device");
        // SAFETY: the address is of as many numbers of the working memory, or of the caller's, and any bits are one.
        // `out` is borrowed until they are there.
        unsafe { result::memcpy_dtoh_async(out, address, self.stream.cu_stream()) }
            .map_err(failed)?;
        self.stream.synchronize().map_err(failed)
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
        // SAFETY: the methods above pair each kernel's text with its arguments; the addresses are of working memory,
        // which is kept until the stream has done with it, and of the movement, for which `run` has the caller's word.
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
                self.chain = Memory::new();
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

/// A bijection's stand-in: values that are written in words of so many bytes.
fn lookup(address: u64, word: usize) -> DeviceSource {
    let type_name = format!("bijective_shuffle::Lookup<{}>", word_type(word));
    // SAFETY: it is the struct of this name in gpu/items.cuh, which only reads the values whose address it has; and so
    // many slots are asked for as there are values.
    unsafe { DeviceSource::new(type_name, "", address.to_le_bytes().to_vec()) }
}

/// `Buckets` in gpu/partitioned.cuh.
fn buckets(at: u64, layout: &Layout, level: &Level, number: usize) -> [u8; 40] {
    let counts = [layout.counts, layout.second_counts][number];
    let words = [
        at + layout.items[number],
        at + layout.keys[number],
        at + counts,
        level.capacity,
        at + layout.overflow,
    ];
    let mut bytes = [0; 40];
    for (bytes, word) in bytes.chunks_exact_mut(8).zip(words) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    bytes
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
