//! The definition of [`MulXorshift`]: its keys, and its values at single points.

use crate::base::check::check_bits;
use crate::base::simd::{SimdKernel, SimdLevel};
use crate::error::BijectionError;
use crate::seed::KeyStream;
use crate::word::{Word, bits_for, odd_inverse};

/// The value at a slot, also in a constant, where a trait's methods cannot be called.
macro_rules! value {
    ($self:ident, $slot:ident, $mask:expr) => {{
        let (mask, mut round) = ($mask, 0);
        let mut x = $slot ^ ($slot >> $self.shift(true));
        while round < ROUNDS {
            x = x.wrapping_mul($self.multipliers[round]).wrapping_add($self.increments[round]);
            x = x & mask;
            x = x ^ (x >> $self.shift(round % 2 == 1));
            round += 1;
        }
        x
    }};
}

/// The slot with a value, in the same way.
macro_rules! slot {
    ($self:ident, $index:ident, $mask:expr) => {{
        let (mask, mut round, mut x) = ($mask, ROUNDS, $index);
        while round > 0 {
            round -= 1;
            x = x ^ (x >> $self.shift(round % 2 == 1));
            x = x.wrapping_sub($self.increments[round]).wrapping_mul($self.undo[round]) & mask;
        }
        x ^ (x >> $self.shift(true))
    }};
}

/// A chain of keyed affine maps and xorshifts on `2^b` points, for every `b` from 2 to 64.
///
/// With `s = ceil(b / 2)`, multipliers `a_r` and increments `c_r`, all modulo `2^b`:
///
/// ```text
/// x ^= x >> (s + 1)
/// for r in 0..ROUNDS:  x = a_r x + c_r;  x ^= x >> (s + r % 2)
/// ```
///
/// The pattern is that of the finalisers of MurmurHash3 and SplitMix64 (Steele, Lea and Flood,
/// *Fast splittable pseudorandom number generators*, OOPSLA 2014), with a key in every round.
/// Multiplication carries low bits up but no bit down; the xorshift brings the upper half down. The
/// two are linear over different rings, the integers modulo `2^b` and the vectors over GF(2), so
/// their alternation is close to linear over neither. Twice the shift is at least `b`, so the
/// xorshift is its own inverse, and the inverse costs the same as the forward map. Without the
/// first xorshift, the first multiplication would map slots that differ only in high bits to values
/// that differ only in high bits.
///
/// Adding an odd number is one cycle of an even number of points, so an odd permutation: the
/// increments make both signs equally likely.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::bijection::MulXorshift;
/// use bijective_shuffle::prelude::*;
///
/// let f = MulXorshift::<10>::from_seed(1000, 42);
/// assert_eq!(f.last(), 1023);
/// assert_eq!(f.inverse(f.forward(700)), 700);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MulXorshift<const ROUNDS: usize = 10, N = u64> {
    pub(super) bits: u32,
    pub(super) multipliers: [N; ROUNDS],
    pub(super) increments: [N; ROUNDS],
    /// The inverses of the multipliers modulo `2^bits`.
    pub(super) undo: [N; ROUNDS],
}

impl<const ROUNDS: usize> MulXorshift<ROUNDS> {
    /// The smallest width, in bits.
    const MIN_BITS: u32 = 2;

    /// The chain on `2^bits` points with the given multipliers and increments, modulo `2^bits`.
    ///
    /// For good mixing the multipliers should be random and 3 or 5 modulo 8, as
    /// [`FromSeed`](crate::FromSeed) draws them: multipliers that are 1 or 7 modulo 8 change the
    /// lowest bits too little.
    ///
    /// # Errors
    ///
    /// [`BijectionError::BitsOutOfRange`] if `bits` is not from 2 to 64,
    /// [`BijectionError::EvenMultiplier`] if a multiplier is even.
    pub fn new(
        bits: u32,
        multipliers: [u64; ROUNDS],
        increments: [u64; ROUNDS],
    ) -> Result<Self, BijectionError> {
        check_bits::<u64>(bits, Self::MIN_BITS)?;
        match multipliers.into_iter().find(|multiplier| multiplier.is_multiple_of(2)) {
            Some(multiplier) => Err(BijectionError::EvenMultiplier { multiplier }),
            None => Ok(Self::reduced(bits, multipliers, increments)),
        }
    }
}

impl<const ROUNDS: usize> MulXorshift<ROUNDS> {
    /// The member that [`FromSeed::from_words`](crate::FromSeed::from_words) makes of these words,
    /// two for each round.
    #[doc(hidden)]
    pub fn of_words(len: u64, words: [[u64; 2]; ROUNDS]) -> Self {
        let bits = bits_for(len).max(Self::MIN_BITS);
        Self::reduced(bits, words.map(|[_, word]| multiplier(word)), words.map(|[word, _]| word))
    }

    /// [`of_words`](Self::of_words) in a constant, by the next words of a stream.
    pub(crate) const fn constant(len: u64, words: &mut KeyStream) -> Self {
        let least = bits_for(len);
        let bits = if least < Self::MIN_BITS { Self::MIN_BITS } else { least };
        let mask = u64::MAX >> (u64::BITS - bits);
        let [mut multipliers, mut increments, mut undo] = [[0; ROUNDS]; 3];
        let mut round = 0;
        while round < ROUNDS {
            increments[round] = words.next_u64() & mask;
            multipliers[round] = multiplier(words.next_u64()) & mask;
            undo[round] = odd_inverse(multipliers[round]) & mask;
            round += 1;
        }
        Self { bits, multipliers, increments, undo }
    }

    /// [`value`](Self::value) in a constant.
    pub(crate) const fn constant_value(&self, slot: u64) -> u64 {
        value!(self, slot, u64::MAX >> (u64::BITS - self.bits))
    }

    /// [`slot`](Self::slot) in a constant.
    pub(crate) const fn constant_slot(&self, index: u64) -> u64 {
        slot!(self, index, u64::MAX >> (u64::BITS - self.bits))
    }
}

/// The multiplier that a word gives: 3 or 5 modulo 8, by its bit 2.
const fn multiplier(word: u64) -> u64 {
    if word & 4 == 0 { word & !7 | 3 } else { word & !7 | 5 }
}

impl<const ROUNDS: usize, N: Word> MulXorshift<ROUNDS, N> {
    /// The width of the domain in bits.
    pub const fn bits(&self) -> u32 {
        self.bits
    }

    /// The multipliers, below `2^bits`.
    #[doc(hidden)]
    pub const fn multipliers(&self) -> &[N; ROUNDS] {
        &self.multipliers
    }

    /// The increments, below `2^bits`.
    #[doc(hidden)]
    pub const fn increments(&self) -> &[N; ROUNDS] {
        &self.increments
    }

    /// The same map in words of another width.
    ///
    /// # Errors
    ///
    /// [`BijectionError::BitsOutOfRange`] if the domain does not fit the word.
    pub fn to_word<M: Word>(&self) -> Result<MulXorshift<ROUNDS, M>, BijectionError> {
        check_bits::<M>(self.bits, MulXorshift::<ROUNDS>::MIN_BITS)?;
        let convert = |words: [N; ROUNDS]| words.map(|word| M::wrap(word.widen()));
        Ok(MulXorshift::reduced(self.bits, convert(self.multipliers), convert(self.increments)))
    }

    /// The member for a width in range and odd multipliers.
    fn reduced(bits: u32, multipliers: [N; ROUNDS], increments: [N; ROUNDS]) -> Self {
        let mask = N::low_mask(bits);
        Self {
            bits,
            multipliers: multipliers.map(|word| word & mask),
            increments: increments.map(|word| word & mask),
            undo: if bits <= u32::BITS {
                let inverses = SimdLevel::current().run(Inverses(multipliers, bits));
                inverses.map(|word| N::wrap(word.into()) & mask)
            } else {
                multipliers.map(|word| word.odd_inverse() & mask)
            },
        }
    }

    /// The shift after a round. The xorshift before the first round counts as round -1.
    #[inline]
    pub(super) const fn shift(&self, round_is_odd: bool) -> usize {
        self.bits.div_ceil(2) as usize + round_is_odd as usize
    }
}

impl<const ROUNDS: usize, N: Word> MulXorshift<ROUNDS, N> {
    /// The value at a slot.
    #[inline]
    pub(super) fn value(&self, slot: N) -> N {
        value!(self, slot, N::low_mask(self.bits))
    }

    /// The slot with the given value.
    #[inline]
    pub(super) fn slot(&self, index: N) -> N {
        slot!(self, index, N::low_mask(self.bits))
    }
}

/// The inverses of odd numbers modulo a power of two, at most 2^32, computed side by side. Higher
/// bits are unspecified.
struct Inverses<const COUNT: usize, N>([N; COUNT], u32);

impl<const COUNT: usize, N: Word> SimdKernel for Inverses<COUNT, N> {
    type Output = [u32; COUNT];

    #[inline(always)]
    fn run(self) -> [u32; COUNT] {
        let numbers = self.0.map(|number| number.widen() as u32);
        let mut inverses = numbers;
        // As in `Word::odd_inverse`: each step doubles the number of correct bits.
        let mut correct = 3;
        while correct < self.1 {
            correct *= 2;
            for (inverse, number) in inverses.iter_mut().zip(numbers) {
                let error = 2_u32.wrapping_sub(number.wrapping_mul(*inverse));
                *inverse = inverse.wrapping_mul(error);
            }
        }
        inverses
    }
}
