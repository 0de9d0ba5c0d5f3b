//! [`SwapOrNot`]: a bijection on any number of points with a proved distance from a uniform one.
//!
//! docs/proof.md has the proof, and says why five rounds share a block of Philox.

mod bound;
mod rounds;
#[cfg(test)]
mod tests;

use alloc::{boxed::Box, vec::Vec};

#[cfg(feature = "std")]
use self::bound::BatchShape;
use self::rounds::{BitSource, FiveRounds, ROUNDS, RoundLevel, WINDOW};
use super::lanes::{FEW, narrow_hooks, runs};
use super::traits::EngineHooks;
use super::{Bijection, DeviceSource, FromSeed, Table, Trusted, TrustedBijection};
use crate::base::simd::{PerLevel, SimdKernel, SimdLevel};
use crate::error::BijectionError;
use crate::seed::{KeyDomain, Seed, Words};
use crate::word::{Index, Word, bits_for};

/// The points that are left after the last level, and drawn exactly.
const EXACT: u64 = 1 << (WINDOW - 1);
/// The exponent of the distance of [`FromSeed`].
const DEFAULT_BITS: u32 = 40;
/// The largest exponent that can be asked for.
const MOST_BITS: u32 = 128;
/// The most points that are evaluated together: many, since only half of a level's points go on to
/// the next, and the few that do at last leave most of a vector empty.
const TOGETHER: usize = 1024;
/// The most batches that fit a kernel's parameters, with room for those of combinators.
const DEVICE_BATCHES: usize = 80;

/// A permutation of exactly `n` points whose distance from a uniform one has a proved bound, for
/// all points together.
///
/// It is for those who have to show that an order is fair: audits, draws, trials, assignments. It
/// is about a thousand times slower than the default family, [`MulXorshift`].
///
/// The bound, [`log2_bound`](Self::log2_bound), is the logarithm to base 2 of a distance in total
/// variation. Whatever is observed of the whole permutation, and whatever is concluded from it, has
/// the probability that it would have under a uniform permutation, up to that distance. With the
/// default of 2^-40, no event is likelier or less likely by more than 10^-12, and no test can tell
/// the two apart with a larger advantage.
///
/// **What the bound takes for granted.** Key and round bits are random. They come from
/// Philox4x32-10, keyed by the seed, and whether someone can tell its words from random ones is not
/// part of the bound; no such way is known, but Philox is no cryptographic cipher. A seed of 64
/// bits is found by trying all of them: [`Seed::from_bytes`] takes 256 bits. And a seed that its
/// user may choose among many proves nothing about fairness, by any family: commit to it before the
/// outcome matters, or let others draw it.
///
/// # The map
///
/// Hoang, Morris and Rogaway's swap-or-not shuffle (CRYPTO 2012): a round has a key `k`, and
/// exchanges the points `x` and `x ^ k`, or not, by a random bit of the pair. A point whose partner
/// is not in the domain stays. By Morris and Rogaway's method (*Sometimes-Recurse Shuffle*,
/// EUROCRYPT 2014) the rounds of a level settle the upper half of the places, and the points in the
/// lower half go on to the next level, down to 256 points, which a [`Table`] permutes that is drawn
/// exactly. On average a point goes through two to three levels; at 2^32 points and a distance of
/// 2^-40 the first one has 335 rounds.
///
/// Up to 256 points the whole permutation is drawn exactly.
///
/// It runs on a GPU for up to `2^32` points, down to distances of 2^-50: more keys do not fit a
/// kernel's parameters.
///
/// [`MulXorshift`]: super::MulXorshift
///
/// # Examples
///
/// Drawing 3 of 1000 applicants, with a bound of 2^-40 for the whole order:
///
/// ```
/// use bijective_shuffle::bijection::SwapOrNot;
/// use bijective_shuffle::prelude::*;
///
/// let seed = Seed::from_bytes(*b"announced after entries closed..");
/// let draw = SwapOrNot::for_distance(1000, 40, seed)?;
/// assert!(draw.log2_bound() <= -40.0);
/// let drawn: Vec<u64> = (0..3).map(|place| draw.forward(place)).collect();
/// assert!(drawn.iter().all(|&applicant| applicant < 1000));
/// assert_eq!(draw.inverse(drawn[2]), 2);
///
/// // As a permutation, with everything that permutations have.
/// let order = Permutation::from_bijection(1000, draw)?;
/// assert_eq!(order.iter().take(3).collect::<Vec<_>>(), drawn);
/// # Ok::<(), bijective_shuffle::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SwapOrNot {
    last: u64,
    bits: BitSource,
    levels: Box<[RoundLevel]>,
    batches: Box<[FiveRounds]>,
    /// The permutation of the first points, which no level settles.
    first: Table,
}

impl SwapOrNot {
    /// The permutation of `n` points that a seed chooses, with as many rounds as it takes to be
    /// within a distance of `2^-bits` of a uniform one. Another permutation for a seed would be a
    /// new major version.
    ///
    /// The key is the stream of `KeyDomain::Exact(n)`: the key of the round bits, a 64-bit word,
    /// and their salt, a 32-bit word; five round keys for each batch, a 64-bit word each; and the
    /// table. So more bits mean another permutation.
    ///
    /// # Errors
    ///
    /// [`BijectionError::EmptyDomain`] if `n` is 0, [`BijectionError::BitsOutOfRange`] if `bits` is
    /// not from 1 to 128.
    pub fn for_distance(n: u64, bits: u32, seed: impl Into<Seed>) -> Result<Self, BijectionError> {
        if n == 0 {
            return Err(BijectionError::EmptyDomain);
        }
        if !(1..=MOST_BITS).contains(&bits) {
            let max = MOST_BITS;
            return Err(BijectionError::BitsOutOfRange { bits, min: 1, max });
        }
        Ok(Self::draw(n, bits, &mut seed.into().key_stream(Self::key_domain(n))))
    }

    /// The logarithm to base 2 of the largest distance in total variation that the permutation can
    /// have from a uniform one, if key and round bits are random. It is rounded up, and it is
    /// negative infinity for up to 256 points, which are drawn exactly.
    #[cfg(feature = "std")]
    pub fn log2_bound(&self) -> f64 {
        let shape = BatchShape { rounds: ROUNDS as u32, window: WINDOW };
        let part =
            |level: &RoundLevel| shape.log2_part(level.width, level.last, level.batches).exp2();
        self.levels.iter().map(part).sum::<f64>().log2() / 2.0
    }

    /// Draws a member. A length of 0 counts as 1.
    fn draw<W: Words + ?Sized>(n: u64, bits: u32, words: &mut W) -> Self {
        let last = n.max(1) - 1;
        // The first level settles the points from half of the next power of two on, so that the
        // others have powers of two. Each may use up half of what is left of the bound.
        let widths = (WINDOW..=bits_for(n)).rev();
        let levels: Box<[RoundLevel]> = widths
            .zip(1..)
            .map(|(width, place)| {
                let last = last.min(u64::MAX >> (64 - width));
                RoundLevel { last, width, batches: bound::batches(width, 2 * bits + place) }
            })
            .collect();
        let bits = BitSource { key: words.next_u64(), salt: words.next_u32() };
        let most = levels.iter().map(|level| level.batches).max().unwrap_or(0);
        let batches = (0..most).map(|_| FiveRounds::draw(words)).collect();
        let first = Table::from_words(n.min(EXACT), words);
        Self { last, bits, levels, batches, first }
    }

    /// Moves points by one level, in words that hold its points.
    #[inline(always)]
    fn mix<const INVERSE: bool, P: Word, const LANES: usize>(
        &self,
        level: &RoundLevel,
        points: &mut [P; LANES],
    ) {
        let batches = &self.batches[..level.batches as usize];
        if INVERSE {
            for (number, batch) in (0..level.batches).zip(batches).rev() {
                self.bits.mix::<INVERSE, P, LANES>(level, number, batch, points);
            }
        } else {
            for (number, batch) in (0..).zip(batches) {
                self.bits.mix::<INVERSE, P, LANES>(level, number, batch, points);
            }
        }
    }

    /// Moves the points that belong to a level by that level's rounds, in lanes of 32 bits if the
    /// level is narrow and they suffice. Returns whether there were any.
    #[inline(always)]
    fn mix_level<const INVERSE: bool, const NARROW: bool>(
        &self,
        level: &RoundLevel,
        points: &mut [u64],
    ) -> bool {
        if NARROW && level.width <= u32::BITS {
            self.mix_some::<INVERSE, u32, 32>(level, points)
        } else {
            self.mix_some::<INVERSE, u64, 16>(level, points)
        }
    }

    /// [`mix_level`](Self::mix_level) in this many lanes of words that hold the level's points.
    #[inline(always)]
    fn mix_some<const INVERSE: bool, P: Word, const LANES: usize>(
        &self,
        level: &RoundLevel,
        points: &mut [u64],
    ) -> bool {
        let (mut places, mut count) = ([0_u16; TOGETHER], 0);
        for (place, &point) in points.iter().enumerate() {
            places[count] = place as u16;
            count += usize::from(point <= level.last);
        }
        for places in places[..count].chunks(LANES) {
            let mut packed = [P::ZERO; LANES];
            for (packed, &place) in packed.iter_mut().zip(places) {
                *packed = P::wrap(points[usize::from(place)]);
            }
            self.mix::<INVERSE, P, LANES>(level, &mut packed);
            for (&packed, &place) in packed.iter().zip(places) {
                points[usize::from(place)] = packed.widen();
            }
        }
        count > 0
    }

    /// The value at one point.
    fn evaluate_one<const INVERSE: bool>(&self, point: u64) -> u64 {
        let mix = |point: u64, level: &RoundLevel| {
            let mut point = [point];
            if point[0] <= level.last {
                self.mix::<INVERSE, u64, 1>(level, &mut point);
            }
            point[0]
        };
        if INVERSE {
            self.levels.iter().rev().fold(self.first.inverse(point), mix)
        } else {
            self.first.forward(self.levels.iter().fold(point, mix))
        }
    }

    /// Replaces up to [`TOGETHER`] points with their values.
    fn evaluate<const INVERSE: bool>(&self, level: SimdLevel, points: &mut [u64]) {
        if points.len() < FEW {
            points.iter_mut().for_each(|point| *point = self.evaluate_one::<INVERSE>(*point));
        } else {
            level.run(Mixed::<INVERSE> { f: self, points });
        }
    }

    /// Writes the values at consecutive points. Those beyond the domain wrap, and do no harm.
    fn run<const INVERSE: bool, M: Index>(&self, first: u64, out: &mut [M]) {
        self.values_at::<INVERSE, M>(out, |place, _| first.wrapping_add(place));
    }

    /// Replaces points with their values.
    fn each<const INVERSE: bool, M: Index>(&self, values: &mut [M]) {
        self.values_at::<INVERSE, M>(values, |_, value| value.extend());
    }

    /// Writes the values at points. The points are computed from the places of words, or from the
    /// words there.
    fn values_at<const INVERSE: bool, M: Index>(
        &self,
        out: &mut [M],
        point_of: impl Fn(u64, M) -> u64,
    ) {
        let mut places = 0..;
        for out in out.chunks_mut(TOGETHER) {
            let mut points = [0; TOGETHER];
            let points = &mut points[..out.len()];
            for ((point, &word), place) in points.iter_mut().zip(&*out).zip(&mut places) {
                *point = point_of(place, word);
            }
            self.evaluate::<INVERSE>(SimdLevel::current(), points);
            out.iter_mut().zip(&*points).for_each(|(out, &value)| *out = M::truncate(value));
        }
    }
}

/// One direction of the map on up to [`TOGETHER`] points.
struct Mixed<'a, const INVERSE: bool> {
    f: &'a SwapOrNot,
    points: &'a mut [u64],
}

impl<const INVERSE: bool> Mixed<'_, INVERSE> {
    /// Evaluates in lanes of 64 bits, or of 32 where they suffice. There are no closures, which the
    /// compiler might compile apart, without the instructions of a level.
    #[inline(always)]
    fn evaluate<const NARROW: bool>(self) {
        let Self { f, points } = self;
        if INVERSE {
            f.first.inverse_each(points);
            for level in f.levels.iter().rev() {
                f.mix_level::<INVERSE, NARROW>(level, points);
            }
        } else {
            for level in &f.levels {
                if !f.mix_level::<INVERSE, NARROW>(level, points) {
                    break;
                }
            }
            f.first.forward_each(points);
        }
    }
}

impl<const INVERSE: bool> SimdKernel for Mixed<'_, INVERSE> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.evaluate::<false>();
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn run_avx512(self) {
        // 32 lanes fit the registers, and with fewer the multiplications wait for each other. With
        // AVX2 they do not fit, and 16 are slower than 16 of 64 bits, which need no packing.
        self.evaluate::<true>();
    }
}

impl Bijection for SwapOrNot {
    fn last(&self) -> u64 {
        self.last
    }

    #[inline]
    fn forward(&self, slot: u64) -> u64 {
        self.evaluate_one::<false>(slot)
    }

    #[inline]
    fn inverse(&self, index: u64) -> u64 {
        self.evaluate_one::<true>(index)
    }

    runs!(u64);

    fn trusted(&self) -> Option<Trusted<'_>> {
        Some(Trusted::of_family(self))
    }

    /// Up to `2^32` points and 80 batches of rounds. Beyond, there is no source, since the keys
    /// would not fit a kernel's parameters.
    fn device_source(&self) -> Option<DeviceSource> {
        if self.last > u64::from(u32::MAX) || self.batches.len() > DEVICE_BATCHES {
            return None;
        }
        let mut counts = [0_u8; 24];
        for level in &self.levels {
            counts[(level.width - WINDOW) as usize] = level.batches as u8;
        }
        let mut tables = [[0_u8; EXACT as usize]; 2];
        let of_first: [fn(&Table, u64) -> u64; 2] = [Table::forward, Table::inverse];
        for (table, of) in tables.iter_mut().zip(of_first) {
            for (byte, point) in table.iter_mut().zip(0..) {
                *byte = of(&self.first, point) as u8;
            }
        }
        let batches = self.batches.iter().map(|batch| {
            let [a, b, c, d, e] = batch.keys.map(|key| key as u32);
            let [f, g, h, i, j] = batch.pivots.map(|p| (p.bit | p.name << WINDOW) as u32);
            [a, b, c, d, e, f | g << 16, h | i << 16, j]
        });
        let batches: Vec<[u32; 8]> = batches.collect();
        let text = r#"#include "bijection/swap_or_not.cuh""#;
        let family = DeviceSource::own("SwapOrNot", text);
        let family = family.number("batches", batches.len().max(1) as u32);
        let family = family.field("key", &[self.bits.key]).field("salt", &[self.bits.salt]);
        let family = family.field("last", &[self.last as u32]).field("batches", &counts);
        let family = family.field("first", &tables[0]).field("first_inverse", &tables[1]);
        Some(family.field("all", &batches))
    }

    #[inline]
    fn hooks(&self) -> Option<&dyn EngineHooks> {
        Some(self)
    }
}

impl EngineHooks for SwapOrNot {
    narrow_hooks!(u64);

    fn evaluation_picoseconds(&self) -> u32 {
        // Of two levels.
        let batch = PerLevel { portable: 20_000, avx2: 8000, avx512: 2800 };
        let batches = self.levels.first().map_or(0, |level| level.batches);
        batch.current().saturating_mul(batches).max(200)
    }
}

// SAFETY: every step is a bijection on [0, last]. A level's round exchanges a point and its sum
// with the key, both of which have the same pair's name and thus the same bit, if both are at most
// the level's last point; that is at most `last`. The keys' lowest WINDOW bits, which every level
// has, are independent, so names are unique in their batch, and the rounds do not change the point
// whose name is 0. A point that leaves a level for the next is below the next level's size, and
// back. `first` is a bijection on at most `last + 1` points, and changes no others. `inverse`
// undoes all steps in reverse order. The fields are private and never change.
unsafe impl TrustedBijection for SwapOrNot {}

impl FromSeed for SwapOrNot {
    /// Draws a permutation of exactly `len` points (of 1 point if `len` is 0) within a distance of
    /// 2^-40 of a uniform one, as [`for_distance`](Self::for_distance) does.
    fn from_words<W: Words + ?Sized>(len: u64, words: &mut W) -> Self {
        Self::draw(len, DEFAULT_BITS, words)
    }

    fn key_domain(len: u64) -> KeyDomain {
        KeyDomain::Exact(len)
    }
}
