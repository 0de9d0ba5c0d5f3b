//! The methods of [`CudaWorkspace`] that permute arrays by affine maps.

use cudarc::driver::DeviceRepr;

use super::plan;
use crate::Error;
use crate::affine::Affine;
use crate::affine::engine::check_length;
use crate::cuda::runtime::array::{DeviceArray, DeviceArrayMut};
use crate::cuda::runtime::in_use::{reading, writing};
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
    /// 2^31 blocks or more; [`GpuError::CompileFailed`](crate::error::GpuError::CompileFailed);
    /// [`GpuError::OutOfMemory`](crate::error::GpuError::OutOfMemory) if the kernel cannot be
    /// loaded; [`GpuError::DriverFailed`](crate::error::GpuError::DriverFailed). Nothing has been
    /// written then, except perhaps after the last of these.
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
}
