//! The views' sizes and thresholds, with what they were chosen by: docs/results/views.md has the
//! commands.

/// How many slots a block of the survivor index has. `get` at 2^29 + 1 items with 64, 256, 512 and
/// 4096: 0.25, 0.21, 0.31 and 1.1 microseconds, with 34, 8.7, 4.5 and 0.79 megabytes; 0.66
/// microseconds with `VariablePhilox` and 512.
pub(super) const SLOTS_PER_BLOCK: u64 = 512;

/// From so many points an item on, the index lists the slots of the items instead of counting those
/// of the blocks: 60 to 87 million items a second are listed, and 4.8 G slots counted, on two
/// threads.
pub(super) const SPARSE: u64 = 64;

/// An index over more slots than this is built only where the caller asks for it by name: two
/// threads count this many in two to nine seconds, and the counts take 34 MiB. The next power of
/// two takes 19 seconds, which a call that looks like a look-up must not take.
pub(super) const UNASKED_SLOTS: u64 = 1 << 33;

/// How many slots, or items, are evaluated at a time by an iterator: their values, 8 KiB, stay in
/// the first-level cache.
pub(super) const RUN: usize = 1 << 10;

/// How many slots are evaluated at a time to answer one query.
pub(super) const SCAN_RUN: usize = 1 << 9;

/// From so many slots on an iterator asks the index for the way instead of evaluating what is
/// between: a query takes about as long as 1000 evaluations, and an index that is not there takes
/// all of them.
pub(super) const FAR: u64 = 1 << 12;

/// The same where an index would be refused, so that the choice is between this many evaluations, a
/// millisecond or so, and an error.
pub(super) const REACH: u64 = 1 << 20;

/// A single query evaluates at most this part of the slots without an index. Building one evaluates
/// all of them once, and then a query takes as long as 1000 evaluations: so it pays from the second
/// or so of many queries on.
pub(super) const NEAR_SHARE: u64 = 16;

/// About how long a query of the index takes one core, in picoseconds; see [`SLOTS_PER_BLOCK`].
pub(super) const QUERY_PICOSECONDS: u32 = 300_000;

/// Fewer items than this are cloned by the calling thread alone: it takes ten microseconds or more
/// to wake another (`compact/cpu/tuning.rs`), in which one clones about so many numbers from random
/// places in the second-level cache. No other number was tried.
pub(super) const SEQUENTIAL_CLONES: usize = 1 << 13;
