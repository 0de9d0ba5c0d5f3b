//! [`GridFeistel`]: a Feistel network on a grid that is hardly larger than the length.

mod definition;
mod lanes;

pub use definition::GridFeistel;

#[cfg(feature = "alloc")]
use self::definition::HalfRound;
use self::lanes::HalfRounds;
use super::lanes::{each, run};
use super::traits::EngineHooks;
use super::{Bijection, DeviceSource, FromSeed, Trusted, TrustedBijection};
use crate::base::simd::PerLevel;
use crate::seed::{KeyDomain, Words};
use crate::word::{Index, Word};

impl<const HALF_ROUNDS: usize> GridFeistel<HALF_ROUNDS> {
    fn run<const INVERSE: bool, M: Index>(&self, first: u64, out: &mut [M]) {
        match self.width {
            16 => run(&HalfRounds::<INVERSE, u16, HALF_ROUNDS>::new(self), first, out),
            _ => run(&HalfRounds::<INVERSE, u32, HALF_ROUNDS>::new(self), first, out),
        }
    }

    fn each<const INVERSE: bool, M: Index>(&self, values: &mut [M]) {
        match self.width {
            16 => each(&HalfRounds::<INVERSE, u16, HALF_ROUNDS>::new(self), values),
            _ => each(&HalfRounds::<INVERSE, u32, HALF_ROUNDS>::new(self), values),
        }
    }
}

impl<const HALF_ROUNDS: usize> Bijection for GridFeistel<HALF_ROUNDS> {
    fn last(&self) -> u64 {
        // `rows * 2^column_bits` may be 2^64, which a word does not hold.
        ((self.rows - 1) << self.column_bits) | ((1 << self.column_bits) - 1)
    }

    fn forward(&self, slot: u64) -> u64 {
        self.value(slot)
    }

    fn inverse(&self, index: u64) -> u64 {
        self.slot(index)
    }

    super::lanes::runs!(u64);

    fn trusted(&self) -> Option<Trusted<'_>> {
        Some(Trusted::of_family(self))
    }

    #[cfg(feature = "alloc")]
    fn device_source(&self) -> Option<DeviceSource> {
        let keys = self.keys.each_ref().map(|key| {
            let HalfRound { multiplier, increment, finish, columns } = *key;
            [multiplier, increment, finish, columns, columns.odd_inverse(), 0]
        });
        let text = r#"#include "bijection/grid_feistel.cuh""#;
        let family = DeviceSource::own("GridFeistel", text);
        let family = family.number("column_bits", self.column_bits).number("width", self.width);
        let family = family.number("half_rounds", HALF_ROUNDS as u32);
        Some(family.field("rows", &[self.rows]).field("keys", &keys))
    }

    #[inline]
    fn hooks(&self) -> Option<&dyn EngineHooks> {
        Some(self)
    }
}

impl<const HALF_ROUNDS: usize> EngineHooks for GridFeistel<HALF_ROUNDS> {
    super::lanes::narrow_hooks!(u64);

    fn evaluation_picoseconds(&self) -> u32 {
        let half_round = match self.width {
            16 => PerLevel { portable: 128, avx2: 82, avx512: 43 },
            _ => PerLevel { portable: 520, avx2: 160, avx512: 88 },
        };
        half_round.current().saturating_mul(HALF_ROUNDS as u32)
    }
}

// SAFETY: a point of the grid is a row below `rows` and a column below 2^column_bits. Each
// half-round applies a bijection to one of them, chosen by the other: a subtraction modulo `rows`
// of an offset below `rows`, or an affine map modulo 2^column_bits with an odd multiplier, whose
// 32-bit inverse is right for any column_bits up to 32. `inverse` undoes them in reverse order. The
// hash has w bits, so its product with `rows` is below rows * 2^w and the offset is below `rows`;
// `rows` is at most 2^w and column_bits at most w. The fields are private to this module, and
// nothing changes them.
unsafe impl<const HALF_ROUNDS: usize> TrustedBijection for GridFeistel<HALF_ROUNDS> {}

impl<const HALF_ROUNDS: usize> FromSeed for GridFeistel<HALF_ROUNDS> {
    /// Draws four 32-bit words for each half-round, in the order of [`new`](Self::new). A length of
    /// 0 counts as 1.
    fn from_words<W: Words + ?Sized>(len: u64, words: &mut W) -> Self {
        let keys = core::array::from_fn(|_| core::array::from_fn(|_| words.next_u32()));
        Self::keyed(len, keys)
    }

    /// Lengths that share a grid share a key. Other lengths must not, since under one key two grids
    /// with nearly the same number of rows would be nearly the same map.
    fn key_domain(len: u64) -> KeyDomain {
        KeyDomain::Exact(Self::keyed(len, [[0; 4]; HALF_ROUNDS]).last())
    }
}
