//! A [`MulXorshift`] on many points at once, in the narrowest lanes that hold the domain: a vector
//! holds twice as many words of half the width.
//!
//! ```text
//! forward:  x ^= x >> outer               inverse:  the same in reverse, with the inverses of
//!           for round: x = a x + c                  the multipliers; a xorshift by half of the
//!                      x ^= x >> shift              bits or more undoes itself
//! ```
//!
//! Bits above the domain's are garbage until the last step masks them: sums and products carry only
//! upwards, and what a shift brings down is masked.

use super::definition::MulXorshift;
use super::round::Round;
use super::vectors::Chain;
use crate::base::simd::SimdLevel;
use crate::bijection::copies::{Evaluation, ItemCopies, Meanwhile};
use crate::bijection::lanes::{BLOCK, Lane, Lanes, run_at, uncounted};
use crate::word::Word;

/// A word that lanes are evaluated in, with the crate's own vectors where there is an evaluator.
pub(in crate::bijection) trait Vectored: Lane {
    /// Whether any machine of the target has the evaluator's instructions.
    const IS_PORTABLE: bool = false;

    /// The number of points that are evaluated together at a level, or 0 if there is no evaluator.
    #[inline(always)]
    fn points(_level: SimdLevel) -> usize {
        0
    }

    /// Writes the values at points, [`points`](Self::points) at a time, as many times as the slice
    /// holds that many: at consecutive points from `first` on or, if there is none, at those that
    /// the slice holds.
    ///
    /// # Panics
    ///
    /// If there is no evaluator.
    fn evaluate<const INVERSE: bool, W: Meanwhile>(
        _level: SimdLevel,
        _chain: Chain<Self>,
        _first: Option<Self>,
        _out: &mut [Self],
        _meanwhile: W,
    ) -> W {
        unreachable!("there is no evaluator");
    }
}

#[cfg(not(target_arch = "x86_64"))]
impl Vectored for u16 {}
#[cfg(not(any(target_arch = "x86_64", feature = "std")))]
impl Vectored for u32 {}
impl Vectored for u64 {}

/// The rounds, in the order in which they are applied.
pub(super) struct Rounds<'a, const INVERSE: bool, N, L, const ROUNDS: usize> {
    cipher: &'a MulXorshift<ROUNDS, N>,
    rounds: [Round<L>; ROUNDS],
    /// The xorshift before the first round.
    outer: Round<L>,
    mask: L,
}

impl<'a, const INVERSE: bool, N: Word, L: Lane, const ROUNDS: usize>
    Rounds<'a, INVERSE, N, L, ROUNDS>
{
    pub(super) fn new(cipher: &'a MulXorshift<ROUNDS, N>) -> Self {
        let mask = L::truncate(u64::low_mask(cipher.bits));
        let round = |multiplier: N, increment: N, odd| {
            let shift = cipher.shift(odd);
            Round {
                multiplier: L::truncate(multiplier.widen()),
                increment: L::truncate(increment.widen()),
                shift,
                mask: mask >> shift,
            }
        };
        let multipliers = if INVERSE { &cipher.undo } else { &cipher.multipliers };
        let rounds = core::array::from_fn(|k| {
            let k = if INVERSE { ROUNDS - 1 - k } else { k };
            round(multipliers[k], cipher.increments[k], k % 2 == 1)
        });
        Self { cipher, rounds, outer: round(N::ONE, N::ZERO, true), mask }
    }

    fn chain(&self) -> Chain<'_, L> {
        Chain { rounds: uncounted(&self.rounds), outer: self.outer, mask: self.mask }
    }
}

#[inline(always)]
fn forward<L: Lane>(rounds: &[Round<L>], outer: Round<L>, lanes: &mut [L]) {
    for x in &mut *lanes {
        *x = outer.xorshift(*x);
    }
    for round in rounds {
        for x in &mut *lanes {
            *x = round.xorshift(x.wrapping_mul(round.multiplier).wrapping_add(round.increment));
        }
    }
}

#[inline(always)]
fn inverse<L: Lane>(rounds: &[Round<L>], outer: Round<L>, lanes: &mut [L]) {
    for round in rounds {
        for x in &mut *lanes {
            *x = round.xorshift(*x).wrapping_sub(round.increment).wrapping_mul(round.multiplier);
        }
    }
    for x in lanes {
        *x = outer.xorshift(*x);
    }
}

impl<const INVERSE: bool, N: Word, L: Vectored, const ROUNDS: usize> Lanes
    for Rounds<'_, INVERSE, N, L, ROUNDS>
{
    type Point = L;

    #[inline(always)]
    fn evaluate<const LARGE: bool>(&self, points: &mut [L; BLOCK]) {
        if L::IS_PORTABLE {
            return L::evaluate::<INVERSE, _>(SimdLevel::PORTABLE, self.chain(), None, points, ());
        }
        let rounds = uncounted(&self.rounds);
        let evaluate = |lanes: &mut [L]| {
            if INVERSE {
                inverse(rounds, self.outer, lanes);
            } else {
                forward(rounds, self.outer, lanes);
            }
            for lane in lanes {
                *lane = *lane & self.mask;
            }
        };
        if !LARGE && size_of::<L>() > 2 {
            // A round goes through the whole block in memory. If the compiler knew the length, it
            // would unroll that into a hundred vectors, which are more than the registers hold:
            // with AVX2 up to twice as slow, and eight times the code.
            return evaluate(core::hint::black_box(&mut points[..]));
        }
        let mut lanes = L::EMPTY;
        let lanes = lanes.as_mut();
        // Half of the registers of AVX-512 are all that AVX2 has.
        let count = if LARGE { lanes.len() } else { lanes.len() / 2 };
        let lanes = &mut lanes[..count];
        for points in points.chunks_exact_mut(count) {
            lanes.copy_from_slice(points);
            evaluate(lanes);
            points.copy_from_slice(lanes);
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn evaluate_avx2(&self, points: &mut [L; BLOCK]) {
        // SAFETY: the caller promises the features.
        let level = unsafe { SimdLevel::avx2() };
        if L::points(level) == 0 {
            return self.evaluate::<false>(points);
        }
        L::evaluate::<INVERSE, ()>(level, self.chain(), None, points, ());
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn evaluate_avx512(&self, points: &mut [L; BLOCK]) {
        // SAFETY: the caller promises the features.
        let level = unsafe { SimdLevel::avx512() };
        if L::points(level) == 0 {
            return self.evaluate::<true>(points);
        }
        L::evaluate::<INVERSE, ()>(level, self.chain(), None, points, ());
    }

    fn run_at_once(&self, level: SimdLevel, first: L, out: &mut [L]) -> usize {
        let together = L::points(level);
        if together == 0 {
            return 0;
        }
        let blocks = out.len() / together * together;
        L::evaluate::<INVERSE, _>(level, self.chain(), Some(first), &mut out[..blocks], ());
        blocks
    }

    #[inline(always)]
    fn evaluate_one(&self, point: L) -> L {
        let point = N::wrap(point.extend());
        let value = if INVERSE { self.cipher.slot(point) } else { self.cipher.value(point) };
        L::truncate(value.widen())
    }
}

impl<N: Word, L: Vectored, const ROUNDS: usize> Rounds<'_, false, N, L, ROUNDS> {
    /// Writes the values at consecutive points, and makes copies meanwhile where there are x86's
    /// vectors: for others it was not measured.
    pub(super) fn run_copying(&self, first: L, out: &mut [L], copies: &mut ItemCopies<L>) {
        let level = SimdLevel::current();
        let together = L::points(level);
        if together == 0 || L::IS_PORTABLE {
            return run_at(level, self, first.extend(), out);
        }
        let blocks = out.len() / together;
        let (at_once, rest) = out.split_at_mut(blocks * together);
        let further = at_once.len() as u64;
        let chain = self.chain();
        copies.during(blocks * ROUNDS, RunAtOnce { level, chain, first, out: at_once });
        run_at(level, self, first.extend().wrapping_add(further), rest);
    }
}

/// An evaluation at consecutive points.
struct RunAtOnce<'a, L> {
    level: SimdLevel,
    chain: Chain<'a, L>,
    first: L,
    out: &'a mut [L],
}

impl<L: Vectored> Evaluation for RunAtOnce<'_, L> {
    #[inline(always)]
    fn evaluate<W: Meanwhile>(self, meanwhile: W) -> W {
        let Self { level, chain, first, out } = self;
        L::evaluate::<false, W>(level, chain, Some(first), out, meanwhile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bijection::Bijection;
    use crate::bijection::lanes::check;

    fn check_in<L: Vectored, const ROUNDS: usize>(cipher: &MulXorshift<ROUNDS>) {
        // The largest length for which a run's end still fits a word.
        let last = cipher.last().min(u64::MAX - 1);
        let what = format!("{} bits in {} bytes", cipher.bits, size_of::<L>());
        check(&Rounds::<false, u64, L, ROUNDS>::new(cipher), last, &what);
        check(&Rounds::<true, u64, L, ROUNDS>::new(cipher), last, &format!("{what}, inverse"));
    }

    fn check_rounds<const ROUNDS: usize>() {
        for bits in 2..=64 {
            let word = |k: usize| (k as u64 + u64::from(bits)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let multipliers = core::array::from_fn(|k| word(2 * k) & !7 | 5);
            let cipher = MulXorshift::<ROUNDS>::new(bits, multipliers, core::array::from_fn(word));
            let cipher = cipher.unwrap();
            // Wider lanes than the engine would choose must give the same values.
            if bits <= 16 {
                check_in::<u16, ROUNDS>(&cipher);
            }
            if bits <= 32 {
                check_in::<u32, ROUNDS>(&cipher);
            }
            check_in::<u64, ROUNDS>(&cipher);
        }
    }

    #[test]
    fn mul_xorshift_lanes_agree_with_single_points() {
        check_rounds::<0>();
        check_rounds::<1>();
        check_rounds::<8>();
    }
}
