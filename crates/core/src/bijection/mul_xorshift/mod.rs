//! [`MulXorshift`]: keyed affine maps alternating with xorshifts.

mod definition;
mod lanes;
#[cfg(all(not(target_arch = "x86_64"), feature = "std"))]
mod portable;
mod round;
mod vectors;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use definition::MulXorshift;

use core::any::Any;

use self::lanes::Rounds;
use super::copies::ItemCopies;
use super::lanes::{each, run};
use super::standard::StandardCipher;
use super::traits::EngineHooks;
use super::{Bijection, DeviceSource, FromSeed, Trusted, TrustedBijection};
use crate::base::simd::PerLevel;
use crate::seed::{BLOCKS, Seed, Words};
use crate::word::{Index, Word};

impl<const ROUNDS: usize, N: Word> MulXorshift<ROUNDS, N> {
    /// Evaluates in the narrowest lanes that hold the domain. The words hold it too, so there is no
    /// code for words that are narrower than the lanes.
    fn run<const INVERSE: bool, M: Index>(&self, first: N, out: &mut [M]) {
        let first = first.widen();
        match self.bits {
            ..=16 => run(&Rounds::<INVERSE, N, u16, ROUNDS>::new(self), first, out),
            17..=32 if const { size_of::<M>() >= 4 } => {
                run(&Rounds::<INVERSE, N, u32, ROUNDS>::new(self), first, out);
            }
            33.. if const { size_of::<M>() >= 8 } => {
                run(&Rounds::<INVERSE, N, u64, ROUNDS>::new(self), first, out);
            }
            _ => too_narrow(),
        }
    }

    fn each<const INVERSE: bool, M: Index>(&self, values: &mut [M]) {
        match self.bits {
            ..=16 => each(&Rounds::<INVERSE, N, u16, ROUNDS>::new(self), values),
            17..=32 if const { size_of::<M>() >= 4 } => {
                each(&Rounds::<INVERSE, N, u32, ROUNDS>::new(self), values);
            }
            33.. if const { size_of::<M>() >= 8 } => {
                each(&Rounds::<INVERSE, N, u64, ROUNDS>::new(self), values);
            }
            _ => too_narrow(),
        }
    }
}

impl StandardCipher {
    /// [`EngineHooks::forward_run_u16`], with copies of items meanwhile.
    #[doc(hidden)]
    pub fn run_u16_copying(&self, first: u64, out: &mut [u16], copies: &mut ItemCopies<u16>) {
        Rounds::<false, u64, u16, 10>::new(self).run_copying(first as u16, out, copies);
    }

    /// [`EngineHooks::forward_run_u32`], with copies of items meanwhile.
    #[doc(hidden)]
    pub fn run_u32_copying(&self, first: u64, out: &mut [u32], copies: &mut ItemCopies<u32>) {
        Rounds::<false, u64, u32, 10>::new(self).run_copying(first as u32, out, copies);
    }
}

#[cold]
fn too_narrow() -> ! {
    unreachable!("values are asked for in words that do not hold the domain")
}

impl<const ROUNDS: usize, N: Word> Bijection<N> for MulXorshift<ROUNDS, N> {
    fn last(&self) -> N {
        N::low_mask(self.bits)
    }

    fn forward(&self, slot: N) -> N {
        self.value(slot)
    }

    fn inverse(&self, index: N) -> N {
        self.slot(index)
    }

    super::lanes::runs!(N);

    fn trusted(&self) -> Option<Trusted<'_, N>> {
        Some(Trusted::of_family(self))
    }

    #[cfg(feature = "alloc")]
    fn device_source(&self) -> Option<DeviceSource> {
        let mut undo_increments = self.increments;
        for (increment, undo) in undo_increments.iter_mut().zip(self.undo) {
            *increment = N::ZERO.wrapping_sub(increment.wrapping_mul(undo));
        }
        let DeviceWidth { last, shifts, below } = DeviceWidth::new(self.bits);
        let text = r#"#include "bijection/mul_xorshift.cuh""#;
        let family = DeviceSource::own("MulXorshift", text);
        let family = family.word(self.bits).number("rounds", ROUNDS as u32);
        let family = family.field("width.last", &[last]).field("width.shifts", &shifts);
        let family = family.field("width.below", &below);
        let words = |words: [N; ROUNDS]| words.map(N::widen);
        let family = family.field("multipliers", &words(self.multipliers));
        let family = family.field("increments", &words(self.increments));
        let family = family.field("undo", &words(self.undo));
        Some(family.field("undo_increments", &words(undo_increments)))
    }

    #[inline]
    fn hooks(&self) -> Option<&dyn EngineHooks<N>> {
        Some(self)
    }
}

impl<const ROUNDS: usize, N: Word> EngineHooks<N> for MulXorshift<ROUNDS, N> {
    super::lanes::narrow_hooks!(N);

    #[inline]
    fn member(&self) -> Option<&dyn Any> {
        Some(self)
    }

    fn evaluation_picoseconds(&self) -> u32 {
        let round = match self.bits {
            ..=16 => PerLevel { portable: 82, avx2: 36, avx512: 20 },
            17..=32 => PerLevel { portable: 210, avx2: 55, avx512: 27 },
            33.. => PerLevel { portable: 430, avx2: 200, avx512: 55 },
        };
        round.current().saturating_mul(ROUNDS as u32)
    }
}

/// `Width` in gpu/bijection/mul_xorshift.cuh: what a width of 2 to 64 bits means to the device.
#[cfg(feature = "alloc")]
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceWidth {
    pub last: u64,
    pub shifts: [u32; 2],
    pub below: [u32; 2],
}

#[cfg(feature = "alloc")]
impl DeviceWidth {
    #[doc(hidden)]
    pub fn new(bits: u32) -> Self {
        let (last, half) = (u64::low_mask(bits), bits.div_ceil(2));
        let shifts = [half, half + 1];
        // Half of the bits at most are left, so they fit.
        Self { last, shifts, below: shifts.map(|shift| (last >> shift) as u32) }
    }
}

// SAFETY: every step is a bijection on the words of `bits` bits: an affine map with an odd
// multiplier, or an xorshift by at least half of the bits, which is its own inverse. `inverse`
// undoes them in reverse order. The shifts, at most bits / 2 + 2, are below the word's width, since
// the width is at least 32 and 2 <= bits <= the width. The fields are private to this module, and
// nothing changes them.
unsafe impl<const ROUNDS: usize, N: Word> TrustedBijection<N> for MulXorshift<ROUNDS, N> {}

impl<const ROUNDS: usize> FromSeed for MulXorshift<ROUNDS> {
    /// Draws two 64-bit words for each round: the increment, and the multiplier, whose lowest three
    /// bits become 3 or 5 according to its bit 2. The width is the smallest, and at least 2 bits,
    /// that holds the length.
    fn from_words<W: Words + ?Sized>(len: u64, words: &mut W) -> Self {
        Self::of_words(len, [[(); 2]; ROUNDS].map(|round| round.map(|()| words.next_u64())))
    }

    /// What [`from_rng`](Self::from_rng) makes of the seed's stream, whose blocks are computed side
    /// by side: a round takes the two words of one.
    fn from_seed(len: u64, seed: impl Into<Seed>) -> Self {
        let (seed, domain) = (seed.into(), Self::key_domain(len));
        let mut words = [[0; 2]; ROUNDS];
        for (first, words) in (0..).step_by(BLOCKS).zip(words.chunks_mut(BLOCKS)) {
            let drawn = seed.stream_words(domain, first);
            words.copy_from_slice(&drawn.as_chunks().0[..words.len()]);
        }
        Self::of_words(len, words)
    }
}
