//! Whether the default shuffle is uniform, as far as a test of seconds can see; and whether the
//! tests can see.
//!
//! Every test has a fixed seed, so it passes always or never. The long form, with many more tests,
//! lengths and samples, is the program `quality` of `benches/studies`; `docs/quality.md` has its
//! results.

use std::collections::HashMap;

use bijective_shuffle::bijection::{
    BlockShuffle, CycleWalk, Lcg, MulXorshift, RandomSign, Standard, VariablePhilox,
};
use bijective_shuffle::prelude::*;
use bijective_shuffle_stats::{Orders, Places, Signs, Test, run};
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// The smallest p-value that is no finding: about 100 tests are made, and none may fail by chance.
const SIGNIFICANCE: f64 = 1e-5;

/// A p-value that leaves no doubt.
const CERTAIN: f64 = 1e-50;

fn permute<B: Bijection>(permutation: &Permutation<B>, out: &mut [u32]) {
    permutation.write_indexes(out).expect("a bijection, and the length of the slice");
}

/// The default shuffle, an epoch a sample.
fn by_epoch(epoch: u64, out: &mut [u32]) {
    permute(&Permutation::new(out.len() as u64, Seed::new(20_261_120).with_epoch(epoch)), out);
}

/// The default shuffle, a seed a sample, from 0 on.
fn by_seed(seed: u64, out: &mut [u32]) {
    permute(&Permutation::new(out.len() as u64, seed), out);
}

/// A shuffle by a member of a family.
fn by_family<F: FromSeed + Bijection>(seed: u64, out: &mut [u32]) {
    let len = out.len() as u64;
    permute(&Permutation::from_bijection(len, F::from_seed(len, seed)).expect("drawn for it"), out);
}

type Shuffle = fn(u64, &mut [u32]);

fn over_orders(len: usize, samples: u64, shuffle: Shuffle) -> f64 {
    run(samples, len, || Orders::new(len), shuffle).outcome().p_value
}

fn over_signs(len: usize, samples: u64, shuffle: Shuffle) -> f64 {
    run(samples, len, || Signs::new(len), shuffle).outcome().p_value
}

/// Why docs/quality.md calls three rounds of the default family too few at even widths.
#[test]
fn three_rounds_are_too_few_at_even_widths() {
    /// The share of keys by which the lowest bits are equal at two slots that the first xorshift
    /// sends to 0 and to 2^(bits - 1), before the last xorshift.
    fn equal<const ROUNDS: usize>(bits: u32) -> f64 {
        const KEYS: u64 = 4000;
        let (half, top) = (bits.div_ceil(2), 1_u64 << (bits - 1));
        let slots = [0, top ^ top >> (half + 1)];
        let undo = half + (ROUNDS as u32 - 1) % 2;
        let is_equal = |&seed: &u64| {
            let f = MulXorshift::<ROUNDS>::from_seed(1 << bits, seed);
            let [a, b] = slots.map(|slot| f.forward(slot)).map(|value| value ^ value >> undo);
            (a ^ b) & 1 == 0
        };
        (0..KEYS).filter(is_equal).count() as f64 / KEYS as f64
    }
    // Five standard deviations are 0.035 and 0.040.
    for bits in [12, 24, 34, 38, 40] {
        let [three, four] = [equal::<3>(bits), equal::<4>(bits)];
        assert!((three - 0.25).abs() < 0.035, "three rounds on {bits} bits: {three}");
        assert!((four - 0.5).abs() < 0.04, "four rounds on {bits} bits: {four}");
    }
    for bits in [33, 37, 39] {
        let three = equal::<3>(bits);
        assert!((three - 0.5).abs() < 0.04, "three rounds on {bits} bits: {three}");
    }
}

#[test]
fn every_order_of_few_items_is_equally_likely() {
    for len in 2..=8 {
        for (name, shuffle) in [("epochs", by_epoch as Shuffle), ("seeds", by_seed)] {
            let p = over_orders(len, 400_000, shuffle);
            assert!(p > SIGNIFICANCE, "{len} items by {name}: p {p}");
        }
    }
}

#[test]
fn both_signs_are_equally_likely() {
    let most = Standard::EXACT_MAX as usize;
    for len in [2, 3, 16, 32, 64, 128, most - 1, most, most + 1, 511, 512, 513, 1023, 1024, 4096] {
        let p = over_signs(len, (40_000_000 / (len + 1000)) as u64, by_epoch);
        assert!(p > SIGNIFICANCE, "length {len}: p {p}");
    }
}

#[test]
fn every_index_comes_to_every_place_equally_often() {
    for len in [9, 31, 100, 256, 257, 300, 513] {
        let places = run(20 * len as u64, len, || Places::new(len), by_epoch);
        let p = places.outcome().p_value;
        assert!(p > SIGNIFICANCE, "length {len}: p {p}");
    }
}

/// Which blocks are in which window, the order within each window, and that all of these are
/// independent: every outcome that there can be is equally likely.
#[test]
fn blocks_and_windows_are_uniform_and_independent() {
    // Blocks of one item are a shuffle of items. Three blocks of two, then of two, two and one, in
    // windows of one block. Two windows of two blocks: which two are in the first, and the orders
    // of four items in each.
    for (len, block, window, outcomes) in
        [(4, 1, 2, 24), (6, 2, 1, 48), (5, 2, 1, 24), (8, 2, 2, 6 * 24 * 24)]
    {
        let samples = 100 * outcomes;
        let mut counts = HashMap::new();
        for epoch in 0..samples {
            let f = BlockShuffle::new(len, block, window, Seed::new(77).with_epoch(epoch)).unwrap();
            let mut order = [0; 8];
            f.forward_run(0, &mut order[..len as usize]);
            *counts.entry(order).or_insert(0_u64) += 1;
        }
        assert_eq!(counts.len() as u64, outcomes, "{len} items in blocks of {block}");
        let expected = samples as f64 / outcomes as f64;
        let statistic: f64 =
            counts.values().map(|&count| (count as f64 - expected).powi(2) / expected).sum();
        let p = ChiSquared::new((outcomes - 1) as f64).unwrap().sf(statistic);
        assert!(p > SIGNIFICANCE, "{len} items in blocks of {block}: p {p}");
    }
}

#[test]
fn epochs_and_seeds_are_unrelated() {
    // Whether item 0 comes to the same place under neighbouring seeds and epochs: 1 time in `len`.
    let len = 1000;
    let place = |seed: Seed| Permutation::new(len, seed).iter().position(|x| x == 0);
    let samples = 20_000_u64;
    let same = (0..samples).filter(|&s| {
        let (a, b) = match s % 3 {
            0 => (Seed::new(s), Seed::new(s + 1)),
            1 => (Seed::new(s), Seed::new(s).with_epoch(1)),
            _ => (Seed::new(s).with_epoch(s + 1), Seed::new(s + 1).with_epoch(s)),
        };
        place(a) == place(b)
    });
    let (same, expected) = (same.count() as f64, samples as f64 / len as f64);
    assert!(
        (same - expected).abs() < 4.5 * expected.sqrt(),
        "{same} of {samples} times the same place"
    );
}

// That the tests can fail: shuffles that are known to be bad.

#[test]
fn a_bad_shuffle_fails_over_all_orders() {
    let identity = |out: &mut [u32]| (0..).zip(out).for_each(|(index, place)| *place = index);
    // Sattolo's algorithm, the classic off-by-one: only permutations of one cycle.
    let one_cycle = |seed: u64, out: &mut [u32]| {
        identity(out);
        let mut rng = fastrand::Rng::with_seed(seed);
        (1..out.len()).rev().for_each(|k| out.swap(k, rng.usize(..k)));
    };
    assert!(run(200_000, 5, || Orders::new(5), one_cycle).outcome().p_value < CERTAIN);
    // The naive shuffle: every place is exchanged with any.
    let naive = |seed: u64, out: &mut [u32]| {
        identity(out);
        let mut rng = fastrand::Rng::with_seed(seed);
        (0..out.len()).for_each(|k| out.swap(k, rng.usize(..out.len())));
    };
    assert!(run(200_000, 5, || Orders::new(5), naive).outcome().p_value < CERTAIN);
}

#[test]
fn weak_bijections_fail_over_all_orders() {
    let samples = 200_000;
    assert!(over_orders(5, samples, by_family::<Lcg>) < CERTAIN);
    assert!(over_orders(5, samples, by_family::<VariablePhilox<2>>) < CERTAIN);
    assert!(over_orders(5, samples, by_family::<MulXorshift<2>>) < CERTAIN);
    // On 2 and 3 bits even 24 rounds reach a handful of orders, which is why few items are drawn
    // exactly.
    assert!(over_orders(3, samples, by_family::<VariablePhilox<24>>) < CERTAIN);
    assert!(over_orders(5, samples, by_family::<VariablePhilox<24>>) < CERTAIN);
}

#[test]
fn a_cipher_without_random_sign_fails_the_sign_test() {
    for len in [64, 512] {
        assert!(over_signs(len, 1000, by_family::<VariablePhilox<24>>) < CERTAIN, "length {len}");
        let mended = over_signs(len, 1000, by_family::<RandomSign<VariablePhilox<24>>>);
        assert!(mended > SIGNIFICANCE, "length {len}: p {mended}");
    }
    // One item short of the domain, walking fixes the sign by where the largest value stands; the
    // exchange mends that.
    let mended = over_signs(511, 1000, by_family::<CycleWalk<RandomSign<VariablePhilox<24>>>>);
    assert!(mended > SIGNIFICANCE, "p {mended}");
}
