//! Arrays in device memory, filled with random numbers.

use core::marker::PhantomData;

use cudarc::driver::{CudaSlice, CudaStream, CudaViewMut, DevicePtrMut, DeviceRepr};

use super::array::DeviceArrayMut;
use super::device::{Kernel, failed};
use super::program::Program;
use super::tuning::{self, FillShape};
use super::workspace::{check_device, check_slices, enter};
use super::{Cuda, kernels};
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
#[derive(Clone, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub enum Threads {
    /// A thread a stream, or several. Word `w` of the state of stream `i` of `count` is at place `w * count + i`.
    One(String),
    /// So many neighbouring threads. The words of a stream's state lie together.
    Part(String, u32),
    /// A block of so many. The words of a stream's state lie together.
    Block(String, u32),
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
                Threads::One(stringify!($generator).into())
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
        Threads::Part("XorShift1024WeylQuads".into(), 8)
    }
}

impl DeviceGenerator for LaggedFibonacci521 {
    fn threads() -> Threads {
        Threads::Block("LaggedFibonacci<521, 353, 64>".into(), 64)
    }
}

impl DeviceGenerator for LaggedFibonacci1279 {
    fn threads() -> Threads {
        Threads::Block("LaggedFibonacci<1279, 861, 128>".into(), 128)
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
    cuda: Cuda,
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
        Ok(Self { cuda: cuda.clone(), states, len: streams.len(), generator: PhantomData })
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
        let stream = &self.cuda.stream;
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
        let Cuda { device, stream, may_be_captured, .. } = &self.cuda;
        let count = self.len as u64;
        let len = out.len();
        check_device(stream, out.stream())?;
        if len == 0 {
            return Ok(());
        }
        enter(stream, *may_be_captured)?;
        let (states, _states) = self.states.device_ptr_mut(stream);
        let (address, _out) = out.device_ptr_mut(stream);
        check_slices(stream)?;
        let plan = plan::<G, D>(count, address, device.limits.multiprocessors);
        let kernel = device.kernel(&Program::fill(plan.text))?;
        let units = if plan.counts_words { D::words(len) } else { len as u64 };
        let arguments = [states, count, address, units];
        // SAFETY: the plan's kernel takes these four arguments. The states are of so many streams, and the slice of that many
        // numbers; both are of the context and borrowed for writing, and the guards care that they are neither freed nor
        // otherwise used before the stream has done with them.
        unsafe { launch(&kernel, stream, plan.grid, plan.threads, arguments) }
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

/// A kernel for streams, and how it is launched.
struct Plan {
    text: String,
    grid: u64,
    threads: u32,
    /// Whether its last argument is a number of words; else it is one of numbers.
    counts_words: bool,
}

/// The kernel for so many streams and an array at an address.
fn plan<G: DeviceGenerator, D: DeviceDraw>(count: u64, address: u64, multiprocessors: u32) -> Plan {
    match G::threads() {
        Threads::One(generator) => {
            let shape = tuning::FILL_STREAMS;
            let together = (16 / size_of::<D::Number>()) as u32;
            let whole = count.is_multiple_of(u64::from(together)) && address.is_multiple_of(16);
            let enough = tuning::FILL_TOGETHER * u64::from(multiprocessors);
            let many = count / u64::from(together) >= enough;
            let streams = if whole && many { together } else { 1 };
            Plan {
                text: kernels::fill_streams(&generator, D::NAME, streams, shape),
                grid: count.div_ceil(u64::from(shape.threads * streams)),
                threads: shape.threads,
                counts_words: false,
            }
        }
        Threads::Part(generator, threads) => {
            let shape = tuning::FILL_WARPS;
            Plan {
                text: kernels::fill_warps(&generator, D::NAME, shape),
                grid: count.div_ceil(u64::from(shape.threads / threads)),
                threads: shape.threads,
                counts_words: true,
            }
        }
        Threads::Philox(rounds) => {
            let shape = tuning::FILL_PHILOX_STREAMS;
            let pieces = count * (D::WORDS / D::NUMBERS) as u64;
            Plan {
                text: kernels::fill_philox_streams(D::NAME, rounds, shape),
                grid: pieces.div_ceil(u64::from(shape.threads)),
                threads: shape.threads,
                counts_words: true,
            }
        }
        Threads::Block(generator, threads) => Plan {
            text: kernels::fill_rings(&generator, D::NAME, threads),
            grid: count,
            threads,
            counts_words: true,
        },
    }
}

/// Puts a kernel in a stream.
///
/// # Safety
///
/// The arguments are the kernel's parameters, and what they point at is there, and is the kernel's to use, until the
/// kernel is done.
unsafe fn launch<const ARGUMENTS: usize>(
    kernel: &Kernel,
    stream: &CudaStream,
    grid: u64,
    threads: u32,
    arguments: [u64; ARGUMENTS],
) -> Result<(), Error> {
    let context = stream.context();
    context.bind_to_thread().map_err(|error| failed(error, "use the device"))?;
    // The states of so many streams fit no device's memory.
    let grid = i32::try_from(grid).map_err(|_| Error::DeviceMemory)? as u32;
    let bytes = arguments.map(u64::to_le_bytes);
    let arguments: [&[u8]; ARGUMENTS] = core::array::from_fn(|k| &bytes[k][..]);
    // SAFETY: each argument is a word of 8 bytes, as the kernel's parameters are by the caller's
    // promise, and so is that what they point at is there and the kernel's to use. The context has
    // been bound.
    unsafe { kernel.launch(stream.cu_stream(), (grid, 1), threads, 0, &arguments) }
}

/// Whether blocks of the generator come to aligned places, if so many words from an address on are filled, and no group
/// of words lies across two blocks; with the arguments of the kernel for it: `(key, stream, block, out, first, end)`, or
/// else those of the other, `(key, stream, block, skip, out, words)`.
fn philox_plan<D: DeviceDraw, const ROUNDS: usize>(
    rng: &Philox4x32Rng<ROUNDS>,
    address: u64,
    words: u64,
) -> (bool, [u64; 6]) {
    let (key, stream) = (rng.key(), rng.stream());
    let (block, skip) = ((rng.position() / 4) as u64, (rng.position() % 4) as u64);
    let before = address % 16 / 4;
    if before == skip && skip.is_multiple_of(D::WORDS as u64) {
        (true, [key, stream, block, address - 4 * before, skip, skip + words])
    } else {
        (false, [key, stream, block, skip, address, words])
    }
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
        let (aligned, arguments) = philox_plan::<D, ROUNDS>(rng, address, words);
        let (text, (shape, waves)) = if aligned {
            let tuned = tuning::fill_philox(ROUNDS, words);
            (kernels::fill_philox(D::NAME, ROUNDS, tuned.0), tuned)
        } else {
            let tuned = tuning::fill_anywhere(words);
            (kernels::fill_philox_anywhere(D::NAME, ROUNDS, tuned.0), tuned)
        };
        let kernel = device.kernel(&Program::fill(text))?;
        let grid = self.grid((words + 3).div_ceil(4), shape, waves);
        // SAFETY: these are the kernel's arguments. It writes so many words from the address on, which are the slice; it is
        // of the context and borrowed for writing, and the guard cares that it is neither freed nor otherwise used before the
        // stream has done with it.
        unsafe { launch(&kernel, stream, grid, shape.threads, arguments) }?;
        let groups = len.div_ceil(D::NUMBERS);
        rng.skip(groups as u128 * D::WORDS as u128);
        Ok(())
    }

    /// How many blocks take turns at so many blocks of the generator.
    fn grid(&self, blocks: u64, shape: FillShape, waves: u32) -> u64 {
        let FillShape { threads, together, blocks: resident } = shape;
        let held = u64::from(self.device.limits.multiprocessors * resident * waves);
        blocks.div_ceil(u64::from(threads * together)).min(held)
    }
}

#[cfg(test)]
mod tests;
