//! Rows of a batch are the permutations of the seed's epochs.

use bijective_shuffle::prelude::*;

use crate::agreement::in_pools;
use crate::short;
use crate::under_test::{Indices, UnderTest};

/// Rows one by one.
fn expected(len: u64, seed: Seed, rows: std::ops::Range<u64>) -> Vec<u64> {
    rows.flat_map(|row| Permutation::new(len, seed.with_epoch(row)).to_vec()).collect()
}

/// Compares some rows.
fn check(backend: &mut dyn UnderTest, len: u64, seed: Seed, first: u64, rows: u64) {
    let permutations = Permutations::new(u64::MAX, len, seed);
    for mut out in Indices::both((rows * len) as usize) {
        let Some(done) = backend.rows(&permutations, first, &mut out) else { return };
        done.unwrap();
        let order = expected(len, seed, first..first + rows);
        assert!(out.is(&order), "{rows} rows of {len} from {first}, {seed:?}");
    }
}

fn seeds(len: u64) -> [Seed; 2] {
    [Seed::new(len).with_epoch(77), Seed::from_bytes([len as u8; 32])]
}

pub fn rows_of_every_length(backend: &mut dyn UnderTest) {
    let step = if short() { 37 } else { 1 };
    for len in (1..=300).step_by(step).chain([511, 512, 513, 1000, 1024, 1025, 4097, 8193, 20_000])
    {
        for seed in seeds(len) {
            check(backend, len, seed, 0, if len <= 256 { 70 } else { 11 });
        }
    }
    check(backend, 32, Seed::new(1), 0, 3000);
    for (len, rows) in [(32, 3000), (256, 500), (1000, 90), (20_000, 20), (140_000, 3)] {
        in_pools(backend, &[1, 2, 3, 7, 16], |backend| {
            check(backend, len, Seed::new(4), 0, rows);
        });
    }
}

/// Across the end of the epochs' low word, and up to the last epoch.
pub fn rows_from_anywhere(backend: &mut dyn UnderTest) {
    // One in fifty rows of 252 has a word that is drawn again.
    let step = if short() { 4 } else { 1 };
    for &len in [4, 5, 32, 33, 60, 252, 300, 1000, 2000].iter().step_by(step) {
        for first in [1, 63, u64::from(u32::MAX) - 9, u64::MAX - 1000] {
            for rows in [1, 63, 64, 65, 129] {
                check(backend, len, Seed::new(3), first, rows);
            }
        }
    }
}
