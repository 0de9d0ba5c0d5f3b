//! The shuffles of other packages, and those of the literature.

use bijective_shuffle_baselines as baselines;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use rip_shuffle::{RipShuffleParallel, RipShuffleSequential};

use crate::arena::Arena;
use crate::contender::{Contender, Runner, Seeded};

const RIP_PARALLEL: &str = "rip_shuffle, parallel";
const RIP_SEQUENTIAL: &str = "rip_shuffle, sequential";

/// The sequential shuffles of other packages.
pub(crate) fn sequential() -> Vec<Contender> {
    vec![
        by_generator("rand", SmallRng::seed_from_u64, |items, rng| items.shuffle(rng)),
        by_generator("fastrand", fastrand::Rng::with_seed, |items, rng| rng.shuffle(items)),
        by_generator(RIP_SEQUENTIAL, pcg, |items, rng| items.seq_shuffle(rng)),
    ]
}

/// The sequential shuffle of the literature.
pub(crate) fn batched_dice() -> Contender {
    by_seed("batched dice", baselines::batched_dice)
}

/// The parallel shuffles of another package, and those of the literature.
pub(crate) fn parallel() -> Vec<Contender> {
    let mut scratch = Vec::new();
    vec![
        by_generator(RIP_PARALLEL, pcg, |items, rng| items.par_shuffle(rng)),
        by_seed("Rao-Sandelius, memory kept", move |items, seed| {
            baselines::rao_sandelius_with(&mut scratch, items, seed);
        }),
        by_seed("MergeShuffle", baselines::merge_shuffle),
    ]
}

/// What is measured from the first call on, each with a generator that is seeded in each call.
pub(crate) fn cold<T: Send + Sync + 'static>() -> Vec<Seeded<T>> {
    vec![
        Seeded::new(RIP_PARALLEL, |items, seed| items.par_shuffle(&mut pcg(seed))),
        Seeded::new(RIP_SEQUENTIAL, |items, seed| items.seq_shuffle(&mut pcg(seed))),
    ]
}

/// The generator that `rip_shuffle` recommends.
fn pcg(seed: u64) -> Pcg64Mcg {
    rand_core_0_6::SeedableRng::seed_from_u64(seed)
}

/// A shuffle in place by a generator, which is seeded before the time is taken and lives on from
/// call to call.
struct ByGenerator<R, F> {
    seed: fn(u64) -> R,
    rng: R,
    shuffle: F,
}

impl<R: Clone, F: FnMut(&mut [u64], &mut R)> Runner for ByGenerator<R, F> {
    fn prepare(&mut self, _: usize, seed: u64, _: usize) {
        self.rng = (self.seed)(seed);
    }

    fn run(&mut self, arena: &mut Arena, _: usize) {
        // A local one, as most programs have: the compiler can keep it in registers.
        let mut rng = self.rng.clone();
        (self.shuffle)(&mut arena.items, &mut rng);
        self.rng = rng;
    }
}

pub(crate) fn by_generator<R: Clone + 'static>(
    name: &str,
    seed: fn(u64) -> R,
    shuffle: impl FnMut(&mut [u64], &mut R) + 'static,
) -> Contender {
    Contender::new(name, ByGenerator { seed, rng: seed(0), shuffle })
}

/// A shuffle in place by a seed.
struct BySeed<F> {
    seed: u64,
    shuffle: F,
}

impl<F: FnMut(&mut [u64], u64)> Runner for BySeed<F> {
    fn prepare(&mut self, _: usize, seed: u64, _: usize) {
        self.seed = seed;
    }

    fn run(&mut self, arena: &mut Arena, call: usize) {
        (self.shuffle)(&mut arena.items, self.seed.wrapping_add(call as u64));
    }
}

pub(crate) fn by_seed(name: &str, shuffle: impl FnMut(&mut [u64], u64) + 'static) -> Contender {
    Contender::new(name, BySeed { seed: 0, shuffle })
}
