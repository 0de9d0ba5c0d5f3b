//! [`CudaWorkspace`]: the GPU engine on device memory. Its working memory is kept by
//! `runtime/executor.rs`.

use std::sync::Arc;

use cudarc::driver::{CudaStream, DeviceRepr};

use super::batch::rows::{self, RowsJob};
use super::engine::Cuda;
use super::runtime::array::{DeviceArray, DeviceArrayMut};
use super::runtime::executor::Executor;
use super::runtime::in_use::{SlicesInUse, writing};
use super::runtime::memory::Memory;
use super::runtime::plan::Address;
use super::runtime::stream::check_device;
use super::runtime::word_type::WordType;
use super::shuffle::in_place;
use super::shuffle::job::any_address;
use super::shuffle::movement::{Array, Movement};
use super::shuffle::passes::{Jobs, there_and_back};
use super::shuffle::strategy::CudaStrategy;
use crate::Bijection;
use crate::Error;
use crate::Word;
use crate::compact::Direction;
use crate::compact::batch::Batch;
use crate::engine::base::check::check_word;

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
///
/// # Memory
///
/// In bytes, for `m` items of `s` bytes and a domain of `n` points:
/// [`SinglePass`](CudaStrategy::SinglePass) `n / 256` for large domains, and nothing if `m = n`;
/// [`TwoPass`](CudaStrategy::TwoPass) `3 n / 512`; [`Unfused`](CudaStrategy::Unfused) `4 (n + m)`,
/// or twice that beyond 2^32 points, and the single pass's;
/// [`Partitioned`](CudaStrategy::Partitioned) about `(2 s + 6) m`, and the single pass's. A
/// bijection that has to be checked takes `8 m + m / 8`, and the single pass's. A composition of
/// permutations takes what the largest of its parts does, and `m s` for each array.
/// [`shuffle_in_place`](Self::shuffle_in_place) takes `0.15 m s` at most, where it does not copy.
/// Affine maps:
/// `m s` in place, for a network, and for the parts by a mask.
///
/// # Examples
///
/// ```
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
    strategy: CudaStrategy,
    /// The memory of `parm`, between calls.
    pub(super) parts: Memory,
}

impl CudaWorkspace {
    /// Creates an empty workspace on the engine's stream, with the engine's strategy.
    pub fn new(cuda: &Cuda) -> Self {
        let (stream, executor) = (cuda.stream.clone(), cuda.executor());
        Self { stream, executor, strategy: cuda.strategy, parts: Memory::new() }
    }

    /// The strategy of this workspace.
    pub fn strategy(&self) -> CudaStrategy {
        self.strategy
    }

    /// The stream in which its calls run.
    pub fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// Has the calls from now on run in another stream of the context, such as one of another
    /// library's that cudarc has [wrapped](cudarc::driver::CudaContext::wrap_borrowed_stream). The
    /// workspace keeps its kernels and its memory, which is allocated and freed in the order of the
    /// stream that it was made on.
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
        self.executor.bytes() + self.parts.held()
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
    pub fn reserve<T: DeviceRepr>(
        &mut self,
        bijection: &dyn Bijection,
        len: usize,
    ) -> Result<usize, Error> {
        let at = any_address::<T>();
        self.reserve_raw(bijection, at, at, len, size_of::<T>())
    }

    /// Writes the permutation of `out.len()` items: `out[k] = p[k]`.
    ///
    /// # Errors
    ///
    /// [`Error::LengthExceedsDomain`]; [`Error::IndexTooWide`] if `N` cannot hold the indexes;
    /// [`Error::NotABijection`], after which `out` holds unspecified values;
    /// [`GpuError::NoSource`](crate::error::GpuError::NoSource),
    /// [`GpuError::Params`](crate::error::GpuError::Params),
    /// [`GpuError::Compile`](crate::error::GpuError::Compile),
    /// [`GpuError::WrongDevice`](crate::error::GpuError::WrongDevice),
    /// [`GpuError::DomainTooWide`](crate::error::GpuError::DomainTooWide),
    /// [`GpuError::OutOfMemory`](crate::error::GpuError::OutOfMemory),
    /// [`GpuError::Driver`](crate::error::GpuError::Driver).
    pub fn indexes<N: Word + DeviceRepr>(
        &mut self,
        bijection: &dyn Bijection,
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
        let jobs = Jobs::new(bijection, len, movement)?;
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
    /// As [`indexes`](Self::indexes), except for errors that occur only when the kernels run.
    pub fn reserve_indexes<N: Word + DeviceRepr>(
        &mut self,
        bijection: &dyn Bijection,
        len: usize,
    ) -> Result<usize, Error> {
        check_word::<N>(len)?;
        // Allocations on the device are aligned to 256 bytes.
        let movement =
            Movement::Indices { out: Address::Given(256), word: WordType::of_index::<N>() };
        let jobs = Jobs::new(bijection, len as u64, movement)?;
        let plan = jobs.plan(self.strategy, &self.executor.device.limits)?;
        self.executor.reserve(&plan)?;
        Ok(self.bytes())
    }

    /// Writes the rows of a batch from `first` on to all of `out`, which consists of whole rows
    /// that exist.
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
        let (address, _guard) = writing(out, &self.stream);
        self.executor.check_slices()?;
        let (at_once, out, word) = (rows, Address::Given(address), WordType::of_index::<N>());
        let job = RowsJob { batch: *batch, first, rows, at_once, out, word };
        // SAFETY: the slice belongs to the context and has room for the job's rows. It is borrowed
        // mutably, and the guard, an `InUse`, ensures that it is neither freed nor otherwise used
        // before the stream has finished with it.
        unsafe { rows::write(&mut self.executor, &job) }
    }

    /// Compiles and allocates what writing that many rows of a batch in words of type `N` needs.
    /// Returns the bytes that the workspace then holds.
    pub(crate) fn reserve_rows<N: Word>(
        &mut self,
        batch: &Batch,
        rows: u64,
    ) -> Result<usize, Error> {
        check_word::<N>(batch.len)?;
        // Allocations on the device are aligned to 256 bytes.
        let (at_once, out, word) = (rows, Address::Given(256), WordType::of_index::<N>());
        let job = RowsJob { batch: *batch, first: 0, rows, at_once, out, word };
        rows::reserve(&mut self.executor, &job)?;
        Ok(self.bytes())
    }

    /// Copies the items in shuffled order: item `p[k]` of `source` to place `k` of `out`.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`], [`GpuError::ItemTooLarge`](crate::error::GpuError::ItemTooLarge),
    /// and otherwise as [`indexes`](Self::indexes).
    pub fn shuffle_into<T: DeviceRepr>(
        &mut self,
        bijection: &dyn Bijection,
        source: &impl DeviceArray<T>,
        out: &mut impl DeviceArrayMut<T>,
    ) -> Result<(), Error> {
        self.arrays(bijection, source.len()).array(source, out)?.execute(Direction::Shuffle)
    }

    /// Copies the items back into their original order: item `k` of `source` to place `p[k]` of
    /// `out`.
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

    /// Shuffles an array within its own memory: afterwards item `p[k]` is at place `k`.
    ///
    /// The order is that of [`shuffle_into`](Self::shuffle_into). Working memory takes at most 15 %
    /// of the array's, or 4 MiB if that is more; it is kept, as that of other calls. On an H100
    /// 2^29 items of 8 bytes take 2.5 times as long as from one array into another.
    ///
    /// That needs NVRTC and a GPU with at least 163 KiB of shared memory for a block, such as an
    /// A100, H100 or H200; a [trusted](crate::TrustedBijection) bijection with fewer than eight
    /// points for each item; and up to 2^32 items of 4, 8 or 16 bytes, or 2^33 of 8 bytes where
    /// every slot survives. Most arrays of items of 1 and 2 bytes are served too. In all other
    /// cases the items are copied to working memory in their new order, and back, so that it takes
    /// as much memory as the array. [`reserve_in_place`](Self::reserve_in_place) returns what it
    /// takes.
    ///
    /// # Errors
    ///
    /// [`GpuError::ItemTooLarge`](crate::error::GpuError::ItemTooLarge), and otherwise as
    /// [`indexes`](Self::indexes). After an error the items are unchanged, except after a
    /// [`GpuError::Driver`](crate::error::GpuError::Driver) of a launch, after which they are
    /// unspecified.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use bijective_shuffle::prelude::*;
    /// use bijective_shuffle::cuda::{Cuda, CudaWorkspace};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let cuda = Cuda::new()?;
    /// let mut items = cuda.stream().alloc_zeros::<u64>(1 << 30)?; // 8 GiB
    /// let f = Standard::from_seed(1 << 30, 42);
    /// let mut workspace = CudaWorkspace::new(&cuda);
    /// workspace.shuffle_in_place(&f, &mut items)?;
    /// assert!(workspace.bytes() < (8 << 30) / 100 * 15);
    /// workspace.unshuffle_in_place(&f, &mut items)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn shuffle_in_place<T: DeviceRepr>(
        &mut self,
        bijection: &dyn Bijection,
        items: &mut impl DeviceArrayMut<T>,
    ) -> Result<(), Error> {
        self.move_in_place(bijection, items, Direction::Shuffle)
    }

    /// Undoes [`shuffle_in_place`](Self::shuffle_in_place): item `k` moves to place `p[k]`.
    ///
    /// # Errors
    ///
    /// As [`shuffle_in_place`](Self::shuffle_in_place).
    pub fn unshuffle_in_place<T: DeviceRepr>(
        &mut self,
        bijection: &dyn Bijection,
        items: &mut impl DeviceArrayMut<T>,
    ) -> Result<(), Error> {
        self.move_in_place(bijection, items, Direction::Unshuffle)
    }

    /// As [`reserve`](Self::reserve), for moving `len` items of type T within their own memory.
    ///
    /// # Errors
    ///
    /// As [`shuffle_in_place`](Self::shuffle_in_place), except for errors that occur only when the
    /// kernels run.
    pub fn reserve_in_place<T: DeviceRepr>(
        &mut self,
        bijection: &dyn Bijection,
        len: usize,
    ) -> Result<usize, Error> {
        if size_of::<T>() > 0 {
            let limits = self.executor.device.limits;
            let array = (any_address::<T>(), size_of::<T>());
            for direction in [Direction::Shuffle, Direction::Unshuffle] {
                let jobs = in_place::jobs(bijection, len, array, direction)?;
                self.executor.reserve(&in_place::plan(&jobs, self.strategy, &limits)?)?;
            }
        }
        Ok(self.bytes())
    }

    fn move_in_place<T: DeviceRepr>(
        &mut self,
        bijection: &dyn Bijection,
        items: &mut impl DeviceArrayMut<T>,
        direction: Direction,
    ) -> Result<(), Error> {
        self.check_device(items.stream())?;
        let len = items.len();
        self.enter()?;
        let (address, _guard) = writing(items, &self.stream);
        self.executor.check_slices()?;
        let jobs = in_place::jobs(bijection, len, (address, size_of::<T>()), direction)?;
        // Items of size zero cannot be told apart, so they need not be moved.
        if len == 0 || size_of::<T>() == 0 {
            return Ok(());
        }
        let plan = in_place::plan(&jobs, self.strategy, &self.executor.device.limits)?;
        // SAFETY: the slice belongs to the context and has the jobs' length. It is borrowed
        // mutably, and the guard, an `InUse`, ensures that it is neither freed nor otherwise used
        // before the stream has finished with it. The plan uses it and its working memory alone.
        unsafe { self.executor.execute(&plan) }
    }

    /// Begins a call that moves several arrays, of any types, by one permutation of `len` items.
    /// The bijection is evaluated once for all arrays.
    ///
    /// # Examples
    ///
    /// ```no_run
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
    pub fn arrays<'a>(&'a mut self, bijection: &'a dyn Bijection, len: usize) -> CudaArrays<'a> {
        let Self { stream, executor, strategy, .. } = self;
        let (strategy, arrays, guards) = (*strategy, Vec::new(), SlicesInUse::default());
        CudaArrays { executor, stream, strategy, bijection, len, arrays, guards }
    }

    /// Shuffles items at a raw address, for memory that other libraries own.
    ///
    /// # Safety
    ///
    /// `source` and `out` are addresses of `len` items of `item_bytes` bytes each, in memory that
    /// this context's device can access. The two do not overlap, and are neither freed nor
    /// otherwise used until the stream has finished with them.
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
        // SAFETY: the caller promises that there are `len` items of that size at both addresses,
        // which do not overlap, and that they are the stream's until it has done with them.
        unsafe { self.move_raw(bijection, len, array, Direction::Shuffle) }
    }

    /// As [`reserve`](Self::reserve), for items at raw addresses, whose alignment decides which
    /// kernels move them. Nothing is read or written there.
    ///
    /// # Errors
    ///
    /// As [`reserve`](Self::reserve).
    pub fn reserve_raw(
        &mut self,
        bijection: &dyn Bijection,
        source: u64,
        out: u64,
        len: usize,
        item_bytes: usize,
    ) -> Result<usize, Error> {
        let limits = self.executor.device.limits;
        for jobs in there_and_back(bijection, len, Array::given(source, out, item_bytes))? {
            self.executor.reserve(&jobs.plan(self.strategy, &limits)?)?;
        }
        Ok(self.bytes())
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
        // SAFETY: the caller promises that both addresses have `len` items of that size, do not
        // overlap, and are left to the stream until it has finished.
        unsafe { self.move_raw(bijection, len, array, Direction::Unshuffle) }
    }

    /// Moves an array whose addresses a user has given.
    ///
    /// # Safety
    ///
    /// As [`move_arrays`].
    unsafe fn move_raw(
        &mut self,
        bijection: &dyn Bijection,
        len: usize,
        array: Array,
        direction: Direction,
    ) -> Result<(), Error> {
        self.enter()?;
        let Self { executor, strategy, .. } = self;
        // SAFETY: the caller vouches for the array.
        unsafe { move_arrays(executor, *strategy, bijection, len, vec![array], direction) }
    }

    /// Begins a call; see [`Executor::enter`].
    pub(super) fn enter(&mut self) -> Result<(), Error> {
        self.executor.enter()
    }

    fn check_device(&self, stream: &CudaStream) -> Result<(), Error> {
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
unsafe fn move_arrays(
    executor: &mut Executor,
    strategy: CudaStrategy,
    bijection: &dyn Bijection,
    len: usize,
    mut arrays: Vec<Array>,
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
    bijection: &'a dyn Bijection,
    len: usize,
    arrays: Vec<Array>,
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
        self.arrays.push(Array::given(source, out, size_of::<T>()));
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
        let Self { executor, strategy, bijection, len, arrays, guards, .. } = self;
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
