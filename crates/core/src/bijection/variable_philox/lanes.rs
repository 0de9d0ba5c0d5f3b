//! VariablePhilox on many points at once, in words that hold a half of a point: 16 bits for domains
//! of up to 32, else 32.
//!
//! In 16-bit words a round multiplies the left half, `L`, and of the product needs only the bits
//! from 0 to 15 and from 32 to 47. With the multiplier in 16-bit limbs,
//! `m0 + m1 2^16 + m2 2^32 + ..`, these are
//!
//! ```text
//! low  = lo(L m0)
//! high = hi(L m1) + lo(L m2) + carry of (hi(L m0) + lo(L m1))
//! ```
//!
//! where `lo` and `hi` are the halves of the product of 16-bit words, for which every vector unit
//! has instructions. In 32-bit words the multiplier has two limbs, `m0 + m1 2^32`, and the words
//! are
//!
//! ```text
//! low  = lo(L m0)
//! high = hi(L m0) + lo(L m1)
//! ```
//!
//! 64-bit words, which would hold the product, are slower at every level: a vector holds half as
//! many, and the compiler forgets that their upper halves are zero, and multiplies these too.

use super::split::{MULTIPLIER, Split};
use crate::bijection::lanes::{BLOCK, Lane, Lanes};
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

/// A word that holds a half of a point.
pub(super) trait Half: Lane {
    /// The word type of the points.
    type Point: Word;

    /// The number of points in a piece of the halves that are in the registers at once.
    const PIECE: usize;

    /// The multiplier's product with the word: its low bits.
    fn low(self) -> Self;

    /// The product's bits from 32 on.
    fn high(self) -> Self;
}

impl Half for u16 {
    type Point = u32;

    const PIECE: usize = 64;

    #[inline(always)]
    fn low(self) -> Self {
        self.wrapping_mul(LIMBS[0])
    }

    #[inline(always)]
    fn high(self) -> Self {
        high_word(self)
    }
}

impl Half for u32 {
    type Point = u64;

    const PIECE: usize = 32;

    #[inline(always)]
    fn low(self) -> Self {
        self.wrapping_mul(MULTIPLIER as Self)
    }

    #[inline(always)]
    fn high(self) -> Self {
        const LOW: u64 = MULTIPLIER & 0xFFFF_FFFF;
        const HIGH: u32 = (MULTIPLIER >> 32) as u32;
        (((u64::from(self) * LOW) >> 32) as Self).wrapping_add(self.wrapping_mul(HIGH))
    }
}

/// The cipher in words of half a point: forward or, with `INVERSE`, inverse.
pub(super) struct PhiloxRounds<'a, const INVERSE: bool, H: Half> {
    split: Split,
    keys: &'a [u32],
    left_mask: H,
    right_mask: H,
    /// The inverse of the multiplier's low word.
    undo: H,
}

impl<'a, const INVERSE: bool, H: Half> PhiloxRounds<'a, INVERSE, H> {
    pub(super) fn new(split: Split, keys: &'a [u32]) -> Self {
        let word = |word: u32| H::truncate(u64::from(word));
        Self {
            split,
            keys,
            left_mask: word(split.left_mask),
            right_mask: word(split.right_mask),
            undo: word((MULTIPLIER as u32).odd_inverse()),
        }
    }

    #[inline(always)]
    fn forward<const ODD: usize>(&self, left: &mut [H], right: &mut [H]) {
        let left_bits = self.split.left_bits as usize;
        for &key in self.keys {
            let key = H::truncate(u64::from(key));
            for (left, right) in left.iter_mut().zip(&mut *right) {
                let (low, high) = (left.low(), left.high());
                // An even width leaves garbage above the right half, until the next left half is
                // masked.
                let low =
                    if ODD == 0 { low } else { (low << 1 | *right >> left_bits) & self.right_mask };
                *left = (high ^ key ^ *right) & self.left_mask;
                *right = low;
            }
        }
        if ODD == 0 {
            for right in right {
                *right = *right & self.right_mask;
            }
        }
    }

    #[inline(always)]
    fn inverse<const ODD: usize, const LARGE: bool>(&self, left: &mut [H], right: &mut [H]) {
        for &key in self.keys.iter().rev() {
            let key = H::truncate(u64::from(key));
            if LARGE {
                // In pieces, which the compiler unrolls. It does not unroll the whole block, but
                // leaves the halves in memory. (Measured: the pieces are 1.1 to 1.3 times as fast
                // with AVX-512, but 0.8 times with AVX2.)
                let right = right.chunks_exact_mut(H::PIECE);
                for (left, right) in left.chunks_exact_mut(H::PIECE).zip(right) {
                    self.inverse_round::<ODD>(left, right, key);
                }
            } else {
                self.inverse_round::<ODD>(left, right, key);
            }
        }
        for right in right {
            *right = *right & self.right_mask;
        }
    }

    /// An inverse round. It leaves garbage above the right half, which is masked off in the next
    /// round's left half.
    #[inline(always)]
    fn inverse_round<const ODD: usize>(&self, left: &mut [H], right: &mut [H], key: H) {
        let left_bits = self.split.left_bits as usize;
        for (left, right) in left.iter_mut().zip(right) {
            let old_left = (*right >> ODD).wrapping_mul(self.undo) & self.left_mask;
            let old_right = old_left.high() ^ key ^ *left;
            *right = if ODD == 0 {
                old_right
            } else {
                old_right & self.left_mask | (*right & H::ONE) << left_bits
            };
            *left = old_left;
        }
    }
}

impl<const INVERSE: bool, H: Half> Lanes for PhiloxRounds<'_, INVERSE, H> {
    type Point = H::Point;

    #[inline(always)]
    fn evaluate<const LARGE: bool>(&self, points: &mut [H::Point; BLOCK]) {
        let (mut left, mut right) = (H::EMPTY, H::EMPTY);
        let (left, right) = (left.as_mut(), right.as_mut());
        let right_bits = self.split.right_bits as usize;
        for points in points.chunks_exact_mut(left.len()) {
            for ((left, right), &mut point) in left.iter_mut().zip(&mut *right).zip(&mut *points) {
                *left = H::truncate((point >> right_bits).widen());
                *right = H::truncate(point.widen()) & self.right_mask;
            }
            match (INVERSE, self.split.odd()) {
                (false, 0) => self.forward::<0>(left, right),
                (false, _) => self.forward::<1>(left, right),
                (true, 0) => self.inverse::<0, LARGE>(left, right),
                (true, _) => self.inverse::<1, LARGE>(left, right),
            }
            for ((&mut left, &mut right), point) in left.iter_mut().zip(&mut *right).zip(points) {
                let left = H::Point::wrap(left.extend());
                *point = left << right_bits | H::Point::wrap(right.extend());
            }
        }
    }

    #[inline(always)]
    fn evaluate_one(&self, point: H::Point) -> H::Point {
        H::Point::wrap(one::<INVERSE>(self.split, self.keys, point.widen()))
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
    fn variable_philox_lanes_agree_with_single_points() {
        let keys: [u32; 24] = core::array::from_fn(|k| (k as u32 + 1).wrapping_mul(0x9E37_79B9));
        for bits in 2..=64 {
            let (split, last) = (Split::new(bits), u64::low_mask(bits).min(u64::MAX - 1));
            for keys in [&keys[..], &keys[..1], &[]] {
                let what = format!("{bits} bits, {} rounds", keys.len());
                if bits <= 32 {
                    check(&PhiloxRounds::<false, u16>::new(split, keys), last, &what);
                    check(
                        &PhiloxRounds::<true, u16>::new(split, keys),
                        last,
                        &format!("{what}, inverse"),
                    );
                } else {
                    check(&PhiloxRounds::<false, u32>::new(split, keys), last, &what);
                    check(
                        &PhiloxRounds::<true, u32>::new(split, keys),
                        last,
                        &format!("{what}, inverse"),
                    );
                }
            }
        }
    }
}
