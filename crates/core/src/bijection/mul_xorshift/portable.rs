//! [`MulXorshift`](super::MulXorshift) on many points with the vectors of the crate `wide`, where a
//! target has one set of them: SIMD128 of WebAssembly, NEON, SSE2 of 32-bit x86.
//!
//! In 32-bit lanes these keep all points of a block in registers from the first round to the last,
//! and the loops of `lanes.rs` go through the block in memory in each round. In WebAssembly vectors
//! make 1.2 times as many evaluations; in 16-bit lanes there is no difference, and in 64-bit lanes
//! hardly any (`benches/notes/cpu.md`). On x86-64 `wide` would take SSE2 at every level.

use wide::u32x4;

use super::lanes::Vectored;
use super::vectors::{Chain, Vector, evaluate};
use crate::base::simd::SimdLevel;
use crate::bijection::copies::Meanwhile;

/// The number of vectors that are computed together, so that the multipliers are busy through their
/// latency.
const VECTORS: usize = 16;

impl Vector for u32x4 {
    type Lane = u32;
    type Shift = u32;
    const LANES: usize = 4;

    #[inline(always)]
    unsafe fn splat(word: u32) -> Self {
        Self::splat(word)
    }

    #[inline(always)]
    unsafe fn load(words: &[u32]) -> Self {
        Self::new(*words.first_chunk().expect("as many words as lanes"))
    }

    #[inline(always)]
    fn store(self, words: &mut [u32]) {
        words.copy_from_slice(self.as_array());
    }

    #[inline(always)]
    unsafe fn shift(bits: usize) -> u32 {
        bits as u32
    }

    #[inline(always)]
    fn xorshift(self, shift: u32, mask: Self) -> Self {
        self ^ (self >> shift & mask)
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self + other
    }

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self - other
    }

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self * other
    }

    #[inline(always)]
    fn and(self, other: Self) -> Self {
        self & other
    }
}

impl Vectored for u32 {
    const IS_PORTABLE: bool = true;

    #[inline(always)]
    fn points(_level: SimdLevel) -> usize {
        VECTORS * <u32x4 as Vector>::LANES
    }

    #[inline(never)]
    fn evaluate<const INVERSE: bool, W: Meanwhile>(
        _level: SimdLevel,
        chain: Chain<Self>,
        first: Option<Self>,
        out: &mut [Self],
        meanwhile: W,
    ) -> W {
        // SAFETY: these vectors are the target's, or arrays.
        unsafe { evaluate::<u32x4, VECTORS, INVERSE, W>(chain, first, out, meanwhile) }
    }
}
