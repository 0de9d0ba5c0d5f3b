//! The direct strategy for several columns: each run of survivors serves all of them.

use core::ptr;

use rayon::prelude::*;

use super::frame::{Column, item_bytes};
use crate::base::check::try_with_capacity;
use crate::base::memory::{Buffer, SharedPtr};
use crate::compact::cpu::partitioned::Direction;
use crate::compact::cpu::places::Places;
use crate::compact::cpu::tuning;
use crate::compact::relocate::{Plan, Put};
use crate::error::Error;
use crate::word::Word;

/// Columns whose items are on the move: they are copied, bit by bit, to working memory in their new order, and then all
/// at once put back over the old.
///
/// Until that last step the columns are untouched, and the copies are never dropped, so whenever this is abandoned every
/// item still exists exactly once.
pub(super) struct Copies {
    columns: Vec<Copied>,
    len: usize,
}

/// A column and the room for its items' copies.
struct Copied {
    start: SharedPtr<u8>,
    copy: SharedPtr<u8>,
    /// The size of an item.
    bytes: usize,
}

impl Copies {
    /// Gets the memory, of which columns of so many items are in need.
    pub(crate) fn new(columns: &[Column], len: usize, scratch: &mut Buffer) -> Result<Self, Error> {
        let bytes = item_bytes(columns);
        // The columns are in memory themselves, so that this is less than the largest number.
        let mut copy = scratch.room::<u8>(len * bytes)?.as_mut_ptr().cast::<u8>();
        let mut copied = try_with_capacity(columns.len())?;
        for &Column { start, bytes } in columns {
            copied.push(Copied { start: SharedPtr::new(start), copy: SharedPtr::new(copy), bytes });
            copy = copy.wrapping_add(len * bytes);
        }
        Ok(Self { columns: copied, len })
    }

    /// Moves the items by a plan, for their number.
    pub(crate) fn run(
        self,
        plan: &Plan,
        direction: Direction,
        tiles: &mut Buffer,
    ) -> Result<(), Error> {
        assert_eq!(plan.len(), self.len);
        let bytes = self.columns.iter().map(|column| column.bytes).sum();
        let places = Range { first: 0, len: self.len, bytes };
        match direction {
            Direction::Shuffle => plan.hand_out(places, tiles, &Gather(&self))?,
            Direction::Unshuffle => plan.hand_out(places, tiles, &Scatter(&self))?,
        }
        self.commit(bytes);
        Ok(())
    }

    /// Puts the copies, of each item one, back over the columns.
    fn commit(&self, bytes: usize) {
        // Nothing in here can unwind, so no column is ever left half overwritten. (A pool that cannot be started makes
        // rayon panic, so it is asked for first.)
        rayon::current_num_threads();
        let put_back = |first: usize, count: usize| {
            for Copied { start, copy, bytes } in &self.columns {
                // SAFETY: below the column's length.
                let from = unsafe { copy.at(first * bytes) };
                // SAFETY: the column has as many items as its copy, so this is below its length.
                let to = unsafe { start.at(first * bytes) };
                // SAFETY: so many are there. All the copies are initialised, and together they are all the items, so
                // that nothing is lost by overwriting the originals, which are forgotten and not dropped.
                unsafe { ptr::copy_nonoverlapping(from, to, count * bytes) };
            }
        };
        if tuning::is_sequential(self.len, bytes) {
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

/// Places of all columns.
struct Range {
    first: usize,
    len: usize,
    bytes: usize,
}

impl Places for Range {
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

/// Runs code with the size of an item as a constant, if it is a usual one, and with the size itself if not.
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

/// Copies the items at the indexes to working memory.
struct Gather<'a>(&'a Copies);

impl Put<Range> for Gather<'_> {
    fn put<N: Word>(&self, places: Range, indices: &[N]) {
        assert_eq!(places.len, indices.len());
        for (first, indices) in runs(places.first, indices) {
            for Copied { start, copy, bytes } in &self.0.columns {
                with_size!(*bytes, size => for (place, &index) in (first..).zip(indices) {
                    // SAFETY: the indexes of a plan are below its length, which is the column's.
                    let from = unsafe { start.at(index.widen() as usize * size) };
                    // SAFETY: the places are below the length as well.
                    let to = unsafe { copy.at(place * size) };
                    // SAFETY: the item is initialised and nobody writes to the column meanwhile; the place was handed
                    // out to the caller alone. What is made is only bytes, until `commit` turns all of them at once
                    // into the items.
                    unsafe { ptr::copy_nonoverlapping(from, to, size) };
                });
            }
        }
    }
}

/// Copies items to working memory, to the indexes.
struct Scatter<'a>(&'a Copies);

impl Put<Range> for Scatter<'_> {
    fn put<N: Word>(&self, places: Range, indices: &[N]) {
        assert_eq!(places.len, indices.len());
        for (first, indices) in runs(places.first, indices) {
            for Copied { start, copy, bytes } in &self.0.columns {
                with_size!(*bytes, size => for (place, &index) in (first..).zip(indices) {
                    // SAFETY: the places are below the plan's length, which is the column's.
                    let from = unsafe { start.at(place * size) };
                    // SAFETY: and so are its indexes.
                    let to = unsafe { copy.at(index.widen() as usize * size) };
                    // SAFETY: the item is initialised. No other thread writes to the place, since a plan has each
                    // index once. For what the copy is, see `Gather`.
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
