//! Moving the items of several columns.
//!
//! The strategies see columns as addresses and item sizes, and copy bits, as they do for one slice.
//! So the engine is compiled once, and not for each combination of types. Only the innermost loop,
//! which reads a record's fields, is compiled for their sizes where the compiler knows them. The
//! staged copy of fields of any size, which serves rows whose width is known at run time only,
//! costs half as much again as the whole sort (`benches/notes/views.md`).
//!
//! In the partitioned strategy the items at one place travel together, as a
//! [record](record::Record). It is assembled while the columns are read in order, and taken apart
//! while they are written in order. Evaluating, sorting and placing are those of one array of
//! records, or of several arrays if the items do not fit one record.
//!
//! In the direct strategy each run of survivors serves all columns, one after the other. Along
//! cycles, the items at one place move together.

mod direct;
mod partitioned;
mod record;

use self::direct::{Copies, GatherColumns, ScatterColumns};
use super::checked_permutation::CheckedPermutation;
use super::cycles;
use super::workspace::Workspace;
use crate::compact::columns::{ColumnSet, Columns, StaticRow, item_bytes};
use crate::compact::{Direction, Order, passes};
use crate::engine::parallel;
use crate::{Bijection, Error};

impl Workspace {
    /// Shuffles several columns in the order of a seed or of a bijection: item `p[k]` of each
    /// column moves to its place `k`. See [`Columns`] for what a column may be.
    ///
    /// In the [partitioned](crate::Strategy::Partitioned) strategy the columns' items at one place
    /// travel together as one record of up to 64 bytes, for which the bijection is evaluated once;
    /// more bytes travel as several records. The working memory is that for slices of such records.
    /// (Records of columns whose sizes the compiler does not know, such as [`Rows`](crate::Rows),
    /// have 4, 8, 12, 16, 24, 32, 48 or 64 bytes.) `Auto` chooses it at half the number of bytes at
    /// which it would for a single slice. In the direct strategy the working memory is one copy of
    /// all columns. A column of more than 64 bytes an item, such as wide [`Rows`](crate::Rows), is
    /// not sorted: from 192 bytes at one place on, all columns are moved [in
    /// place](crate::Strategy::InPlace), along the cycles of the permutation.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the columns are not of one length; otherwise those of
    /// [`shuffle`](Self::shuffle). After an error the columns are unchanged.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::bijection::Lcg;
    /// use bijective_shuffle::prelude::*;
    ///
    /// let f = Lcg::new(3, 5, 3)?; // 3 0 5 2 7 4 1 6
    /// let mut letters = ['a', 'b', 'c', 'd', 'e'];
    /// let mut numbers = vec![0_u8, 1, 2, 3, 4];
    /// let mut workspace = Workspace::new();
    /// workspace.shuffle_together(&f, (&mut letters, &mut numbers))?;
    /// assert_eq!(letters, ['d', 'a', 'c', 'e', 'b']);
    /// assert_eq!(numbers, [3, 0, 2, 4, 1]);
    /// workspace.unshuffle_together(&f, (&mut letters, &mut numbers))?;
    /// assert_eq!(letters, ['a', 'b', 'c', 'd', 'e']);
    ///
    /// workspace.shuffle_together(42, (&mut letters, &mut numbers))?;
    /// assert_eq!(numbers, [0, 1, 2, 3, 4].par_bijective_shuffled(42));
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn shuffle_together<'a>(
        &mut self,
        order: impl Into<Order<'a>>,
        columns: impl Columns,
    ) -> Result<(), Error> {
        self.reorder_set(order.into(), ColumnSet::new(columns)?, Direction::Shuffle)
    }

    /// Undoes [`shuffle_together`](Self::shuffle_together): item `k` of each column moves to its
    /// place `p[k]`.
    ///
    /// # Errors
    ///
    /// As [`shuffle_together`](Self::shuffle_together).
    pub fn unshuffle_together<'a>(
        &mut self,
        order: impl Into<Order<'a>>,
        columns: impl Columns,
    ) -> Result<(), Error> {
        self.reorder_set(order.into(), ColumnSet::new(columns)?, Direction::Unshuffle)
    }

    /// Moves the items of several columns by the permutation of an order, in a given direction.
    fn reorder_set(
        &mut self,
        order: Order,
        mut columns: ColumnSet<impl StaticRow>,
        direction: Direction,
    ) -> Result<(), Error> {
        let chosen = order.for_len(columns.len().unwrap_or(0) as u64);
        self.reorder_together(chosen.bijection(), &mut columns, direction)
    }

    /// Moves the items of several columns by the permutation that a bijection compacts to, in a
    /// given direction.
    ///
    /// # Errors
    ///
    /// As [`Compactor::shuffle`](crate::Compactor::shuffle). After an error, or a panic of the
    /// bijection, the columns are unchanged.
    pub(crate) fn reorder_together(
        &mut self,
        bijection: &dyn Bijection,
        columns: &mut ColumnSet<impl StaticRow>,
        direction: Direction,
    ) -> Result<(), Error> {
        if columns.is_nothing() {
            return columns.check_domain(bijection.last());
        }
        let len = columns.len().unwrap_or(0);
        passes::reorder(bijection, len, direction, &mut |bijection, direction| {
            self.reorder_together_at_once(bijection, columns, direction)
        })
    }

    /// [`reorder_together`](Self::reorder_together) for columns of some size, not by passes.
    fn reorder_together_at_once(
        &mut self,
        bijection: &dyn Bijection,
        columns: &mut ColumnSet<impl StaticRow>,
        direction: Direction,
    ) -> Result<(), Error> {
        let p = CheckedPermutation::new(bijection, columns.len().unwrap_or(0))?;
        let bytes = item_bytes(columns.columns());
        let mut reorder = || {
            if partitioned::reorder(&p, direction, columns, self)? {
                return Ok(());
            }
            if self.strategy.follows_cycles(&p, bytes) {
                let (listed, tiles) = (columns.columns(), &mut self.partition.tiles);
                let buffers = &mut self.cycles;
                // SAFETY: the set borrows its columns mutably, all of which have the permutation's
                // length, and the strategy has checked that this is at most 2^32.
                let moved = unsafe { cycles::reorder(&p, direction, listed, tiles, buffers) };
                if self.settle_cycles(moved)? {
                    return Ok(());
                }
            }
            let copies = Copies::new(columns, &mut self.scratch)?;
            let (places, tiles) = (copies.places(), &mut self.partition.tiles);
            match direction {
                Direction::Shuffle => p.for_each_run(places, tiles, &GatherColumns(&copies))?,
                Direction::Unshuffle => p.for_each_run(places, tiles, &ScatterColumns(&copies))?,
            }
            // SAFETY: `p` has each index exactly once, and each place was in exactly one run. So
            // each item has been copied once, and each place of the copies holds an item.
            unsafe { copies.commit() };
            Ok(())
        };
        if p.is_parallel(bytes) { parallel::inside(p.workers(), reorder) } else { reorder() }
    }
}
