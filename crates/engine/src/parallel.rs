//! Tasks for all threads of the pool.
//!
//! What rayon does for a closure is compiled anew for each closure: some two thousand lines of
//! LLVM's language, a third of all code of the crate's users that shuffle items of several types.
//! Here it is compiled once, for a task that is called through a pointer. A task takes microseconds
//! at least, so the indirect call costs nothing in comparison.

use core::ops::Range;

use super::crew;
use super::memory::SharedPtr;

/// Calls a task with each number below `count`, each of which may be another thread's.
pub fn each(count: usize, task: &(dyn Fn(usize) + Sync)) {
    // The pool's only thread would have to be woken, and do all of it.
    if rayon_core::current_num_threads() == 1 {
        (0..count).for_each(task);
    } else if !crew::each(count, task) {
        each_in(0..count, task);
    }
}

fn each_in(Range { start, end }: Range<usize>, task: &(dyn Fn(usize) + Sync)) {
    if end - start > 1 {
        let middle = start.midpoint(end);
        rayon_core::join(|| each_in(start..middle, task), || each_in(middle..end, task));
    } else if start < end {
        task(start);
    }
}

/// Calls a task with each item of a slice and its number.
pub fn each_mut<T: Send>(items: &mut [T], task: impl Fn(usize, &mut T) + Sync) {
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
pub fn each_of<T: Send>(mut values: Vec<T>, task: impl Fn(T) + Sync) {
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
pub fn each_chunk<T: Send>(items: &mut [T], size: usize, task: impl Fn(usize, &mut [T]) + Sync) {
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

/// Writes each place's number, as `word` makes it, to the place.
pub fn count_up<N: Send>(out: &mut [N], word: impl Fn(u64) -> N + Sync) {
    const PIECE: usize = 1 << 15;
    each_chunk(out, PIECE, |piece, out| {
        let places = piece as u64 * PIECE as u64..;
        out.iter_mut().zip(places).for_each(|(out, place)| *out = word(place));
    });
}

/// Who does what a function does in parallel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workers {
    /// Threads of the pool, as they come.
    Pool,
    /// Threads that stay awake meanwhile, if the pool has many. No task of the function may wait
    /// in the pool, and so none may call code that is not of these packages: a thread that waits
    /// there may begin a broadcast of rayon's, which waits for the crew's leader.
    Crew,
}

/// Runs a function that does some things in parallel, and so would enter the pool again and again:
/// on the calling thread if this leads a crew, or else on a thread of the pool.
pub fn inside<R: Send>(workers: Workers, run: impl FnOnce() -> R + Send) -> R {
    let (mut run, mut result) = (Some(run), None);
    enter(workers, &mut || result = run.take().map(|run| run()));
    result.expect("the function has run")
}

/// The number of crews that this thread has led, by which tests see whether a call has one.
pub fn crews_led() -> usize {
    crew::count()
}

fn enter(workers: Workers, run: &mut (dyn FnMut() + Send)) {
    // A thread of the pool may have to be woken, and then this one, too.
    if workers == Workers::Pool || !crew::lead(run) {
        rayon_core::scope(|_| run());
    }
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
        for workers in [Workers::Pool, Workers::Crew] {
            assert_eq!(inside(workers, || numbers.len()), 1000);
        }
    }

    #[test]
    fn values_are_dropped_by_their_tasks() {
        let value = std::sync::Arc::new(());
        each_of(vec![value.clone(); 100], drop);
        assert_eq!(std::sync::Arc::strong_count(&value), 1);
    }
}
