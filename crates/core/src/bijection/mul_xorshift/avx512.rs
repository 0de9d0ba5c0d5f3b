//! [`MulXorshift`](super::MulXorshift) on many points with the instructions of AVX-512.
//!
//! The loops of `lanes.rs` compute the same, but they leave two things to gain. A compiler sees
//! that all lanes are shifted by the same number and takes the instruction that gets it in another
//! register, which occupies more of the processor than a shift of each lane by its own number. And
//! it writes the points to memory, copies them, and copies their values from there, where vectors
//! can be counted up and stored.

use core::arch::x86_64::{
    __m512i, _mm512_add_epi16, _mm512_add_epi32, _mm512_and_si512, _mm512_loadu_si512,
    _mm512_mullo_epi16, _mm512_mullo_epi32, _mm512_set1_epi16, _mm512_set1_epi32,
    _mm512_srlv_epi16, _mm512_srlv_epi32, _mm512_storeu_si512, _mm512_sub_epi16, _mm512_sub_epi32,
    _mm512_ternarylogic_epi32,
};
use core::mem::transmute;

use super::lanes::Vectored;
use super::round::Round;
use crate::bijection::copies::Meanwhile;

/// The number of vectors that are computed together, so that the multipliers are busy through their
/// latency.
const VECTORS: usize = 8;

/// A round of an evaluation, or what comes before or after all rounds.
struct RoundKeys {
    multiplier: __m512i,
    increment: __m512i,
    shift: __m512i,
    mask: __m512i,
}

macro_rules! vectored {
    ($word:ty, $signed:ty, $lanes:literal, $set:ident, $add:ident, $sub:ident, $mul:ident, $shift:ident) => {
        impl Vectored for $word {
            const POINTS: usize = VECTORS * $lanes;

            #[inline(never)]
            #[target_feature(enable = "avx512f,avx512bw")]
            unsafe fn evaluate<const INVERSE: bool, W: Meanwhile>(
                rounds: &[Round<Self>],
                outer: Round<Self>,
                mask: Self,
                first: Option<Self>,
                out: &mut [Self],
                mut meanwhile: W,
            ) -> W {
                let set = |word: $word| $set(word as $signed);
                let keys = |round: &Round<Self>| RoundKeys {
                    multiplier: set(round.multiplier),
                    increment: set(round.increment),
                    shift: set(round.shift as $word),
                    mask: set(round.mask),
                };
                // x ^ (x >> shift & mask)
                let xorshift = |x: __m512i, keys: &RoundKeys| {
                    _mm512_ternarylogic_epi32::<0x78>(x, $shift(x, keys.shift), keys.mask)
                };
                let outer = keys(&outer);
                let mut count = [0; $lanes];
                count.iter_mut().zip(0..).for_each(|(lane, k): (&mut $word, _)| *lane = k);
                // SAFETY: both are 64 bytes, any of which are a vector.
                let count = unsafe { transmute::<[$word; $lanes], __m512i>(count) };
                let mut next = $add(set(first.unwrap_or(0)), count);
                for out in out.chunks_exact_mut(Self::POINTS) {
                    let mut vectors = [next; VECTORS];
                    if first.is_some() {
                        for x in &mut vectors {
                            *x = next;
                            next = $add(next, set($lanes));
                        }
                    } else {
                        for (x, points) in vectors.iter_mut().zip(out.chunks_exact($lanes)) {
                            // SAFETY: the chunk has 64 bytes.
                            *x = unsafe { _mm512_loadu_si512(points.as_ptr().cast()) };
                        }
                    }
                    if !INVERSE {
                        vectors.iter_mut().for_each(|x| *x = xorshift(*x, &outer));
                    }
                    for round in rounds {
                        let keys = keys(round);
                        for x in &mut vectors {
                            *x = if INVERSE {
                                $mul($sub(xorshift(*x, &keys), keys.increment), keys.multiplier)
                            } else {
                                xorshift($add($mul(*x, keys.multiplier), keys.increment), &keys)
                            };
                        }
                        meanwhile.step();
                    }
                    if INVERSE {
                        vectors.iter_mut().for_each(|x| *x = xorshift(*x, &outer));
                    }
                    for (out, x) in out.chunks_exact_mut($lanes).zip(vectors) {
                        let values = _mm512_and_si512(x, set(mask));
                        // SAFETY: the chunk has 64 bytes.
                        unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), values) };
                    }
                }
                meanwhile
            }
        }
    };
}

vectored!(
    u16,
    i16,
    32,
    _mm512_set1_epi16,
    _mm512_add_epi16,
    _mm512_sub_epi16,
    _mm512_mullo_epi16,
    _mm512_srlv_epi16
);
vectored!(
    u32,
    i32,
    16,
    _mm512_set1_epi32,
    _mm512_add_epi32,
    _mm512_sub_epi32,
    _mm512_mullo_epi32,
    _mm512_srlv_epi32
);
