//! The sizes and thresholds of fills, with what they were chosen by.

/// How many words are drawn before they become numbers: 6 KiB, which stay in the first-level cache.
/// A multiple of what each generator makes side by side.
pub(super) const AT_ONCE: usize = 1536;

/// Words that are drawn at a time for a few bytes, so that little memory is set to zero before;
/// more bytes take [`AT_ONCE`]. What `Philox4x32Rng` makes side by side. No other number was tried.
pub(super) const WORDS_OF_BYTES: usize = 192;

/// Groups of words that become numbers side by side.
pub(super) const GROUPS: usize = 16;

/// The same of two normal `f64`: 0.92 G numbers a second with AVX-512 and 0.42 with AVX2, of 2^13,
/// where 16 make 0.49 and 0.35.
pub(super) const GROUPS_OF_NORMAL_F64: usize = 8;

/// How many words a thread draws at a time, of a generator that skips: a multiple of [`AT_ONCE`].
/// Philox takes 16 microseconds for them with AVX-512 (docs/results/rng.md). No other number was
/// tried.
pub(super) const TASK: usize = 64 * AT_ONCE;

/// Fewer words are drawn by the calling thread alone: it takes ten microseconds or more to wake
/// another (`compact/cpu/tuning.rs`), and Philox makes so many in 11 with AVX-512. No other number
/// was tried.
const SEQUENTIAL_WORDS: usize = 1 << 16;

/// Whether so many words are too few to share among threads, or there is one thread only.
pub(super) fn is_sequential(words: usize) -> bool {
    words < SEQUENTIAL_WORDS || rayon::current_num_threads() == 1
}

/// How many streams a thread steps at a time: a multiple of the lanes of every generator. Fewer if
/// there are not enough for all threads.
pub(super) const STREAMS: usize = 1 << 10;

/// Words that generators make side by side, at most; see [`STREAMS`].
pub(super) const LANES: usize = 64;

/// Words of an ensemble that are drawn before they become numbers: 32 KiB. At least two of the
/// longest blocks.
pub(super) const BUFFER: usize = 1 << 13;

/// Streams of `XorShift1024Weyl` that a thread finds one after another: to find the first takes up
/// to 128 products of polynomials more than the others, which are one jump each. No other number
/// was tried.
pub(super) const JUMPS: usize = 512;
