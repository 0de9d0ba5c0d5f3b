//! Records: the items of several columns at one place, side by side.
//!
//! Columns are turned into records, and back, a run at a time: column by column and in pieces of
//! fixed size, so that the innermost loops have no branches.

use core::mem::MaybeUninit;
use core::ptr;

use crate::compact::columns::{Column, item_bytes};
use crate::compact::cpu::tuning;
use crate::engine::stream::{LINE, stream};

/// `BYTES` bytes of items, side by side.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Record<const BYTES: usize>([MaybeUninit<u8>; BYTES]);

/// Runs code with a constant: the size of the smallest record that holds `$bytes`. Runs the other
/// code if no record does.
macro_rules! with_record {
    ($bytes:expr, $constant:ident => $code:expr, else $other:expr) => {
        with_record!(@ $bytes, $constant, $code, $other,
            1..=4 => 4, 5..=8 => 8, 9..=12 => 12, 13..=16 => 16, 17..=24 => 24, 25..=32 => 32,
            33..=48 => 48, 49..=64 => 64)
    };
    (@ $bytes:expr, $constant:ident, $code:expr, $other:expr, $($range:pat => $size:literal),+) => {
        match $bytes {
            $($range => { const $constant: usize = $size; $code })+
            _ => $other,
        }
    };
}
pub(super) use with_record;

/// Columns whose items are put together in records, with the size of a record: at least that of the
/// items.
#[derive(Clone, Copy)]
pub(super) struct RecordColumns<'a> {
    columns: &'a [Column],
    record: usize,
}

impl<'a> RecordColumns<'a> {
    /// The layout of the columns' items, in order, in records of `record` bytes.
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

    /// Assembles `count` records from the columns' items from `first` on.
    ///
    /// # Safety
    ///
    /// Each column has `count` items from `first` on, to which nobody writes meanwhile, and
    /// `records` has room for `count` records.
    #[inline]
    pub(crate) unsafe fn pack(self, first: usize, count: usize, records: *mut u8) {
        for (column, offset) in self.fields() {
            let Column { bytes, .. } = column;
            let (items, records) = (column.item(first), records.wrapping_add(offset));
            // SAFETY: the caller promises `count` items from `first` on, and room for as many
            // records, which do not overlap the columns. In each record the item lies at the
            // column's offset, and ends within the record.
            unsafe { copy_items(items, bytes, records, self.record, bytes, count) };
        }
    }

    /// Writes the items in `count` records to the columns, from place `first` on, with non-temporal
    /// stores.
    ///
    /// # Safety
    ///
    /// Each column has `count` places from `first` on, which nobody else uses meanwhile, and there
    /// are `count` records.
    #[inline]
    pub(crate) unsafe fn stream(self, first: usize, count: usize, records: *const u8) {
        let mut room = [MaybeUninit::<u8>::uninit(); MOST_AT_ONCE * tuning::LARGEST_ITEM];
        for start in (0..count).step_by(tuning::RECORDS) {
            for (column, offset) in self.fields() {
                // Runs end at the end of a cache line of the column, where items ever end there, so
                // that only whole lines are written.
                let skip = column.to_line(first);
                let from = if start == 0 { 0 } else { (start + skip).min(count) };
                let end = start + tuning::RECORDS;
                let end = if end >= count { count } else { (end + skip).min(count) };
                let Column { bytes, .. } = column;
                let items = &mut room[..(end - from) * bytes];
                let records = records.wrapping_add(from * self.record + offset);
                let room = items.as_mut_ptr().cast();
                // SAFETY: the caller promises `count` records. These are the ones before `end`, and
                // an item at the column's offset lies within its record. The room holds
                // `MOST_AT_ONCE` items of the largest size, and a run has no more than that.
                unsafe { copy_items(records, self.record, room, bytes, bytes, end - from) };
                let to = column.item(first + from).cast();
                // SAFETY: the caller promises `count` places from `first` on, which nobody else
                // uses. Those of this run are among them.
                let to = unsafe { core::slice::from_raw_parts_mut(to, items.len()) };
                stream(items, to);
            }
        }
    }
}

/// The most records that are taken apart at a time: up to a line's worth more than a run.
const MOST_AT_ONCE: usize = tuning::RECORDS + LINE;

impl Column {
    /// The address of an item.
    pub(crate) fn item(self, index: usize) -> *mut u8 {
        self.start.wrapping_add(index * self.bytes)
    }

    /// The number of items from `index` on to the first that begins a cache line; 0 if none does.
    fn to_line(self, index: usize) -> usize {
        let begins = |items: &usize| self.item(index + items).addr().is_multiple_of(LINE);
        (0..LINE).find(begins).unwrap_or(0)
    }
}

/// Copies `count` items of `bytes` bytes, which are `from_step` bytes apart, to places that are
/// `to_step` bytes apart.
///
/// # Safety
///
/// All items can be read and all places written, and no item overlaps a place.
#[inline]
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
                // SAFETY: the caller promises item `k` and its place, which do not overlap, and no
                // piece is longer than what is left of the item.
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
