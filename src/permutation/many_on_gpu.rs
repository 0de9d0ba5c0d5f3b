//! Rows of a batch in device memory: many permutations of one length, by one call.

use cudarc::driver::DeviceRepr;

use super::Permutations;
use crate::compact::Direction;
use crate::cuda::{CudaWorkspace, DeviceArray, DeviceArrayMut, RawArray};
use crate::{Error, Word};

/// Rows of a batch in device memory.
impl CudaWorkspace {
    /// Writes the rows of a batch from row `first` on, as many as `out` holds, as
    /// [`Permutations::write_rows`] does in host memory. It does not wait for the GPU.
    ///
    /// It needs working memory only where few long rows are written one after the other, and then
    /// as much as [`write_indexes`](Self::write_indexes).
    ///
    /// # Errors
    ///
    /// [`ViewError::NotWholeRows`](crate::error::ViewError::NotWholeRows),
    /// [`ViewError::OutOfRange`](crate::error::ViewError::OutOfRange), [`Error::IndexTooWide`],
    /// [`GpuError::WrongDevice`](crate::error::GpuError::WrongDevice),
    /// [`GpuError::DomainTooWide`](crate::error::GpuError::DomainTooWide),
    /// [`GpuError::CompileFailed`](crate::error::GpuError::CompileFailed),
    /// [`GpuError::OutOfMemory`](crate::error::GpuError::OutOfMemory),
    /// [`GpuError::DriverFailed`](crate::error::GpuError::DriverFailed).
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use bijective_shuffle::prelude::*;
    /// # use bijective_shuffle::cuda::{Cuda, CudaWorkspace};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let cuda = Cuda::new()?;
    /// let mut rows = cuda.stream().alloc_zeros::<u32>(1000 * 32)?;
    /// let permutations = Permutations::new(1_000_000, 32, 42);
    /// CudaWorkspace::new(&cuda).write_rows(&permutations, 5000, &mut rows)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn write_rows<N: Word + DeviceRepr>(
        &mut self,
        permutations: &Permutations,
        first: u64,
        out: &mut impl DeviceArrayMut<N>,
    ) -> Result<(), Error> {
        let batch = permutations.batch_of(first, out.len())?;
        self.write_batch(&batch, first, out)
    }

    /// Compiles the kernels and allocates the memory for calls of
    /// [`write_rows`](Self::write_rows) with slices of `words` words of type `N`, so that such
    /// calls do neither. Returns the bytes that the workspace then holds.
    ///
    /// # Errors
    ///
    /// As [`write_rows`](Self::write_rows), except for errors that occur only when the kernels
    /// run.
    pub fn reserve_rows<N: Word + DeviceRepr>(
        &mut self,
        permutations: &Permutations,
        words: usize,
    ) -> Result<usize, Error> {
        let batch = permutations.batch_of(0, words)?;
        self.reserve_batch::<N>(&batch, words)
    }

    /// Copies the items of rows, each row in the order of its own permutation, in one call: row `r`
    /// of the slices is shuffled by row `first + r` of the batch, as [`Permutations::apply_rows`]
    /// does in host memory. Item `p[k]` of a row of `source` goes to place `k` of that row of
    /// `out`.
    ///
    /// One launch moves all rows, and needs NVRTC. The items of rows of up to 256 are moved
    /// straight to their places. Longer rows go by way of the shared memory of a block, if it has
    /// room for one (some 220 KiB on an H200), and items have 1, 2, 4, 8 or 16 bytes and are
    /// aligned to as many: so device memory is read and written in order. Blocks share all others,
    /// and a few rows, with working memory of 8 bytes for every 512 to 2048 points of a row's
    /// domain. Moved one after the other, each as by [`shuffle_into`](Self::shuffle_into) with
    /// [`CudaStrategy::Auto`](crate::cuda::CudaStrategy::Auto), are rows to be shared that take
    /// more than half of the L2 cache, a few rows of large items that have other sizes, and all
    /// rows where there is no NVRTC. It does not wait for the GPU.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the slices have different lengths,
    /// [`ViewError::NotWholeRows`](crate::error::ViewError::NotWholeRows),
    /// [`ViewError::OutOfRange`](crate::error::ViewError::OutOfRange), and otherwise as
    /// [`shuffle_into`](Self::shuffle_into).
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use bijective_shuffle::prelude::*;
    /// # use bijective_shuffle::cuda::{Cuda, CudaWorkspace};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (cuda, permutations) = (Cuda::new()?, Permutations::new(1000, 32, 42));
    /// let stream = cuda.stream().clone();
    /// let (matrix, mut shuffled) = (stream.alloc_zeros::<f32>(32_000)?, stream.alloc_zeros(32_000)?);
    /// CudaWorkspace::new(&cuda).shuffle_rows_into(&permutations, 0, &matrix, &mut shuffled)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn shuffle_rows_into<T: DeviceRepr>(
        &mut self,
        permutations: &Permutations,
        first: u64,
        source: &impl DeviceArray<T>,
        out: &mut impl DeviceArrayMut<T>,
    ) -> Result<(), Error> {
        let batch = permutations.batch_of(first, source.len())?;
        self.move_batch(&batch, first, source, out, Direction::Shuffle)
    }

    /// Undoes [`shuffle_rows_into`](Self::shuffle_rows_into) with the same permutations and first
    /// row: copies item `k` of a row of `source` to place `p[k]` of that row of `out`.
    ///
    /// # Errors
    ///
    /// As [`shuffle_rows_into`](Self::shuffle_rows_into).
    pub fn unshuffle_rows_into<T: DeviceRepr>(
        &mut self,
        permutations: &Permutations,
        first: u64,
        source: &impl DeviceArray<T>,
        out: &mut impl DeviceArrayMut<T>,
    ) -> Result<(), Error> {
        let batch = permutations.batch_of(first, source.len())?;
        self.move_batch(&batch, first, source, out, Direction::Unshuffle)
    }

    /// [`shuffle_rows_into`](Self::shuffle_rows_into), for items at raw addresses.
    ///
    /// # Safety
    ///
    /// As [`shuffle_raw`](Self::shuffle_raw).
    ///
    /// # Errors
    ///
    /// [`GpuError::ArraysOverlap`](crate::error::GpuError::ArraysOverlap) if the two arrays
    /// overlap; [`GpuError::OutOfMemory`](crate::error::GpuError::OutOfMemory) if the array's size
    /// in bytes does not fit 64 bits; and otherwise as
    /// [`shuffle_rows_into`](Self::shuffle_rows_into).
    pub unsafe fn shuffle_rows_raw(
        &mut self,
        permutations: &Permutations,
        first: u64,
        array: RawArray,
    ) -> Result<(), Error> {
        let batch = permutations.batch_of(first, array.len)?;
        // SAFETY: the caller promises that both addresses have `len` items of that size, and are
        // left to the stream until it has finished.
        unsafe { self.move_batch_raw(&batch, first, array, Direction::Shuffle) }
    }

    /// Undoes [`shuffle_rows_raw`](Self::shuffle_rows_raw).
    ///
    /// # Safety
    ///
    /// As [`shuffle_raw`](Self::shuffle_raw).
    ///
    /// # Errors
    ///
    /// As [`shuffle_rows_raw`](Self::shuffle_rows_raw).
    pub unsafe fn unshuffle_rows_raw(
        &mut self,
        permutations: &Permutations,
        first: u64,
        array: RawArray,
    ) -> Result<(), Error> {
        let batch = permutations.batch_of(first, array.len)?;
        // SAFETY: the caller promises `len` items of that size at both addresses, which are the
        // stream's until it has done with them.
        unsafe { self.move_batch_raw(&batch, first, array, Direction::Unshuffle) }
    }

    /// Compiles the kernels and allocates the memory for calls of
    /// [`shuffle_rows_raw`](Self::shuffle_rows_raw) and
    /// [`unshuffle_rows_raw`](Self::unshuffle_rows_raw) with as many items, whose addresses have
    /// the same alignment, so that such calls do neither. Nothing is read or written there. Returns
    /// the bytes that the workspace then holds.
    ///
    /// # Errors
    ///
    /// As [`shuffle_rows_into`](Self::shuffle_rows_into), except for errors that occur only when
    /// the kernels run.
    pub fn reserve_rows_raw(
        &mut self,
        permutations: &Permutations,
        array: RawArray,
    ) -> Result<usize, Error> {
        let batch = permutations.batch_of(0, array.len)?;
        self.reserve_batch_raw(&batch, array)
    }
}
