//! The sizes and thresholds of shuffles on the GPU, with the measurements that chose them.
//!
//! Unless it says otherwise, a figure was measured on an NVIDIA H200 with CUDA 13.0, items of 8
//! bytes and `VariablePhilox` with 24 rounds; benches/notes/gpu.md has the tables.

use crate::cuda::runtime::device::GpuLimits;
use crate::cuda::runtime::kernels::THREADS;

/// How a kernel of the direct strategies divides its slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DirectShape {
    /// Threads of a block.
    pub(crate) threads: u32,
    /// Slots of a thread in a tile.
    pub(crate) slots: u32,
    /// Blocks that a multiprocessor should hold, which limits their registers.
    pub(crate) blocks: u32,
}

impl DirectShape {
    /// Slots of a tile.
    pub(crate) const fn tile(self) -> u64 {
        (self.threads * self.slots) as u64
    }
}

/// Shapes for items, by the least last slot: large tiles pay where there are enough of them to keep
/// every multiprocessor busy.
///
/// Speed at `m = 2^29 + 1`, relative to a gather by a given index: 1.016; with 16 slots 1.014, with
/// 128 threads 1.013, with 512 threads 1.014; with 5 blocks, whose 48 registers are too few, 0.906.
const ITEMS: &[(u64, DirectShape)] = &[
    (1 << 19, DirectShape { threads: THREADS, slots: 8, blocks: 4 }),
    (1 << 17, DirectShape { threads: THREADS, slots: 4, blocks: 4 }),
    (1 << 16, DirectShape { threads: THREADS, slots: 2, blocks: 4 }),
    (0, DirectShape { threads: THREADS, slots: 1, blocks: 4 }),
];

/// Shapes for tiles that add up the counts of all tiles before them, by the least last slot. Of 128
/// to 1024 threads with 1 to 16 slots none is faster by more than 2 percent, except for 2 slots
/// below 2^15, which are by up to 6, and are not embedded. benches/notes/gpu.md compares this with
/// the look-back.
const AT_ONCE: &[(u64, DirectShape)] = &[
    (1 << 20, DirectShape { threads: THREADS, slots: 16, blocks: 4 }),
    (1 << 17, DirectShape { threads: THREADS, slots: 8, blocks: 4 }),
    (0, DirectShape { threads: THREADS, slots: 4, blocks: 4 }),
];

/// For indexes of many slots, where evaluating and packing is the bottleneck. The default family at
/// `m = 2^29 + 1`: 205 G indexes a second; with 24 slots 202, with 16 slots 189, with 8 slots 155;
/// with 256 threads and 16 slots 187.
const INDEXES: DirectShape = DirectShape { threads: 128, slots: 32, blocks: 6 };
/// The same for slots of 64 bits; shared memory holds half as many of them.
const WIDE_INDEXES: DirectShape = DirectShape { threads: 128, slots: 16, blocks: 6 };
/// From this last slot on, indexes have shapes of their own; below, they have those of items.
const MANY_SLOTS: u64 = 1 << 22;

/// For indexes where every slot survives. The default family at `m = 2^30`: 679 G indexes a second;
/// with 8 slots 644, with 4 slots 567.
const DENSE_INDEXES: DirectShape = DirectShape { threads: THREADS, slots: 16, blocks: 1 };

/// The shape for survivors among the slots up to `last`, whose indexes are written or whose items
/// are moved. Slots are computed in 32 bits, or in 64 if they are `wide`.
pub(crate) fn survivors(last: u64, writes_indexes: bool, wide: bool) -> DirectShape {
    match writes_indexes && last >= MANY_SLOTS {
        true if wide => WIDE_INDEXES,
        true => INDEXES,
        false => items(last),
    }
}

/// The shape for survivors among the slots up to `last`, if a device with these limits can hold all
/// tiles at the same time. More tiles would be right too, but each would wait for nearly all.
pub(crate) fn at_once(last: u64, limits: &GpuLimits) -> Option<DirectShape> {
    let shape = shape_at_once(last);
    let blocks = shape.blocks.min(limits.threads_per_multiprocessor / shape.threads);
    let held = u64::from(limits.multiprocessors * blocks);
    (last / shape.tile() < held).then_some(shape)
}

/// The shape for as many tiles as there are, be they few or not.
pub(crate) fn shape_at_once(last: u64) -> DirectShape {
    by_last(AT_ONCE, last)
}

/// The shape for slots up to `last`, all of which survive.
pub(crate) fn dense(last: u64, writes_indexes: bool) -> DirectShape {
    if writes_indexes && last >= MANY_SLOTS {
        DENSE_INDEXES
    } else {
        DirectShape { blocks: 1, ..items(last) }
    }
}

fn items(last: u64) -> DirectShape {
    by_last(ITEMS, last)
}

/// The first shape whose least last slot is not above `last`.
fn by_last(shapes: &[(u64, DirectShape)], last: u64) -> DirectShape {
    let shape = shapes.iter().find(|&&(from, _)| last >= from);
    shape.map_or(INDEXES, |&(_, shape)| shape)
}

/// Threads of a block in the partitioned strategy's passes, with two blocks on a multiprocessor. A
/// tile of a pass has `PASS_THREADS` times [`PASS_RECORDS`] records, if there is room for them.
/// With 768 threads and 11 records each, the two passes took 4.9 and 3.8 ms at `m = 2^29 + 1`; 512
/// threads with 16 records 5.3 and 3.8 ms; 256 threads, four blocks and 16 records 5.7 and 4.9 ms
/// (shorter runs of records for each bucket); 1024 threads with 8 records 5.2 and 4.0 ms. Loading
/// eight records before the first is stored (5.4 and 3.9 ms), copying them to shared memory
/// asynchronously (5.6 and 3.9 ms) and prefetching them (5.4 and 3.9 ms) are no better.
pub(crate) const PASS_THREADS: u32 = 768;

/// Blocks of those passes that a multiprocessor should hold, which limits their registers.
pub(crate) const PASS_BLOCKS: u32 = 2;

/// Records of a thread in those passes, if shared memory has room for two blocks.
pub(crate) const PASS_RECORDS: u32 = 11;

/// The share of slots that survive, at least, where the domain is the next power of two.
pub(crate) const USUAL_DENSITY: f64 = 0.5;

/// The shape of the kernel that puts a bucket in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlaceShape {
    /// Threads of a block.
    pub(crate) threads: u32,
    /// Blocks that a multiprocessor should hold, which limits their registers.
    pub(crate) blocks: u32,
    /// Records that a thread loads before it stores the first of them.
    pub(crate) together: u32,
}

/// Where every slot is taken: 2.4 ms at `m = 2^29`. With 1024 threads and 4 records 2.7 ms, with
/// 672 and 4 2.6 ms; 512 threads with 16 records need too many registers, 5.5 ms.
pub(crate) const PLACE_DENSE: PlaceShape = PlaceShape { threads: 512, blocks: 3, together: 8 };

/// Where there are gaps, so that the taken slots are counted first. The keys are read 16 bytes at a
/// time and kept in shared memory: 2.55 ms at `m = 2^29 + 1`. With 2 or 4 records 2.58 ms; with 768
/// threads 2.7 ms; with 512 threads 2.75 ms; with the keys read twice, one by one, 3.26 ms.
pub(crate) const PLACE_GAPS: PlaceShape = PlaceShape { threads: 1024, blocks: 2, together: 8 };

/// The shape for buckets with or without gaps.
pub(crate) const fn place(dense: bool) -> PlaceShape {
    if dense { PLACE_DENSE } else { PLACE_GAPS }
}

/// The most bytes of items that a bucket has on average, when it is put in order in shared memory.
/// With several blocks of 70 KB on a multiprocessor that took 3.3 ms, with one of 140 KB 4.9 ms.
pub(crate) const PLACE_BYTES: u64 = 70 << 10;

/// The most bits by which a pass of the partitioned strategy sorts. A pass by 8 bits takes 3.9 ms
/// at `m = 2^29 + 1`, by 9 bits 5.1 ms, by 10 bits 7.5 ms: the runs of records for each bucket
/// become short.
pub(crate) const PASS_BITS: u32 = 9;

/// The bits by which the second of two passes sorts, if that leaves at most [`PASS_BITS`] for the
/// first.
pub(crate) const SECOND_PASS_BITS: u32 = 8;

/// The standard deviations above the mean for which a bucket has room. A random permutation exceeds
/// that once in 10^15 buckets.
pub(crate) const DEVIATIONS: f64 = 8.0;

/// `Auto` uses the partitioned strategy if the items take at least this many times the L2 cache (60
/// MiB). At 256 MiB of items it takes 0.65 to 0.98 of the single pass's time, at 128 MiB 0.8 to
/// 1.2.
pub(crate) const PARTITION_CACHES: u64 = 4;

/// The same for unshuffling, where the single pass's random accesses are stores: at 64 MiB of items
/// the partitioned strategy takes 0.37 to 0.65 of the single pass's time, at 32 MiB 0.9 to 1.9.
pub(crate) const PARTITION_BACK_CACHES: u64 = 1;

/// The tiles of a kernel of the strategy in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tiles {
    /// Threads of a block.
    pub(crate) threads: u32,
    /// Records of a thread.
    pub(crate) records: u32,
    /// Blocks that a multiprocessor should hold, which limits their registers.
    pub(crate) blocks: u32,
}

impl Tiles {
    /// Records of a tile.
    pub(crate) const fn tile(self) -> u32 {
        self.threads * self.records
    }
}

/// Sorting stripes into blocks, in place. Times here and below are those of `m = 2^29` items of 8
/// bytes on an NVIDIA H100: 9.2 ms; with 768 threads and 6 records 9.7 ms, with 1024 and 6 11.6 ms;
/// with 384 and 10 8.4 ms to undo a shuffle.
pub(crate) const fn in_place_collect(item: usize) -> Tiles {
    Tiles { threads: 512, records: if item > 8 { 4 } else { 8 }, blocks: 2 }
}

/// Listing sources: 6.3 ms. Asking for the lists' places before the tile is put in order takes
/// 6.9 ms.
pub(crate) const IN_PLACE_LIST: Tiles = Tiles { threads: 512, records: 8, blocks: 4 };

/// Spreading the items of lists over parts: 11.2 ms. With half as many items in a list 12.4 ms,
/// with the items prefetched 13.4 ms, with the keys loaded later 12.3 ms.
pub(crate) const IN_PLACE_SPREAD: Tiles = Tiles { threads: PASS_THREADS, records: 12, blocks: 2 };

/// Placing parts without gaps if a multiprocessor has room for one only.
pub(crate) const IN_PLACE_PLACE_LARGE: PlaceShape =
    PlaceShape { threads: 1024, blocks: 1, together: 8 };

/// Counting survivors where there are gaps.
pub(crate) const IN_PLACE_COUNTED: DirectShape =
    DirectShape { threads: THREADS, slots: 32, blocks: 1 };

/// The bytes of a block that is exchanged: with 256 bytes that takes 5.25 ms, with 512 bytes
/// 4.5 ms, with 128 bytes 6.8 ms. With 512 bytes the stripes take 2.3 ms longer to sort.
pub(crate) const IN_PLACE_BLOCK_BYTES: u32 = 256;

/// The lanes that move a block together.
pub(crate) const IN_PLACE_LANES: u32 = 8;

/// Blocks of threads on a multiprocessor that exchanges blocks of items.
pub(crate) const IN_PLACE_EXCHANGE_BLOCKS: u32 = 8;

/// The bits by which stripes are sorted, the fewest first: those with which the working memory is
/// small enough. With 7 bits instead of 8 at `m = 2^29` the whole takes 47 ms instead of 38 ms.
pub(crate) const IN_PLACE_BITS: [u32; 4] = [5, 6, 7, 8];

/// The same where planes of bits say the bucket of each source. Each bucket reads all planes, so
/// there must be few: at `m = 2^29` the whole takes 26.9 ms with 5 and 30.6 ms with 6 on an H200.
pub(crate) const IN_PLACE_PLANES: [u32; 2] = [5, 6];

/// The most bits by which buckets are divided into parts by planes, while a larger part fits in
/// shared memory: at `m = 2^29` the whole takes 24.9 ms with 10, and 29.9 ms with 11 and with items
/// that are prefetched.
pub(crate) const IN_PLACE_PLANE_PART_BITS: u32 = 10;

/// The most bits by which buckets are divided into parts, while a larger part fits in shared
/// memory.
pub(crate) const IN_PLACE_PART_BITS: u32 = 8;

/// The most stripes that are listed together, as a power of two: `MOST_TOGETHER` in
/// gpu/shuffle/in_place/buckets.cuh. With four times as many stripes as lists all blocks have work
/// to the end: 9.7 ms instead of 10.0 ms with twice as many.
pub(crate) const IN_PLACE_TOGETHER_BITS: u32 = 2;

/// Stripes for each multiprocessor, if there are that many.
pub(crate) const IN_PLACE_STRIPES: u64 = 8;

/// What fills no block takes at most this part of the array's memory.
pub(crate) const IN_PLACE_RESTS: u64 = 30;

/// The most working memory, as a percentage of the array's.
pub(crate) const IN_PLACE_PERCENT: u64 = 15;

/// Arrays of fewer bytes are copied, which takes no more memory than this. On an H200 2^20 items of
/// 8 bytes took 1.6 ms within their memory and take 0.019 by a copy; 2^23 items took 1.8 and take
/// 0.18. 2^26 items take 3.0 ms, and into another array 1.2.
pub(crate) const IN_PLACE_LEAST_BYTES: u64 = 128 << 20;

/// The most points of a domain for each item.
pub(crate) const IN_PLACE_SPARSE: u64 = 8;
