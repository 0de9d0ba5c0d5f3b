//! The memory that items are read from and written to: a slice, or several columns at once. The
//! strategies see it only through these traits.

use core::mem::MaybeUninit;
use core::ptr;

use super::tuning;
use crate::engine::memory::SharedPtr;
use crate::engine::stream::stream;

/// Consecutive places, which can be cut and then shared among threads.
pub(super) trait DivisiblePlaces: Send + Sized {
    fn len(&self) -> usize;

    /// The number of bytes at one place.
    fn item_bytes(&self) -> usize;

    /// Cuts the places into the first `count` and the others.
    ///
    /// # Panics
    ///
    /// If there are fewer than `count`.
    fn cut(self, count: usize) -> (Self, Self);

    /// Whether there are too few to share among threads.
    fn is_sequential(&self) -> bool {
        tuning::is_sequential(self.len(), self.item_bytes())
    }
}

impl<P: Send> DivisiblePlaces for &mut [P] {
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

/// Consecutive rows, by their numbers. A row is one place of each of some columns.
pub(super) struct RowRange {
    pub(super) first: usize,
    pub(super) len: usize,
    /// The size of a row.
    pub(super) bytes: usize,
}

impl DivisiblePlaces for RowRange {
    fn len(&self) -> usize {
        self.len
    }

    fn item_bytes(&self) -> usize {
        self.bytes
    }

    fn cut(self, count: usize) -> (Self, Self) {
        assert!(count <= self.len);
        let rest = Self { first: self.first + count, len: self.len - count, ..self };
        (Self { len: count, ..self }, rest)
    }
}

/// Places that are only read.
impl<P: Sync> DivisiblePlaces for &[P] {
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
        self.split_at(count)
    }
}

/// Items of type T, or records of several columns' bits, that several threads can read in order.
pub(super) trait ItemSource<T>: Sync {
    /// Memory in which records are assembled.
    type Room;

    /// The most items that are read at a time.
    const RUN: usize = tuning::RUN;

    fn room() -> Self::Room;

    /// Prepares a run of `count` items from `first` on. It must be called before any of them is
    /// copied. By default nothing is to be prepared.
    ///
    /// # Safety
    ///
    /// There are `count` items from `first` on, `count` is at most [`RUN`](Self::RUN), and nobody
    /// writes to the items meanwhile.
    #[inline(always)]
    unsafe fn prepare(&self, _first: usize, _count: usize, _room: &mut Self::Room) {}

    /// Copies the bytes of item `first + k` to a place that need not be aligned.
    ///
    /// # Safety
    ///
    /// The item is in the run that was prepared last, with the same `first` and `room`, and `place`
    /// has room for an item, outside the source.
    unsafe fn copy(&self, first: usize, k: usize, room: &Self::Room, place: *mut u8);
}

/// A slice, given by its start.
impl<T: Send> ItemSource<T> for SharedPtr<T> {
    type Room = ();

    #[inline(always)]
    fn room() {}

    #[inline(always)]
    unsafe fn copy(&self, first: usize, k: usize, (): &(), place: *mut u8) {
        // SAFETY: the caller promises that item `first + k` is in the run that was prepared, and so
        // in the slice.
        let item = unsafe { self.at(first + k) };
        // SAFETY: the item is in the slice, to which nobody writes, and the caller promises room
        // for it at the place, which is outside the slice. Bytes need no alignment.
        unsafe { ptr::copy_nonoverlapping(item.cast(), place, size_of::<T>()) };
    }
}

/// The numbers of items instead of items: item `k` is `k`. There are at most 2^32.
pub(super) struct ItemNumbers;

impl ItemSource<MaybeUninit<u32>> for ItemNumbers {
    type Room = ();

    #[inline(always)]
    fn room() {}

    #[inline(always)]
    unsafe fn copy(&self, first: usize, k: usize, (): &(), place: *mut u8) {
        // SAFETY: the caller promises room for an item at the place.
        unsafe { place.cast::<u32>().write_unaligned((first + k) as u32) };
    }
}

/// Places to which items of type T, or records, are written in order.
pub(super) trait ItemTarget<T>: DivisiblePlaces {
    /// Fills the places with as many items, with non-temporal stores. Other threads see them after
    /// [`publish`](crate::engine::stream::publish).
    fn stream(self, items: &[MaybeUninit<T>]);
}

/// Places of a slice that is not borrowed, so that its items can be read until the places are
/// written to.
pub(super) struct Span<T> {
    start: *mut MaybeUninit<T>,
    len: usize,
}

// SAFETY: by the promise to `new` nobody else uses the places, and the items that are written to
// them are `Send`.
unsafe impl<T: Send> Send for Span<T> {}

impl<T> Span<T> {
    /// # Safety
    ///
    /// The places stay valid as long as this span and those cut from it are written to, and from
    /// the first write on nobody else uses them.
    pub(super) unsafe fn new(places: *mut [MaybeUninit<T>]) -> Self {
        Self { start: places.cast(), len: places.len() }
    }
}

impl<T: Send> DivisiblePlaces for Span<T> {
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

impl<T: Send> ItemTarget<T> for Span<T> {
    fn stream(self, items: &[MaybeUninit<T>]) {
        // SAFETY: by the promise to `new` the places are valid and nobody else uses them, and `cut`
        // gives each place to one span only.
        let places = unsafe { core::slice::from_raw_parts_mut(self.start, self.len) };
        stream(items, places);
    }
}
