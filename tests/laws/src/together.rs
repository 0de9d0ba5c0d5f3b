//! Several arrays under one permutation: each gets the order of algorithm 1, whatever the arrays
//! are.

use bijective_shuffle::bijection::{Lcg, Standard};
use bijective_shuffle::prelude::*;

use crate::agreement::{in_pools, reference};
use crate::items::{Ledger, SHAPES, Shape, Table};
use crate::under_test::{Direction, Given, UnderTest};
use crate::{Plain, long, short};

/// Moves columns of some shapes there and back.
fn check(backend: &mut dyn UnderTest, given: &Given, len: usize, shapes: &[Shape], what: &str) {
    if !backend.serves(given) {
        return;
    }
    let in_order: Vec<u64> = (0..len as u64).collect();
    let order = reference(given.bijection, len);
    for &shape in shapes {
        let ledger = Ledger::new(len);
        let original = Table::new(shape, &in_order, &ledger);
        let mut table = original.clone();
        let Some(done) = backend.together(given, &mut table, Direction::Shuffle) else { continue };
        done.unwrap();
        assert!(table == Table::new(shape, &order, &ledger), "{what}: {len} in {shape:?}");
        backend.together(given, &mut table, Direction::Unshuffle).expect("a way back").unwrap();
        assert!(table == original, "{what}: {len} in {shape:?}, and back");
        drop((table, original));
        assert!(ledger.each_is_alive(0), "{what}: {len} in {shape:?}, dropped");
    }
}

fn check_seed(backend: &mut dyn UnderTest, len: u64, shapes: &[Shape], what: &str) {
    let seed = Seed::new(len);
    let f = Standard::from_seed(len, seed);
    let given = Given { bijection: &f, seed: Some(seed) };
    check(backend, &given, len as usize, shapes, what);
}

pub fn columns_of_every_length(backend: &mut dyn UnderTest) {
    // A GPU compiles a kernel for each width.
    let step = if backend.has_threads() || long() { 1 } else { 37 };
    let long_ones = &[65_537, 1000, 65_535, 65_536][..if short() { 1 } else { 4 }];
    for len in (0..300).step_by(step).chain(long_ones.iter().copied()) {
        check_seed(backend, len, SHAPES, "every length");
    }
}

pub fn columns_in_pools(backend: &mut dyn UnderTest) {
    // `any_number_of_threads` has the other pools, for one array.
    in_pools(backend, &[1, 4, 16], |backend| {
        for len in [1, 300, (1 << 17) - 1, 1 << 17, (1 << 17) + 1] {
            let shapes = if len == 1 << 17 { &SHAPES[..1] } else { SHAPES };
            check_seed(backend, len, shapes, "in a pool");
        }
    });
    in_pools(backend, &[3], |backend| {
        let plain = Plain(Standard::from_seed(140_000, 3));
        check(backend, &Given::by(&plain), 140_000, SHAPES, "untrusted");
        // Buckets overflow, which leaves it to the direct strategy.
        for multiplier in [1, 3, (1 << 16) + 1] {
            let f = Lcg::new(18, multiplier, 5).unwrap();
            check(backend, &Given::by(&f), 150_000, SHAPES, "not random");
        }
    });
}
