//! The sizes of the CPU's tiles, with what they were chosen by: docs/results/affine.md.

/// Bytes of a run, if a tile of such runs is not too large.
const RUN_BYTES: usize = 512;

/// Bytes of a tile, at most: it stays in the first-level cache while the next one arrives there.
const TILE_BYTES: usize = 32 << 10;

/// How many index bits a run has.
pub(super) fn run_bits<T>() -> u32 {
    let items = |bytes: usize| (bytes / size_of::<T>()).max(1).ilog2();
    items(RUN_BYTES).min(items(TILE_BYTES) / 2)
}

/// A tile has at least so many index bits, where runs are long or overlap.
pub(super) const LEAST_TILE_BITS: u32 = 6;

/// How many tiles a thread takes at a time: a power of two, of some [`SHARE_BYTES`].
pub(super) fn tiles_at_a_time<T>(tile_bits: u32) -> u64 {
    (SHARE_BYTES / (size_of::<T>() << tile_bits)).max(1).next_power_of_two() as u64
}

/// See [`tiles_at_a_time`].
const SHARE_BYTES: usize = 1 << 20;

/// Whether so many items are permuted by the calling thread alone.
pub(super) fn is_sequential<T>(items: usize) -> bool {
    items * size_of::<T>() < SEQUENTIAL_BYTES
}

/// See [`is_sequential`].
const SEQUENTIAL_BYTES: usize = 1 << 20;

/// How many items a thread copies back at a time.
pub(super) const COPY_CHUNK: usize = 1 << 16;
