//! The rounds of [`SwapOrNot`](super::SwapOrNot): batches of five, by loops over lanes that become
//! vector instructions.

use rand_core::Rng;

use super::{ROUNDS, WINDOW};
use crate::base::philox4x32::lanes::{Counters, encrypt};

/// A level: rounds on the points up to `last`, which is below `2^width`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Level {
    pub(super) last: u64,
    pub(super) width: u32,
    /// How many batches it has, the first ones.
    pub(super) batches: u32,
}

/// Five rounds whose bits come from one block of Philox.
///
/// The sums of some of the five round keys are added to a point by the rounds, so it stays within
/// 32 points. The lowest `WINDOW` bits of the keys are linearly independent. So each of the 32 has
/// a name of five bits: `name ^ (1 << j)` is that of the point with the key `j` added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Batch {
    /// The round keys. A level uses as many low bits as it has.
    pub(super) keys: [u64; ROUNDS],
    /// Five single bits below `2^WINDOW`, all clear in the point whose name is 0.
    pub(super) pivots: [u64; ROUNDS],
    /// What each pivot adds to the name of a point in which it is set.
    pub(super) names: [u64; ROUNDS],
}

impl Batch {
    /// Draws round keys, a 64-bit word each. A word whose lowest `WINDOW` bits depend on those of
    /// the keys before it is drawn again.
    pub(super) fn draw<R: Rng + ?Sized>(rng: &mut R) -> Self {
        let [mut keys, mut sums, mut pivots, mut names] = [[0_u64; ROUNDS]; 4];
        for round in 0..ROUNDS {
            // The elimination of Gauss and Jordan: a sum of keys for each pivot, in which no other
            // pivot is set, and the keys of which it is the sum.
            let (key, sum, name) = loop {
                let key = rng.next_u64();
                let (mut sum, mut name) = (key & ((1 << WINDOW) - 1), 1 << round);
                for other in 0..round {
                    if sum & pivots[other] != 0 {
                        sum ^= sums[other];
                        name ^= names[other];
                    }
                }
                if sum != 0 {
                    break (key, sum, name);
                }
            };
            let pivot = sum & sum.wrapping_neg();
            for other in 0..round {
                if sums[other] & pivot != 0 {
                    sums[other] ^= sum;
                    names[other] ^= name;
                }
            }
            (keys[round], pivots[round]) = (key, pivot);
            (sums[round], names[round]) = (sum, name);
        }
        Self { keys, pivots, names }
    }
}

/// Where the bits of a level's batches come from: Philox4x32-10 with this key, at counters whose
/// first two words are the point whose name is 0, whose third has the level's width in its highest
/// byte and the batch below, and whose fourth is the salt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BitSource {
    pub(super) key: u64,
    pub(super) salt: u32,
}

impl BitSource {
    /// Moves points by one batch of a level.
    #[inline(always)]
    pub(super) fn mix<const INVERSE: bool, const LANES: usize>(
        &self,
        level: &Level,
        number: u32,
        batch: &Batch,
        points: &mut [u64; LANES],
    ) {
        let keys = batch.keys.map(|key| key & (u64::MAX >> (64 - level.width)));
        let mut names = [0; LANES];
        for (&pivot, &name) in batch.pivots.iter().zip(&batch.names) {
            for lane in 0..LANES {
                names[lane] ^= if points[lane] & pivot != 0 { name } else { 0 };
            }
        }
        let mut firsts = *points;
        for (round, &key) in keys.iter().enumerate() {
            for lane in 0..LANES {
                firsts[lane] ^= if names[lane] & (1 << round) != 0 { key } else { 0 };
            }
        }
        let counter = u64::from(level.width << 24 | number);
        let highs = firsts.map(|first| first >> 32);
        let mut words: Counters<LANES> =
            [firsts, highs, [counter; LANES], [u64::from(self.salt); LANES]];
        encrypt(self.key, &mut words);
        // The names turn by a bit a round, so that the bit of the round is always the same one. The
        // other four say which of the round's sixteen pairs it is.
        for step in 0..ROUNDS {
            let round = if INVERSE { ROUNDS - 1 - step } else { step };
            let (key, words) = (keys[round], &words[round / 2]);
            let bit = 1 << (round % 2 * 16);
            for lane in 0..LANES {
                let name = names[lane];
                let pair = if INVERSE { name & 15 } else { name >> 1 };
                let partner = points[lane] ^ key;
                // A point whose partner is not in the domain stays.
                let swaps = (words[lane] >> pair) & bit != 0 && partner <= level.last;
                points[lane] = if swaps { partner } else { points[lane] };
                names[lane] = if INVERSE {
                    pair << 1 | (name >> 4 ^ u64::from(swaps))
                } else {
                    pair | ((name ^ u64::from(swaps)) & 1) << 4
                };
            }
        }
    }
}
