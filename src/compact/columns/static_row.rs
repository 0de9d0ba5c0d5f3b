//! [`StaticRow`]: columns whose item sizes the compiler knows, so that a record is assembled by a
//! few moves.

use core::mem::MaybeUninit;
use core::ptr;

use super::tuples::for_tuples;

/// The addresses of columns. At each index there is a row: one item of each column.
///
/// # Safety
///
/// `load` writes exactly `size_of::<Record>()` bytes: the columns' items in order, without padding
/// between them.
pub unsafe trait StaticRow: Copy + Send + Sync {
    /// A type of the size of one item of each column together.
    type Record: Send;

    /// Whether the compiler knows the sizes of all items.
    const IS_KNOWN: bool;

    /// Copies the columns' items at an index to `record`, which need not be aligned.
    ///
    /// # Safety
    ///
    /// Every column has an item at the index, nobody writes to those items meanwhile, and `record`
    /// is valid for writes of a whole record.
    unsafe fn load(self, index: usize, record: *mut u8);
}

/// Columns whose number or sizes the compiler does not know.
#[derive(Clone, Copy, Debug)]
pub struct UnknownRow;

// SAFETY: a record of type `()` has no bytes, and `load` writes none.
unsafe impl StaticRow for UnknownRow {
    type Record = ();

    const IS_KNOWN: bool = false;

    unsafe fn load(self, _: usize, _: *mut u8) {}
}

/// The address of a slice's first item.
#[derive(Debug)]
pub struct ColumnStart<T>(pub(super) *const T);

impl<T> Clone for ColumnStart<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for ColumnStart<T> {}

// SAFETY: sending the pointer only copies an address; code that dereferences it has its own
// argument. Copying an item's bits on another thread moves the item there, which `T: Send` allows.
unsafe impl<T: Send> Send for ColumnStart<T> {}
// SAFETY: a shared `ColumnStart` gives out only copies of the pointer. Code that dereferences a
// copy moves items, for which `T: Send` is enough, and has to ensure that no two threads use one
// place.
unsafe impl<T: Send> Sync for ColumnStart<T> {}

// SAFETY: a record is one `MaybeUninit<T>`, and `load` writes the `size_of::<T>()` bytes of the one
// column's item to it.
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

// SAFETY: `load` writes the `N` parts one after the other, each a record of `C`. An array has no
// padding between its elements, so they fill the record exactly.
unsafe impl<C: StaticRow, const N: usize> StaticRow for [C; N] {
    type Record = [C::Record; N];

    const IS_KNOWN: bool = C::IS_KNOWN;

    #[inline(always)]
    unsafe fn load(self, index: usize, record: *mut u8) {
        for (k, columns) in self.into_iter().enumerate() {
            // SAFETY: the caller promises the index and room for a record, which consists of `N`
            // records of `C`; this is the `k`-th of them.
            unsafe { columns.load(index, record.wrapping_add(k * size_of::<C::Record>())) };
        }
    }
}

/// Two values one after the other, without padding.
#[derive(Debug)]
#[repr(C, packed)]
pub struct PackedPair<A, B>(A, B);

macro_rules! packed {
    ($first:ident $($column:ident)*) => { PackedPair<$first::Record, packed!($($column)*)> };
    () => { () };
}

macro_rules! tuples {
    ($(($($column:ident)+))+) => {$(
        // SAFETY: `load` writes the columns' records one after the other. `packed!` nests them in
        // `PackedPair`s, which have no padding, so they fill the record exactly.
        unsafe impl<$($column: StaticRow),+> StaticRow for ($($column,)+) {
            type Record = packed!($($column)+);

            const IS_KNOWN: bool = $($column::IS_KNOWN)&&+;

            #[inline(always)]
            unsafe fn load(self, index: usize, record: *mut u8) {
                #[expect(non_snake_case, reason = "values by the names of their types")]
                let ($($column,)+) = self;
                let mut offset = 0;
                $(
                    // SAFETY: the caller promises the index and room for a whole record, in which
                    // each column's part begins where the part before it ends.
                    unsafe { $column.load(index, record.wrapping_add(offset)) };
                    offset += size_of::<$column::Record>();
                )+
                debug_assert_eq!(offset, size_of::<Self::Record>());
            }
        }
    )+};
}

for_tuples!(tuples);
