//! Shuffles of the literature: the competitors of Mitchell, Stokes, Frank, Holmes,
//! *Bandwidth-Optimal Random Shuffling for GPUs*, ACM TOPC 9(1), 2022 (table 3, figure 13), on the
//! threads of the current rayon pool; and one of a single thread, [`batched_dice`].
//!
//! | function | work | extra memory |
//! | --- | --- | --- |
//! | [`batched_dice`] | `O(n)`, on one thread | none |
//! | [`rao_sandelius`] | `O(n log n)` | `n` items, which [`rao_sandelius_with`] is given |
//! | [`merge_shuffle`] | `O(n log n)` | none |
//!
//! They are written from the papers, to be measured against. A seed gives the same order for every
//! number of threads, with one version of this package: no order here is promised to last. Items
//! are `Copy`, since the algorithms hold them in two places at a time.
//!
//! # Examples
//!
//! ```
//! use bijective_shuffle_baselines::merge_shuffle;
//!
//! let mut items: Vec<u64> = (0..1000).collect();
//! merge_shuffle(&mut items, 42);
//! assert!(!items.is_sorted());
//! items.sort_unstable();
//! assert!(items.into_iter().eq(0..1000));
//! ```

mod batched_dice;
mod fisher_yates;
mod merge_shuffle;
mod pieces;
mod rao_sandelius;
mod stream;
#[cfg(test)]
mod tests;
mod tuning;

pub use batched_dice::batched_dice;
pub use merge_shuffle::merge_shuffle;
pub use rao_sandelius::{rao_sandelius, rao_sandelius_with};
