//! The sizes and thresholds of a group of GPUs.

use crate::cuda::shuffle::tuning::{DirectShape, PASS_THREADS};

/// The most bits by which the first pass sorts, where there is more to sort. Only where buckets
/// would not fit shared memory otherwise, it sorts by up to two more: its tiles then have hardly
/// more records than there are buckets.
pub(super) const MOST_FIRST_BITS: u32 = 11;

/// Where there are more ranks than a group has members, the first pass sorts by enough bits to give
/// each of them at least this number of buckets, if there is enough to sort: ranks own whole
/// buckets, and many would own none. A group does without: with few items it takes as long as its
/// launches, and it has more launches the more members own buckets. Four members on one H200, with
/// 2^20 items of 8 bytes each, took 0.28 ms with two buckets and 0.42 ms with 16.
pub(super) const LEAST_BUCKETS: usize = 4;

/// The most ranks of an exchange: with more, some would have fewer buckets than that.
pub(super) const MOST_RANKS: usize = (1 << MOST_FIRST_BITS) / LEAST_BUCKETS;

/// `Auto` uses the partitioned strategy from this many items for each member on. That is a guess:
/// below, its dozen launches take longer than the items do.
pub(super) const PARTITION_ITEMS: u64 = 1 << 18;

/// Members send their items in pieces, the largest of at least this many, if they are two or more:
/// while one piece is on its way, the next is prepared and the one before is sorted.
pub(super) const PIECE_ITEMS: u64 = 1 << 23;

/// How many of the largest pieces a member's items are at most, where there is memory for these.
/// Two H200s with 2^29 items of 8 bytes each take 14.5 ms with 2 of them, 14.2 with 3, 14.4 with 4,
/// 14.5 with 6, 14.7 with 8 and 15.1 with 12; in 4 or 5 equal pieces 14.5. With 3 the memory would
/// be a third of an item more than with 4.
pub(super) const MOST_ROOMS: u64 = 4;

/// The same as [`PIECE_ITEMS`] where memory is short.
pub(super) const LEAST_PIECE_ITEMS: u64 = 1 << 20;

/// The slots whose survivors are counted at a time, for each thread of the first pass, which
/// evaluates a multiple of them. Fewer take longer to add up, and more leave tiles emptier.
pub(super) const COUNTED_SLOTS: u32 = 4;

/// How a block counts as many. With as many threads as the first pass has, 2^30 slots took 3.3 ms
/// on an H100.
pub(super) const COUNTING: DirectShape = DirectShape { threads: 256, slots: 12, blocks: 1 };

const _: () = assert!(COUNTING.tile() == (PASS_THREADS * COUNTED_SLOTS) as u64);
