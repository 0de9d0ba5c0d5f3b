//! Listing the slots that are marked.

use core::mem::MaybeUninit;

use crate::engine::simd::{SimdKernel, SimdLevel};
use crate::engine::word::Index;

/// The slots of a word of marks.
const SLOTS: usize = u64::BITS as usize;

/// The number of words past the last listed slot that may be overwritten.
pub(super) const SLACK: usize = SLOTS;

/// Appends `count` marked slots to `to`, in order. The first of `words` has the marks of the 64
/// slots from `first` on, and its first `skipped` marked slots are left out.
///
/// # Panics
///
/// If `to` has no capacity for [`SLACK`] more than it is to hold, or fewer slots are marked.
pub(super) fn append<N: Index>(
    words: &[u64],
    first: u64,
    skipped: usize,
    count: usize,
    to: &mut Vec<N>,
) {
    append_at(SimdLevel::current(), words, first, skipped, count, to);
}

fn append_at<N: Index>(
    level: SimdLevel,
    words: &[u64],
    first: u64,
    skipped: usize,
    count: usize,
    to: &mut Vec<N>,
) {
    let before = to.len();
    let out = &mut to.spare_capacity_mut()[..count + SLACK];
    let listed = level.run(ListPoints { words, first, skipped, count, out });
    assert!(listed >= count, "as many slots are marked");
    // SAFETY: `ListPoints` has written as many slots as it says, and `count` and more of them fit
    // the spare capacity.
    unsafe { to.set_len(before + count) };
}

struct ListPoints<'a, N> {
    words: &'a [u64],
    first: u64,
    skipped: usize,
    count: usize,
    /// Room for `count` slots, and for those of one word more.
    out: &'a mut [MaybeUninit<N>],
}

impl<N: Index> ListPoints<'_, N> {
    /// Lists the marked slots of one word after the other until there are enough, and returns how
    /// many were listed: all that are marked in these words. `list` writes the marked slots of a
    /// word to the front of a room for all 64; it is given the number of the word's first slot.
    /// `without` removes that many of the lowest marks from a word, which has more.
    #[inline(always)]
    fn all(
        self,
        list: impl Fn(u64, u64, &mut [MaybeUninit<N>; SLOTS]),
        without: impl Fn(usize, u64) -> u64,
    ) -> usize {
        let Self { words, mut first, skipped, count, out } = self;
        let mut listed = 0;
        let mut left = skipped;
        for &word in words {
            if listed >= count {
                break;
            }
            let marked = word.count_ones() as usize;
            if left < marked {
                let room = out[listed..].first_chunk_mut().expect("`SLACK` more than `count`");
                list(without(left, word), first, room);
                listed += marked - left;
                left = 0;
            } else {
                left -= marked;
            }
            first = first.wrapping_add(SLOTS as u64);
        }
        listed
    }
}

impl<N: Index> SimdKernel for ListPoints<'_, N> {
    type Output = usize;

    #[inline(always)]
    fn run(self) -> usize {
        let list = |mut word: u64, first: u64, room: &mut [MaybeUninit<N>; SLOTS]| {
            let mut places = room.iter_mut();
            while word != 0
                && let Some(place) = places.next()
            {
                place.write(N::truncate(first.wrapping_add(u64::from(word.trailing_zeros()))));
                word &= word - 1;
            }
        };
        self.all(list, |marks, word| (0..marks).fold(word, |word, _| word & (word - 1)))
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn run_avx512(self) -> usize {
        if size_of::<N>() != size_of::<u32>() {
            return self.run();
        }
        self.all(
            // SAFETY: the caller promises AVX-512, and N has 32 bits.
            |word, first, room| unsafe { list_avx512(word, first as u32, room) },
            // SAFETY: the caller promises BMI2 too.
            |marks, word| unsafe { without_bmi2(marks, word) },
        )
    }
}

/// # Safety
///
/// The machine has this feature.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "bmi2")]
unsafe fn without_bmi2(marks: usize, word: u64) -> u64 {
    // Bit `k` of the first goes to the `k`-th mark of the second.
    core::arch::x86_64::_pdep_u64(u64::MAX << marks, word)
}

/// # Safety
///
/// The machine has these features, and N has 32 bits.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,popcnt")]
unsafe fn list_avx512<N: Index>(word: u64, first: u32, room: &mut [MaybeUninit<N>; SLOTS]) {
    use core::arch::x86_64::{
        _mm512_add_epi32, _mm512_maskz_compress_epi32, _mm512_set1_epi32, _mm512_setr_epi32,
        _mm512_storeu_si512,
    };

    let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let mut listed = 0;
    for quarter in 0..4 {
        let marks = (word >> (16 * quarter)) as u16;
        let slots = _mm512_add_epi32(_mm512_set1_epi32((first + 16 * quarter) as i32), lanes);
        let packed = _mm512_maskz_compress_epi32(marks, slots);
        // SAFETY: at most 16 slots of each quarter before this one are listed, so there is room for
        // 16 more of 32 bits.
        let place = unsafe { room.as_mut_ptr().add(listed) };
        // SAFETY: there is room for 16 more of 32 bits from that place on, and N has no invalid
        // values.
        unsafe { _mm512_storeu_si512(place.cast(), packed) };
        listed += marks.count_ones() as usize;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_lists_the_marked_slots() {
        let words = [0, u64::MAX, 1, 1 << 63, 0x0F0F_3333_5555_8001, 0, u64::MAX << 1, 0];
        let first = 3 << 6;
        let all: Vec<u64> = (0..words.len() * SLOTS)
            .filter(|slot| words[slot / SLOTS] >> (slot % SLOTS) & 1 == 1)
            .map(|slot| first + slot as u64)
            .collect();
        for level in SimdLevel::all() {
            for skipped in [0, 1, 63, 64, 65, 70] {
                let left = all.len() - skipped;
                for count in [0, 1, 30, 64, 80, left] {
                    let expected = &all[skipped..skipped + count];
                    let mut narrow = Vec::<u32>::with_capacity(1 + count + SLACK);
                    narrow.push(7);
                    let mut wide = Vec::<u64>::with_capacity(count + SLACK);
                    append_at(level, &words, first, skipped, count, &mut narrow);
                    append_at(level, &words, first, skipped, count, &mut wide);
                    assert_eq!(wide, expected);
                    assert!(narrow[1..].iter().map(|&slot| u64::from(slot)).eq(wide));
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "as many slots are marked")]
    fn fewer_marked_slots_are_refused() {
        append::<u32>(&[7, 1], 0, 1, 4, &mut Vec::with_capacity(4 + SLACK));
    }
}
