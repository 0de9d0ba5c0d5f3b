//! Which slots are taken, those whose values are below a length.

use crate::bijection::hooks::Hooked;
use crate::compact::cpu::buckets::BucketDivision;
use crate::compact::cpu::tuning;
use crate::engine::check::try_with_capacity;
use crate::engine::parallel;
use crate::engine::simd::{SimdKernel, SimdLevel};
use crate::{Bijection, Error, Trusted, Word};

/// Evaluates every slot, and returns the number of taken slots in each bucket. The length is at
/// least 1.
///
/// # Errors
///
/// [`Error::OutOfMemory`].
pub(super) fn counts(
    f: &Trusted,
    len: usize,
    buckets: BucketDivision,
) -> Result<Vec<usize>, Error> {
    let mut counts = try_with_capacity(buckets.count)?;
    counts.resize(buckets.count, 0);
    parallel::each_mut(&mut counts, |bucket, count| {
        let size = buckets.len() as u64;
        let first = bucket as u64 * size;
        let slots = (f.last() - first).min(size - 1) as usize + 1;
        *count = count_in(f, len as u64 - 1, first, slots);
    });
    Ok(counts)
}

/// The number of slots from `first` on whose values are at most `last_index`.
fn count_in(f: &Trusted, last_index: u64, first: u64, slots: usize) -> usize {
    let (level, mut count) = (SimdLevel::current(), 0);
    if f.last() <= u64::from(u32::MAX) {
        let last = last_index as u32;
        let evaluate = |first, values: &mut [u32]| f.forward_run_u32(first, values);
        let visit = |_, values: &[u32]| count += level.run(Count { values, last });
        for_each_run(first, slots, evaluate, visit);
    } else {
        let evaluate = |first, values: &mut [u64]| f.forward_run(first, values);
        let visit = |_, values: &[u64]| count += level.run(Count { values, last: last_index });
        for_each_run(first, slots, evaluate, visit);
    }
    count
}

/// Evaluates slots from `first` on, [`tuning::RUN`] at a time, and visits their values, with how
/// many slots were before them.
#[inline(always)]
fn for_each_run<N: Word>(
    first: u64,
    slots: usize,
    evaluate: impl Fn(u64, &mut [N]),
    mut visit: impl FnMut(usize, &[N]),
) {
    let mut values = [N::ZERO; tuning::RUN];
    for start in (0..slots).step_by(tuning::RUN) {
        let values = &mut values[..(slots - start).min(tuning::RUN)];
        evaluate(first + start as u64, values);
        visit(start, values);
    }
}

/// How many values of a run are at most `last`.
struct Count<'a, N> {
    values: &'a [N],
    last: N,
}

impl<N: Word> SimdKernel for Count<'_, N> {
    type Output = usize;

    #[inline(always)]
    fn run(self) -> usize {
        // Counted in 32 bits, which are enough for a run, so that vectors have more lanes.
        self.values.iter().map(|&value| u32::from(value <= self.last)).sum::<u32>() as usize
    }
}

/// Evaluates slots from `first` on, and visits their bits, 64 at a time and in order: which of
/// their values are at most `last_index`. A visit gets the word's number, the bits, and how many of
/// them are set.
pub(super) fn for_each_word(
    f: &Trusted,
    last_index: u64,
    first: u64,
    slots: usize,
    mut visit: impl FnMut(usize, u64, usize),
) {
    let mut visit_all = |start: usize, (words, counts): RunMarks, slots: usize| {
        let words = words.iter().zip(&counts).take(slots.div_ceil(64));
        for (number, (&bits, &count)) in (start / 64..).zip(words) {
            visit(number, bits, usize::from(count));
        }
    };
    if f.last() <= u64::from(u32::MAX) {
        let last = last_index as u32;
        let evaluate = |first, values: &mut [u32]| f.forward_run_u32(first, values);
        let visit = |start, run: &[u32]| visit_all(start, mark(run, last), run.len());
        for_each_run(first, slots, evaluate, visit);
    } else {
        let evaluate = |first, values: &mut [u64]| f.forward_run(first, values);
        let visit = |start, run: &[u64]| visit_all(start, mark(run, last_index), run.len());
        for_each_run(first, slots, evaluate, visit);
    }
}

/// The marks of a run, and how many are set in each word.
type RunMarks = ([u64; tuning::RUN / 64], [u8; tuning::RUN / 64]);

/// A bit for each value of a run, that says whether it is at most `last`.
fn mark<N: Word>(values: &[N], last: N) -> RunMarks {
    SimdLevel::current().run(Mark { values, last })
}

/// The words, and how many bits are set in each: to be inlined where there is an instruction for
/// it.
#[inline(always)]
fn counted(words: [u64; tuning::RUN / 64]) -> RunMarks {
    (words, words.map(|word| word.count_ones() as u8))
}

struct Mark<'a, N> {
    values: &'a [N],
    last: N,
}

impl<N: Word> SimdKernel for Mark<'_, N> {
    type Output = RunMarks;

    #[inline(always)]
    fn run(self) -> Self::Output {
        let mut words = [0; tuning::RUN / 64];
        for (word, values) in words.iter_mut().zip(self.values.chunks(64)) {
            // Bytes first: compilers make vectors of that, and a multiplication then gathers the
            // lowest bits of eight bytes.
            let mut bytes = [0_u8; 64];
            for (byte, &value) in bytes.iter_mut().zip(values) {
                *byte = u8::from(value <= self.last);
            }
            let (eights, _) = bytes.as_chunks::<8>();
            for (k, &eight) in eights.iter().enumerate() {
                let bits = u64::from_le_bytes(eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
                *word |= bits << (8 * k);
            }
        }
        counted(words)
    }

    /// A comparison yields the bits themselves here, which compilers do not see in the loop above:
    /// it takes eight times as long.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn run_avx512(self) -> Self::Output {
        if N::BITS != u32::BITS {
            return self.run();
        }
        // SAFETY: the caller promises AVX-512, and N has 32 bits.
        counted(unsafe { mark_avx512(self.values, self.last) })
    }
}

/// # Safety
///
/// The machine has this feature, and N has 32 bits.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn mark_avx512<N: Word>(values: &[N], last: N) -> [u64; tuning::RUN / 64] {
    use core::arch::x86_64::{
        _mm512_cmple_epu32_mask, _mm512_mask_cmple_epu32_mask, _mm512_maskz_loadu_epi32,
        _mm512_set1_epi32,
    };

    let last = _mm512_set1_epi32(last.widen() as i32);
    let mut words = [0; tuning::RUN / 64];
    for (k, values) in values.chunks(16).enumerate() {
        let all = u16::MAX >> (16 - values.len());
        // SAFETY: as many words of 32 bits are loaded as the chunk has.
        let vector = unsafe { _mm512_maskz_loadu_epi32(all, values.as_ptr().cast()) };
        let marks = match all {
            u16::MAX => _mm512_cmple_epu32_mask(vector, last),
            _ => _mm512_mask_cmple_epu32_mask(all, vector, last),
        };
        words[k / 4] |= u64::from(marks) << (16 * (k % 4));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FromSeed;
    use crate::bijection::{GridFeistel, MulXorshift};

    #[test]
    fn every_level_marks_the_same() {
        let mut values = [0_u32; tuning::RUN];
        MulXorshift::<10>::from_seed(1 << 20, 1).forward_run_u32(5, &mut values);
        for len in [0, 1, 63, 64, 65, 1000, tuning::RUN] {
            for last in [0, 1 << 18, 1 << 19, u32::MAX] {
                let values = &values[..len];
                let wide: Vec<u64> = values.iter().map(|&x| u64::from(x) << 20).collect();
                for level in SimdLevel::all() {
                    let narrow = level.run(Mark { values, last });
                    let (words, counts) = narrow;
                    assert!(words.iter().zip(counts).all(|(x, n)| x.count_ones() == u32::from(n)));
                    let bit = |k: usize| words[k / 64] >> (k % 64) & 1 == 1;
                    assert!(values.iter().enumerate().all(|(k, &x)| bit(k) == (x <= last)));
                    let all = counts.iter().map(|&count| usize::from(count)).sum::<usize>();
                    assert_eq!(level.run(Count { values, last }), all);
                    assert!((len..tuning::RUN).all(|k| !bit(k)));
                    let last = u64::from(last) << 20;
                    assert_eq!(level.run(Mark { values: &wide, last }), narrow);
                    assert_eq!(level.run(Count { values: &wide, last }), all);
                }
            }
        }
    }

    #[test]
    fn taken_slots_are_counted() {
        let len = 70_001;
        let chain = MulXorshift::<10>::from_seed(len, 1);
        let grid = GridFeistel::<12>::from_seed(len, 1);
        for f in [chain.trusted().unwrap(), grid.trusted().unwrap()] {
            let buckets = BucketDivision::of_bits(12, f.last(), 1 << 10);
            let mut expected = vec![0; buckets.count];
            for slot in (0..=f.last()).filter(|&slot| f.forward(slot) < len) {
                expected[slot as usize / buckets.len()] += 1;
            }
            assert_eq!(counts(&f, len as usize, buckets).unwrap(), expected);
        }
    }

    #[test]
    fn slots_of_large_domains_are_counted() {
        let len = (1 << 33) + 5;
        let f = MulXorshift::<10>::from_seed(len, 1);
        let f = f.trusted().unwrap();
        for (first, slots) in [(0, 1), (1 << 32, 1000), ((1 << 33) - 7, 5000)] {
            let is_taken = |slot: &u64| f.forward(*slot) < len;
            let expected = (first..first + slots).filter(is_taken).count();
            assert_eq!(count_in(&f, len - 1, first, slots as usize), expected);
        }
    }
}
