//! The sizes and thresholds of a group of GPUs.

/// The bits by which the first pass sorts, if that leaves no more than [`MOST_SECOND_BITS`] for the
/// second. With 512 buckets a tile of 8448 records has runs of 16 records.
pub(super) const FIRST_BITS: u32 = 9;

/// The most bits by which the first pass sorts, where there is more to sort.
pub(super) const MOST_FIRST_BITS: u32 = 11;

/// The most bits by which the second pass sorts.
pub(super) const MOST_SECOND_BITS: u32 = 9;

/// `Auto` uses the partitioned strategy from this many items for each member on. That is a guess:
/// below, its dozen launches take longer than the items do.
pub(super) const PARTITION_ITEMS: u64 = 1 << 18;

/// Members send their items in pieces of at least this many, if they are two or more: while one
/// piece is on its way, the next is prepared and the one before is sorted.
pub(super) const PIECE_ITEMS: u64 = 1 << 23;

/// The most pieces of a member's items.
pub(super) const MOST_PIECES: u64 = 8;

/// The slots of a thread that counts survivors: the first pass evaluates a multiple of them. Fewer
/// take longer to add up, and more leave tiles emptier.
pub(super) const COUNTED_SLOTS: u32 = 4;
