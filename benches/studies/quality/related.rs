//! Whether keys that are alike give permutations that are alike: neighbouring seeds and epochs, and
//! single bits of the keys themselves.

use bijective_shuffle::bijection::{MulXorshift, VariablePhilox};
use bijective_shuffle::prelude::*;
use rayon::prelude::*;
use statrs::distribution::{ContinuousCDF, Normal};

use crate::compare::{self, Finding, Sample};
use crate::families;

/// A p-value below this, corrected for the statistics of a row, is a finding; there are some twenty
/// rows.
const SIGNIFICANCE: f64 = 1e-5;

/// The domain.
const BITS: u32 = 12;
const N: u64 = 1 << BITS;

type Pair = [Box<dyn Bijection>; 2];

/// A way of drawing two members that are related.
struct Relation {
    name: &'static str,
    seeds: Box<dyn Fn(u64) -> [Seed; 2] + Sync>,
}

impl Relation {
    fn new(name: &'static str, seeds: impl Fn(u64) -> [Seed; 2] + Sync + 'static) -> Self {
        Self { name, seeds: Box::new(seeds) }
    }

    fn draw(&self, k: u64) -> Pair {
        (self.seeds)(k)
            .map(|seed| Box::new(MulXorshift::<10>::from_seed(N, seed)) as Box<dyn Bijection>)
    }
}

fn relations(seed: u64) -> Vec<Relation> {
    let of = move |k: u64| seed.wrapping_add(k.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    vec![
        Relation::new("seeds s and s + 1", move |k| [k, k + 1].map(Seed::new)),
        Relation::new("seeds that differ in a bit", move |k| {
            [of(k), of(k) ^ 1 << (k % 64)].map(Seed::new)
        }),
        Relation::new("epochs e and e + 1", move |k| {
            [k, k + 1].map(|e| Seed::new(seed).with_epoch(e))
        }),
        Relation::new("epochs that differ in a bit", move |k| {
            [of(k), of(k) ^ 1 << (k % 64)].map(|e| Seed::new(seed).with_epoch(e))
        }),
        Relation::new("(s, epoch e + 1) and (s + 1, epoch e)", move |k| {
            [Seed::new(k).with_epoch(k + 1), Seed::new(k + 1).with_epoch(k)]
        }),
        Relation::new("256-bit seeds that differ in a bit", move |k| {
            let mut bytes = [k as u8; 32];
            bytes[..8].copy_from_slice(&of(k).to_le_bytes());
            let mut other = bytes;
            other[k as usize / 8 % 32] ^= 1 << (k % 8);
            [bytes, other].map(Seed::from_bytes)
        }),
    ]
}

const NAMES: [&str; 5] = [
    "agreements",
    "correlation",
    "differences, high bits",
    "differences, low bits",
    "exclusive or, low bits",
];

/// What two permutations have in common; each number is large if they are alike.
fn measure([f, g]: &Pair) -> [f64; NAMES.len()] {
    let (mut p, mut q) = (vec![0; N as usize], vec![0; N as usize]);
    f.forward_run(0, &mut p);
    g.forward_run(0, &mut q);
    let (mut agreements, mut correlation) = (0.0, 0.0);
    let mut counts = [[0_u32; 64]; 3];
    let middle = (N - 1) as f64 / 2.0;
    for (&a, &b) in p.iter().zip(&q) {
        let difference = b.wrapping_sub(a) % N;
        agreements += f64::from(u8::from(a == b));
        correlation += (a as f64 - middle) * (b as f64 - middle);
        counts[0][(difference * 64 / N) as usize] += 1;
        counts[1][(difference % 64) as usize] += 1;
        counts[2][((a ^ b) % 64) as usize] += 1;
    }
    let expected = N as f64 / 64.0;
    let [high, low, xor] = counts
        .map(|c| c.iter().map(|&c| (f64::from(c) - expected).powi(2)).sum::<f64>() / expected);
    [agreements, (correlation / (N * N) as f64).powi(2), high, low, xor]
}

fn samples(pairs: u64, draw: impl Fn(u64) -> Pair + Sync) -> Vec<Sample> {
    let measured: Vec<_> = (0..pairs).into_par_iter().map(|k| measure(&draw(k))).collect();
    (0..NAMES.len()).map(|k| measured.iter().map(|values| values[k]).collect()).collect()
}

/// Prints tables of what was found; returns whether all seeds and epochs are unrelated.
pub(crate) fn print_tables(pairs: u64, seed: u64) -> bool {
    println!("| related by | verdict | smallest p-value | of |");
    println!("| --- | --- | --- | --- |");
    let perfect = samples(pairs, |k| {
        [2 * k, 2 * k + 1]
            .map(|epoch| families::reference_inside(N, Seed::new(!seed).with_epoch(epoch)))
    });
    let mut passed = true;
    for relation in relations(seed) {
        let ours = samples(pairs, |k| relation.draw(k));
        let findings = ours.iter().zip(&perfect).zip(NAMES).flat_map(|((ours, perfect), name)| {
            [ours.mean_differs(perfect, name), ours.largest_differs(perfect, name)]
        });
        let Finding { name, p_value } = compare::worst(findings.collect());
        let passes = p_value >= SIGNIFICANCE;
        passed &= passes;
        let verdict = if passes { "unrelated" } else { "**related**" };
        println!("| {} | {verdict} | {p_value:.1e} | {name} |", relation.name);
    }
    print_key_avalanche(pairs);
    passed
}

/// A member of a family, and the same with a bit of the key of a round changed.
type Changed = fn(u64, usize, u32) -> Pair;

/// The families, their rounds, the bits that a round's key is looked at in, and how to change one.
///
/// Of a chain's keys the increments are looked at: a bit of a multiplier does nothing at the points
/// whose low bits are 0, however well the chain mixes.
const KEYED: [(&str, usize, u32, Changed); 2] = [
    ("MulXorshift<10>, increment", 10, BITS, |k, round, bit| {
        let f = MulXorshift::<10>::from_seed(N, Seed::new(5).with_epoch(k));
        let mut increments = *f.increments();
        increments[round] ^= 1 << bit;
        let g = MulXorshift::new(BITS, *f.multipliers(), increments).expect("odd multipliers");
        [Box::new(f), Box::new(g)]
    }),
    ("VariablePhilox<24>, key", 24, BITS / 2, |k, round, bit| {
        let f = VariablePhilox::<24>::from_seed(N, Seed::new(6).with_epoch(k));
        let mut keys = *f.keys();
        keys[round] ^= 1 << bit;
        [Box::new(f), Box::new(VariablePhilox::new(BITS, keys).unwrap())]
    }),
];

/// The avalanche of key bits: how often each bit of a value changes with each bit of a round's key,
/// at one point of each of many members. The last rounds' keys cannot change every bit; the
/// question is how many rounds it takes.
fn print_key_avalanche(members: u64) {
    println!(
        "\n| key | rounds to go from which every bit of a round's key changes every bit of the value |"
    );
    println!("| --- | --- |");
    for (name, rounds, bits, changed) in KEYED {
        let passing =
            (0..rounds).rev().map(|round| (rounds - round, mixes(round, bits, changed, members)));
        let needed =
            passing.filter(|(_, passes)| !passes).map(|(to_go, _)| to_go + 1).max().unwrap_or(1);
        println!("| {name} | {needed} of {rounds} |");
    }
}

/// Whether every bit of a round's key changes every bit of the value half of the time.
fn mixes(round: usize, bits: u32, changed: Changed, members: u64) -> bool {
    let members = members * 4;
    let largest = (0..bits).into_par_iter().map(|bit| {
        let mut flips = [0_u32; BITS as usize];
        for member in 0..members {
            let [f, g] = changed(member, round, bit);
            let point = member.wrapping_mul(0x9E37_79B9_7F4A_7C15) % N;
            let change = f.forward(point) ^ g.forward(point);
            flips.iter_mut().enumerate().for_each(|(k, flips)| *flips += (change >> k & 1) as u32);
        }
        // The values differ, so each of their bits does a little more often than half of the time.
        let share = (N / 2) as f64 / (N - 1) as f64;
        let deviation = (members as f64 * share * (1.0 - share)).sqrt();
        let score = |flips: u32| (f64::from(flips) - members as f64 * share).abs() / deviation;
        flips.into_iter().map(score).fold(0.0, f64::max)
    });
    let largest = largest.reduce(|| 0.0, f64::max);
    let p_value = 2.0 * Normal::standard().sf(largest) * f64::from(bits * BITS);
    p_value >= SIGNIFICANCE
}
