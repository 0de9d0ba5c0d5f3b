//! [`VariablePhilox`]: the cipher of Mitchell, Stokes, Frank and Holmes, *Bandwidth-Optimal Random
//! Shuffling for GPUs*, ACM TOPC 9(1), 2022, section 3.2 and listing 1.

mod lanes;
mod split;

use core::marker::PhantomData;

use self::lanes::PhiloxRounds;
use self::split::Split;
use super::lanes::{each, run};
use super::traits::EngineHooks;
use super::{Bijection, DeviceSource, FromSeed, Trusted, TrustedBijection};
use crate::base::check::check_bits;
use crate::base::simd::PerLevel;
use crate::error::BijectionError;
use crate::seed::Words;
use crate::word::{Index, Word, bits_for};

/// VariablePhilox: a Feistel-like cipher on `2^b` points, for every `b` from 2 to 64.
///
/// A point is split into a left half of `floor(b / 2)` bits and a right half of `ceil(b / 2)`. Each
/// round multiplies the left half by a fixed odd constant. The low bits of the product become the
/// new right half; if `b` is odd, the extra bit of the old right half is shifted in below them. The
/// high word of the product, xored with the round's key and the right half, becomes the new left
/// half. 24 rounds are the paper's choice.
///
/// The map is the paper's, and so that of `thrust::shuffle_copy` with the same keys. On its whole
/// domain it is always an even permutation (for `b >= 4`); add a
/// [`RandomSign`](crate::bijection::RandomSign) to correct that.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::bijection::VariablePhilox;
/// use bijective_shuffle::prelude::*;
///
/// let keys = core::array::from_fn(|k| (k as u32).wrapping_mul(0x9E37_79B9));
/// let f = VariablePhilox::<24>::new(10, keys)?;
/// assert_eq!(f.last(), 1023);
/// assert_eq!(f.inverse(f.forward(700)), 700);
///
/// // The same in 32-bit words.
/// let narrow: VariablePhilox<24, u32> = f.to_word()?;
/// assert_eq!(u64::from(narrow.forward(700)), f.forward(700));
/// # Ok::<(), bijective_shuffle::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VariablePhilox<const ROUNDS: usize = 24, N = u64> {
    bits: u32,
    keys: [u32; ROUNDS],
    word: PhantomData<N>,
}

impl<const ROUNDS: usize> VariablePhilox<ROUNDS> {
    /// The smallest width, in bits: each half needs one.
    const MIN_BITS: u32 = 2;

    /// The cipher on `2^bits` points with the given round keys.
    ///
    /// # Errors
    ///
    /// [`BijectionError::BitsOutOfRange`] if `bits` is not from 2 to 64.
    pub fn new(bits: u32, keys: [u32; ROUNDS]) -> Result<Self, BijectionError> {
        check_bits::<u64>(bits, Self::MIN_BITS)?;
        Ok(Self { bits, keys, word: PhantomData })
    }
}

impl<const ROUNDS: usize, N: Word> VariablePhilox<ROUNDS, N> {
    /// The width of the domain in bits.
    pub const fn bits(&self) -> u32 {
        self.bits
    }

    /// The round keys.
    #[doc(hidden)]
    pub const fn keys(&self) -> &[u32; ROUNDS] {
        &self.keys
    }

    /// The same map in words of another width.
    ///
    /// # Errors
    ///
    /// [`BijectionError::BitsOutOfRange`] if the domain does not fit the word.
    pub fn to_word<M: Word>(&self) -> Result<VariablePhilox<ROUNDS, M>, BijectionError> {
        check_bits::<M>(self.bits, VariablePhilox::<ROUNDS>::MIN_BITS)?;
        Ok(VariablePhilox { bits: self.bits, keys: self.keys, word: PhantomData })
    }

    fn split(&self) -> Split {
        Split::new(self.bits)
    }

    fn run<const INVERSE: bool, M: Index>(&self, first: N, out: &mut [M]) {
        let (split, keys, first) = (self.split(), &self.keys, first.widen());
        if self.bits <= u32::BITS {
            run(&PhiloxRounds::<INVERSE, u16>::new(split, keys), first, out);
        } else {
            run(&PhiloxRounds::<INVERSE, u32>::new(split, keys), first, out);
        }
    }

    fn each<const INVERSE: bool, M: Index>(&self, values: &mut [M]) {
        let (split, keys) = (self.split(), &self.keys);
        if self.bits <= u32::BITS {
            each(&PhiloxRounds::<INVERSE, u16>::new(split, keys), values);
        } else {
            each(&PhiloxRounds::<INVERSE, u32>::new(split, keys), values);
        }
    }
}

impl<const ROUNDS: usize, N: Word> Bijection<N> for VariablePhilox<ROUNDS, N> {
    fn last(&self) -> N {
        N::low_mask(self.bits)
    }

    fn forward(&self, slot: N) -> N {
        N::wrap(self.split().forward(slot.widen(), &self.keys))
    }

    fn inverse(&self, index: N) -> N {
        N::wrap(self.split().inverse(index.widen(), &self.keys))
    }

    super::lanes::runs!(N);

    fn trusted(&self) -> Option<Trusted<'_, N>> {
        Some(Trusted::of_family(self))
    }

    #[cfg(feature = "alloc")]
    fn device_source(&self) -> Option<DeviceSource> {
        // Only these bits of a key are used, and the device text relies on the others being 0.
        let left_mask = u64::low_mask(self.bits / 2) as u32;
        let keys = self.keys.map(|key| key & left_mask);
        let mut pairs = [[0; 2]; ROUNDS];
        for (pair, keys) in pairs.iter_mut().zip(keys.chunks(2)) {
            pair[..keys.len()].copy_from_slice(keys);
        }
        let text = r#"#include "bijection/variable_philox.cuh""#;
        let family = DeviceSource::own("VariablePhilox", text);
        let family = family.number("bits", self.bits).number("rounds", ROUNDS as u32);
        Some(family.field("keys", &pairs[..ROUNDS.div_ceil(2)]))
    }

    #[inline]
    fn hooks(&self) -> Option<&dyn EngineHooks<N>> {
        Some(self)
    }
}

impl<const ROUNDS: usize, N: Word> EngineHooks<N> for VariablePhilox<ROUNDS, N> {
    super::lanes::narrow_hooks!(N);

    fn evaluation_picoseconds(&self) -> u32 {
        let round = match self.bits {
            ..=32 => PerLevel { portable: 137, avx2: 72, avx512: 32 },
            33.. => PerLevel { portable: 360, avx2: 120, avx512: 52 },
        };
        round.current().saturating_mul(ROUNDS as u32)
    }
}

// SAFETY: the constructors accept only 2 <= bits <= the word's width, so both halves have at least
// one and at most 32 bits and no shift overflows. A round is invertible: the multiplier is odd, so
// the low bits of the product determine the left half, and that determines the high word and thus
// the right half. `inverse` does exactly this, round by round. The fields are private and never
// change.
unsafe impl<const ROUNDS: usize, N: Word> TrustedBijection<N> for VariablePhilox<ROUNDS, N> {}

impl<const ROUNDS: usize> FromSeed for VariablePhilox<ROUNDS> {
    /// Draws one word for each round. The width is the smallest, and at least 2 bits, that holds
    /// the length.
    fn from_words<W: Words + ?Sized>(len: u64, words: &mut W) -> Self {
        let keys = core::array::from_fn(|_| words.next_u32());
        Self { bits: bits_for(len).max(Self::MIN_BITS), keys, word: PhantomData }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::BijectionError;

    /// One round computed by hand: b = 5, left half 2 bits, right half 3 bits.
    #[test]
    fn one_round_by_hand() {
        let f = VariablePhilox::<1>::new(5, [2]).unwrap();
        // 0b10_110: left 2, right 6. The product is 0xA56E_880F_639C_DD26 (mod 2^64): high word
        // ends in binary 1111, low word in 0110. left = (3 ^ 2 ^ 6) & 3 = 3; right = (0b10 <<
        // 1 | 1) with 3 bits kept of 0b...0110 << 1 | 6 >> 2 = 0b01101 & 7 = 5.
        assert_eq!(f.forward(0b10_110), 0b11_101);
        assert_eq!(f.inverse(0b11_101), 0b10_110);
    }

    #[test]
    fn widths_outside_the_range_are_refused() {
        for bits in [0, 1, 65, u32::MAX] {
            let error = VariablePhilox::<24>::new(bits, [0; 24]).unwrap_err();
            assert_eq!(error, BijectionError::BitsOutOfRange { bits, min: 2, max: 64 });
        }
        let wide = VariablePhilox::<24>::new(33, [0; 24]).unwrap();
        assert_eq!(
            wide.to_word::<u32>().unwrap_err(),
            BijectionError::BitsOutOfRange { bits: 33, min: 2, max: 32 }
        );
    }
}
