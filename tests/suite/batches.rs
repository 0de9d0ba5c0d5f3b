//! Batches of permutations: more rows than any memory holds, and the rows of a matrix.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use bijective_shuffle::prelude::*;
use rayon::ThreadPoolBuilder;

const MANY: u64 = 1 << 50;

/// It takes constant memory, and ends soon if the function panics.
#[test]
fn more_rows_than_memory_holds_are_visited() {
    for (count, len) in [(MANY, 4), (u64::MAX, 4), (u64::MAX, 300), (u64::MAX, 0), (MANY, 1)] {
        for threads in [1, 3] {
            let seen = AtomicU32::new(0);
            let visit = |row, order: &[u32]| {
                assert!(row < count && order.len() as u64 == len);
                assert!(seen.fetch_add(1, Relaxed) < 5000, "that is enough");
            };
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let permutations = Permutations::new(count, len, 42);
            let visited = catch_unwind(AssertUnwindSafe(|| {
                pool.install(|| permutations.par_for_each(visit))
            }));
            let payload = visited.unwrap_err();
            let text = payload.downcast_ref::<&str>().unwrap();
            assert_eq!(*text, "that is enough");
        }
    }
}

#[test]
fn results_that_no_memory_holds_are_refused() {
    let permutations = Permutations::new(MANY, 4, 42);
    let called = AtomicU32::new(0);
    let error = permutations.par_map(|row, _: &[u32]| {
        called.fetch_add(1, Relaxed);
        [row; 16]
    });
    assert_eq!(error.unwrap_err(), Error::OutOfMemory { bytes: 1 << 57 });
    let error = Permutations::new(u64::MAX, 4, 42).par_map(|row, _: &[u32]| row);
    assert_eq!(error.unwrap_err(), Error::OutOfMemory { bytes: u64::MAX });
    assert_eq!(called.load(Relaxed), 0);
    // Rows that no memory holds, either.
    let rows = Permutations::new(2, 1 << 60, 42).par_for_each(|_, _: &[u64]| ());
    assert!(matches!(rows, Err(Error::OutOfMemory { .. })));
    assert!(matches!(permutations.try_to_vec(), Err(Error::OutOfMemory { .. })));
}

/// Results of no size take no memory, but a panic is passed on. A `usize` has to count them.
#[cfg(target_pointer_width = "64")]
#[test]
fn results_of_no_size_are_not_laid_out() {
    let seen = AtomicU32::new(0);
    let visit = |_, _: &[u32]| assert!(seen.fetch_add(1, Relaxed) < 5000, "that is enough");
    let mapped = catch_unwind(AssertUnwindSafe(|| Permutations::new(MANY, 4, 42).par_map(visit)));
    assert!(mapped.is_err());
}

/// More tasks than are collected at a time, with one thread and with several.
#[test]
fn results_are_in_the_rows_order() {
    let permutations = Permutations::new(2_000_000, 2, 7);
    let expected: Vec<u64> = permutations.to_vec().chunks(2).map(|row| row[0]).collect();
    for threads in [1, 2] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let first = |row, order: &[u64]| (row, order[0]);
        let mapped = pool.install(|| permutations.par_map(first)).unwrap();
        let rows = (0..).zip(expected.iter().copied());
        assert!(mapped.into_iter().eq(rows.take(2_000_000)));
        let (sum, rows) = (AtomicU32::new(0), AtomicU32::new(0));
        let add = |row, order: &[u64]| {
            // Modulo 2^32: not every processor has atomic integers of 64 bits.
            sum.fetch_add((row * order[0]) as u32, Relaxed);
            rows.fetch_add(1, Relaxed);
        };
        pool.install(|| permutations.par_for_each(add)).unwrap();
        let all: u64 = (0..).zip(&expected).map(|(row, first)| row * first).sum();
        assert_eq!((sum.into_inner(), rows.into_inner()), (all as u32, 2_000_000));
    }
}

/// Each row is shuffled as its permutation says, whatever its length, and items are moved.
#[test]
fn rows_of_a_matrix_are_shuffled_apart() {
    struct Moved(u64);
    for (count, len) in [
        (0, 5),
        (5, 0),
        (3, 1),
        (1, 256),
        (200, 100),
        (7, 257),
        (40, 1000),
        (1, 100_000),
        (3, 70_001),
    ] {
        let permutations = Permutations::new(count, len, Seed::new(9).epoch(5));
        let mut items: Vec<Moved> = (0..count * len).map(Moved).collect();
        permutations.apply_rows(&mut items).unwrap();
        let orders = permutations.to_vec();
        for (k, (item, index)) in (0..).zip(items.iter().zip(orders)) {
            assert_eq!(item.0, k / len * len + index, "{count} rows of {len}");
        }
    }
    for wrong in [0, 14, 16] {
        let mut items = vec![String::from("x"); wrong];
        let refused = Permutations::new(3, 5, 1).apply_rows(&mut items).unwrap_err();
        assert_eq!(refused, Error::LengthMismatch { expected: 15, actual: wrong as u64 });
    }
    let refused = Permutations::new(MANY, MANY, 1).apply_rows(&mut [1]).unwrap_err();
    assert_eq!(refused, Error::LengthMismatch { expected: u64::MAX, actual: 1 });
}
