//! [`GridFeistel`] with vectors.

use std::array;
use std::hint::black_box;

use bijective_shuffle::Word;
use bijective_shuffle::bijection::GridFeistel;
use wide::{u16x8, u32x4, u64x2};

use crate::contest::{Contest, POINTS, RunOf, RunWord, Task, others, ours};
use crate::halves::Halves;

const HALF_ROUNDS: usize = 12;

/// A network and its keys.
struct Grid {
    network: GridFeistel<HALF_ROUNDS>,
    keys: [[u32; 4]; HALF_ROUNDS],
}

/// Lanes that hold a row or a column.
trait Cells: Halves {
    /// Rows less offsets, modulo the number of rows.
    fn minus(self, offsets: Self, all: Self) -> Self;

    /// Rows and offsets, modulo the number of rows.
    fn plus(self, offsets: Self, all: Self) -> Self;
}

impl Cells for u16x8 {
    #[inline(always)]
    fn minus(self, offsets: Self, all: Self) -> Self {
        let moved = self - offsets;
        // The smaller of two words, for which SSE2 has no instruction.
        moved - moved.saturating_sub(moved + all)
    }

    #[inline(always)]
    fn plus(self, offsets: Self, all: Self) -> Self {
        let moved = self + offsets;
        moved - moved.saturating_sub(moved - all)
    }
}

impl Cells for u32x4 {
    #[inline(always)]
    fn minus(self, offsets: Self, all: Self) -> Self {
        self - offsets + (self.simd_lt(offsets) & all)
    }

    #[inline(always)]
    fn plus(self, offsets: Self, all: Self) -> Self {
        self.minus(all - offsets, all)
    }
}

impl Cells for u64x2 {
    #[inline(always)]
    fn minus(self, offsets: Self, all: Self) -> Self {
        let moved = self - offsets;
        // The upper half is all ones if the difference is negative, else zero.
        moved + (all & (moved >> 32_u32))
    }

    #[inline(always)]
    fn plus(self, offsets: Self, all: Self) -> Self {
        (self + offsets).minus(all, all)
    }
}

#[derive(Clone, Copy)]
struct Key<V> {
    multiplier: V,
    increment: V,
    finish: V,
    columns: V,
    moves_rows: bool,
}

impl<V: Halves> Key<V> {
    #[inline(always)]
    fn hash(&self, x: V, word: V) -> V {
        let y = (x.product(self.multiplier)[0] + self.increment).cleaned(word);
        (y ^ (y >> (V::BITS / 2))).product(self.finish)[0]
    }
}

/// The values or, with `INVERSE`, the slots, with a number of vectors at once.
fn run<V: Cells, W: Word, const INVERSE: bool, const VECTORS: usize>(
    grid: &Grid,
    first: W,
    out: &mut [W; POINTS],
) {
    let splat = |word: u32| V::splat(u64::from(word));
    let keys: [Key<V>; HALF_ROUNDS] = array::from_fn(|k| {
        let k = if INVERSE { HALF_ROUNDS - 1 - k } else { k };
        let [multiplier, increment, finish, columns] = grid.keys[k];
        let columns = if INVERSE { columns.odd_inverse() } else { columns };
        let [multiplier, increment] = [multiplier, increment].map(splat);
        let [finish, columns] = [finish, columns].map(splat);
        Key { multiplier, increment, finish, columns, moves_rows: k.is_multiple_of(2) }
    });
    let (rows, columns) = grid.network.shape();
    let (all, mask) = (V::splat(rows), V::splat(columns - 1));
    let column_bits = columns.trailing_zeros();
    // Hidden, since the compiler would drop masks of products that it knows to be needless, and
    // then multiply whole lanes.
    let word = V::splat(black_box(u64::low_mask(V::BITS)));
    let blocks = out.chunks_exact_mut(VECTORS * V::LANES);
    for (block, start) in blocks.zip((first.widen()..).step_by(VECTORS * V::LANES)) {
        let [mut rows, mut columns] = V::cut::<VECTORS>(start, column_bits, mask);
        for key in black_box(&keys[..]) {
            for (row, column) in rows.iter_mut().zip(&mut columns) {
                if key.moves_rows {
                    let [_, offset] = key.hash(*column, word).product(all);
                    *row = if INVERSE { row.plus(offset, all) } else { row.minus(offset, all) };
                } else {
                    let offset = key.hash(*row, word).cleaned(word) >> (V::BITS - column_bits);
                    *column = if INVERSE {
                        (*column - offset).product(key.columns)[0] & mask
                    } else {
                        (column.product(key.columns)[0] + offset) & mask
                    };
                }
            }
        }
        for ((out, row), column) in block.chunks_exact_mut(V::LANES).zip(rows).zip(columns) {
            V::join(row, column, column_bits, out);
        }
    }
}

fn contest<W: RunWord, const INVERSE: bool>(
    task: &Task,
    bits: u32,
    runs: &[(&'static str, RunOf<Grid, W>)],
) {
    let word = |k: usize| (k as u32).wrapping_mul(0x9E37_79B9) | 1;
    let keys = array::from_fn(|k| array::from_fn(|part| word(4 * k + part)));
    let network = GridFeistel::new((1 << bits) / 3 * 2, keys).expect("some points");
    let grid = Grid { network, keys };
    let (ours, others) = (ours(&grid.network, INVERSE), others(&grid, runs));
    let family = "GridFeistel<12>";
    Contest { family, bits, is_inverse: INVERSE, ours, others }.hold(task);
}

pub(crate) fn contests<const INVERSE: bool>(task: &Task) {
    contest::<_, INVERSE>(
        task,
        24,
        &[
            ("8 u16x8", run::<u16x8, u32, INVERSE, 8>),
            ("16 u16x8", run::<u16x8, u32, INVERSE, 16>),
            ("32 u16x8", run::<u16x8, u32, INVERSE, 32>),
        ],
    );
    contest::<_, INVERSE>(
        task,
        48,
        &[
            ("8 u32x4", run::<u32x4, u64, INVERSE, 8>),
            ("16 u32x4", run::<u32x4, u64, INVERSE, 16>),
            ("16 u64x2", run::<u64x2, u64, INVERSE, 16>),
        ],
    );
}
