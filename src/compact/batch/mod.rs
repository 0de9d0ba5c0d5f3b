//! Many permutations of one length at once: row `r` is the permutation of the seed at epoch `r`.
//!
//! Rows are epochs, so that each row equals a `Permutation` of its own. The epochs of the rows
//! replace the seed's epoch: if they were added to it, the sum would have to wrap, and batches of
//! different epochs would overlap.
//!
//! ```text
//! (mod)    what the rows have in common
//! exact    lengths that are drawn exactly: words and swaps of many epochs side by side
//! ciphers  longer ones: keys of many epochs side by side, then one compaction for each row
//! drawer   one of the two, chosen by the length
//! rows     sharing rows among threads
//! items    shuffling the rows of a matrix, each by its own permutation
//! segments the same for segments of different lengths
//! ```
//!
//! Each line uses those above it, and none below.

mod ciphers;
mod drawer;
mod exact;
mod items;
mod rows;
mod segments;

pub(crate) use items::reorder_rows;
pub(crate) use rows::{fill, for_each, map};
pub(crate) use segments::{SegmentRun, fill_segments, reorder_segments};

use crate::Seed;

/// What the rows have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Batch {
    /// The length of a row.
    pub(crate) len: usize,
    /// The seed whose epochs are the rows.
    pub(crate) seed: Seed,
}
