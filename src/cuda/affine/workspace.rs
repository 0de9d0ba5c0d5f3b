//! Arrays in device memory, permuted by affine maps.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use cudarc::driver::{CudaViewMut, DeviceRepr};

use super::plan::{self, array_bytes};
use crate::affine::Affine;
use crate::affine::{BitMatrix, Network, check_length, index_bits};
use crate::cuda::runtime::array::{DeviceArray, DeviceArrayMut};
use crate::cuda::runtime::memory::Memory;
use crate::cuda::runtime::plan::Address;
use crate::cuda::runtime::stream::{check_device, check_slices};
use crate::cuda::shuffle::movement::Array;
use crate::cuda::workspace::CudaWorkspace;
use crate::error::{Error, GpuError};

impl CudaWorkspace {
    /// Copies an array in the order of an affine map: `out[A x ^ c] = source[x]`.
    ///
    /// One kernel does it in one pass for every matrix, which is an argument of it: see [`affine`](crate::affine). It is for items
    /// of 1, 2, 4, 8 and 16 bytes, and of `2^k` times so many, and fastest where both arrays begin at a multiple of 16 bytes.
    /// Other items are moved word by word, those of 64 bytes and more one by one. The identity is a copy. As with
    /// [`affine::permute`](crate::affine::permute()) the direction is that of scattering.
    ///
    /// The first call with a size of items compiles its kernel, which no `reserve` does ahead of time.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the slices are not of `2^bits` items; [`GpuError::ItemTooLarge`](crate::GpuError::ItemTooLarge) beyond 64 KiB;
    /// [`GpuError::WrongDevice`](crate::GpuError::WrongDevice); [`GpuError::DomainTooWide`](crate::GpuError::DomainTooWide) if a launch would have 2^31 blocks or more; [`GpuError::Compile`](crate::GpuError::Compile);
    /// [`GpuError::OutOfMemory`](crate::GpuError::OutOfMemory) if the kernel cannot be loaded; [`GpuError::Driver`](crate::GpuError::Driver). Nothing has been written then,
    /// unless it is the last of these.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use bijective_shuffle::affine::BitMatrix;
    /// use bijective_shuffle::prelude::*;
    /// use bijective_shuffle::{Cuda, CudaWorkspace};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let cuda = Cuda::new()?;
    /// let stream = cuda.stream().clone();
    /// let source = stream.clone_htod(&(0..1 << 20).collect::<Vec<u32>>())?;
    /// let mut out = stream.alloc_zeros::<u32>(1 << 20)?;
    ///
    /// let reversal = Affine::new(&BitMatrix::bit_reversal(20)?, 0)?;
    /// CudaWorkspace::new(&cuda).permute_into(&reversal, &source, &mut out)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn permute_into<T: DeviceRepr>(
        &mut self,
        map: &Affine,
        source: &impl DeviceArray<T>,
        out: &mut impl DeviceArrayMut<T>,
    ) -> Result<(), Error> {
        check_length(map, source.len())?;
        check_length(map, out.len())?;
        check_device(&self.stream, source.stream())?;
        check_device(&self.stream, out.stream())?;
        self.enter()?;
        let (source, _reading) = source.device_ptr(&self.stream);
        let (out, _writing) = out.device_ptr_mut(&self.stream);
        check_slices(&self.stream)?;
        let array = Array::given(source, out, size_of::<T>());
        let plan = plan::permute(map, array, &self.executor.device.limits)?;
        // SAFETY: the slices are of the context and as long as the map has points. They are borrowed, the one that is
        // written alone, and the guards care that they are neither freed nor otherwise used before the stream has done with
        // them.
        unsafe { self.executor.execute(&plan) }
    }

    /// Brings an array into the order of an affine map: item `x` comes to place `A x ^ c`. It takes working memory for a
    /// copy of the items, which is kept; for the identity it takes and does nothing.
    ///
    /// # Errors
    ///
    /// As [`permute_into`](Self::permute_into), and [`GpuError::OutOfMemory`](crate::GpuError::OutOfMemory) if there is none for the copy. The items are then where
    /// they were, unless it is [`GpuError::Driver`](crate::GpuError::Driver) that says so of a launch, after which they are unspecified.
    pub fn permute_in_place<T: DeviceRepr>(
        &mut self,
        map: &Affine,
        items: &mut impl DeviceArrayMut<T>,
    ) -> Result<(), Error> {
        check_length(map, items.len())?;
        check_device(&self.stream, items.stream())?;
        self.enter()?;
        let (items, _guard) = items.device_ptr_mut(&self.stream);
        check_slices(&self.stream)?;
        let (items, limits) = (Address::Given(items), &self.executor.device.limits);
        let plan = plan::permute_in_place(map, items, size_of::<T>(), limits)?;
        // SAFETY: the slice is of the context and as long as the map has points. It is borrowed for
        // writing, and the guard cares that it is neither freed nor otherwise used before the
        // stream has done with it.
        unsafe { self.executor.execute(&plan) }
    }

    /// Applies a function to the two parts of an array whose indexes have an even and an odd product with a mask, each in
    /// order and in a piece, and puts them back; see [`affine::parm`](crate::affine::parm()). The function adds its work to
    /// [this stream](Self::stream).
    ///
    /// The parts are in working memory, which is kept, and the array is written when the function has succeeded with both.
    ///
    /// # Errors
    ///
    /// [`MatrixError::NotAPowerOfTwo`](crate::MatrixError::NotAPowerOfTwo), [`MatrixError::EmptyMask`](crate::MatrixError::EmptyMask), [`GpuError::OutOfMemory`](crate::GpuError::OutOfMemory) if there is none for the parts, what the function
    /// answers, and else as [`permute_into`](Self::permute_into). The array is as it was, unless it is [`GpuError::Driver`](crate::GpuError::Driver) that says
    /// so of the last launch.
    pub fn parm<T: DeviceRepr>(
        &mut self,
        mask: u64,
        items: &mut (impl DeviceArray<T> + DeviceArrayMut<T>),
        f: impl FnMut(&mut Self, &mut CudaViewMut<'_, T>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let bits = index_bits(items.len())?;
        let to_parts = Affine::new(&BitMatrix::partition(bits, mask)?, 0)?;
        self.enter()?;
        // The function may call this again, with memory of its own.
        let mut memory = core::mem::take(&mut self.parts);
        // Even if the function panics, since a graph may have the memory's address.
        let done =
            catch_unwind(AssertUnwindSafe(|| self.parm_in(&mut memory, &to_parts, items, f)));
        // Whether or not there is a capture now, since the function may have begun or ended one.
        if self.executor.may_be_captured() {
            memory.keep();
        }
        self.parts = memory.or_larger(core::mem::take(&mut self.parts));
        done.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// [`parm`](Self::parm) with memory for the parts.
    fn parm_in<T: DeviceRepr>(
        &mut self,
        memory: &mut Memory,
        to_parts: &Affine,
        items: &mut (impl DeviceArray<T> + DeviceArrayMut<T>),
        mut f: impl FnMut(&mut Self, &mut CudaViewMut<'_, T>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let len = items.len();
        let bytes = array_bytes(size_of::<T>(), to_parts.bits())?;
        // SAFETY: the first permutation writes all of the items, by a bijection of their places;
        // only then does the function see them. If the permutation fails, no one does.
        let mut parts = unsafe { memory.items::<T>(&self.stream, len, bytes) }?;
        self.permute_into(to_parts, items, &mut parts)?;
        let (mut first, mut second) = parts.split_at_mut(len / 2);
        f(self, &mut first)?;
        f(self, &mut second)?;
        self.permute_into(&to_parts.inverted(), &parts, items)
    }

    /// Runs a network whose pairs are put in order: with [`Network::sorting`] it sorts. Of a pair the second is exchanged with
    /// the first if it is less. It takes working memory for a copy of the items, which is kept.
    ///
    /// # Errors
    ///
    /// As [`permute_in_place`](Self::permute_in_place). All memory and kernels are there before an item is moved.
    pub fn order_by_network<T: DeviceNumber>(
        &mut self,
        network: &Network,
        items: &mut impl DeviceArrayMut<T>,
    ) -> Result<(), Error> {
        let bits = index_bits(items.len())?;
        // All maps are of one width.
        network.maps().take(1).try_for_each(|map| check_length(map, items.len()))?;
        check_device(&self.stream, items.stream())?;
        self.enter()?;
        let (items, _guard) = items.device_ptr_mut(&self.stream);
        check_slices(&self.stream)?;
        let items = (Address::Given(items), size_of::<T>());
        let limits = &self.executor.device.limits;
        let plan = plan::order_by_network(network.maps(), items, T::NAME, bits, limits)?;
        // SAFETY: the slice is of the context and as long as the maps have points, of which each
        // has as many as the first. It is borrowed for writing, and the guard cares that it is
        // neither freed nor otherwise used before the stream has done with it. Its items are of
        // type T, whose name in CUDA C++ the sealed trait has.
        unsafe { self.executor.execute(&plan) }
    }

    /// Permutes an array at a raw address, for memory that other libraries own.
    ///
    /// # Safety
    ///
    /// `source` and `out` are addresses of `2^bits` items of `item_bytes` bytes each in memory that this context's device
    /// can reach, and are neither freed nor otherwise used until the stream has done with them.
    ///
    /// # Errors
    ///
    /// [`GpuError::ItemTooLarge`](crate::GpuError::ItemTooLarge) beyond 64 KiB; [`GpuError::OutOfMemory`](crate::GpuError::OutOfMemory) if the array's bytes cannot be counted in 64 bits;
    /// [`GpuError::Overlap`](crate::GpuError::Overlap) if the two arrays overlap; and else as [`permute_into`](Self::permute_into).
    pub unsafe fn permute_raw(
        &mut self,
        map: &Affine,
        source: u64,
        out: u64,
        item_bytes: usize,
    ) -> Result<(), Error> {
        if source.abs_diff(out) < array_bytes(item_bytes, map.bits())? {
            return Err(Error::Gpu(GpuError::Overlap));
        }
        self.enter()?;
        let array = Array::given(source, out, item_bytes);
        let plan = plan::permute(map, array, &self.executor.device.limits)?;
        // SAFETY: the arrays do not overlap, which has been checked. The caller promises that each
        // has as many items of that size as the map has points, and that they are the stream's
        // until it has done with them.
        unsafe { self.executor.execute(&plan) }
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A number that the GPU compares: integers of 32 and 64 bits, and floating-point numbers.
///
/// The trait is sealed.
pub trait DeviceNumber: DeviceRepr + sealed::Sealed {
    /// The type's name in CUDA C++.
    #[doc(hidden)]
    const NAME: &'static str;
}

macro_rules! device_number {
    ($($number:ty: $name:literal),*) => {$(
        impl sealed::Sealed for $number {}
        impl DeviceNumber for $number {
            const NAME: &'static str = $name;
        }
    )*};
}

device_number!(u32: "uint32_t", u64: "uint64_t", i32: "int", i64: "int64_t", f32: "float", f64: "double");
