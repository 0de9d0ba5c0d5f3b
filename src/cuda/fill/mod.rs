//! Arrays in device memory, filled with random numbers.

mod kernels;
mod tuning;

use core::marker::PhantomData;

use cudarc::driver::{CudaSlice, CudaViewMut, DevicePtrMut, DeviceRepr};

use self::tuning::FillShape;
use super::Cuda;
use super::runtime::array::DeviceArrayMut;
use super::runtime::executor::Executor;
use super::runtime::plan::{Grid, Launch, Plan};
use super::runtime::stream::{check_device, check_slices, enter, failed};
use crate::base::check::try_with_capacity;
use crate::error::Error;
use crate::rng::number::{Distribution, F32, F64, NormalF32, NormalF64, U32, U64};
use crate::rng::{
    Generator, LaggedFibonacci521, LaggedFibonacci1279, Lcg32, Lcg64, Mwc, Philox4x32Rng, Streams,
    XorShift1024Weyl, Xorwow,
};

/// A kind of numbers, by the name of its type in gpu/rng/number.cuh.
trait DeviceDraw: Distribution<Number: DeviceRepr> {
    const NAME: &'static str;

    /// How many words there are where so many bytes are, which is what the kernels count.
    fn words(numbers: usize) -> u64 {
        numbers as u64 * (size_of::<Self::Number>() / 4) as u64
    }
}

macro_rules! device_draw {
    ($($kind:ident),*) => {$(
        impl DeviceDraw for $kind {
            const NAME: &'static str = stringify!($kind);
        }
    )*};
}

device_draw!(U32, U64, F32, F64, NormalF32, NormalF64);

/// Which threads have a stream, and the generator's type in gpu/rng.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub enum Threads {
    /// A thread a stream, or several. Word `w` of the state of stream `i` of `count` is at place `w * count + i`.
    One(&'static str),
    /// So many neighbouring threads. The words of a stream's state lie together.
    Part(&'static str, u32),
    /// A block of so many. The words of a stream's state lie together.
    Block(&'static str, u32),
    /// As many as a number has words, for Philox4x32 of so many rounds. The words of a stream's state lie together.
    Philox(usize),
}

/// A [`Generator`] of which there is a twin for the GPU, with the same words.
pub trait DeviceGenerator: Generator {
    /// How the GPU has it.
    #[doc(hidden)]
    fn threads() -> Threads;
}

macro_rules! alone {
    ($($generator:ident),*) => {$(
        impl DeviceGenerator for $generator {
            fn threads() -> Threads {
                Threads::One(stringify!($generator))
            }
        }
    )*};
}

alone!(Lcg32, Lcg64, Mwc, Xorwow);

impl<const ROUNDS: usize> DeviceGenerator for Philox4x32Rng<ROUNDS> {
    fn threads() -> Threads {
        Threads::Philox(ROUNDS)
    }
}

impl DeviceGenerator for XorShift1024Weyl {
    fn threads() -> Threads {
        Threads::Part("XorShift1024WeylQuads", 8)
    }
}

impl DeviceGenerator for LaggedFibonacci521 {
    fn threads() -> Threads {
        Threads::Block("LaggedFibonacci<521, 353, 64>", 64)
    }
}

impl DeviceGenerator for LaggedFibonacci1279 {
    fn threads() -> Threads {
        Threads::Block("LaggedFibonacci<1279, 861, 128>", 128)
    }
}

/// What a macro makes of the six methods that fill: what each writes, its name, its kind of numbers and their type.
macro_rules! six_fills {
    ($fills:ident) => {
        $fills! {
            #[doc = "Writes words."]
            fill_u32: U32, u32;
            #[doc = "Writes numbers of two words, the low one first."]
            fill_u64: U64, u64;
            #[doc = "Writes numbers in [0, 1), multiples of 2^-24, of a word each."]
            fill_f32: F32, f32;
            #[doc = "Writes numbers in [0, 1), multiples of 2^-53, of two words each."]
            fill_f64: F64, f64;
            #[doc = "Writes normal numbers, mean 0 and variance 1, two of two words."]
            fill_normal_f32: NormalF32, f32;
            #[doc = "Writes normal numbers, mean 0 and variance 1, two of four words."]
            fill_normal_f64: NormalF64, f64;
        }
    };
}

/// Those of an ensemble.
macro_rules! stream_fills {
    ($(#[doc = $what:literal] $name:ident: $kind:ident, $number:ty;)*) => {$(
        #[doc = $what]
        ///
        /// # Errors
        ///
        /// [`Error::WrongDevice`], [`Error::DeviceCompile`], [`Error::Driver`].
        pub fn $name(&mut self, out: &mut impl DeviceArrayMut<$number>) -> Result<(), Error> {
            self.fill::<$kind>(out)
        }
    )*};
}

/// An ensemble of [`Streams`] with its states in device memory.
///
/// A fill puts one kernel in the engine's stream and returns. Its numbers are those that the CPU's
/// [`Fill`](crate::rng::Fill) of the same streams gives, bit for bit and in the same order: place `t * len + i` holds
/// number `t` of stream `i`, or their blocks, where a generator's block has more words than one. So the number of streams
/// belongs to the result, and is the caller's to choose.
///
/// # How many streams
///
/// As many as keep the GPU busy. A multiprocessor has room for 2048 threads: a generator with a state of its own a thread
/// wants about 2^18 streams on a GPU with 132 multiprocessors, and rows of a multiple of four; [`XorShift1024Weyl`], which
/// eight threads share, 2^15; [`LaggedFibonacci521`] and [`LaggedFibonacci1279`], which a block of 64 or 128
/// threads has, some 2^12 and 2^11. With less, the fills take longer; with more, the states take more time to be read and written.
/// The fastest slices begin at a multiple of 16 bytes.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::prelude::*;
/// use bijective_shuffle::rng::{Fill, Streams, Xorwow};
/// use bijective_shuffle::{Cuda, CudaStreams};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut streams = Streams::<Xorwow>::new(42, 0..1000)?;
/// let mut numbers = vec![0.0_f32; 5000];
/// streams.fill_f32(&mut numbers);
///
/// let cuda = match Cuda::new() {
///     Ok(cuda) => cuda,
///     // No GPU, no driver or no compiler is an ordinary state.
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
    states: CudaSlice<u32>,
    len: usize,
    generator: PhantomData<G>,
}

impl<G: DeviceGenerator> CudaStreams<G> {
    /// Copies an ensemble's states to the GPU.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`] if the host has no memory for a copy of the states, [`Error::DeviceMemory`], [`Error::Driver`].
    pub fn new(cuda: &Cuda, streams: &Streams<G>) -> Result<Self, Error> {
        // Memory that is got in a capture is the graph's, and there only while it runs.
        enter(&cuda.stream, false)?;
        let copied = cuda.stream.clone_htod(&gather(streams)?);
        let states = copied.map_err(|error| failed(error, "copy states to the device"))?;
        let executor = cuda.executor();
        Ok(Self { executor, states, len: streams.len(), generator: PhantomData })
    }

    /// How many streams there are; at least one.
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The ensemble as it is now, to go on with on the CPU. It waits for the GPU.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`] if the host has no memory for them, [`Error::Driver`].
    pub fn to_streams(&self) -> Result<Streams<G>, Error> {
        let layout = Layout::new::<G>(self.len);
        let mut states = layout.room()?;
        let stream = &self.executor.stream;
        let copied = stream.memcpy_dtoh(&self.states, &mut states);
        copied.map_err(|error| failed(error, "copy states from the device"))?;
        stream.synchronize().map_err(|error| failed(error, "wait for the device"))?;
        scatter(&layout, &states)
    }

    /// The states, for kernels of one's own that [load and store](crate::rng::device_header) them. Where the threads of
    /// a warp or a block share a state, and for [`Philox4x32Rng`], its words are side by side; else word `w` of stream `i`
    /// is at place `w * len + i`.
    ///
    /// A kernel that writes other states than a generator's own changes the numbers, and does no harm beyond.
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
        let (states, _states) = self.states.device_ptr_mut(&stream);
        let (address, _out) = out.device_ptr_mut(&stream);
        check_slices(&stream)?;
        let multiprocessors = self.executor.device.limits.multiprocessors;
        let job = StreamsJob { states, count, out: address, len, multiprocessors };
        let plan = plan::<G, D>(job)?;
        // SAFETY: the states are of so many streams, and the slice of that many numbers; both are
        // of the context and borrowed for writing, and the guards care that they are neither freed
        // nor otherwise used before the stream has done with them.
        unsafe { self.executor.execute(&plan) }
    }
}

/// Where the words of states are in device memory.
struct Layout {
    streams: usize,
    state: usize,
    /// Whether the same word of all streams lies together; else the words of a stream do.
    columns: bool,
}

impl Layout {
    fn new<G: DeviceGenerator>(streams: usize) -> Self {
        Self { streams, state: G::STATE, columns: matches!(G::threads(), Threads::One(_)) }
    }

    fn place(&self, stream: usize, word: usize) -> usize {
        if self.columns { word * self.streams + stream } else { stream * self.state + word }
    }

    /// Room for all words, each of which is 0.
    fn room(&self) -> Result<Vec<u32>, Error> {
        let len = self.streams.saturating_mul(self.state);
        let mut words = try_with_capacity(len)?;
        words.resize(len, 0);
        Ok(words)
    }
}

/// The states of an ensemble, each word at its place.
fn gather<G: DeviceGenerator>(streams: &Streams<G>) -> Result<Vec<u32>, Error> {
    let layout = Layout::new::<G>(streams.len());
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

/// The ensemble with these states.
fn scatter<G: DeviceGenerator>(layout: &Layout, states: &[u32]) -> Result<Streams<G>, Error> {
    let mut generators = try_with_capacity(layout.streams)?;
    let mut words = vec![0; G::STATE];
    for stream in 0..layout.streams {
        for (word, value) in words.iter_mut().enumerate() {
            *value = states[layout.place(stream, word)];
        }
        generators.push(G::load(&words));
    }
    Streams::from_generators(generators)
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

/// The kernel that fills an array.
fn plan<G: DeviceGenerator, D: DeviceDraw>(job: StreamsJob) -> Result<Plan<'static>, Error> {
    let StreamsJob { states, count, out, len, multiprocessors } = job;
    // The states of so many streams fit no device's memory.
    let blocks = |blocks: u64| Grid::blocks(blocks).map_err(|_| Error::DeviceMemory);
    let words = D::words(len);
    let mut plan = Plan::new();
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
            let kernel = kernels::fill_philox_streams(D::NAME, rounds, shape);
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

/// Where blocks of a generator and of an array lie towards each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Places {
    /// Blocks of the generator come to aligned places, and no group of words lies across two
    /// blocks.
    Aligned(kernels::FillPhilox),
    /// Anything else.
    Anywhere(kernels::FillPhiloxAnywhere),
}

impl Places {
    /// For so many words from an address on, each group of `group` words.
    fn new<const ROUNDS: usize>(
        rng: &Philox4x32Rng<ROUNDS>,
        out: u64,
        words: u64,
        group: usize,
    ) -> Self {
        let (key, stream) = (rng.key(), rng.stream());
        let (block, skip) = ((rng.position() / 4) as u64, (rng.position() % 4) as u64);
        let before = out % 16 / 4;
        if before == skip && skip.is_multiple_of(group as u64) {
            let (out, first, end) = (out - 4 * before, skip, skip + words);
            Self::Aligned(kernels::FillPhilox { key, stream, block, out, first, end })
        } else {
            Self::Anywhere(kernels::FillPhiloxAnywhere { key, stream, block, skip, out, words })
        }
    }

    /// The kernel that fills them.
    fn launch<const ROUNDS: usize>(
        self,
        number: &'static str,
        words: u64,
        multiprocessors: u32,
    ) -> Result<Launch<'static>, Error> {
        let blocks = (words + 3).div_ceil(4);
        Ok(match self {
            Self::Aligned(arguments) => {
                let tuned = tuning::fill_philox(ROUNDS, words);
                let kernel = kernels::fill_philox(number, ROUNDS, tuned.0);
                Launch::new(kernel, grid(blocks, tuned, multiprocessors)?, move |_| arguments)
            }
            Self::Anywhere(arguments) => {
                let tuned = tuning::fill_anywhere(words);
                let kernel = kernels::fill_philox_anywhere(number, ROUNDS, tuned.0);
                Launch::new(kernel, grid(blocks, tuned, multiprocessors)?, move |_| arguments)
            }
        })
    }
}

/// How many blocks take turns at so many blocks of the generator.
fn grid(
    blocks: u64,
    (shape, waves): (FillShape, u32),
    multiprocessors: u32,
) -> Result<Grid, Error> {
    let FillShape { threads, together, blocks: resident } = shape;
    let held = u64::from(multiprocessors * resident * waves);
    Grid::blocks(blocks.div_ceil(u64::from(threads * together)).min(held))
}

/// Those that fill with a stream of Philox4x32.
macro_rules! philox_fills {
    ($(#[doc = $what:literal] $name:ident: $kind:ident, $number:ty;)*) => {$(
        #[doc = $what]
        ///
        /// # Errors
        ///
        /// [`Error::WrongDevice`], [`Error::DeviceCompile`], [`Error::Driver`]; the generator is then where it was.
        pub fn $name<const ROUNDS: usize>(
            &self,
            rng: &mut Philox4x32Rng<ROUNDS>,
            out: &mut impl DeviceArrayMut<$number>,
        ) -> Result<(), Error> {
            self.fill::<$kind, ROUNDS>(rng, out)
        }
    )*};
}

/// Slices in device memory, filled with a stream of [`Philox4x32Rng`] from where the generator is on. Their numbers are those that
/// the CPU's [`Fill`](crate::rng::Fill) gives, bit for bit, and the generator goes on after them. Each call puts one kernel in
/// the engine's stream and returns. Slices may begin anywhere; the fastest are those that begin, as the stream does, at a
/// multiple of 16 bytes, and those that continue such a one.
impl Cuda {
    six_fills!(philox_fills);

    fn fill<D: DeviceDraw, const ROUNDS: usize>(
        &self,
        rng: &mut Philox4x32Rng<ROUNDS>,
        out: &mut impl DeviceArrayMut<D::Number>,
    ) -> Result<(), Error> {
        let Self { device, stream, may_be_captured, .. } = self;
        let len = out.len();
        check_device(stream, out.stream())?;
        if len == 0 {
            return Ok(());
        }
        enter(stream, *may_be_captured)?;
        let (address, _guard) = out.device_ptr_mut(stream);
        check_slices(stream)?;
        let words = D::words(len);
        let places = Places::new(rng, address, words, D::WORDS);
        let mut plan = Plan::new();
        plan.launch(places.launch::<ROUNDS>(D::NAME, words, device.limits.multiprocessors)?);
        // SAFETY: the plan writes so many words from the address on, which are the slice; it is of
        // the context and borrowed for writing, and the guard cares that it is neither freed nor
        // otherwise used before the stream has done with it.
        unsafe { self.executor().execute(&plan) }?;
        let groups = len.div_ceil(D::NUMBERS);
        rng.skip(groups as u128 * D::WORDS as u128);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
