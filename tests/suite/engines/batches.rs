//! Rows of a batch are the permutations of the seed's epochs, however they are got.

use bijective_shuffle::prelude::*;
use proptest::prelude::{ProptestConfig, prop_assert_eq, proptest};
use rayon::ThreadPoolBuilder;

use crate::common::cases;

/// Rows one by one.
fn expected(len: u64, seed: Seed, rows: std::ops::Range<u64>) -> Vec<u64> {
    rows.flat_map(|row| Permutation::new(len, seed.epoch(row)).to_vec()).collect()
}

fn seeds(len: u64) -> [Seed; 2] {
    [Seed::new(len).epoch(77), Seed::from_bytes([len as u8; 32])]
}

#[test]
fn every_length_agrees() {
    let larger = [511, 512, 513, 1000, 1024, 4097, 70_000];
    for len in (0..=300).chain(larger) {
        for seed in seeds(len) {
            let count = if len < 300 { 70 } else { 11 };
            let permutations = Permutations::new(count, len, seed);
            let rows = permutations.to_vec();
            assert_eq!(rows, expected(len, seed, 0..count), "length {len}");
            let mut narrow = vec![u32::MAX; rows.len()];
            permutations.write_indices(&mut narrow).unwrap();
            assert!(narrow.iter().map(|&x| u64::from(x)).eq(rows.iter().copied()), "length {len}");
            let mapped = permutations.par_map(|row, order: &[u64]| (row, order.to_vec())).unwrap();
            assert!(mapped.iter().map(|(row, _)| *row).eq(0..count), "length {len}");
            assert_eq!(mapped.into_iter().flat_map(|(_, order)| order).collect::<Vec<_>>(), rows);
        }
    }
}

#[test]
fn any_rows_can_be_had() {
    // Across the end of the epochs' low word, and up to the last epoch.
    for first in [0, 1, 63, u64::from(u32::MAX) - 9, u64::MAX - 100] {
        for len in [5, 32, 60, 300, 2000] {
            let permutations = Permutations::new(u64::MAX, len, 8);
            let mut rows = vec![0_u64; 100 * len as usize];
            permutations.write_rows(first, &mut rows).unwrap();
            assert_eq!(rows, expected(len, Seed::new(8), first..first + 100), "{len} from {first}");
        }
    }
    let permutations = Permutations::new(u64::MAX, 9, 8);
    let last = permutations.row(u64::MAX - 1).unwrap();
    assert_eq!(last.to_vec(), Permutation::new(9, Seed::new(8).epoch(u64::MAX - 1)).to_vec());
    assert!(permutations.row(u64::MAX).is_none());
}

#[test]
fn the_number_of_threads_does_not_matter() {
    // Many tasks, tasks of one row, and rows that all threads share.
    for (count, len) in
        [(3000, 32), (500, 256), (90, 1000), (20, 20_000), (2, 140_000), (9, 140_000)]
    {
        let permutations = Permutations::new(count, len, 4);
        let rows = expected(len, Seed::new(4), 0..count);
        for threads in [1, 2, 3, 7, 16] {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let what = format!("{count} rows of {len}, {threads} threads");
            assert!(pool.install(|| permutations.to_vec()) == rows, "{what}");
            let sums = pool.install(|| permutations.par_map(|row, order: &[u32]| (row, order[0])));
            let firsts = (0..).zip(rows.iter().step_by(len as usize).map(|&index| index as u32));
            assert!(sums.unwrap().into_iter().eq(firsts), "{what}");
        }
    }
}

#[test]
fn each_row_is_visited_once() {
    use std::sync::atomic::{AtomicU8, Ordering};
    for len in [0, 1, 20, 400] {
        let visits: Vec<AtomicU8> = (0..5000).map(|_| AtomicU8::new(0)).collect();
        let permutations = Permutations::new(5000, len, 4);
        permutations
            .par_for_each(|row, order: &[u32]| {
                assert_eq!(order.len() as u64, len);
                visits[row as usize].fetch_add(1, Ordering::Relaxed);
            })
            .unwrap();
        assert!(visits.iter().all(|count| count.load(Ordering::Relaxed) == 1), "length {len}");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let permutations = Permutations::new(10, 4, 1);
    let mut room = [7_u32; 48];
    assert_eq!(
        permutations.write_indices(&mut room),
        Err(Error::LengthMismatch { expected: 40, actual: 48 })
    );
    assert_eq!(
        permutations.write_rows(0, &mut room[..5]),
        Err(Error::NotWholeRows { len: 4, actual: 5 })
    );
    let outside = |first, rows| Err(Error::RowsOutOfRange { first, rows, count: 10 });
    assert_eq!(permutations.write_rows(0, &mut room), outside(0, 12));
    assert_eq!(permutations.write_rows(9, &mut room[..8]), outside(9, 2));
    assert_eq!(permutations.write_rows(11, &mut room[..0]), outside(11, 0));
    assert_eq!(permutations.write_rows(u64::MAX, &mut room[..4]), outside(u64::MAX, 1));
    assert!(room.iter().all(|&word| word == 7));
    permutations.write_rows(10, &mut room[..0]).unwrap();

    let endless = Permutations::new(1 << 40, 1 << 40, 1);
    assert_eq!(endless.try_to_vec(), Err(Error::OutOfMemory { bytes: u64::MAX }));
    assert!(matches!(
        Permutations::new(1 << 30, 1 << 30, 1).try_to_vec(),
        Err(Error::OutOfMemory { bytes: 0x8000_0000_0000_0000 })
    ));
    assert!(matches!(
        endless.write_indices(&mut room),
        Err(Error::LengthMismatch { expected: u64::MAX, actual: 48 })
    ));
    assert!(matches!(endless.par_map(|_, _: &[u64]| 0_u8), Err(Error::OutOfMemory { .. })));
    assert!(Permutations::new(1, 1 << 40, 1).par_map(|_, _: &[u32]| ()).is_err());
}

#[test]
fn nothing_is_a_batch_too() {
    for (count, len) in [(0, 0), (0, 5), (5, 0), (u64::MAX, 0)] {
        let permutations = Permutations::new(count, len, 1);
        assert!(permutations.is_empty());
        assert!(permutations.to_vec().is_empty());
        permutations.write_indices::<u32>(&mut []).unwrap();
        permutations.write_rows::<u64>(count, &mut []).unwrap();
    }
    let permutations = Permutations::new(5, 0, 1);
    assert_eq!(
        permutations.write_rows(0, &mut [0_u32]),
        Err(Error::NotWholeRows { len: 0, actual: 1 })
    );
    assert_eq!(permutations.par_map(|row, order: &[u32]| (row, order.len())).unwrap().len(), 5);
    assert!(Permutations::new(3, 1, 1).to_vec() == [0, 0, 0]);
}

#[test]
#[should_panic(expected = "row 40")]
fn a_panic_of_the_visitor_comes_through() {
    let permutations = Permutations::new(100, 8, 1);
    let _ = permutations.par_map(|row, _: &[u32]| assert!(row != 40, "row 40"));
}

#[test]
fn a_back_end_can_be_chosen() {
    let permutations = Permutations::new(100, 30, Seed::new(1).epoch(5));
    assert_eq!(permutations, Permutations::new(100, 30, 1));
    assert_eq!(permutations.backend(), Backend::Auto);
    assert_eq!(permutations.on(Backend::Cpu).to_vec(), permutations.to_vec());
    let on_gpu = permutations.on(Backend::Cuda);
    match on_gpu.try_to_vec() {
        Ok(rows) => assert_eq!(rows, permutations.to_vec()),
        Err(error) => {
            assert!(matches!(error, Error::BackendUnavailable { .. }));
            assert_eq!(on_gpu.par_map(|_, _: &[u32]| ()), Err(error));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(100)))]

    #[test]
    fn rows_are_permutations_of_epochs(
        len in 1..700_u64, count in 0..200_u64, first: u64, seed: u64, bytes: [u8; 32], long: bool
    ) {
        let seed = if long { Seed::from_bytes(bytes) } else { Seed::new(seed) };
        let first = first.min(u64::MAX - count);
        let mut rows = vec![0_u64; (count * len) as usize];
        Permutations::new(u64::MAX, len, seed).write_rows(first, &mut rows).unwrap();
        prop_assert_eq!(rows, expected(len, seed, first..first + count));
    }
}
