//! The sizes and thresholds of a group of GPUs.

use crate::cuda::shuffle::tuning::{PASS_THREADS, Shape};

/// The most bits by which the first pass sorts, where there is more to sort.
pub(super) const MOST_FIRST_BITS: u32 = 11;

/// `Auto` uses the partitioned strategy from this many items for each member on. That is a guess:
/// below, its dozen launches take longer than the items do.
pub(super) const PARTITION_ITEMS: u64 = 1 << 18;

/// Members send their items in pieces of at least this many, if they are two or more: while one
/// piece is on its way, the next is prepared and the one before is sorted.
pub(super) const PIECE_ITEMS: u64 = 1 << 23;

/// The most pieces of a member's items. Two H100s with 2^29 items of 8 bytes each take 23.1 ms in
/// one piece, 19.5 in 3 or 4, 19.7 in 6, 19.9 in 8, 20.5 in 16 and 21.5 in 32; ranks that exchange
/// them by NCCL take 23.6 in 4 and 24.8 in 8.
pub(super) const MOST_PIECES: u64 = 4;

/// The slots whose survivors are counted at a time, for each thread of the first pass, which
/// evaluates a multiple of them. Fewer take longer to add up, and more leave tiles emptier.
pub(super) const COUNTED_SLOTS: u32 = 4;

/// How a block counts as many. With as many threads as the first pass has, 2^30 slots took 3.3 ms
/// on an H100.
pub(super) const COUNTING: Shape = Shape { threads: 256, slots: 12, blocks: 1 };

const _: () = assert!(COUNTING.tile() == (PASS_THREADS * COUNTED_SLOTS) as u64);
