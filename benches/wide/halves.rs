//! [`Halves`]: vectors of halves of points, for the families that keep a point as two words.

use std::array;

use bijective_shuffle::Word;
use wide::{u16x8, u32x4, u64x2};

use crate::vector::{Vector, product_32};

/// Lanes that hold half of a point, and of which two are multiplied.
pub(crate) trait Halves: Vector {
    /// The number of bits of a half: those of a lane or, in 64-bit lanes, 32.
    const BITS: u32;

    /// Consecutive points, each cut into what is above the given bits, and these.
    fn cut<const N: usize>(start: u64, bits: u32, mask: Self) -> [[Self; N]; 2];

    /// Puts points together again.
    fn join<W: Word>(high: Self, low: Self, bits: u32, out: &mut [W]);

    /// The low half of the product and the high one. 64-bit lanes have garbage above the low half.
    fn product(self, factor: Self) -> [Self; 2];

    /// Masks garbage above a half, where there may be any.
    fn cleaned(self, mask: Self) -> Self;
}

macro_rules! halves {
    ($vector:ident, $lane:ident, $lanes:literal, $point:ident) => {
        impl Halves for $vector {
            const BITS: u32 = $lane::BITS;

            #[inline(always)]
            fn cut<const N: usize>(start: u64, bits: u32, mask: Self) -> [[Self; N]; 2] {
                let lanes = |k: usize, bits: u32| {
                    let first = start as $point + ($lanes * k) as $point;
                    Self::new(array::from_fn(|lane| ((first + lane as $point) >> bits) as $lane))
                };
                [array::from_fn(|k| lanes(k, bits)), array::from_fn(|k| lanes(k, 0) & mask)]
            }

            #[inline(always)]
            fn join<W: Word>(high: Self, low: Self, bits: u32, out: &mut [W]) {
                let pairs = high.to_array().into_iter().zip(low.to_array());
                for (out, (high, low)) in out.iter_mut().zip(pairs) {
                    *out = W::wrap(($point::from(high) << bits | $point::from(low)).into());
                }
            }

            #[inline(always)]
            fn product(self, factor: Self) -> [Self; 2] {
                [self * factor, self.mul_keep_high(factor)]
            }

            #[inline(always)]
            fn cleaned(self, _mask: Self) -> Self {
                self
            }
        }
    };
}

halves!(u16x8, u16, 8, u32);
halves!(u32x4, u32, 4, u64);

impl Halves for u64x2 {
    const BITS: u32 = 32;

    #[inline(always)]
    fn cut<const N: usize>(start: u64, bits: u32, mask: Self) -> [[Self; N]; 2] {
        let points: [Self; N] = array::from_fn(|k| Self::count_from(start + 2 * k as u64));
        [points.map(|x| x >> bits), points.map(|x| x & mask)]
    }

    #[inline(always)]
    fn join<W: Word>(high: Self, low: Self, bits: u32, out: &mut [W]) {
        ((high << bits) | low).store(out);
    }

    #[inline(always)]
    fn product(self, factor: Self) -> [Self; 2] {
        let product = product_32(self, factor);
        [product, product >> 32_u32]
    }

    #[inline(always)]
    fn cleaned(self, mask: Self) -> Self {
        self & mask
    }
}
