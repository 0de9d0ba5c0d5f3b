//! Whether the statistical tests judge rightly: a good shuffle gets p-values that are uniform, and each bad one is found
//! by the tests that can see it.
//!
//! Everything has a fixed seed, so it passes always or never. What a sample costs each test is measured by
//!
//! ```text
//! cargo test --release --features stats --test stats -- --ignored --nocapture
//! ```

use std::time::Instant;

use bijective_shuffle::prelude::*;
use bijective_shuffle::stats::{
    Cycles, Differences, Displacement, Distance, FixedPoints, Mmd, Orders, Outcome, Places, Signs,
    Successors, Test, run,
};

// Shuffles: each writes the sample of a number.

type Shuffle = fn(u64, &mut [u32]);

/// A generator for each sample.
///
/// The seed goes through the finaliser of SplitMix64 (Steele, Lea, Flood, 2014) first: shuffles by `with_seed(0)`,
/// `with_seed(1)`, .. depend on each other, which `Mmd::pairs` shows with 1000 samples of 100 items.
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
    let bijection = F::from_seed(len, Seed::new(1).epoch(sample));
    Permutation::with_bijection(len, bijection).unwrap().write_indices(out).unwrap();
}

const LCG: Shuffle = compacted::<Lcg>;
const TWO_ROUNDS: Shuffle = compacted::<VariablePhilox<2>>;

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

/// All tests on the same samples, each with its name. Those of all orders are left out from 9 items on.
fn all_tests(shuffle: Shuffle, len: usize, first: u64, samples: u64) -> Vec<(&'static str, Outcome)> {
    let tests = || {
        (
            (Mmd::pairs(len), Mmd::identity(len), Signs::new(len)),
            (Places::new(len), Places::coarse(len, 4)),
            (
                Displacement::new(len, Distance::Absolute),
                Displacement::new(len, Distance::Squared),
            ),
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
        ("places", places.outcome()),
        ("places in 4 bins", places_coarse.outcome()),
        ("footrule", footrule.outcome()),
        ("squares", squares.outcome()),
        ("successors", successors.outcome()),
        ("successors, mean", successors.mean()),
        ("differences", differences.outcome()),
        ("cycles", cycles.outcome()),
        ("cycles, mean", cycles.mean()),
        ("fixed points", fixed.outcome()),
        ("fixed points, mean", fixed.mean()),
    ];
    if len <= Orders::LEN_MAX {
        let orders = judged(|| Orders::new(len), shuffle, len, first, samples);
        outcomes.push(("orders", orders.outcome()));
    }
    outcomes
}

// That a good shuffle gets p-values that are uniform.

/// The probability that the greatest distance of `values.len()` uniform values from the diagonal is at least as great
/// as here: Kolmogorov's distribution, with Stephens's correction for few values.
fn kolmogorov(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len() as f64;
    let distance = values.iter().enumerate().fold(0.0_f64, |most, (k, p)| {
        most.max(p - k as f64 / n).max((k + 1) as f64 / n - p)
    });
    let scaled = distance * (n.sqrt() + 0.12 + 0.11 / n.sqrt());
    let term = |k: i32| (-1.0_f64).powi(k + 1) * (-2.0 * f64::from(k * k) * scaled * scaled).exp();
    (2.0 * (1..=100).map(term).sum::<f64>()).clamp(0.0, 1.0)
}

/// Runs all tests 200 times on a good shuffle, each time with other samples.
fn p_values_are_uniform(len: usize, samples: u64, leave_out: &[&str]) {
    const TIMES: u64 = 200;
    let runs: Vec<_> =
        (0..TIMES).map(|time| all_tests(good, len, time * samples, samples)).collect();
    for (test, &(name, _)) in runs[0].iter().enumerate() {
        if leave_out.contains(&name) {
            continue;
        }
        let mut p_values: Vec<f64> = runs.iter().map(|run| run[test].1.p_value).collect();
        let least = p_values.iter().copied().fold(1.0, f64::min);
        let fit = kolmogorov(&mut p_values);
        println!("{len} items, {samples} samples, {name}: p of the p-values {fit:.4}, least {least:.1e}");
        assert!(fit > 1e-4, "{name} at {len} items: the p-values are not uniform, p {fit:e}");
        // About 10,000 p-values are looked at in this file.
        assert!(least > 1e-7, "{name} at {len} items: p {least:e}");
    }
}

#[test]
fn p_values_are_uniform_at_5_items() {
    p_values_are_uniform(5, 4000, &[]);
}

#[test]
fn p_values_are_uniform_at_100_items() {
    p_values_are_uniform(100, 1000, &[]);
}

#[test]
fn p_values_are_uniform_at_1000_items() {
    // 5000 samples would have to be drawn 200 times for the table of places.
    p_values_are_uniform(1000, 100, &["places"]);
}

#[test]
#[ignore = "prints a table"]
fn samples_needed() {
    for (shuffle, name) in SHUFFLES {
        for len in [5, 100, 1000] {
            let counts = [100, 1000, 10_000, 100_000];
            let all: Vec<_> = counts.iter().filter(|&&c| c * len as u64 <= 10_000_000).map(|&samples| (samples, all_tests(shuffle, len, 0, samples))).collect();
            let mut by = vec![Vec::new(); 5];
            for (t, &(test, _)) in all[0].1.iter().enumerate() {
                let first = all.iter().position(|(_, o)| o[t].1.p_value < 1e-6).unwrap_or(4);
                by[first].push(test);
            }
            println!("{name} {len}");
            for (k, b) in by.iter().enumerate() { println!("   {:?}: {b:?}", counts.get(k)); }
        }
    }
}
const SHUFFLES: [(Shuffle, &str); 6] = [
        (LCG, "lcg"),
        (TWO_ROUNDS, "two rounds"),
        (last_swap_missing, "no last swap"),
        (all_but_one, "all but one"),
        (one_cycle, "one cycle"),
        (even_only, "even only"),
    ];
