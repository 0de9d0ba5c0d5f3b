//! The CPU engine's sizes and thresholds, with what they were chosen by.

use super::machine;

/// Domains of fewer slots are evaluated by the calling thread alone.
///
/// Two threads are at times far slower than one, presumably because a sleeping thread takes its time to wake up. On two
/// cores, `par_bijective_shuffle` of 8-byte items by the
/// default family took, in microseconds, with one and with two threads: 119 and 520 at 2^14 + 1 items (2^15 slots),
/// 399 and 734 (but 190 at best) at 2^16 + 1, 742 and 359 in one run, 1114 in another, at 2^17 + 1, 5691 and 2828 at
/// 2^20 + 1 (`cargo bench --bench shuffle`).
pub(crate) const SEQUENTIAL_SLOTS: u64 = 1 << 17;

/// Fewer items, if they are also fewer bytes than [`SEQUENTIAL_BYTES`], are moved or checked by the calling thread
/// alone.
pub(crate) const SEQUENTIAL_ITEMS: usize = 1 << 17;

/// See [`SEQUENTIAL_ITEMS`]: so much is copied in the time that it takes to wake a thread.
pub(crate) const SEQUENTIAL_BYTES: usize = 1 << 22;

/// Whether so many items are too few to share among threads.
pub(crate) fn is_sequential<T>(items: usize) -> bool {
    items < SEQUENTIAL_ITEMS && items * size_of::<T>() < SEQUENTIAL_BYTES
}

/// How many slots are evaluated at a time: their values, 8 KiB, stay in the first-level cache.
pub(crate) const RUN: usize = 1 << 10;

/// How many slots a thread takes at a time: a tile's survivors, at most 256 KiB, stay in the second-level cache until
/// they are copied to their place.
pub(crate) const TILE: usize = 1 << 15;

/// How many tiles a thread has in a wave, so that a thread that is held up delays the others less.
pub(crate) const TILES_PER_THREAD: usize = 16;

/// How many items a thread moves at a time.
pub(crate) const MOVE_CHUNK: usize = 1 << 13;

/// A block of the partitioned strategy: four lines of the cache, in which 24 items of 8 bytes come with 2 bytes each.
pub(crate) const BLOCK_BYTES: usize = 256;

/// The largest item that the partitioned strategy serves: three to a block.
pub(crate) const LARGEST_ITEM: usize = 64;

/// The most buckets of the partitioned strategy: their open blocks take 4 MiB a thread.
pub(crate) const MOST_BUCKETS: u64 = 1 << 14;

/// For how many standard deviations more than the mean a bucket has room: a random permutation exceeds it in one of
/// 2^50 buckets.
pub(crate) const DEVIATIONS: f64 = 8.0;

/// Whether so many items are too many for the caches, so that random access to them is slow: if they fill the last
/// level. (The direct strategy touches twice as much, but not all of it at random.)
pub(crate) fn is_far<T>(items: usize) -> bool {
    items * size_of::<T>() >= machine::cache_bytes()
}

/// Whether to evaluate the inverse of every index rather than every slot, on the calling thread.
pub(crate) fn prefers_inverses(last: u64, len: usize, picoseconds: u32) -> bool {
    let saved = (last - (len as u64 - 1)).saturating_mul(u64::from(picoseconds));
    last < SEQUENTIAL_SLOTS && saved > len as u64 * PLACE_PICOSECONDS
}

/// What it costs to write an index to a random place of a table that is in the cache, and to read it again.
const PLACE_PICOSECONDS: u64 = 400;

/// How many slots a thread takes at a time where it cannot go on before all the others are done as well: enough for
/// the waiting not to matter, as sharing a wave costs some 10 microseconds.
pub(crate) const LONG_TILE: usize = 1 << 17;
