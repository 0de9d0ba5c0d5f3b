//! Shuffling each row of a matrix by a permutation of its own, and undoing it.

use rayon::prelude::*;

use super::Batch;
use super::rows::{SEQUENTIAL_ITEMS, task_rows};
use crate::base::parallel;
use crate::bijection::{FromSeed, Standard, draw_exchanges};
use crate::compact::{Direction, Workspace};
use crate::error::Error;

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
    if len as u64 <= Standard::EXACT_MAX {
        reorder_short_rows(batch, items, direction);
        return Ok(());
    }
    let reorder = |workspace: &mut Workspace, row: usize, items: &mut [T]| {
        let bijection = Standard::from_seed(len as u64, batch.seed.epoch(row as u64));
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

/// The same for rows that are drawn exactly: the exchanges that would make the permutation are
/// applied to the items themselves, or, to undo them, from the last to the first.
fn reorder_short_rows<T: Send>(batch: &Batch, items: &mut [T], direction: Direction) {
    let len = batch.len;
    let domain = Standard::key_domain(len as u64);
    let reorder = |(row, items): (usize, &mut [T])| {
        let mut stream = batch.seed.epoch(row as u64).key_stream(domain);
        match direction {
            Direction::Shuffle => draw_exchanges(len, &mut stream, |a, b| items.swap(a, b)),
            Direction::Unshuffle => {
                let mut exchanges = [(0, 0); Standard::EXACT_MAX as usize];
                let mut count = 0;
                draw_exchanges(len, &mut stream, |a, b| {
                    exchanges[count] = (a, b);
                    count += 1;
                });
                exchanges[..count].iter().rev().for_each(|&(a, b)| items.swap(a, b));
            }
        }
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
