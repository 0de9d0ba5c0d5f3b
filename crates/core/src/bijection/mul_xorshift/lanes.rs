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
use crate::base::simd::SimdLevel;
use crate::bijection::copies::{Evaluation, ItemCopies, Meanwhile};
use crate::bijection::lanes::{BLOCK, Lane, Lanes, run_at, uncounted};
use crate::word::Word;

/// A word that lanes are evaluated in, with the crate's own vectors where there is an evaluator.
pub(in crate::bijection) trait Vectored: Lane {
    /// The number of points that are evaluated together, or 0 if there is no evaluator.
    const POINTS: usize = 0;

    /// Whether any machine of the target has the evaluator's instructions; otherwise those with
    /// AVX-512 do.
    const IS_PORTABLE: bool = false;

    /// Writes the values at points, [`POINTS`](Self::POINTS) at a time, as many times as the slice
    /// holds that many: at consecutive points from `first` on or, if there is none, at those that
    /// the slice holds.
    ///
    /// # Safety
    ///
    /// The machine has AVX-512 with the byte and word instructions, or the evaluator is portable.
    unsafe fn evaluate<const INVERSE: bool, W: Meanwhile>(
        _rounds: &[Round<Self>],
        _outer: Round<Self>,
        _mask: Self,
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
        let rounds = uncounted(&self.rounds);
        if L::IS_PORTABLE {
            // SAFETY: the evaluator is portable.
            unsafe { L::evaluate::<INVERSE, _>(rounds, self.outer, self.mask, None, points, ()) };
            return;
        }
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
    unsafe fn evaluate_avx512(&self, points: &mut [L; BLOCK]) {
        if L::POINTS == 0 {
            return self.evaluate::<true>(points);
        }
        let rounds = uncounted(&self.rounds);
        // SAFETY: the caller promises more features.
        unsafe { L::evaluate::<INVERSE, ()>(rounds, self.outer, self.mask, None, points, ()) };
    }

    fn run_at_once(&self, level: SimdLevel, first: L, out: &mut [L]) -> usize {
        if L::POINTS == 0 || !(L::IS_PORTABLE || level.has_avx512()) {
            return 0;
        }
        let blocks = out.len() / L::POINTS * L::POINTS;
        let (rounds, out) = (uncounted(&self.rounds), &mut out[..blocks]);
        // SAFETY: the level has the features, or none are needed.
        unsafe { L::evaluate::<INVERSE, _>(rounds, self.outer, self.mask, Some(first), out, ()) };
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
    /// Writes the values at consecutive points, and makes copies meanwhile where there is AVX-512:
    /// for other vectors it was not measured.
    pub(super) fn run_copying(&self, first: L, out: &mut [L], copies: &mut ItemCopies<L>) {
        let level = SimdLevel::current();
        if L::POINTS == 0 || L::IS_PORTABLE || !level.has_avx512() {
            return run_at(level, self, first.extend(), out);
        }
        let blocks = out.len() / L::POINTS;
        let (at_once, rest) = out.split_at_mut(blocks * L::POINTS);
        let further = at_once.len() as u64;
        copies.during(blocks * ROUNDS, RunAtOnce { rounds: self, first, out: at_once });
        run_at(level, self, first.extend().wrapping_add(further), rest);
    }
}

/// An evaluation at consecutive points with AVX-512, which the machine has.
struct RunAtOnce<'a, N, L, const ROUNDS: usize> {
    rounds: &'a Rounds<'a, false, N, L, ROUNDS>,
    first: L,
    out: &'a mut [L],
}

impl<N: Word, L: Vectored, const ROUNDS: usize> Evaluation for RunAtOnce<'_, N, L, ROUNDS> {
    #[inline(always)]
    fn evaluate<W: Meanwhile>(self, meanwhile: W) -> W {
        let Self { rounds: Rounds { rounds, outer, mask, .. }, first, out } = self;
        let rounds = uncounted(rounds);
        // SAFETY: only `run_copying` makes one, and it has looked for these instructions.
        unsafe { L::evaluate::<false, W>(rounds, *outer, *mask, Some(first), out, meanwhile) }
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
