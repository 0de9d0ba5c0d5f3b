//! Tasks for all threads of the pool.
//!
//! What rayon does for a closure is compiled anew for each closure: some two thousand lines of
//! LLVM's language, a third of all code of the crate's users that shuffle items of several types.
//! Here it is compiled once, for a task that is called through a pointer. A task is worth at least
//! some microseconds, of which the call is nothing.

use core::ops::Range;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::memory::SharedPtr;

/// Calls a task with each number below `count`, each of which may be another thread's.
pub(crate) fn each(count: usize, task: &(dyn Fn(usize) + Sync)) {
    (0..count).into_par_iter().with_max_len(1).for_each(task);
}

/// Calls a task with each item of a slice and its number.
pub(crate) fn each_mut<T: Send>(items: &mut [T], task: impl Fn(usize, &mut T) + Sync) {
    let start = SharedPtr::new(items.as_mut_ptr());
    each(items.len(), &|number| {
        // SAFETY: `number` is below the slice's length.
        let item = unsafe { start.at(number) };
        // SAFETY: the slice is borrowed mutably for this whole call, and `each` passes each number
        // once, so nobody else has a reference to the item.
        task(number, unsafe { &mut *item });
    });
}

/// Calls a task with each of some values. If a task panics, values that no task has got yet are
/// not dropped.
pub(crate) fn each_of<T: Send>(mut values: Vec<T>, task: impl Fn(T) + Sync) {
    let count = values.len();
    // SAFETY: a vector may have any length up to its present one. From here on it owns no value,
    // so that each value has one owner: the task that reads it.
    unsafe { values.set_len(0) };
    let start = SharedPtr::new(values.as_mut_ptr());
    each(count, &|number| {
        // SAFETY: `number` is below the number of values, whose memory the vector keeps.
        let value = unsafe { start.at(number) };
        // SAFETY: there is a value there, and `each` passes each number once, so nobody else reads
        // the value or drops it.
        task(unsafe { value.read() });
    });
}

/// Calls a task with each piece of `size` items of a slice and the piece's number. The last piece
/// may be shorter.
///
/// # Panics
///
/// If `size` is 0.
pub(crate) fn each_chunk<T: Send>(
    items: &mut [T],
    size: usize,
    task: impl Fn(usize, &mut [T]) + Sync,
) {
    let (len, start) = (items.len(), SharedPtr::new(items.as_mut_ptr()));
    each(len.div_ceil(size), &|number| {
        let first = number * size;
        // SAFETY: there are as many pieces as begin below the slice's length.
        let piece = unsafe { start.at(first) };
        // SAFETY: the piece ends at the slice's end at the latest. The slice is borrowed mutably
        // for this whole call, and pieces of different numbers, each of which is passed once, have
        // no item in common.
        let piece = unsafe { core::slice::from_raw_parts_mut(piece, size.min(len - first)) };
        task(number, piece);
    });
}

/// Appends the values of a function at each number below `count`, in order. They are computed in
/// pieces of `piece` numbers, each of which may be another thread's. If the function panics, the
/// values that there are by then are dropped, and the vector is as it was.
///
/// # Panics
///
/// If `piece` is 0.
pub(crate) fn extend<T: Send>(
    out: &mut Vec<T>,
    count: usize,
    piece: usize,
    value: impl Fn(usize) -> T + Sync,
) {
    out.reserve(count);
    let len = out.len();
    let start = SharedPtr::new(out.spare_capacity_mut().as_mut_ptr().cast::<T>());
    let mut made = Made { start, pieces: Mutex::new(Vec::new()) };
    each(count.div_ceil(piece), &|number| {
        let first = number * piece;
        let mut part = Part { made: &made, piece: first..first };
        for number in first..first + piece.min(count - first) {
            // SAFETY: the vector has room for `count` values more.
            let room = unsafe { made.start.at(number) };
            // SAFETY: pieces of different numbers, each of which is passed once, have no number in
            // common, and nothing else writes to the vector's memory.
            unsafe { room.write(value(number)) };
            part.piece.end = number + 1;
        }
    });
    made.pieces.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
    // SAFETY: no task has panicked, so each number below `count` has its value, and nobody else
    // drops it any more.
    unsafe { out.set_len(len + count) };
}

/// Values that belong to nobody yet. Dropping it drops them.
struct Made<T: Send> {
    start: SharedPtr<T>,
    /// The numbers of the values, if dropping one does anything.
    pieces: Mutex<Vec<Range<usize>>>,
}

impl<T: Send> Drop for Made<T> {
    fn drop(&mut self) {
        let pieces = self.pieces.get_mut().unwrap_or_else(PoisonError::into_inner);
        for number in pieces.drain(..).flatten() {
            // SAFETY: the number is one of a value that was written.
            let value = unsafe { self.start.at(number) };
            // SAFETY: pieces have no number in common, so the value is dropped once.
            unsafe { value.drop_in_place() };
        }
    }
}

/// The values that a task has made. They are announced when it ends, also by a panic.
struct Part<'a, T: Send> {
    made: &'a Made<T>,
    piece: Range<usize>,
}

impl<T: Send> Drop for Part<'_, T> {
    fn drop(&mut self) {
        if core::mem::needs_drop::<T>() {
            let pieces = &self.made.pieces;
            pieces.lock().unwrap_or_else(PoisonError::into_inner).push(self.piece.clone());
        }
    }
}

/// Runs a function on a thread of the pool, so that what it does in parallel begins there. The
/// calling thread may be one.
pub(crate) fn inside<R: Send>(run: impl FnOnce() -> R + Send) -> R {
    let (mut run, mut result) = (Some(run), None);
    enter(&mut || result = run.take().map(|run| run()));
    result.expect("the function has run")
}

fn enter(run: &mut (dyn FnMut() + Send)) {
    rayon::scope(|_| run());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_is_passed_once() {
        let mut numbers = vec![0; 1000];
        each_mut(&mut numbers, |number, item| *item += number);
        assert!(numbers.iter().copied().eq(0..1000));
        let out = std::sync::Mutex::new(Vec::new());
        each_of(numbers.iter().map(|n| n.to_string()).collect(), |text| {
            out.lock().unwrap().push(text);
        });
        let mut out: Vec<usize> =
            out.into_inner().unwrap().iter().map(|text| text.parse().unwrap()).collect();
        out.sort_unstable();
        assert_eq!(out, numbers);
        for (len, size) in [(0, 3), (1, 3), (9, 3), (10, 3), (1000, 7)] {
            let mut items = vec![0; len];
            each_chunk(&mut items, size, |number, piece| {
                assert!(piece.len() == size || number == len / size);
                piece.iter_mut().for_each(|item| *item += number + 1);
            });
            assert!(items.iter().enumerate().all(|(k, &item)| item == k / size + 1));
        }
        assert_eq!(inside(|| numbers.len()), 1000);
    }

    #[test]
    fn values_are_appended_in_order() {
        let mut nothing = Vec::new();
        extend(&mut nothing, 1000, usize::MAX, drop::<usize>);
        assert_eq!(nothing.len(), 1000);
        for (count, piece) in [(0, 3), (1, 3), (9, 3), (10, 3), (1000, 7)] {
            let mut out = vec!["first".to_string()];
            extend(&mut out, count, piece, |number| number.to_string());
            assert_eq!(out.remove(0), "first");
            assert!(out.iter().map(|text| text.parse::<usize>().unwrap()).eq(0..count));
        }
    }

    #[test]
    fn values_that_a_panic_leaves_are_dropped() {
        let value = std::sync::Arc::new(());
        let mut out = vec![value.clone()];
        let panics = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| {
            extend(&mut out, 1000, 7, |number| {
                assert_ne!(number, 600, "on purpose");
                value.clone()
            });
        }));
        assert!(panics.is_err());
        assert_eq!(out.len(), 1);
        assert_eq!(std::sync::Arc::strong_count(&value), 2);
    }

    #[test]
    fn values_are_dropped_by_their_tasks() {
        let value = std::sync::Arc::new(());
        each_of(vec![value.clone(); 100], drop);
        assert_eq!(std::sync::Arc::strong_count(&value), 1);
    }
}
