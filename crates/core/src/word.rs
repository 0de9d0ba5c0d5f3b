//! [`Word`]: the unsigned integer types that hold indexes.

use core::fmt::{Debug, Display};
use core::hash::Hash;
use core::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Not, Rem, Shl, Shr, Sub};

mod sealed {
    pub trait Sealed {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
}

/// An unsigned integer that holds an index: `u32` or `u64`.
///
/// The trait is sealed. It has the arithmetic of unsigned integers, so that one generic body serves
/// both words, and what bijections on `b` bits need: masks, and the inverse of an odd number modulo
/// `2^b`.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::Word;
///
/// assert_eq!(u32::low_mask(5), 31);
/// assert_eq!(u64::low_mask(64), u64::MAX);
/// assert_eq!(0xDEAD_BEEF_u32.wrapping_mul(0xDEAD_BEEF_u32.odd_inverse()), 1);
/// ```
///
/// No other type is a word:
///
/// ```compile_fail,E0277
/// fn takes_a_word<N: bijective_shuffle::Word>(_: N) {}
/// takes_a_word(7u16);
/// ```
pub trait Word:
    sealed::Sealed
    + Copy
    + Ord
    + Default
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Rem<Output = Self>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Not<Output = Self>
    + Shl<usize, Output = Self>
    + Shr<usize, Output = Self>
    + Into<u64>
    + Debug
    + Display
    + Hash
    + Send
    + Sync
    + 'static
{
    /// The number of bits in the word.
    const BITS: u32;

    /// 0.
    const ZERO: Self;

    /// 1.
    const ONE: Self;

    /// The largest word.
    const MAX: Self;

    /// The sum modulo `2^BITS`.
    fn wrapping_add(self, other: Self) -> Self;

    /// The difference modulo `2^BITS`.
    fn wrapping_sub(self, other: Self) -> Self;

    /// The product modulo `2^BITS`.
    fn wrapping_mul(self, other: Self) -> Self;

    /// Truncates a 64-bit value to the word's width: keeps the low bits and drops the rest.
    fn wrap(value: u64) -> Self;

    /// Converts the value to a `u64`, which is lossless.
    #[inline]
    fn widen(self) -> u64 {
        self.into()
    }

    /// The word whose lowest `bits` bits are set. If `bits` is [`BITS`](Self::BITS) or more, all
    /// are.
    #[inline]
    fn low_mask(bits: u32) -> Self {
        if bits >= Self::BITS { Self::MAX } else { (Self::ONE << bits as usize) - Self::ONE }
    }

    /// The word `y` with `self * y = 1` modulo `2^BITS`, for an odd `self`.
    ///
    /// Its low `b` bits are the inverse modulo `2^b`, for every `b`. For an even `self`, which has
    /// no inverse, the value is unspecified.
    #[inline]
    fn odd_inverse(self) -> Self {
        Self::wrap(odd_inverse(self.widen()))
    }
}

/// [`Word::odd_inverse`] in a constant.
#[inline]
pub(crate) const fn odd_inverse(number: u64) -> u64 {
    // Newton's iteration doubles the number of correct low bits. x itself is correct to 3 bits,
    // since x * x = 1 mod 8 for odd x, so 5 steps pass 64 bits.
    let mut inverse = number;
    let mut step = 0;
    while step < 5 {
        let error = 2_u64.wrapping_sub(number.wrapping_mul(inverse));
        inverse = inverse.wrapping_mul(error);
        step += 1;
    }
    inverse
}

macro_rules! word {
    ($word:ident) => {
        impl Word for $word {
            const BITS: u32 = $word::BITS;
            const ZERO: Self = 0;
            const ONE: Self = 1;
            const MAX: Self = $word::MAX;

            #[inline(always)]
            fn wrapping_add(self, other: Self) -> Self {
                $word::wrapping_add(self, other)
            }

            #[inline(always)]
            fn wrapping_sub(self, other: Self) -> Self {
                $word::wrapping_sub(self, other)
            }

            #[inline(always)]
            fn wrapping_mul(self, other: Self) -> Self {
                $word::wrapping_mul(self, other)
            }

            #[inline(always)]
            fn wrap(value: u64) -> Self {
                value as $word
            }
        }
    };
}

word!(u32);
word!(u64);

/// An unsigned integer that holds an index within the engine: a [`Word`]; one of 16 bits, which is
/// enough for short lengths and lets a vector hold twice as many; or one of 8 bits, in which a
/// permutation of few points is stored.
#[doc(hidden)]
pub trait Index: Copy + Ord + Send + Sync + 'static {
    const ZERO: Self;

    /// The index `by` places further on, without the bits that do not fit.
    fn further(self, by: Self) -> Self;

    /// Keeps a value's low bits and drops the rest.
    fn truncate(value: u64) -> Self;

    /// Converts the index to a `u64`, which is lossless.
    fn extend(self) -> u64;
}

impl<N: Word> Index for N {
    const ZERO: Self = N::ZERO;

    #[inline(always)]
    fn further(self, by: Self) -> Self {
        self.wrapping_add(by)
    }

    #[inline(always)]
    fn truncate(value: u64) -> Self {
        Self::wrap(value)
    }

    #[inline(always)]
    fn extend(self) -> u64 {
        self.widen()
    }
}

/// [`Index`] for words that are no [`Word`].
macro_rules! narrow_index {
    ($word:ty) => {
        impl Index for $word {
            const ZERO: Self = 0;

            #[inline(always)]
            fn further(self, by: Self) -> Self {
                self.wrapping_add(by)
            }

            #[inline(always)]
            fn truncate(value: u64) -> Self {
                value as Self
            }

            #[inline(always)]
            fn extend(self) -> u64 {
                self.into()
            }
        }
    };
}

narrow_index!(u8);
narrow_index!(u16);

/// The number of bits that a power-of-two domain needs to hold `len` items: the smallest `b` with
/// `2^b >= len`.
#[doc(hidden)]
#[inline]
pub const fn bits_for(len: u64) -> u32 {
    u64::BITS - len.saturating_sub(1).leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_cover_every_width() {
        for bits in 0..=64 {
            assert_eq!(u64::low_mask(bits).count_ones(), bits);
            assert_eq!(u32::low_mask(bits).count_ones(), bits.min(32));
            assert_eq!(u64::low_mask(bits).trailing_ones(), bits);
        }
    }

    #[test]
    fn odd_inverse_inverts() {
        for k in 0..5000_u64 {
            let odd = k.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
            assert_eq!(odd.wrapping_mul(odd.odd_inverse()), 1);
            let odd = odd as u32;
            assert_eq!(odd.wrapping_mul(odd.odd_inverse()), 1);
        }
    }

    #[test]
    fn bits_for_is_the_ceiling_of_the_logarithm() {
        let cases = [(0, 0), (1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (u64::MAX, 64)];
        for (len, bits) in cases {
            assert_eq!(bits_for(len), bits, "len {len}");
        }
        for bits in 1..64 {
            let power = 1u64 << bits;
            assert_eq!(bits_for(power), bits);
            assert_eq!(bits_for(power + 1), bits + 1);
        }
    }
}
