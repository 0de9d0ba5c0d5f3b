//! The views' sizes and thresholds, with what they were chosen by: docs/results/views.md has the commands.

/// How many slots a block of the survivor index has. `get` at 2^29 + 1 items with 64, 256, 512 and 4096: 0.25, 0.21, 0.31
/// and 1.1 microseconds, with 34, 8.7, 4.5 and 0.79 megabytes; 0.66 microseconds with `VariablePhilox` and 512.
pub(super) const SLOTS_PER_BLOCK: u64 = 512;

/// From so many points an item on, the index lists the slots of the items instead of counting those of the blocks:
/// 60 to 87 million items a second are listed, and 4.8 G slots counted, on two threads.
pub(super) const SPARSE: u64 = 64;

/// How many slots, or items, are evaluated at a time by an iterator: their values, 8 KiB, stay in the first-level cache.
pub(super) const RUN: usize = 1 << 10;

/// From so many slots on an iterator asks the index for the way instead of evaluating what is between: a query takes
/// about as long as 1000 evaluations, and an index that is not there takes all of them.
pub(super) const FAR: u64 = 1 << 12;

/// About how long a query of the index takes one core, in picoseconds; see [`SLOTS_PER_BLOCK`].
pub(super) const QUERY_PICOSECONDS: u32 = 300_000;
