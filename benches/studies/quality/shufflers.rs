//! Whole shuffles, ours and others', good and bad: each writes the sample of a number.

use bijective_shuffle::bijection::{
    CycleWalk, GridFeistel, Lcg, MulXorshift, RandomSign, VariablePhilox,
};
use bijective_shuffle::prelude::*;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

/// A shuffle to be judged.
pub(crate) struct Shuffler {
    pub(crate) name: &'static str,
    /// Writes the permutation that a seed chooses.
    pub(crate) fill: fn(Seed, u64, &mut [u32]),
}

/// Everything that is judged, the default first.
pub(crate) const SHUFFLERS: [Shuffler; 14] = [
    Shuffler {
        name: "default",
        fill: |seed, k, out| permute(Permutation::new(len(out), seed.with_epoch(k)), out),
    },
    Shuffler {
        name: "default, seed by seed",
        fill: |seed, k, out| {
            // The seeds are neighbours; the number of the run only keeps runs apart.
            let run = seed.key_stream(bijective_shuffle::KeyDomain::Bits(0));
            permute(
                Permutation::new(len(out), rand_core::Rng::next_u64(&mut run.clone()) << 32 | k),
                out,
            );
        },
    },
    Shuffler { name: "GridFeistel<12>", fill: by::<GridFeistel<12>> },
    Shuffler { name: "RandomSign<VariablePhilox<24>>", fill: by::<RandomSign<VariablePhilox<24>>> },
    Shuffler { name: "VariablePhilox<24>", fill: by::<VariablePhilox<24>> },
    Shuffler { name: "rand, Fisher-Yates", fill: |_, k, out| fisher_yates(k, out) },
    Shuffler {
        name: "fastrand, seeds in a row",
        fill: |_, k, out| {
            identity(out);
            fastrand::Rng::with_seed(k).shuffle(out);
        },
    },
    Shuffler { name: "cipher of 4 rounds", fill: by::<RandomSign<VariablePhilox<4>>> },
    Shuffler { name: "Lcg", fill: by::<Lcg> },
    Shuffler { name: "walk on the cipher", fill: by::<CycleWalk<VariablePhilox<24>>> },
    Shuffler { name: "walk on the default chain", fill: by::<CycleWalk<MulXorshift<10>>> },
    Shuffler {
        name: "sort by keys of 2 log n bits",
        fill: |_, k, out| sort(k, out, 2 * out.len().ilog2() + 1),
    },
    Shuffler { name: "sort by 64-bit keys", fill: |_, k, out| sort(k, out, 64) },
    Shuffler { name: "Sattolo's, one cycle", fill: |_, k, out| sattolo(k, out) },
];

fn len(out: &[u32]) -> u64 {
    out.len() as u64
}

fn permute<B: Bijection>(permutation: Permutation<B>, out: &mut [u32]) {
    permutation.write_indexes(out).expect("a bijection, and the length of the slice");
}

/// The permutation by a member of a family, at an epoch for each sample.
fn by<F: FromSeed + Bijection>(seed: Seed, sample: u64, out: &mut [u32]) {
    let f = F::from_seed(len(out), seed.with_epoch(sample));
    permute(Permutation::from_bijection(len(out), f).expect("drawn for the length"), out);
}

fn identity(out: &mut [u32]) {
    (0..).zip(out).for_each(|(index, place)| *place = index);
}

/// rand's shuffle, from a generator whose seeding keeps neighbouring seeds apart.
pub(crate) fn fisher_yates(sample: u64, out: &mut [u32]) {
    identity(out);
    out.shuffle(&mut SmallRng::seed_from_u64(sample));
}

/// Sorts by random keys of some bits, stably, as some libraries do with 32: ties keep their order.
fn sort(sample: u64, out: &mut [u32], bits: u32) {
    let mut rng = SmallRng::seed_from_u64(sample);
    let mut keyed: Vec<(u64, u32)> =
        (0..out.len() as u32).map(|index| (rng.random::<u64>() >> (64 - bits), index)).collect();
    keyed.sort_by_key(|&(key, _)| key);
    out.iter_mut().zip(keyed).for_each(|(place, (_, index))| *place = index);
}

/// The classic off-by-one: an item is never exchanged with itself.
fn sattolo(sample: u64, out: &mut [u32]) {
    let mut rng = SmallRng::seed_from_u64(sample);
    identity(out);
    for k in (1..out.len()).rev() {
        out.swap(k, rng.random_range(..k));
    }
}
