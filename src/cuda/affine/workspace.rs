//! The methods of [`CudaWorkspace`] that permute arrays by affine maps.

use cudarc::driver::DeviceRepr;

use super::plan::{self, array_bytes};
use crate::Error;
use crate::affine::Affine;
use crate::affine::engine::check_length;
use crate::cuda::raw::RawArray;
use crate::cuda::runtime::array::{DeviceArray, DeviceArrayMut};
use crate::cuda::runtime::in_use::{reading, writing};
use crate::cuda::runtime::stream::check_device;
use crate::cuda::shuffle::movement::Array;
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
        let array = Array::given(source, out, size_of::<T>());
        let plan = plan::permute(map, array, &self.executor.device.limits)?;
        // SAFETY: both slices belong to the context and have as many items as the map has points,
        // which has been checked. `source` is borrowed, and `out` is borrowed mutably, so they do
        // not overlap. The guards, each an `InUse`, ensure that neither is freed or otherwise used
        // before the stream has finished with it.
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
