//! The definition of [`GridFeistel`]: its grid, its keys, and its values at single points.

use crate::error::BijectionError;
use crate::word::{Word, bits_for};

/// A Feistel network on a grid of `rows * 2^j` points, for any length.
///
/// Black and Rogaway's generalised Feistel network (*Ciphers with arbitrary finite domains*, CT-RSA
/// 2002): a point is a row `l` and a column `r`, and the half-rounds, in turn,
///
/// ```text
/// even:  l = l - floor(h(r) * rows / 2^w)       mod rows
/// odd:   r = r * k + floor(h(l) / 2^(w - j))    mod 2^j
/// ```
///
/// change one by a keyed hash of the other. The hash is `h(x) = c * g(a x + b)` with
/// `g(y) = y ^ (y >> w/2)`, on words of `w = 16` bits for grids of up to 2^31 points and of
/// `w = 32` beyond; `a`, `c` and `k` are odd keys and `b` is any.
///
/// The number of rows need not be a power of two. There are `2^j` columns with `j = ceil(b / 2)`,
/// where `2^b` is the next power of two, so from 3 items on the grid has at most `2^j - 1` points
/// more than requested. Almost no evaluation is wasted, where other families evaluate up to twice
/// the length.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::bijection::GridFeistel;
/// use bijective_shuffle::prelude::*;
///
/// let f = GridFeistel::<12>::from_seed(1_000_001, 42);
/// assert_eq!(f.last() + 1, 977 * 1024);
/// assert_eq!(f.inverse(f.forward(700)), 700);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GridFeistel<const HALF_ROUNDS: usize = 12> {
    pub(super) rows: u64,
    pub(super) column_bits: u32,
    /// The width of the hash's words.
    pub(super) width: u32,
    pub(super) keys: [HalfRound; HALF_ROUNDS],
}

/// The key of a half-round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct HalfRound {
    /// `a`, odd.
    pub(super) multiplier: u32,
    /// `b`.
    pub(super) increment: u32,
    /// `c`, odd.
    pub(super) finish: u32,
    /// `k`, odd.
    pub(super) columns: u32,
}

impl HalfRound {
    /// The hash of `x`, a word of `width` bits.
    #[inline]
    fn hash(&self, x: u64, width: u32) -> u64 {
        let mask = u32::MAX >> (32 - width);
        let y = (x as u32).wrapping_mul(self.multiplier).wrapping_add(self.increment) & mask;
        u64::from((y ^ (y >> (width / 2))).wrapping_mul(self.finish) & mask)
    }
}

impl<const HALF_ROUNDS: usize> GridFeistel<HALF_ROUNDS> {
    /// The network on the smallest grid of at least `len` points. Each half-round has a key of four
    /// words: the hash's multiplier, its increment and its last multiplier, and the columns'
    /// multiplier. The multipliers are made odd.
    ///
    /// # Errors
    ///
    /// [`BijectionError::EmptyDomain`] if `len` is 0.
    pub fn new(len: u64, keys: [[u32; 4]; HALF_ROUNDS]) -> Result<Self, BijectionError> {
        if len == 0 {
            return Err(BijectionError::EmptyDomain);
        }
        Ok(Self::keyed(len, keys))
    }

    pub(super) fn keyed(len: u64, keys: [[u32; 4]; HALF_ROUNDS]) -> Self {
        // At least 2 by 2, since each half-round needs a second row or column.
        let bits = bits_for(len).max(2);
        let column_bits = bits.div_ceil(2);
        let rows = (len.saturating_sub(1) >> column_bits) + 1;
        let keys = keys.map(|[multiplier, increment, finish, columns]| HalfRound {
            multiplier: multiplier | 1,
            increment,
            finish: finish | 1,
            columns: columns | 1,
        });
        Self { rows: rows.max(2), column_bits, width: if bits < 32 { 16 } else { 32 }, keys }
    }

    /// The number of rows, and the number of columns.
    #[doc(hidden)]
    pub const fn shape(&self) -> (u64, u64) {
        (self.rows, 1 << self.column_bits)
    }

    /// What an even half-round subtracts from the row.
    #[inline]
    fn row_offset(&self, key: &HalfRound, column: u64) -> u64 {
        (key.hash(column, self.width) * self.rows) >> self.width
    }

    /// What an odd half-round adds to the column.
    #[inline]
    fn column_offset(&self, key: &HalfRound, row: u64) -> u64 {
        key.hash(row, self.width) >> (self.width - self.column_bits)
    }

    /// The value at a slot.
    #[inline]
    pub(super) fn value(&self, slot: u64) -> u64 {
        let column_mask = (1 << self.column_bits) - 1;
        let (mut row, mut column) = (slot >> self.column_bits, slot & column_mask);
        for (round, key) in self.keys.iter().enumerate() {
            if round % 2 == 0 {
                let offset = self.row_offset(key, column);
                row = if row >= offset { row - offset } else { row + self.rows - offset };
            } else {
                let product = column.wrapping_mul(u64::from(key.columns));
                column = product.wrapping_add(self.column_offset(key, row)) & column_mask;
            }
        }
        row << self.column_bits | column
    }

    /// The slot with the given value.
    #[inline]
    pub(super) fn slot(&self, index: u64) -> u64 {
        let column_mask = (1 << self.column_bits) - 1;
        let (mut row, mut column) = (index >> self.column_bits, index & column_mask);
        for (round, key) in self.keys.iter().enumerate().rev() {
            if round % 2 == 0 {
                row += self.row_offset(key, column);
                if row >= self.rows {
                    row -= self.rows;
                }
            } else {
                let difference = column.wrapping_sub(self.column_offset(key, row));
                let undo = u64::from(key.columns.odd_inverse());
                column = difference.wrapping_mul(undo) & column_mask;
            }
        }
        row << self.column_bits | column
    }
}
