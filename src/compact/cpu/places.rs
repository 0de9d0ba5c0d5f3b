//! Where items are read from and written to: a slice, or several columns at once. The strategies
//! see no more of them than this.

use core::mem::MaybeUninit;
use core::ptr;

use super::tuning;
use crate::base::memory::SharedPtr;
use crate::base::stream::stream;

/// Places in a row, which may be cut and then handed to several threads.
pub(super) trait Places: Send + Sized {
    fn len(&self) -> usize;

    /// The bytes that belong to a place.
    fn item_bytes(&self) -> usize;

    /// The first `count` places, and the others.
    ///
    /// # Panics
    ///
    /// If there are fewer.
    fn cut(self, count: usize) -> (Self, Self);

    /// Whether they are too few to share among threads.
    fn is_sequential(&self) -> bool {
        tuning::is_sequential(self.len(), self.item_bytes())
    }
}

impl<P: Send> Places for &mut [P] {
    #[inline]
    fn len(&self) -> usize {
        <[P]>::len(self)
    }

    #[inline]
    fn item_bytes(&self) -> usize {
        size_of::<P>()
    }

    #[inline]
    fn cut(self, count: usize) -> (Self, Self) {
        self.split_at_mut(count)
    }
}

/// Items of type T, or their bits put together, that can be read in order by several threads.
pub(super) trait Source<T>: Sync {
    /// Where items are put together.
    type Room;

    /// How many are read at a time, at most.
    const RUN: usize;

    fn room() -> Self::Room;

    /// Prepares a run of `count` items from the first on: has to be called before any is copied.
    ///
    /// # Safety
    ///
    /// There are that many items, no more than [`RUN`](Self::RUN), and nobody writes to them
    /// meanwhile.
    unsafe fn prepare(&self, first: usize, count: usize, room: &mut Self::Room);

    /// Copies the bytes of item `first + k` to a place that need not be aligned.
    ///
    /// # Safety
    ///
    /// It is in the run that was prepared last, with the first item and the room; there is so much
    /// room at the place.
    unsafe fn copy(&self, first: usize, k: usize, room: &Self::Room, place: *mut u8);
}

/// A slice, by its start.
impl<T: Send> Source<T> for SharedPtr<T> {
    type Room = ();

    const RUN: usize = tuning::RUN;

    #[inline(always)]
    fn room() {}

    #[inline(always)]
    unsafe fn prepare(&self, _: usize, _: usize, (): &mut ()) {}

    #[inline(always)]
    unsafe fn copy(&self, first: usize, k: usize, (): &(), place: *mut u8) {
        // SAFETY: the caller promises that item `first + k` is in the run that was prepared, and so
        // in the slice.
        let item = unsafe { self.at(first + k) };
        // SAFETY: the item is in the slice, to which nobody writes, and the caller promises room
        // for it at the place, which is elsewhere. Bytes are aligned anywhere.
        unsafe { ptr::copy_nonoverlapping(item.cast(), place, size_of::<T>()) };
    }
}

/// Places that items of type T, or their bits put together, are written to in order.
pub(super) trait Target<T>: Places {
    /// Fills them with as many items, past the caches. Other threads see them after
    /// [`publish`](crate::base::stream::publish).
    fn stream(self, items: &[MaybeUninit<T>]);
}

/// Places of a slice that is not borrowed: until they are written to, its items may be read.
pub(super) struct Span<T> {
    start: *mut MaybeUninit<T>,
    len: usize,
}

// SAFETY: the places are used by nobody else, by the promise to `new`, and only items that may
// change threads are written to them.
unsafe impl<T: Send> Send for Span<T> {}

impl<T> Span<T> {
    /// # Safety
    ///
    /// For as long as spans are cut of it and written to, the places are there, and from the first
    /// write on nobody else uses them.
    pub(super) unsafe fn new(places: *mut [MaybeUninit<T>]) -> Self {
        Self { start: places.cast(), len: places.len() }
    }
}

impl<T: Send> Places for Span<T> {
    fn len(&self) -> usize {
        self.len
    }

    fn item_bytes(&self) -> usize {
        size_of::<T>()
    }

    fn cut(self, count: usize) -> (Self, Self) {
        assert!(count <= self.len);
        let rest = self.start.wrapping_add(count);
        (Self { len: count, ..self }, Self { start: rest, len: self.len - count })
    }
}

impl<T: Send> Target<T> for Span<T> {
    fn stream(self, items: &[MaybeUninit<T>]) {
        // SAFETY: the places are there, and this span alone has them.
        let places = unsafe { core::slice::from_raw_parts_mut(self.start, self.len) };
        stream(items, places);
    }
}
