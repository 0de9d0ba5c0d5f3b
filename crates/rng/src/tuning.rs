//! The sizes and thresholds of fills: what each is for, and what was measured where it was.

/// How many words are drawn before they become numbers: 6 KiB, which stay in the first-level cache.
/// It is a multiple of what each generator makes in parallel.
pub(super) const AT_ONCE: usize = 1536;

/// How many words are drawn at a time for few bytes, so that little memory is zeroed first; more
/// bytes use [`AT_ONCE`]. It is what `Philox4x32Rng` makes in parallel. No other number was tried.
pub(super) const WORDS_OF_BYTES: usize = 192;

/// How many groups of words become numbers side by side.
pub(super) const GROUPS: usize = 16;

/// The same for pairs of normal `f64`: for 2^13 numbers, 0.92 G numbers a second with AVX-512 and
/// 0.42 with AVX2, where 16 groups make 0.49 and 0.35.
pub(super) const GROUPS_OF_NORMAL_F64: usize = 8;

/// How many words of a generator that can skip a thread draws at a time: a multiple of [`AT_ONCE`].
/// Philox takes 16 microseconds for them with AVX-512 (docs/results/rng.md). No other number was
/// tried.
pub(super) const TASK: usize = 64 * AT_ONCE;

/// Fewer words than this are drawn by the calling thread alone. Waking another thread takes ten
/// microseconds or more (`compact/cpu/tuning.rs`), and Philox makes this many words in 11 with
/// AVX-512. No other number was tried.
const SEQUENTIAL_WORDS: usize = 1 << 16;

/// Whether this many words are too few to share among threads, or there is only one thread.
pub(super) fn is_sequential(words: usize) -> bool {
    words < SEQUENTIAL_WORDS || rayon::current_num_threads() == 1
}

/// How many streams a thread steps at a time: a multiple of the lanes of every generator. It is
/// fewer if there are not enough streams for all threads.
pub(super) const STREAMS: usize = 1 << 10;

/// The most words that a generator makes in parallel; see [`STREAMS`].
pub(super) const LANES: usize = 64;

/// How many words of an ensemble are drawn before they become numbers: 32 KiB. They hold at least
/// two of the longest blocks.
pub(super) const BUFFER: usize = 1 << 13;

/// How many streams of `XorShift1024Weyl` a thread finds one after another. The first takes up to
/// 128 products of polynomials more than the others, which are one jump each. No other number was
/// tried.
pub(super) const JUMPS: usize = 512;
