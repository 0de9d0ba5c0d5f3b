//! Arrays at raw addresses: what other libraries own.

use super::shuffle::movement::Array;
use super::workspace::{CudaWorkspace, move_arrays};
use crate::Error;
use crate::compact::{Direction, Order};

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
    pub(super) const fn array(self) -> Array {
        Array::given(self.source, self.out, self.item_bytes)
    }
}

/// Moving items at raw addresses.
impl CudaWorkspace {
    /// Shuffles items at raw addresses.
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
    pub unsafe fn shuffle_raw<'o>(
        &mut self,
        order: impl Into<Order<'o>>,
        array: RawArray,
    ) -> Result<(), Error> {
        // SAFETY: the caller promises that there are `len` items of that size at both addresses,
        // which do not overlap, and that they are the stream's until it has done with them.
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
        // SAFETY: the caller promises that both addresses have `len` items of that size, do not
        // overlap, and are left to the stream until it has finished.
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
    /// As [`move_arrays`].
    unsafe fn move_raw(
        &mut self,
        order: Order,
        array: RawArray,
        direction: Direction,
    ) -> Result<(), Error> {
        self.enter()?;
        let (chosen, Self { executor, strategy, .. }) = (order.for_len(array.len as u64), self);
        let arrays = vec![array.array()];
        // SAFETY: the caller vouches for the array.
        unsafe {
            move_arrays(executor, *strategy, chosen.bijection(), array.len, arrays, direction)
        }
    }
}
