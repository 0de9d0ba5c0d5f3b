//! The sizes of the CPU's tiles, with what they were chosen by: docs/results/affine.md.

/// Bytes of a run, if a tile of such runs is not too large. Items of 8 bytes, bit reversal of 2^26,
/// with 256, 512 and 1024: 1.5 to 1.8, 2.0 and, with a tile of 128 KiB, 0.5 G/s.
const RUN_BYTES: usize = 512;

/// Bytes of a tile, at most: it stays in the first-level cache while the next one arrives there.
const TILE_BYTES: usize = 32 << 10;

/// How many index bits a run has.
pub(super) fn run_bits<T>() -> u32 {
    let items = |bytes: usize| (bytes / size_of::<T>()).max(1).ilog2();
    items(RUN_BYTES).min(items(TILE_BYTES) / 2)
}

/// How far ahead of what is read the source is asked for: 16 runs. Items of 8 bytes, 2^26 of them,
/// in G/s, with 4, 8, 16, 32 and 64 runs: bit reversal 1.7, 2.0, 2.0, 1.9, 2.0; a random matrix
/// 1.8, 2.3, 2.5, 1.8, 1.9, as the tile and what is on its way have to share the first-level cache;
/// and without asking 0.8 and 0.9.
pub(super) const AHEAD_BYTES: usize = 8 << 10;

/// Whether tiles of such items go by squares where they can: those of 8 bytes, whose lines are the
/// cache's, and which are the only ones that were measured.
pub(super) fn has_blocks<T>() -> bool {
    size_of::<T>() == size_of::<u64>()
}

/// How many tiles a thread takes at a time, if there are so many of so many items.
pub(super) fn share<T>(tiles: u64, items: usize, threads: usize) -> u64 {
    let least = (SHARE_BYTES / (size_of::<T>() * items).max(1)).max(1) as u64;
    least.max(tiles.div_ceil(SHARES_A_THREAD.saturating_mul(threads as u64)))
}

/// Bytes of a share, at least. Not measured by itself.
const SHARE_BYTES: usize = 1 << 20;

/// Shares a thread, at most: the last ones to be done make threads wait for no more than that part.
/// Not measured by itself.
pub(super) const SHARES_A_THREAD: u64 = 32;

/// Whether so many items are permuted by the calling thread alone.
pub(super) fn is_sequential<T>(items: usize) -> bool {
    items.saturating_mul(size_of::<T>()) < SEQUENTIAL_BYTES
}

/// See [`is_sequential`]; a quarter of what the engine moves on one thread, as there is nothing to
/// evaluate. Not measured by itself.
const SEQUENTIAL_BYTES: usize = 1 << 20;

/// How many items a thread copies, or puts in order by pairs, at least.
pub(super) fn piece<T>() -> usize {
    (PIECE_BYTES / size_of::<T>().max(1)).max(1)
}

/// See [`piece`]. Not measured by itself.
const PIECE_BYTES: usize = 1 << 19;
