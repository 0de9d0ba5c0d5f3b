//! The CPU engine's sizes and thresholds, with what they were chosen by.
//!
//! Unless another is named, the measurements are of two cores of an AMD EPYC with AVX-512 (48 KiB,
//! 1 MiB and, shared, 32 MiB of cache), items of 8 bytes, lengths one above a power of two, in
//! millions of items a second; the commands and more figures are in `docs/results/cpu.md`.

use crate::base::machine;

/// How many slots are evaluated at a time: their values, 4 KiB, stay in the first-level cache.
pub(crate) const RUN: usize = 1 << 10;

// One thread or all.

/// Domains of fewer slots are evaluated by the calling thread alone.
///
/// Waking a thread takes from ten microseconds to, on a virtual machine at its worst, a
/// millisecond. One and two threads, default family: 540 and 1020 at 2^17 + 1 items (2^18 slots).
/// Below, two threads were only measured with the slower evaluators of an earlier revision: at
/// times faster, mostly slower.
pub(crate) const SEQUENTIAL_SLOTS: u64 = 1 << 17;

/// Fewer items, if they are also fewer bytes than [`SEQUENTIAL_BYTES`], are moved or checked by the
/// calling thread alone.
const SEQUENTIAL_ITEMS: usize = 1 << 17;

/// See [`SEQUENTIAL_ITEMS`]: so much is copied in the time that it takes to wake a thread.
const SEQUENTIAL_BYTES: usize = 1 << 22;

/// Whether `items` of `item_bytes` are too few to share among threads.
pub(crate) fn is_sequential(items: usize, item_bytes: usize) -> bool {
    items < SEQUENTIAL_ITEMS && items * item_bytes < SEQUENTIAL_BYTES
}

/// How many items a thread moves at a time.
pub(crate) const MOVE_CHUNK: usize = 1 << 13;

// Every slot or every index.

/// Whether to evaluate the inverse of every index rather than every slot, on the calling thread.
///
/// `VariablePhilox` on one thread, every slot and every index: 430 and 560 at 2^12 + 1, 416 and 470
/// at 2^16 + 1. The default family is so cheap that every slot it is: 1140 at 2^12 + 1.
pub(crate) fn prefers_inverses(last: u64, len: usize, picoseconds: u32) -> bool {
    let saved = (last - (len as u64 - 1)).saturating_mul(u64::from(picoseconds));
    last < SEQUENTIAL_SLOTS && saved > len as u64 * PLACE_PICOSECONDS
}

/// What it costs to write an index to a random place of a table that is in the cache, and to read
/// it again.
const PLACE_PICOSECONDS: u64 = 400;

// The direct strategy.

/// How many slots a thread takes at a time: a tile's survivors, at most 256 KiB, fit the
/// second-level cache.
pub(crate) const TILE: usize = 1 << 15;

/// How many tiles a thread has in a wave. More tiles, fewer waves that all threads have to finish
/// together: at 2^20 + 1, 822 with 4 tiles, 1050 with 16, 1012 with 64.
pub(crate) const TILES_PER_THREAD: usize = 16;

// Several columns at once.

/// How many records are put together, or taken apart, at a time: at most 16 KiB of them, in the
/// first-level cache. With 256 and 512, placing 2^24 + 1 records of 24 bytes took 2.1 and 2.3 ns an
/// item.
pub(crate) const RECORDS: usize = 256;

/// Whether `items` of `bytes` in all columns are too many for the caches: if they and the direct
/// strategy's copy fill the cache that can be counted on. That is earlier than for [one
/// array](is_far), since by the direct strategy every column's random accesses come on top, and by
/// the partitioned one a record's are sequential.
///
/// Direct and partitioned, columns of 8, 4 and 12 bytes: 152 and 111 at 2^17 + 1, 52 and 124 at
/// 2^20 + 1, 76 and 237 at 2^22 + 1; undoing it 150 and 112, 88 and 142, 131 and 265.
pub(crate) fn is_far_together(items: usize, bytes: usize) -> bool {
    items.saturating_mul(bytes) >= cache_share(machine::cache_bytes()).div_ceil(2)
}

// The partitioned strategy.

/// Whether `items` are too many for the caches, so that sorting them roughly beats random access to
/// them: if they fill the cache that can be counted on, by themselves and so without the direct
/// strategy's scratch copy.
///
/// Direct and partitioned, default family: 1030 and 540 at 2^20 + 1 (8 MiB), 630 and 560 at 2^21 +
/// 1, 430 and 530 at 2^22 + 1 (32 MiB), 330 and 490 at 2^26 + 1; `VariablePhilox`: 570 and 440, 440
/// and 480, 340 and 440, 250 and 400.
pub(crate) fn is_far<T>(items: usize) -> bool {
    items.saturating_mul(size_of::<T>()) >= cache_share(machine::cache_bytes())
}

/// How much of the last-level cache can be counted on. The size that a machine reports is an upper
/// limit and no more: a virtual machine may show a cache that it shares with many others, and small
/// pages make random access to a large cache slow.
fn cache_share(reported: usize) -> usize {
    reported.min(MOST_CACHE)
}

/// Direct and partitioned, default family. On two cores of a virtual machine that shows all 480 MiB
/// of its host's cache, small pages: 362 and 245 at 2^20 + 1 (8 MiB), 205 and 314 at 2^22 + 1 (32
/// MiB), 109 and 313 at 2^24 + 1. On 16 cores that show 300 MiB, small pages: 949 and 1111 at
/// 2^22 + 1, 912 and 1226 at 2^24 + 1; huge pages: 1145 and 1013 at 2^22 + 1, 1699 and 1217 at
/// 2^24 + 1, 1393 and 1256 at 2^25 + 1, 1038 and 1231 at 2^26 + 1. So those cores with huge pages
/// would like ten times as much, which a plain vector does not get on these machines.
const MOST_CACHE: usize = 24 << 20;

/// How much working memory the strategy may take by itself: half as much again as items with low
/// bits of a type take. It is more where many threads have many buckets of few items.
pub(crate) fn most_bytes<T, L>(items: usize) -> usize {
    items.saturating_mul(size_of::<T>() + size_of::<L>()) / 2 * 3
}

/// A block: four lines of the cache, in which 25 items of 8 bytes come with 2 bytes each.
pub(crate) const BLOCK_BYTES: usize = 256;

/// How many blocks ahead of the one that is read are asked for: the machine does not see by itself
/// that a bucket's blocks are next to each other. Undoing a shuffle of 2^25 + 1 on one thread, with
/// 0, 2, 4, 8, 16, 32: 239, 283, 296, 303, 318, 313.
pub(crate) const BLOCKS_AHEAD: usize = 16;

/// The largest item that is served: three to a block.
pub(crate) const LARGEST_ITEM: usize = 64;

/// The most buckets: their open blocks take 4 MiB a thread. Where there would be more, buckets are
/// larger, and items come with four bytes each instead of two: at 2^30 + 1 items of 4 bytes, 2^31
/// slots, 2^14 such buckets make 388 and 410, and 2^15 of the usual ones 319 and 327.
pub(crate) const MOST_BUCKETS: u64 = 1 << 14;

/// The largest buckets: `2^22` slots. They are put in order in the last-level cache, or beyond, and
/// so more slowly, but at 2^26 + 1 items not more slowly than by the direct strategy: with 2^16 to
/// 2^22 slots to a bucket 454, 475, 406, 361, 349, 329 and 309.
pub(crate) const MOST_BUCKET_BITS: u32 = 22;

/// For how many standard deviations more than the mean a bucket has room: a random permutation
/// exceeds it in one of 2^50 buckets.
pub(crate) const DEVIATIONS: f64 = 8.0;

/// How many slots a thread takes at a time where it cannot go on before all the others are done as
/// well: more than a [`TILE`], since there is one to a thread and wave. With 2^17, 2^18 and 2^19,
/// undoing a shuffle of 2^26 + 1: 402, 397 and 356.
pub(crate) const LONG_TILE: usize = 1 << 17;

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn a_cache_that_is_shown_is_not_a_cache_that_is_had() {
        // Cores of a host whose whole cache is shown, a small server's, and a laptop's.
        assert_eq!(cache_share(480 * MIB), 24 * MIB);
        assert_eq!(cache_share(32 * MIB), 24 * MIB);
        assert_eq!(cache_share(8 * MIB), 8 * MIB);
    }

    #[test]
    fn what_fills_the_caches_is_far() {
        let share = cache_share(machine::cache_bytes());
        assert!(!is_far::<u64>(share / 8 - 1) && is_far::<u64>(share / 8));
        assert!(
            !is_far_together(share / 24 / 2 - 1, 24) && is_far_together(share / 24 / 2 + 1, 24)
        );
        assert!(is_far::<u64>(usize::MAX) && !is_far::<()>(usize::MAX));
        // What is so on every machine.
        assert!(is_far::<u64>(3 << 20));
    }
}
