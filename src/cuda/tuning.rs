//! Every size and threshold of the GPU engine, with the measurement that chose it.
//!
//! Measured on an NVIDIA H200 with CUDA 13.0, items of 8 bytes and `VariablePhilox` with 24 rounds unless said
//! otherwise; docs/results/gpu.md has the tables. [`affine`] has the sizes for affine maps.

pub(super) mod affine;

/// Threads of a block in kernels that have no other number.
pub(super) const THREADS: u32 = 256;

/// How a kernel of the direct strategies divides its slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Threads of a block.
    pub(super) threads: u32,
    /// Slots of a thread in a tile.
    pub(super) slots: u32,
    /// Blocks that a multiprocessor should hold, which limits their registers.
    pub(super) blocks: u32,
}

impl Shape {
    /// Slots of a tile.
    pub(super) const fn tile(self) -> u64 {
        (self.threads * self.slots) as u64
    }
}

/// For items, by the number of slots: large tiles pay where there are enough of them to keep every multiprocessor busy.
///
/// At `m = 2^29 + 1`, relative to a gather with a given index: 1.016; with 16 slots 1.014, with 128 threads 1.013, with
/// 512 threads 1.014; with 5 blocks, whose 48 registers are too few, 0.906.
const ITEMS: &[(u64, Shape)] = &[
    (1 << 19, Shape { threads: THREADS, slots: 8, blocks: 4 }),
    (1 << 17, Shape { threads: THREADS, slots: 4, blocks: 4 }),
    (1 << 16, Shape { threads: THREADS, slots: 2, blocks: 4 }),
    (0, Shape { threads: THREADS, slots: 1, blocks: 4 }),
];

/// For indexes of many slots, which are as fast as they are evaluated and packed: 205 G/s of the default at `m = 2^29 + 1`.
/// 24 slots 202, 16 slots 189, 8 slots 155; 256 threads with 16 slots 187.
const INDEXES: Shape = Shape { threads: 128, slots: 32, blocks: 6 };
/// The same for slots in 64 bits, of which shared memory holds half as many.
const WIDE_INDEXES: Shape = Shape { threads: 128, slots: 16, blocks: 6 };
/// From so many slots on; below, tiles are as for items.
const MANY_SLOTS: u64 = 1 << 22;

/// For indexes where every slot survives: 679 G/s of the default at `m = 2^30`; 8 slots 644, 4 slots 567.
const DENSE_INDEXES: Shape = Shape { threads: THREADS, slots: 16, blocks: 1 };

/// The shape for survivors among the slots up to `last`, in 32 bits or `wide`, of which the indexes are written or items
/// moved.
pub(super) fn survivors(last: u64, writes_indexes: bool, wide: bool) -> Shape {
    match writes_indexes && last >= MANY_SLOTS {
        true if wide => WIDE_INDEXES,
        true => INDEXES,
        false => items(last),
    }
}

/// The shape for slots up to `last`, all of which survive.
pub(super) fn dense(last: u64, writes_indexes: bool) -> Shape {
    if writes_indexes && last >= MANY_SLOTS {
        DENSE_INDEXES
    } else {
        Shape { blocks: 1, ..items(last) }
    }
}

fn items(last: u64) -> Shape {
    let shape = ITEMS.iter().find(|&&(from, _)| last >= from);
    shape.map_or(INDEXES, |&(_, shape)| shape)
}

/// Threads of a block in the partitioned strategy's passes, two of which a multiprocessor should hold. With 768
/// threads and 11 records each the two passes took 4.9 and 3.8 ms at `m = 2^29 + 1`; 512 threads with 16 records 5.3 and
/// 3.8 ms; 256 threads, four blocks and 16 records 5.7 and 4.9 ms (shorter runs of records for each bucket); 1024 threads
/// with 8 records 5.2 and 4.0 ms. To fetch eight records before the first is put down (5.4 and 3.9 ms), to copy them
/// to shared memory asynchronously (5.6 and 3.9), and to prefetch them (5.4 and 3.9) are no better.
pub(super) const PASS_THREADS: u32 = 768;

/// Records of a thread in those passes, if shared memory allows for two such blocks.
pub(super) const PASS_RECORDS: u32 = 11;

/// How a bucket is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Threads of a block.
    pub(super) threads: u32,
    /// Blocks that a multiprocessor should hold, which limits their registers.
    pub(super) blocks: u32,
    /// Records that a thread has on their way at a time.
    pub(super) together: u32,
}

/// Where every slot is taken: 2.4 ms at `m = 2^29`. 1024 threads with 4 records 2.7 ms, 672 with 4 2.6 ms; 512 with 16
/// need too many registers, 5.5 ms.
pub(super) const PLACE_DENSE: Place = Place { threads: 512, blocks: 3, together: 8 };

/// Where there are gaps, so that slots are counted first, by keys that are read 16 bytes at a time and kept in shared
/// memory: 2.55 ms at `m = 2^29 + 1`. With 2 or 4 records 2.58 ms; 768 threads 2.7 ms; 512 threads 2.75 ms; with the keys
/// read twice, one by one, 3.26 ms.
pub(super) const PLACE_GAPS: Place = Place { threads: 1024, blocks: 2, together: 8 };

/// How buckets are placed, with or without gaps.
pub(super) const fn place(dense: bool) -> Place {
    if dense { PLACE_DENSE } else { PLACE_GAPS }
}

/// Bytes of a bucket's items that are placed in shared memory, at most, in the mean: with several blocks of 70 KB on a
/// multiprocessor it took 3.3 ms, with one of 140 KB 4.9 ms.
pub(super) const PLACE_BYTES: u64 = 70 << 10;

/// Bits by which a pass of the partitioned strategy sorts, at most, and what the second of two passes has. A pass by 8
/// bits takes 3.9 ms at `m = 2^29 + 1`, by 9 bits 5.1, by 10 bits 7.5: the runs of records for each bucket become short.
pub(super) const PASS_BITS: u32 = 9;

/// Bits of the second of two passes, if the first then has at most [`PASS_BITS`].
pub(super) const SECOND_PASS_BITS: u32 = 8;

/// Standard deviations above the mean that there is room for in a bucket. A random permutation exceeds them once in
/// 10^15 buckets.
pub(super) const DEVIATIONS: f64 = 8.0;

/// `Auto` partitions from so many times the second-level cache on (60 MiB). At 256 MiB of items it takes 0.65 to 0.98 of
/// the single pass's time, at 128 MiB 0.8 to 1.2.
pub(super) const PARTITION_CACHES: u64 = 4;

/// The same for the way back, whose random access is all writing: at 64 MiB of items it takes 0.37 to 0.65 of the single
/// pass's time, at 32 MiB 0.9 to 1.9.
pub(super) const PARTITION_BACK_CACHES: u64 = 1;

/// Bytes of a piece of page-locked memory, of which there are two, for copies between host and device.
pub(super) const PIECE_BYTES: usize = 8 << 20;

/// Bytes from which copies go through page-locked memory. What is less, the driver copies as fast.
pub(super) const LINK_BYTES: usize = 1 << 20;

/// Bytes that a thread copies at a time from one place in host memory to another.
pub(super) const COPY_BYTES: usize = 256 << 10;

/// Threads of a block where rows of a batch are drawn exactly, and so the rows that it has in shared memory: 16 KiB of
/// rows of 256. Up to three percent faster than 128 from 33 items on, and up to two slower than 32 from 100 items on; of fewer items 128
/// threads are as fast within one percent, and 32 are slower by up to six.
pub(super) const EXACT_ROWS: u32 = 64;

/// How a block writes rows of a batch that chains compact to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowShape {
    /// Warps of a block.
    pub(super) warps: u32,
    /// Warps of a row: all or one.
    pub(super) row_warps: u32,
    /// Slots of a thread in a tile.
    pub(super) slots: u32,
    /// Blocks that a multiprocessor should hold, which limits their registers.
    pub(super) blocks: u32,
}

impl RowShape {
    pub(super) const fn threads(self) -> u32 {
        self.warps * 32
    }

    /// How many rows a block has at a time.
    pub(super) const fn at_once(self) -> u32 {
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
pub(super) const ROW_SHAPES: [RowShape; 5] =
    [SHORT_ROWS, row_shape(2, 2), row_shape(4, 4), row_shape(8, 8), row_shape(16, 16)];

/// How so many rows with slots up to `last` are written, whose tiles then divide the slots: by the most warps a row that the device holds, or
/// up to half as many again.
///
/// 2684 rows of 100,000 take 2 warps a row, 364 G indexes a second, with 4 360 and with one 347; 894 rows of 300,000 take 4, 281, with 8
/// 239; 268 rows of a million 16, 305, with 8 310.
pub(super) fn rows(last: u64, rows: u64, multiprocessors: u32) -> RowShape {
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
pub(super) fn one_by_one(last: u64, rows: u64, multiprocessors: u32) -> bool {
    let alone = rows.saturating_mul(7500 + last / 330);
    let together = rows.div_ceil(multiprocessors.into()).saturating_mul(last / 16 * 5);
    alone < together
}

/// Bytes of rows that are written on the device before they are copied to host memory.
pub(super) const ROWS_BYTES: u64 = 256 << 20;

/// How a kernel that fills arrays with random numbers divides its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FillShape {
    /// Threads of a block.
    pub(super) threads: u32,
    /// Rounds of a loop that stand one after the other.
    pub(super) together: u32,
    /// Blocks that a multiprocessor should hold, which limits their registers.
    pub(super) blocks: u32,
}

/// From so many words on a stream of Philox4x32 fills with the shape for many. Nothing was measured between 2^24 and 2^30.
const MANY_WORDS: u64 = 1 << 26;

/// For a stream of Philox4x32 of so many rounds, 16 bytes a thread and round of the loop; and how many times the blocks that the device
/// holds are started at most, from where on a block takes several tiles.
///
/// Words a ps of 10 rounds, by kind of numbers:
///
/// | words | shape | `u32` | `f32` | `f64` | normal `f32` | normal `f64` |
/// | --- | --- | --- | --- | --- | --- | --- |
/// | 2^30 | few | 0.99 | 0.89 | 0.90 | 0.43 | 0.38 |
/// | 2^30 | many | 1.10 | 1.10 | 1.11 | 0.49 | 0.41 |
/// | 2^24 | few | 1.01 | 1.00 | 1.00 | 0.43 | 0.39 |
/// | 2^24 | many | 0.85 | 0.81 | 0.79 | 0.44 | 0.38 |
/// | 2^22 | few | 0.69 | 0.72 | 0.71 | 0.36 | 0.33 |
/// | 2^22 | many | 0.52 | 0.51 | 0.49 | 0.27 | 0.33 |
///
/// 7 rounds make 1.17 and 1.09 of 2^30 words: little work is best done a tile a block.
pub(super) const fn fill_philox(rounds: usize, words: u64) -> (FillShape, u32) {
    if rounds <= 7 || words < MANY_WORDS {
        (FillShape { threads: THREADS, together: 4, blocks: 4 }, 1024)
    } else {
        (FillShape { threads: 512, together: 8, blocks: 1 }, 4)
    }
}

/// The same where it begins within a block or the array at any place; for few words the shape is taken over from above. 2^30 words with the
/// shape for many: 0.99 to 1.08 words a ps, of `f32` 0.89, of `f64` 0.92, of normal `f32` 0.36. With 8 rounds of the loop 0.96 to 1.04, 0.86,
/// 0.87 and 0.37; with the shape for few 0.83 to 0.91, 0.75, 0.76 and 0.35.
pub(super) const fn fill_anywhere(words: u64) -> (FillShape, u32) {
    if words < MANY_WORDS {
        (FillShape { threads: THREADS, together: 4, blocks: 4 }, 8)
    } else {
        (FillShape { threads: 512, together: 12, blocks: 1 }, 2)
    }
}

/// For streams that step alone: 1.06 to 1.07 words a ps for 2^17 to 2^19 streams. With one row after the other, eight rows, or 64 or 256
/// threads it is the same within one percent.
pub(super) const FILL_STREAMS: FillShape = FillShape { threads: 128, together: 4, blocks: 1 };

/// For streams of Philox4x32: 1.03 to 1.05 words a ps for 2^17 to 2^19 streams, of `f32` 1.01 to 1.03, of normal `f32` 0.43 to 0.46. With
/// one row after the other and eight blocks a multiprocessor 1.00 to 1.04, 1.01 to 1.03 and 0.40 to 0.42.
pub(super) const FILL_PHILOX_STREAMS: FillShape =
    FillShape { threads: 128, together: 2, blocks: 4 };

/// For streams that threads of a warp share: 1.01 to 1.07 words a ps for 2^13 to 2^17 streams, with 256 threads 1.01 to 1.04, with 128 and 64
/// 0.97 to 1.03.
pub(super) const FILL_WARPS: FillShape = FillShape { threads: 512, together: 1, blocks: 1 };

/// A thread takes several neighbouring streams, which make 16 bytes, if so many threads a multiprocessor are left. With 124 of
/// them 1.05 words a ps, with one stream a thread 0.90; fewer were not measured.
pub(super) const FILL_TOGETHER: u64 = 120;

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
