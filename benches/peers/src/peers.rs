//! The shuffles of other packages, and those of the literature.

use bijective_shuffle_baselines as baselines;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use rip_shuffle::{RipShuffleParallel, RipShuffleSequential};

use crate::arena::Arena;
use crate::contender::{Contender, Runner, Seeded, Side};
use crate::item::Item;

pub(crate) const RAND: &str = "rand";
pub(crate) const FASTRAND: &str = "fastrand";
pub(crate) const RIP_PARALLEL: &str = "rip_shuffle, parallel";
pub(crate) const BATCHED_DICE: &str = "batched dice";
const RIP_SEQUENTIAL: &str = "rip_shuffle, sequential";

/// The sequential shuffles for items of any type.
pub(crate) fn sequential<T: Item>() -> Vec<Contender<T>> {
    vec![
        generator(RAND, SmallRng::seed_from_u64, |items, rng| items.shuffle(rng)),
        generator(FASTRAND, fastrand::Rng::with_seed, |items, rng| rng.shuffle(items)),
        generator(RIP_SEQUENTIAL, pcg, |items, rng| items.seq_shuffle(rng)),
    ]
}

/// The sequential shuffle of the literature.
pub(crate) fn batched_dice<T: Item>() -> Contender<T> {
    seed(BATCHED_DICE, baselines::batched_dice)
}

/// The parallel shuffle of another package.
pub(crate) fn rip_parallel<T: Item>() -> Contender<T> {
    generator(RIP_PARALLEL, pcg, |items, rng| items.par_shuffle(rng))
}

/// What is measured from the first call on, each with a generator that is seeded in each call.
pub(crate) fn cold<T: Send + Sync + 'static>() -> Vec<Seeded<T>> {
    vec![
        Seeded::new(RIP_PARALLEL, |items, seed| items.par_shuffle(&mut pcg(seed))),
        Seeded::new(RIP_SEQUENTIAL, |items, seed| items.seq_shuffle(&mut pcg(seed))),
        Seeded::new(RAND, |items, seed| {
            items.shuffle(&mut SmallRng::seed_from_u64(seed));
        }),
        Seeded::new(FASTRAND, |items, seed| {
            fastrand::Rng::with_seed(seed).shuffle(items);
        }),
    ]
}

/// The parallel shuffles of the literature.
pub(crate) fn literature<T: Item>() -> Vec<Contender<T>> {
    vec![
        seed("Rao-Sandelius", baselines::rao_sandelius),
        Contender::new(
            Side::Peer,
            "Rao-Sandelius, memory kept",
            RaoSandeliusKept { seed: 0, scratch: Vec::new() },
        ),
        seed("Rao-Sandelius, in place", baselines::rao_sandelius_in_place),
        seed("MergeShuffle", baselines::merge_shuffle),
        seed("dart throwing", baselines::dart_throwing),
        seed("sort-shuffle, quicksort", baselines::sort_shuffle),
        seed("sort-shuffle, radix", baselines::radix_sort_shuffle),
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

impl<T, R: Clone, F: FnMut(&mut [T], &mut R)> Runner<T> for ByGenerator<R, F> {
    fn prepare(&mut self, _: usize, seed: u64, _: usize) {
        self.rng = (self.seed)(seed);
    }

    fn run(&mut self, arena: &mut Arena<T>, _: usize) {
        // A local one, as most programs have: the compiler can keep it in registers.
        let mut rng = self.rng.clone();
        (self.shuffle)(&mut arena.items, &mut rng);
        self.rng = rng;
    }
}

/// A peer that shuffles by a generator.
pub(crate) fn generator<T, R: Clone + 'static>(
    name: &str,
    seed: fn(u64) -> R,
    shuffle: impl FnMut(&mut [T], &mut R) + 'static,
) -> Contender<T> {
    Contender::new(Side::Peer, name, ByGenerator { seed, rng: seed(0), shuffle })
}

/// A shuffle in place by a seed.
struct BySeed<F> {
    seed: u64,
    shuffle: F,
}

impl<T, F: FnMut(&mut [T], u64)> Runner<T> for BySeed<F> {
    fn prepare(&mut self, _: usize, seed: u64, _: usize) {
        self.seed = seed;
    }

    fn run(&mut self, arena: &mut Arena<T>, call: usize) {
        (self.shuffle)(&mut arena.items, self.seed.wrapping_add(call as u64));
    }
}

/// Rao-Sandelius with its memory, which is given back when there is another length.
struct RaoSandeliusKept<T> {
    seed: u64,
    scratch: Vec<T>,
}

impl<T: Item> Runner<T> for RaoSandeliusKept<T> {
    fn prepare(&mut self, len: usize, seed: u64, _: usize) {
        self.seed = seed;
        if self.scratch.len() > len {
            self.scratch = Vec::new();
        }
    }

    fn run(&mut self, arena: &mut Arena<T>, call: usize) {
        let seed = self.seed.wrapping_add(call as u64);
        baselines::rao_sandelius_with(&mut self.scratch, &mut arena.items, seed);
    }
}

fn seed<T>(name: &str, shuffle: fn(&mut [T], u64)) -> Contender<T>
where
    T: 'static,
{
    Contender::new(Side::Peer, name, BySeed { seed: 0, shuffle })
}
