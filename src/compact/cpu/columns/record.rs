//! Records: the items of several columns at one place, put together.
//!
//! Columns are turned into records, and back, a run at a time: column by column, piece by piece, so
//! that the innermost loops have nothing to decide.

use core::mem::MaybeUninit;
use core::ptr;

use crate::base::stream::{LINE, stream};
use crate::compact::columns::{Column, item_bytes};
use crate::compact::cpu::tuning;

/// So many bytes of items, side by side.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Record<const BYTES: usize>([MaybeUninit<u8>; BYTES]);

/// Runs code with a constant: the bytes of the record that holds `$bytes`; other code, if there is
/// no such record.
macro_rules! with_record {
    ($bytes:expr, $constant:ident => $code:expr, else $other:expr) => {
        with_record!(@ $bytes, $constant, $code, $other,
            1..=4 => 4, 5..=8 => 8, 9..=12 => 12, 13..=16 => 16, 17..=24 => 24, 25..=32 => 32, 33..=48 => 48,
            49..=64 => 64)
    };
    (@ $bytes:expr, $constant:ident, $code:expr, $other:expr, $($range:pat => $size:literal),+) => {
        match $bytes {
            $($range => { const $constant: usize = $size; $code })+
            _ => $other,
        }
    };
}
pub(super) use with_record;

/// Columns whose items are put together in records of that many bytes, or more.
#[derive(Clone, Copy)]
pub(super) struct Layout<'a> {
    columns: &'a [Column],
    record: usize,
}

impl<'a> Layout<'a> {
    /// The items of the columns in order, in records that they fit.
    pub(crate) fn new(columns: &'a [Column], record: usize) -> Self {
        assert!(item_bytes(columns) <= record);
        assert!(record <= tuning::LARGEST_ITEM);
        Self { columns, record }
    }

    /// The size of a record.
    pub(crate) fn record(self) -> usize {
        self.record
    }

    /// The columns, each with its items' offset in a record.
    fn fields(self) -> impl Iterator<Item = (Column, usize)> {
        self.columns.iter().scan(0, |end, &column| {
            let offset = *end;
            *end += column.bytes;
            Some((column, offset))
        })
    }

    /// Puts the columns' items from the first on together in `count` records.
    ///
    /// # Safety
    ///
    /// There are `count` items from the first on, which nobody writes to, and room for `count`
    /// records.
    pub(crate) unsafe fn pack(self, first: usize, count: usize, records: *mut u8) {
        for (column, offset) in self.fields() {
            let Column { bytes, .. } = column;
            let (items, records) = (column.item(first), records.wrapping_add(offset));
            // SAFETY: the caller promises `count` items from the first on, and room for as many
            // records, in each of which the item lies at the column's offset.
            unsafe { copy_items(items, bytes, records, self.record, bytes, count) };
        }
    }

    /// Writes the items in `count` records to the columns, from a place on, past the caches.
    ///
    /// # Safety
    ///
    /// There are `count` places from the first on, which nobody else uses, and `count` records.
    pub(crate) unsafe fn stream(self, first: usize, count: usize, records: *const u8) {
        let mut room = [MaybeUninit::<u8>::uninit(); MOST_AT_ONCE * tuning::LARGEST_ITEM];
        for start in (0..count).step_by(tuning::RECORDS) {
            for (column, offset) in self.fields() {
                // Runs end where a line of the column does, if items ever do, so that only whole
                // lines are written.
                let skip = column.to_line(first);
                let from = if start == 0 { 0 } else { (start + skip).min(count) };
                let end = start + tuning::RECORDS;
                let end = if end >= count { count } else { (end + skip).min(count) };
                let Column { bytes, .. } = column;
                let items = &mut room[..(end - from) * bytes];
                let records = records.wrapping_add(from * self.record + offset);
                let room = items.as_mut_ptr().cast();
                // SAFETY: the caller's promise; an item is within its record, and there is room for
                // so many.
                unsafe { copy_items(records, self.record, room, bytes, bytes, end - from) };
                let to = column.item(first + from).cast();
                // SAFETY: the caller promises `count` places from the first on, which nobody else
                // uses; those of this run are among them.
                let to = unsafe { core::slice::from_raw_parts_mut(to, items.len()) };
                stream(items, to);
            }
        }
    }
}

/// How many records are taken apart at a time.
const MOST_AT_ONCE: usize = tuning::RECORDS + LINE;

impl Column {
    /// The address of an item.
    pub(crate) fn item(self, index: usize) -> *mut u8 {
        self.start.wrapping_add(index * self.bytes)
    }

    /// How many items from one on it is to one that begins a line of the cache; 0 if there is none.
    fn to_line(self, index: usize) -> usize {
        let begins = |items: &usize| self.item(index + items).addr().is_multiple_of(LINE);
        (0..LINE).find(begins).unwrap_or(0)
    }
}

/// Copies `count` items of `bytes` bytes, one every `from_step` bytes, to places that are `to_step`
/// bytes apart.
///
/// # Safety
///
/// They are there, and do not overlap.
unsafe fn copy_items(
    from: *const u8,
    from_step: usize,
    to: *mut u8,
    to_step: usize,
    bytes: usize,
    count: usize,
) {
    macro_rules! pieces {
        ($bytes:literal, $done:expr) => {
            for k in 0..count {
                let from = from.wrapping_add(k * from_step + $done);
                let to = to.wrapping_add(k * to_step + $done);
                // SAFETY: the caller's promise, and no piece is more than what is left of the item.
                unsafe { ptr::copy_nonoverlapping(from, to, $bytes) };
            }
        };
    }
    let mut done = 0;
    while done < bytes {
        done += match bytes - done {
            16.. => {
                pieces!(16, done);
                16
            }
            12..16 => {
                pieces!(12, done);
                12
            }
            8..12 => {
                pieces!(8, done);
                8
            }
            4..8 => {
                pieces!(4, done);
                4
            }
            2..4 => {
                pieces!(2, done);
                2
            }
            _ => {
                pieces!(1, done);
                1
            }
        };
    }
}
