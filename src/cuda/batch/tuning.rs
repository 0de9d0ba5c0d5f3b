//! The shapes of kernels that write rows of a batch, with the measurements that chose them.
//!
//! Measured on an NVIDIA H200 with CUDA 13.0.

use crate::cuda::runtime::device::Limits;

/// Threads of a block that draws rows exactly, and so the number of rows that it holds in shared
/// memory: 16 KiB for rows of 256 items. From 33 items on this is up to three percent faster than
/// 128 threads; from 100 items on it is up to two percent slower than 32 threads. For shorter rows
/// 128 threads are within one percent of it, and 32 threads are up to six percent slower.
pub(crate) const EXACT_ROWS: u32 = 64;

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
}

impl RowShape {
    pub(crate) const fn threads(self) -> u32 {
        self.warps * 32
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
    RowShape { warps, row_warps, slots: 16, blocks: CHAIN_WARPS / warps }
}

/// One warp for each row.
const SHORT_ROWS: RowShape = row_shape(8, 1);

/// All shapes, ordered by the warps for each row.
pub(crate) const ROW_SHAPES: [RowShape; 5] =
    [SHORT_ROWS, row_shape(2, 2), row_shape(4, 4), row_shape(8, 8), row_shape(16, 16)];

/// The shape for `rows` rows with slots up to `last`: the one with the most warps a row such that
/// the device holds the warps of all rows, or two thirds of them. Its tiles divide the slots
/// evenly.
///
/// G indexes a second: 2684 rows of 100,000 get 2 warps a row, 364 (with 4 warps 360, with one
/// 347); 894 rows of 300,000 get 4, 281 (with 8 warps 239); 268 rows of a million get 16, 305 (with
/// 8 warps 310).
///
/// Where items are moved, `row_bytes` are those of a row's items; otherwise it is 0. A row then
/// gets as many more warps as it takes for half of the second-level cache to hold the items of all
/// rows that are moved at a time. That has not been timed yet. By the rule above alone, rows of
/// 2048 items of 8 bytes, of which 69 MB are moved at a time, were moved at 100 G items a second,
/// and those of 10,000, 338 MB, at 34, where a gather by given indexes, whose rows take turns, had
/// 112.
pub(crate) fn rows(last: u64, rows: u64, row_bytes: u64, limits: &Limits) -> RowShape {
    let warps = u64::from(CHAIN_WARPS * limits.multiprocessors);
    let of_row = |shape: &RowShape| u64::from(shape.row_warps);
    let divides = |shape: &&RowShape| of_row(shape) * u64::from(32 * shape.slots) - 1 <= last;
    let usable = || ROW_SHAPES.iter().filter(divides);
    let held = |shape: &&RowShape| of_row(shape).saturating_mul(rows) <= warps + warps / 2;
    let fills = usable().rev().find(held);
    let cached = |shape: &&RowShape| warps / of_row(shape) * row_bytes <= limits.l2_bytes / 2;
    // Where the items of so few rows are still too many, there should be as few as can be.
    let fits = usable().find(cached).or_else(|| usable().next_back());
    fills.into_iter().chain(fits).max_by_key(|shape| shape.row_warps).copied().unwrap_or(SHORT_ROWS)
}

/// Rows of items whose last slot is at least this are moved one after the other. On an H200 rows of
/// 2^18 + 1 items of 8 bytes are moved at 37.1 G items a second so, and at 30.8 together; those of
/// 2^17 - 3 at 19.4 and 33.8.
const LONG_ROW: u64 = 1 << 18;

/// Whether rows with slots up to `last` are better written one after the other, each by the whole
/// device.
///
/// A model, fitted to rows with gaps of 2^17 to 2^24 slots: one by one, a row takes 7500 ns and 1
/// ns for every 330 slots; together, a multiprocessor takes 1 ns for every 3.2 slots. The two are
/// equal at about 64 rows of four million: 181 and 194 G indexes a second.
///
/// Rows of items are better moved one after the other from [`LONG_ROW`] on too, however many.
pub(crate) fn one_by_one(last: u64, rows: u64, writes_indexes: bool, multiprocessors: u32) -> bool {
    if !writes_indexes && last >= LONG_ROW {
        return true;
    }
    let alone = rows.saturating_mul(7500 + last / 330);
    let together = rows.div_ceil(multiprocessors.into()).saturating_mul(last / 16 * 5);
    alone < together
}

/// The most bytes of rows that are written on the device before they are copied to host memory.
pub(crate) const ROWS_BYTES: u64 = 256 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::tests::LARGE;

    /// Of items: those of few rows at a time are in the cache, if there is a shape for it.
    #[test]
    fn rows_of_items_are_few_at_a_time() {
        let limits = Limits { multiprocessors: 132, l2_bytes: 60 << 20, ..LARGE };
        let row_warps =
            |bits: u32, len: u64| rows((1 << bits) - 1, 1 << 40, 8 * len, &limits).row_warps;
        assert_eq!(row_warps(9, 257), 1);
        assert_eq!(row_warps(10, 1000), 2);
        assert_eq!(row_warps(11, 2048), 4);
        assert_eq!(row_warps(12, 2049), 4);
        assert_eq!(row_warps(14, 10_000), 16);
        assert_eq!(row_warps(17, 100_000), 16);
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
                    assert!(shape.row_warps == 1 || shape.row_warps == shape.warps);
                    // Nothing overflows.
                    one_by_one(last, count, true, multiprocessors);
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
        assert!(one_by_one((1 << 24) - 1, 16, true, 132));
        assert!(!one_by_one((1 << 20) - 1, 132, true, 132));
    }
}
