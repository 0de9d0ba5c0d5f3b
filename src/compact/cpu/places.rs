//! Where items are read from and written to: a slice, or several columns at once. The strategies see no more of them
//! than this.

use core::mem::MaybeUninit;

use super::memory::Base;
use super::stream::stream;
use super::tuning;

/// Places in a row, which may be cut and then handed to several threads.
pub(in crate::compact) trait Places: Send + Sized {
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
pub(in crate::compact) trait Source<T>: Sync {
    /// Where items are put together.
    type Room;

    /// How many are read at a time, at most.
    const RUN: usize;

    fn room() -> Self::Room;

    /// The address of so many items, from the first on: where they are, or in the room.
    ///
    /// # Safety
    ///
    /// There are so many; nobody writes to them meanwhile; they are no more than [`RUN`](Self::RUN).
    unsafe fn read(&self, first: usize, count: usize, room: &mut Self::Room) -> *const T;
}

/// A slice, by its start.
impl<T: Send> Source<T> for Base<T> {
    type Room = ();

    const RUN: usize = tuning::RUN;

    #[inline(always)]
    fn room() {}

    #[inline(always)]
    unsafe fn read(&self, first: usize, _: usize, (): &mut ()) -> *const T {
        // SAFETY: the caller's promise.
        unsafe { self.at(first) }
    }
}

/// Places that items of type T, or their bits put together, are written to in order.
pub(in crate::compact) trait Target<T>: Places {
    /// Fills them with as many items, past the caches. Other threads see them after
    /// [`publish`](super::stream::publish).
    fn stream(self, items: &[MaybeUninit<T>]);
}

/// Places of a slice that is not borrowed: until they are written to, its items may be read.
pub(in crate::compact) struct Span<T> {
    start: *mut MaybeUninit<T>,
    len: usize,
}

// SAFETY: the places are used by nobody else, by the promise to `new`, and only items that may change threads are
// written to them.
unsafe impl<T: Send> Send for Span<T> {}

impl<T> Span<T> {
    /// # Safety
    ///
    /// For as long as spans are cut of it and written to, the places are there, and from the first write on nobody else
    /// uses them.
    pub(in crate::compact) unsafe fn new(places: *mut [MaybeUninit<T>]) -> Self {
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
