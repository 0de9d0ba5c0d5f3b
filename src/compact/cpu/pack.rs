//! Packing survivors: keeping the values below the length, in order and without gaps.
//!
//! ```text
//! for vector in values:
//!     survives = vector <= last                 a bit for each word
//!     packed = the words of these bits, in front
//!     store all of packed at out[count..]       the next store overwrites what is too much
//!     count += number of bits
//! ```
//!
//! AVX-512 packs by one instruction (`vpcompress`), AVX2 by a byte shuffle from a table with an
//! entry for each set of bits. Without either, every word is stored, and only a survivor advances
//! `count`.

use core::mem::MaybeUninit;

use crate::engine::simd::{SimdKernel, SimdLevel};
use crate::engine::word::Index;

/// The number of words past the last survivor that may be overwritten.
pub(super) const SLACK: usize = 32;

/// The words that values are read from: of 16 or 32 bits.
pub(super) trait ValueWord: Copy + Into<u32> {}

impl ValueWord for u16 {}
impl ValueWord for u32 {}

/// Writes the values up to `last` to the front of `out` and returns their number. That many words
/// are then initialised; what follows them is unspecified.
///
/// # Panics
///
/// If `out` is not longer than `values` by [`SLACK`].
pub(super) fn pack<V: ValueWord, N: Index>(
    values: &[V],
    last: u32,
    out: &mut [MaybeUninit<N>],
) -> usize {
    pack_at(SimdLevel::current(), values, last, out)
}

fn pack_at<V: ValueWord, N: Index>(
    level: SimdLevel,
    values: &[V],
    last: u32,
    out: &mut [MaybeUninit<N>],
) -> usize {
    assert!(values.len() + SLACK <= out.len());
    level.run(Pack { values, last, out })
}

/// Packs one value at a time, from 64-bit words: for domains of more than `2^32` points.
pub(super) fn pack_wide<N: Index>(values: &[u64], last: u64, out: &mut [MaybeUninit<N>]) -> usize {
    pack_one_by_one(values, last, out, 0)
}

/// Packs after the first `count` words of `out`.
#[inline(always)]
fn pack_one_by_one<V: Copy + Into<M>, M: Index, N: Index>(
    values: &[V],
    last: M,
    out: &mut [MaybeUninit<N>],
    mut count: usize,
) -> usize {
    for &value in values {
        let value = value.into();
        // Every value is written, and only survivors advance the place: no branch to mispredict.
        out[count] = MaybeUninit::new(N::truncate(value.extend()));
        count += usize::from(value <= last);
    }
    count
}

struct Pack<'a, V, N> {
    values: &'a [V],
    last: u32,
    out: &'a mut [MaybeUninit<N>],
}

impl<V: ValueWord, N: Index> SimdKernel for Pack<'_, V, N> {
    type Output = usize;

    /// Whether the words are of 16 bits and stay so.
    #[cfg(target_arch = "x86_64")]
    const USES_VBMI2: bool = size_of::<V>() == 2 && size_of::<N>() == 2;

    #[inline(always)]
    fn run(self) -> usize {
        let Self { values, last, out } = self;
        pack_one_by_one(values, last, out, 0)
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn run_avx2(self) -> usize {
        if Self::USES_VBMI2 {
            // SAFETY: the caller promises AVX2, `pack_at` has checked that `out` is longer than
            // `values` by `SLACK`, and the words of both have 16 bits.
            return unsafe { avx2::pack_short(self.values, self.last, self.out) };
        }
        // SAFETY: the caller promises AVX2, and `pack_at` has checked that `out` is longer than
        // `values` by `SLACK`.
        unsafe { avx2::pack(self.values, self.last, self.out) }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn run_avx512(self) -> usize {
        // SAFETY: the caller promises AVX-512, and `pack_at` has checked that `out` is longer than
        // `values` by `SLACK`.
        unsafe { avx512::pack(self.values, self.last, self.out) }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn run_vbmi2(self) -> usize {
        // SAFETY: the caller promises VBMI2, `pack_at` has checked that `out` is longer than
        // `values` by `SLACK`, and this is called only for words of 16 bits on both sides.
        unsafe { avx512::pack_short(self.values, self.last, self.out) }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use core::arch::x86_64::{
        _mm256_loadu_si256, _mm256_storeu_si256, _mm512_castsi512_si256, _mm512_cmple_epu16_mask,
        _mm512_cmple_epu32_mask, _mm512_cvtepi32_epi16, _mm512_cvtepu16_epi32,
        _mm512_cvtepu32_epi64, _mm512_extracti64x4_epi64, _mm512_loadu_si512,
        _mm512_maskz_compress_epi16, _mm512_maskz_compress_epi32, _mm512_set1_epi16,
        _mm512_set1_epi32, _mm512_storeu_si512,
    };

    use super::{MaybeUninit, SLACK, ValueWord, pack_one_by_one};
    use crate::engine::word::Index;

    /// Packs words of 16 bits.
    ///
    /// # Safety
    ///
    /// The machine has these features, `out` is longer than `values` by 32 words, and V and N have
    /// 16 bits.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
    pub(super) unsafe fn pack_short<V: ValueWord, N: Index>(
        values: &[V],
        last: u32,
        out: &mut [MaybeUninit<N>],
    ) -> usize {
        const { assert!(SLACK >= 32) };
        // All words of 16 bits survive where all below a larger limit do.
        let limit = _mm512_set1_epi16(last.min(u32::from(u16::MAX)) as i16);
        let mut count = 0;
        let (vectors, rest) = values.as_chunks::<32>();
        for vector in vectors {
            // SAFETY: a vector of the chunks is 32 words of 16 bits: 512 bits, which need not be
            // aligned.
            let vector = unsafe { _mm512_loadu_si512(vector.as_ptr().cast()) };
            let survives = _mm512_cmple_epu16_mask(vector, limit);
            let packed = _mm512_maskz_compress_epi16(survives, vector);
            // SAFETY: at most as many words were packed as there were values before, and `out` has
            // room for 32 more.
            let place = unsafe { out.as_mut_ptr().add(count) };
            // SAFETY: room for 32 words of 16 bits, which N is; it has no invalid values.
            unsafe { _mm512_storeu_si512(place.cast(), packed) };
            count += survives.count_ones() as usize;
        }
        pack_one_by_one(rest, last, out, count)
    }

    /// # Safety
    ///
    /// The machine has these features, and `out` is longer than `values` by 16 words.
    #[inline]
    #[target_feature(enable = "avx512f,popcnt")]
    pub(super) unsafe fn pack<V: ValueWord, N: Index>(
        values: &[V],
        last: u32,
        out: &mut [MaybeUninit<N>],
    ) -> usize {
        let limit = _mm512_set1_epi32(last as i32);
        let mut count = 0;
        let (vectors, rest) = values.as_chunks::<16>();
        for vector in vectors {
            let vector = if size_of::<V>() == 2 {
                // SAFETY: a vector of the chunks is 16 words, here of 16 bits each: 256 bits, which
                // need not be aligned.
                _mm512_cvtepu16_epi32(unsafe { _mm256_loadu_si256(vector.as_ptr().cast()) })
            } else {
                // SAFETY: a vector of the chunks is 16 words, here of 32 bits each: 512 bits, which
                // need not be aligned.
                unsafe { _mm512_loadu_si512(vector.as_ptr().cast()) }
            };
            let survives = _mm512_cmple_epu32_mask(vector, limit);
            // Compresses in a register and stores all of it: the instruction that stores only the
            // packed words is slow.
            let packed = _mm512_maskz_compress_epi32(survives, vector);
            // SAFETY: at most as many words were packed as there were values before, and `out` has
            // room for 16 more.
            let place = unsafe { out.as_mut_ptr().add(count) };
            if size_of::<N>() == 2 {
                let packed = _mm512_cvtepi32_epi16(packed);
                // SAFETY: room for 16 words of 16 bits, which N is; it has no invalid values.
                unsafe { _mm256_storeu_si256(place.cast(), packed) };
            } else if size_of::<N>() == 4 {
                // SAFETY: room for 16 words of 32 bits, which N is; it has no invalid values.
                unsafe { _mm512_storeu_si512(place.cast(), packed) };
            } else {
                let low = _mm512_cvtepu32_epi64(_mm512_castsi512_si256(packed));
                // SAFETY: room for 16 words of 64 bits, which N is; these are the first 8.
                unsafe { _mm512_storeu_si512(place.cast(), low) };
                let high = _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64::<1>(packed));
                // SAFETY: room for 16 words of 64 bits. These are the other 8, which begin 8 words
                // later.
                unsafe { _mm512_storeu_si512(place.wrapping_add(8).cast(), high) };
            }
            count += survives.count_ones() as usize;
        }
        pack_one_by_one(rest, last, out, count)
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use core::arch::x86_64::{
        _mm_castsi128_ps, _mm_cmpeq_epi16, _mm_cmpeq_epi32, _mm_cvtepu16_epi32, _mm_loadl_epi64,
        _mm_loadu_si128, _mm_min_epu16, _mm_min_epu32, _mm_movemask_epi8, _mm_movemask_ps,
        _mm_packs_epi16, _mm_packus_epi32, _mm_set1_epi16, _mm_set1_epi32, _mm_setzero_si128,
        _mm_shuffle_epi8, _mm_storel_epi64, _mm_storeu_si128, _mm256_cvtepu32_epi64,
        _mm256_storeu_si256,
    };

    use super::{MaybeUninit, ValueWord, pack_one_by_one};
    use crate::engine::word::Index;

    /// The byte shuffle for each set of survivors among a vector's words.
    const fn shuffles<const SETS: usize>() -> [[u8; 16]; SETS] {
        let words = SETS.ilog2() as usize;
        let bytes = 16 / words;
        let mut all = [[0x80; 16]; SETS];
        let mut set = 0;
        while set < SETS {
            let (mut from, mut to) = (0, 0);
            while from < words {
                if set >> from & 1 == 1 {
                    let mut byte = 0;
                    while byte < bytes {
                        all[set][bytes * to + byte] = (bytes * from + byte) as u8;
                        byte += 1;
                    }
                    to += 1;
                }
                from += 1;
            }
            set += 1;
        }
        all
    }

    /// For four words of 32 bits.
    static SHUFFLES: [[u8; 16]; 1 << 4] = shuffles();

    /// For eight words of 16 bits.
    static SHORT_SHUFFLES: [[u8; 16]; 1 << 8] = shuffles();

    /// Packs words of 16 bits.
    ///
    /// # Safety
    ///
    /// The machine has these features, `out` is longer than `values` by 8 words, and V and N have
    /// 16 bits.
    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    pub(super) unsafe fn pack_short<V: ValueWord, N: Index>(
        values: &[V],
        last: u32,
        out: &mut [MaybeUninit<N>],
    ) -> usize {
        // All words of 16 bits survive where all below a larger limit do.
        let limit = _mm_set1_epi16(last.min(u32::from(u16::MAX)) as i16);
        let mut count = 0;
        let (vectors, rest) = values.as_chunks::<8>();
        for vector in vectors {
            // SAFETY: a vector of the chunks is 8 words of 16 bits: 128 bits, which need not be
            // aligned.
            let vector = unsafe { _mm_loadu_si128(vector.as_ptr().cast()) };
            let survives = _mm_cmpeq_epi16(_mm_min_epu16(vector, limit), vector);
            let survives = _mm_packs_epi16(survives, _mm_setzero_si128());
            let survives = _mm_movemask_epi8(survives) as usize;
            // SAFETY: an entry of the table is an array of 16 bytes, which need not be aligned.
            let shuffle = unsafe { _mm_loadu_si128(SHORT_SHUFFLES[survives].as_ptr().cast()) };
            // SAFETY: at most as many words were packed as there were values before, and `out` has
            // room for 8 more.
            let place = unsafe { out.as_mut_ptr().add(count) };
            let packed = _mm_shuffle_epi8(vector, shuffle);
            // SAFETY: room for 8 words of 16 bits, which N is; it has no invalid values.
            unsafe { _mm_storeu_si128(place.cast(), packed) };
            count += survives.count_ones() as usize;
        }
        pack_one_by_one(rest, last, out, count)
    }

    /// # Safety
    ///
    /// The machine has these features, and `out` is longer than `values` by 4 words.
    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    pub(super) unsafe fn pack<V: ValueWord, N: Index>(
        values: &[V],
        last: u32,
        out: &mut [MaybeUninit<N>],
    ) -> usize {
        let limit = _mm_set1_epi32(last as i32);
        let mut count = 0;
        let (vectors, rest) = values.as_chunks::<4>();
        for vector in vectors {
            let vector = if size_of::<V>() == 2 {
                // SAFETY: a vector of the chunks is 4 words, here of 16 bits each: 64 bits, which
                // need not be aligned.
                _mm_cvtepu16_epi32(unsafe { _mm_loadl_epi64(vector.as_ptr().cast()) })
            } else {
                // SAFETY: a vector of the chunks is 4 words, here of 32 bits each: 128 bits, which
                // need not be aligned.
                unsafe { _mm_loadu_si128(vector.as_ptr().cast()) }
            };
            // AVX2 compares only signed words, but has a minimum of unsigned ones.
            let survives = _mm_cmpeq_epi32(_mm_min_epu32(vector, limit), vector);
            let survives = _mm_movemask_ps(_mm_castsi128_ps(survives)) as usize;
            // SAFETY: an entry of the table is an array of 16 bytes, which need not be aligned.
            let shuffle = unsafe { _mm_loadu_si128(SHUFFLES[survives].as_ptr().cast()) };
            let packed = _mm_shuffle_epi8(vector, shuffle);
            // SAFETY: at most as many words were packed as there were values before, and `out` has
            // room for 4 more.
            let place = unsafe { out.as_mut_ptr().add(count) };
            if size_of::<N>() == 2 {
                let packed = _mm_packus_epi32(packed, packed);
                // SAFETY: room for 4 words of 16 bits, which N is; it has no invalid values.
                unsafe { _mm_storel_epi64(place.cast(), packed) };
            } else if size_of::<N>() == 4 {
                // SAFETY: room for 4 words of 32 bits, which N is; it has no invalid values.
                unsafe { _mm_storeu_si128(place.cast(), packed) };
            } else {
                let packed = _mm256_cvtepu32_epi64(packed);
                // SAFETY: room for 4 words of 64 bits, which N is.
                unsafe { _mm256_storeu_si256(place.cast(), packed) };
            }
            count += survives.count_ones() as usize;
        }
        pack_one_by_one(rest, last, out, count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<N: Index>(values: &[u32], last: u32) {
        let expected: Vec<u32> = values.iter().copied().filter(|&x| x <= last).collect();
        let wide: Vec<u64> = values.iter().map(|&x| u64::from(x) << 20).collect();
        let same = |out: &[MaybeUninit<N>], shift: u32| {
            // SAFETY: the buffer was created from initialised words, and packing writes only
            // initialised words.
            let words = out.iter().map(|x| unsafe { x.assume_init() });
            words.map(|x| x.extend() >> shift).eq(expected.iter().map(|&x| u64::from(x)))
        };
        for level in SimdLevel::all() {
            let mut out = vec![MaybeUninit::new(N::ZERO); values.len() + SLACK];
            let count = pack_at(level, values, last, &mut out);
            assert!(same(&out[..count], 0), "{}, {last}, {values:?}", level.name());
            if let Ok(short) = values.iter().map(|&x| x.try_into()).collect::<Result<Vec<u16>, _>>()
            {
                let count = pack_at(level, &short, last, &mut out);
                assert!(same(&out[..count], 0), "{}, {last}, {short:?}", level.name());
            }
        }
        if size_of::<N>() == 8 {
            let mut out = vec![MaybeUninit::new(N::ZERO); values.len() + SLACK];
            let count = pack_wide(&wide, u64::from(last) << 20, &mut out);
            assert!(same(&out[..count], 20), "one by one, {last}, {values:?}");
        }
    }

    #[test]
    fn every_level_packs_the_same() {
        let mut x = 1_u64;
        for count in (0..70).chain([1000]) {
            for shift in [32, 40, 48, 60] {
                let values: Vec<u32> = (0..count)
                    .map(|_| {
                        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        (x >> shift) as u32
                    })
                    .collect();
                for last in [0, 1, 7, 1 << 20, (1 << 31) - 1, 1 << 31, u32::MAX] {
                    check::<u32>(&values, last);
                    check::<u64>(&values, last);
                }
            }
        }
    }
}
