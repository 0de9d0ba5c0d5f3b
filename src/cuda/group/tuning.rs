//! The sizes and thresholds of a group of GPUs.

/// Threads of the one block that collects counts.
pub(super) const COLLECT_THREADS: u32 = 512;

/// The bits by which the first pass sorts, if that leaves no more than [`MOST_SECOND_BITS`] for the
/// second. With 512 buckets a tile of 8448 records has runs of 16 records, and stores in runs of
/// 128 bytes to another GPU's memory were as fast as copies on H200s: 365 GB/s of 366; with runs of
/// 64 bytes 330, of 32 bytes 212.
pub(super) const FIRST_BITS: u32 = 9;

/// The most bits by which the first pass sorts, where there is more to sort.
pub(super) const MOST_FIRST_BITS: u32 = 11;

/// The most bits by which the second pass sorts.
pub(super) const MOST_SECOND_BITS: u32 = 9;

/// `Auto` uses the partitioned strategy from this many items for each member on. That is a guess:
/// below, its dozen launches take longer than the items do.
pub(super) const PARTITION_ITEMS: u64 = 1 << 18;
