//! What training loops draw besides one shuffled set.
//!
//! | | what position `p` holds | time for a look-up | memory |
//! | --- | --- | --- | --- |
//! | [`Weighted`] | an item, by weights, with replacement | constant | 16 bytes an item, which processes can share |
//! | [`sample()`] | `k` items by weights, without replacement | all in time for `n` | for `2 k` on each thread |
//! | [`Mixture`] | a set and an item of it, with each set's share exact | the logarithm of the number of sets | for the sets, not their items |
//!
//! One law holds for all: an item is a function of the seed, the epoch and the position, and of
//! nothing else. So any rank computes its own items, on any machine, with any number of threads;
//! [`Batches`] deals them out, and a saved state is a few numbers that fit any number of ranks.
//!
//! docs/loaders.md defines the values, for implementations in other languages.
//!
//! # Examples
//!
//! Three data sets in fixed shares, in batches for rank 3 of 8:
//!
//! ```
//! use bijective_shuffle_loaders::{Batches, Mixture};
//!
//! let mixture = Mixture::new(&[1_000_000, 20_000, 300], &[80, 15, 5], 42)?;
//! let len = mixture.pass().expect("it fits");
//! let mut batches = Batches::new(mixture, len, |sampler| sampler.rank(3, 8).batch(32))?;
//! let mut batch = Vec::new();
//! batches.next_batch(&mut batch)?;
//! assert_eq!(batch.len(), 32);
//! for (set, item) in batch {
//!     assert!(item < batches.source().lengths()[set]);
//! }
//! # Ok::<(), bijective_shuffle::Error>(())
//! ```

mod batches;
mod mixture;
mod sample;
mod table;
mod weighted;
mod weights;

/// The page of the book, whose code is tested here.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/loaders.md")]
struct Book;

pub use batches::{Batches, Source};
pub use mixture::Mixture;
pub use sample::sample;
pub use weighted::Weighted;
pub use weights::integer_weights;
