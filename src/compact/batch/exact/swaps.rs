//! The swaps of the Fisher-Yates shuffle, for many rows whose random picks have been drawn.
//!
//! From the last place down, each place is swapped with the one that was picked for it. A row of
//! up to 256 items is held as bytes. There are two ways to do it. Row by row, a swap is two
//! loads and two stores, and takes 2 to 3 cycles. Side by side, each row has one byte lane of a
//! vector. Since every row picks a different place, each place is compared with the pick and
//! swapped in the lanes where they are equal. That handles 64 rows at once but takes `len^2 / 2`
//! steps, so it is faster for short rows only.

use crate::bijection::Standard;
use crate::engine::simd::{PerLevel, SimdLevel};

/// The most items that a row may have, so that its indexes fit a byte.
pub(super) const MOST: usize = Standard::EXACT_MAX as usize;

const _: () = assert!(MOST <= 256);

/// The number of rows that are drawn together: the byte lanes of an AVX-512 vector.
pub(super) const ROWS: usize = 64;

/// For each place, the place with which it is swapped: one lane for each row.
pub(super) type Picks = [[u8; ROWS]; MOST];

/// Rows of bytes. Only the first `len` bytes of each row are used.
pub(super) type ByteRows = [[u8; MOST]; ROWS];

/// The most items for which rows are swapped side by side; longer rows are swapped row by row.
///
/// Nanoseconds for drawing a row, everything included, on one core of an AMD EPYC, side by side and
/// row by row:
///
/// | items | AVX-512 | AVX2 | SSE2 |
/// | --- | --- | --- | --- |
/// | 16 | 7.2 and 13 | 10 and 19 | 26 and 32 |
/// | 24 | 11 and 16 | 15 and 25 | 38 and 41 |
/// | 32 | 17 and 22 | 23 and 34 | 61 and 57 |
/// | 48 | 27 and 28 | 34 and 45 | 98 and 74 |
/// | 64 | 38 and 37 | 51 and 58 | 153 and 98 |
/// | 80 | 58 and 45 | 76 and 74 | 236 and 123 |
const ASIDE: PerLevel = PerLevel { portable: 24, avx2: 64, avx512: 48 };

/// The most items that are swapped side by side with any instruction set.
const MOST_ASIDE: usize = 64;

/// Whether `rows` rows of `len` items are swapped side by side. That always works on all lanes,
/// so it pays only if enough of them are in use.
pub(super) fn is_aside(level: SimdLevel, len: usize, rows: usize) -> bool {
    len <= ASIDE.at(level) as usize && rows > ROWS / 4
}

/// Swaps the items of `rows` rows one row after the other. `len` is at most [`MOST`].
#[inline(always)]
pub(super) fn row_by_row(len: usize, rows: usize, picks: &Picks, out: &mut ByteRows) {
    /// The number of rows that are interleaved, so that their swaps do not wait for each
    /// other's stores. Nanoseconds for a swap with 1, 2, 4 rows: 0.79, 0.73, 0.57 for 100
    /// items, and 0.89, 0.83, 0.71 for 32.
    const TURNS: usize = 4;
    let (groups, rest) = out[..rows].as_chunks_mut::<TURNS>();
    for (group, out) in groups.iter_mut().enumerate() {
        swap_rows(len, TURNS * group, picks, out);
    }
    for (out, lane) in rest.iter_mut().zip(TURNS * groups.len()..) {
        swap_rows(len, lane, picks, core::array::from_mut(out));
    }
}

#[inline(always)]
fn swap_rows<const TURNS: usize>(
    len: usize,
    lane: usize,
    picks: &Picks,
    rows: &mut [[u8; MOST]; TURNS],
) {
    const IDENTITY: [u8; MOST] = {
        let mut bytes = [0; MOST];
        let mut k = 0;
        while k < MOST {
            bytes[k] = k as u8;
            k += 1;
        }
        bytes
    };
    *rows = [IDENTITY; TURNS];
    for (place, picks) in picks[..len].iter().enumerate().rev() {
        // Tells the compiler that the place is within the row.
        let place = place % MOST;
        for (turn, row) in rows.iter_mut().enumerate() {
            row.swap(place, usize::from(picks[(lane + turn) % ROWS]));
        }
    }
}

/// Exchanges the items of all rows side by side. `len` is at most [`MOST_ASIDE`].
#[inline(always)]
pub(super) fn side_by_side(len: usize, picks: &Picks, out: &mut ByteRows) {
    let mut items = [[0_u8; ROWS]; MOST_ASIDE];
    for (place, item) in (0..).zip(&mut items) {
        *item = [place; ROWS];
    }
    for place in (1..len).rev() {
        // Copies, so that the compiler keeps them in registers.
        let (picks, last) = (picks[place], items[place]);
        let mut picked = last;
        for (other, item) in (0..).zip(&mut items[..place]) {
            let old = *item;
            for lane in 0..ROWS {
                let chosen = if picks[lane] == other { 0xFF } else { 0 };
                picked[lane] ^= (picked[lane] ^ old[lane]) & chosen;
                item[lane] = old[lane] ^ (old[lane] ^ last[lane]) & chosen;
            }
        }
        items[place] = picked;
    }
    // Transposes lanes into rows, four items at a time.
    for (four, items) in items.as_chunks::<4>().0.iter().enumerate().take(len.div_ceil(4)) {
        let mut words = [0; ROWS];
        for lane in 0..ROWS {
            let byte = |k: usize| u32::from(items[k][lane]) << (8 * k);
            words[lane] = byte(0) | byte(1) | byte(2) | byte(3);
        }
        for (row, word) in out.iter_mut().zip(words) {
            row.as_chunks_mut::<4>().0[four] = word.to_le_bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::simd::SimdKernel;

    struct Both<'a>(usize, &'a Picks, &'a mut [ByteRows; 2]);

    impl SimdKernel for Both<'_> {
        type Output = ();

        #[inline(always)]
        fn run(self) {
            let Self(len, picks, [one, other]) = self;
            row_by_row(len, ROWS, picks, one);
            side_by_side(len, picks, other);
        }
    }

    #[test]
    fn both_ways_are_one_after_another() {
        let mut x = 1_u64;
        let mut picks = [[0; ROWS]; MOST];
        let mut out = [[[0; MOST]; ROWS]; 2];
        for len in 0..=MOST_ASIDE {
            for (place, picks) in picks[..len].iter_mut().enumerate() {
                for pick in picks {
                    x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    *pick = ((x >> 33) % (place as u64 + 1)) as u8;
                }
            }
            for level in SimdLevel::all() {
                level.run(Both(len, &picks, &mut out));
                for lane in 0..ROWS {
                    let mut row: Vec<u8> = (0..len as u8).collect();
                    for place in (0..len).rev() {
                        row.swap(place, usize::from(picks[place][lane]));
                    }
                    let what = format!("{len} items, row {lane}, {}", level.name());
                    assert_eq!(out[0][lane][..len], row, "{what}: row by row");
                    assert_eq!(out[1][lane][..len], row, "{what}: side by side");
                }
            }
        }
    }
}
