//! Whether the default shuffle is uniform, as far as a test can see; and whether the tests can see.
//!
//! Every test has a fixed seed, so it passes always or never. The short form takes seconds; the long form, with
//! the sample sizes of `docs/results/small-lengths.md`, is
//!
//! ```text
//! BIJECTIVE_SHUFFLE_LONG=1 cargo test --release --test uniformity -- --nocapture
//! ```

mod common;

use bijective_shuffle::prelude::*;
use common::long;
use rayon::prelude::*;
use statrs::distribution::{ChiSquared, ContinuousCDF, Normal};

/// The smallest p-value that is no finding: about 100 tests are made, and none may fail by chance.
const SIGNIFICANCE: f64 = 1e-5;

fn samples(short: u64, long_form: u64) -> u64 {
    if long() { long_form } else { short }
}

/// Pearson's statistic of counts under the hypothesis that all cells are equally likely.
fn pearson(counts: &[u64]) -> f64 {
    let total: u64 = counts.iter().sum();
    let expected = total as f64 / counts.len() as f64;
    assert!(expected >= 5.0, "too few samples for {} cells", counts.len());
    counts.iter().map(|&count| (count as f64 - expected).powi(2) / expected).sum()
}

/// The p-value of independent counts under the hypothesis that all cells are equally likely.
fn chi_squared(counts: &[u64]) -> f64 {
    ChiSquared::new((counts.len() - 1) as f64).unwrap().sf(pearson(counts))
}

/// The two-sided p-value of `heads` among `tosses` of a fair coin, which are many.
fn fair_coin(heads: u64, tosses: u64) -> f64 {
    let z = (heads as f64 - tosses as f64 / 2.0) / (tosses as f64 / 4.0).sqrt();
    2.0 * Normal::standard().sf(z.abs())
}

/// The place of a permutation among all of its length, in lexicographic order.
fn lexicographic_rank(p: &[u64]) -> usize {
    p.iter().enumerate().fold(0, |rank, (k, x)| {
        let smaller_after = p[k + 1..].iter().filter(|y| *y < x).count();
        rank * (p.len() - k) + smaller_after
    })
}

fn is_odd(p: &[u64]) -> bool {
    let mut seen = vec![false; p.len()];
    let mut even_cycles = 0;
    for start in 0..p.len() {
        let (mut place, mut length) = (start, 0);
        while !seen[place] {
            seen[place] = true;
            place = p[place] as usize;
            length += 1;
        }
        even_cycles += usize::from(length > 0 && length % 2 == 0);
    }
    even_cycles % 2 == 1
}

/// Counts the cells that samples `0..samples` fall into, on all cores.
fn count(samples: u64, cells: usize, cell: impl Fn(u64) -> usize + Sync) -> Vec<u64> {
    const CHUNKS: u64 = 64;
    (0..CHUNKS)
        .into_par_iter()
        .map(|chunk| {
            let mut counts = vec![0; cells];
            for sample in samples * chunk / CHUNKS..samples * (chunk + 1) / CHUNKS {
                counts[cell(sample)] += 1;
            }
            counts
        })
        .reduce(|| vec![0; cells], add)
}

/// Adds counts up.
fn add(mut all: Vec<u64>, some: Vec<u64>) -> Vec<u64> {
    all.iter_mut().zip(some).for_each(|(a, b)| *a += b);
    all
}

/// The p-value of a shuffle of `len` items over all `len!` orders.
fn over_all_orders(len: u64, samples: u64, shuffle: impl Fn(u64) -> Vec<u64> + Sync) -> f64 {
    let orders = (1..=len as usize).product();
    chi_squared(&count(samples, orders, |sample| lexicographic_rank(&shuffle(sample))))
}

/// The p-value of the signs of a shuffle's permutations.
fn over_signs(samples: u64, shuffle: impl Fn(u64) -> Vec<u64> + Sync) -> f64 {
    fair_coin(count(samples, 2, |sample| usize::from(is_odd(&shuffle(sample))))[1], samples)
}

fn by_epoch(len: u64) -> impl Fn(u64) -> Vec<u64> + Sync {
    move |epoch| Permutation::new(len, Seed::new(20_261_120).epoch(epoch)).to_vec()
}

fn by_seed(len: u64) -> impl Fn(u64) -> Vec<u64> + Sync {
    move |seed| Permutation::new(len, seed).to_vec()
}

/// A shuffle by a member of a family.
fn by_family<F: FromSeed + Bijection>(len: u64) -> impl Fn(u64) -> Vec<u64> + Sync {
    move |seed| Permutation::with_bijection(len, F::from_seed(len, seed)).unwrap().to_vec()
}

#[test]
fn every_order_of_few_items_is_equally_likely() {
    for len in 2..=8 {
        let samples = samples(400_000, 10_000_000);
        let by_epoch = over_all_orders(len, samples, by_epoch(len));
        let by_seed = over_all_orders(len, samples, by_seed(len));
        println!("chi-squared over {len}! orders, {samples} samples: p {by_epoch:.4} {by_seed:.4}");
        assert!(by_epoch.min(by_seed) > SIGNIFICANCE, "length {len}: p {by_epoch} {by_seed}");
    }
}

#[test]
fn both_signs_are_equally_likely() {
    let most = Standard::EXACT_MAX;
    for len in [2, 3, 16, 32, 64, 128, most - 1, most, most + 1, 511, 512, 513, 1023, 1024, 4096] {
        let samples = samples(40_000_000 / (len + 1000), 2_000_000_000 / (len + 1000));
        let p = over_signs(samples, by_epoch(len));
        println!("signs at length {len}, {samples} samples: p {p:.4}");
        assert!(p > SIGNIFICANCE, "length {len}: p {p}");
    }
}

#[test]
fn every_index_comes_to_every_place_equally_often() {
    for len in [9, 31, 100, 256, 257, 300, 513] {
        let samples = samples(20 * len, 2000 * len);
        let p = over_places(len, samples, by_epoch(len));
        println!("index by place at length {len}, {samples} samples: p {p:.4}");
        assert!(p > SIGNIFICANCE, "length {len}: p {p}");
    }
}

/// The p-value of how often each index comes to each place.
fn over_places(len: u64, samples: u64, shuffle: impl Fn(u64) -> Vec<u64> + Sync) -> f64 {
    let cells = (len * len) as usize;
    let counts = (0..samples)
        .into_par_iter()
        .fold(
            || vec![0; cells],
            |mut counts, sample| {
                for (place, index) in shuffle(sample).into_iter().enumerate() {
                    counts[place * len as usize + index as usize] += 1;
                }
                counts
            },
        )
        .reduce(|| vec![0; cells], add);
    // Each row and each column has the same sum, so (len - 1)^2 cells are free; and a cell's variance is that of
    // sampling one of `len`, while the statistic's distribution is stated for cells that are rare.
    let free = (len - 1) as f64;
    ChiSquared::new(free * free).unwrap().sf(pearson(&counts) * free / len as f64)
}

/// The p-value of the values that the cipher on `2^bits` points has at certain slots, over many keys.
fn over_values<const SLOTS: usize>(bits: u32, slots: [u64; SLOTS], samples: u64) -> f64 {
    let n = 1_usize << bits;
    let counts = count(samples, n.pow(SLOTS as u32), |key| {
        let f = VariablePhilox::<24>::from_seed(n as u64, Seed::new(7).epoch(key));
        slots.iter().fold(0, |cell, &slot| cell * n + f.forward(slot) as usize)
    });
    // A bijection cannot have the same value twice, so only cells of different values are possible.
    let possible = |cell: &usize| {
        let mut values: [usize; SLOTS] = core::array::from_fn(|k| cell / n.pow(k as u32) % n);
        values.sort_unstable();
        values.windows(2).all(|pair| pair[0] != pair[1])
    };
    let counts: Vec<u64> = (0..counts.len()).filter(possible).map(|cell| counts[cell]).collect();
    chi_squared(&counts)
}

/// The p-value of the order in which the cipher on `2^bits` points has the values below 7, over all 7! orders.
fn over_survivors(bits: u32, samples: u64) -> f64 {
    over_all_orders(7, samples, |key| {
        let f = VariablePhilox::<24>::from_seed(1 << bits, Seed::new(8).epoch(key));
        let mut slots: Vec<(u64, u64)> = (0..7).map(|index| (f.inverse(index), index)).collect();
        slots.sort_unstable();
        slots.into_iter().map(|(_, index)| index).collect()
    })
}

/// The measurement behind [`Standard::EXACT_MAX`]: the cipher is not uniform on 4 and 5 bits, and is on 6 and more, as
/// far as this many samples show.
#[test]
fn the_cipher_needs_six_bits() {
    let samples = samples(1_000_000, 30_000_000);
    println!("cipher of 24 rounds, {samples} keys: p over 7! orders, and of the values at slots");
    println!("bits | 7! orders |  0 and 1 | 0 and n/2 | 0 and 2^ceil(b/2) | 0, n/2 and 1");
    for bits in 4..=if long() { 10 } else { 7 } {
        let half = 1 << (bits - 1);
        let mut all = vec![
            over_survivors(bits, samples),
            over_values(bits, [0, 1], samples),
            over_values(bits, [0, half], samples),
            over_values(bits, [0, 1 << bits.div_ceil(2)], samples),
        ];
        if samples >= 5 << (3 * bits) {
            all.push(over_values(bits, [0, half, 1], samples));
        }
        let row: Vec<String> = all.iter().map(|p| format!("{p:.1e}")).collect();
        println!("{bits} | {}", row.join(" | "));
        let worst = all.into_iter().fold(1.0, f64::min);
        if bits == 5 || bits == 4 && long() {
            assert!(worst < SIGNIFICANCE, "{bits} bits: p {worst}");
        } else if bits > 5 {
            assert!(worst > SIGNIFICANCE, "{bits} bits: p {worst}");
        }
    }
    let exact_bits = Standard::EXACT_MAX.ilog2();
    assert!(exact_bits >= 6, "lengths whose cipher is known to fail are drawn exactly");
}

// That the tests can fail: shuffles that are known to be bad.

#[test]
fn a_bad_shuffle_fails_over_all_orders() {
    let samples = 200_000;
    // Sattolo's algorithm, the classic off-by-one: only permutations of one cycle.
    let one_cycle = |seed: u64| {
        let mut p: Vec<u64> = (0..5).collect();
        let mut rng = fastrand::Rng::with_seed(seed);
        for k in (1..5).rev() {
            p.swap(k, rng.usize(..k));
        }
        p
    };
    assert!(over_all_orders(5, samples, one_cycle) < 1e-100);
    // The naive shuffle: every place is exchanged with any.
    let naive = |seed: u64| {
        let mut p: Vec<u64> = (0..5).collect();
        let mut rng = fastrand::Rng::with_seed(seed);
        for k in 0..5 {
            p.swap(k, rng.usize(..5));
        }
        p
    };
    assert!(over_all_orders(5, samples, naive) < 1e-100);
    // A fair one, so that the harness is known not to fail everything.
    let fair = |seed: u64| {
        let mut p: Vec<u64> = (0..5).collect();
        fastrand::Rng::with_seed(seed).shuffle(&mut p);
        p
    };
    assert!(over_all_orders(5, samples, fair) > SIGNIFICANCE);
}

#[test]
fn weak_bijections_fail_over_all_orders() {
    let samples = 200_000;
    assert!(over_all_orders(5, samples, by_family::<Lcg>(5)) < 1e-100);
    assert!(over_all_orders(5, samples, by_family::<VariablePhilox<2>>(5)) < 1e-100);
    // On 2 and 3 bits even 24 rounds reach a handful of orders.
    assert!(over_all_orders(3, samples, by_family::<VariablePhilox<24>>(3)) < 1e-100);
    assert!(over_all_orders(5, samples, by_family::<VariablePhilox<24>>(5)) < 1e-100);
}

#[test]
fn a_cipher_without_random_sign_fails_the_sign_test() {
    for len in [64, 512] {
        let odd =
            count(1000, 2, |s| usize::from(is_odd(&by_family::<VariablePhilox<24>>(len)(s))))[1];
        assert_eq!(odd, 0, "an odd permutation of the whole domain, which there should not be");
        assert!(over_signs(1000, by_family::<VariablePhilox<24>>(len)) < SIGNIFICANCE);
        assert!(over_signs(1000, by_family::<RandomSign<VariablePhilox<24>>>(len)) > SIGNIFICANCE);
    }
    // One item short of the domain, walking keeps the sign to one side; the exchange mends that too.
    assert!(
        over_signs(1000, by_family::<CycleWalk<RandomSign<VariablePhilox<24>>>>(511))
            > SIGNIFICANCE
    );
}

#[test]
fn epochs_and_seeds_are_unrelated() {
    // Whether item 0 comes to the same place under neighbouring seeds and epochs: 1 time in `len`.
    let len = 1000;
    let place = |seed: Seed| Permutation::new(len, seed).iter().position(|x| x == 0).unwrap();
    let samples = 20_000_u64;
    let same: u64 = count(samples, 2, |s| {
        let pairs = [
            (Seed::new(s).epoch(0), Seed::new(s + 1).epoch(0)),
            (Seed::new(s).epoch(0), Seed::new(s).epoch(1)),
            (Seed::new(s).epoch(s + 1), Seed::new(s + 1).epoch(s)),
        ];
        let (a, b) = pairs[s as usize % 3];
        usize::from(place(a) == place(b))
    })[1];
    let expected = samples as f64 / len as f64;
    let z = (same as f64 - expected) / expected.sqrt();
    assert!(z.abs() < 4.5, "{same} times the same place, {expected} expected");
}
