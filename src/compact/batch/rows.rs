//! Sharing rows among the threads of the current pool.

use core::ops::Range;

use rayon::prelude::*;

use super::Batch;
use super::drawer::Drawer;
use crate::bijection::Standard;
use crate::compact::cpu::direct;
use crate::engine::check::{try_with_capacity, try_with_capacity_u64};
use crate::engine::memory::Buffer;
use crate::{Bijection, Error, FromSeed, Word};

/// The number of items that a thread draws at a time, in whole rows: some ten microseconds of work.
/// No other number was tried.
const TASK_ITEMS: usize = 1 << 14;

/// Fewer items than this are drawn by the calling thread alone. In rows of 32, this many take one
/// thread 9 microseconds; waking another thread takes ten or more (`cpu/tuning.rs`).
pub(super) const SEQUENTIAL_ITEMS: usize = 1 << 14;

/// The number of rows that are drawn side by side. A task's rows are a multiple of it.
const TOGETHER: usize = 64;

/// Tasks per thread whose results are collected before they are appended to those of earlier tasks:
/// enough that the wait for the last of them is negligible.
const TASKS_AT_ONCE: u64 = 256;

/// The number of rows in a task.
pub(super) fn task_rows(len: usize) -> usize {
    (TASK_ITEMS / len.max(1)).next_multiple_of(TOGETHER).max(1)
}

/// Writes the rows from `first` on over all of `out`, which consists of whole rows.
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
        let mut memory = Buffer::new();
        return out.chunks_exact_mut(len).zip(first..).try_for_each(|(out, row)| {
            let f = Standard::from_seed(len as u64, batch.seed.with_epoch(row));
            f.trusted().map_or(Ok(()), |f| direct::fill_trusted(&f, out, &mut memory))
        });
    }
    let task = task_rows(len);
    out.par_chunks_mut(task * len).enumerate().try_for_each_init(
        || Drawer::new(batch),
        |drawer, (number, out)| drawer.draw(first + (number * task) as u64, out),
    )
}

/// Maps each row by a function and collects the results in the order of the rows. A row is drawn
/// just before it is visited, so memory does not grow with the rows.
///
/// # Errors
///
/// [`Error::OutOfMemory`].
pub(crate) fn map<N: Word, R: Send>(
    batch: &Batch,
    count: u64,
    visit: impl Fn(u64, &[N]) -> R + Sync,
) -> Result<Vec<R>, Error> {
    let mut all = try_with_capacity_u64(count)?;
    let tasks = RowTasks::new(batch, count);
    let at_once = TASKS_AT_ONCE * rayon::current_num_threads() as u64;
    let mut first = 0;
    while first < tasks.count() {
        let end = tasks.count().min(first.saturating_add(at_once));
        // At most `at_once` tasks, so their number fits a usize.
        let parts = (0..(end - first) as usize).into_par_iter().panic_fuse().map_init(
            || Visitor::new(batch),
            |visitor, number| {
                let rows = tasks.rows(first + number as u64);
                let mut results = try_with_capacity((rows.end - rows.start) as usize)?;
                visitor.visit(rows, |row, order| results.push(visit(row, order)))?;
                Ok(results)
            },
        );
        for part in parts.collect::<Vec<Result<Vec<R>, Error>>>() {
            all.append(&mut part?);
        }
        first = end;
    }
    Ok(all)
}

/// Calls a function for each row, in any order and in constant memory. A row is drawn just before
/// it is visited.
///
/// # Errors
///
/// [`Error::OutOfMemory`].
pub(crate) fn for_each<N: Word>(
    batch: &Batch,
    count: u64,
    visit: impl Fn(u64, &[N]) + Sync,
) -> Result<(), Error> {
    let tasks = RowTasks::new(batch, count);
    // Without `panic_fuse`, a panic would reach the caller only after all other rows.
    (0..tasks.count()).into_par_iter().panic_fuse().try_for_each_init(
        || Visitor::new(batch),
        |visitor, number| visitor.visit(tasks.rows(number), &visit),
    )
}

/// Rows cut into tasks, each for one thread.
#[derive(Clone, Copy)]
struct RowTasks {
    rows: u64,
    task: u64,
}

impl RowTasks {
    fn new(batch: &Batch, rows: u64) -> Self {
        Self { rows, task: task_rows(batch.len) as u64 }
    }

    fn count(self) -> u64 {
        self.rows.div_ceil(self.task)
    }

    /// The rows of task `number`, which must exist.
    fn rows(self, number: u64) -> Range<u64> {
        let first = number * self.task;
        first..self.rows.min(first.saturating_add(self.task))
    }
}

/// What a thread needs to draw rows and pass them to a function.
struct Visitor<'a, N> {
    batch: &'a Batch,
    drawer: Drawer,
    orders: Vec<N>,
}

impl<'a, N: Word> Visitor<'a, N> {
    fn new(batch: &'a Batch) -> Self {
        Self { batch, drawer: Drawer::new(batch), orders: Vec::new() }
    }

    fn visit(&mut self, rows: Range<u64>, mut visit: impl FnMut(u64, &[N])) -> Result<(), Error> {
        let len = self.batch.len;
        let mut first = rows.start;
        while first < rows.end {
            let count = (rows.end - first).min(TOGETHER as u64);
            // A task has more than one row only where rows are short.
            resize(&mut self.orders, count as usize * len)?;
            self.drawer.draw(first, &mut self.orders)?;
            for k in 0..count as usize {
                visit(first + k as u64, &self.orders[k * len..][..len]);
            }
            first += count;
        }
        Ok(())
    }
}

/// Makes a buffer `len` words long.
fn resize<N: Word>(buffer: &mut Vec<N>, len: usize) -> Result<(), Error> {
    if buffer.capacity() < len {
        *buffer = try_with_capacity(len)?;
    }
    buffer.resize(len, N::ZERO);
    Ok(())
}
