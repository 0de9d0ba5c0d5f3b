//! Packing survivors: the values below the length, in order, without gaps.

use core::mem::MaybeUninit;

use crate::simd::{Kernel, Level};
use crate::word::Word;

/// How many words past the last survivor may be overwritten.
pub(super) const SLACK: usize = 8;

/// Writes the values below `len` to the front of `out` and counts them: so many words are then initialised. What
/// comes after them is unspecified.
///
/// # Panics
///
/// If `out` is not longer than `values` by [`SLACK`].
pub(super) fn pack<N: Word>(values: &[u64], len: u64, out: &mut [MaybeUninit<N>]) -> usize {
    pack_at(Level::current(), values, len, out)
}

fn pack_at<N: Word>(level: Level, values: &[u64], len: u64, out: &mut [MaybeUninit<N>]) -> usize {
    assert!(values.len() + SLACK <= out.len());
    level.run(Pack { values, len, out })
}

struct Pack<'a, N> {
    values: &'a [u64],
    len: u64,
    out: &'a mut [MaybeUninit<N>],
}

impl<N: Word> Kernel for Pack<'_, N> {
    type Output = usize;

    #[inline(always)]
    fn run(self) -> usize {
        let Self { values, len, out } = self;
        pack_one_by_one(values, len, out, 0)
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn run_avx512(self) -> usize {
        // SAFETY: the caller's promise, and `pack_at` has looked at the lengths.
        unsafe { avx512::pack(self.values, self.len, self.out) }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn run_avx2(self) -> usize {
        // SAFETY: as above.
        unsafe { avx2::pack(self.values, self.len, self.out) }
    }
}

/// Packs after the first `count` words of `out`.
#[inline(always)]
fn pack_one_by_one<N: Word>(
    values: &[u64],
    len: u64,
    out: &mut [MaybeUninit<N>],
    mut count: usize,
) -> usize {
    for &value in values {
        // Every value is written, and only survivors stay: no branch to mispredict.
        out[count] = MaybeUninit::new(N::wrap(value));
        count += usize::from(value < len);
    }
    count
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use core::arch::x86_64::{
        _mm256_storeu_si256, _mm512_cmplt_epu64_mask, _mm512_cvtepi64_epi32, _mm512_loadu_si512,
        _mm512_maskz_compress_epi64, _mm512_set1_epi64, _mm512_storeu_si512,
    };

    use super::{MaybeUninit, pack_one_by_one};
    use crate::word::Word;

    /// # Safety
    ///
    /// AVX-512F, and `out` is longer than `values` by 8 words.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl,popcnt")]
    pub(super) unsafe fn pack<N: Word>(
        values: &[u64],
        len: u64,
        out: &mut [MaybeUninit<N>],
    ) -> usize {
        let limit = _mm512_set1_epi64(len as i64);
        let mut count = 0;
        let (vectors, rest) = values.as_chunks::<8>();
        for vector in vectors {
            // SAFETY: 8 words of 64 bits.
            let vector = unsafe { _mm512_loadu_si512(vector.as_ptr().cast()) };
            let survives = _mm512_cmplt_epu64_mask(vector, limit);
            let packed = _mm512_maskz_compress_epi64(survives, vector);
            // SAFETY: at most as many words were packed as there were values before, and `out` has room for 8 more.
            let place = unsafe { out.as_mut_ptr().add(count) };
            if N::BITS == 32 {
                // SAFETY: room for 8 words of 32 bits, which N is; it has no invalid values.
                unsafe { _mm256_storeu_si256(place.cast(), _mm512_cvtepi64_epi32(packed)) };
            } else {
                // SAFETY: room for 8 words of 64 bits, which N is.
                unsafe { _mm512_storeu_si512(place.cast(), packed) };
            }
            count += survives.count_ones() as usize;
        }
        pack_one_by_one(rest, len, out, count)
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use core::arch::x86_64::{
        __m256i, _mm_loadu_si128, _mm_shuffle_epi8, _mm_storeu_si128, _mm256_castsi256_pd,
        _mm256_castsi256_si128, _mm256_cmpgt_epi64, _mm256_loadu_si256, _mm256_movemask_pd,
        _mm256_permutevar8x32_epi32, _mm256_set1_epi64x, _mm256_setr_epi32, _mm256_xor_si256,
    };

    use super::{MaybeUninit, pack_one_by_one};
    use crate::word::Word;

    /// The bytes' places, for each set of survivors among four words of 32 bits.
    const SHUFFLES: [[u8; 16]; 16] = {
        let mut all = [[0x80; 16]; 16];
        let mut set = 0;
        while set < 16 {
            let (mut from, mut to) = (0, 0);
            while from < 4 {
                if set >> from & 1 == 1 {
                    let mut byte = 0;
                    while byte < 4 {
                        all[set][4 * to + byte] = (4 * from + byte) as u8;
                        byte += 1;
                    }
                    to += 1;
                }
                from += 1;
            }
            set += 1;
        }
        all
    };

    /// # Safety
    ///
    /// AVX2, and `out` is longer than `values` by 4 words.
    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    pub(super) unsafe fn pack<N: Word>(
        values: &[u64],
        len: u64,
        out: &mut [MaybeUninit<N>],
    ) -> usize {
        if N::BITS != 32 {
            return pack_one_by_one(values, len, out, 0);
        }
        // There are only comparisons of signed words: with the sign bit turned they compare as unsigned ones.
        let sign = _mm256_set1_epi64x(i64::MIN);
        let limit = _mm256_set1_epi64x(len as i64 ^ i64::MIN);
        let even = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);
        let mut count = 0;
        let (vectors, rest) = values.as_chunks::<4>();
        for vector in vectors {
            // SAFETY: 4 words of 64 bits.
            let vector: __m256i = unsafe { _mm256_loadu_si256(vector.as_ptr().cast()) };
            let survives = _mm256_cmpgt_epi64(limit, _mm256_xor_si256(vector, sign));
            let survives = _mm256_movemask_pd(_mm256_castsi256_pd(survives)) as usize;
            let narrow = _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(vector, even));
            // SAFETY: 16 bytes.
            let shuffle = unsafe { _mm_loadu_si128(SHUFFLES[survives].as_ptr().cast()) };
            // SAFETY: at most as many words were packed as there were values before, and `out` has room for 4 more.
            let place = unsafe { out.as_mut_ptr().add(count) };
            // SAFETY: room for 4 words of 32 bits, which N is; it has no invalid values.
            unsafe { _mm_storeu_si128(place.cast(), _mm_shuffle_epi8(narrow, shuffle)) };
            count += survives.count_ones() as usize;
        }
        pack_one_by_one(rest, len, out, count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<N: Word>(values: &[u64], len: u64) {
        let expected: Vec<u64> = values.iter().copied().filter(|&x| x < len).collect();
        for level in Level::all() {
            let mut out = vec![MaybeUninit::new(N::zero()); values.len() + SLACK];
            let count = pack_at(level, values, len, &mut out);
            // SAFETY: all of them were initialised before.
            let packed = out[..count].iter().map(|x| unsafe { x.assume_init() }.widen());
            assert!(packed.eq(expected.iter().copied()), "{}, {len}, {values:?}", level.name());
        }
    }

    #[test]
    fn every_level_packs_the_same() {
        let mut x = 1_u64;
        for count in (0..70).chain([1000]) {
            for shift in [0, 10, 31, 33, 50] {
                let values: Vec<u64> = (0..count)
                    .map(|_| {
                        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        x >> shift
                    })
                    .collect();
                for len in [0, 1, 1 << 20, 1 << 31, (1 << 31) + 1, u64::from(u32::MAX) + 1] {
                    check::<u32>(&values, len);
                    check::<u64>(&values, len);
                }
                for len in [1 << 40, 1 << 63, u64::MAX] {
                    check::<u64>(&values, len);
                }
            }
        }
    }
}
