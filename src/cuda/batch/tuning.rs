//! How rows of a batch are moved or their indexes written, and the shapes of the kernels, with the
//! measurements that chose them.
//!
//! Measured on an NVIDIA H200 with CUDA 13.0.

use crate::cuda::runtime::device::GpuLimits;
use crate::cuda::shuffle::tuning::DirectShape;

/// Threads of a block that draws rows exactly, and so the number of rows that it holds in shared
/// memory: 16 KiB for rows of 256 items. From 33 items on this is up to three percent faster than
/// 128 threads; from 100 items on it is up to two percent slower than 32 threads. For shorter rows
/// 128 threads are within one percent of it, and 32 threads are up to six percent slower.
pub(crate) const EXACT_ROWS: u32 = 64;

/// Rows that are drawn exactly and have more bytes than this go back by the inverse permutation,
/// and others by scattering their items. G items a second, with 8 and with 4 bytes:
///
/// | items of a row | scattered, 8 | inverse, 8 | scattered, 4 | inverse, 4 |
/// | --- | --- | --- | --- | --- |
/// | 32 | 215 | 207 | 293 | 262 |
/// | 64 | 133 | 185 | 266 | 249 |
/// | 128 | 90 | 190 | 205 | 267 |
/// | 256 | 60 | 130 | 119 | 190 |
pub(crate) const EXACT_SCATTERED: u64 = 256;

/// How a block moves rows of a batch that ciphers compact to, or writes their indexes.
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

    /// The shared memory of a block for rows of `row_bytes`, which are aligned there as they are
    /// outside; 0 for indexes.
    pub(crate) const fn shared(self, row_bytes: u64) -> u64 {
        match row_bytes {
            0 => 0,
            _ => (row_bytes.saturating_add(31) / 16 * 16).saturating_mul(self.at_once() as u64),
        }
    }

    /// Slots of a row's tile.
    pub(crate) fn tile(self) -> u64 {
        u64::from(self.row_warps * 32 * self.slots)
    }

    /// The number of rows that a block has at a time.
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

/// All shapes for indexes or for items, ordered by the warps for each row.
///
/// Those for items have 8 slots a thread, since with 16 there are too few registers. G items a
/// second in rows of 10,000, and back:
///
/// | slots | 8 bytes | back | 4 bytes | back |
/// | --- | --- | --- | --- | --- |
/// | 8 | 180 | 145 | 231 | 194 |
/// | 16 | 155 | 143 | 229 | 185 |
pub(crate) fn shapes(of_items: bool) -> impl DoubleEndedIterator<Item = RowShape> {
    let of_indexes =
        [SHORT_ROWS, row_shape(2, 2), row_shape(4, 4), row_shape(8, 8), row_shape(16, 16)];
    let slots = if of_items { 8 } else { SHORT_ROWS.slots };
    let largest = of_items.then_some(row_shape(32, 32));
    of_indexes.into_iter().chain(largest).map(move |shape| RowShape { slots, ..shape })
}

/// The shared memory of a block beside rows of items, at most: what the kernel itself has, and what
/// the device keeps for each block.
const SHARED_BESIDE: u64 = 4 << 10;

/// The shape for `rows` rows with slots up to `last`, whose items have `row_bytes`, or 0 where
/// indexes are written; `None` if shared memory has no room for a row. It has the most warps a row
/// such that the device holds the warps of all rows, or two thirds of them. Its tiles divide the
/// slots evenly.
///
/// G indexes a second: 2684 rows of 100,000 get 2 warps a row, 364 (with 4 warps 360, with one
/// 347); 894 rows of 300,000 get 4, 281 (with 8 warps 239); 268 rows of a million get 16, 305 (with
/// 8 warps 310).
///
/// A row of items gets as many more warps as it takes for shared memory to hold those of all rows
/// that are moved at a time, or nearly. Rows of 10,000 items of 8 bytes are moved at 182 G items a
/// second, and back at 153. Where they are not staged there, but few enough for the second-level
/// cache, 131 and 36; by one warp each 34 and 16.
fn shape(last: u64, rows: u64, row_bytes: u64, limits: &GpuLimits) -> Option<RowShape> {
    let [of_block, of_all] = [limits.shared_per_block, limits.shared_per_multiprocessor];
    let shared = |shape: &RowShape| shape.shared(row_bytes).saturating_add(SHARED_BESIDE);
    let usable = || {
        shapes(row_bytes > 0)
            .filter(|shape| shape.tile() - 1 <= last)
            .filter(|shape| row_bytes == 0 || shared(shape) <= of_block as u64)
    };
    let warps = u64::from(CHAIN_WARPS * limits.multiprocessors);
    let are_held =
        |shape: &RowShape| u64::from(shape.row_warps).saturating_mul(rows) <= warps + warps / 2;
    let fits =
        |shape: &RowShape| shared(shape).saturating_mul(shape.blocks.into()) <= of_all as u64;
    let for_few = usable().rev().find(are_held);
    let for_many = match row_bytes {
        0 => usable().next(),
        _ => usable().find(fits).or_else(|| usable().next_back()),
    };
    for_few.into_iter().chain(for_many).max_by_key(|shape| shape.row_warps)
}

/// How a block moves tiles of rows. Rows of 2^18 + 1 items of 8 bytes are moved at 88 G items a
/// second and back at 51; with 16 slots and 4 blocks at 85 and 47, with 512 threads and 3 blocks at
/// 83 and 50. Where tiles are not taken in turn, rows of 2^17 are moved at 69 instead of 113.
pub(crate) const TILES: DirectShape = DirectShape { threads: 256, slots: 8, blocks: 6 };

/// The shape of blocks that move tiles of rows with slots up to `last`, which tiles divide evenly.
pub(crate) fn tile_shape(last: u64) -> DirectShape {
    let slots = (last / u64::from(TILES.threads) + 1).min(TILES.slots.into());
    DirectShape { slots: slots as u32, ..TILES }
}

/// How rows that ciphers compact to are moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowWay {
    /// All rows at a time, each by one block at most.
    Together(RowShape),
    /// All rows at a time, whose tiles blocks take in turn.
    ByTiles,
    /// One after the other, each by the whole device.
    OneByOne,
}

/// How to write the indexes of `rows` rows with slots up to `last`.
///
/// A model, fitted to rows with gaps of 2^17 to 2^24 slots: one by one, a row takes 7500 ns and 1
/// ns for every 330 slots; together, a multiprocessor takes 1 ns for every 3.2 slots. The two are
/// equal at about 64 rows of four million: 181 and 194 G indexes a second.
pub(crate) fn of_indexes(last: u64, rows: u64, limits: &GpuLimits) -> RowWay {
    let alone = rows.saturating_mul(7500 + last / 330);
    let together = rows.div_ceil(limits.multiprocessors.into()).saturating_mul(last / 16 * 5);
    let shape = shape(last, rows, 0, limits).filter(|_| alone >= together);
    shape.map_or(RowWay::OneByOne, RowWay::Together)
}

/// Segments whose indexes have at most this many bits are drawn exactly by a launch of their own,
/// so that blocks have no shared memory for longer ones. No other number was tried.
pub(crate) const FEW_EXACT_BITS: usize = 5;

/// The segments that a thread lists at a time. No other number was tried.
pub(crate) const LISTED_EACH: u32 = 4;

/// How segments of a class are moved together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentShape {
    pub(crate) shape: RowShape,
    /// Whether their items go by way of shared memory.
    pub(crate) is_staged: bool,
}

/// How to move `count` segments whose slots have that many bits, and whose items are words of
/// `word_bytes`, or 0 for indexes and for items that are not words; `None` if one after the other,
/// each by the whole device. The model is that of [`of_indexes`], and the shapes are those of rows:
/// neither was measured with segments.
pub(crate) fn of_segments(
    bits: u32,
    count: u64,
    word_bytes: u64,
    limits: &GpuLimits,
) -> Option<SegmentShape> {
    let last = u64::MAX >> (64 - bits);
    let row_bytes = word_bytes.saturating_mul(last).saturating_add(word_bytes);
    let alone = count.saturating_mul(7500 + last / 330);
    let together = count.div_ceil(limits.multiprocessors.into()).saturating_mul(last / 16 * 5);
    if alone < together || last > u32::MAX.into() {
        return None;
    }
    let staged = (word_bytes > 0).then(|| shape(last, count, row_bytes, limits)).flatten();
    let any = || shape(last, count, 0, limits).map(|shape| RowShape { slots: 8, ..shape });
    let is_staged = staged.is_some();
    staged.or_else(any).map(|shape| SegmentShape { shape, is_staged })
}

/// The bytes that a warp moves while a kernel is launched: 4 us at 2.5 GB/s. This is estimated.
const WARP_BYTES: u64 = 10_000;

/// Whether rows that are drawn exactly, and whose items are not words, are better moved one after
/// the other: whether a warp would take longer for its rows than the same number of launches.
pub(crate) fn are_few_exact(rows: u64, row_bytes: u64) -> bool {
    let of_warp = rows.min(EXACT_ROWS.into()).div_ceil(u64::from(EXACT_ROWS / 32));
    of_warp.saturating_mul(row_bytes) > rows.saturating_mul(WARP_BYTES)
}

/// How to move `rows` rows with slots up to `last`, whose items are not words and have `row_bytes`:
/// by tiles, unless half of the second-level cache has no room for a row, or a warp would take
/// longer for its part of a tile than to launch a kernel for each row takes.
pub(crate) fn of_other_items(last: u64, rows: u64, row_bytes: u64, limits: &GpuLimits) -> RowWay {
    let shape = tile_shape(last);
    let of_warp = row_bytes / (last / shape.tile() + 1) / u64::from(shape.threads / 32);
    let are_few = of_warp > rows.saturating_mul(WARP_BYTES);
    if are_few || row_bytes > limits.l2_bytes / 2 { RowWay::OneByOne } else { RowWay::ByTiles }
}

/// How to move `rows` rows with slots up to `last`, whose items are words and have `row_bytes`.
///
/// Rows that do not fit shared memory, or that are few, are moved by tiles if half of the
/// second-level cache holds one. Rows of 2^17 - 3 items of 8 bytes are moved at 104 G items a
/// second so, at 37 by 16 warps each, and at 19 one after the other; those of 2^20 + 1 at 85, and
/// at 66 one after the other. Microseconds of a call that moves few rows in shared memory, and by
/// tiles:
///
/// | rows | of 5000 | by tiles | of 20,000 | by tiles |
/// | --- | --- | --- | --- | --- |
/// | 1 | 14.5 | 12.7 | 23.6 | 12.3 |
/// | 8 | 14.4 | 13.5 | 24.8 | 13.9 |
/// | 40 | 16.0 | 13.8 | 24.0 | 22.6 |
/// | 132 | 17.1 | 22.0 | 26.0 | 41.0 |
pub(crate) fn of_words(last: u64, rows: u64, row_bytes: u64, limits: &GpuLimits) -> RowWay {
    let have_tiles = last > TILES.tile() && row_bytes <= limits.l2_bytes / 2;
    let are_few = rows.saturating_mul(3) <= limits.multiprocessors.into();
    match shape(last, rows, row_bytes, limits) {
        Some(shape) if !(have_tiles && are_few) => RowWay::Together(shape),
        _ if have_tiles => RowWay::ByTiles,
        _ => RowWay::OneByOne,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::tests::{DEVICES, LARGE};

    /// The warps for each row, if it goes by way of shared memory.
    fn staged(bits: u32, row_bytes: u64, limits: &GpuLimits) -> Option<u32> {
        match of_words(u64::MAX >> (64 - bits), 1 << 40, row_bytes, limits) {
            RowWay::Together(shape) => Some(shape.row_warps),
            RowWay::ByTiles | RowWay::OneByOne => None,
        }
    }

    #[test]
    fn as_many_rows_are_moved_at_a_time_as_shared_memory_holds() {
        assert_eq!(staged(9, 8 * 257, &LARGE), Some(1));
        assert_eq!(staged(10, 8 * 1000, &LARGE), Some(2));
        assert_eq!(staged(11, 8 * 2048, &LARGE), Some(4));
        assert_eq!(staged(12, 8 * 2049, &LARGE), Some(4));
        assert_eq!(staged(14, 8 * 10_000, &LARGE), Some(16));
        assert_eq!(staged(15, 8 * 20_000, &LARGE), Some(32));
        assert_eq!(staged(17, 1 << 17, &LARGE), Some(32));
        assert_eq!(staged(17, 8 * 100_000, &LARGE), None);
        // The first has room for a block of eight rows of one warp each, and the second has not.
        assert_eq!(staged(9, 8 * 500, &DEVICES[2]), Some(1));
        assert_eq!(staged(9, 16 * 500, &DEVICES[1]), Some(2));
        for limits in DEVICES {
            // Rows too short for tiles are always staged.
            for (bits, len) in
                (9..=11).flat_map(|bits| [(bits, 1 << bits), (bits, (1 << bits) - 7)])
            {
                assert!(
                    [1, 2, 4, 8, 16].iter().all(|item| staged(bits, item * len, &limits) > None)
                );
            }
            let room = limits.shared_per_block as u64 - SHARED_BESIDE;
            assert_eq!(staged(18, room - 31, &limits), Some(32));
            assert_eq!(staged(18, room + 1, &limits), None);
        }
    }

    #[test]
    fn blocks_share_rows_that_are_long_or_few() {
        let of = |bits: u32, count, bytes| of_words((1 << bits) - 1, count, bytes, &LARGE);
        assert!(matches!(of(14, 45, 80_000), RowWay::Together(_)));
        assert_eq!(of(14, 44, 80_000), RowWay::ByTiles);
        assert!(matches!(of(11, 1, 1 << 14), RowWay::Together(_)));
        assert_eq!(of(15, 10_000, 1 << 18), RowWay::ByTiles);
        assert_eq!(of(22, 10_000, 25 << 20), RowWay::ByTiles);
        assert_eq!(of(22, 10_000, (25 << 20) + 1), RowWay::OneByOne);
        // Few rows that no cache holds are staged.
        let bare = GpuLimits { l2_bytes: 0, ..LARGE };
        assert!(matches!(of_words(16_383, 3, 80_000, &bare), RowWay::Together(_)));
    }

    #[test]
    fn few_large_items_that_are_no_words_get_all_blocks() {
        assert!(!are_few_exact(1, 10_000) && are_few_exact(1, 10_001));
        assert!(!are_few_exact(64, 20_000) && are_few_exact(64, 20_001));
        assert!(!are_few_exact(1_000_000, 24 * 256));
        assert!(are_few_exact(1000, 64 << 18) && !are_few_exact(100_000, 64 << 18));
        let of = |rows, row_bytes| of_other_items(511, rows, row_bytes, &LARGE);
        assert_eq!(of(1, 24 * 257), RowWay::ByTiles);
        assert_eq!(of(100, 257 << 16), RowWay::OneByOne);
        assert_eq!(of(1000, 257 << 16), RowWay::ByTiles);
        assert_eq!(of_other_items((1 << 20) - 1, 1000, 26 << 20, &LARGE), RowWay::OneByOne);
    }

    #[test]
    fn tiles_divide_rows() {
        for bits in 9..=64 {
            let last = u64::MAX >> (64 - bits);
            for count in [1, 2, 3, 100, 1000, 5000, u64::MAX] {
                for limits in DEVICES.into_iter().chain([LARGE]) {
                    let of_items = [1, 1 << 13, 1 << 16, u64::MAX]
                        .map(|row_bytes| of_words(last, count, row_bytes, &limits));
                    let others =
                        [of_other_items(last, count, 1, &limits), of_indexes(last, count, &limits)];
                    for way in of_items.into_iter().chain(others) {
                        let tile = match way {
                            RowWay::Together(shape) => shape.tile(),
                            RowWay::ByTiles => tile_shape(last).tile(),
                            RowWay::OneByOne => 1,
                        };
                        assert_eq!(last % tile, tile - 1, "{way:?} for 2^{bits} slots");
                    }
                }
            }
        }
    }

    #[test]
    fn rows_have_the_shapes_that_were_measured() {
        let row_warps = |bits: u32, count| match of_indexes((1 << bits) - 1, count, &LARGE) {
            RowWay::Together(shape) => shape.row_warps,
            way => panic!("{way:?}"),
        };
        assert_eq!(row_warps(14, 26_843), 1);
        assert_eq!(row_warps(17, 2684), 2);
        assert_eq!(row_warps(19, 894), 4);
        assert_eq!(row_warps(20, 268), 16);
        assert_eq!(row_warps(20, 132), 16);
        // A tile of several warps is too large.
        assert_eq!(row_warps(9, 1), 1);
        assert_eq!(of_indexes((1 << 24) - 1, 16, &LARGE), RowWay::OneByOne);
    }
}
