//! The sizes of the CPU's tiles, with the measurements that chose them (benches/notes/affine.md).

/// The size of a run in bytes, if a tile of such runs is not too large. Bit reversal of 2^26 items
/// of 8 bytes, with 256, 512 and 1024 bytes: 1.5 to 1.8, 2.0 and, with a tile of 128 KiB, 0.5 G/s.
const RUN_BYTES: usize = 512;

/// The largest size of a tile in bytes: it stays in the first-level cache while the next one
/// arrives.
const TILE_BYTES: usize = 32 << 10;

/// The number of index bits in a run.
pub(super) fn run_bits<T>() -> u32 {
    let items = |bytes: usize| (bytes / size_of::<T>()).max(1).ilog2();
    items(RUN_BYTES).min(items(TILE_BYTES) / 2)
}

/// How far ahead of the reads the source is prefetched: 16 runs. With 4, 8, 16, 32 and 64 runs, for
/// 2^26 items of 8 bytes, in G/s: bit reversal 1.7, 2.0, 2.0, 1.9, 2.0; a random matrix 1.8, 2.3,
/// 2.5, 1.8, 1.9, as the tile and the prefetched lines have to share the first-level cache. Without
/// prefetching: 0.8 and 0.9.
pub(super) const AHEAD_BYTES: usize = 8 << 10;

/// Whether tiles of such items use squares where possible. Items of 8 bytes do: a square's line is
/// then a cache line. No other size was measured.
pub(super) fn has_blocks<T>() -> bool {
    size_of::<T>() == size_of::<u64>()
}

/// How many tiles a thread takes at a time, out of `tiles` tiles of `items` items.
pub(super) fn share<T>(tiles: u64, items: usize, threads: usize) -> u64 {
    let least = (SHARE_BYTES / (size_of::<T>() * items).max(1)).max(1) as u64;
    least.max(tiles.div_ceil(SHARES_A_THREAD.saturating_mul(threads as u64)))
}

/// The smallest size of a share in bytes. Not measured separately.
const SHARE_BYTES: usize = 1 << 20;

/// The most shares for each thread. At the end, threads wait at most for one share of this part.
/// Not measured separately.
pub(super) const SHARES_A_THREAD: u64 = 32;

/// Whether this many items are permuted by the calling thread alone.
pub(super) fn is_sequential<T>(items: usize) -> bool {
    items.saturating_mul(size_of::<T>()) < SEQUENTIAL_BYTES
}

/// See [`is_sequential`]. It is a quarter of what the engine moves on one thread, since nothing has
/// to be evaluated here. Not measured separately.
const SEQUENTIAL_BYTES: usize = 1 << 20;

/// The smallest number of items that a thread copies, or puts in order by pairs.
pub(super) fn piece<T>() -> usize {
    (PIECE_BYTES / size_of::<T>().max(1)).max(1)
}

/// See [`piece`]. Not measured separately.
const PIECE_BYTES: usize = 1 << 19;
