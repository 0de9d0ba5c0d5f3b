//! The cipher's rounds at single points, split into two halves.

use crate::word::Word;

/// The multiplier that the paper takes from Salmon et al. It is odd, so it permutes the low bits.
pub(super) const MULTIPLIER: u64 = 0xD2B7_4407_B1CE_6E93;

/// How a point of `b` bits is split into two halves.
#[derive(Clone, Copy)]
pub(super) struct Split {
    pub(super) right_bits: u32,
    pub(super) left_bits: u32,
    pub(super) left_mask: u32,
    pub(super) right_mask: u32,
}

impl Split {
    #[inline]
    pub(super) fn new(bits: u32) -> Self {
        let left_bits = bits / 2;
        let right_bits = bits - left_bits;
        Self {
            right_bits,
            left_bits,
            left_mask: u32::low_mask(left_bits),
            right_mask: u32::low_mask(right_bits),
        }
    }

    /// 1 for an odd width, where the right half has one bit more than the left; else 0.
    #[inline]
    pub(super) fn odd(self) -> u32 {
        self.right_bits - self.left_bits
    }

    #[inline]
    fn cut(self, point: u64) -> (u32, u32) {
        ((point >> self.right_bits) as u32, point as u32 & self.right_mask)
    }

    #[inline]
    fn join(self, left: u32, right: u32) -> u64 {
        u64::from(left) << self.right_bits | u64::from(right)
    }

    /// For an odd width, the right half's bit above the width of the left half; else 0.
    #[inline]
    fn top(self, right: u32) -> u32 {
        // In 64 bits, since the left half may have 32. For b = 64, Listing 1 shifts a 32-bit word
        // by 32, which is undefined in C++. Only if no bit is left over is the map a bijection.
        (u64::from(right) >> self.left_bits) as u32
    }

    /// The value at a point, with a key for each round.
    #[inline]
    pub(super) fn forward(self, point: u64, keys: &[u32]) -> u64 {
        let odd = self.odd();
        let (mut left, mut right) = self.cut(point);
        for key in keys {
            let product = MULTIPLIER.wrapping_mul(u64::from(left));
            let high = (product >> 32) as u32;
            let low = (product as u32) << odd | self.top(right);
            left = (high ^ key ^ right) & self.left_mask;
            right = low & self.right_mask;
        }
        self.join(left, right)
    }

    /// The point with the given value.
    #[inline]
    pub(super) fn inverse(self, point: u64, keys: &[u32]) -> u64 {
        let odd = self.odd();
        let undo = (MULTIPLIER as u32).odd_inverse();
        let (mut left, mut right) = self.cut(point);
        for key in keys.iter().rev() {
            let top = u64::from(right & u32::low_mask(odd)) << self.left_bits;
            let old_left = (right >> odd).wrapping_mul(undo) & self.left_mask;
            let high = (MULTIPLIER.wrapping_mul(u64::from(old_left)) >> 32) as u32;
            right = (high ^ key ^ left) & self.left_mask | top as u32;
            left = old_left;
        }
        self.join(left, right)
    }
}
