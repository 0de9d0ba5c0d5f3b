//! [`CudaWorkspace`]: the GPU engine on device memory.

use std::sync::Arc;

use cudarc::driver::sys::CUstreamCaptureStatus;
use cudarc::driver::{CudaStream, DeviceRepr, SyncOnDrop};

use super::array::{DeviceArray, DeviceArrayMut};
use super::device::failed;
use super::memory::Memory;
use super::movement::{Array, Movement};
use super::run::{Job, Mode, RowsJob, Runner};
use super::{Cuda, CudaStrategy};
use crate::base::check::check_word;
use crate::bijection::Bijection;
use crate::compact::batch::Batch;
use crate::error::Error;
use crate::word::Word;

/// The GPU engine on slices in device memory, with kernels and working memory that are kept from call to call.
///
/// Every call puts its kernels in the engine's stream and returns; it waits for the GPU only if the
/// bijection is not [trusted](crate::TrustedBijection) and so has to be checked. Kernels are
/// compiled, and working memory is got, when a call first needs them, or ahead of time by
/// [`reserve`](Self::reserve). A call that finds all it needs can be captured in a CUDA graph,
/// unless it has to check, if the engine is one [`with_capture`](Cuda::with_capture), which says
/// what has to outlive the graph. With more than one stream in the context, cudarc's event tracking
/// must be off for the slices, since a capture cannot wait for events from outside.
///
/// A workspace serves one stream, so that calls cannot disturb each other's working memory. Slices of other streams of
/// the same [`CudaContext`](cudarc::driver::CudaContext) are waited for, as cudarc's own functions do; slices of another
/// one are refused, even if it stands for the same device: make the engine [on their stream](Cuda::on_stream).
///
/// # Memory
///
/// In bytes, for `m` items of `s` bytes and a domain of `n` points: [`SinglePass`](CudaStrategy::SinglePass) `n / 256`
/// for large domains, and nothing if `m = n`; [`TwoPass`](CudaStrategy::TwoPass) `3 n / 512`;
/// [`Unfused`](CudaStrategy::Unfused) `4 (n + m)`, or twice that beyond 2^32 points, and the single pass's;
/// [`Partitioned`](CudaStrategy::Partitioned) about `(2 s + 6) m`, and the single pass's. A bijection that has to be
/// checked takes `8 m + m / 8`, and the single pass's. Affine maps: `m s` in place, for a network, and for the parts by a mask.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::prelude::*;
/// use bijective_shuffle::{Cuda, CudaWorkspace};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let cuda = match Cuda::new() {
///     Ok(cuda) => cuda,
///     // No GPU, no driver or no compiler is an ordinary state.
///     Err(Error::BackendUnavailable { reason }) => return Ok(println!("skipped: {reason}")),
///     Err(error) => return Err(error.into()),
/// };
/// let f = Standard::from_seed(1000, 42);
/// let stream = cuda.stream().clone();
/// let source = stream.clone_htod(&(0..1000_u32).collect::<Vec<_>>())?;
/// let mut out = stream.alloc_zeros::<u32>(1000)?;
///
/// let mut workspace = CudaWorkspace::new(&cuda);
/// workspace.shuffle_into(&f, &source, &mut out)?;
/// let shuffled = stream.clone_dtoh(&out)?;
/// stream.synchronize()?;
/// assert!(shuffled.into_iter().map(u64::from).eq(Permutation::new(1000, 42).iter()));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct CudaWorkspace {
    pub(super) stream: Arc<CudaStream>,
    pub(super) runner: Runner,
    /// For the two parts of an array, between calls.
    pub(super) parts: Memory,
}

/// A direction of movement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Shuffle,
    Unshuffle,
}

impl CudaWorkspace {
    /// An empty workspace on the engine's stream, with its strategy.
    pub fn new(cuda: &Cuda) -> Self {
        let stream = cuda.stream.clone();
        Self { stream, runner: Runner::new(cuda), parts: Memory::new() }
    }

    /// The strategy of its engine.
    pub fn strategy(&self) -> CudaStrategy {
        self.runner.strategy
    }

    /// The stream that its calls go to.
    pub fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// How many bytes of device memory it holds.
    pub fn bytes(&self) -> usize {
        self.runner.bytes() + self.parts.held()
    }

    /// Gets the kernels and the memory for moving just `len` items of a type, there and back, so that calls with such a
    /// bijection, of the same domain, neither compile nor allocate; how many bytes it then holds. Permuting by affine maps is
    /// another thing, even by the same [`Affine`](crate::affine::Affine): what that takes is got by its first call.
    ///
    /// # Errors
    ///
    /// As [`shuffle_into`](Self::shuffle_into), except for what only shows when the kernels run.
    pub fn reserve<T: DeviceRepr>(
        &mut self,
        bijection: &dyn Bijection,
        len: usize,
    ) -> Result<usize, Error> {
        rehearse::<T>(&mut self.runner, bijection, len, Mode::Reserve)?;
        Ok(self.bytes())
    }

    /// Writes the permutation: `out[k] = p[k]`, for the length of `out`.
    ///
    /// # Errors
    ///
    /// [`Error::LengthExceedsDomain`]; [`Error::IndexTooWide`] if `N` does not hold the indexes;
    /// [`Error::NotABijection`], after which `out` holds unspecified values; [`Error::NoDeviceSource`],
    /// [`Error::DeviceParams`], [`Error::DeviceCompile`], [`Error::WrongDevice`], [`Error::DomainTooWide`],
    /// [`Error::DeviceMemory`], [`Error::Driver`].
    pub fn indices<N: Word + DeviceRepr>(
        &mut self,
        bijection: &dyn Bijection,
        out: &mut impl DeviceArrayMut<N>,
    ) -> Result<(), Error> {
        check_word::<N>(out.len())?;
        self.check_device(out.stream())?;
        let len = out.len() as u64;
        self.enter()?;
        let (address, _guard) = out.device_ptr_mut(&self.stream);
        check_slices(&self.stream)?;
        let movement = Movement::Indices { out: address, word: size_of::<N>() };
        // SAFETY: the slice is of the context, is borrowed for writing, and is not freed before the stream has done
        // with it, for which the guard cares.
        unsafe { self.runner.run(&Job::new(bijection, len, movement)?) }
    }

    /// What [`reserve`](Self::reserve) gets, for writing the `len` indexes of a permutation in words of type `N`.
    ///
    /// # Errors
    ///
    /// As [`indices`](Self::indices), except for what only shows when the kernels run.
    pub fn reserve_indices<N: Word + DeviceRepr>(
        &mut self,
        bijection: &dyn Bijection,
        len: usize,
    ) -> Result<usize, Error> {
        check_word::<N>(len)?;
        // As aligned as memory of the device is.
        let movement = Movement::Indices { out: 256, word: size_of::<N>() };
        self.runner.rehearse(&Job::new(bijection, len as u64, movement)?, Mode::Reserve)?;
        Ok(self.bytes())
    }

    /// Writes rows of a batch from `first` on, as many as `out` holds, which are whole and there.
    pub(crate) fn rows<N: Word + DeviceRepr>(
        &mut self,
        batch: &Batch,
        first: u64,
        out: &mut impl DeviceArrayMut<N>,
    ) -> Result<(), Error> {
        check_word::<N>(batch.len)?;
        self.check_device(out.stream())?;
        let rows = out.len().checked_div(batch.len).unwrap_or(0) as u64;
        self.enter()?;
        let (address, _guard) = out.device_ptr_mut(&self.stream);
        check_slices(&self.stream)?;
        let (at_once, word) = (rows, size_of::<N>());
        let job = RowsJob { batch: *batch, first, rows, at_once, out: address, word };
        // SAFETY: the slice is of the context, is borrowed for writing, and is not freed before the stream has done
        // with it, for which the guard cares.
        unsafe { self.runner.rows(&job) }
    }

    /// Gets what writing that many rows of a batch in words of type `N` takes; how many bytes it then holds.
    pub(crate) fn reserve_rows<N: Word>(
        &mut self,
        batch: &Batch,
        rows: u64,
    ) -> Result<usize, Error> {
        check_word::<N>(batch.len)?;
        // As aligned as memory of the device is.
        let (at_once, word) = (rows, size_of::<N>());
        let job = RowsJob { batch: *batch, first: 0, rows, at_once, out: 256, word };
        self.runner.rehearse_rows(&job, Mode::Reserve)?;
        Ok(self.bytes())
    }

    /// Copies the items in their new order: item `p[k]` of the source to place `k` of `out`.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`], [`Error::ItemTooLarge`], and else as [`indices`](Self::indices).
    pub fn shuffle_into<T: DeviceRepr>(
        &mut self,
        bijection: &dyn Bijection,
        source: &impl DeviceArray<T>,
        out: &mut impl DeviceArrayMut<T>,
    ) -> Result<(), Error> {
        self.arrays(bijection, source.len()).array(source, out)?.shuffle()
    }

    /// Copies the items back to their old order: item `k` of the source to place `p[k]` of `out`.
    ///
    /// # Errors
    ///
    /// As [`shuffle_into`](Self::shuffle_into).
    pub fn unshuffle_into<T: DeviceRepr>(
        &mut self,
        bijection: &dyn Bijection,
        source: &impl DeviceArray<T>,
        out: &mut impl DeviceArrayMut<T>,
    ) -> Result<(), Error> {
        self.arrays(bijection, source.len()).array(source, out)?.unshuffle()
    }

    /// Several arrays, of any types, under one permutation of `len` items, whose bijection is evaluated once for all.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use bijective_shuffle::prelude::*;
    /// # use bijective_shuffle::{Cuda, CudaWorkspace};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (cuda, f) = (Cuda::new()?, Standard::from_seed(1000, 42));
    /// let stream = cuda.stream().clone();
    /// let (keys, rows) = (stream.alloc_zeros::<u64>(1000)?, stream.alloc_zeros::<[f32; 3]>(1000)?);
    /// let mut new_keys = stream.alloc_zeros::<u64>(1000)?;
    /// let mut new_rows = stream.alloc_zeros::<[f32; 3]>(1000)?;
    ///
    /// let mut workspace = CudaWorkspace::new(&cuda);
    /// workspace.arrays(&f, 1000).array(&keys, &mut new_keys)?.array(&rows, &mut new_rows)?.shuffle()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn arrays<'a>(&'a mut self, bijection: &'a dyn Bijection, len: usize) -> CudaArrays<'a> {
        let Self { stream, runner, .. } = self;
        CudaArrays { runner, stream, bijection, len, arrays: Vec::new(), guards: Vec::new() }
    }

    /// Shuffles items at a raw address, for memory that other libraries own.
    ///
    /// # Safety
    ///
    /// `source` and `out` are addresses of `len` items of `item_bytes` bytes each in memory that this context's device
    /// can reach, do not overlap, and are neither freed nor otherwise used until the stream has done with them.
    ///
    /// # Errors
    ///
    /// As [`shuffle_into`](Self::shuffle_into).
    pub unsafe fn shuffle_raw(
        &mut self,
        bijection: &dyn Bijection,
        source: u64,
        out: u64,
        len: usize,
        item_bytes: usize,
    ) -> Result<(), Error> {
        let array = Array { source, out, item: item_bytes };
        self.enter()?;
        // SAFETY: the caller promises that there are `len` items of that size at both addresses,
        // which do not overlap, and that they are the stream's until it has done with them.
        unsafe { move_arrays(&mut self.runner, bijection, len, vec![array], Way::Shuffle) }
    }

    /// Undoes [`shuffle_raw`](Self::shuffle_raw).
    ///
    /// # Safety
    ///
    /// As [`shuffle_raw`](Self::shuffle_raw).
    ///
    /// # Errors
    ///
    /// As [`shuffle_raw`](Self::shuffle_raw).
    pub unsafe fn unshuffle_raw(
        &mut self,
        bijection: &dyn Bijection,
        source: u64,
        out: u64,
        len: usize,
        item_bytes: usize,
    ) -> Result<(), Error> {
        let array = Array { source, out, item: item_bytes };
        self.enter()?;
        // SAFETY: the caller promises that there are `len` items of that size at both addresses,
        // which do not overlap, and that they are the stream's until it has done with them.
        unsafe { move_arrays(&mut self.runner, bijection, len, vec![array], Way::Unshuffle) }
    }

    /// Begins a call, as [`Runner::enter`] does.
    pub(super) fn enter(&mut self) -> Result<bool, Error> {
        self.runner.enter()
    }

    fn check_device(&self, stream: &CudaStream) -> Result<(), Error> {
        check_device(&self.stream, stream)
    }
}

/// What every call on device memory begins with; whether what it puts in the stream is captured.
///
/// It reports what went wrong earlier where it could not be reported, when something was dropped:
/// cudarc keeps it for the next call in the context, which is this one.
///
/// A capture that another thread begins on this stream between here and the launch is not seen.
/// cudarc's own calls, its copies and its freeing of memory, would be captured in the same way.
///
/// # Errors
///
/// [`Error::Captured`] if the stream is captured, and the engine is not one `with_capture`.
pub(super) fn enter(stream: &CudaStream, may_be_captured: bool) -> Result<bool, Error> {
    let earlier = stream.context().check_err();
    earlier.map_err(|error| failed(error, "finish what was done before"))?;
    let status = stream.capture_status().map_err(|error| failed(error, "ask for a capture"))?;
    match status {
        CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE => Ok(false),
        _ if may_be_captured => Ok(true),
        _ => Err(Error::Captured),
    }
}

/// Reports what went wrong when slices were asked for their addresses, which cudarc keeps as well.
pub(super) fn check_slices(stream: &CudaStream) -> Result<(), Error> {
    stream.context().check_err().map_err(|error| failed(error, "wait for the slices' other users"))
}

/// Gets what moving items of a type takes, there and back.
pub(super) fn rehearse<T: DeviceRepr>(
    runner: &mut Runner,
    bijection: &dyn Bijection,
    len: usize,
    mode: Mode,
) -> Result<(), Error> {
    if size_of::<T>() == 0 {
        return Ok(());
    }
    for scatters in [false, true] {
        // Slices may begin anywhere, but are as aligned as their items.
        let at = align_of::<T>().next_multiple_of(size_of::<T>()) as u64;
        let array = Array { source: at, out: at, item: size_of::<T>() };
        let movement = Movement::items(vec![array], scatters)?;
        runner.rehearse(&Job::new(bijection, len as u64, movement)?, mode)?;
    }
    Ok(())
}

/// # Safety
///
/// The arrays are of `len` items each, on the device, the stream's to use, and do not overlap.
unsafe fn move_arrays(
    runner: &mut Runner,
    bijection: &dyn Bijection,
    len: usize,
    mut arrays: Vec<Array>,
    way: Way,
) -> Result<(), Error> {
    // Items of no size cannot be told apart, so any order is every order.
    arrays.retain(|array| array.item > 0);
    let nothing = arrays.is_empty();
    let movement = Movement::items(arrays, way == Way::Unshuffle)?;
    let job = Job::new(bijection, len as u64, movement)?;
    if nothing {
        return Ok(());
    }
    // SAFETY: the job moves these arrays and nothing else, and has their length. The caller
    // promises that they are on the device, the stream's to use, and apart from each other.
    unsafe { runner.run(&job) }
}

/// Checks that a slice is of the engine's context.
pub(super) fn check_device(ours: &CudaStream, theirs: &CudaStream) -> Result<(), Error> {
    // Two handles of one context do not know of each other's streams, and would not wait for them.
    let (ours, theirs) = (ours.context(), theirs.context());
    if Arc::ptr_eq(ours, theirs) {
        return Ok(());
    }
    Err(Error::WrongDevice { expected: ours.ordinal(), actual: theirs.ordinal() })
}

/// Arrays that are about to be moved together; [`CudaWorkspace::arrays`] makes it.
pub struct CudaArrays<'a> {
    runner: &'a mut Runner,
    stream: &'a CudaStream,
    bijection: &'a dyn Bijection,
    len: usize,
    arrays: Vec<Array>,
    /// They tell the slices' other users when the stream has done with them.
    guards: Vec<SyncOnDrop<'a>>,
}

impl<'a> CudaArrays<'a> {
    /// Adds an array and where it should go. There may be twelve.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the slices are not as long as the permutation, and [`Error::WrongDevice`].
    pub fn array<T: DeviceRepr>(
        mut self,
        source: &'a impl DeviceArray<T>,
        out: &'a mut impl DeviceArrayMut<T>,
    ) -> Result<Self, Error> {
        for actual in [source.len(), out.len()] {
            if actual != self.len {
                let (expected, actual) = (self.len as u64, actual as u64);
                return Err(Error::LengthMismatch { expected, actual });
            }
        }
        check_device(self.stream, source.stream())?;
        check_device(self.stream, out.stream())?;
        if self.guards.is_empty() {
            self.runner.enter()?;
        }
        let (source, reading) = source.device_ptr(self.stream);
        let (out, writing) = out.device_ptr_mut(self.stream);
        self.arrays.push(Array { source, out, item: size_of::<T>() });
        self.guards.extend([reading, writing]);
        check_slices(self.stream)?;
        Ok(self)
    }

    /// Moves them: item `p[k]` of each source to place `k`.
    ///
    /// # Errors
    ///
    /// [`Error::TooManyArrays`], and else as [`CudaWorkspace::shuffle_into`].
    pub fn shuffle(self) -> Result<(), Error> {
        self.run(Way::Shuffle)
    }

    /// Moves them back: item `k` of each source to place `p[k]`.
    ///
    /// # Errors
    ///
    /// As [`shuffle`](Self::shuffle).
    pub fn unshuffle(self) -> Result<(), Error> {
        self.run(Way::Unshuffle)
    }

    fn run(self, way: Way) -> Result<(), Error> {
        let Self { runner, bijection, len, arrays, guards, .. } = self;
        // SAFETY: the slices are of the engine's context and that long. They are borrowed, the ones that are written
        // alone, and the guards care that they are neither freed nor otherwise used before the stream has done with
        // them.
        let done = unsafe { move_arrays(runner, bijection, len, arrays, way) };
        drop(guards);
        done
    }
}

impl core::fmt::Debug for CudaArrays<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("CudaArrays")
            .field("len", &self.len)
            .field("arrays", &self.arrays)
            .finish_non_exhaustive()
    }
}
