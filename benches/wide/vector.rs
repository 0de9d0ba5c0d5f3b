//! [`Vector`]: what the evaluators need of a vector of `wide`, and vectors with other products than
//! its own.

use std::ops::{Add, BitAnd, BitOr, BitXor, Shl, Shr, Sub};

use bijective_shuffle::Word;
use wide::bytemuck::cast;
use wide::{i16x8, u16x8, u32x4, u32x8, u64x2, u64x4};

/// Unsigned lanes that wrap around, and what a multiplier is prepared to.
pub(crate) trait Vector:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
{
    type Multiplier: Copy;
    const LANES: usize;

    /// The low bits of a word in every lane.
    fn splat(word: u64) -> Self;

    /// A word and the next ones.
    fn count_from(first: u64) -> Self;

    fn store<W: Word>(self, out: &mut [W]);

    fn multiplier(word: u64) -> Self::Multiplier;

    /// The low half of the product.
    fn times(self, multiplier: Self::Multiplier) -> Self;
}

macro_rules! plain {
    ($vector:ident, $lane:ident, $lanes:literal) => {
        impl Vector for $vector {
            type Multiplier = Self;
            const LANES: usize = $lanes;

            #[inline(always)]
            fn splat(word: u64) -> Self {
                Self::splat(word as $lane)
            }

            #[inline(always)]
            fn count_from(first: u64) -> Self {
                const STEPS: [$lane; $lanes] = {
                    let mut steps = [0; $lanes];
                    let mut k = 0;
                    while k < $lanes {
                        steps[k] = k as $lane;
                        k += 1;
                    }
                    steps
                };
                Self::splat(first as $lane) + Self::new(STEPS)
            }

            #[inline(always)]
            fn store<W: Word>(self, out: &mut [W]) {
                for (out, lane) in out.iter_mut().zip(self.to_array()) {
                    *out = W::wrap(u64::from(lane));
                }
            }

            #[inline(always)]
            fn multiplier(word: u64) -> Self {
                Self::splat(word as $lane)
            }

            #[inline(always)]
            fn times(self, multiplier: Self) -> Self {
                self * multiplier
            }
        }
    };
}

plain!(u16x8, u16, 8);
plain!(u32x4, u32, 4);
plain!(u32x8, u32, 8);
plain!(u64x2, u64, 2);
plain!(u64x4, u64, 4);

/// Makes a vector of another one, with another product.
macro_rules! multiplied {
    ($name:ident, $inner:ident) => {
        multiplied!($name, $inner: Add add, Sub sub, BitAnd bitand, BitOr bitor, BitXor bitxor);

        impl Shl<u32> for $name {
            type Output = Self;
            #[inline(always)]
            fn shl(self, bits: u32) -> Self {
                Self(self.0 << bits)
            }
        }

        impl Shr<u32> for $name {
            type Output = Self;
            #[inline(always)]
            fn shr(self, bits: u32) -> Self {
                Self(self.0 >> bits)
            }
        }
    };
    ($name:ident, $inner:ident: $($operator:ident $method:ident),*) => {
        $(impl $operator for $name {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Self($operator::$method(self.0, other.0))
            }
        })*
    };
}

macro_rules! vector_methods {
    ($inner:ident) => {
        const LANES: usize = <$inner as Vector>::LANES;

        #[inline(always)]
        fn splat(word: u64) -> Self {
            Self(Vector::splat(word))
        }

        #[inline(always)]
        fn count_from(first: u64) -> Self {
            Self(Vector::count_from(first))
        }

        #[inline(always)]
        fn store<W: Word>(self, out: &mut [W]) {
            self.0.store(out);
        }
    };
}

/// 32-bit lanes that are multiplied in 16-bit limbs, of which SSE2 multiplies eight at once and
/// adds the products of neighbours.
#[derive(Clone, Copy)]
pub(crate) struct Limbs16(u32x4);

multiplied!(Limbs16, u32x4);

impl Vector for Limbs16 {
    /// The low limbs with zeros between them, and both limbs exchanged.
    type Multiplier = (u16x8, i16x8);

    vector_methods!(u32x4);

    #[inline(always)]
    fn multiplier(word: u64) -> Self::Multiplier {
        let word = word as u32;
        (cast(u32x4::splat(word & 0xFFFF)), cast(u32x4::splat(word.rotate_left(16))))
    }

    #[inline(always)]
    fn times(self, (low, exchanged): Self::Multiplier) -> Self {
        let limbs: u16x8 = cast(self.0);
        let cross: u32x4 = cast(cast::<_, i16x8>(self.0).dot(exchanged));
        let carried: u32x4 = cast(limbs.mul_keep_high(low));
        Self(cast::<_, u32x4>(limbs * low) + ((cross + carried) << 16))
    }
}

/// 64-bit lanes that are multiplied in 32-bit limbs.
#[derive(Clone, Copy)]
pub(crate) struct Limbs32(u64x2);

multiplied!(Limbs32, u64x2);

impl Vector for Limbs32 {
    /// The word, and its high half.
    type Multiplier = [u64x2; 2];

    vector_methods!(u64x2);

    #[inline(always)]
    fn multiplier(word: u64) -> Self::Multiplier {
        [u64x2::splat(word), u64x2::splat(word >> 32)]
    }

    #[inline(always)]
    fn times(self, [low, high]: Self::Multiplier) -> Self {
        let cross = product_32(self.0 >> 32, low) + product_32(self.0, high);
        Self(product_32(self.0, low) + (cross << 32))
    }
}

/// The product of the low halves of 64-bit lanes: one instruction with SSE2.
///
/// `wide` has it with both operands in 32-bit lanes, and orders the products. Their order is undone
/// here, and the compiler removes both.
#[inline(always)]
pub(crate) fn product_32(a: u64x2, b: u64x2) -> u64x2 {
    let products = cast::<_, u32x4>(a).widening_mul(cast(b));
    let [first, second]: [u64x2; 2] = cast(products);
    first.unpack_lo(second)
}
