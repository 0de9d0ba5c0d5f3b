//! Many permutations of one length at once: row `r` is the permutation of the seed at epoch `r`.
//!
//! ```text
//! exact    lengths that are drawn exactly: words, exchanges and rows of many epochs side by side
//! chains   longer ones: the keys of many epochs side by side, and then a compaction a row
//! rows     sharing rows among threads
//! items    shuffling the rows of a matrix, each by its own permutation
//! ```

mod chains;
mod exact;
mod items;
mod rows;

pub(crate) use items::shuffle_rows;
pub(crate) use rows::{fill, for_each, map, map_drawn};

use self::chains::Chains;
use self::exact::Exact;
use crate::bijection::Standard;
use crate::error::Error;
use crate::seed::Seed;
use crate::word::Word;

/// What the rows have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Batch {
    /// The length of a row.
    pub(crate) len: usize,
    /// Whose epochs are the rows.
    pub(crate) seed: Seed,
}

/// What a thread needs to draw rows: found out once for all rows, with working memory.
enum Drawer {
    Exact(Exact),
    Chains(Chains),
}

impl Drawer {
    fn new(batch: &Batch) -> Self {
        if batch.len as u64 <= Standard::EXACT_MAX {
            Self::Exact(Exact::new(batch))
        } else {
            Self::Chains(Chains::new(batch))
        }
    }

    /// Writes rows from `first` on, on the calling thread. `out` is of whole rows.
    fn draw<N: Word>(&mut self, first: u64, out: &mut [N]) -> Result<(), Error> {
        match self {
            _ if out.is_empty() => Ok(()),
            Self::Exact(exact) => {
                exact.draw(first, out);
                Ok(())
            }
            Self::Chains(chains) => chains.draw(first, out),
        }
    }
}
