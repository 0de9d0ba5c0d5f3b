//! The direct strategy for several columns: each run of survivors serves all of them.

use core::marker::PhantomData;
use core::ptr;

use rayon::prelude::*;

use crate::base::check::try_with_capacity;
use crate::base::memory::{Buffer, SharedPtr};
use crate::compact::columns::{Column, ColumnSet, StaticRow, item_bytes};
use crate::compact::cpu::direct::MoveRun;
use crate::compact::cpu::places::Places;
use crate::compact::cpu::tuning;
use crate::error::Error;
use crate::word::Word;

/// Columns whose items are on the move: they are copied, bit by bit, to working memory in their new
/// order, and then all at once put back over the old.
///
/// Until that last step the columns are untouched, and the copies are never dropped, so whenever
/// this is abandoned every item still exists exactly once.
pub(super) struct Copies<'a> {
    columns: Vec<Copied>,
    len: usize,
    /// The size of an item of each column together.
    bytes: usize,
    /// The columns, and the memory for the copies.
    borrowed: PhantomData<&'a mut ()>,
}

/// A column and the room for its items' copies.
struct Copied {
    start: SharedPtr<u8>,
    copy: SharedPtr<u8>,
    /// The size of an item.
    bytes: usize,
}

impl<'a> Copies<'a> {
    /// Gets the memory for the copies of a set of columns.
    pub(super) fn new(
        columns: &'a mut ColumnSet<impl StaticRow>,
        scratch: &'a mut Buffer,
    ) -> Result<Self, Error> {
        let (len, columns) = (columns.len().unwrap_or(0), columns.columns());
        let bytes = item_bytes(columns);
        // The columns are in memory themselves, so that this is less than the largest number.
        let mut copy = scratch.room::<u8>(len * bytes)?.as_mut_ptr().cast::<u8>();
        let mut copied = try_with_capacity(columns.len())?;
        for &Column { start, bytes } in columns {
            copied.push(Copied { start: SharedPtr::new(start), copy: SharedPtr::new(copy), bytes });
            copy = copy.wrapping_add(len * bytes);
        }
        Ok(Self { columns: copied, len, bytes, borrowed: PhantomData })
    }

    /// All the places.
    pub(super) fn places(&self) -> RowRange {
        RowRange { first: 0, len: self.len, bytes: self.bytes }
    }

    /// Puts the copies back over the columns.
    ///
    /// # Safety
    ///
    /// Each item has been copied to one place of its column's copy, and each such place has an
    /// item's copy.
    pub(super) unsafe fn commit(self) {
        // Nothing in here can unwind, so no column is ever left half overwritten. (A pool that
        // cannot be started makes rayon panic, so it is asked for first.)
        rayon::current_num_threads();
        let put_back = |first: usize, count: usize| {
            for Copied { start, copy, bytes } in &self.columns {
                // SAFETY: `put_back` is called for items below the columns' length, which is the
                // copies' too.
                let from = unsafe { copy.at(first * bytes) };
                // SAFETY: the column has as many items as its copy, so this is below its length.
                let to = unsafe { start.at(first * bytes) };
                // SAFETY: there are `count` items from the first on in both. All the copies are
                // initialised, and together they are all the items, by the caller's promise, so
                // that nothing is lost by overwriting the originals, which are forgotten and not
                // dropped.
                unsafe { ptr::copy_nonoverlapping(from, to, count * bytes) };
            }
        };
        if tuning::is_sequential(self.len, self.bytes) {
            put_back(0, self.len);
        } else {
            let chunk = tuning::MOVE_CHUNK;
            (0..self.len.div_ceil(chunk)).into_par_iter().for_each(|number| {
                let first = number * chunk;
                put_back(first, (self.len - first).min(chunk));
            });
        }
    }
}

/// Some rows: a place of each column.
pub(super) struct RowRange {
    first: usize,
    len: usize,
    /// The size of a row.
    bytes: usize,
}

impl Places for RowRange {
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

/// Runs code with the size of an item as a constant, if it is a usual one, and with the size itself
/// if not.
macro_rules! with_size {
    ($bytes:expr, $size:ident => $code:expr) => {
        with_size!(@ $bytes, $size, $code, 1 2 4 8 12 16 24 32 48 64)
    };
    (@ $bytes:expr, $size:ident, $code:expr, $($usual:literal)+) => {
        match $bytes {
            $($usual => { let $size = $usual; $code })+
            $size => $code,
        }
    };
}

/// Copies the items at the indexes of a [`CheckedPermutation`] of the columns' length to places of
/// the copies.
///
/// [`CheckedPermutation`]: crate::compact::cpu::permutation::CheckedPermutation
pub(super) struct Gather<'a>(pub(super) &'a Copies<'a>);

impl<N: Word> MoveRun<RowRange, N> for Gather<'_> {
    fn move_run(&self, rows: RowRange, indices: &[N]) {
        assert_eq!(rows.len, indices.len());
        for (first, indices) in runs(rows.first, indices) {
            for Copied { start, copy, bytes } in &self.0.columns {
                with_size!(*bytes, size => for (place, &index) in (first..).zip(indices) {
                    // SAFETY: the indexes of a checked permutation are below its length, which is
                    // the column's.
                    let from = unsafe { start.at(index.widen() as usize * size) };
                    // SAFETY: rows are cut from those below the columns' length, which is the
                    // copies' too.
                    let to = unsafe { copy.at(place * size) };
                    // SAFETY: the item is initialised and nobody writes to the column meanwhile;
                    // the place is in this run alone. What is made is only bytes, until `commit`
                    // turns all of them at once into the items.
                    unsafe { ptr::copy_nonoverlapping(from, to, size) };
                });
            }
        }
    }
}

/// Copies items to the places of the copies at the indexes of a [`CheckedPermutation`] of the
/// columns' length.
///
/// [`CheckedPermutation`]: crate::compact::cpu::permutation::CheckedPermutation
pub(super) struct Scatter<'a>(pub(super) &'a Copies<'a>);

impl<N: Word> MoveRun<RowRange, N> for Scatter<'_> {
    fn move_run(&self, rows: RowRange, indices: &[N]) {
        assert_eq!(rows.len, indices.len());
        for (first, indices) in runs(rows.first, indices) {
            for Copied { start, copy, bytes } in &self.0.columns {
                with_size!(*bytes, size => for (place, &index) in (first..).zip(indices) {
                    // SAFETY: the places are below the permutation's length, which is the column's.
                    let from = unsafe { start.at(place * size) };
                    // SAFETY: the indexes of a checked permutation are below its length, too.
                    let to = unsafe { copy.at(index.widen() as usize * size) };
                    // SAFETY: the item is initialised. No other thread writes to the place, since a
                    // checked permutation has each index once. What is made is only bytes, until
                    // `commit` turns all of them at once into the items.
                    unsafe { ptr::copy_nonoverlapping(from, to, size) };
                });
            }
        }
    }
}

/// Cuts indexes in runs that stay in the first-level cache while all columns are gone through.
fn runs<N>(first: usize, indices: &[N]) -> impl Iterator<Item = (usize, &[N])> {
    (first..).step_by(tuning::RUN).zip(indices.chunks(tuning::RUN))
}
