//! Many permutations of one length at once: row `r` is the permutation of the seed at epoch `r`.
//!
//! ```text
//! (mod)    what the rows have in common
//! exact    lengths that are drawn exactly: words, exchanges and rows of many epochs side by side
//! ciphers  longer ones: the keys of many epochs side by side, and then a compaction a row
//! drawer   either, by the length
//! rows     sharing rows among threads
//! items    shuffling the rows of a matrix, each by its own permutation
//! ```
//!
//! Each line uses those above it, and none below.

mod ciphers;
mod drawer;
mod exact;
mod items;
mod rows;

pub(crate) use items::shuffle_rows;
pub(crate) use rows::{fill, for_each, map, map_drawn};

use crate::seed::Seed;

/// What the rows have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Batch {
    /// The length of a row.
    pub(crate) len: usize,
    /// Whose epochs are the rows.
    pub(crate) seed: Seed,
}
