//! Shuffling each row of a matrix by a permutation of its own.

use rayon::prelude::*;

use super::Batch;
use super::rows::{SEQUENTIAL_ITEMS, task_rows};
use crate::bijection::{FromSeed, Standard, draw_exchanges};
use crate::compact::{Compactor, Cpu, Workspace};
use crate::error::Error;

/// Shuffles row `r` of `items` by permutation `r` of a batch. `items` consists of whole rows.
///
/// # Errors
///
/// [`Error::OutOfMemory`]; each row is then either shuffled or unchanged.
pub(crate) fn shuffle_rows<T: Send>(batch: &Batch, items: &mut [T]) -> Result<(), Error> {
    let len = batch.len;
    if len <= 1 || items.is_empty() {
        return Ok(());
    }
    if len as u64 <= Standard::EXACT_MAX {
        shuffle_short_rows(batch, items);
        return Ok(());
    }
    let bijection = |row: usize| Standard::from_seed(len as u64, batch.seed.epoch(row as u64));
    if items.len() / len < rayon::current_num_threads() {
        // All threads shuffle each row together.
        let mut rows = items.chunks_exact_mut(len).enumerate();
        return rows.try_for_each(|(row, items)| Cpu.shuffle(&bijection(row), items));
    }
    items
        .par_chunks_exact_mut(len)
        .enumerate()
        .try_for_each_init(Workspace::new, |workspace, (row, items)| {
            workspace.shuffle(&bijection(row), items)
        })
}

/// Shuffles rows that are drawn exactly: the exchanges that would make the permutation are applied
/// to the items themselves.
fn shuffle_short_rows<T: Send>(batch: &Batch, items: &mut [T]) {
    let len = batch.len;
    let domain = Standard::key_domain(len as u64);
    let shuffle = |(row, items): (usize, &mut [T])| {
        let mut stream = batch.seed.epoch(row as u64).key_stream(domain);
        draw_exchanges(len, &mut stream, |a, b| items.swap(a, b));
    };
    if items.len() < SEQUENTIAL_ITEMS {
        items.chunks_exact_mut(len).enumerate().for_each(shuffle);
    } else {
        let rows = items.par_chunks_exact_mut(len).enumerate();
        rows.with_min_len(task_rows(len)).for_each(shuffle);
    }
}
