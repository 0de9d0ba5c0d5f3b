//! Records: the items of several columns at one place, put together.
//!
//! Columns are turned into records, and back, a run at a time: column by column, piece by piece, so that the innermost
//! loops have nothing to decide.

use core::mem::MaybeUninit;
use core::ptr;

use super::frame::Column;
use crate::compact::cpu::tuning;

/// Bytes of items, side by side.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Record<const BYTES: usize>([MaybeUninit<u8>; BYTES]);

/// Runs code with a constant of as many bytes as a record has, if there is such a record, and other code if not.
macro_rules! with_record {
    ($bytes:expr, $constant:ident => $code:expr, else $other:expr) => {
        with_record!(@ $bytes, $constant, $code, $other, 4 8 12 16 20 24 28 32 40 48 56 64)
    };
    (@ $bytes:expr, $constant:ident, $code:expr, $other:expr, $($size:literal)+) => {
        match $bytes {
            $($size => { const $constant: usize = $size; $code })+
            _ => $other,
        }
    };
}
pub(super) use with_record;

/// How large a record for so many bytes is.
fn record_bytes(bytes: usize) -> usize {
    match bytes {
        0..=32 => bytes.next_multiple_of(4),
        _ if bytes <= tuning::LARGEST_ITEM => bytes.next_multiple_of(8),
        _ => bytes,
    }
}

/// Columns whose items are put together in one record.
#[derive(Debug)]
pub(super) struct Group {
    fields: Vec<Field>,
    /// The size of a record. If it is more than [`tuning::LARGEST_ITEM`], there is one column.
    pub(super) bytes: usize,
}

/// A column, and where its item is in a record.
#[derive(Debug)]
struct Field {
    column: Column,
    offset: usize,
}

impl Group {
    /// Puts columns into groups, in order: as many in each as a record of [`tuning::LARGEST_ITEM`] holds.
    pub(super) fn all(columns: &[Column]) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for &column in columns {
            match groups.last_mut() {
                Some(group) if group.bytes + column.bytes <= tuning::LARGEST_ITEM => {
                    group.fields.push(Field { column, offset: group.bytes });
                    group.bytes += column.bytes;
                }
                _ => {
                    let fields = vec![Field { column, offset: 0 }];
                    groups.push(Self { fields, bytes: column.bytes });
                }
            }
        }
        for group in &mut groups {
            group.bytes = record_bytes(group.bytes);
        }
        groups
    }

    /// The column, if it is one, and its items are the records.
    pub(super) fn plain(&self) -> Option<Column> {
        match &self.fields[..] {
            [field] if field.column.bytes == self.bytes => Some(field.column),
            _ => None,
        }
    }

    /// Puts the columns' items from the first on together in so many records.
    ///
    /// # Safety
    ///
    /// There are so many items, which nobody writes to, and room for so many records.
    #[inline]
    pub(super) unsafe fn pack(&self, first: usize, count: usize, records: *mut u8) {
        for Field { column, offset } in &self.fields {
            let items = column.start.wrapping_add(first * column.bytes);
            let records = records.wrapping_add(*offset);
            // SAFETY: the caller's promise; an item is within its record.
            unsafe { copy_items(items, column.bytes, records, self.bytes, column.bytes, count) };
        }
    }

    /// Puts the items in the records back into the columns, from the first place on.
    ///
    /// # Safety
    ///
    /// There are so many places, which nobody else uses, and so many records.
    #[inline]
    pub(super) unsafe fn unpack(&self, first: usize, count: usize, records: *const u8) {
        for number in 0..self.fields.len() {
            // SAFETY: the caller's promise.
            unsafe { self.unpack_field(number, first, count, records) };
        }
    }

    /// How many columns there are.
    pub(super) fn fields(&self) -> usize {
        self.fields.len()
    }

    /// The address of a column's item.
    pub(super) fn place(&self, field: usize, index: usize) -> (*mut u8, usize) {
        let Column { start, bytes } = self.fields[field].column;
        (start.wrapping_add(index * bytes), bytes)
    }

    /// [`unpack`](Self::unpack) for one of the columns.
    ///
    /// # Safety
    ///
    /// As it.
    #[inline]
    unsafe fn unpack_field(&self, field: usize, first: usize, count: usize, records: *const u8) {
        let (items, _) = self.place(field, first);
        // SAFETY: the caller's promise.
        unsafe { self.unpack_to(field, count, records, items) };
    }

    /// Copies a column's items in so many records to other memory, one after the other.
    ///
    /// # Safety
    ///
    /// There are so many records, and room for so many items.
    #[inline]
    pub(super) unsafe fn unpack_to(
        &self,
        field: usize,
        count: usize,
        records: *const u8,
        items: *mut u8,
    ) {
        let Field { column, offset } = &self.fields[field];
        let records = records.wrapping_add(*offset);
        // SAFETY: the caller's promise; an item is within its record.
        unsafe { copy_items(records, self.bytes, items, column.bytes, column.bytes, count) };
    }
}

/// Copies items of so many bytes, one every `from_step` bytes, to places that are `to_step` bytes apart.
///
/// # Safety
///
/// They are there, and do not overlap.
#[inline]
unsafe fn copy_items(
    from: *const u8,
    from_step: usize,
    to: *mut u8,
    to_step: usize,
    bytes: usize,
    count: usize,
) {
    if from_step == bytes && to_step == bytes {
        // SAFETY: the caller's promise.
        unsafe { ptr::copy_nonoverlapping(from, to, count * bytes) };
        return;
    }
    let mut done = 0;
    while done < bytes {
        let (from, to) = (from.wrapping_add(done), to.wrapping_add(done));
        // SAFETY: the caller's promise, since no piece is more than what is left.
        done += unsafe { copy_largest_piece(from, from_step, to, to_step, bytes - done, count) };
    }
}

/// Copies the largest piece of every item that is copied at once, and says how large it is.
///
/// # Safety
///
/// As [`copy_items`].
#[inline]
unsafe fn copy_largest_piece(
    from: *const u8,
    from_step: usize,
    to: *mut u8,
    to_step: usize,
    bytes: usize,
    count: usize,
) -> usize {
    macro_rules! largest_of {
        ($($piece:literal)+) => {
            match bytes {
                $($piece.. => {
                    // SAFETY: the caller's promise.
                    unsafe { copy_pieces::<$piece>(from, from_step, to, to_step, count) };
                    $piece
                })+
                0 => 0,
            }
        };
    }
    largest_of!(16 8 4 2 1)
}

/// Copies pieces of a constant size.
///
/// # Safety
///
/// As [`copy_items`].
#[inline]
unsafe fn copy_pieces<const BYTES: usize>(
    from: *const u8,
    from_step: usize,
    to: *mut u8,
    to_step: usize,
    count: usize,
) {
    for k in 0..count {
        let (from, to) = (from.wrapping_add(k * from_step), to.wrapping_add(k * to_step));
        // SAFETY: the caller's promise.
        unsafe { ptr::copy_nonoverlapping(from, to, BYTES) };
    }
}
