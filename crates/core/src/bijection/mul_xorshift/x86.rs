//! [`MulXorshift`](super::MulXorshift) on many points with the instructions of AVX-512 or AVX2.
//!
//! The loops of `lanes.rs` compute the same, but they leave three things to gain. A compiler sees
//! that all lanes are shifted by the same number and takes the instruction that gets it in another
//! register, which occupies more of the processor than a shift of each lane by its own number. It
//! writes the points to memory, copies them, and copies their values from there, where vectors can
//! be counted up and stored. And nothing else can be done between two rounds.

use core::arch::x86_64::*;

use super::lanes::Vectored;
use super::vectors::{Chain, Vector, evaluate};
use crate::base::simd::SimdLevel;
use crate::bijection::copies::Meanwhile;

/// The number of vectors that are computed together, so that the multipliers are busy through their
/// latency. Half of the registers of AVX2 are left for keys.
const VECTORS: usize = 8;

/// Vectors of a register type, in which a shift is another vector: what `$shift` makes of a number.
macro_rules! vector {
    (
        $name:ident: [$lane:ty; $lanes:literal] in $register:ident as $signed:ty,
        $set:ident, $load:ident, $store:ident, $add:ident, $sub:ident, $mul:ident, $and:ident,
        shift: $shift:expr, xorshift: $xorshift:expr
    ) => {
        #[derive(Clone, Copy)]
        struct $name($register);

        impl Vector for $name {
            type Lane = $lane;
            type Shift = Self;
            const LANES: usize = $lanes;

            #[inline(always)]
            unsafe fn splat(word: $lane) -> Self {
                // SAFETY: the caller promises the instructions.
                Self(unsafe { $set(word as $signed) })
            }

            #[inline(always)]
            unsafe fn load(words: &[$lane]) -> Self {
                assert_eq!(words.len(), $lanes);
                // SAFETY: the caller promises the instructions, and the words fill a register.
                Self(unsafe { $load(words.as_ptr().cast()) })
            }

            #[inline(always)]
            fn store(self, words: &mut [$lane]) {
                assert_eq!(words.len(), $lanes);
                // SAFETY: a vector proves the instructions, and the words fill a register.
                unsafe { $store(words.as_mut_ptr().cast(), self.0) };
            }

            #[inline(always)]
            unsafe fn shift(bits: usize) -> Self {
                // SAFETY: the caller promises the instructions.
                unsafe { Self::splat(($shift)(bits)) }
            }

            #[inline(always)]
            fn xorshift(self, shift: Self, mask: Self) -> Self {
                // SAFETY: a vector proves the instructions.
                Self(unsafe { $xorshift(self.0, shift.0, mask.0) })
            }

            vector!(operations add $add, sub $sub, mul $mul, and $and);
        }
    };
    (operations $($name:ident $instruction:ident),*) => {$(
        #[inline(always)]
        fn $name(self, other: Self) -> Self {
            // SAFETY: a vector proves the instructions.
            Self(unsafe { $instruction(self.0, other.0) })
        }
    )*};
}

vector!(
    Avx512U16: [u16; 32] in __m512i as i16,
    _mm512_set1_epi16, _mm512_loadu_si512, _mm512_storeu_si512,
    _mm512_add_epi16, _mm512_sub_epi16, _mm512_mullo_epi16, _mm512_and_si512,
    shift: |bits| bits as u16,
    xorshift: xorshift_512_u16
);
vector!(
    Avx512U32: [u32; 16] in __m512i as i32,
    _mm512_set1_epi32, _mm512_loadu_si512, _mm512_storeu_si512,
    _mm512_add_epi32, _mm512_sub_epi32, _mm512_mullo_epi32, _mm512_and_si512,
    shift: |bits| bits as u32,
    xorshift: xorshift_512_u32
);
vector!(
    Avx2U16: [u16; 16] in __m256i as i16,
    _mm256_set1_epi16, _mm256_loadu_si256, _mm256_storeu_si256,
    _mm256_add_epi16, _mm256_sub_epi16, _mm256_mullo_epi16, _mm256_and_si256,
    // There is no shift of each lane by its own number, but the upper half of a product is one. A
    // compiler that knew the factor, or saw it outside of the loop, would widen it to 32 bits.
    shift: |bits| core::hint::black_box(1_u16 << (16 - bits)),
    xorshift: xorshift_256_u16
);
vector!(
    Avx2U32: [u32; 8] in __m256i as i32,
    _mm256_set1_epi32, _mm256_loadu_si256, _mm256_storeu_si256,
    _mm256_add_epi32, _mm256_sub_epi32, _mm256_mullo_epi32, _mm256_and_si256,
    shift: |bits| bits as u32,
    xorshift: xorshift_256_u32
);

/// `x ^ (x >> shift & mask)`, by instructions that a vector in it proves.
macro_rules! xorshift {
    ($name:ident, $features:literal, $register:ident, |$x:ident, $shift:ident, $mask:ident| $body:expr) => {
        #[inline]
        #[target_feature(enable = $features)]
        fn $name($x: $register, $shift: $register, $mask: $register) -> $register {
            $body
        }
    };
}

xorshift!(xorshift_512_u16, "avx512f,avx512bw", __m512i, |x, shift, mask| {
    _mm512_ternarylogic_epi32::<0x78>(x, _mm512_srlv_epi16(x, shift), mask)
});
xorshift!(xorshift_512_u32, "avx512f,avx512bw", __m512i, |x, shift, mask| {
    _mm512_ternarylogic_epi32::<0x78>(x, _mm512_srlv_epi32(x, shift), mask)
});
xorshift!(xorshift_256_u16, "avx2", __m256i, |x, shift, mask| {
    _mm256_xor_si256(x, _mm256_and_si256(_mm256_mulhi_epu16(x, shift), mask))
});
xorshift!(xorshift_256_u32, "avx2", __m256i, |x, shift, mask| {
    _mm256_xor_si256(x, _mm256_and_si256(_mm256_srlv_epi32(x, shift), mask))
});

/// # Safety
///
/// The machine has AVX-512 with the byte and word instructions, which are all that V needs.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn evaluate_avx512<V: Vector, const INVERSE: bool, W: Meanwhile>(
    chain: Chain<V::Lane>,
    first: Option<V::Lane>,
    out: &mut [V::Lane],
    meanwhile: W,
) -> W {
    // SAFETY: the caller promises the instructions, and they are allowed here.
    unsafe { evaluate::<V, VECTORS, INVERSE, W>(chain, first, out, meanwhile) }
}

/// # Safety
///
/// The machine has AVX2, which is all that V needs.
#[inline(never)]
#[target_feature(enable = "avx2")]
unsafe fn evaluate_avx2<V: Vector, const INVERSE: bool, W: Meanwhile>(
    chain: Chain<V::Lane>,
    first: Option<V::Lane>,
    out: &mut [V::Lane],
    meanwhile: W,
) -> W {
    // SAFETY: the caller promises the instructions, and they are allowed here.
    unsafe { evaluate::<V, VECTORS, INVERSE, W>(chain, first, out, meanwhile) }
}

macro_rules! vectored {
    ($word:ty: $avx512:ident, $avx2:ident) => {
        impl Vectored for $word {
            #[inline(always)]
            fn points(level: SimdLevel) -> usize {
                if level.has_avx512() {
                    VECTORS * $avx512::LANES
                } else if level.has_avx2() {
                    VECTORS * $avx2::LANES
                } else {
                    0
                }
            }

            #[inline(always)]
            fn evaluate<const INVERSE: bool, W: Meanwhile>(
                level: SimdLevel,
                chain: Chain<Self>,
                first: Option<Self>,
                out: &mut [Self],
                meanwhile: W,
            ) -> W {
                if level.has_avx512() {
                    // SAFETY: the level proves the instructions.
                    unsafe { evaluate_avx512::<$avx512, INVERSE, W>(chain, first, out, meanwhile) }
                } else {
                    assert!(level.has_avx2());
                    // SAFETY: the level proves the instructions.
                    unsafe { evaluate_avx2::<$avx2, INVERSE, W>(chain, first, out, meanwhile) }
                }
            }
        }
    };
}

vectored!(u16: Avx512U16, Avx2U16);
vectored!(u32: Avx512U32, Avx2U32);
