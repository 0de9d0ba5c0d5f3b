//! The CPU engine's sizes and thresholds, with the measurements that chose them.
//!
//! Unless it says otherwise, a figure is millions of items a second, for items of 8 bytes and a
//! length one above a power of two, on two cores of an AMD EPYC with AVX-512 (caches of 48 KiB, 1
//! MiB and, shared, 32 MiB). The commands and more figures are in `benches/notes/cpu.md`.

use crate::engine::machine;

/// A size, and the one for Miri, where a few hundred items have to be many: of several chunks,
/// tiles and waves, read in several turns, and for several threads.
const fn size(usual: usize, for_miri: usize) -> usize {
    if cfg!(miri) { for_miri } else { usual }
}

/// The number of slots that are evaluated at a time: their values, 4 KiB, stay in the L1 cache.
pub(crate) const RUN: usize = 1 << 10;

// One thread or all.

/// Domains of fewer slots are evaluated by the calling thread alone.
///
/// Waking a thread takes ten microseconds, and up to a millisecond on a virtual machine at its
/// worst, but the calling one does not wait for it. Nanoseconds an item on one thread and two,
/// default family, two cores of an EPYC of the fifth generation, medians: a call 0.75 and 0.65 at
/// 2^16 + 1, 0.88 and 0.60 at 2^17 + 1, 0.96 and 0.57 at 2^18 + 1; all indexes 0.63 and 0.31 at
/// each of these.
pub(crate) const SEQUENTIAL_SLOTS: u64 = size(1 << 16, 1 << 8) as u64;

/// Fewer items, if they are also fewer bytes than [`SEQUENTIAL_BYTES`], are moved or checked by the
/// calling thread alone.
const SEQUENTIAL_ITEMS: usize = size(1 << 16, 1 << 8);

/// See [`SEQUENTIAL_ITEMS`]: a thread copies this much in the time that waking another takes.
const SEQUENTIAL_BYTES: usize = 1 << 22;

/// Whether `items` of `item_bytes` are too few to share among threads.
pub(crate) fn is_sequential(items: usize, item_bytes: usize) -> bool {
    items < SEQUENTIAL_ITEMS && items * item_bytes < SEQUENTIAL_BYTES
}

/// The most memory that a thread keeps, for each of two buffers, from one call without a workspace
/// to the next: enough for the lengths at which getting it anew would take as long as the call.
pub(crate) const MOST_SHORT_BYTES: usize = 2 << 20;

/// The most memory that the process keeps from longer calls without a workspace to later ones, all
/// of them together.
///
/// An allocator returns what they free to the system, sooner or later: at 2^20 + 1 items of 8 bytes
/// that cost 1300 to 1600 page faults in each of calls 2 to 5, and on 16 cores at 2^24 + 1 7400.
pub(crate) fn most_kept_bytes(threads: usize) -> usize {
    (24 << 20) + threads * (2 << 20)
}

/// The number of items that a thread moves at a time.
pub(crate) const MOVE_CHUNK: usize = size(1 << 13, 1 << 6);

// Every slot or every index.

/// Whether to evaluate the inverse of every index rather than every slot, on the calling thread.
///
/// `VariablePhilox` on one thread, every slot and every index: 430 and 560 at 2^12 + 1, 416 and 470
/// at 2^16 + 1. The default family is so cheap that evaluating every slot wins: 1140 at 2^12 + 1.
pub(crate) fn prefers_inverses(last: u64, len: usize, picoseconds: u32) -> bool {
    let saved = (last - (len as u64 - 1)).saturating_mul(u64::from(picoseconds));
    let place = if last <= u64::from(u16::MAX) { SHORT_PLACE } else { PLACE };
    last < MOST_LISTED_SLOTS && saved > len as u64 * place
}

/// The most slots, for which a table fits the cache.
const MOST_LISTED_SLOTS: u64 = size(1 << 17, 1 << 8) as u64;

/// The picoseconds that it costs to write an index of 16 bits to a random place of a table in the
/// cache, and to read it again.
const SHORT_PLACE: u64 = 400;

/// The same for an index of 32 bits, whose table has 512 KiB at 2^16 + 1 items. There the default
/// family with AVX2, an evaluation of which is taken to cost 550, needs 3.5 ns an item for every
/// slot and 4.8 for every index (one core of a Xeon): its evaluations have copies between them.
const PLACE: u64 = 700;

// The direct strategy.

/// The number of slots that one of two threads takes at a time: after each it looks how far the
/// other has come.
pub(crate) const BATCH: usize = 4 * RUN;

/// The number of slots that a thread takes at a time: a tile's survivors, at most 256 KiB, fit the
/// L2 cache.
const TILE: usize = size(1 << 15, 1 << 8);

/// The least number of slots that a thread takes at a time.
const LEAST_TILE: usize = size(1 << 12, 1 << 6);

/// The number of slots that one of this many threads takes at a time: so few that each takes
/// several times, if it has a core. At 2^17 + 1 items 16 threads would share 8 tiles of the largest
/// size.
pub(crate) fn tile(last: u64, threads: usize) -> usize {
    let tiles = 4 * threads.min(machine::cores()) as u64;
    (last / tiles + 1).next_power_of_two().clamp(LEAST_TILE as u64, TILE as u64) as usize
}

/// The number of tiles for each thread in a wave. More tiles mean fewer waves, and all threads wait
/// at the end of each: at 2^20 + 1, 822 with 4 tiles, 1050 with 16, 1012 with 64.
pub(crate) const TILES_PER_THREAD: usize = 16;

// Several columns at once.

/// The number of records that are assembled, or taken apart, at a time: at most 16 KiB, in the L1
/// cache. With 256 and 512, placing 2^24 + 1 records of 24 bytes took 2.1 and 2.3 ns an item.
pub(crate) const RECORDS: usize = 256;

/// Whether `items` of `bytes` in all columns are too many for the caches: they and the direct
/// strategy's copy fill the cache that can be counted on. That is earlier than for [one
/// array](is_far): in the direct strategy every column adds its own random accesses, while in the
/// partitioned one a record's accesses are sequential.
///
/// Direct and partitioned, columns of 8, 4 and 12 bytes: 152 and 111 at 2^17 + 1, 52 and 124 at
/// 2^20 + 1, 76 and 237 at 2^22 + 1; undoing it 150 and 112, 88 and 142, 131 and 265.
pub(crate) fn is_far_together(items: usize, bytes: usize) -> bool {
    fills_cache(items.saturating_mul(bytes).saturating_mul(2), machine::cache_bytes)
}

// The strategy in place.

/// The bytes of a block of the strategy in place, where there are `bytes` of items.
///
/// Larger ones need fewer entries of the TLB, but the open ones more of the cache. With very many
/// buckets that is lost anyway, except for Intel's cores, and larger ones are worth their memory.
pub(crate) fn block_bytes(bytes: usize, buckets: usize, threads: usize) -> usize {
    let memory = (2 * buckets * threads).saturating_mul(LARGE_BLOCK_BYTES);
    let is_large =
        buckets >= LARGE_BLOCK_BUCKETS && !machine::is_intel() && memory <= bytes / LARGE_BLOCKS;
    if is_large { LARGE_BLOCK_BYTES } else { EXCHANGED_BYTES }
}

/// The size of a block. Nanoseconds an item, default family, small pages, with 512, 1024 and 2048:
/// on the two cores 2.28, 2.23 and 2.27 at 2^22 + 1, 2.39, 2.33 and 2.40 at 2^24 + 1, 2.43, 2.40
/// and 2.78 at 2^26 + 1 (with 128 and 256 at 2^24 + 1, in an earlier form, 3.20 and 2.60 where 512
/// took 2.32). On 16 cores of an Intel Xeon, the speed of a call with 512 and 2048 over that with
/// 1024, kept workspaces, in turns: 0.95 and 1.02 at 2^24 + 1, 0.94 and 1.04 at 2^26 + 1, 0.98 and
/// 0.92 at 2^28 + 1; on two of its cores 0.93 and 0.99, 0.83 and 0.96, 0.94 and 0.94.
pub(crate) const EXCHANGED_BYTES: usize = 1 << 10;

/// The size of a large block. On two cores of an EPYC of the fifth generation, over 1024: 1.06 to
/// 1.10 at 2^28 + 1 (8192 buckets), but 0.90 at 2^27 + 1 (4096 buckets), and 0.78 to 0.88 at
/// 2^26 + 1.
pub(crate) const LARGE_BLOCK_BYTES: usize = 1 << 11;

/// The least buckets for which blocks are large.
const LARGE_BLOCK_BUCKETS: usize = 1 << 13;

/// Large blocks take at most one part in this many of the items' memory.
const LARGE_BLOCKS: usize = 32;

/// The most items in a block.
const MOST_EXCHANGED: usize = 256;

/// The number of items in a block of this many bytes, as a power of two. It is 0 for items that the
/// strategy does not move.
pub(crate) const fn exchanged_bits<T>(block_bytes: usize) -> u32 {
    match block_bytes.checked_div(size_of::<T>()) {
        None | Some(0) => 0,
        Some(MOST_EXCHANGED..) => MOST_EXCHANGED.ilog2(),
        Some(items) => items.ilog2(),
    }
}

/// The items of the blocks that a thread reads at a time. Their destinations are evaluated
/// together, since the evaluators are slow at a few, and the atomic operations for their blocks
/// come together, since each first waits for all stores before it.
pub(crate) const COLLECTED_ITEMS: usize = size(1 << 11, 1 << 4);

/// The most blocks that a thread reads at a time.
pub(crate) const MOST_STEPS: usize = 64;

/// The number of shares into which a bucket's blocks are divided: one for each thread, but no more
/// of all buckets than [`MOST_BUCKET_SHARES`].
///
/// Nanoseconds an item of 8 bytes and thread for a whole call, with one share and with these: on
/// two cores of an EPYC that are far from each other 9.5 and 6.4 at 2^22 + 1, 10.2 and 7.2 at
/// 2^24 + 1, 9.9 and 7.5 at 2^26 + 1, 10.4 and 9.3 at 2^27 + 1; while they are near 6.4 and 5.8,
/// 6.6 and 6.3, and 7.1 and 6.9. On 16 cores of an Intel Xeon 18.4 and 15.8 at 2^22 + 1, 18.3 and
/// 17.7 at 2^24 + 1, 18.0 and 18.4 at 2^26 + 1.
pub(crate) fn bucket_shares(buckets: usize, threads: usize) -> usize {
    (MOST_BUCKET_SHARES / buckets.max(1)).clamp(1, threads.max(1))
}

/// The most shares of all buckets. Each takes a line, and in each, blocks are written one after the
/// other. With twice as many, two shares at 2^28 + 1, the near cores are 3 to 6 % slower, the
/// others as fast.
const MOST_BUCKET_SHARES: usize = 1 << 13;

/// Whether the line in which an item will be collected is prefetched, and that of its low bits:
/// where the lines of all open blocks do not stay in the cache.
pub(crate) fn prefetches_open(blocks: usize) -> bool {
    blocks >= if machine::is_intel() { MANY_OPEN_INTEL } else { MANY_OPEN }
}

/// From how many open blocks on their lines are prefetched, and those of their low bits.
///
/// Nanoseconds an item and thread for collecting items of 8 bytes on two cores of an EPYC, where
/// that costs more instructions than it saves up to 2048 blocks at least, without and with both:
/// 3.6 and 4.2 at 2^22 + 1 (128 blocks), 4.1 and 4.6 at 2^26 + 1 (2048 blocks), 10.4 and 8.4 at
/// 2^28 + 1 (8192 blocks). On one of the fifth generation, a whole call's speed without over that
/// with both, in two processes: 1.09 and 1.09 at 1024 blocks, 1.09 and 1.02 at 2048, 1.06 and 1.01
/// at 4096; in one, 0.91 at 8192.
const MANY_OPEN: usize = 1 << 12;

/// Intel's cores take much longer for stores that miss the first-level cache: 8 ns for an item and
/// its low bits to one of 2048 blocks, and nothing else, where an EPYC's take 2; with both
/// prefetched 4.8 and 3.
///
/// Nanoseconds an item of 8 bytes and thread for a whole call, without and with both, on 16 cores
/// of an Intel Xeon: 17.6 and 16.1 at 2^24 + 1 (512 blocks), 18.4 and 16.9 at 2^26 + 1 (with the
/// items' lines, and with both), and on two of its cores 11.8 and 10.5 at 2^24 + 1.
const MANY_OPEN_INTEL: usize = 1 << 9;

/// The number of items after which the one is collected whose line is prefetched. With 24, 40, 64
/// and 120, on 16 cores of an Intel Xeon at 2^26 + 1: 0.80, 0.79, 0.78 and 0.80.
pub(crate) const ITEMS_AHEAD: usize = 32;

/// Whether an item's place in its bucket is prefetched while the bucket is put in order. Its places
/// are more than the first-level cache has, and Intel's cores take long for such stores.
///
/// The speed of calls over that without it, default family: on 16 cores of an Intel Xeon 1.21 at
/// 2^22 + 1 and 1.10 at 2^24 + 1, on two of its cores 1.10 and 1.11, all with threads that stayed
/// awake between the steps of a call; on two cores of an EPYC of the fourth generation 0.98 to 1.01
/// and 0.96 to 0.98.
pub(crate) fn prefetches_places() -> bool {
    machine::is_intel()
}

/// The number of items that are put in order before the one whose place is prefetched.
pub(crate) const PLACES_AHEAD: usize = 24;

/// How many bytes ahead a bucket's items and their low bits are prefetched while it is put in
/// order, since the hardware stops at every page.
///
/// The speed of a call over that without, on one and two threads of an EPYC of the fourth
/// generation: items of 4 bytes 1.01 to 1.02, of 8 bytes 1.04 to 1.06.
pub(crate) const BUCKET_AHEAD: usize = 4 << 10;

/// The largest item, in bytes, that is prefetched so: wider ones were not measured.
pub(crate) const LARGEST_AHEAD: usize = 8;

/// The number of slots or indexes in a bucket of items of the given size, as a power of two: their
/// items take 512 KiB at most, and 16 bits tell them apart. `None` for larger items than the
/// strategy moves.
pub(crate) fn bucket_bits(item_bytes: usize) -> Option<u32> {
    let items = BUCKET_BYTES.checked_div(item_bytes).filter(|_| item_bytes <= LARGEST_EXCHANGED)?;
    Some(items.ilog2().min(u16::BITS))
}

/// The most bytes of a bucket's items.
const BUCKET_BYTES: usize = 1 << 19;

/// The largest item, in bytes, that the strategy moves: two fit a block.
const LARGEST_EXCHANGED: usize = 256;

/// The most buckets.
pub(crate) const MOST_EXCHANGES: u64 = 1 << 13;

/// The most memory for the marks of the taken slots, to undo a shuffle. Where they would take more,
/// the slots of a block are evaluated again.
pub(crate) const MOST_KEPT_MARKS: usize = 16 << 20;

// Along cycles.

/// The least bytes of an item, of all columns together, that is moved along the cycles of the
/// permutation.
///
/// Milliseconds of a call that keeps no memory, directly and along cycles, the least of three with
/// other programs running and pages of 4 KiB: 2^22 rows of 96 bytes 113 and 125, of 128 bytes 123
/// and 138; 2^21 rows of 192 bytes 96 and 63, of 256 bytes 119 and 80, of 400 bytes 232 and 42;
/// 2^19 rows of 1 KiB 266 and 101; 10^5 rows of 4 KiB 90 and 24. Slices of items of 128, 192 and
/// 256 bytes in place: 95, 60 and 90.
pub(crate) const LEAST_FOLLOWED: usize = 192;

/// The chains that a thread follows at a time. With 4, 8, 16 and 32, 2^21 rows of 400 bytes took
/// 55, 46, 45 and 40 milliseconds; one at a time, with prefetches eight steps ahead, 155. (As for
/// [`LEAST_FOLLOWED`].)
pub(crate) const CHAINS: usize = 16;

/// The bytes of an item that are prefetched; the hardware sees the rest coming.
pub(crate) const AHEAD_BYTES: usize = 1 << 10;

/// The shares of the chains for each thread, which differ in length.
pub(crate) const SHARES: usize = 16;

// The partitioned strategy.

/// Whether `items` are too many for the caches, so that sorting them into buckets beats random
/// access: they fill the cache that can be counted on, without the direct strategy's scratch copy.
///
/// Direct and partitioned, default family: 1030 and 540 at 2^20 + 1 (8 MiB), 630 and 560 at 2^21 +
/// 1, 430 and 530 at 2^22 + 1 (32 MiB), 330 and 490 at 2^26 + 1; `VariablePhilox`: 570 and 440, 440
/// and 480, 340 and 440, 250 and 400.
pub(crate) fn is_far<T>(items: usize) -> bool {
    fills_cache(items.saturating_mul(size_of::<T>()), machine::cache_bytes)
}

/// Whether `bytes` fill the share of the last-level cache that can be counted on. The size that a
/// machine reports is only an upper limit: a virtual machine may report a cache that it shares with
/// many others, and small pages make random access to a large cache slow.
///
/// The machine is asked only if that decides, since looking that up takes a while in a process's
/// first call.
fn fills_cache(bytes: usize, reported: impl FnOnce() -> usize) -> bool {
    bytes >= MOST_CACHE || bytes >= LEAST_CACHE && bytes >= reported()
}

/// The least cache that is counted on, whatever a machine reports.
const LEAST_CACHE: usize = 1 << 20;

/// The most cache that is counted on.
///
/// Direct and partitioned, default family. On two cores of a virtual machine that reports all 480
/// MiB of its host's cache, small pages: 362 and 245 at 2^20 + 1 (8 MiB), 205 and 314 at 2^22 + 1
/// (32 MiB), 109 and 313 at 2^24 + 1. On 16 cores that report 300 MiB, small pages: 949 and 1111 at
/// 2^22 + 1, 912 and 1226 at 2^24 + 1; huge pages: 1145 and 1013 at 2^22 + 1, 1699 and 1217 at
/// 2^24 + 1, 1393 and 1256 at 2^25 + 1, 1038 and 1231 at 2^26 + 1. So ten times this limit would be
/// right for those cores with huge pages, but a plain vector does not get huge pages on these
/// machines.
const MOST_CACHE: usize = 24 << 20;

/// The most working memory that `Auto` lets the strategy take: 1.5 times the size of the items with
/// low bits of type L. The strategy would need more where many threads have many buckets of few
/// items.
pub(crate) fn most_bytes<T, L>(items: usize) -> usize {
    items.saturating_mul(size_of::<T>() + size_of::<L>()) / 2 * 3
}

/// The size of a block: four cache lines, which hold 25 items of 8 bytes with 2 bytes of low bits
/// each.
pub(crate) const BLOCK_BYTES: usize = 256;

/// The prefetch distance in blocks. The hardware does not detect by itself that a bucket's blocks
/// are next to each other. Undoing a shuffle of 2^25 + 1 on one thread, with 0, 2, 4, 8, 16, 32:
/// 239, 283, 296, 303, 318, 313.
pub(crate) const BLOCKS_AHEAD: usize = 16;

/// The largest item, in bytes, that the strategy moves: three fit a block.
pub(crate) const LARGEST_ITEM: usize = 64;

/// The most buckets: their open blocks take 4 MiB for each thread. Where there would be more,
/// buckets are larger, and items carry four bytes of low bits each instead of two. At 2^30 + 1
/// items of 4 bytes and 2^31 slots, 2^14 larger buckets give 388 and 410, and 2^15 of the usual
/// size 319 and 327.
pub(crate) const MOST_BUCKETS: u64 = 1 << 14;

/// The largest buckets: `2^22` slots. They are put in order in the last-level cache or in memory,
/// and so more slowly, but at 2^26 + 1 items no more slowly than in the direct strategy: with 2^16
/// to 2^22 slots to a bucket 454, 475, 406, 361, 349, 329 and 309.
pub(crate) const MOST_BUCKET_BITS: u32 = 22;

/// From this many slots for each item on, the items are few: most evaluations of slots would be for
/// empty ones, and in a bucket of the usual size most of the bitmap is empty.
pub(crate) const SPARSE: u64 = 8;

/// The least slots for so few items that they are sorted.
const LEAST_SPARSE: u64 = size(1 << 17, 1 << 8) as u64;

/// Whether so few items are sorted even if they fit the caches: evaluating every slot costs more.
pub(crate) fn is_sparse(last: u64, len: usize) -> bool {
    last >= LEAST_SPARSE && last / SPARSE >= len as u64
}

/// The least bytes of a chunk of the buckets that a rank receives, where that leaves each thread
/// [`CHUNK_BUCKETS`]. Two chunks fit a core's share of the last-level cache, so what arrives need
/// not go to memory and back; and in a chunk from 60 ranks a message still has 68 KiB. In 1, 13 and
/// 40 chunks (of 4 and 1.2 MiB), two MPI ranks of one thread took 33, 33 and 34 milliseconds for
/// 2^24 + 1 items.
pub(crate) const CHUNK_BYTES: u64 = 4 << 20;

/// The least buckets of a chunk for each thread. After each chunk all threads wait for the slowest,
/// for half a bucket's time on average.
pub(crate) const CHUNK_BUCKETS: u64 = 8;

/// The standard deviations above the mean for which a bucket has room. A random permutation exceeds
/// that in one of 2^50 buckets.
pub(crate) const DEVIATIONS: f64 = 8.0;

/// The number of slots that a thread takes at a time where all threads wait for each other after
/// every tile. It is more than a [`TILE`], since a thread has only one of them in each wave. With
/// 2^17, 2^18 and 2^19, undoing a shuffle of 2^26 + 1: 402, 397 and 356.
pub(crate) const LONG_TILE: usize = size(1 << 17, 1 << 8);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reported_caches_are_counted_on_up_to_a_limit() {
        const MIB: usize = 1 << 20;
        // A virtual machine that reports all of its host's cache, a small server, a laptop, and a
        // machine that reports next to nothing.
        for (reported, share) in [(480, 24), (32, 24), (8, 8), (0, 1)] {
            assert!(fills_cache(share * MIB, || reported * MIB), "{reported}");
            assert!(!fills_cache(share * MIB - 1, || reported * MIB), "{reported}");
        }
        assert!(!fills_cache(LEAST_CACHE - 1, || unreachable!("nothing depends on it")));
        assert!(fills_cache(MOST_CACHE, || unreachable!("nothing depends on it")));
    }

    #[test]
    fn items_that_fill_the_caches_are_far() {
        let share = machine::cache_bytes().clamp(LEAST_CACHE, MOST_CACHE);
        assert!(!is_far::<u64>(share / 8 - 1) && is_far::<u64>(share / 8));
        assert!(
            !is_far_together(share / 24 / 2 - 1, 24) && is_far_together(share / 24 / 2 + 1, 24)
        );
        // These hold on every machine.
        assert!(is_far::<u64>(usize::MAX) && !is_far::<()>(usize::MAX));
        assert!(is_far::<u64>(3 << 20));
    }

    #[test]
    fn blocks_are_large_where_they_take_little_of_much_memory() {
        let large = if machine::is_intel() { 1 << 10 } else { 1 << 11 };
        assert_eq!(block_bytes(2 << 30, 1 << 13, 2), large);
        assert_eq!(block_bytes((2 << 30) - 1, 1 << 13, 2), 1 << 10);
        assert_eq!(block_bytes(2 << 30, 1 << 12, 2), 1 << 10);
        assert_eq!(block_bytes(2 << 30, 1 << 13, 3), 1 << 10);
        assert_eq!(block_bytes(usize::MAX, usize::MAX / 4, 2), 1 << 10);
        assert_eq!(
            [
                exchanged_bits::<u8>(1 << 10),
                exchanged_bits::<u64>(1 << 10),
                exchanged_bits::<u64>(1 << 11)
            ],
            [8, 7, 8]
        );
        assert_eq!([exchanged_bits::<()>(1 << 10), exchanged_bits::<[u8; 1025]>(1 << 10)], [0, 0]);
    }

    #[test]
    fn each_thread_has_a_share_unless_there_are_many_buckets() {
        assert_eq!(
            [1, 512, 4096, 8192, 1 << 20].map(|buckets| bucket_shares(buckets, 3)),
            [3, 3, 2, 1, 1]
        );
        assert_eq!(
            [(512, 1), (512, 64), (0, 0)].map(|(buckets, threads)| bucket_shares(buckets, threads)),
            [1, 16, 1]
        );
    }
}
