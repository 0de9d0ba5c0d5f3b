//! Every entry point gives what algorithm 1 gives: at every awkward length, for every kind of item
//! and bijection, and on any number of threads.

use std::sync::OnceLock;

use bijective_shuffle::bijection::{
    BlockShuffle, Compose, Lcg, RandomSign, Standard, VariablePhilox,
};
use bijective_shuffle::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::items::{Items, KINDS, Kind, Ledger};
use crate::under_test::{Direction, Given, Indices, UnderTest, serves};
use crate::{Numbers, Plain, cases, lengths, long, short};

/// Algorithm 1: the values below the length, in the order of their slots.
pub fn reference(f: &dyn Bijection, len: usize) -> Vec<u64> {
    (0..=f.last()).map(|slot| f.forward(slot)).filter(|&index| index < len as u64).collect()
}

/// Compares all that a back end has with the order that it should give.
pub fn check(
    backend: &mut dyn UnderTest,
    given: &Given,
    order: &[u64],
    kinds: &[Kind],
    what: &str,
) {
    if !serves(backend, given, order.len()) {
        return;
    }
    let mut is_absent = true;
    for mut out in Indices::both(order.len()) {
        if let Some(done) = backend.write_indexes(given, &mut out) {
            done.unwrap();
            assert!(out.is(order), "{what}: {} indexes", order.len());
            is_absent = false;
        }
    }
    for &kind in kinds {
        let what = format!("{what}, {} of {kind:?}", order.len());
        let ledger = Ledger::new(order.len());
        is_absent &= !check_items(backend, given, order, kind, &ledger, &what);
        assert!(ledger.each_is_alive(0), "{what}: each item is dropped once");
    }
    assert!(!is_absent, "{what}: nothing was compared");
}

/// [`check`], of one kind of item; whether there is anything that takes it.
fn check_items(
    backend: &mut dyn UnderTest,
    given: &Given,
    order: &[u64],
    kind: Kind,
    ledger: &Ledger,
    what: &str,
) -> bool {
    let mut is_present = false;
    let in_order: Vec<u64> = (0..order.len() as u64).collect();
    let original = Items::new(kind, &in_order, ledger);
    let shuffled = Items::new(kind, order, ledger);
    let all =
        [(Direction::Shuffle, &original, &shuffled), (Direction::Unshuffle, &shuffled, &original)];
    for (direction, from, to) in all {
        let mut items = from.clone();
        if let Some(done) = backend.in_place(given, &mut items, direction) {
            done.unwrap();
            assert!(items == *to, "{what}: in place, {direction:?}");
            assert!(kind != Kind::Counted || ledger.each_is_alive(3), "{what}: dropped");
            is_present = true;
        }
        if let Some(copy) = backend.copied(given, from, direction) {
            assert!(copy.unwrap() == *to, "{what}: copied, {direction:?}");
            is_present = true;
        }
        // What is there already belongs to no place.
        let mut out = Items::new(kind, &vec![u64::MAX >> 1; elsewhere(kind, order)], ledger);
        if let Some(done) = backend.into(given, from, &mut out, direction) {
            done.unwrap();
            assert!(out == *to, "{what}: to other memory, {direction:?}");
            is_present = true;
        }
    }
    is_present
}

/// How many items there are in the memory that others are copied to: none that are counted.
fn elsewhere(kind: Kind, order: &[u64]) -> usize {
    if kind == Kind::Counted { 0 } else { order.len() }
}

/// [`check`] of the default permutation of a seed.
fn check_seed(backend: &mut dyn UnderTest, len: u64, seed: u64, kinds: &[Kind], what: &str) {
    let seed = Seed::new(seed).with_epoch(seed % 3);
    let f = Standard::from_seed(len, seed);
    let given = Given { bijection: &f, seed: Some(seed) };
    check(backend, &given, &reference(&f, len as usize), kinds, what);
}

pub fn every_length(backend: &mut dyn UnderTest) {
    // A GPU compiles a kernel for each width.
    let short = if backend.has_threads() { 17 } else { 13 };
    for len in lengths(if long() { 20 } else { short }) {
        let more = KINDS[len as usize % KINDS.len()];
        check_seed(backend, len, len ^ 5, &[Kind::Word, more], "every length");
    }
}

/// Items of other sizes, which lie otherwise in the blocks of the partitioned strategy.
pub fn every_kind_of_item(backend: &mut dyn UnderTest) {
    for len in [0, 1, 2, 1000, 65_537, 140_001] {
        check_seed(backend, len, 3, KINDS, "every kind");
    }
}

pub fn every_family(backend: &mut dyn UnderTest) {
    // A GPU compiles kernels for each family and width.
    let widths: &[u32] = match () {
        () if backend.has_threads() || long() => &[1, 2, 3, 5, 8, 10],
        () if short() => &[10],
        () => &[3, 10],
    };
    for &bits in widths {
        for (name, f) in crate::every_family(bits, 9) {
            let points = f.last() + 1;
            let lens = [points - points / 3, points, points / 2 + 1];
            for &len in &lens[..if short() { 1 } else { 3 }] {
                let order = reference(&f, len as usize);
                check(backend, &Given::by(&f), &order, &[Kind::Word], name);
            }
        }
    }
}

/// Those that fill the caches, and those that take a GPU's block many tiles.
pub fn large_lengths(backend: &mut dyn UnderTest) {
    let most = if long() { 5 } else { 2 - usize::from(short()) };
    for len in &[(1 << 20) + 1, (3 << 20) + 1, 3 << 19, 1 << 22, 3_000_001][..most] {
        check_seed(backend, *len, 5, &[Kind::Word], "large");
    }
}

/// Buckets that overflow, blocks that stay together, domains much larger than the length, and
/// bijections that nobody vouches for.
pub fn maps_that_are_not_random(backend: &mut dyn UnderTest) {
    let mut by = |f: &dyn Bijection, len: usize, what: &str| {
        let order = reference(f, len);
        let pools: &[usize] = if len > 290_000 { &[5] } else { &[3] };
        in_pools(backend, pools, |backend| {
            check(backend, &Given::by(f), &order, &[Kind::Word], what);
        });
    };
    for multiplier in [1, 3, (1 << 17) + 1, (1 << 19) - 1] {
        let f = Lcg::new(19, multiplier, 5).unwrap();
        by(&f, 300_000, &format!("times {multiplier}"));
    }
    by(&Lcg::new(19, 3, 5).unwrap(), 1 << 19, "of all slots");
    // All survivors in the first half of the slots, or every other slot.
    for (bits, multiplier, increment) in [(17, 1, 0), (17, 1, 12_345), (18, 3, 1)] {
        let f = Lcg::new(bits, multiplier, increment).unwrap();
        for len in [(1 << (bits - 1)) + 1, (1 << bits) / 3] {
            by(&f, len, &format!("times {multiplier} and {increment}"));
        }
    }
    for (len, block, window) in [(3000, 7, 20), (300_000, 1000, 16), (300_001, 1 << 16, 1)] {
        let f = BlockShuffle::new(len, block, window, 5).unwrap();
        by(&f, len as usize, &format!("blocks of {block}"));
    }
    let f = VariablePhilox::<24>::new(19, [3; 24]).unwrap();
    for len in [0, 1, 2, 5, 100, 1000] {
        by(&f, len, "of 2^19");
    }
    for len in [0, 1, 2, 17, 1000, 100_001, 300_000] {
        by(&Plain(VariablePhilox::<24>::from_seed(len, 4)), len as usize, "plain");
    }
}

pub fn any_number_of_threads(backend: &mut dyn UnderTest) {
    if !backend.has_threads() {
        return;
    }
    for len in [1, 40_000, (1 << 17) + 1, (1 << 18) + 1, (1 << 19) + 3] {
        let seed = Seed::new(9);
        let f = Standard::from_seed(len, seed);
        let given = Given { bijection: &f, seed: Some(seed) };
        let order = reference(&f, len as usize);
        // The longest takes half of the time, and differs from the one before in nothing else.
        let pools: &[usize] = if len < 1 << 19 { &[1, 2, 3, 7, 16] } else { &[3, 16] };
        in_pools(backend, pools, |backend| {
            check(backend, &given, &order, &[Kind::Word, Kind::Counted], "in a pool");
        });
    }
}

/// Random maps, lengths and pools.
pub fn random_maps(backend: &mut dyn UnderTest) {
    let mut numbers = Numbers(5);
    for case in 0..cases(40) {
        let is_long = case % 10 == 9;
        let len = numbers.below(if is_long { 500_000 } else { 30_000 }) as usize;
        let more = if is_long { 0 } else { numbers.below(3) as u32 };
        let bits = (usize::BITS - len.leading_zeros()).max(2) + more;
        let seed = numbers.next();
        let drawn = VariablePhilox::<24>::from_seed(1 << bits, seed);
        let lcg = Lcg::new(bits, seed | 1, seed).unwrap();
        let f = RandomSign::new(Compose::new(drawn, lcg).unwrap(), seed & 2 == 0);
        let order = reference(&f, len);
        // What cannot be copied, or is nothing, is not moved by all: words are.
        let kinds = match numbers.pick(KINDS) {
            kind @ (Kind::Unit | Kind::Counted) => vec![kind, Kind::Word],
            kind => vec![kind],
        };
        let threads = numbers.pick(&[1, 2, 3, 7]);
        in_pools(backend, &[threads], |backend| {
            let what = format!("random, {bits} bits, seed {seed}");
            check(backend, &Given::by(&f), &order, &kinds, &what);
        });
    }
}

/// Runs a test in pools of some numbers of threads, or once if they make no difference.
pub fn in_pools(
    backend: &mut dyn UnderTest,
    threads: &[usize],
    mut test: impl FnMut(&mut dyn UnderTest) + Send,
) {
    in_each_pool(backend, threads, &mut test);
}

fn in_each_pool(
    backend: &mut dyn UnderTest,
    threads: &[usize],
    test: &mut (dyn FnMut(&mut dyn UnderTest) + Send),
) {
    if !backend.has_threads() {
        return test(backend);
    }
    static POOLS: OnceLock<Vec<ThreadPool>> = OnceLock::new();
    let pools = POOLS.get_or_init(|| {
        let pool = |threads| ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        [1, 2, 3, 4, 5, 7, 16].map(pool).into()
    });
    for &threads in threads {
        let pool = pools.iter().find(|pool| pool.current_num_threads() == threads);
        pool.expect("a pool of this many threads").install(|| test(backend));
    }
}
