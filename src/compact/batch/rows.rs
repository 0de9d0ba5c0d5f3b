//! Rows are shared among the threads of the current pool.

use rayon::prelude::*;

use super::{Batch, Drawer};
use crate::bijection::{Bijection, FromSeed, Standard};
use crate::compact::cpu::direct;
use crate::compact::try_with_capacity;
use crate::error::Error;
use crate::word::Word;

/// How many items a thread draws at a time, in whole rows: some ten microseconds of work. No other number was tried.
const TASK_ITEMS: usize = 1 << 14;

/// Fewer items than this are drawn by the calling thread alone. So many, in rows of 32, take one thread 9 microseconds, and
/// to wake another takes ten or more (`cpu/tuning.rs`).
const SEQUENTIAL_ITEMS: usize = 1 << 14;

/// Rows of a task are a multiple of this: as many as are drawn side by side.
const TOGETHER: usize = 64;

/// Bytes of the rows that another engine draws at a time.
const DRAWN_BYTES: usize = 64 << 20;

/// How many rows are a task.
fn task_rows(len: usize) -> usize {
    (TASK_ITEMS / len.max(1)).next_multiple_of(TOGETHER).max(1)
}

/// Writes rows from `first` on over all of `out`, which consists of whole rows.
///
/// # Errors
///
/// [`Error::OutOfMemory`].
pub(crate) fn fill<N: Word>(batch: &Batch, first: u64, out: &mut [N]) -> Result<(), Error> {
    let len = batch.len;
    if len == 0 || out.is_empty() {
        return Ok(());
    }
    let threads = rayon::current_num_threads();
    if out.len() < SEQUENTIAL_ITEMS || threads == 1 {
        return Drawer::new(batch).draw(first, out);
    }
    if direct::is_parallel(len as u64 - 1) && out.len() / len < threads {
        // Fewer rows than threads, so all threads draw each row together.
        return out.chunks_exact_mut(len).zip(first..).try_for_each(|(out, row)| {
            let f = Standard::from_seed(len as u64, batch.seed.epoch(row));
            f.trusted().map_or(Ok(()), |f| direct::fill_trusted(&f, out))
        });
    }
    let task = task_rows(len);
    out.par_chunks_mut(task * len).enumerate().try_for_each_init(
        || Drawer::new(batch),
        |drawer, (number, out)| drawer.draw(first + (number * task) as u64, out),
    )
}

/// What a function makes of each row, in the rows' order; rows are drawn just before.
///
/// # Errors
///
/// [`Error::OutOfMemory`].
pub(crate) fn map<N: Word, R: Send>(
    batch: &Batch,
    count: u64,
    visit: impl Fn(u64, &[N]) -> R + Sync,
) -> Result<Vec<R>, Error> {
    let (count, mut all) = room_for_all(count)?;
    let task = task_rows(batch.len);
    let parts = (0..count.div_ceil(task)).into_par_iter().map_init(
        || (Drawer::new(batch), Vec::new()),
        |(drawer, orders), number| {
            let rows = number * task..count.min((number + 1) * task);
            let mut results = try_with_capacity(rows.len())?;
            for first in rows.clone().step_by(TOGETHER) {
                let rows = first..rows.end.min(first + TOGETHER);
                resize(orders, rows.len() * batch.len)?;
                drawer.draw(first as u64, orders)?;
                results.extend(
                    rows.enumerate()
                        .map(|(k, row)| visit(row as u64, &orders[k * batch.len..][..batch.len])),
                );
            }
            Ok(results)
        },
    );
    for part in parts.collect::<Vec<Result<Vec<R>, Error>>>() {
        all.append(&mut part?);
    }
    Ok(all)
}

/// What a function makes of each row, in the rows' order, where rows are drawn many at a time by another engine.
///
/// # Errors
///
/// [`Error::OutOfMemory`], and what `draw` says.
pub(crate) fn map_drawn<N: Word, R: Send>(
    batch: &Batch,
    count: u64,
    draw: impl Fn(u64, &mut [N]) -> Result<(), Error>,
    visit: impl Fn(u64, &[N]) -> R + Sync,
) -> Result<Vec<R>, Error> {
    let (count, mut all) = room_for_all(count)?;
    let together = (DRAWN_BYTES / size_of::<N>() / batch.len.max(1)).max(1);
    let mut orders = Vec::new();
    for first in (0..count).step_by(together) {
        let rows = together.min(count - first);
        resize(&mut orders, rows * batch.len)?;
        draw(first as u64, &mut orders)?;
        let visits = (0..rows)
            .into_par_iter()
            .map(|k| visit((first + k) as u64, &orders[k * batch.len..][..batch.len]));
        all.par_extend(visits);
    }
    Ok(all)
}

/// A number of rows, and an empty vector with room for a result of each.
fn room_for_all<R>(count: u64) -> Result<(usize, Vec<R>), Error> {
    let bytes = count.saturating_mul(size_of::<R>() as u64);
    let count = usize::try_from(count).map_err(|_| Error::OutOfMemory { bytes })?;
    Ok((count, try_with_capacity(count)?))
}

/// Makes a buffer this long.
fn resize<N: Word>(buffer: &mut Vec<N>, len: usize) -> Result<(), Error> {
    if buffer.capacity() < len {
        *buffer = try_with_capacity(len)?;
    }
    buffer.resize(len, N::zero());
    Ok(())
}
