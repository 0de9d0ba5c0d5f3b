//! Shuffling each row of a matrix by a permutation of its own, and undoing it.

use rayon::prelude::*;

use super::Batch;
use super::rows::{SEQUENTIAL_ITEMS, task_rows};
use crate::bijection::Standard;
use crate::compact::cpu::exact::{exchange, is_exact};
use crate::compact::{Direction, Workspace};
use crate::engine::parallel;
use crate::{Error, FromSeed};

/// Shuffles row `r` of `items` by permutation `r` of a batch, or undoes it. `items` consists of
/// whole rows.
///
/// # Errors
///
/// [`Error::OutOfMemory`]; each row is then either done or unchanged.
pub(crate) fn reorder_rows<T: Send>(
    batch: &Batch,
    items: &mut [T],
    direction: Direction,
) -> Result<(), Error> {
    let len = batch.len;
    if len <= 1 || items.is_empty() {
        return Ok(());
    }
    if is_exact(len) {
        reorder_short_rows(batch, items, direction);
        return Ok(());
    }
    let reorder = |workspace: &mut Workspace, row: usize, items: &mut [T]| {
        let bijection = Standard::from_seed(len as u64, batch.seed.with_epoch(row as u64));
        match direction {
            Direction::Shuffle => workspace.shuffle(&bijection, items),
            Direction::Unshuffle => workspace.unshuffle(&bijection, items),
        }
    };
    if items.len() / len < rayon::current_num_threads() {
        // All threads move each row together.
        let mut workspace = Workspace::new();
        let mut rows = items.chunks_exact_mut(len).enumerate();
        return rows.try_for_each(|(row, items)| reorder(&mut workspace, row, items));
    }
    items
        .par_chunks_exact_mut(len)
        .enumerate()
        .try_for_each_init(Workspace::new, |workspace, (row, items)| reorder(workspace, row, items))
}

/// The same for rows that are drawn exactly.
fn reorder_short_rows<T: Send>(batch: &Batch, items: &mut [T], direction: Direction) {
    let len = batch.len;
    let reorder = |(row, items): (usize, &mut [T])| {
        exchange(&batch.seed.with_epoch(row as u64), items, direction);
    };
    if items.len() < SEQUENTIAL_ITEMS {
        items.chunks_exact_mut(len).enumerate().for_each(reorder);
    } else {
        let task = task_rows(len);
        parallel::each_chunk(items, task * len, |number, items| {
            (number * task..).zip(items.chunks_exact_mut(len)).for_each(reorder);
        });
    }
}
