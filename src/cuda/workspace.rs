//! [`CudaWorkspace`]: the GPU engine on device memory.

use std::sync::Arc;

use cudarc::driver::{CudaStream, DeviceRepr, SyncOnDrop};

use super::batch::rows::{self, RowsJob};
use super::engine::Cuda;
use super::runtime::array::{DeviceArray, DeviceArrayMut};
use super::runtime::executor::Executor;
use super::runtime::memory::Memory;
use super::runtime::plan::Address;
use super::runtime::stream::{check_device, check_slices};
use super::runtime::word_type::WordType;
use super::shuffle::job::{Job, there_and_back};
use super::shuffle::movement::{Array, Movement};
use super::shuffle::plan::plan;
use super::strategy::CudaStrategy;
use crate::base::check::check_word;
use crate::bijection::Bijection;
use crate::compact::Direction;
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
    pub(super) executor: Executor,
    strategy: CudaStrategy,
    /// For the two parts of an array, between calls.
    pub(super) parts: Memory,
}

impl CudaWorkspace {
    /// An empty workspace on the engine's stream, with its strategy.
    pub fn new(cuda: &Cuda) -> Self {
        let (stream, executor) = (cuda.stream.clone(), cuda.executor());
        Self { stream, executor, strategy: cuda.strategy, parts: Memory::new() }
    }

    /// The strategy of its engine.
    pub fn strategy(&self) -> CudaStrategy {
        self.strategy
    }

    /// The stream that its calls go to.
    pub fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// How many bytes of device memory it holds.
    pub fn bytes(&self) -> usize {
        self.executor.bytes() + self.parts.held()
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
        let limits = self.executor.device.limits;
        for job in there_and_back::<T>(bijection, len)? {
            self.executor.reserve(&plan(&job, self.strategy, &limits)?)?;
        }
        Ok(self.bytes())
    }

    /// Writes the permutation: `out[k] = p[k]`, for the length of `out`.
    ///
    /// # Errors
    ///
    /// [`Error::LengthExceedsDomain`]; [`Error::IndexTooWide`] if `N` does not hold the indexes;
    /// [`Error::NotABijection`], after which `out` holds unspecified values; [`GpuError::NoSource`](crate::GpuError::NoSource),
    /// [`GpuError::Params`](crate::GpuError::Params), [`GpuError::Compile`](crate::GpuError::Compile), [`GpuError::WrongDevice`](crate::GpuError::WrongDevice), [`GpuError::DomainTooWide`](crate::GpuError::DomainTooWide),
    /// [`GpuError::OutOfMemory`](crate::GpuError::OutOfMemory), [`GpuError::Driver`](crate::GpuError::Driver).
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
        let movement =
            Movement::Indices { out: Address::Given(address), word: WordType::of_index::<N>() };
        let job = Job::new(bijection, len, movement)?;
        let plan = plan(&job, self.strategy, &self.executor.device.limits)?;
        // SAFETY: the slice is of the context, is borrowed for writing, and is not freed before the stream has done
        // with it, for which the guard cares.
        unsafe { self.executor.execute(&plan) }
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
        let movement =
            Movement::Indices { out: Address::Given(256), word: WordType::of_index::<N>() };
        let job = Job::new(bijection, len as u64, movement)?;
        let plan = plan(&job, self.strategy, &self.executor.device.limits)?;
        self.executor.reserve(&plan)?;
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
        let (at_once, out, word) = (rows, Address::Given(address), WordType::of_index::<N>());
        let job = RowsJob { batch: *batch, first, rows, at_once, out, word };
        // SAFETY: the slice is of the context, is borrowed for writing, and is not freed before the stream has done
        // with it, for which the guard cares.
        unsafe { rows::write(&mut self.executor, &job) }
    }

    /// Gets what writing that many rows of a batch in words of type `N` takes; how many bytes it then holds.
    pub(crate) fn reserve_rows<N: Word>(
        &mut self,
        batch: &Batch,
        rows: u64,
    ) -> Result<usize, Error> {
        check_word::<N>(batch.len)?;
        // As aligned as memory of the device is.
        let (at_once, out, word) = (rows, Address::Given(256), WordType::of_index::<N>());
        let job = RowsJob { batch: *batch, first: 0, rows, at_once, out, word };
        rows::reserve(&mut self.executor, &job)?;
        Ok(self.bytes())
    }

    /// Copies the items in their new order: item `p[k]` of the source to place `k` of `out`.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`], [`GpuError::ItemTooLarge`](crate::GpuError::ItemTooLarge), and else as [`indices`](Self::indices).
    pub fn shuffle_into<T: DeviceRepr>(
        &mut self,
        bijection: &dyn Bijection,
        source: &impl DeviceArray<T>,
        out: &mut impl DeviceArrayMut<T>,
    ) -> Result<(), Error> {
        self.arrays(bijection, source.len()).array(source, out)?.execute(Direction::Shuffle)
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
        self.arrays(bijection, source.len()).array(source, out)?.execute(Direction::Unshuffle)
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
        let Self { stream, executor, strategy, .. } = self;
        let (strategy, arrays, guards) = (*strategy, Vec::new(), Vec::new());
        CudaArrays { executor, stream, strategy, bijection, len, arrays, guards }
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
        let array = Array::given(source, out, item_bytes);
        self.enter()?;
        // SAFETY: the caller promises that there are `len` items of that size at both addresses,
        // which do not overlap, and that they are the stream's until it has done with them.
        unsafe {
            move_arrays(
                &mut self.executor,
                self.strategy,
                bijection,
                len,
                vec![array],
                Direction::Shuffle,
            )
        }
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
        let array = Array::given(source, out, item_bytes);
        self.enter()?;
        // SAFETY: the caller promises that there are `len` items of that size at both addresses,
        // which do not overlap, and that they are the stream's until it has done with them.
        unsafe {
            move_arrays(
                &mut self.executor,
                self.strategy,
                bijection,
                len,
                vec![array],
                Direction::Unshuffle,
            )
        }
    }

    /// Begins a call, as [`Executor::enter`] does.
    pub(super) fn enter(&mut self) -> Result<(), Error> {
        self.executor.enter()
    }

    fn check_device(&self, stream: &CudaStream) -> Result<(), Error> {
        check_device(&self.stream, stream)
    }
}

/// Gathers or scatters arrays.
///
/// # Safety
///
/// The arrays are of `len` items each, on the device, the stream's to use, and do not overlap.
unsafe fn move_arrays(
    executor: &mut Executor,
    strategy: CudaStrategy,
    bijection: &dyn Bijection,
    len: usize,
    mut arrays: Vec<Array>,
    direction: Direction,
) -> Result<(), Error> {
    // Items of no size cannot be told apart, so any order is every order.
    arrays.retain(|array| array.item > 0);
    let nothing = arrays.is_empty();
    let movement = Movement::items(arrays, direction)?;
    let job = Job::new(bijection, len as u64, movement)?;
    if nothing {
        return Ok(());
    }
    let plan = plan(&job, strategy, &executor.device.limits)?;
    // SAFETY: the job moves these arrays and nothing else, and has their length. The caller
    // promises that they are on the device, the stream's to use, and apart from each other.
    unsafe { executor.execute(&plan) }
}

/// Arrays that are about to be moved together; [`CudaWorkspace::arrays`] makes it.
pub struct CudaArrays<'a> {
    executor: &'a mut Executor,
    stream: &'a CudaStream,
    strategy: CudaStrategy,
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
    /// [`Error::LengthMismatch`] if the slices are not as long as the permutation, and [`GpuError::WrongDevice`](crate::GpuError::WrongDevice).
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
            self.executor.enter()?;
        }
        let (source, reading) = source.device_ptr(self.stream);
        let (out, writing) = out.device_ptr_mut(self.stream);
        self.arrays.push(Array::given(source, out, size_of::<T>()));
        self.guards.extend([reading, writing]);
        check_slices(self.stream)?;
        Ok(self)
    }

    /// Moves them: item `p[k]` of each source to place `k`.
    ///
    /// # Errors
    ///
    /// [`GpuError::TooManyArrays`](crate::GpuError::TooManyArrays), and else as [`CudaWorkspace::shuffle_into`].
    pub fn shuffle(self) -> Result<(), Error> {
        self.enter_again()?.execute(Direction::Shuffle)
    }

    /// Moves them back: item `k` of each source to place `p[k]`.
    ///
    /// # Errors
    ///
    /// As [`shuffle`](Self::shuffle).
    pub fn unshuffle(self) -> Result<(), Error> {
        self.enter_again()?.execute(Direction::Unshuffle)
    }

    /// Looks once more whether the stream is captured: the user may have begun that since the arrays
    /// were added.
    fn enter_again(self) -> Result<Self, Error> {
        self.executor.enter()?;
        Ok(self)
    }

    /// The call has been entered just now.
    fn execute(self, direction: Direction) -> Result<(), Error> {
        let Self { executor, strategy, bijection, len, arrays, guards, .. } = self;
        // SAFETY: the slices are of the engine's context and that long. They are borrowed, the ones that are written
        // alone, and the guards care that they are neither freed nor otherwise used before the stream has done with
        // them.
        let done = unsafe { move_arrays(executor, strategy, bijection, len, arrays, direction) };
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
