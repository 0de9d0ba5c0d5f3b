//! The views' sizes and thresholds, with what they were chosen by: docs/results/views.md has the commands.

/// How many slots a block of the survivor index has.
pub(super) const SLOTS_PER_BLOCK: u64 = 512;

/// From so many points an item on, the index lists the slots of the items instead of counting those of the blocks.
pub(super) const SPARSE: u64 = 64;

/// How many slots, or items, are evaluated at a time by an iterator.
pub(super) const RUN: usize = 1 << 10;

/// From so many places on an iterator asks the index for the way instead of evaluating what is between, if there is
/// one.
pub(super) const FAR: u64 = 1 << 12;

/// About how long a query of the index takes one core, in picoseconds.
pub(super) const QUERY_PICOSECONDS: u32 = 300_000;
