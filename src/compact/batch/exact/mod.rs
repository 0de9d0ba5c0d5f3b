//! Rows that are drawn exactly, many at a time.
//!
//! One row at a time, Fisher-Yates is bound by latency. 32 items take three random words. Each word
//! costs some twenty multiplications that depend on one another, each pick that is taken from it is
//! another multiplication in a chain, and the swaps wait for stores. Rows in the lanes of a
//! vector are independent, so both the words and, for short rows, the [swaps](swaps) are
//! computed side by side.
//!
//! A row with a word that has to be rejected (one in 257 rows of 32 items) is drawn again as a
//! whole, alone.

mod swaps;

use self::swaps::{MOST, Picks, ROWS, is_aside, row_by_row, side_by_side};
use crate::bijection::Standard;
use crate::compact::batch::Batch;
use crate::engine::bijection::{batch, draw_exchanges, rejected};
use crate::engine::seed::words;
use crate::engine::simd::{SimdKernel, SimdLevel};
use crate::{FromSeed, Seed, Word};

/// The number of rows whose words are drawn together with AVX-512: four vectors of 64-bit lanes for
/// each of a counter's four words.
#[cfg(target_arch = "x86_64")]
const MANY: usize = 32;

/// The same number for instruction sets with shorter and fewer vector registers.
const FEW: usize = 8;

/// The swaps that one word of the key stream decides: those of consecutive places, from the
/// greatest down.
#[derive(Clone, Copy, Debug)]
struct SwapShare {
    /// The number of places that the first swap picks from (its own place and all below it),
    /// and the number that the last swap picks from.
    ranges: (u16, u16),
    /// The word is rejected if what remains of it after the last pick is less than this.
    rejected: u64,
}

/// Draws rows of one length exactly.
#[derive(Debug)]
pub(super) struct ExactRows {
    len: usize,
    seed: Seed,
    shares: Vec<SwapShare>,
    level: SimdLevel,
}

impl ExactRows {
    pub(super) fn new(batch: &Batch) -> Self {
        Self::at(SimdLevel::current(), batch)
    }

    fn at(level: SimdLevel, &Batch { len, seed }: &Batch) -> Self {
        let mut shares = Vec::new();
        let mut range = len as u64;
        while range > 1 {
            let (count, product) = batch(range);
            let ranges = (range as u16, (range - count + 1) as u16);
            shares.push(SwapShare { ranges, rejected: rejected(product) });
            range -= count;
        }
        Self { len, seed, shares, level }
    }

    /// Writes the rows from `first` on. `out` consists of whole rows.
    pub(super) fn draw<N: Word>(&self, first: u64, out: &mut [N]) {
        self.level.run(DrawRows { exact: self, first, out });
    }

    /// Writes one row from the key stream, which handles rejected words.
    #[cold]
    fn draw_one<N: Word>(&self, row: u64, out: &mut [N]) {
        for (index, out) in (0..).zip(&mut *out) {
            *out = N::wrap(index);
        }
        let domain = Standard::key_domain(self.len as u64);
        let mut stream = self.seed.with_epoch(row).key_stream(domain);
        draw_exchanges(self.len, || stream.next_u64(), |a, b| out.swap(a, b));
    }
}

struct DrawRows<'a, N> {
    exact: &'a ExactRows,
    first: u64,
    out: &'a mut [N],
}

impl<N: Word> SimdKernel for DrawRows<'_, N> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.draw::<FEW>();
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn run_avx512(self) {
        self.draw::<MANY>();
    }
}

impl<N: Word> DrawRows<'_, N> {
    /// Draws the rows, with the words of `LANES` rows drawn together.
    #[inline(always)]
    fn draw<const LANES: usize>(self) {
        let Self { exact, mut first, out } = self;
        let len = exact.len;
        let mut picks = [[0; ROWS]; MOST];
        let mut bytes = [[0; MOST]; ROWS];
        for out in out.chunks_mut(ROWS * len) {
            let rows = out.len() / len;
            let mut bad = [0; ROWS];
            for lane in (0..rows).step_by(LANES) {
                exact.pick::<LANES>(first, lane, &mut picks, &mut bad);
            }
            if is_aside(exact.level, len, rows) {
                side_by_side(len, &picks, &mut bytes);
            } else {
                row_by_row(len, rows, &picks, &mut bytes);
            }
            for (lane, row) in out.chunks_exact_mut(len).enumerate() {
                for (out, &index) in row.iter_mut().zip(&bytes[lane]) {
                    *out = N::wrap(u64::from(index));
                }
                if bad[lane] != 0 {
                    exact.draw_one(first + lane as u64, row);
                }
            }
            first = first.wrapping_add(ROWS as u64);
        }
    }
}

impl ExactRows {
    /// Draws the place with which each place is swapped, for `LANES` of the rows from `first` on:
    /// those that begin at a given lane. A row with a rejected word is marked by a value other than
    /// 0; its picks are then not to be used.
    #[inline(always)]
    fn pick<const LANES: usize>(
        &self,
        first: u64,
        lane: usize,
        picks: &mut Picks,
        bad: &mut [u64; ROWS],
    ) {
        const LOW: u64 = 0xFFFF_FFFF;
        let domain = Standard::key_domain(self.len as u64).word();
        let first = first.wrapping_add(lane as u64);
        let bad = &mut bad.as_chunks_mut::<LANES>().0[lane / LANES];
        let mut pair = [[0; LANES]; 2];
        for (number, share) in self.shares.iter().enumerate() {
            if number % 2 == 0 {
                pair = words(self.seed.keys(), domain, (number / 2) as u32, first);
            }
            // A word's halves, each in the low half of its lane: the product of a half and a range
            // is then one instruction.
            let (mut low, mut high) = (pair[number % 2], pair[number % 2]);
            for half in &mut high {
                *half >>= 32;
            }
            for range in (share.ranges.1..=share.ranges.0).rev() {
                let picks = &mut picks[usize::from(range - 1)];
                let picks = &mut picks.as_chunks_mut::<LANES>().0[lane / LANES];
                for lane in 0..LANES {
                    low[lane] = (low[lane] & LOW) * u64::from(range);
                    high[lane] = (high[lane] & LOW) * u64::from(range) + (low[lane] >> 32);
                    picks[lane] = (high[lane] >> 32) as u8;
                }
            }
            for lane in 0..LANES {
                let remainder = high[lane] << 32 | low[lane] & LOW;
                bad[lane] |= u64::from(remainder < share.rejected);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::permutation::Permutation;

    /// The rows that have a rejected word.
    fn bad(exact: &ExactRows, rows: u64) -> Vec<u64> {
        let (mut picks, mut lanes) = ([[0; ROWS]; MOST], [0; ROWS]);
        let mut all = Vec::new();
        for first in (0..rows).step_by(ROWS) {
            lanes.fill(0);
            for lane in (0..ROWS).step_by(FEW) {
                exact.pick::<FEW>(first, lane, &mut picks, &mut lanes);
            }
            all.extend((first..).zip(lanes).filter(|&(_, bad)| bad != 0).map(|(row, _)| row));
        }
        all
    }

    #[test]
    fn rows_with_words_that_are_no_good_are_drawn_again() {
        for (len, seed) in [(252, Seed::new(3)), (32, Seed::from_bytes([9; 32]))] {
            for level in SimdLevel::all() {
                let exact = ExactRows::at(level, &Batch { len, seed });
                // One row in 49 of 252 items, one in 257 of 32.
                let bad = bad(&exact, 2048);
                assert!((1..100).contains(&bad.len()), "{} of 2048", bad.len());
                let mut rows = vec![0_u32; 2048 * len];
                exact.draw(0, &mut rows);
                for row in bad.into_iter().chain([0, 2047]) {
                    let expected = Permutation::new(len as u64, seed.with_epoch(row));
                    let drawn = rows[row as usize * len..][..len].iter();
                    assert!(expected.iter().eq(drawn.map(|&index| u64::from(index))), "row {row}");
                }
            }
        }
    }

    #[test]
    fn every_level_gives_the_rows_one_by_one() {
        for level in SimdLevel::all() {
            for len in (1..=MOST).filter(|len| len % 13 < 2 || (20..70).contains(len)) {
                let seed = Seed::new(len as u64);
                let exact = ExactRows::at(level, &Batch { len, seed });
                for rows in [1, 15, 16, 17, 65, 130] {
                    let first = u64::from(u32::MAX) - 40;
                    let mut drawn = vec![0_u64; rows * len];
                    exact.draw(first, &mut drawn);
                    for (row, drawn) in (first..).zip(drawn.chunks(len)) {
                        let mut expected = vec![0; len];
                        exact.draw_one(row, &mut expected);
                        let what = format!("{len} items, row {row} of {rows}, {}", level.name());
                        assert_eq!(drawn, expected, "{what}");
                    }
                }
            }
        }
    }
}
