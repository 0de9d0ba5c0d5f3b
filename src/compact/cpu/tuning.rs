//! The CPU engine's sizes and thresholds, with what they were chosen by.

/// Domains of fewer slots are evaluated, and permutations of fewer items moved, by the calling thread alone.
///
/// Entering a rayon pool from outside costs 10 to 20 microseconds.
pub(crate) const SEQUENTIAL_SLOTS: u64 = 1 << 13;

/// The same for copying and checking, which cost less an item.
pub(crate) const SEQUENTIAL_ITEMS: usize = 1 << 14;

/// How many slots are evaluated at a time: their values, 8 KiB, stay in the first-level cache.
pub(crate) const RUN: usize = 1 << 10;

/// How many slots a thread takes at a time: a tile's survivors, at most 256 KiB, stay in the second-level cache until
/// they are copied to their place.
pub(crate) const TILE: usize = 1 << 15;

/// How many tiles a thread has in a wave, so that a thread that is held up delays the others less.
pub(crate) const TILES_PER_THREAD: usize = 4;

/// How many items a thread moves at a time.
pub(crate) const MOVE_CHUNK: usize = 1 << 13;
