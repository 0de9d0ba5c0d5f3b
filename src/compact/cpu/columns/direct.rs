//! The direct strategy for several columns: each run of survivors moves the items of all of them.

use core::marker::PhantomData;
use core::ptr;

use crate::Error;
use crate::compact::columns::{Column, ColumnSet, StaticRow, item_bytes};
use crate::compact::cpu::direct::MoveRun;
use crate::compact::cpu::places::RowRange;
use crate::compact::cpu::tuning;
use crate::engine::check::try_with_capacity;
use crate::engine::memory::{Buffer, SharedPtr};
use crate::engine::parallel;
use crate::engine::word::Index;

/// Columns whose items are being moved. They are copied, as bits, to working memory in their new
/// order, and then all copied back at once.
///
/// Until that last step the columns are untouched, and the copies are never dropped. So every item
/// still exists exactly once if this is abandoned at any time.
pub(super) struct Copies<'a> {
    columns: Vec<Copied>,
    len: usize,
    /// The bytes of one item of every column together.
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
    /// Allocates the memory for the copies of a set of columns.
    pub(super) fn new(
        columns: &'a mut ColumnSet<impl StaticRow>,
        scratch: &'a mut Buffer,
    ) -> Result<Self, Error> {
        let (len, columns) = (columns.len().unwrap_or(0), columns.columns());
        let bytes = item_bytes(columns);
        // The columns themselves are in memory, so the product does not overflow.
        let mut copy = scratch.room::<u8>(len * bytes)?.as_mut_ptr().cast::<u8>();
        let mut copied = try_with_capacity(columns.len())?;
        for &Column { start, bytes } in columns {
            copied.push(Copied { start: SharedPtr::new(start), copy: SharedPtr::new(copy), bytes });
            copy = copy.wrapping_add(len * bytes);
        }
        Ok(Self { columns: copied, len, bytes, borrowed: PhantomData })
    }

    /// All rows.
    pub(super) fn places(&self) -> RowRange {
        RowRange { first: 0, len: self.len, bytes: self.bytes }
    }

    /// Copies the items back over the columns, in their new order.
    ///
    /// # Safety
    ///
    /// Each item has been copied to exactly one place of its column's copy, and each place of a
    /// copy holds an item.
    pub(super) unsafe fn commit(self) {
        // Nothing below can unwind, so no column is ever left half overwritten. (Rayon panics if it
        // cannot start its pool, so the pool is started first.)
        rayon::current_num_threads();
        let put_back = |first: usize, count: usize| {
            for Copied { start, copy, bytes } in &self.columns {
                // SAFETY: `put_back` is called for items below `len`, and the copy has `len` items.
                let from = unsafe { copy.at(first * bytes) };
                // SAFETY: the column has `len` items too, and `first` is below `len`.
                let to = unsafe { start.at(first * bytes) };
                // SAFETY: both have `count` items from `first` on, in separate memory. The caller
                // promises that the copies are initialised and together are all the items, so
                // overwriting the originals without dropping them loses no item and duplicates
                // none.
                unsafe { ptr::copy_nonoverlapping(from, to, count * bytes) };
            }
        };
        if tuning::is_sequential(self.len, self.bytes) {
            put_back(0, self.len);
        } else {
            let chunk = tuning::MOVE_CHUNK;
            parallel::each(self.len.div_ceil(chunk), &|number| {
                let first = number * chunk;
                put_back(first, (self.len - first).min(chunk));
            });
        }
    }
}

/// Runs code with the size of an item as a constant if it is a common one, and as a variable
/// otherwise.
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

/// Copies the items at the indexes of a [`CheckedPermutation`] of the columns' length to
/// consecutive places of the copies.
///
/// [`CheckedPermutation`]: crate::compact::cpu::checked_permutation::CheckedPermutation
pub(super) struct GatherColumns<'a>(pub(super) &'a Copies<'a>);

impl<N: Index> MoveRun<RowRange, N> for GatherColumns<'_> {
    fn move_run(&self, rows: RowRange, indices: &[N]) {
        assert_eq!(rows.len, indices.len());
        for (first, indices) in runs(rows.first, indices) {
            for Copied { start, copy, bytes } in &self.0.columns {
                with_size!(*bytes, size => for (place, &index) in (first..).zip(indices) {
                    // SAFETY: the indexes of a checked permutation are below its length, which is
                    // that of the column.
                    let from = unsafe { start.at(index.extend() as usize * size) };
                    // SAFETY: rows are cut from those below the columns' length, and the copies
                    // have that length too.
                    let to = unsafe { copy.at(place * size) };
                    // SAFETY: the item is initialised and nobody writes to the column meanwhile;
                    // the place belongs to this run alone, so no other thread writes to it. The
                    // copy counts only as bytes until `commit` makes all copies the items at once.
                    unsafe { ptr::copy_nonoverlapping(from, to, size) };
                });
            }
        }
    }
}

/// Copies consecutive items to the places of the copies at the indexes of a [`CheckedPermutation`]
/// of the columns' length.
///
/// [`CheckedPermutation`]: crate::compact::cpu::checked_permutation::CheckedPermutation
pub(super) struct ScatterColumns<'a>(pub(super) &'a Copies<'a>);

impl<N: Index> MoveRun<RowRange, N> for ScatterColumns<'_> {
    fn move_run(&self, rows: RowRange, indices: &[N]) {
        assert_eq!(rows.len, indices.len());
        for (first, indices) in runs(rows.first, indices) {
            for Copied { start, copy, bytes } in &self.0.columns {
                with_size!(*bytes, size => for (place, &index) in (first..).zip(indices) {
                    // SAFETY: the places are below the permutation's length, which is that of the
                    // column.
                    let from = unsafe { start.at(place * size) };
                    // SAFETY: the indexes of a checked permutation are below its length, which is
                    // that of the copies.
                    let to = unsafe { copy.at(index.extend() as usize * size) };
                    // SAFETY: the item is initialised. No other thread writes to the place, since a
                    // checked permutation has each index once. The copy counts only as bytes until
                    // `commit` makes all copies the items at once.
                    unsafe { ptr::copy_nonoverlapping(from, to, size) };
                });
            }
        }
    }
}

/// Cuts indexes into runs that stay in the L1 cache while every column uses them.
fn runs<N>(first: usize, indices: &[N]) -> impl Iterator<Item = (usize, &[N])> {
    (first..).step_by(tuning::RUN).zip(indices.chunks(tuning::RUN))
}
