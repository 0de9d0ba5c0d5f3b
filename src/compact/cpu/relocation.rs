//! What the direct strategy does with items: [`Gather`] and [`Scatter`] copy them elsewhere, and a
//! [`Relocation`] is what makes that a move.

use core::mem::MaybeUninit;
use core::ptr;

use super::direct::MoveRun;
use super::tuning;
use crate::Error;
use crate::engine::bijection::ItemCopies;
use crate::engine::memory::{Buffer, SharedPtr};
use crate::engine::parallel;
use crate::engine::word::Index;

/// A slice whose items are being moved. They are copied, as bits, to a scratch buffer in their new
/// order, and then all copied back at once.
///
/// Until that last step the slice is untouched, and the scratch copies are never dropped. So every
/// item still exists exactly once if this is abandoned at any time.
pub(super) struct Relocation<'a, T> {
    pub(super) items: &'a mut [T],
    /// As many places as items.
    pub(super) scratch: &'a mut [MaybeUninit<T>],
}

impl<'a, T: Send> Relocation<'a, T> {
    /// Allocates the scratch buffer.
    pub(super) fn new(items: &'a mut [T], scratch: &'a mut Buffer) -> Result<Self, Error> {
        let scratch = scratch.room_in_pages(items.len())?;
        Ok(Self { items, scratch })
    }

    /// Copies the scratch buffer back over the slice.
    ///
    /// # Safety
    ///
    /// Each item has been copied to exactly one scratch place, and each scratch place holds an
    /// item.
    pub(super) unsafe fn commit(self) {
        let len = self.items.len();
        let from = SharedPtr::new(self.scratch.as_mut_ptr().cast::<T>());
        let to = SharedPtr::new(self.items.as_mut_ptr());
        let is_sequential = tuning::is_sequential(len, size_of::<T>());
        if !is_sequential {
            // Nothing below can unwind, so the slice is never left half overwritten. Rayon panics
            // if it cannot start its pool, so the pool is started first.
            rayon::current_num_threads();
        }
        let put_back = |first: usize, count: usize| {
            // SAFETY: `put_back` is called for items below `len`, and there are as many copies.
            let from = unsafe { from.at(first) };
            // SAFETY: the slice has `len` items.
            let to = unsafe { to.at(first) };
            // SAFETY: both have `count` items from `first` on, in separate memory that is borrowed
            // mutably. The caller promises that the copies are initialised and together are all the
            // items, so overwriting the originals without dropping them loses no item and
            // duplicates none.
            unsafe { ptr::copy_nonoverlapping(from, to, count) };
        };
        if is_sequential {
            put_back(0, len);
        } else {
            let chunk = tuning::MOVE_CHUNK;
            parallel::each(len.div_ceil(chunk), &|number| {
                put_back(number * chunk, (len - number * chunk).min(chunk));
            });
        }
    }
}

/// Copies the items at the indexes of a [`CheckedPermutation`] to consecutive places elsewhere. It
/// holds the start of a slice with the permutation's length, to which nobody writes.
pub(super) struct Gather<T>(pub(super) SharedPtr<T>);

impl<T: Send, N: Index> MoveRun<&mut [MaybeUninit<T>], N> for Gather<T> {
    #[inline]
    fn move_run(&self, places: &mut [MaybeUninit<T>], indices: &[N]) {
        for (place, &index) in places.iter_mut().zip(indices) {
            // SAFETY: the indexes of a checked permutation are below its length, which is that of
            // the slice.
            let item = unsafe { self.0.at(index.extend() as usize) };
            // SAFETY: the item is initialised, nobody writes to the slice meanwhile, and the place
            // is elsewhere. The copy counts only as bytes until `commit` makes all copies the items
            // at once; or the items are `Copy`, and may be duplicated.
            unsafe { ptr::copy_nonoverlapping(item, place.as_mut_ptr(), 1) };
        }
    }

    #[inline]
    fn copies<'a>(
        &self,
        places: &'a mut &mut [MaybeUninit<T>],
        indices: &'a [N],
    ) -> Option<ItemCopies<'a, N>> {
        // SAFETY: the indexes of a checked permutation are below its length, which is that of the
        // slice. Nobody writes to the slice meanwhile, and the places are elsewhere.
        Some(unsafe { ItemCopies::gather(self.0.start(), indices, places) })
    }
}

/// Copies consecutive items to the places elsewhere at the indexes of a [`CheckedPermutation`]. It
/// holds the start of as many places as the permutation's length, which are used for nothing else.
pub(super) struct Scatter<T>(pub(super) SharedPtr<MaybeUninit<T>>);

impl<T> Scatter<T> {
    #[inline(always)]
    fn scatter<N: Index>(&self, items: &[T], indices: &[N]) {
        for (item, &index) in items.iter().zip(indices) {
            // SAFETY: the indexes of a checked permutation are below its length, which is that of
            // the places.
            let place = unsafe { self.0.at(index.extend() as usize) };
            // SAFETY: the item is initialised and the place is elsewhere. No other thread writes to
            // the place, since a checked permutation has each index once. The copy counts only as
            // bytes until `commit` makes all copies the items at once; or the items are `Copy`, and
            // may be duplicated.
            unsafe { ptr::copy_nonoverlapping(ptr::from_ref(item), place.cast::<T>(), 1) };
        }
    }
}

impl<T> Scatter<T> {
    #[inline(always)]
    fn copies_of<'a, N: Index>(&self, items: &'a [T], indices: &'a [N]) -> ItemCopies<'a, N> {
        // SAFETY: the indexes of a checked permutation are below its length, which is that of the
        // places. It has each index once, so nobody else uses these places, which are elsewhere.
        unsafe { ItemCopies::scatter(items, indices, self.0.start()) }
    }
}

impl<T: Send, N: Index> MoveRun<&mut [T], N> for Scatter<T> {
    #[inline]
    fn move_run(&self, items: &mut [T], indices: &[N]) {
        self.scatter(items, indices);
    }

    #[inline]
    fn copies<'a>(&self, items: &'a mut &mut [T], indices: &'a [N]) -> Option<ItemCopies<'a, N>> {
        Some(self.copies_of(items, indices))
    }
}

impl<T: Copy + Send + Sync, N: Index> MoveRun<&[T], N> for Scatter<T> {
    #[inline]
    fn move_run(&self, items: &[T], indices: &[N]) {
        self.scatter(items, indices);
    }

    #[inline]
    fn copies<'a>(&self, items: &'a mut &[T], indices: &'a [N]) -> Option<ItemCopies<'a, N>> {
        Some(self.copies_of(items, indices))
    }
}
