//! Whether the statistical tests judge rightly: a good shuffle gets p-values that are uniform, and
//! each bad one is found by the tests that can see it.
//!
//! Everything has a fixed seed, so it passes always or never.

use bijective_shuffle::bijection::{Lcg, VariablePhilox};
use bijective_shuffle::prelude::*;
use bijective_shuffle_laws::long;
use bijective_shuffle_stats::{
    Cycles, Differences, Displacement, Distance, FixedPoints, Mmd, Orders, Outcome, Places, Signs,
    Successors, Test, run,
};

// Shuffles: each writes the sample of a number.

type Shuffle = fn(u64, &mut [u32]);

/// A generator for each sample.
///
/// The seed goes through the finaliser of SplitMix64 (Steele, Lea, Flood, 2014) first: shuffles by
/// `with_seed(0)`, `with_seed(1)`, .. depend on each other, which `Mmd::pairs` shows with 20,000
/// samples of 5 items.
fn rng(sample: u64) -> fastrand::Rng {
    let mut x = sample.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    fastrand::Rng::with_seed(x ^ (x >> 31))
}

fn identity(out: &mut [u32]) {
    (0..).zip(out).for_each(|(index, place)| *place = index);
}

fn good(sample: u64, out: &mut [u32]) {
    identity(out);
    rng(sample).shuffle(out);
}

/// Fisher and Yates without the last exchange, that of the first two places.
fn last_swap_missing(sample: u64, out: &mut [u32]) {
    let mut rng = rng(sample);
    identity(out);
    for k in (2..out.len()).rev() {
        out.swap(k, rng.usize(..=k));
    }
}

/// The last item stays.
fn all_but_one(sample: u64, out: &mut [u32]) {
    identity(out);
    let most = out.len() - 1;
    rng(sample).shuffle(&mut out[..most]);
}

/// Sattolo's algorithm: only permutations of one cycle.
fn one_cycle(sample: u64, out: &mut [u32]) {
    let mut rng = rng(sample);
    identity(out);
    for k in (1..out.len()).rev() {
        out.swap(k, rng.usize(..k));
    }
}

/// Only even permutations.
fn even_only(sample: u64, out: &mut [u32]) {
    let mut rng = rng(sample);
    identity(out);
    let mut odd = false;
    for k in (1..out.len()).rev() {
        let other = rng.usize(..=k);
        out.swap(k, other);
        odd ^= other != k;
    }
    if odd {
        out.swap(0, 1);
    }
}

fn compacted<F: FromSeed + Bijection>(sample: u64, out: &mut [u32]) {
    let len = out.len() as u64;
    let bijection = F::from_seed(len, Seed::new(1).with_epoch(sample));
    Permutation::from_bijection(len, bijection).unwrap().write_indexes(out).unwrap();
}

// Tests.

/// Passes samples `first..first + samples` to a test.
fn judged<T: Test + Send>(
    test: impl Fn() -> T + Sync,
    shuffle: Shuffle,
    len: usize,
    first: u64,
    samples: u64,
) -> T {
    run(samples, len, test, |sample, out| shuffle(first + sample, out))
}

/// All tests on the same samples, each with its name, except for those that need more samples or
/// fewer items.
fn all_tests(
    shuffle: Shuffle,
    len: usize,
    first: u64,
    samples: u64,
) -> Vec<(&'static str, Outcome)> {
    let place_bins = if samples >= 5 * len as u64 { len } else { 2 };
    let tests = || {
        (
            (Mmd::pairs(len), Mmd::identity(len), Signs::new(len)),
            (Places::coarse(len, place_bins), Places::coarse(len, 4)),
            (Displacement::new(len, Distance::Absolute), Displacement::new(len, Distance::Squared)),
            (Successors::new(len), Differences::new(len)),
            (Cycles::new(len), FixedPoints::new(len)),
        )
    };
    let (
        (mmd_pairs, mmd_identity, signs),
        (places, places_coarse),
        (footrule, squares),
        (successors, differences),
        (cycles, fixed),
    ) = judged(tests, shuffle, len, first, samples);
    let mut outcomes = vec![
        ("mmd by pairs", mmd_pairs.normal()),
        ("mmd to identity", mmd_identity.normal()),
        ("signs", signs.outcome()),
        ("places in 4 bins", places_coarse.outcome()),
        ("footrule", footrule.outcome()),
        ("squares", squares.outcome()),
        ("successors", successors.outcome()),
        ("mean successors", successors.mean()),
        ("differences", differences.outcome()),
        ("cycles", cycles.outcome()),
        ("mean cycles", cycles.mean()),
        ("fixed points", fixed.outcome()),
        ("mean fixed points", fixed.mean()),
    ];
    if place_bins == len {
        outcomes.push(("places", places.outcome()));
    }
    if len <= Orders::LEN_MAX && samples >= 5 * (1..=len as u64).product::<u64>() {
        let orders = judged(|| Orders::new(len), shuffle, len, first, samples);
        outcomes.push(("orders", orders.outcome()));
    }
    outcomes
}

// That a good shuffle gets p-values that are uniform.

/// The probability that the greatest distance of `values.len()` uniform values from the diagonal is
/// at least as great as here: Kolmogorov's distribution, with Stephens's correction for few values.
fn kolmogorov(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len() as f64;
    let distance = values
        .iter()
        .enumerate()
        .fold(0.0_f64, |most, (k, p)| most.max(p - k as f64 / n).max((k + 1) as f64 / n - p));
    let scaled = distance * (n.sqrt() + 0.12 + 0.11 / n.sqrt());
    let term = |k: i32| (-1.0_f64).powi(k + 1) * (-2.0 * f64::from(k * k) * scaled * scaled).exp();
    (2.0 * (1..=100).map(term).sum::<f64>()).clamp(0.0, 1.0)
}

/// Runs all tests 200 times on a good shuffle, each time with other samples.
fn p_values_are_uniform(len: usize, samples: u64) {
    let times = if long() { 200 } else { 80 };
    let runs: Vec<_> =
        (0..times).map(|time| all_tests(good, len, time * samples, samples)).collect();
    for (test, &(name, _)) in runs[0].iter().enumerate() {
        let mut p_values: Vec<f64> = runs.iter().map(|run| run[test].1.p_value).collect();
        let least = p_values.iter().copied().fold(1.0, f64::min);
        let fit = kolmogorov(&mut p_values);
        println!(
            "{len} items, {samples} samples, {name}: p of the p-values {fit:.4}, least {least:.1e}"
        );
        // The signs have few different p-values, and those near 1 are too large by half a step.
        assert!(fit > 1e-4, "{name} at {len} items: the p-values are not uniform, p {fit:e}");
        // About 10,000 p-values are looked at in this file.
        assert!(least > 1e-7, "{name} at {len} items: p {least:e}");
    }
}

#[test]
fn p_values_are_uniform_at_5_items() {
    p_values_are_uniform(5, 4000);
}

#[test]
fn p_values_are_uniform_at_100_items() {
    p_values_are_uniform(100, 1000);
}

#[test]
fn p_values_are_uniform_at_1000_items() {
    p_values_are_uniform(1000, 400);
}

// That bad shuffles are found.

type Named = (&'static str, Shuffle);

const LCG: Named = ("linear congruential generator", compacted::<Lcg>);
const TWO_ROUNDS: Named = ("cipher of two rounds", compacted::<VariablePhilox<2>>);
const LAST_SWAP_MISSING: Named = ("last swap missing", last_swap_missing);
const ALL_BUT_ONE: Named = ("all but one", all_but_one);
const ONE_CYCLE: Named = ("one cycle", one_cycle);
const EVEN_ONLY: Named = ("even only", even_only);

/// A p-value below which a shuffle is found out.
const FOUND: f64 = 1e-6;

/// Which tests find which shuffle: at a length, from a number of samples on. Measured in steps of
/// ten, up to 100,000 samples (10,000 of 1000 items), with a p-value below 1e-8; each test stands
/// where it first did so. A test that is not named at a length does not find the shuffle with the
/// most samples, or there were too few for it.
#[rustfmt::skip]
const FINDS: &[(Named, usize, u64, &str)] = &[
    (LCG, 5, 100, "mmd to identity, successors, fixed points"),
    (LCG, 5, 1000, "places in 4 bins, footrule, cycles, mean cycles, mean fixed points, places, orders"),
    (LCG, 5, 10_000, "mmd by pairs, mean successors"),
    (LCG, 100, 100, "successors, differences, mean cycles"),
    (LCG, 100, 1000, "mean successors, cycles"),
    (LCG, 100, 10_000, "mmd by pairs, mmd to identity, fixed points, mean fixed points, places"),
    (LCG, 100, 100_000, "places in 4 bins, footrule"),
    (LCG, 1000, 100, "successors, mean successors, differences, mean cycles"),
    (LCG, 1000, 1000, "cycles"),
    (LCG, 1000, 10_000, "mmd to identity, fixed points"),
    (TWO_ROUNDS, 5, 100, "mmd by pairs, places in 4 bins, successors, mean successors, differences, cycles, fixed \
        points, places"),
    (TWO_ROUNDS, 5, 1000, "mean cycles, mean fixed points, orders"),
    (TWO_ROUNDS, 5, 10_000, "mmd to identity"),
    (TWO_ROUNDS, 100, 100, "successors, mean successors, differences"),
    (TWO_ROUNDS, 100, 1000, "mmd by pairs, mmd to identity, signs, places in 4 bins, cycles, mean cycles, fixed \
        points, places"),
    (TWO_ROUNDS, 100, 10_000, "squares, mean fixed points"),
    (TWO_ROUNDS, 100, 100_000, "footrule"),
    (TWO_ROUNDS, 1000, 100, "successors, mean successors, differences"),
    (TWO_ROUNDS, 1000, 10_000, "mmd by pairs, cycles, fixed points, places"),
    (LAST_SWAP_MISSING, 5, 100, "places"),
    (LAST_SWAP_MISSING, 5, 1000, "successors, cycles, mean cycles, fixed points, mean fixed points, orders"),
    (LAST_SWAP_MISSING, 5, 10_000, "mmd to identity, signs, footrule, differences"),
    (LAST_SWAP_MISSING, 5, 100_000, "mmd by pairs, squares"),
    (LAST_SWAP_MISSING, 100, 1000, "cycles, mean cycles"),
    (LAST_SWAP_MISSING, 100, 100_000, "fixed points, mean fixed points, places"),
    (LAST_SWAP_MISSING, 1000, 1000, "mean cycles"),
    (LAST_SWAP_MISSING, 1000, 10_000, "cycles"),
    (ALL_BUT_ONE, 5, 100, "mmd by pairs, places in 4 bins, footrule, squares, cycles, mean cycles, fixed points, mean \
        fixed points, places"),
    (ALL_BUT_ONE, 5, 1000, "mmd to identity, successors, orders"),
    (ALL_BUT_ONE, 5, 10_000, "mean successors"),
    (ALL_BUT_ONE, 100, 100, "fixed points, mean fixed points"),
    (ALL_BUT_ONE, 100, 1000, "mmd to identity, places in 4 bins, footrule, squares, cycles, mean cycles, places"),
    (ALL_BUT_ONE, 100, 10_000, "mmd by pairs"),
    (ALL_BUT_ONE, 1000, 100, "fixed points, mean fixed points"),
    (ALL_BUT_ONE, 1000, 1000, "cycles, mean cycles"),
    (ALL_BUT_ONE, 1000, 10_000, "mmd by pairs, mmd to identity, places in 4 bins, footrule, squares, places"),
    (ONE_CYCLE, 5, 100, "signs, places in 4 bins, footrule, cycles, mean cycles, fixed points, mean fixed points, \
        places"),
    (ONE_CYCLE, 5, 1000, "mmd to identity, squares, successors, mean successors, differences, orders"),
    (ONE_CYCLE, 5, 10_000, "mmd by pairs"),
    (ONE_CYCLE, 100, 100, "signs, cycles, mean cycles, fixed points, mean fixed points"),
    (ONE_CYCLE, 100, 1000, "places"),
    (ONE_CYCLE, 100, 10_000, "mmd to identity, places in 4 bins, footrule, squares"),
    (ONE_CYCLE, 1000, 100, "signs, cycles, mean cycles, fixed points, mean fixed points"),
    (ONE_CYCLE, 1000, 10_000, "places"),
    (EVEN_ONLY, 5, 100, "signs, cycles"),
    (EVEN_ONLY, 5, 1000, "successors, fixed points, orders"),
    (EVEN_ONLY, 5, 100_000, "mean cycles"),
    (EVEN_ONLY, 100, 100, "signs, cycles"),
    (EVEN_ONLY, 1000, 100, "signs, cycles"),
];

#[test]
fn bad_shuffles_are_found() {
    for &((shuffle_name, shuffle), len, samples, finders) in FINDS {
        let outcomes = all_tests(shuffle, len, 0, samples);
        for finder in finders.split(", ") {
            let found = outcomes.iter().find(|(name, _)| *name == finder);
            let p = found.expect("there are samples enough for the test").1.p_value;
            assert!(
                p < FOUND,
                "{shuffle_name}, {len} items, {samples} samples: {finder} has p {p:e}"
            );
        }
    }
}

#[test]
fn even_permutations_pass_what_cannot_see_the_sign() {
    for (name, outcome) in all_tests(even_only, 100, 0, 10_000) {
        let p = outcome.p_value;
        match name {
            "signs" | "cycles" => assert!(p < 1e-300, "{name}: p {p:e}"),
            _ => assert!(p > 1e-3, "{name}: p {p:e}"),
        }
    }
}

#[test]
fn seeds_in_a_row_are_found_by_the_pairs() {
    let in_a_row: Shuffle = |sample, out| {
        identity(out);
        fastrand::Rng::with_seed(sample).shuffle(out);
    };
    let mmd = judged(|| Mmd::pairs(5), in_a_row, 5, 0, 20_000);
    assert!(mmd.normal().p_value < FOUND, "p {:e}", mmd.normal().p_value);
}

// The driver.

#[test]
fn the_number_of_threads_changes_nothing() {
    for samples in [1, 99, 1001, 20_000] {
        let outcomes = [1, 2, 7].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| all_tests(good, 7, 0, samples))
        });
        assert_eq!(outcomes[0], outcomes[1], "{samples} samples, 1 and 2 threads");
        assert_eq!(outcomes[0], outcomes[2], "{samples} samples, 1 and 7 threads");
    }
}

#[test]
fn recording_one_by_one_is_the_same() {
    let by_driver = judged(|| (Mmd::pairs(50), Places::new(50)), good, 50, 0, 1000);
    let mut one_by_one = (Mmd::pairs(50), Places::new(50));
    let mut sample = [0; 50];
    for k in 0..1000 {
        good(k, &mut sample);
        one_by_one.record(&sample);
    }
    assert_eq!(by_driver.1.counts(), one_by_one.1.counts());
    // The order of the sum differs.
    let off = by_driver.0.outcome().statistic - one_by_one.0.outcome().statistic;
    assert!(off.abs() < 1e-15, "off by {off:e}");
    let (joint, parts) = (by_driver.outcome(), [by_driver.0.outcome(), by_driver.1.outcome()]);
    let least = parts[0].p_value.min(parts[1].p_value);
    assert_eq!(joint.p_value, (2.0 * least).min(1.0));
}
