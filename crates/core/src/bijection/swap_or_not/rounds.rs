//! The rounds of [`SwapOrNot`](super::SwapOrNot): batches of five, by loops over lanes that become
//! vector instructions.

use crate::base::philox4x32::lanes::{Counters, encrypt};
use crate::bijection::lanes::uncounted;
use crate::seed::Words;
use crate::word::Word;

/// Rounds that share a block of Philox.
pub(super) const ROUNDS: usize = 5;
/// The lowest bits of the round keys, in which those of a batch are independent: the width of the
/// last level.
pub(super) const WINDOW: u32 = 9;

/// A level: rounds on the points up to `last`, which is below `2^width`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct RoundLevel {
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct FiveRounds {
    /// The round keys. A level uses as many low bits as it has.
    pub(super) keys: [u64; ROUNDS],
    pub(super) pivots: [Pivot; ROUNDS],
}

/// One of five low bits, all of them clear in the point whose name is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Pivot {
    /// The bit itself, below `2^WINDOW`.
    pub(super) bit: u64,
    /// The sum of keys that has this pivot and no other.
    pub(super) sum: u64,
    /// The name that the sum adds: the set of keys that were added up.
    pub(super) name: u64,
}

impl FiveRounds {
    /// Draws round keys, a 64-bit word each. A word whose lowest `WINDOW` bits depend on those of
    /// the keys before it is drawn again.
    pub(super) fn draw<W: Words + ?Sized>(words: &mut W) -> Self {
        let mut batch = Self::default();
        for round in 0..ROUNDS {
            let (before, pivot) = batch.pivots.split_at_mut(round);
            // The elimination of Gauss and Jordan.
            let mut added = loop {
                let key = words.next_u64();
                batch.keys[round] = key;
                let mut added = Pivot { bit: 0, sum: key, name: 1 << round };
                before.iter().for_each(|pivot| added.clear(pivot));
                if added.sum & ((1 << WINDOW) - 1) != 0 {
                    break added;
                }
            };
            added.bit = added.sum & added.sum.wrapping_neg();
            before.iter_mut().for_each(|pivot| pivot.clear(&added));
            pivot[0] = added;
        }
        batch
    }
}

impl Pivot {
    /// Clears another's pivot.
    fn clear(&mut self, other: &Self) {
        if self.sum & other.bit != 0 {
            self.sum ^= other.sum;
            self.name ^= other.name;
        }
    }
}

/// Where the bits of a level's batches come from: Philox4x32-10 with this key, at counters whose
/// first two words are the point whose name is 0, whose third has the level's width in its highest
/// byte and the batch below, and whose fourth is the salt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct BitSource {
    pub(super) key: u64,
    pub(super) salt: u32,
}

impl BitSource {
    /// Moves points by one batch of a level, in words that hold the level's points.
    #[inline(always)]
    pub(super) fn mix<const INVERSE: bool, P: Word, const LANES: usize>(
        &self,
        level: &RoundLevel,
        number: u32,
        batch: &FiveRounds,
        points: &mut [P; LANES],
    ) {
        let mask = u64::MAX >> (64 - level.width);
        let (mut names, mut firsts) = ([P::ZERO; LANES], *points);
        for &Pivot { bit, sum, name } in uncounted(&batch.pivots) {
            // A name stands twice in its word, so that any four bits in a cycle are neighbours.
            let [bit, sum, name] = [bit, sum & mask, name | name << ROUNDS].map(P::wrap);
            for lane in 0..LANES {
                let is_set = points[lane] & bit != P::ZERO;
                names[lane] = names[lane] ^ if_set(is_set, name);
                firsts[lane] = firsts[lane] ^ if_set(is_set, sum);
            }
        }
        let (counter, salt) = (u64::from(level.width << 24 | number), u64::from(self.salt));
        let mut words: Counters<LANES> = [[0; LANES], [0; LANES], [counter; LANES], [salt; LANES]];
        // A loop: the functions of arrays may be compiled apart.
        for lane in 0..LANES {
            words[0][lane] = firsts[lane].widen();
            words[1][lane] = firsts[lane].widen() >> 32;
        }
        encrypt(self.key, &mut words);
        let last = P::wrap(level.last);
        for step in 0..ROUNDS {
            let round = if INVERSE { ROUNDS - 1 - step } else { step };
            let (key, words) = (P::wrap(batch.keys[round] & mask), &words[round / 2]);
            let swapped = P::wrap((1 | 1 << ROUNDS) << round);
            let above = P::wrap(u64::from(P::BITS) - 16 - round as u64 % 2 * 16);
            for lane in 0..LANES {
                // The other four bits of the name say which of the round's sixteen pairs it is. So
                // many bits are above the pair's own.
                let above = above | !(names[lane] >> (round + 1)) & P::wrap(15);
                let top = P::wrap(words[lane]) << above.widen() as usize >> (P::BITS as usize - 1);
                // A point whose partner is not in the domain stays.
                let swaps = if_set(points[lane] ^ key <= last, P::ZERO.wrapping_sub(top));
                points[lane] = points[lane] ^ key & swaps;
                names[lane] = names[lane] ^ swapped & swaps;
            }
        }
    }
}

/// A word or 0. There are lanes of 32 bits with AVX-512 alone, for which the compiler makes the
/// second form a store of some lanes, and then waits to load all of them. For others it makes the
/// first one half as fast.
#[inline(always)]
fn if_set<P: Word>(is_set: bool, word: P) -> P {
    if P::BITS == u32::BITS {
        word & if is_set { P::MAX } else { P::ZERO }
    } else if is_set {
        word
    } else {
        P::ZERO
    }
}
