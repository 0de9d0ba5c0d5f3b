//! The shapes of kernels that write rows of a batch, with the measurements that chose them.
//!
//! Measured on an NVIDIA H200 with CUDA 13.0.

/// Threads of a block where rows of a batch are drawn exactly, and so the rows that it has in shared memory: 16 KiB of
/// rows of 256. Up to three percent faster than 128 from 33 items on, and up to two slower than 32 from 100 items on; of fewer items 128
/// threads are as fast within one percent, and 32 are slower by up to six.
pub(crate) const EXACT_ROWS: u32 = 64;

/// How a block writes rows of a batch that chains compact to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowShape {
    /// Warps of a block.
    pub(crate) warps: u32,
    /// Warps of a row: all or one.
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

    /// How many rows a block has at a time.
    pub(crate) const fn at_once(self) -> u32 {
        self.warps / self.row_warps
    }
}

/// Warps of a multiprocessor that write rows of chains, each thread with 64 registers at most. Rows of 10,000, in G indexes a second: 318,
/// with 16 warps 286; with 8 slots a thread 297, with 16 warps 307 and with 48 warps 218.
const CHAIN_WARPS: u32 = 32;

/// Rows of chains by blocks of so many warps, all of a row or one, with tiles of 512 slots a warp. G indexes a second in rows
/// of 10,000, with 4, 8 and 16 slots a thread: 299, 297 and 318; in 268 rows of a million, with 8 and 16: 280 and 305.
const fn row_shape(warps: u32, row_warps: u32) -> RowShape {
    RowShape { warps, row_warps, slots: 16, blocks: CHAIN_WARPS / warps }
}

/// A warp a row.
const SHORT_ROWS: RowShape = row_shape(8, 1);

/// All shapes, by warps a row.
pub(crate) const ROW_SHAPES: [RowShape; 5] =
    [SHORT_ROWS, row_shape(2, 2), row_shape(4, 4), row_shape(8, 8), row_shape(16, 16)];

/// How so many rows with slots up to `last` are written, whose tiles then divide the slots: by the most warps a row that the device holds, or
/// up to half as many again.
///
/// 2684 rows of 100,000 take 2 warps a row, 364 G indexes a second, with 4 360 and with one 347; 894 rows of 300,000 take 4, 281, with 8
/// 239; 268 rows of a million 16, 305, with 8 310.
pub(crate) fn rows(last: u64, rows: u64, multiprocessors: u32) -> RowShape {
    let warps = u64::from(CHAIN_WARPS * multiprocessors);
    let fits = |shape: &&RowShape| {
        let tile = u64::from(shape.row_warps * 32 * shape.slots);
        let held = u64::from(shape.row_warps).saturating_mul(rows) <= warps + warps / 2;
        tile - 1 <= last && held
    };
    *ROW_SHAPES.iter().rev().find(fits).unwrap_or(&SHORT_ROWS)
}

/// Whether rows with slots up to `last` are better written one after another, each by the whole device.
///
/// In nanoseconds, fitted to rows with gaps of 2^17 to 2^24 slots: one by one a row takes 7500 and one for 330 slots, at the same time a multiprocessor
/// takes one for 3.2 slots. 64 rows of four million are where they meet: 181 and 194 G indexes a second.
pub(crate) fn one_by_one(last: u64, rows: u64, multiprocessors: u32) -> bool {
    let alone = rows.saturating_mul(7500 + last / 330);
    let together = rows.div_ceil(multiprocessors.into()).saturating_mul(last / 16 * 5);
    alone < together
}

/// Bytes of rows that are written on the device before they are copied to host memory.
pub(crate) const ROWS_BYTES: u64 = 256 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_divide_rows() {
        for bits in 9..=64 {
            let last = u64::MAX >> (64 - bits);
            for count in [1, 2, 3, 100, 1000, 5000, u64::MAX] {
                for multiprocessors in [1, 46, 132, 1000] {
                    let shape = rows(last, count, multiprocessors);
                    let tile = u64::from(shape.row_warps * 32 * shape.slots);
                    assert_eq!(last % tile, tile - 1, "{shape:?} for 2^{bits} slots");
                    assert!(shape.row_warps == 1 || shape.row_warps == shape.warps);
                    // Nothing overflows.
                    one_by_one(last, count, multiprocessors);
                }
            }
        }
    }

    #[test]
    fn rows_have_the_shapes_that_were_measured() {
        let row_warps = |bits: u32, count| rows((1 << bits) - 1, count, 132).row_warps;
        assert_eq!(row_warps(14, 26_843), 1);
        assert_eq!(row_warps(17, 2684), 2);
        assert_eq!(row_warps(19, 894), 4);
        assert_eq!(row_warps(20, 268), 16);
        // A tile of several warps is too large.
        assert_eq!(row_warps(9, 1), 1);
        assert!(one_by_one((1 << 24) - 1, 16, 132) && !one_by_one((1 << 20) - 1, 132, 132));
    }
}
