//! Every size and threshold of shuffles on the GPU, with the measurement that chose it.
//!
//! Measured on an NVIDIA H200 with CUDA 13.0, items of 8 bytes and `VariablePhilox` with 24 rounds unless said
//! otherwise; docs/results/gpu.md has the tables.

use crate::cuda::runtime::own::THREADS;

/// How a kernel of the direct strategies divides its slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Threads of a block.
    pub(crate) threads: u32,
    /// Slots of a thread in a tile.
    pub(crate) slots: u32,
    /// Blocks that a multiprocessor should hold, which limits their registers.
    pub(crate) blocks: u32,
}

impl Shape {
    /// Slots of a tile.
    pub(crate) const fn tile(self) -> u64 {
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
pub(crate) fn survivors(last: u64, writes_indexes: bool, wide: bool) -> Shape {
    match writes_indexes && last >= MANY_SLOTS {
        true if wide => WIDE_INDEXES,
        true => INDEXES,
        false => items(last),
    }
}

/// The shape for slots up to `last`, all of which survive.
pub(crate) fn dense(last: u64, writes_indexes: bool) -> Shape {
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
pub(crate) const PASS_THREADS: u32 = 768;

/// Blocks of those passes that a multiprocessor should hold, which limits their registers.
pub(crate) const PASS_BLOCKS: u32 = 2;

/// Records of a thread in those passes, if shared memory allows for two such blocks.
pub(crate) const PASS_RECORDS: u32 = 11;

/// How a bucket is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Threads of a block.
    pub(crate) threads: u32,
    /// Blocks that a multiprocessor should hold, which limits their registers.
    pub(crate) blocks: u32,
    /// Records that a thread has on their way at a time.
    pub(crate) together: u32,
}

/// Where every slot is taken: 2.4 ms at `m = 2^29`. 1024 threads with 4 records 2.7 ms, 672 with 4 2.6 ms; 512 with 16
/// need too many registers, 5.5 ms.
pub(crate) const PLACE_DENSE: Place = Place { threads: 512, blocks: 3, together: 8 };

/// Where there are gaps, so that slots are counted first, by keys that are read 16 bytes at a time and kept in shared
/// memory: 2.55 ms at `m = 2^29 + 1`. With 2 or 4 records 2.58 ms; 768 threads 2.7 ms; 512 threads 2.75 ms; with the keys
/// read twice, one by one, 3.26 ms.
pub(crate) const PLACE_GAPS: Place = Place { threads: 1024, blocks: 2, together: 8 };

/// How buckets are placed, with or without gaps.
pub(crate) const fn place(dense: bool) -> Place {
    if dense { PLACE_DENSE } else { PLACE_GAPS }
}

/// Bytes of a bucket's items that are placed in shared memory, at most, in the mean: with several blocks of 70 KB on a
/// multiprocessor it took 3.3 ms, with one of 140 KB 4.9 ms.
pub(crate) const PLACE_BYTES: u64 = 70 << 10;

/// Bits by which a pass of the partitioned strategy sorts, at most, and what the second of two passes has. A pass by 8
/// bits takes 3.9 ms at `m = 2^29 + 1`, by 9 bits 5.1, by 10 bits 7.5: the runs of records for each bucket become short.
pub(crate) const PASS_BITS: u32 = 9;

/// Bits of the second of two passes, if the first then has at most [`PASS_BITS`].
pub(crate) const SECOND_PASS_BITS: u32 = 8;

/// Standard deviations above the mean that there is room for in a bucket. A random permutation exceeds them once in
/// 10^15 buckets.
pub(crate) const DEVIATIONS: f64 = 8.0;

/// `Auto` partitions from so many times the second-level cache on (60 MiB). At 256 MiB of items it takes 0.65 to 0.98 of
/// the single pass's time, at 128 MiB 0.8 to 1.2.
pub(crate) const PARTITION_CACHES: u64 = 4;

/// The same for the way back, whose random access is all writing: at 64 MiB of items it takes 0.37 to 0.65 of the single
/// pass's time, at 32 MiB 0.9 to 1.9.
pub(crate) const PARTITION_BACK_CACHES: u64 = 1;
