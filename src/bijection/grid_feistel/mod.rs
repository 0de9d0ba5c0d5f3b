//! [`GridFeistel`]: a Feistel network on a grid that is hardly larger than the length.

mod lanes;

use rand_core::Rng;

use self::lanes::HalfRounds;
use super::device::pair;
use super::lanes::{each, run};
use super::{Bijection, DeviceSource, FromSeed, Trusted, TrustedBijection};
use crate::base::simd::PerLevel;
use crate::error::Error;
use crate::seed::KeyDomain;
use crate::word::{Word, bits_for};

/// A Feistel network on a grid of `rows * 2^j` points, for any length.
///
/// Black and Rogaway's generalised Feistel network (*Ciphers with arbitrary finite domains*, CT-RSA 2002): a point is
/// a row `l` and a column `r`, and the half-rounds, in turn,
///
/// ```text
/// even:  l = l - floor(h(r) * rows / 2^w)       mod rows
/// odd:   r = r * k + floor(h(l) / 2^(w - j))    mod 2^j
/// ```
///
/// move the one by a keyed hash of the other. The hash is `h(x) = c * g(a x + b)` with `g(y) = y ^ (y >> w/2)`, on
/// words of `w = 16` bits for grids of up to 2^31 points and of `w = 32` beyond; `a`, `c` and `k` are odd keys and
/// `b` is any.
///
/// The number of rows need not be a power of two. There are `2^j` columns with `j = ceil(b / 2)`, where `2^b` is the
/// next power of two, so from 3 items on the grid has at most `2^j - 1` points more than are asked for. Next to
/// nothing is evaluated in vain, where other families evaluate up to twice the length.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::prelude::*;
///
/// let f = GridFeistel::<12>::from_seed(1_000_001, 42);
/// assert_eq!(f.last() + 1, 977 * 1024);
/// assert_eq!(f.inverse(f.forward(700)), 700);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GridFeistel<const HALF_ROUNDS: usize = 12> {
    rows: u64,
    column_bits: u32,
    /// The width of the hash's words.
    width: u32,
    keys: [HalfRound; HALF_ROUNDS],
}

/// The key of a half-round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct HalfRound {
    /// `a`, odd.
    multiplier: u32,
    /// `b`.
    increment: u32,
    /// `c`, odd.
    finish: u32,
    /// `k`, odd.
    columns: u32,
}

impl HalfRound {
    /// The hash, a word of `width` bits.
    #[inline]
    fn hash(&self, x: u64, width: u32) -> u64 {
        let mask = u32::MAX >> (32 - width);
        let y = (x as u32).wrapping_mul(self.multiplier).wrapping_add(self.increment) & mask;
        u64::from((y ^ (y >> (width / 2))).wrapping_mul(self.finish) & mask)
    }
}

impl<const HALF_ROUNDS: usize> GridFeistel<HALF_ROUNDS> {
    /// The network on the smallest grid of at least `len` points, with keys of four words a half-round: the hash's
    /// multiplier, increment and last multiplier, and the columns' multiplier. The multipliers are made odd.
    ///
    /// # Errors
    ///
    /// [`Error::EmptyDomain`] if `len` is 0.
    pub fn new(len: u64, keys: [[u32; 4]; HALF_ROUNDS]) -> Result<Self, Error> {
        if len == 0 {
            return Err(Error::EmptyDomain);
        }
        Ok(Self::keyed(len, keys))
    }

    fn keyed(len: u64, keys: [[u32; 4]; HALF_ROUNDS]) -> Self {
        // At least 2 by 2, so that there is something to exchange.
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

    /// The number of rows and of columns.
    pub const fn shape(&self) -> (u64, u64) {
        (self.rows, 1 << self.column_bits)
    }

    /// What an even half-round takes from the row.
    #[inline]
    fn row_offset(&self, key: &HalfRound, column: u64) -> u64 {
        (key.hash(column, self.width) * self.rows) >> self.width
    }

    /// What an odd half-round adds to the column.
    #[inline]
    fn column_offset(&self, key: &HalfRound, row: u64) -> u64 {
        key.hash(row, self.width) >> (self.width - self.column_bits)
    }
}

impl<const HALF_ROUNDS: usize> GridFeistel<HALF_ROUNDS> {
    fn run<const INVERSE: bool, M: Word>(&self, first: u64, out: &mut [M]) {
        match self.width {
            16 => run(&HalfRounds::<INVERSE, u16, HALF_ROUNDS>::new(self), first, out),
            _ => run(&HalfRounds::<INVERSE, u64, HALF_ROUNDS>::new(self), first, out),
        }
    }

    fn each<const INVERSE: bool>(&self, values: &mut [u64]) {
        match self.width {
            16 => each(&HalfRounds::<INVERSE, u16, HALF_ROUNDS>::new(self), values),
            _ => each(&HalfRounds::<INVERSE, u64, HALF_ROUNDS>::new(self), values),
        }
    }
}

impl<const HALF_ROUNDS: usize> Bijection for GridFeistel<HALF_ROUNDS> {
    fn last(&self) -> u64 {
        // rows * 2^column_bits may be 2^64.
        ((self.rows - 1) << self.column_bits) | ((1 << self.column_bits) - 1)
    }

    fn forward(&self, slot: u64) -> u64 {
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

    fn inverse(&self, index: u64) -> u64 {
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

    fn forward_run(&self, first: u64, out: &mut [u64]) {
        self.run::<false, u64>(first, out);
    }

    fn forward_run_u32(&self, first: u64, out: &mut [u32]) {
        self.run::<false, u32>(first, out);
    }

    fn inverse_run(&self, first: u64, out: &mut [u64]) {
        self.run::<true, u64>(first, out);
    }

    fn inverse_run_u32(&self, first: u64, out: &mut [u32]) {
        self.run::<true, u32>(first, out);
    }

    fn evaluation_picoseconds(&self) -> u32 {
        let half_round = match self.width {
            16 => PerLevel { portable: 128, avx2: 82, avx512: 43 },
            _ => PerLevel { portable: 1460, avx2: 570, avx512: 122 },
        };
        half_round.current().saturating_mul(HALF_ROUNDS as u32)
    }

    fn forward_each(&self, values: &mut [u64]) {
        self.each::<false>(values);
    }

    fn inverse_each(&self, values: &mut [u64]) {
        self.each::<true>(values);
    }

    fn trusted(&self) -> Option<Trusted<'_>> {
        Some(Trusted::new(self))
    }

    fn device_source(&self) -> Option<DeviceSource> {
        let text = include_str!("../../../gpu/bijection/grid_feistel.cuh");
        let keys = self.keys.iter().flat_map(|key| {
            [
                pair(key.multiplier, key.increment),
                pair(key.finish, key.columns),
                pair(key.columns.odd_inverse(), 0),
            ]
        });
        let type_name = format!("GridFeistel<{}, {}, {HALF_ROUNDS}>", self.column_bits, self.width);
        let unused = [0; 3].into_iter().take(if HALF_ROUNDS == 0 { 3 } else { 0 });
        Some(DeviceSource::own(type_name, text, [self.rows].into_iter().chain(keys).chain(unused)))
    }
}

// SAFETY: a point of the grid is a row below `rows` and a column below 2^column_bits. Each half-round replaces one of
// them by a bijection of it that the other chooses: a subtraction modulo `rows` of an offset below `rows`, or an
// affine map modulo 2^column_bits with an odd multiplier, whose 32-bit inverse serves for any column_bits up to 32.
// `inverse` undoes them in turn. The hash is of w bits, so its product with `rows` is below rows * 2^w and the offset
// below `rows`; rows is at most 2^w and column_bits at most w. The fields are private and never change.
unsafe impl<const HALF_ROUNDS: usize> TrustedBijection for GridFeistel<HALF_ROUNDS> {}

impl<const HALF_ROUNDS: usize> FromSeed for GridFeistel<HALF_ROUNDS> {
    /// Four 32-bit words a half-round, in the order of [`new`](Self::new); a length of 0 is taken as 1.
    fn from_rng<R: Rng + ?Sized>(len: u64, rng: &mut R) -> Self {
        let keys = core::array::from_fn(|_| core::array::from_fn(|_| rng.next_u32()));
        Self::keyed(len, keys)
    }

    /// The grid: lengths that share a grid share a key. Others must not, since grids with nearly as many rows would
    /// with the same key be nearly the same map.
    fn key_domain(len: u64) -> KeyDomain {
        KeyDomain::Exact(Self::keyed(len, [[0; 4]; HALF_ROUNDS]).last())
    }
}
