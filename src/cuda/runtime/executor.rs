//! [`Executor`]: compiles the kernels of a [`DevicePlan`], reserves its memory, and executes it.
//!
//! An executor serves one stream at a time. A look-back leaves its ticket and its epoch ready for
//! the next launch on the same memory, and working memory is reused without waiting for earlier
//! launches. Both are correct only because all of these launches are in one stream, in order, or in
//! streams that their user has put in order (`CudaWorkspace::set_stream`). In a group, other
//! streams use an executor's working memory too: those of other members, before and after whose
//! phases every stream waits for all others, by `Members::meet`, and those of copies, which events
//! order with each piece. Ranks order their messages in the same way, in `group/ranks`.

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::driver::{CudaStream, sys};

use super::device::Device;
use super::kernel::{BijectionUse, Instance};
use super::kernels;
use super::launch::{LaunchSize, LoadedKernel};
use super::memory::{Memory, is_captured, seems_free};
use super::plan::{
    Address, ArgumentBytes, CheckWritten, DevicePlan, Evaluated, Grid, Ground, Launch, Step,
};
use super::program::Program;
use super::reader::StreamReader;
use super::stream::{check_slices, enter, failed};
use crate::Error;
use crate::error::GpuError;

/// The bytes before the status words of `TileStates` in gpu/runtime/lookback.cuh.
const TILE_STATES_HEADER: u64 = 24;

/// A kernel and, once it has been asked for, the number of its blocks that a multiprocessor holds.
struct Ready {
    program: Program,
    kernel: Arc<LoadedKernel>,
    /// The bytes of shared memory of a block for which that was asked, and the answer.
    held: Option<(usize, u32)>,
}

/// Kernels and working memory for one stream, kept from call to call.
pub(crate) struct Executor {
    pub(crate) device: Arc<Device>,
    pub(crate) stream: Arc<CudaStream>,
    /// The stream in whose order working memory is allocated and freed: the one that the executor
    /// was made for, whichever it serves now.
    pub(crate) home: Arc<CudaStream>,
    may_be_captured: bool,
    kernels: Vec<Ready>,
    tile_states: Memory,
    scratch: Memory,
    /// The least working memory that a plan with an alternative could not get, so that its next
    /// call does not free what the alternative has, to ask for it in vain. [`u64::MAX`] if none.
    refused: u64,
}

impl Executor {
    pub(crate) fn new(
        device: &Arc<Device>,
        stream: &Arc<CudaStream>,
        may_be_captured: bool,
    ) -> Self {
        Self {
            device: device.clone(),
            stream: stream.clone(),
            home: stream.clone(),
            may_be_captured,
            kernels: Vec::new(),
            tile_states: Memory::new(),
            scratch: Memory::new(),
            refused: u64::MAX,
        }
    }

    /// The bytes of working memory that it holds.
    pub(crate) fn bytes(&self) -> usize {
        self.tile_states.held() + self.scratch.held()
    }

    /// Begins a call on device memory. If the stream is being captured in a graph, the working
    /// memory is kept until this is dropped, because the graph will hold its address.
    ///
    /// # Errors
    ///
    /// [`GpuError::StreamCaptured`](crate::error::GpuError::StreamCaptured) if the stream is being
    /// captured and the engine was not made by `with_capture`;
    /// [`GpuError::DriverFailed`](crate::error::GpuError::DriverFailed).
    pub(crate) fn enter(&mut self) -> Result<(), Error> {
        let is_captured = enter(&self.stream, self.may_be_captured)?;
        self.keep_if(is_captured);
        Ok(())
    }

    /// Reports what went wrong when cudarc gave out the addresses of slices, and enters again,
    /// since waiting for their other users may have made the stream part of a capture.
    ///
    /// # Errors
    ///
    /// As [`enter`](Self::enter).
    pub(crate) fn check_slices(&mut self) -> Result<(), Error> {
        let is_captured = check_slices(&self.stream, self.may_be_captured)?;
        self.keep_if(is_captured);
        Ok(())
    }

    /// Refuses a call that needs the host, before it would end a capture.
    ///
    /// # Errors
    ///
    /// [`GpuError::StreamCaptured`](crate::error::GpuError::StreamCaptured) if the stream is being
    /// captured.
    pub(crate) fn check_not_captured(&self) -> Result<(), Error> {
        if is_captured(&self.stream)? { Err(Error::Gpu(GpuError::StreamCaptured)) } else { Ok(()) }
    }

    fn keep_if(&mut self, is_captured: bool) {
        if is_captured {
            self.tile_states.keep();
            self.scratch.keep();
        }
    }

    /// Compiles the kernels and allocates the memory that the plan needs, so that
    /// [`execute`](Self::execute) neither compiles nor allocates.
    pub(crate) fn reserve(&mut self, plan: &DevicePlan<'_>) -> Result<(), Error> {
        self.bind()?;
        self.prepare(plan).map(drop)
    }

    /// The address of at least `bytes` bytes of working memory, for plans that are given it. It
    /// stays where it is until more is asked for, here or by another plan. New memory is cleared:
    /// buckets are copied to other devices with all of their room, and a part of that is never
    /// written. Tools that check memory should not take this for a mistake.
    pub(crate) fn working_memory(&mut self, bytes: u64) -> Result<u64, Error> {
        self.bind()?;
        let (address, is_new) = self.scratch.room_between(&self.home, &self.stream, bytes)?;
        if is_new {
            // SAFETY: the memory has just been allocated before this stream's next work, with at
            // least this size, which has fitted a `usize`.
            unsafe { sys::cuMemsetD8Async(address, 0, bytes as usize, self.stream.cu_stream()) }
                .result()
                .map_err(|error| failed(error, "clear working memory"))?;
        }
        Ok(address)
    }

    /// How many more bytes the device must have free for that much working memory: 0 if it has
    /// enough, since otherwise the old memory is freed first.
    pub(crate) fn lacking(&self, bytes: u64) -> u64 {
        bytes.saturating_sub(self.scratch.bytes() as u64)
    }

    /// Frees the working memory, if no graph holds its address.
    pub(crate) fn give_up_memory(&mut self) {
        self.scratch.give_up();
    }

    /// Executes the plan: puts its kernels and copies in the stream. It waits only where the plan
    /// has a check. All kernels are compiled and all memory is allocated before anything is
    /// launched, so that the plan's alternative can take over if something is missing.
    ///
    /// # Safety
    ///
    /// Each address that was given to the plan's job is that of as much device memory as the job
    /// says. The stream may read or write it as the job does, nobody else uses it until the stream
    /// has finished, and no memory that the job writes overlaps any other memory that it was given.
    pub(crate) unsafe fn execute(&mut self, plan: &DevicePlan<'_>) -> Result<(), Error> {
        self.bind()?;
        let Prepared { steps, mut ground } = self.prepare(plan)?;
        for step in steps {
            match step {
                PreparedStep::Launch(kernel, launch) => {
                    // SAFETY: the caller vouches for the memory that was given to the job. All
                    // other memory is working memory, and `prepare` has allocated as much as the
                    // plan takes. Kernels of this stream use it one after the other, and other
                    // members of a group only while this stream waits for them.
                    unsafe { self.launch(kernel, launch, &mut ground) }?;
                }
                PreparedStep::Copy { from, to, bytes } => {
                    // SAFETY: both addresses have `bytes` bytes that the stream may use. For memory
                    // that was given to the job the caller promises it; for working memory
                    // `prepare` has allocated as much as the plan takes.
                    unsafe { self.copy(ground.at(from), ground.at(to), bytes) }?;
                }
                PreparedStep::Check(check) => check(&StreamReader::new(&self.stream), &ground)?,
            }
        }
        Ok(())
    }

    fn bind(&self) -> Result<(), Error> {
        let bound = self.stream.context().bind_to_thread();
        bound.map_err(|error| failed(error, "use the device"))
    }

    /// Compiles and allocates all that a plan needs or, if there is not enough memory, or no
    /// compiler for a kernel that needs one, all that its alternative needs. What one call has
    /// allocated, the next one with the same plan finds.
    fn prepare<'p, 'a>(&mut self, plan: &'p DevicePlan<'a>) -> Result<Prepared<'p, 'a>, Error> {
        let Some(otherwise) = &plan.otherwise else { return self.prepare_one(plan) };
        let wanted = Wanted { bytes: plan.memory(), lacking: self.lacking_for(plan) };
        let context = self.stream.context();
        let goes_without = wanted.is_passed_over(
            self.refused,
            || is_captured(&self.stream),
            |bytes| seems_free(context, bytes),
        )?;
        if goes_without {
            return self.prepare(otherwise);
        }
        match self.prepare_one(plan) {
            Err(Error::Gpu(GpuError::OutOfMemory)) => {
                self.refused = self.refused.min(wanted.bytes);
                self.prepare(otherwise)
            }
            Err(Error::BackendUnavailable { .. }) => self.prepare(otherwise),
            Ok(prepared) => {
                if wanted.bytes >= self.refused {
                    self.refused = u64::MAX;
                }
                Ok(prepared)
            }
            failed => failed,
        }
    }

    /// How many bytes more than it has the device must have free for a plan.
    fn lacking_for(&self, plan: &DevicePlan<'_>) -> u64 {
        let states = if plan.tiles > 0 { tile_state_bytes(plan.tiles) } else { 0 };
        let lacking = states.saturating_sub(self.tile_states.bytes() as u64);
        lacking.saturating_add(self.lacking(plan.memory()))
    }

    fn prepare_one<'p, 'a>(&mut self, plan: &'p DevicePlan<'a>) -> Result<Prepared<'p, 'a>, Error> {
        let mut steps = Vec::with_capacity(plan.steps.len());
        for step in &plan.steps {
            steps.push(match step {
                Step::Launch(launch) => {
                    let number = self.ready(&launch.evaluated, &launch.kernel)?;
                    if matches!(launch.grid, Grid::Resident(_) | Grid::Shared(..)) {
                        self.kernels[number].ask(launch.kernel.threads(), launch.shared)?;
                    }
                    PreparedStep::Launch(number, launch)
                }
                &Step::Copy { from, to, bytes } => PreparedStep::Copy { from, to, bytes },
                Step::Check(check) => PreparedStep::Check(check),
            });
        }
        let tile_states = if plan.tiles > 0 { self.tile_states(plan.tiles)? } else { 0 };
        let bytes = plan.memory();
        let scratch = if bytes > 0 {
            self.scratch.room_between(&self.home, &self.stream, bytes)?.0
        } else {
            0
        };
        Ok(Prepared { steps, ground: plan.ground(scratch, tile_states) })
    }

    /// The number of a kernel in `kernels`. The kernel is compiled and loaded at first use.
    fn ready(&mut self, evaluated: &Evaluated<'_>, kernel: &Instance) -> Result<usize, Error> {
        let is_it = |ready: &Ready| ready.program.is(evaluated, kernel);
        if let Some(number) = self.kernels.iter().position(is_it) {
            return Ok(number);
        }
        let program = Program::new(evaluated, kernel);
        let kernel = self.device.kernel(&program)?;
        self.kernels.push(Ready { program, kernel, held: None });
        Ok(self.kernels.len() - 1)
    }

    /// The address of the memory for a look-back over `tiles` tiles.
    fn tile_states(&mut self, tiles: u32) -> Result<u64, Error> {
        let kernel = kernels::new_tile_states();
        let number = self.ready(&Evaluated::Nothing, &kernel.erase())?;
        // Before there is memory, which a failure after that would leave uninitialised.
        self.kernels[number].ask(kernels::THREADS, 0)?;
        let bytes = tile_state_bytes(tiles);
        let (states, new) = self.tile_states.room_between(&self.home, &self.stream, bytes)?;
        if new {
            let arguments = move |_: &Ground| kernels::NewTileStates { states, capacity: tiles };
            let work = u64::from(tiles.div_ceil(kernels::THREADS));
            let launch = Launch::new(kernels::new_tile_states(), Grid::Resident(work), arguments);
            let mut ground = Ground { scratch: 0, kept: 0, tile_states: states, block_bits: 0 };
            // SAFETY: the kernel writes the header and the status words of `tiles` tiles, and this
            // memory has just been allocated with that size. Nothing else has its address yet.
            let made = unsafe { self.launch(number, &launch, &mut ground) };
            if made.is_err() {
                // The memory is not initialised, so the next call must not find it.
                self.tile_states.give_up();
            }
            made?;
        }
        Ok(states)
    }

    /// Puts a kernel in the stream. All of the crate's launches come through here.
    ///
    /// # Safety
    ///
    /// The addresses in `ground`, and those in the launch's arguments, are those of memory that the
    /// kernel may use until it has finished, as much of it as its arguments say.
    unsafe fn launch(
        &self,
        number: usize,
        launch: &Launch<'_>,
        ground: &mut Ground,
    ) -> Result<(), Error> {
        let Ready { kernel, held, .. } = &self.kernels[number];
        let held = u64::from(held.map_or(1, |(_, blocks)| blocks))
            * u64::from(self.device.limits.multiprocessors);
        let grid = match launch.grid {
            Grid::Blocks(blocks, rows) => (blocks, rows),
            Grid::Resident(work) => (work.min(held) as u32, 1),
            Grid::Shared(tiles, most) => {
                ground.block_bits = (tiles / held).checked_ilog2().unwrap_or(0).min(most);
                (super::plan::block_number(tiles >> ground.block_bits)?, 1)
            }
        };
        let division = LaunchSize { grid, threads: launch.kernel.threads(), shared: launch.shared };
        let mut arguments = ArgumentBytes::new();
        (launch.write)(ground, &mut arguments);
        let address;
        let params: *const u8 = match &launch.evaluated {
            Evaluated::Nothing => core::ptr::null(),
            Evaluated::Bijection(source) => source.params().as_ptr(),
            Evaluated::Lookup(_, values) => {
                address = ground.at(*values);
                (&raw const address).cast()
            }
        };
        let mut parameters: [*mut c_void; 2] =
            [params.cast_mut().cast(), arguments.as_ptr().cast_mut().cast()];
        let parameters = match launch.kernel.bijection() {
            BijectionUse::Value => &mut parameters[..],
            BijectionUse::Type | BijectionUse::None => &mut parameters[1..],
        };
        // SAFETY: the kernel was compiled from the text of the launch's `Instance`, which declares
        // one or two parameters. The first, only for `BijectionUse::Value`, is the bijection's
        // struct; the text asserts that the struct has as many bytes as `params` points at, and
        // every plan gives such a kernel something to evaluate, so `params` is not null. The other
        // is the struct of arguments. `write` has written one: `Launch::new` ties the type that it
        // writes to the type of the kernel, and the text asserts each field's size and offset. The
        // caller vouches for the memory that the arguments point at.
        unsafe { kernel.launch(self.stream.cu_stream(), division, parameters) }
    }

    /// Copies bytes in the stream's order. The addresses may be in any memory, since those that a
    /// user gives to a `_raw` function may be in the host's.
    ///
    /// # Safety
    ///
    /// There are `bytes` bytes at both addresses, which the stream may read at `from` and write at
    /// `to`.
    unsafe fn copy(&self, from: u64, to: u64, bytes: u64) -> Result<(), Error> {
        let len = usize::try_from(bytes).map_err(|_| Error::Gpu(GpuError::OutOfMemory))?;
        // SAFETY: the caller promises `len` bytes to read at `from` and to write at `to`. The
        // driver needs nothing else: with unified addressing it finds out by itself in which memory
        // they are.
        unsafe { sys::cuMemcpyAsync(to, from, len, self.stream.cu_stream()) }
            .result()
            .map_err(|error| failed(error, "copy on the device"))
    }
}

impl Ready {
    /// Asks the driver how many blocks of `threads` threads and `shared` bytes a multiprocessor
    /// holds, unless the last answer was for as many bytes.
    fn ask(&mut self, threads: u32, shared: usize) -> Result<(), Error> {
        if self.held.is_none_or(|(bytes, _)| bytes != shared) {
            self.held = Some((shared, self.kernel.blocks_per_multiprocessor(threads, shared)?));
        }
        Ok(())
    }
}

/// The bytes of memory for a look-back over this number of tiles.
fn tile_state_bytes(tiles: u32) -> u64 {
    TILE_STATES_HEADER + u64::from(tiles) * 8
}

/// The memory of a plan that has an alternative.
#[derive(Clone, Copy)]
struct Wanted {
    /// All of the plan's working memory.
    bytes: u64,
    /// What the device must have free for it.
    lacking: u64,
}

impl Wanted {
    /// Whether the alternative is taken at once: in a capture, which cannot allocate, or if that
    /// much was `refused` before and does not seem to be free now.
    fn is_passed_over(
        self,
        refused: u64,
        is_captured: impl FnOnce() -> Result<bool, Error>,
        seems_free: impl FnOnce(u64) -> bool,
    ) -> Result<bool, Error> {
        let was_refused = self.bytes >= refused;
        Ok(self.lacking > 0 && (was_refused && !seems_free(self.lacking) || is_captured()?))
    }
}

/// The steps of a plan or of its alternative, with all that they need.
struct Prepared<'p, 'a> {
    steps: Vec<PreparedStep<'p, 'a>>,
    ground: Ground,
}

/// A [`Step`], with the number of its kernel.
enum PreparedStep<'p, 'a> {
    Launch(usize, &'p Launch<'a>),
    Copy { from: Address, to: Address, bytes: u64 },
    Check(&'p CheckWritten<'a>),
}

impl std::fmt::Debug for Executor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Executor")
            .field("device", &self.device)
            .field("bytes", &self.bytes())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a call does with its memory, if that much was refused before: whether it takes the
    /// alternative at once.
    #[test]
    fn memory_that_was_refused_is_asked_for_again_only_if_it_seems_free() {
        let passes = |lacking, refused, is_captured, free| {
            let wanted = Wanted { bytes: 100, lacking };
            wanted.is_passed_over(refused, || Ok(is_captured), |bytes| bytes <= free)
        };
        // What it has it does not ask for.
        for refused in [50, u64::MAX] {
            for is_captured in [false, true] {
                assert_eq!(passes(0, refused, is_captured, 0), Ok(false));
            }
        }
        // The first time it asks, whatever seems to be free, and a capture never.
        assert_eq!(passes(60, u64::MAX, false, 0), Ok(false));
        assert_eq!(passes(60, u64::MAX, true, 1000), Ok(true));
        // As much or less was refused before.
        for refused in [1, 100] {
            assert_eq!(passes(60, refused, false, 59), Ok(true));
            assert_eq!(passes(60, refused, false, 60), Ok(false));
        }
        // More was refused, which says nothing of this.
        assert_eq!(passes(60, 101, false, 0), Ok(false));
        let error = Error::Gpu(GpuError::StreamCaptured);
        let asked = Wanted { bytes: 100, lacking: 1 };
        assert_eq!(asked.is_passed_over(u64::MAX, || Err(error.clone()), |_| true), Err(error));
    }
}
