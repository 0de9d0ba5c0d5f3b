//! The shapes of kernels that write rows of a batch, with the measurements that chose them.
//!
//! Measured on an NVIDIA H200 with CUDA 13.0.

use crate::cuda::runtime::device::Limits;
use crate::cuda::shuffle::tuning::Shape;

/// Threads of a block that draws rows exactly, and so the number of rows that it holds in shared
/// memory: 16 KiB for rows of 256 items. From 33 items on this is up to three percent faster than
/// 128 threads; from 100 items on it is up to two percent slower than 32 threads. For shorter rows
/// 128 threads are within one percent of it, and 32 threads are up to six percent slower.
pub(crate) const EXACT_ROWS: u32 = 64;

/// The most bytes of a row that is drawn exactly whose items go back by being scattered. The items of
/// larger rows are gathered by the inverse permutation. G items of 8 and of 4 bytes a second, by
/// scattering and by the inverse: rows of 32 215 and 207, 293 and 262; of 64 133 and 185, 266 and
/// 249; of 128 90 and 190, 205 and 267; of 256 60 and 130, 119 and 190.
pub(crate) const EXACT_SCATTERED: u64 = 256;

/// How a block writes rows of a batch that ciphers compact to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowShape {
    /// Warps of a block.
    pub(crate) warps: u32,
    /// Warps for each row: all warps of the block, or one.
    pub(crate) row_warps: u32,
    /// Slots of a thread in a tile.
    pub(crate) slots: u32,
    /// Blocks that a multiprocessor should hold, which limits their registers.
    pub(crate) blocks: u32,
    /// Whether the items of a row go by way of shared memory.
    pub(crate) staged: bool,
}

impl RowShape {
    pub(crate) const fn threads(self) -> u32 {
        self.warps * 32
    }

    /// The shared memory of a block for rows of so many bytes, which are aligned there as outside.
    pub(crate) const fn shared(self, row_bytes: u64) -> u64 {
        if self.staged { self.at_once() as u64 * ((row_bytes + 31) / 16 * 16) } else { 0 }
    }

    /// The number of rows that a block writes at a time.
    pub(crate) const fn at_once(self) -> u32 {
        self.warps / self.row_warps
    }
}

/// Warps that a multiprocessor should hold when rows are written by ciphers, which leaves at most
/// 64 registers for each thread. Rows of 10,000, in G indexes a second: 318, with 16 warps 286;
/// with 8 slots a thread 297, with 16 warps 307 and with 48 warps 218.
const CHAIN_WARPS: u32 = 32;

/// The shape of blocks of `warps` warps, with tiles of 512 slots for each warp. G indexes a second
/// in rows of 10,000, with 4, 8 and 16 slots a thread: 299, 297 and 318; in 268 rows of a million,
/// with 8 and 16: 280 and 305.
const fn row_shape(warps: u32, row_warps: u32) -> RowShape {
    RowShape { warps, row_warps, slots: 16, blocks: CHAIN_WARPS / warps, staged: false }
}

/// One warp for each row.
const SHORT_ROWS: RowShape = row_shape(8, 1);

/// All shapes, ordered by the warps for each row.
///
/// Those for items have 8 slots a thread. With 16 there are too few registers: rows of 10,000 items
/// of 8 bytes are moved at 155 G items a second instead of 180, and back at 143 instead of 145; of 4
/// bytes at 229 and 231, 185 and 194.
pub(crate) fn shapes(of_items: bool) -> impl DoubleEndedIterator<Item = RowShape> {
    let of_indexes =
        [SHORT_ROWS, row_shape(2, 2), row_shape(4, 4), row_shape(8, 8), row_shape(16, 16)];
    let slots = if of_items { 8 } else { SHORT_ROWS.slots };
    let largest = of_items.then_some(row_shape(32, 32));
    of_indexes.into_iter().chain(largest).map(move |shape| RowShape { slots, ..shape })
}

/// The shared memory of a block beside staged rows, at most: what the kernel itself has, and what
/// the device keeps for each block.
const SHARED_BESIDE: u64 = 4 << 10;

/// The shape for `rows` rows with slots up to `last`: the one with the most warps a row such that
/// the device holds the warps of all rows, or two thirds of them. Its tiles divide the slots
/// evenly.
///
/// G indexes a second: 2684 rows of 100,000 get 2 warps a row, 364 (with 4 warps 360, with one
/// 347); 894 rows of 300,000 get 4, 281 (with 8 warps 239); 268 rows of a million get 16, 305 (with
/// 8 warps 310).
///
/// Where items are moved, `row_bytes` are those of a row's items; otherwise it is 0. The items are
/// staged in shared memory if it has room for a row, and otherwise the second-level cache should
/// hold them. So a row gets as many more warps as it takes for either to hold the items of all rows
/// that are moved at a time. Rows of 10,000 items of 8 bytes are moved at 182 G items a second, and
/// back at 153; not staged at 131 and 36, and by one warp each at 34 and 16.
pub(crate) fn rows(last: u64, rows: u64, row_bytes: u64, limits: &Limits) -> RowShape {
    let warps = u64::from(CHAIN_WARPS * limits.multiprocessors);
    let of_row = |shape: &RowShape| u64::from(shape.row_warps);
    let divides = |shape: &RowShape| of_row(shape) * u64::from(32 * shape.slots) - 1 <= last;
    let usable = || shapes(row_bytes > 0).filter(divides);
    let held = |shape: &RowShape| of_row(shape).saturating_mul(rows) <= warps + warps / 2;
    let fills = usable().rev().find(held);

    let [of_block, of_all] = [limits.shared_per_block, limits.shared_per_multiprocessor];
    let shared = |shape: &RowShape| shape.shared(row_bytes) + SHARED_BESIDE;
    let stages = |shape: &RowShape| row_bytes > 0 && shared(shape) <= of_block as u64;
    let staged = || usable().map(|shape| RowShape { staged: true, ..shape }).filter(stages);
    let fits = |shape: &RowShape| shared(shape) * u64::from(shape.blocks) <= of_all as u64;
    let fits = staged().find(fits).or_else(|| staged().next_back());
    let staged = fits.is_some();

    let cached = |shape: &RowShape| warps / of_row(shape) * row_bytes <= limits.l2_bytes / 2;
    // Where the items of so few rows are still too many, there should be as few as can be.
    let fits = fits.or_else(|| usable().find(cached)).or_else(|| usable().next_back());
    let shape = fills.into_iter().chain(fits).max_by_key(|shape| shape.row_warps);
    RowShape { staged, ..shape.unwrap_or(SHORT_ROWS) }
}

/// How a block moves tiles of rows. Rows of 2^18 + 1 items of 8 bytes are moved at 88 G items a second
/// and back at 51; with 16 slots and 4 blocks at 85 and 47, with 512 threads and 3 blocks at 83 and
/// 50. Where tiles are not taken in turn, rows of 2^17 are moved at 69 instead of 113.
pub(crate) const TILES: Shape = Shape { threads: 256, slots: 8, blocks: 6 };

/// How rows that ciphers compact to are moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowWay {
    /// All rows at a time, each by one block at most.
    Together,
    /// All rows at a time, whose tiles blocks take in turn.
    ByTiles,
    /// One after the other, each by the whole device.
    OneByOne,
}

/// How to move `rows` rows with slots up to `last`, whose items have `row_bytes`, or 0 where indexes
/// are written.
///
/// Items go one row after the other if half of the second-level cache has no room for a row. Rows of
/// 2^17 - 3 items of 8 bytes are moved at 104 G items a second by tiles, at 37 by 16 warps each, and
/// at 19 one after the other; those of 2^20 + 1 at 85, and at 66 one after the other.
///
/// Indexes: a model, fitted to rows with gaps of 2^17 to 2^24 slots: one by one, a row takes 7500 ns
/// and 1 ns for every 330 slots; together, a multiprocessor takes 1 ns for every 3.2 slots. The two
/// are equal at about 64 rows of four million: 181 and 194 G indexes a second.
pub(crate) fn way(last: u64, rows: u64, row_bytes: u64, limits: &Limits) -> RowWay {
    if row_bytes == 0 {
        let alone = rows.saturating_mul(7500 + last / 330);
        let in_turn = rows.div_ceil(limits.multiprocessors.into());
        let together = in_turn.saturating_mul(last / 16 * 5);
        return if alone < together { RowWay::OneByOne } else { RowWay::Together };
    }
    if row_bytes > limits.l2_bytes / 2 {
        return RowWay::OneByOne;
    }
    // 40 staged rows of 20,000 items take 24 us, and 23 by tiles; 132 take 26, and 41 by tiles.
    let are_few = rows.saturating_mul(3) <= limits.multiprocessors.into();
    let is_staged = self::rows(last, rows, row_bytes, limits).staged;
    match last > TILES.tile() && (are_few || !is_staged) {
        true => RowWay::ByTiles,
        false => RowWay::Together,
    }
}

/// The most bytes of rows that are written on the device before they are copied to host memory.
pub(crate) const ROWS_BYTES: u64 = 256 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::tests::{DEVICES, LARGE};

    /// Of items: those of few rows at a time are in shared memory or the cache, if there is a shape
    /// for it.
    #[test]
    fn rows_of_items_are_few_at_a_time() {
        let hopper = Limits { multiprocessors: 132, l2_bytes: 60 << 20, ..LARGE };
        let shape = |bits: u32, bytes: u64, limits: &Limits| {
            let RowShape { row_warps, staged, .. } = rows((1 << bits) - 1, 1 << 40, bytes, limits);
            (row_warps, staged)
        };
        assert_eq!(shape(9, 8 * 257, &hopper), (1, true));
        assert_eq!(shape(10, 8 * 1000, &hopper), (2, true));
        assert_eq!(shape(11, 8 * 2048, &hopper), (4, true));
        assert_eq!(shape(12, 8 * 2049, &hopper), (4, true));
        assert_eq!(shape(14, 8 * 10_000, &hopper), (16, true));
        assert_eq!(shape(15, 8 * 20_000, &hopper), (32, true));
        assert_eq!(shape(17, 1 << 17, &hopper), (32, true));
        assert_eq!(shape(17, 8 * 100_000, &hopper), (32, false));
        let small = Limits { shared_per_block: 10 << 10, ..DEVICES[1] };
        assert_eq!(shape(9, 16 * 480, &DEVICES[1]), (2, true));
        assert_eq!(shape(9, 16 * 480, &small), (2, false));
        for limits in DEVICES {
            for (bits, len) in (9..17).flat_map(|bits| [(bits, 1 << bits), (bits, (1 << bits) - 7)])
            {
                for item in [1, 2, 4, 8, 16] {
                    let shape = rows((1 << bits) - 1, 1000, item * len, &limits);
                    let shared = shape.shared(item * len);
                    assert!(
                        shared == 0 || shared + SHARED_BESIDE <= limits.shared_per_block as u64
                    );
                }
            }
        }
    }

    #[test]
    fn blocks_share_rows_that_are_long_or_few() {
        let way = |bits: u32, count, bytes| way((1 << bits) - 1, count, bytes, &LARGE);
        assert_eq!(way(14, 10_000, 80_000), RowWay::Together);
        assert_eq!(way(14, 45, 80_000), RowWay::Together);
        assert_eq!(way(14, 44, 80_000), RowWay::ByTiles);
        assert_eq!(way(11, 1, 1 << 14), RowWay::Together);
        assert_eq!(way(15, 10_000, 1 << 18), RowWay::ByTiles);
        assert_eq!(way(22, 10_000, 25 << 20), RowWay::ByTiles);
        assert_eq!(way(22, 10_000, (25 << 20) + 1), RowWay::OneByOne);
    }

    #[test]
    fn tiles_divide_rows() {
        for bits in 9..=64 {
            let last = u64::MAX >> (64 - bits);
            for (count, row_bytes) in [1, 2, 3, 100, 1000, 5000, u64::MAX]
                .into_iter()
                .zip([0, 8, 1 << 20, 1 << 40].repeat(2))
            {
                for multiprocessors in [1, 46, 132, 1000] {
                    let limits = Limits { multiprocessors, ..LARGE };
                    let shape = rows(last, count, row_bytes, &limits);
                    let tile = u64::from(shape.row_warps * 32 * shape.slots);
                    assert_eq!(last % tile, tile - 1, "{shape:?} for 2^{bits} slots");
                    let by_tiles = way(last, count, row_bytes, &limits) == RowWay::ByTiles;
                    assert!(!by_tiles || last % TILES.tile() == TILES.tile() - 1);
                    assert!(shape.row_warps == 1 || shape.row_warps == shape.warps);
                }
            }
        }
    }

    #[test]
    fn rows_have_the_shapes_that_were_measured() {
        let row_warps = |bits: u32, count| rows((1 << bits) - 1, count, 0, &LARGE).row_warps;
        assert_eq!(row_warps(14, 26_843), 1);
        assert_eq!(row_warps(17, 2684), 2);
        assert_eq!(row_warps(19, 894), 4);
        assert_eq!(row_warps(20, 268), 16);
        // A tile of several warps is too large.
        assert_eq!(row_warps(9, 1), 1);
        assert_eq!(way((1 << 24) - 1, 16, 0, &LARGE), RowWay::OneByOne);
        assert_eq!(way((1 << 20) - 1, 132, 0, &LARGE), RowWay::Together);
    }
}
