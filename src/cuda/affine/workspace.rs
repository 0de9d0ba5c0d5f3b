//! The methods of [`CudaWorkspace`] that permute arrays by affine maps.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use cudarc::driver::{CudaViewMut, DeviceRepr};

use super::plan::{self, array_bytes};
use crate::Error;
use crate::affine::engine::{check_length, index_bits};
use crate::affine::{Affine, BitMatrix, Network};
use crate::cuda::raw::RawArray;
use crate::cuda::runtime::array::{DeviceArray, DeviceArrayMut};
use crate::cuda::runtime::in_use::{reading, writing};
use crate::cuda::runtime::memory::Memory;
use crate::cuda::runtime::plan::Address;
use crate::cuda::runtime::stream::check_device;
use crate::cuda::shuffle::movement::MovedArray;
use crate::cuda::workspace::CudaWorkspace;

impl CudaWorkspace {
    /// Copies an array in the order of an affine map: `out[A x ^ c] = source[x]`. This is a
    /// scatter, as with [`affine::permute`](crate::affine::permute()).
    ///
    /// One kernel does it in one pass for every matrix, which is one of its arguments; see
    /// [`affine`](crate::affine). It serves items whose size is a power of two, and is fastest
    /// where both arrays begin at a multiple of 16 bytes. Items of other sizes are moved word by
    /// word, and those of 64 bytes and more item by item. The identity is a plain copy.
    ///
    /// The first call for a size of items compiles its kernel. No `reserve` function does that
    /// ahead of time.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the slices are not of `2^bits` items;
    /// [`GpuError::ItemTooLarge`](crate::error::GpuError::ItemTooLarge) beyond 64 KiB;
    /// [`GpuError::WrongDevice`](crate::error::GpuError::WrongDevice);
    /// [`GpuError::DomainTooWide`](crate::error::GpuError::DomainTooWide) if a launch would have
    /// 2^31 blocks or more; [`GpuError::Compile`](crate::error::GpuError::Compile);
    /// [`GpuError::OutOfMemory`](crate::error::GpuError::OutOfMemory) if the kernel cannot be
    /// loaded; [`GpuError::Driver`](crate::error::GpuError::Driver). Nothing has been written then,
    /// except perhaps after the last of these.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use bijective_shuffle::affine::BitMatrix;
    /// use bijective_shuffle::affine::Affine;
    /// use bijective_shuffle::prelude::*;
    /// use bijective_shuffle::cuda::{Cuda, CudaWorkspace};
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
        let (source, _reading) = reading(source, &self.stream);
        let (out, _writing) = writing(out, &self.stream);
        self.executor.check_slices()?;
        let array = MovedArray::given(source, out, size_of::<T>());
        let plan = plan::permute(map, array, &self.executor.device.limits)?;
        // SAFETY: both slices belong to the context and have as many items as the map has points,
        // which has been checked. `source` is borrowed, and `out` is borrowed mutably, so they do
        // not overlap. The guards, each an `InUse`, ensure that neither is freed or otherwise used
        // before the stream has finished with it.
        unsafe { self.executor.execute(&plan) }
    }

    /// Permutes an array in place by an affine map: item `x` moves to place `A x ^ c`. It needs
    /// working memory for a copy of the items, which the workspace keeps. For the identity it does
    /// nothing.
    ///
    /// # Errors
    ///
    /// As [`permute_into`](Self::permute_into), and
    /// [`GpuError::OutOfMemory`](crate::error::GpuError::OutOfMemory) if there is no memory for the
    /// copy. After an error the items are unchanged, except after a
    /// [`GpuError::Driver`](crate::error::GpuError::Driver) of a launch, after which they are
    /// unspecified.
    pub fn permute_in_place<T: DeviceRepr>(
        &mut self,
        map: &Affine,
        items: &mut impl DeviceArrayMut<T>,
    ) -> Result<(), Error> {
        check_length(map, items.len())?;
        check_device(&self.stream, items.stream())?;
        self.enter()?;
        let (items, _guard) = writing(items, &self.stream);
        self.executor.check_slices()?;
        let (items, limits) = (Address::Given(items), &self.executor.device.limits);
        let plan = plan::permute_in_place(map, items, size_of::<T>(), limits)?;
        // SAFETY: the slice belongs to the context and has as many items as the map has points,
        // which has been checked. It is borrowed mutably, and the guard, an `InUse`, ensures that
        // it is neither freed nor otherwise used before the stream has finished with it.
        unsafe { self.executor.execute(&plan) }
    }

    /// Applies a function to the two halves of an array that a mask selects, and puts the halves
    /// back; see [`affine::parm`](crate::affine::parm()). One half has the items at indexes with an
    /// even number of bits in common with the mask, the other those with an odd number. The
    /// function gets each half as a contiguous array, in order, and adds its work to [this
    /// stream](Self::stream).
    ///
    /// The function works on a copy of the items in working memory, which the workspace keeps. The
    /// array is written only after the function has succeeded with both halves. That takes two
    /// passes instead of the four of an exchange in place, and a function that fails has changed
    /// nothing.
    ///
    /// # Errors
    ///
    /// [`MatrixError::NotAPowerOfTwo`](crate::affine::MatrixError::NotAPowerOfTwo),
    /// [`MatrixError::EmptyMask`](crate::affine::MatrixError::EmptyMask),
    /// [`GpuError::OutOfMemory`](crate::error::GpuError::OutOfMemory) if there is no memory for the
    /// copy, the errors of the function, and otherwise as [`permute_into`](Self::permute_into).
    /// After an error the array is unchanged, except after a
    /// [`GpuError::Driver`](crate::error::GpuError::Driver) of the last launch.
    pub fn parm<T: DeviceRepr>(
        &mut self,
        mask: u64,
        items: &mut (impl DeviceArray<T> + DeviceArrayMut<T>),
        f: impl FnMut(&mut Self, &mut CudaViewMut<'_, T>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let bits = index_bits(items.len())?;
        let to_parts = Affine::new(&BitMatrix::partition(bits, mask)?, 0)?;
        self.enter()?;
        // The function may call `parm` again, which then needs memory of its own.
        let mut memory = core::mem::take(&mut self.parts);
        // The memory is kept even if the function panics, since a graph may have its address.
        let done =
            catch_unwind(AssertUnwindSafe(|| self.parm_in(&mut memory, &to_parts, items, f)));
        // Regardless of whether a capture is active now, since the function may have begun or ended
        // one.
        if self.executor.may_be_captured() {
            memory.keep();
        }
        self.parts = memory.or_larger(core::mem::take(&mut self.parts));
        done.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// [`parm`](Self::parm) with memory for the copy.
    fn parm_in<T: DeviceRepr>(
        &mut self,
        memory: &mut Memory,
        to_parts: &Affine,
        items: &mut (impl DeviceArray<T> + DeviceArrayMut<T>),
        mut f: impl FnMut(&mut Self, &mut CudaViewMut<'_, T>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let len = items.len();
        let bytes = array_bytes(size_of::<T>(), to_parts.bits())?;
        let home = self.executor.home.clone();
        // SAFETY: the items are written before they are read. The permutation below writes every
        // item, since it is a bijection on their places, and only then does the function get them.
        // If it fails, nobody gets them.
        let mut parts = unsafe { memory.items::<T>([&home, &self.stream], len, bytes) }?;
        self.permute_into(to_parts, items, &mut parts)?;
        let (mut first, mut second) = parts.split_at_mut(len / 2);
        f(self, &mut first)?;
        f(self, &mut second)?;
        self.permute_into(&to_parts.inverted(), &parts, items)
    }

    /// Runs a comparison network: with [`Network::sorting`] it sorts the items. The items of a pair
    /// are exchanged if the second is less than the first. It needs working memory for a copy of
    /// the items, which the workspace keeps.
    ///
    /// # Errors
    ///
    /// As [`permute_in_place`](Self::permute_in_place). All memory is allocated and all kernels are
    /// compiled before any item is moved.
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
        let (items, _guard) = writing(items, &self.stream);
        self.executor.check_slices()?;
        let items = (Address::Given(items), size_of::<T>());
        let limits = &self.executor.device.limits;
        let plan = plan::order_by_network(network.maps(), items, T::NAME, bits, limits)?;
        // SAFETY: the slice belongs to the context and has as many items as the first map has
        // points, which has been checked; all maps of a network have the same number. It is
        // borrowed mutably, and the guard, an `InUse`, ensures that it is neither freed nor
        // otherwise used before the stream has finished with it. Its items are of type T, for which
        // the sealed trait gives the right name in CUDA C++.
        unsafe { self.executor.execute(&plan) }
    }

    /// Permutes an array at raw addresses.
    ///
    /// # Safety
    ///
    /// `source` and `out` are addresses of `len` items of `item_bytes` bytes each, in memory that
    /// this context's device can access. That memory is neither freed nor otherwise used until the
    /// stream has finished with it.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if there are not as many items as the map has points;
    /// [`GpuError::ItemTooLarge`](crate::error::GpuError::ItemTooLarge) beyond 64 KiB;
    /// [`GpuError::OutOfMemory`](crate::error::GpuError::OutOfMemory) if the array's size in bytes
    /// does not fit 64 bits; [`GpuError::Overlap`](crate::error::GpuError::Overlap) if the two
    /// arrays overlap; and otherwise as [`permute_into`](Self::permute_into).
    pub unsafe fn permute_raw(&mut self, map: &Affine, array: RawArray) -> Result<(), Error> {
        check_length(map, array.len)?;
        array_bytes(array.item_bytes, map.bits())?;
        array.check_apart()?;
        self.enter()?;
        let plan = plan::permute(map, array.array(), &self.executor.device.limits)?;
        // SAFETY: the arrays do not overlap, which has been checked. The caller promises that each
        // has as many items of that size as the map has points, and that nobody else uses or frees
        // them until the stream has finished with them.
        unsafe { self.executor.execute(&plan) }
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A number that the GPU can compare: an integer of 32 or 64 bits, or a floating-point number.
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
