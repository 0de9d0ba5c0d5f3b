//! [`StaticRow`]: columns whose items have sizes that the compiler knows, so that a record is put
//! together by a few moves.

use core::mem::MaybeUninit;
use core::ptr;

use super::tuples::for_tuples;

/// The addresses of columns, at each index of which there is a row: an item of each.
///
/// # Safety
///
/// `load` writes as many bytes as a record has, and no more, and a record has no padding: the
/// columns' items in order.
pub unsafe trait StaticRow: Copy + Send + Sync {
    /// As large as an item of each column together.
    type Record: Send;

    /// Whether the sizes are known.
    const IS_KNOWN: bool;

    /// Copies the columns' items at an index to a record, which need not be aligned.
    ///
    /// # Safety
    ///
    /// There is such an index, nobody writes to the items, and there is so much room.
    unsafe fn load(self, index: usize, record: *mut u8);
}

/// Columns of which too little is known.
#[derive(Clone, Copy, Debug)]
pub struct UnknownRow;

// SAFETY: `load` writes nothing, which is as many bytes as a record of type `()` has.
unsafe impl StaticRow for UnknownRow {
    type Record = ();

    const IS_KNOWN: bool = false;

    unsafe fn load(self, _: usize, _: *mut u8) {}
}

/// The start of a slice.
#[derive(Debug)]
pub struct ColumnStart<T>(pub(super) *const T);

impl<T> Clone for ColumnStart<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for ColumnStart<T> {}

// SAFETY: sharing the pointer is no more than copying it; code that follows it answers for that.
// Copying an item's bits on another thread moves the item there, hence `Send`.
unsafe impl<T: Send> Send for ColumnStart<T> {}
// SAFETY: a shared `ColumnStart` gives nothing but copies of the pointer. Following one moves
// items, for which `Send` is enough, and the one who follows it sees to it that no two threads take
// one place.
unsafe impl<T: Send> Sync for ColumnStart<T> {}

// SAFETY: `load` writes the bytes of one item, which is as many as a record has; it is the one
// column's item.
unsafe impl<T: Send> StaticRow for ColumnStart<T> {
    type Record = MaybeUninit<T>;

    const IS_KNOWN: bool = true;

    #[inline(always)]
    unsafe fn load(self, index: usize, record: *mut u8) {
        // SAFETY: the caller promises that there is an item at the index, so that its address is
        // within the slice.
        let item = unsafe { self.0.add(index) };
        // SAFETY: the caller promises the item and room for a record, which is as large as an item.
        // Bytes are aligned anywhere, and the room is no part of the slice, to which nobody writes.
        unsafe { ptr::copy_nonoverlapping(item.cast(), record, size_of::<T>()) };
    }
}

// SAFETY: one is written after the other; arrays have no padding.
unsafe impl<C: StaticRow, const N: usize> StaticRow for [C; N] {
    type Record = [C::Record; N];

    const IS_KNOWN: bool = C::IS_KNOWN;

    #[inline(always)]
    unsafe fn load(self, index: usize, record: *mut u8) {
        for (k, columns) in self.into_iter().enumerate() {
            // SAFETY: the caller's promise; the record is of N such ones.
            unsafe { columns.load(index, record.wrapping_add(k * size_of::<C::Record>())) };
        }
    }
}

/// One after the other, without padding.
#[derive(Debug)]
#[repr(C, packed)]
pub struct PackedPair<A, B>(A, B);

macro_rules! packed {
    ($first:ident $($column:ident)*) => { PackedPair<$first::Record, packed!($($column)*)> };
    () => { () };
}

macro_rules! tuples {
    ($(($($column:ident)+))+) => {$(
        // SAFETY: one is written after the other, which is how they are packed.
        unsafe impl<$($column: StaticRow),+> StaticRow for ($($column,)+) {
            type Record = packed!($($column)+);

            const IS_KNOWN: bool = $($column::IS_KNOWN)&&+;

            #[inline(always)]
            unsafe fn load(self, index: usize, record: *mut u8) {
                #[expect(non_snake_case, reason = "values by the names of their types")]
                let ($($column,)+) = self;
                let mut offset = 0;
                $(
                    // SAFETY: the caller promises the index and room for a whole record, of which
                    // each column's part begins where those before it end.
                    unsafe { $column.load(index, record.wrapping_add(offset)) };
                    offset += size_of::<$column::Record>();
                )+
                debug_assert_eq!(offset, size_of::<Self::Record>());
            }
        }
    )+};
}

for_tuples!(tuples);
