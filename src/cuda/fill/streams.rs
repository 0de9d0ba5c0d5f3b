//! [`CudaStreams`]: an ensemble of streams on the device, and choosing the kernels that fill with
//! it.

use core::marker::PhantomData;

use cudarc::driver::CudaViewMut;

use super::generator::{DeviceDraw, DeviceGenerator, Threads, six_fills};
use super::{kernels, tuning};
use crate::Error;
use crate::cuda::engine::Cuda;
use crate::cuda::runtime::array::DeviceArrayMut;
use crate::cuda::runtime::executor::Executor;
use crate::cuda::runtime::in_use::writing;
use crate::cuda::runtime::memory::Allocation;
use crate::cuda::runtime::plan::{DevicePlan, Grid, Launch};
use crate::cuda::runtime::stream::{check_device, enter, failed, finish};
use crate::engine::check::try_with_capacity;
use crate::error::GpuError;
use crate::rng::Streams;
use crate::rng::engine::{F32, F64, NormalF32, NormalF64, U32, U64};

/// The methods that fill with an ensemble.
macro_rules! stream_fills {
    ($(#[doc = $what:literal] $name:ident: $kind:ident, $number:ty;)*) => {$(
        #[doc = $what]
        ///
        /// # Errors
        ///
        /// [`GpuError::WrongDevice`](crate::error::GpuError::WrongDevice),
        /// [`GpuError::CompileFailed`](crate::error::GpuError::CompileFailed),
        /// [`GpuError::DriverFailed`](crate::error::GpuError::DriverFailed).
        pub fn $name(&mut self, out: &mut impl DeviceArrayMut<$number>) -> Result<(), Error> {
            self.fill::<$kind>(out)
        }
    )*};
}

/// An ensemble of [`Streams`] with its states in device memory.
///
/// A fill launches one kernel in the engine's stream and returns. Its numbers are those that the
/// CPU's [`Fill`](crate::rng::Fill) of the same streams gives, bit for bit and in the same order:
/// place `t * len + i` holds number `t` of stream `i`. (Where a generator's block has more than one
/// word, read "block" for "number".) So the number of streams is part of the result, and the caller
/// chooses it.
///
/// # How many streams
///
/// As many as keep the GPU busy. A multiprocessor has room for 2048 threads. On a GPU with 132
/// multiprocessors, a generator that one thread steps needs about 2^18 streams, best a multiple of
/// four; [`XorShift1024Weyl`](crate::rng::XorShift1024Weyl), which eight threads share, 2^15;
/// [`LaggedFibonacci521`](crate::rng::LaggedFibonacci521) and
/// [`LaggedFibonacci1279`](crate::rng::LaggedFibonacci1279), which a block of 64 or 128 threads
/// shares, some 2^12 and 2^11. With fewer streams a fill takes longer; with more, reading and
/// writing the states takes longer. Fills are fastest for slices that begin at a multiple of 16
/// bytes.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::Error;
/// use bijective_shuffle::prelude::*;
/// use bijective_shuffle::rng::{Fill, Streams, Xorwow};
/// use bijective_shuffle::cuda::{Cuda, CudaStreams};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut streams = Streams::<Xorwow>::new(42, 0..1000)?;
/// let mut numbers = vec![0.0_f32; 5000];
/// streams.fill_f32(&mut numbers);
///
/// let cuda = match Cuda::new() {
///     Ok(cuda) => cuda,
///     // No GPU or no driver is an ordinary state.
///     Err(Error::BackendUnavailable { reason }) => return Ok(println!("skipped: {reason}")),
///     Err(error) => return Err(error.into()),
/// };
/// let mut on_device = CudaStreams::new(&cuda, &Streams::<Xorwow>::new(42, 0..1000)?)?;
/// let mut out = cuda.stream().alloc_zeros::<f32>(5000)?;
/// on_device.fill_f32(&mut out)?;
/// let copy = cuda.stream().clone_dtoh(&out)?;
/// cuda.stream().synchronize()?;
/// assert_eq!(copy, numbers);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct CudaStreams<G> {
    executor: Executor,
    states: Allocation<u32>,
    len: usize,
    generator: PhantomData<G>,
}

impl<G: DeviceGenerator> CudaStreams<G> {
    /// Copies an ensemble's states to the GPU, and waits for the copy.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`] if the host has no memory for a copy of the states,
    /// [`GpuError::OutOfMemory`](crate::error::GpuError::OutOfMemory),
    /// [`GpuError::DriverFailed`](crate::error::GpuError::DriverFailed).
    pub fn new(cuda: &Cuda, streams: &Streams<G>) -> Result<Self, Error> {
        // Memory that is allocated during a capture belongs to the graph, and exists only while it
        // runs.
        enter(&cuda.stream, false)?;
        let words = gather(streams)?;
        let copied = cuda.stream.clone_htod(&words);
        // The driver may read the words until the stream has come to the copy.
        let finished = finish(&cuda.stream);
        let states = copied.map_err(|error| failed(error, "copy states to the device"))?;
        let states = Allocation::new(states);
        finished.map_err(|error| failed(error, "copy states to the device"))?;
        let executor = cuda.executor();
        Ok(Self { executor, states, len: streams.len(), generator: PhantomData })
    }

    /// The number of streams, at least one.
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Copies the ensemble in its current state to the host, to continue on the CPU. It waits for
    /// the GPU.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`] if the host has no memory for the states,
    /// [`GpuError::DriverFailed`](crate::error::GpuError::DriverFailed).
    pub fn to_streams(&self) -> Result<Streams<G>, Error> {
        let layout = StateLayout::new::<G>(self.len);
        let mut states = layout.room()?;
        let stream = &self.executor.stream;
        let copied = stream.memcpy_dtoh(&*self.states, &mut states);
        copied.map_err(|error| failed(error, "copy states from the device"))?;
        finish(stream).map_err(|error| failed(error, "wait for the device"))?;
        scatter(&layout, &states)
    }

    /// The states, for a user's kernels that [load and store](crate::cuda::device_header) them.
    /// Where the threads of a warp or a block share a state, and for
    /// [`Philox4x32Rng`](crate::rng::Philox4x32Rng), the words of a state are contiguous; otherwise
    /// word `w` of stream `i` is at place `w * len + i`.
    ///
    /// A kernel that writes states which the generator would never have changes the numbers, but
    /// does no other harm.
    pub fn states_mut(&mut self) -> CudaViewMut<'_, u32> {
        self.states.as_view_mut()
    }

    six_fills!(stream_fills);

    fn fill<D: DeviceDraw>(
        &mut self,
        out: &mut impl DeviceArrayMut<D::Number>,
    ) -> Result<(), Error> {
        let stream = self.executor.stream.clone();
        let count = self.len as u64;
        let len = out.len();
        check_device(&stream, out.stream())?;
        if len == 0 {
            return Ok(());
        }
        self.executor.enter()?;
        let (states, _states) = writing(&mut *self.states, &stream);
        let (address, _out) = writing(out, &stream);
        self.executor.check_slices()?;
        let multiprocessors = self.executor.device.limits.multiprocessors;
        let job = StreamsJob { states, count, out: address, len, multiprocessors };
        let plan = plan::<G, D>(job)?;
        // SAFETY: `states` has the states of `count` streams and the slice has room for `len`
        // numbers. Both belong to the context and are borrowed mutably, so they do not overlap, and
        // the guards, each an `InUse`, ensure that they are neither freed nor otherwise used before
        // the stream has finished with them.
        unsafe { self.executor.execute(&plan) }
    }
}

/// The order of the states' words in device memory.
pub(super) struct StateLayout {
    streams: usize,
    state: usize,
    /// Whether the same word of all streams is contiguous; otherwise the words of one stream are.
    columns: bool,
}

impl StateLayout {
    pub(super) fn new<G: DeviceGenerator>(streams: usize) -> Self {
        Self { streams, state: G::STATE, columns: matches!(G::threads(), Threads::One(_)) }
    }

    fn place(&self, stream: usize, word: usize) -> usize {
        if self.columns { word * self.streams + stream } else { stream * self.state + word }
    }

    /// Room for all words, each set to 0.
    pub(super) fn room(&self) -> Result<Vec<u32>, Error> {
        let len = self.streams.saturating_mul(self.state);
        let mut words = try_with_capacity(len)?;
        words.resize(len, 0);
        Ok(words)
    }
}

/// The states of an ensemble in the order of the device.
pub(super) fn gather<G: DeviceGenerator>(streams: &Streams<G>) -> Result<Vec<u32>, Error> {
    let layout = StateLayout::new::<G>(streams.len());
    let mut states = layout.room()?;
    let mut words = vec![0; G::STATE];
    for (stream, generator) in streams.generators().iter().enumerate() {
        generator.save(&mut words);
        for (word, &value) in words.iter().enumerate() {
            states[layout.place(stream, word)] = value;
        }
    }
    Ok(states)
}

/// The ensemble with these states, which are in the order of the device.
pub(super) fn scatter<G: DeviceGenerator>(
    layout: &StateLayout,
    states: &[u32],
) -> Result<Streams<G>, Error> {
    let mut generators = try_with_capacity(layout.streams)?;
    let mut words = vec![0; G::STATE];
    for stream in 0..layout.streams {
        for (word, value) in words.iter_mut().enumerate() {
            *value = states[layout.place(stream, word)];
        }
        generators.push(G::load(&words));
    }
    Ok(Streams::from_generators(generators)?)
}

/// An array to be filled by streams.
#[derive(Clone, Copy)]
struct StreamsJob {
    /// The address of the states of `count` streams.
    states: u64,
    count: u64,
    /// The address of `len` numbers.
    out: u64,
    len: usize,
    multiprocessors: u32,
}

/// Calls a function with the plans of fills by generators of type G, in every shape that a device
/// with this number of multiprocessors gets.
pub(super) fn each_plan<G: DeviceGenerator, D: DeviceDraw>(
    multiprocessors: u32,
    run: &mut dyn FnMut(&DevicePlan<'_>),
) -> Result<(), Error> {
    for count in [1, 1 << 20] {
        let job = StreamsJob { states: 256, count, out: 256, len: 1, multiprocessors };
        run(&plan::<G, D>(job)?);
    }
    Ok(())
}

/// Plans the kernel that fills an array.
fn plan<G: DeviceGenerator, D: DeviceDraw>(job: StreamsJob) -> Result<DevicePlan<'static>, Error> {
    let StreamsJob { states, count, out, len, multiprocessors } = job;
    // The states of more streams than that fit no device's memory.
    let blocks = |blocks: u64| Grid::blocks(blocks).map_err(|_| Error::Gpu(GpuError::OutOfMemory));
    let words = D::words(len);
    let mut plan = DevicePlan::new();
    plan.launch(match G::threads() {
        Threads::One(generator) => {
            let shape = tuning::FILL_STREAMS;
            let together = (16 / size_of::<D::Number>()) as u32;
            let whole = count.is_multiple_of(u64::from(together)) && out.is_multiple_of(16);
            let enough = tuning::FILL_TOGETHER * u64::from(multiprocessors);
            let many = count / u64::from(together) >= enough;
            let streams = if whole && many { together } else { 1 };
            let grid = blocks(count.div_ceil(u64::from(shape.threads * streams)))?;
            let kernel = kernels::fill_streams(generator, D::NAME, streams, shape);
            Launch::new(kernel, grid, move |_| kernels::FillStreams {
                states,
                count,
                out,
                len: len as u64,
            })
        }
        Threads::Part(generator, threads) => {
            let shape = tuning::FILL_WARPS;
            let grid = blocks(count.div_ceil(u64::from(shape.threads / threads)))?;
            let kernel = kernels::fill_warps(generator, D::NAME, shape);
            Launch::new(kernel, grid, move |_| kernels::FillWarps { states, count, out, words })
        }
        Threads::Philox(rounds) => {
            let shape = tuning::FILL_PHILOX_STREAMS;
            let pieces = count * (D::WORDS / D::NUMBERS) as u64;
            let grid = blocks(pieces.div_ceil(u64::from(shape.threads)))?;
            let kernel = kernels::philox(D::NAME, rounds, shape);
            Launch::new(kernel, grid, move |_| kernels::FillPhiloxStreams {
                states,
                count,
                out,
                words,
            })
        }
        Threads::Block(generator, threads) => {
            let kernel = kernels::fill_rings(generator, D::NAME, threads);
            Launch::new(kernel, blocks(count)?, move |_| kernels::FillRings {
                states,
                count,
                out,
                words,
            })
        }
    });
    Ok(plan)
}
