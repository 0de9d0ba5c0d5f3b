//! Segments of different lengths in device memory, by one call.

use cudarc::driver::DeviceRepr;

use crate::compact::Direction;
use crate::cuda::{CudaWorkspace, DeviceArray, DeviceArrayMut, RawArray, RawOffsets};
use crate::{Error, Seed, Word};

/// Segments of different lengths in device memory.
impl CudaWorkspace {
    /// Copies the items of segments, each segment in the order of its own permutation, as
    /// [`Segments::shuffle`](crate::Segments::shuffle) does in host memory. Item `p[k]` of a
    /// segment of `source` goes to its place `k` in `out`.
    ///
    /// The offsets are in device memory, in words of 32 or 64 bits. The call waits for the GPU
    /// once, to learn whether they are right and how long the segments are, so it cannot be
    /// captured in a graph. Two launches move all segments of up to 256 items, and one for each
    /// power of two those up to that length. A segment that is so long that the whole device is
    /// faster than a block is moved as by [`shuffle_into`](Self::shuffle_into), one after the
    /// other. It needs NVRTC, and working memory of 4 bytes a segment.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if source and output have different lengths;
    /// [`GpuError::Captured`](crate::error::GpuError::Captured) in a capture;
    /// [`ViewError::Offsets`](crate::error::ViewError::Offsets) if the offsets do not begin with 0,
    /// descend, or do not end with the number of items;
    /// [`GpuError::DomainTooWide`](crate::error::GpuError::DomainTooWide) for 2^32 - 1 segments or
    /// more; [`Error::BackendUnavailable`] without NVRTC; and otherwise as
    /// [`shuffle_into`](Self::shuffle_into). Nothing has been moved, except after an error of the
    /// driver or if there is no memory for a long segment.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use bijective_shuffle::prelude::*;
    /// # use bijective_shuffle::cuda::{Cuda, CudaWorkspace};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let cuda = Cuda::new()?;
    /// let stream = cuda.stream().clone();
    /// let offsets = stream.clone_htod(&[0_u32, 3, 3, 8])?;
    /// let items = stream.clone_htod(&[1_u8, 2, 3, 40, 50, 60, 70, 80])?;
    /// let mut shuffled = stream.alloc_zeros::<u8>(8)?;
    /// CudaWorkspace::new(&cuda).shuffle_segments_into(&offsets, 42, &items, &mut shuffled)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn shuffle_segments_into<N: Word + DeviceRepr, T: DeviceRepr>(
        &mut self,
        offsets: &impl DeviceArray<N>,
        seed: impl Into<Seed>,
        source: &impl DeviceArray<T>,
        out: &mut impl DeviceArrayMut<T>,
    ) -> Result<(), Error> {
        self.move_segments(offsets, seed.into(), source, out, Direction::Shuffle)
    }

    /// Undoes [`shuffle_segments_into`](Self::shuffle_segments_into) with the same offsets and
    /// seed: copies item `k` of a segment of `source` to its place `p[k]` in `out`.
    ///
    /// # Errors
    ///
    /// As [`shuffle_segments_into`](Self::shuffle_segments_into).
    pub fn unshuffle_segments_into<N: Word + DeviceRepr, T: DeviceRepr>(
        &mut self,
        offsets: &impl DeviceArray<N>,
        seed: impl Into<Seed>,
        source: &impl DeviceArray<T>,
        out: &mut impl DeviceArrayMut<T>,
    ) -> Result<(), Error> {
        self.move_segments(offsets, seed.into(), source, out, Direction::Unshuffle)
    }

    /// Writes the permutations of segments, one after another, as
    /// [`Segments::write_indexes`](crate::Segments::write_indexes) does in host memory: indexes
    /// count from a segment's first item. The rest is as for
    /// [`shuffle_segments_into`](Self::shuffle_segments_into).
    ///
    /// # Errors
    ///
    /// [`Error::IndexTooWide`] if there are more items than a word of `out` can count, and
    /// otherwise as [`shuffle_segments_into`](Self::shuffle_segments_into).
    pub fn write_segments<O: Word + DeviceRepr, N: Word + DeviceRepr>(
        &mut self,
        offsets: &impl DeviceArray<O>,
        seed: impl Into<Seed>,
        out: &mut impl DeviceArrayMut<N>,
    ) -> Result<(), Error> {
        self.write_indexes_of(offsets, seed.into(), out)
    }

    /// [`shuffle_segments_into`](Self::shuffle_segments_into), for offsets and items at raw
    /// addresses.
    ///
    /// # Safety
    ///
    /// As [`shuffle_raw`](Self::shuffle_raw). There are as many offsets of that width at their
    /// address, which the same holds for, and they do not overlap the output.
    ///
    /// # Errors
    ///
    /// [`GpuError::Overlap`](crate::error::GpuError::Overlap) if the two arrays overlap;
    /// [`GpuError::OutOfMemory`](crate::error::GpuError::OutOfMemory) if the array's size in bytes
    /// does not fit 64 bits; and otherwise as
    /// [`shuffle_segments_into`](Self::shuffle_segments_into).
    pub unsafe fn shuffle_segments_raw(
        &mut self,
        offsets: RawOffsets,
        seed: impl Into<Seed>,
        array: RawArray,
    ) -> Result<(), Error> {
        // SAFETY: the caller promises the offsets, and `len` items of that size at both addresses,
        // all of which are the stream's until it has done with them.
        unsafe { self.move_segments_raw(offsets, seed.into(), array, Direction::Shuffle) }
    }

    /// Undoes [`shuffle_segments_raw`](Self::shuffle_segments_raw).
    ///
    /// # Safety
    ///
    /// As [`shuffle_segments_raw`](Self::shuffle_segments_raw).
    ///
    /// # Errors
    ///
    /// As [`shuffle_segments_raw`](Self::shuffle_segments_raw).
    pub unsafe fn unshuffle_segments_raw(
        &mut self,
        offsets: RawOffsets,
        seed: impl Into<Seed>,
        array: RawArray,
    ) -> Result<(), Error> {
        // SAFETY: the caller promises the offsets and both addresses of `len` items of that size,
        // which are left to the stream until it has finished.
        unsafe { self.move_segments_raw(offsets, seed.into(), array, Direction::Unshuffle) }
    }
}
