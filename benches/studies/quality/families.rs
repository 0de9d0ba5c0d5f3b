//! What is judged: the families of bijections, each with several numbers of rounds, and what they
//! are compared with.

use bijective_shuffle::Words;
use bijective_shuffle::bijection::{GridFeistel, MulXorshift, Table, VariablePhilox};
use bijective_shuffle::prelude::*;
use bijective_shuffle::rng::Philox4x32;

/// Draws a member for a length.
pub(crate) type Draw = fn(u64, Seed) -> Box<dyn Bijection>;

/// A family with a choice of how many rounds to make.
pub(crate) struct Family {
    pub(crate) name: &'static str,
    /// The number of rounds that the crate would use, if it were to choose this family.
    pub(crate) chosen: usize,
    /// Numbers of rounds in ascending order, each with how to draw a member that has that number.
    pub(crate) rounds: &'static [(usize, Draw)],
}

macro_rules! rounds {
    ($family:ident: $($rounds:literal)*) => {
        &[$(($rounds, |len, seed| Box::new($family::<$rounds>::from_seed(len, seed)))),*]
    };
}

/// Every family that has rounds.
pub(crate) const FAMILIES: [Family; 3] = [
    Family {
        name: "VariablePhilox",
        chosen: 24,
        rounds: rounds!(VariablePhilox: 4 6 8 10 12 14 16 18 20 22 24 28 32),
    },
    Family {
        name: "MulXorshift",
        chosen: 10,
        rounds: rounds!(MulXorshift: 3 4 5 6 7 8 9 10 11 12),
    },
    Family {
        name: "GridFeistel",
        chosen: 12,
        rounds: rounds!(GridFeistel: 4 5 6 7 8 9 10 11 12 14 16),
    },
];

/// What a perfect family would be, looked at inside: a permutation drawn exactly, as far as one is
/// quickly drawn. On more than `2^20` points a random function is as good: a window's values are
/// then hardly ever equal, and the values of a permutation hardly more even.
pub(crate) fn reference_inside(len: u64, seed: Seed) -> Box<dyn Bijection> {
    reference(len, seed, 20)
}

/// What a perfect family would be, looked at at a few slots: a permutation drawn exactly up to
/// `2^16` points, and a random function beyond.
pub(crate) fn reference_at_slots(len: u64, seed: Seed) -> Box<dyn Bijection> {
    reference(len, seed, 16)
}

fn reference(len: u64, seed: Seed, exact_bits: u32) -> Box<dyn Bijection> {
    if len <= 1 << exact_bits {
        Box::new(Table::from_seed(len, seed))
    } else {
        Box::new(RandomFunction::from_seed(len, seed))
    }
}

/// A random function on `[0, len)`: the 128 bits of a Philox block, scaled to the length.
struct RandomFunction {
    len: u64,
    key: [u32; 2],
}

impl FromSeed for RandomFunction {
    fn from_words<W: Words + ?Sized>(len: u64, words: &mut W) -> Self {
        Self { len, key: [words.next_u32(), words.next_u32()] }
    }
}

impl Bijection for RandomFunction {
    fn last(&self) -> u64 {
        self.len - 1
    }
    fn forward(&self, slot: u64) -> u64 {
        let block = Philox4x32::<10>::new(self.key).block([slot as u32, (slot >> 32) as u32, 0, 0]);
        let word = u64::from(block[0]) | u64::from(block[1]) << 32;
        ((u128::from(word) * u128::from(self.len)) >> 64) as u64
    }
    fn inverse(&self, _index: u64) -> u64 {
        unreachable!("a random function is only looked at forwards")
    }
}
