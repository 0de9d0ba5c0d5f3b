//! The network on many points at once. Rows and columns are words of the hash's width: 16 bits on
//! grids of up to 2^31 points, else 32. (64-bit words, which would hold the products, are 1.3 times
//! slower with AVX-512, and 2.5 to 3.5 times slower below.)

use super::definition::{GridFeistel, HalfRound};
use crate::bijection::lanes::{BLOCK, Lane, Lanes, uncounted};
use crate::word::Word;

/// A word that holds a row, a column or a hash.
pub(super) trait Cell: Lane {
    /// The word type of the points.
    type Point: Word;

    /// Half of the word's bits: the shift of the hash's xorshift.
    const HALF: usize;

    /// The upper word of the product of a hash and the number of rows.
    fn scale(self, rows: Self) -> Self;

    /// A row less an offset, modulo the number of rows.
    fn minus(self, offset: Self, rows: Self) -> Self;

    /// A row and an offset, modulo the number of rows.
    fn plus(self, offset: Self, rows: Self) -> Self;
}

/// There are at most 2^15 rows.
impl Cell for u16 {
    type Point = u32;

    const HALF: usize = 8;

    #[inline(always)]
    fn scale(self, rows: Self) -> Self {
        ((u32::from(self) * u32::from(rows)) >> 16) as Self
    }

    #[inline(always)]
    fn minus(self, offset: Self, rows: Self) -> Self {
        let moved = self.wrapping_sub(offset);
        // A negative difference has wrapped around, so it is larger than with `rows` added.
        moved.min(moved.wrapping_add(rows))
    }

    #[inline(always)]
    fn plus(self, offset: Self, rows: Self) -> Self {
        let moved = self.wrapping_add(offset);
        moved.min(moved.wrapping_sub(rows))
    }
}

/// There may be 2^32 rows, which the word holds as 0.
impl Cell for u32 {
    type Point = u64;

    const HALF: usize = 16;

    #[inline(always)]
    fn scale(self, rows: Self) -> Self {
        // With 2^32 rows the upper word is the hash itself.
        let all = if rows == 0 { Self::MAX } else { 0 };
        ((u64::from(self) * u64::from(rows)) >> 32) as Self | (self & all)
    }

    #[inline(always)]
    fn minus(self, offset: Self, rows: Self) -> Self {
        let moved = self.wrapping_sub(offset);
        // With more than 2^31 rows a positive difference may be larger than with `rows` added, so
        // the smaller one is not always right.
        if self < offset { moved.wrapping_add(rows) } else { moved }
    }

    #[inline(always)]
    fn plus(self, offset: Self, rows: Self) -> Self {
        // The sum may not fit the word, the difference does. For an offset of 0 this takes off
        // `rows` and adds it again.
        self.minus(rows.wrapping_sub(offset), rows)
    }
}

/// The key of a half-round.
#[derive(Clone, Copy)]
struct HalfRoundKey<L> {
    multiplier: L,
    increment: L,
    finish: L,
    /// The multiplier of the column; for the inverse network, its inverse.
    columns: L,
    moves_rows: bool,
}

impl<L: Cell> HalfRoundKey<L> {
    #[inline(always)]
    fn hash(self, x: L) -> L {
        let y = x.wrapping_mul(self.multiplier).wrapping_add(self.increment);
        (y ^ (y >> L::HALF)).wrapping_mul(self.finish)
    }
}

/// A network's half-rounds, in the order in which they are applied.
pub(super) struct HalfRounds<'a, const INVERSE: bool, L, const HALF_ROUNDS: usize> {
    grid: &'a GridFeistel<HALF_ROUNDS>,
    keys: [HalfRoundKey<L>; HALF_ROUNDS],
    rows: L,
    column_mask: L,
    column_bits: usize,
    /// The shift that makes a column of a hash.
    column_shift: usize,
}

impl<'a, const INVERSE: bool, L: Cell, const HALF_ROUNDS: usize>
    HalfRounds<'a, INVERSE, L, HALF_ROUNDS>
{
    pub(super) fn new(grid: &'a GridFeistel<HALF_ROUNDS>) -> Self {
        let wrap = |word: u32| L::truncate(u64::from(word));
        let keys = core::array::from_fn(|k| {
            let k = if INVERSE { HALF_ROUNDS - 1 - k } else { k };
            let HalfRound { multiplier, increment, finish, columns } = grid.keys[k];
            HalfRoundKey {
                multiplier: wrap(multiplier),
                increment: wrap(increment),
                finish: wrap(finish),
                columns: wrap(if INVERSE { columns.odd_inverse() } else { columns }),
                moves_rows: k % 2 == 0,
            }
        });
        Self {
            grid,
            keys,
            rows: L::truncate(grid.rows),
            column_mask: L::truncate(u64::low_mask(grid.column_bits)),
            column_bits: grid.column_bits as usize,
            column_shift: (grid.width - grid.column_bits) as usize,
        }
    }

    #[inline(always)]
    fn forward(&self, rows: &mut [L], columns: &mut [L]) {
        for key in uncounted(&self.keys) {
            if key.moves_rows {
                for (row, &mut column) in rows.iter_mut().zip(&mut *columns) {
                    *row = row.minus(key.hash(column).scale(self.rows), self.rows);
                }
            } else {
                for (&mut row, column) in rows.iter_mut().zip(&mut *columns) {
                    let offset = key.hash(row) >> self.column_shift;
                    let product = column.wrapping_mul(key.columns);
                    *column = product.wrapping_add(offset) & self.column_mask;
                }
            }
        }
    }

    #[inline(always)]
    fn inverse(&self, rows: &mut [L], columns: &mut [L]) {
        for key in uncounted(&self.keys) {
            if key.moves_rows {
                for (row, &mut column) in rows.iter_mut().zip(&mut *columns) {
                    *row = row.plus(key.hash(column).scale(self.rows), self.rows);
                }
            } else {
                for (&mut row, column) in rows.iter_mut().zip(&mut *columns) {
                    let offset = key.hash(row) >> self.column_shift;
                    let difference = column.wrapping_sub(offset);
                    *column = difference.wrapping_mul(key.columns) & self.column_mask;
                }
            }
        }
    }
}

impl<const INVERSE: bool, L: Cell, const HALF_ROUNDS: usize> Lanes
    for HalfRounds<'_, INVERSE, L, HALF_ROUNDS>
{
    type Point = L::Point;

    #[inline(always)]
    fn evaluate<const LARGE: bool>(&self, points: &mut [L::Point; BLOCK]) {
        let (mut rows, mut columns) = (L::EMPTY, L::EMPTY);
        let (rows, columns) = (rows.as_mut(), columns.as_mut());
        for points in points.chunks_exact_mut(rows.len()) {
            for ((row, column), &mut point) in rows.iter_mut().zip(&mut *columns).zip(&mut *points)
            {
                *row = L::truncate((point >> self.column_bits).widen());
                *column = L::truncate(point.widen()) & self.column_mask;
            }
            if INVERSE {
                self.inverse(rows, columns);
            } else {
                self.forward(rows, columns);
            }
            for ((&mut row, &mut column), point) in rows.iter_mut().zip(&mut *columns).zip(points) {
                let row = L::Point::wrap(row.extend());
                *point = row << self.column_bits | L::Point::wrap(column.extend());
            }
        }
    }

    #[inline(always)]
    fn evaluate_one(&self, point: L::Point) -> L::Point {
        let point = point.widen();
        L::Point::wrap(if INVERSE { self.grid.slot(point) } else { self.grid.value(point) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bijection::lanes::check;
    use crate::bijection::{Bijection, FromSeed};

    fn check_length<const HALF_ROUNDS: usize>(len: u64) {
        let grid = GridFeistel::<HALF_ROUNDS>::from_seed(len, 3);
        let last = grid.last().min(u64::MAX - 1);
        let what = format!("length {len}");
        let inverse = format!("{what}, inverse");
        if grid.width == 16 {
            check(&HalfRounds::<false, u16, HALF_ROUNDS>::new(&grid), last, &what);
            check(&HalfRounds::<true, u16, HALF_ROUNDS>::new(&grid), last, &inverse);
        } else {
            check(&HalfRounds::<false, u32, HALF_ROUNDS>::new(&grid), last, &what);
            check(&HalfRounds::<true, u32, HALF_ROUNDS>::new(&grid), last, &inverse);
        }
    }

    #[test]
    fn grid_feistel_lanes_agree_with_single_points() {
        for bits in 1..=63 {
            for len in [(1 << bits) - 1, 1 << bits, (1 << bits) + 1, (1 << bits) / 3 * 4 + 1] {
                check_length::<12>(len);
                check_length::<1>(len);
            }
        }
        check_length::<12>(u64::MAX);
        check_length::<0>(1000);
    }
}
