//! The sizes and thresholds of fills, with what they were chosen by.

/// How many words are drawn before they become numbers: 6 KiB, which stay in the first-level cache. A multiple of what each
/// generator makes side by side.
pub(super) const AT_ONCE: usize = 1536;

/// How many words a thread draws at a time, of a generator that skips: a multiple of [`AT_ONCE`]. Twenty microseconds of work and more.
pub(super) const TASK: usize = 64 * AT_ONCE;

/// Fewer words are drawn by the calling thread alone: it takes ten microseconds or more to wake another
/// (`compact/cpu/tuning.rs`), and the fastest generator makes so many in about that time.
const SEQUENTIAL_WORDS: usize = 1 << 16;

/// Whether so many words are too few to share among threads.
pub(super) fn is_sequential(words: usize) -> bool {
    words < SEQUENTIAL_WORDS
}

/// How many streams a thread steps at a time: a multiple of the lanes of every generator. Fewer if there are not enough for
/// all threads.
pub(super) const STREAMS: usize = 1 << 10;

/// See [`STREAMS`].
pub(super) const LANES: usize = 64;

/// Streams of `XorShift1024Weyl` that a thread finds one after another: to find the first takes as long as some 50 of
/// the others.
pub(super) const JUMPS: usize = 512;
