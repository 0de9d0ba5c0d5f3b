//! [`CudaWorkspace`]: the GPU engine on device memory. Its working memory is kept by
//! `runtime/executor.rs`. Its methods for an array within its own memory are in `in_place.rs`, and
//! those for raw addresses in `raw.rs`.

use std::sync::Arc;

use cudarc::driver::{CudaStream, DeviceRepr};

use super::engine::Cuda;
use super::runtime::array::{DeviceArray, DeviceArrayMut};
use super::runtime::executor::Executor;
use super::runtime::in_use::{SlicesInUse, writing};
use super::runtime::plan::Address;
use super::runtime::stream::check_device;
use super::runtime::word_type::WordType;
use super::shuffle::job::any_address;
use super::shuffle::movement::{MovedArray, Movement};
use super::shuffle::passes::{Jobs, there_and_back};
use super::shuffle::strategy::CudaStrategy;
use crate::compact::{Chosen, Direction, Order};
use crate::engine::check::check_word;
use crate::{Bijection, Error, Word};

/// The GPU engine on slices in device memory, with kernels and working memory that it keeps from
/// call to call.
///
/// Every call puts its kernels in the engine's stream and returns. It waits for the GPU only if the
/// bijection is not [trusted](crate::TrustedBijection), because its values must then be checked.
/// Kernels are compiled and working memory is allocated when a call first needs them, or ahead of
/// time by [`reserve`](Self::reserve).
///
/// A call with a trusted bijection can be captured in a CUDA graph if its kernels and memory exist
/// already and the engine was made by [`with_capture`](Cuda::with_capture), which says what must
/// outlive the graph. With more than one stream in the context, cudarc's event tracking must be off
/// for the slices, since a capture cannot wait for events from outside.
///
/// A workspace serves one stream at a time, so that calls cannot disturb each other's working
/// memory. Like cudarc's own functions, a call waits for other streams of the same
/// [`CudaContext`](cudarc::driver::CudaContext) that use its slices. Slices of another
/// `CudaContext` are refused, even if it is on the same device; for those, create an engine [on
/// their stream](Cuda::on_stream).
///
/// # Several streams
///
/// Several calls may read one slice in several streams, at the same time. What overwrites or drops
/// the slice after that waits for all of them, and so does the stream that the slice was made in,
/// whatever that does next: make a source in the stream of its shuffle if the two should not wait
/// for each other. One case is left, which is cudarc's. If one of its own functions reads the
/// slice in a second stream after a call of ours, cudarc forgets our call, and a write in a third
/// stream, in which the slice was not made, does not wait for it. Have that stream
/// [wait](cudarc::driver::CudaStream::join) for the call's before it writes.
/// The same holds for `CudaSlice::write` where two threads write the two views of `split_at_mut`.
///
/// # Memory
///
/// In bytes, for `m` items of `s` bytes and a domain of `n` points:
/// [`SinglePass`](CudaStrategy::SinglePass) `n / 256` for large domains, and nothing if `m = n`;
/// [`Partitioned`](CudaStrategy::Partitioned) about `(2 s + 6) m`, and the single pass's. A
/// bijection that has to be checked takes `8 m + m / 8`, and the single pass's. A composition of
/// permutations takes what the largest of its parts does, and `m s` for each array.
/// [`shuffle`](Self::shuffle), in place, takes `0.15 m s` at most, where it does not copy.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::Error;
/// use bijective_shuffle::bijection::Standard;
/// use bijective_shuffle::prelude::*;
/// use bijective_shuffle::cuda::{Cuda, CudaWorkspace};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let cuda = match Cuda::new() {
///     Ok(cuda) => cuda,
///     // No GPU or no driver is an ordinary state.
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
    pub(super) strategy: CudaStrategy,
}

impl CudaWorkspace {
    /// Creates an empty workspace on the engine's stream, with the engine's strategy.
    pub fn new(cuda: &Cuda) -> Self {
        let (stream, executor) = (cuda.stream.clone(), cuda.executor());
        Self { stream, executor, strategy: cuda.strategy }
    }

    /// The stream in which its calls run.
    pub fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// Makes later calls run in another stream of the context, such as one of another library that
    /// cudarc has [wrapped](cudarc::driver::CudaContext::wrap_borrowed_stream). The workspace keeps
    /// its kernels and its memory, which is allocated and freed in the order of the stream that it
    /// was made on.
    ///
    /// # Errors
    ///
    /// [`GpuError::WrongDevice`](crate::error::GpuError::WrongDevice) if the stream is of another
    /// context.
    ///
    /// # Safety
    ///
    /// Before the next call the stream waits for all that earlier calls of this workspace have put
    /// in other streams, by an event for example: they use the same working memory. The stream that
    /// the workspace was made on does so before the workspace is dropped.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use bijective_shuffle::cuda::{Cuda, CudaWorkspace};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let cuda = Cuda::new()?;
    /// let mut workspace = CudaWorkspace::new(&cuda);
    /// // It waits for what is in the engine's stream now.
    /// let other = cuda.stream().fork()?;
    /// // SAFETY: no call has been made since, and the engine's stream waits below.
    /// unsafe { workspace.set_stream(other.clone()) }?;
    /// // .. calls of the workspace, and then, before it is dropped:
    /// cuda.stream().join(&other)?;
    /// # Ok(())
    /// # }
    /// ```
    pub unsafe fn set_stream(&mut self, stream: Arc<CudaStream>) -> Result<(), Error> {
        self.check_device(&stream)?;
        self.executor.stream = stream.clone();
        self.stream = stream;
        Ok(())
    }

    /// The bytes of device memory that it holds.
    pub fn bytes(&self) -> usize {
        self.executor.bytes()
    }

    /// Compiles the kernels and allocates the memory for shuffling and unshuffling exactly `len`
    /// items of type T, so that calls with such a bijection on the same domain do neither. Returns
    /// the bytes that the workspace then holds. It does not prepare permuting by affine maps, even
    /// by the same [`Affine`](crate::affine::Affine); the first such call compiles and allocates.
    ///
    /// # Errors
    ///
    /// As [`shuffle_into`](Self::shuffle_into), except for errors that occur only when the kernels
    /// run.
    pub fn reserve<'o, T: DeviceRepr>(
        &mut self,
        order: impl Into<Order<'o>>,
        len: usize,
    ) -> Result<usize, Error> {
        let at = any_address::<T>();
        self.reserve_array(order.into(), len, MovedArray::given(at, at, size_of::<T>()))
    }

    /// Compiles and allocates what moving `len` items of an array there and back needs. Returns the
    /// bytes that the workspace then holds.
    pub(super) fn reserve_array(
        &mut self,
        order: Order,
        len: usize,
        array: MovedArray,
    ) -> Result<usize, Error> {
        let (chosen, limits) = (order.for_len(len as u64), self.executor.device.limits);
        for jobs in there_and_back(chosen.bijection(), len, array)? {
            self.executor.reserve(&jobs.plan(self.strategy, &limits)?)?;
        }
        Ok(self.bytes())
    }

    /// Writes the permutation of `out.len()` items: `out[k] = p[k]`.
    ///
    /// # Errors
    ///
    /// [`Error::LengthExceedsDomain`]; [`Error::IndexTooWide`] if `N` cannot hold the indexes;
    /// [`Error::NotABijection`], after which `out` holds unspecified values;
    /// [`GpuError::NoSource`](crate::error::GpuError::NoSource),
    /// [`GpuError::ParamsTooLarge`](crate::error::GpuError::ParamsTooLarge),
    /// [`GpuError::CompileFailed`](crate::error::GpuError::CompileFailed),
    /// [`GpuError::WrongDevice`](crate::error::GpuError::WrongDevice),
    /// [`GpuError::DomainTooWide`](crate::error::GpuError::DomainTooWide),
    /// [`GpuError::OutOfMemory`](crate::error::GpuError::OutOfMemory),
    /// [`GpuError::DriverFailed`](crate::error::GpuError::DriverFailed).
    pub fn write_indexes<'o, N: Word + DeviceRepr>(
        &mut self,
        order: impl Into<Order<'o>>,
        out: &mut impl DeviceArrayMut<N>,
    ) -> Result<(), Error> {
        check_word::<N>(out.len())?;
        self.check_device(out.stream())?;
        let len = out.len() as u64;
        self.enter()?;
        let (address, _guard) = writing(out, &self.stream);
        self.executor.check_slices()?;
        let movement =
            Movement::Indices { out: Address::Given(address), word: WordType::of_index::<N>() };
        let chosen = order.into().for_len(len);
        let jobs = Jobs::new(chosen.bijection(), len, movement)?;
        let plan = jobs.plan(self.strategy, &self.executor.device.limits)?;
        // SAFETY: the slice belongs to the context and has room for the jobs' indexes. It is
        // borrowed mutably, and the guard, an `InUse`, ensures that it is neither freed nor
        // otherwise used before the stream has finished with it.
        unsafe { self.executor.execute(&plan) }
    }

    /// As [`reserve`](Self::reserve), for writing the `len` indexes of a permutation in words of
    /// type `N`.
    ///
    /// # Errors
    ///
    /// As [`write_indexes`](Self::write_indexes), except for errors that occur only when the
    /// kernels run.
    pub fn reserve_indexes<'o, N: Word + DeviceRepr>(
        &mut self,
        order: impl Into<Order<'o>>,
        len: usize,
    ) -> Result<usize, Error> {
        check_word::<N>(len)?;
        // Allocations on the device are aligned to 256 bytes.
        let movement =
            Movement::Indices { out: Address::Given(256), word: WordType::of_index::<N>() };
        let chosen = order.into().for_len(len as u64);
        let jobs = Jobs::new(chosen.bijection(), len as u64, movement)?;
        let plan = jobs.plan(self.strategy, &self.executor.device.limits)?;
        self.executor.reserve(&plan)?;
        Ok(self.bytes())
    }

    /// Copies the items in shuffled order: item `p[k]` of `source` to place `k` of `out`.
    /// [`shuffle`](Self::shuffle) takes one array instead of two.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`], [`GpuError::ItemTooLarge`](crate::error::GpuError::ItemTooLarge),
    /// and otherwise as [`write_indexes`](Self::write_indexes).
    pub fn shuffle_into<'o, T: DeviceRepr>(
        &mut self,
        order: impl Into<Order<'o>>,
        source: &impl DeviceArray<T>,
        out: &mut impl DeviceArrayMut<T>,
    ) -> Result<(), Error> {
        self.arrays(order.into(), source.len()).array(source, out)?.execute(Direction::Shuffle)
    }

    /// Copies the items back into their original order: item `k` of `source` to place `p[k]` of
    /// `out`.
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
        self.arrays(order.into(), source.len()).array(source, out)?.execute(Direction::Unshuffle)
    }

    /// Begins a call that moves several arrays, of any types, by one permutation of `len` items.
    /// The bijection is evaluated once for all arrays.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use bijective_shuffle::bijection::Standard;
    /// # use bijective_shuffle::prelude::*;
    /// # use bijective_shuffle::cuda::{Cuda, CudaWorkspace};
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
    pub fn arrays<'a>(&'a mut self, order: impl Into<Order<'a>>, len: usize) -> CudaArrays<'a> {
        let chosen = order.into().for_len(len as u64);
        let Self { stream, executor, strategy, .. } = self;
        let (strategy, arrays, guards) = (*strategy, Vec::new(), SlicesInUse::default());
        CudaArrays { executor, stream, strategy, chosen, len, arrays, guards }
    }

    /// Begins a call; see [`Executor::enter`].
    pub(super) fn enter(&mut self) -> Result<(), Error> {
        self.executor.enter()
    }

    pub(super) fn check_device(&self, stream: &CudaStream) -> Result<(), Error> {
        check_device(&self.stream, stream)
    }
}

/// Shuffles or unshuffles arrays.
///
/// # Safety
///
/// Each array has `len` items at both of its addresses, in memory that the device can access. No
/// memory that is written overlaps any other, and nobody else uses any of it until the stream has
/// finished with it.
pub(super) unsafe fn move_arrays(
    executor: &mut Executor,
    strategy: CudaStrategy,
    bijection: &dyn Bijection,
    len: usize,
    mut arrays: Vec<MovedArray>,
    direction: Direction,
) -> Result<(), Error> {
    // Items of size zero cannot be told apart, so they need not be moved.
    arrays.retain(|array| array.item > 0);
    let nothing = arrays.is_empty();
    let movement = Movement::items(arrays, direction)?;
    let jobs = Jobs::new(bijection, len as u64, movement)?;
    if nothing {
        return Ok(());
    }
    let plan = jobs.plan(strategy, &executor.device.limits)?;
    // SAFETY: the jobs move these arrays and nothing else, and have their length. The caller
    // promises that they are in memory that the device can access, that nobody else uses them until
    // the stream has finished, and that they do not overlap.
    unsafe { executor.execute(&plan) }
}

/// A call that moves several arrays together, which [`CudaWorkspace::arrays`] begins.
pub struct CudaArrays<'a> {
    executor: &'a mut Executor,
    stream: &'a CudaStream,
    strategy: CudaStrategy,
    chosen: Chosen<'a>,
    len: usize,
    arrays: Vec<MovedArray>,
    /// They tell the slices' other users when the stream has finished with them.
    guards: SlicesInUse<'a>,
}

impl<'a> CudaArrays<'a> {
    /// Adds an array and the slice that its items are copied to. There may be up to twelve arrays.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the slices do not have the permutation's length, and
    /// [`GpuError::WrongDevice`](crate::error::GpuError::WrongDevice).
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
        let source = self.guards.read(source, self.stream);
        let out = self.guards.write(out, self.stream);
        self.arrays.push(MovedArray::given(source, out, size_of::<T>()));
        self.executor.check_slices()?;
        Ok(self)
    }

    /// Copies the arrays in shuffled order: item `p[k]` of each source to place `k`.
    ///
    /// # Errors
    ///
    /// [`GpuError::TooManyArrays`](crate::error::GpuError::TooManyArrays), and otherwise as
    /// [`CudaWorkspace::shuffle_into`].
    pub fn shuffle(self) -> Result<(), Error> {
        self.enter_again()?.execute(Direction::Shuffle)
    }

    /// Copies the arrays back into their original order: item `k` of each source to place `p[k]`.
    ///
    /// # Errors
    ///
    /// As [`shuffle`](Self::shuffle).
    pub fn unshuffle(self) -> Result<(), Error> {
        self.enter_again()?.execute(Direction::Unshuffle)
    }

    /// Checks again whether the stream is being captured: the user may have begun that since the
    /// arrays were added.
    fn enter_again(self) -> Result<Self, Error> {
        self.executor.enter()?;
        Ok(self)
    }

    /// Moves the arrays. The call must just have been entered.
    fn execute(self, direction: Direction) -> Result<(), Error> {
        let Self { executor, strategy, chosen, len, arrays, guards, .. } = self;
        let bijection = chosen.bijection();
        // SAFETY: `array` has checked that all slices belong to the engine's context and have `len`
        // items. Sources are borrowed and targets borrowed mutably, so no target overlaps anything
        // else. The guards, each an `InUse`, ensure that none of them is freed or otherwise used
        // before the stream has finished with it.
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
