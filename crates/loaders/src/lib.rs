//! What training loops draw besides one shuffled set.
//!
//! | | what place `p` holds | time for a look-up | memory |
//! | --- | --- | --- | --- |
//! | [`Weighted`] | an item, by weights, with replacement | constant | 16 bytes an item, which processes can share |
//! | [`weighted_sample`] | `k` items by weights, without replacement | all in time for `n` | for `2 k` on each thread |
//! | [`Mixture`] | a set and an item of it, with each set's share exact | the logarithm of the number of sets | for the sets, not their items |
//! | [`Packed`] | the pieces of documents that make a sequence of tokens | the logarithm of the number of documents | 1/8 byte a document |
//! | [`Lengths`] | items of similar lengths, as a batch of so many tokens | the logarithm of the number of windows | 2 bytes an item, 2 a batch and 8 a window |
//! | [`StreamShuffle`] | an item of a stream of unknown length, through a buffer | constant, one after another | for the buffer |
//! | [`Splits`] | the part of a data set that item `p` is in | constant | for the shares |
//! | [`NodeBlocks`] | the blocks that a node reads, mostly those that it had | all blocks of a node at once | for these |
//!
//! One law holds for all: an item is a function of the seed, the epoch and the place, and of
//! nothing else. So any rank computes its own items, on any machine, with any number of threads;
//! [`Batches`] deals them out, and a saved state is a few numbers that fit any number of ranks.
//!
//! `crates/loaders/vectors/README.md` in the repository defines the values, for implementations in
//! other languages.
//!
//! # Examples
//!
//! Three data sets in fixed shares, in batches for rank 3 of 8:
//!
//! ```
//! use bijective_shuffle_loaders::{BatchOptions, Batches, Mixture};
//!
//! let mixture = Mixture::new(&[1_000_000, 20_000, 300], &[80, 15, 5], 42)?;
//! let mut batches = Batches::new(mixture, None, BatchOptions::new(32).rank(3, 8))?;
//! let mut batch = Vec::new();
//! batches.next_batch(&mut batch)?;
//! assert_eq!(batch.len(), 32);
//! for (set, item) in batch {
//!     assert!(item < batches.source().lengths()[set]);
//! }
//! # Ok::<(), bijective_shuffle_loaders::Error>(())
//! ```

mod batches;
mod deal;
mod error;
mod items;
mod lengths;
mod mixture;
mod nodes;
mod packed;
mod sample;
mod splits;
mod stream;
mod table;
mod weighted;
mod weights;

pub use batches::{BatchOptions, Batches, Source};
pub use error::Error;
pub use items::ItemLengths;
pub use lengths::{Lengths, TokenCounts};
pub use mixture::Mixture;
pub use nodes::{NodeBlocks, NodeRun};
pub use packed::{Packed, Piece};
pub use sample::weighted_sample;
pub use splits::Splits;
pub use stream::{StreamOrder, StreamShuffle, StreamState};
pub use weighted::Weighted;
pub use weights::{IntoWeights, ItemWeights, integer_weights};
