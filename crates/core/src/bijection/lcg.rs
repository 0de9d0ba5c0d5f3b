//! [`Lcg`]: one step of a linear congruential generator.

use super::lanes::{BLOCK, Lanes, each, run};
use super::traits::EngineHooks;
use super::{Bijection, DeviceSource, FromSeed, Trusted, TrustedBijection};
use crate::base::check::check_bits;
use crate::base::simd::PerLevel;
use crate::error::BijectionError;
use crate::seed::Words;
use crate::word::{Word, bits_for};

/// The map `x -> a x + c mod 2^b` with an odd `a`: the paper's cheap bijection (Mitchell et al.,
/// 2022, section 3.1).
///
/// It costs one multiplication and is a poor shuffle: the family has far too few members, and the
/// lowest bit merely alternates. It serves as a baseline for measurements and as a building block.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::bijection::Lcg;
/// use bijective_shuffle::prelude::*;
///
/// let f = Lcg::new(4, 5, 3)?;
/// assert_eq!((0..4).map(|x| f.forward(x)).collect::<Vec<_>>(), [3, 8, 13, 2]);
/// assert_eq!(f.inverse(13), 2);
/// # Ok::<(), bijective_shuffle::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lcg<N = u64> {
    bits: u32,
    multiplier: N,
    increment: N,
    /// The inverse of the multiplier modulo `2^bits`.
    undo: N,
}

impl Lcg {
    /// The map `x -> multiplier * x + increment` modulo `2^bits`.
    ///
    /// # Errors
    ///
    /// [`BijectionError::BitsOutOfRange`] if `bits` is not from 1 to 64,
    /// [`BijectionError::EvenMultiplier`] if the multiplier is even.
    pub fn new(bits: u32, multiplier: u64, increment: u64) -> Result<Self, BijectionError> {
        check_bits::<u64>(bits, 1)?;
        if multiplier.is_multiple_of(2) {
            return Err(BijectionError::EvenMultiplier { multiplier });
        }
        Ok(Self::reduced(bits, multiplier, increment))
    }
}

impl<N: Word> Lcg<N> {
    /// The width of the domain in bits.
    pub const fn bits(&self) -> u32 {
        self.bits
    }

    /// The multiplier, below `2^bits`.
    #[doc(hidden)]
    pub const fn multiplier(&self) -> N {
        self.multiplier
    }

    /// The increment, below `2^bits`.
    #[doc(hidden)]
    pub const fn increment(&self) -> N {
        self.increment
    }

    /// The same map in words of another width.
    ///
    /// # Errors
    ///
    /// [`BijectionError::BitsOutOfRange`] if the domain does not fit the word.
    pub fn to_word<M: Word>(&self) -> Result<Lcg<M>, BijectionError> {
        check_bits::<M>(self.bits, 1)?;
        Ok(Lcg::reduced(
            self.bits,
            M::wrap(self.multiplier.widen()),
            M::wrap(self.increment.widen()),
        ))
    }

    /// The same map in words of 32 bits, for a domain that fits them: a vector has twice as many.
    fn narrow(&self) -> Lcg<u32> {
        let Self { bits, multiplier, increment, undo } = *self;
        let [multiplier, increment, undo] =
            [multiplier, increment, undo].map(|word| u32::wrap(word.widen()));
        Lcg { bits, multiplier, increment, undo }
    }

    /// The member for a width in range and an odd multiplier.
    fn reduced(bits: u32, multiplier: N, increment: N) -> Self {
        let mask = N::low_mask(bits);
        Self {
            bits,
            multiplier: multiplier & mask,
            increment: increment & mask,
            undo: multiplier.odd_inverse() & mask,
        }
    }
}

/// The map on many points at once. It is so short that lanes of the word's own width are fast
/// enough.
struct Forward<N>(Lcg<N>);

/// The inverse on many points at once.
struct Backward<N>(Lcg<N>);

macro_rules! lanes {
    ($direction:ident, $method:ident) => {
        impl<N: Word> Lanes for $direction<N> {
            type Point = N;

            #[inline(always)]
            fn evaluate<const LARGE: bool>(&self, points: &mut [N; BLOCK]) {
                for point in points {
                    *point = self.0.$method(*point);
                }
            }

            #[inline(always)]
            fn evaluate_one(&self, point: N) -> N {
                self.0.$method(point)
            }
        }
    };
}

lanes!(Forward, forward);
lanes!(Backward, inverse);

impl<N: Word> Bijection<N> for Lcg<N> {
    fn last(&self) -> N {
        N::low_mask(self.bits)
    }

    #[inline(always)]
    fn forward(&self, slot: N) -> N {
        self.multiplier.wrapping_mul(slot).wrapping_add(self.increment) & self.last()
    }

    #[inline(always)]
    fn inverse(&self, index: N) -> N {
        index.wrapping_sub(self.increment).wrapping_mul(self.undo) & self.last()
    }

    fn forward_run(&self, first: N, out: &mut [N]) {
        run(&Forward(*self), first.widen(), out);
    }

    fn inverse_run(&self, first: N, out: &mut [N]) {
        run(&Backward(*self), first.widen(), out);
    }

    fn forward_each(&self, values: &mut [N]) {
        each(&Forward(*self), values);
    }

    fn inverse_each(&self, values: &mut [N]) {
        each(&Backward(*self), values);
    }

    fn trusted(&self) -> Option<Trusted<'_, N>> {
        Some(Trusted::of_family(self))
    }

    #[cfg(feature = "alloc")]
    fn device_source(&self) -> Option<DeviceSource> {
        let family = DeviceSource::own("Lcg", r#"#include "bijection/lcg.cuh""#);
        let family = family.number("bits", self.bits);
        let family = family.field("multiplier", &[self.multiplier.widen()]);
        let family = family.field("increment", &[self.increment.widen()]);
        Some(family.field("undo", &[self.undo.widen()]))
    }

    #[inline]
    fn hooks(&self) -> Option<&dyn EngineHooks<N>> {
        Some(self)
    }
}

impl<N: Word> EngineHooks<N> for Lcg<N> {
    fn forward_run_u32(&self, first: N, out: &mut [u32]) {
        run(&Forward(self.narrow()), first.widen(), out);
    }

    fn forward_run_u16(&self, first: N, out: &mut [u16]) {
        run(&Forward(self.narrow()), first.widen(), out);
    }

    fn inverse_run_u32(&self, first: N, out: &mut [u32]) {
        run(&Backward(self.narrow()), first.widen(), out);
    }

    fn evaluation_picoseconds(&self) -> u32 {
        PerLevel { portable: 400, avx2: 250, avx512: 190 }.current()
    }

    fn forward_each_u32(&self, values: &mut [u32]) {
        each(&Forward(self.narrow()), values);
    }
}

// SAFETY: the constructors accept only odd multipliers. Those have an inverse modulo every power of
// two, which is `undo`, and the increment cancels. The fields are private and never change.
unsafe impl<N: Word> TrustedBijection<N> for Lcg<N> {}

impl FromSeed for Lcg {
    /// Draws the multiplier, which is made odd, and the increment, a 64-bit word each. The width is
    /// at least 1 bit.
    fn from_words<W: Words + ?Sized>(len: u64, words: &mut W) -> Self {
        let multiplier = words.next_u64() | 1;
        let increment = words.next_u64();
        Self::reduced(bits_for(len).max(1), multiplier, increment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lcg_refuses_bad_parameters() {
        assert_eq!(
            Lcg::new(0, 1, 0),
            Err(BijectionError::BitsOutOfRange { bits: 0, min: 1, max: 64 })
        );
        assert_eq!(
            Lcg::new(65, 1, 0),
            Err(BijectionError::BitsOutOfRange { bits: 65, min: 1, max: 64 })
        );
        assert_eq!(Lcg::new(8, 6, 1), Err(BijectionError::EvenMultiplier { multiplier: 6 }));
        assert!(Lcg::new(40, 5, 1).unwrap().to_word::<u32>().is_err());
    }
}
