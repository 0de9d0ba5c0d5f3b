//! Arrays at raw addresses: what other libraries own.

use super::shuffle::movement::MovedArray;
use super::workspace::{CudaWorkspace, move_arrays};
use crate::Error;
use crate::compact::{Direction, Order};
use crate::error::GpuError;

/// An array at raw addresses in device memory, for memory that other libraries own: where its items
/// are, where they go, how many there are, and the size of each in bytes.
///
/// Making one promises nothing. The `unsafe` methods that take one say what has to be at its
/// addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_structs, reason = "an array has no more to it")]
pub struct RawArray {
    /// The address of the first item to be read.
    pub source: u64,
    /// The address to which the first item is written.
    pub out: u64,
    /// The number of items.
    pub len: usize,
    /// The size of an item in bytes.
    pub item_bytes: usize,
}

impl RawArray {
    /// Without its length.
    pub(super) const fn array(self) -> MovedArray {
        MovedArray::given(self.source, self.out, self.item_bytes)
    }

    /// Checks that no item is written to where one is read.
    pub(super) fn check_apart(self) -> Result<(), Error> {
        let bytes = (self.len as u64).checked_mul(self.item_bytes as u64);
        if self.source.abs_diff(self.out) < bytes.ok_or(Error::Gpu(GpuError::OutOfMemory))? {
            return Err(Error::Gpu(GpuError::ArraysOverlap));
        }
        Ok(())
    }
}

/// Offsets of segments at a raw address in device memory.
///
/// Making one promises nothing, as with [`RawArray`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_structs, reason = "offsets have no more to them")]
pub struct RawOffsets {
    /// The address of the first offset.
    pub address: u64,
    /// The number of offsets: one more than there are segments.
    pub len: usize,
    /// Whether an offset has 64 bits, and not 32.
    pub are_wide: bool,
}

/// Moving items at raw addresses.
impl CudaWorkspace {
    /// Shuffles items at raw addresses.
    ///
    /// # Safety
    ///
    /// `source` and `out` are addresses of `len` items of `item_bytes` bytes each, in memory that
    /// this context's device can access. That memory is neither freed nor otherwise used until the
    /// stream has finished with it. If the same memory is mapped at two addresses, source and
    /// output are not in those two mappings.
    ///
    /// # Errors
    ///
    /// [`GpuError::ArraysOverlap`](crate::error::GpuError::ArraysOverlap) if the two arrays
    /// overlap; [`GpuError::OutOfMemory`](crate::error::GpuError::OutOfMemory) if the array's size
    /// in bytes does not fit 64 bits; and otherwise as [`shuffle_into`](Self::shuffle_into).
    pub unsafe fn shuffle_raw<'o>(
        &mut self,
        order: impl Into<Order<'o>>,
        array: RawArray,
    ) -> Result<(), Error> {
        // SAFETY: the caller promises that there are `len` items of that size at both addresses,
        // and that they are the stream's until it has done with them.
        unsafe { self.move_raw(order.into(), array, Direction::Shuffle) }
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
    pub unsafe fn unshuffle_raw<'o>(
        &mut self,
        order: impl Into<Order<'o>>,
        array: RawArray,
    ) -> Result<(), Error> {
        // SAFETY: the caller promises that both addresses have `len` items of that size, and are
        // left to the stream until it has finished.
        unsafe { self.move_raw(order.into(), array, Direction::Unshuffle) }
    }

    /// As [`reserve`](Self::reserve), for items at raw addresses, whose alignment decides which
    /// kernels move them. Nothing is read or written there.
    ///
    /// # Errors
    ///
    /// As [`reserve`](Self::reserve).
    pub fn reserve_raw<'o>(
        &mut self,
        order: impl Into<Order<'o>>,
        array: RawArray,
    ) -> Result<usize, Error> {
        self.reserve_array(order.into(), array.len, array.array())
    }

    /// Moves an array whose addresses a user has given.
    ///
    /// # Safety
    ///
    /// As [`shuffle_raw`](Self::shuffle_raw).
    unsafe fn move_raw(
        &mut self,
        order: Order,
        array: RawArray,
        direction: Direction,
    ) -> Result<(), Error> {
        array.check_apart()?;
        self.enter()?;
        let (chosen, Self { executor, strategy, .. }) = (order.for_len(array.len as u64), self);
        let arrays = vec![array.array()];
        // SAFETY: the caller vouches for the array, whose two parts were found apart.
        unsafe {
            move_arrays(executor, *strategy, chosen.bijection(), array.len, arrays, direction)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_that_overlap_are_refused() {
        let array = |source, out| RawArray { source, out, len: 10, item_bytes: 12 };
        assert_eq!(array(4096, 4096 + 120).check_apart(), Ok(()));
        assert_eq!(array(4096 + 120, 4096).check_apart(), Ok(()));
        for (source, out) in [(4096, 4096), (4096, 4096 + 119), (4096 + 1, 4096), (0, 0)] {
            let refused = array(source, out).check_apart();
            assert_eq!(refused, Err(Error::Gpu(GpuError::ArraysOverlap)), "{source} and {out}");
        }
        // Arrays without bytes share none.
        for (len, item_bytes) in [(0, 12), (10, 0)] {
            assert_eq!(RawArray { len, item_bytes, ..array(64, 64) }.check_apart(), Ok(()));
        }
        let too_large = RawArray { len: 1 << 62, item_bytes: 8, ..array(0, 1 << 63) };
        assert_eq!(too_large.check_apart(), Err(Error::Gpu(GpuError::OutOfMemory)));
    }
}
