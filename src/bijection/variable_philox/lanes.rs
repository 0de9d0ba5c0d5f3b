//! VariablePhilox on many points at once.
//!
//! Up to 32 bits, both halves have at most 16 bits. A round multiplies the left half, `L`, and of
//! the product needs only the bits from 0 to 15 and from 32 to 47. With the multiplier in 16-bit
//! limbs, `m0 + m1 2^16 + m2 2^32 + ..`, these are
//!
//! ```text
//! low  = lo(L m0)
//! high = hi(L m1) + lo(L m2) + carry of (hi(L m0) + lo(L m1))
//! ```
//!
//! where `lo` and `hi` are the halves of the product of 16-bit words, for which every vector unit
//! has instructions. On wider domains, the halves of up to 32 bits are held in 64-bit words.

use super::split::{MULTIPLIER, Split};
use crate::bijection::lanes::{BLOCK, Lanes};
use crate::word::Word;

const LIMBS: [u16; 3] = [MULTIPLIER as u16, (MULTIPLIER >> 16) as u16, (MULTIPLIER >> 32) as u16];

#[inline(always)]
fn high_half(a: u16, b: u16) -> u16 {
    ((u32::from(a) * u32::from(b)) >> 16) as u16
}

/// The bits from 32 to 47 of the multiplier's product with a word.
///
/// The carry is the bit of the sum above the word, which vector additions drop. Averages keep it,
/// but round up, which adds one to the sum. Using `m0 - 3` for `m0` compensates for that, for every
/// `L` (the tests try all of them).
#[inline(always)]
fn high_word(left: u16) -> u16 {
    let low = high_half(left, LIMBS[0] - 3);
    let middle = left.wrapping_mul(LIMBS[1]);
    // In this form the compiler recognises an averaging instruction, where there is one, instead of
    // a sum in wider words.
    let mean = (low | middle) - ((low ^ middle) >> 1);
    high_half(left, LIMBS[1]).wrapping_add(left.wrapping_mul(LIMBS[2])).wrapping_add(mean >> 15)
}

/// The cipher on up to 32 bits: forward or, with `INVERSE`, inverse.
pub(super) struct Narrow<'a, const INVERSE: bool> {
    pub(super) split: Split,
    pub(super) keys: &'a [u32],
}

/// The halves of a block of points.
struct Halves {
    left: [u16; BLOCK],
    right: [u16; BLOCK],
}

impl<const INVERSE: bool> Narrow<'_, INVERSE> {
    #[inline(always)]
    fn forward<const ODD: u32>(&self, Halves { left, right }: &mut Halves) {
        let (left_mask, right_mask) = (self.split.left_mask as u16, self.split.right_mask as u16);
        for &key in self.keys {
            let key = key as u16;
            for (left, right) in left.iter_mut().zip(&mut *right) {
                let low = left.wrapping_mul(LIMBS[0]);
                let high = high_word(*left);
                // An even width leaves garbage above the right half, until the next left half is
                // masked.
                let low = if ODD == 0 {
                    low
                } else {
                    (low << 1 | *right >> self.split.left_bits) & right_mask
                };
                *left = (high ^ key ^ *right) & left_mask;
                *right = low;
            }
        }
        if ODD == 0 {
            for right in right {
                *right &= right_mask;
            }
        }
    }

    #[inline(always)]
    fn inverse<const ODD: u32, const LARGE: bool>(&self, Halves { left, right }: &mut Halves) {
        let undo = (MULTIPLIER as u32).odd_inverse() as u16;
        for &key in self.keys.iter().rev() {
            if LARGE {
                // In pieces, which the compiler unrolls. It does not unroll the whole block, but
                // leaves the halves in memory. (Measured: the pieces are 1.1 to 1.3 times as fast
                // with AVX-512, but 0.8 times with AVX2.)
                let right = right.as_chunks_mut::<PIECE>().0;
                for (left, right) in left.as_chunks_mut::<PIECE>().0.iter_mut().zip(right) {
                    self.inverse_round::<ODD>(left, right, key as u16, undo);
                }
            } else {
                self.inverse_round::<ODD>(left, right, key as u16, undo);
            }
        }
        for right in right {
            *right &= self.split.right_mask as u16;
        }
    }

    /// An inverse round. It leaves garbage above the right half, which is masked off in the next
    /// round's left half.
    #[inline(always)]
    fn inverse_round<const ODD: u32>(
        &self,
        left: &mut [u16],
        right: &mut [u16],
        key: u16,
        undo: u16,
    ) {
        let left_mask = self.split.left_mask as u16;
        for (left, right) in left.iter_mut().zip(right) {
            let old_left = (*right >> ODD).wrapping_mul(undo) & left_mask;
            let old_right = high_word(old_left) ^ key ^ *left;
            *right = if ODD == 0 {
                old_right
            } else {
                old_right & left_mask | (*right & 1) << self.split.left_bits
            };
            *left = old_left;
        }
    }
}

/// The number of points in a piece of a block.
const PIECE: usize = 64;

impl<const INVERSE: bool> Lanes for Narrow<'_, INVERSE> {
    type Point = u32;

    #[inline(always)]
    fn evaluate<const LARGE: bool>(&self, points: &mut [u32; BLOCK]) {
        let mut halves = Halves { left: [0; BLOCK], right: [0; BLOCK] };
        let pairs = halves.left.iter_mut().zip(&mut halves.right);
        for ((left, right), point) in pairs.zip(&*points) {
            *left = (point >> self.split.right_bits) as u16;
            *right = (point & self.split.right_mask) as u16;
        }
        match (INVERSE, self.split.odd()) {
            (false, 0) => self.forward::<0>(&mut halves),
            (false, _) => self.forward::<1>(&mut halves),
            (true, 0) => self.inverse::<0, LARGE>(&mut halves),
            (true, _) => self.inverse::<1, LARGE>(&mut halves),
        }
        let pairs = halves.left.iter().zip(&halves.right);
        for ((&left, &right), point) in pairs.zip(points) {
            *point = u32::from(left) << self.split.right_bits | u32::from(right);
        }
    }

    #[inline(always)]
    fn evaluate_one(&self, point: u32) -> u32 {
        one::<INVERSE>(self.split, self.keys, u64::from(point)) as u32
    }
}

/// The cipher on more than 32 bits.
pub(super) struct Wide<'a, const INVERSE: bool> {
    pub(super) split: Split,
    pub(super) keys: &'a [u32],
}

/// The number of points that are in the registers at once.
const WIDE_BLOCK: usize = 64;

/// The bits from 0 to 63 of the multiplier's product with a 32-bit word, by two multiplications of
/// 32-bit words.
#[inline(always)]
fn product(left: u64) -> u64 {
    const LOW: u64 = MULTIPLIER & 0xFFFF_FFFF;
    const HIGH: u64 = MULTIPLIER >> 32;
    let left = left & 0xFFFF_FFFF;
    (left * LOW).wrapping_add((left * HIGH) << 32)
}

impl<const INVERSE: bool> Wide<'_, INVERSE> {
    #[inline(always)]
    fn forward(&self, left: &mut [u64; WIDE_BLOCK], right: &mut [u64; WIDE_BLOCK]) {
        let (left_mask, right_mask) =
            (u64::from(self.split.left_mask), u64::from(self.split.right_mask));
        let odd = self.split.odd();
        for &key in self.keys {
            let key = u64::from(key);
            for (left, right) in left.iter_mut().zip(&mut *right) {
                let product = product(*left);
                let low = product << odd | *right >> self.split.left_bits;
                *left = ((product >> 32) ^ key ^ *right) & left_mask;
                *right = low & right_mask;
            }
        }
    }

    #[inline(always)]
    fn inverse(&self, left: &mut [u64; WIDE_BLOCK], right: &mut [u64; WIDE_BLOCK]) {
        let left_mask = u64::from(self.split.left_mask);
        let odd = self.split.odd();
        let odd_mask = u64::low_mask(odd);
        let undo = u64::from((MULTIPLIER as u32).odd_inverse());
        for &key in self.keys.iter().rev() {
            let key = u64::from(key);
            for (left, right) in left.iter_mut().zip(&mut *right) {
                let old_left = (((*right >> odd) & 0xFFFF_FFFF) * undo) & left_mask;
                let top = (*right & odd_mask) << self.split.left_bits;
                *right = ((product(old_left) >> 32) ^ key ^ *left) & left_mask | top;
                *left = old_left;
            }
        }
    }
}

impl<const INVERSE: bool> Lanes for Wide<'_, INVERSE> {
    type Point = u64;

    #[inline(always)]
    fn evaluate<const LARGE: bool>(&self, points: &mut [u64; BLOCK]) {
        let (blocks, _) = points.as_chunks_mut::<WIDE_BLOCK>();
        for points in blocks {
            let mut left = points.map(|point| point >> self.split.right_bits);
            let mut right = points.map(|point| point & u64::from(self.split.right_mask));
            if INVERSE {
                self.inverse(&mut left, &mut right);
            } else {
                self.forward(&mut left, &mut right);
            }
            for ((left, right), point) in left.iter().zip(&right).zip(points) {
                *point = left << self.split.right_bits | right;
            }
        }
    }

    #[inline(always)]
    fn evaluate_one(&self, point: u64) -> u64 {
        one::<INVERSE>(self.split, self.keys, point)
    }
}

#[inline(always)]
fn one<const INVERSE: bool>(split: Split, keys: &[u32], point: u64) -> u64 {
    if INVERSE { split.inverse(point, keys) } else { split.forward(point, keys) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bijection::lanes::check;

    #[test]
    fn every_high_word_is_that_of_the_product() {
        for left in 0..=u16::MAX {
            let product = MULTIPLIER.wrapping_mul(u64::from(left));
            assert_eq!(high_word(left), (product >> 32) as u16, "{left}");
        }
    }

    #[test]
    fn every_level_gives_what_single_points_give() {
        let keys: [u32; 24] = core::array::from_fn(|k| (k as u32 + 1).wrapping_mul(0x9E37_79B9));
        for bits in 2..=64 {
            let (split, last) = (Split::new(bits), u64::low_mask(bits).min(u64::MAX - 1));
            for keys in [&keys[..], &keys[..1], &[]] {
                let what = format!("{bits} bits, {} rounds", keys.len());
                if bits <= 32 {
                    check(&Narrow::<false> { split, keys }, last, &what);
                    check(&Narrow::<true> { split, keys }, last, &format!("{what}, inverse"));
                } else {
                    check(&Wide::<false> { split, keys }, last, &what);
                    check(&Wide::<true> { split, keys }, last, &format!("{what}, inverse"));
                }
            }
        }
    }
}
