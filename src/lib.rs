// In the README itself these links lead to docs.rs. In the documentation they lead to the
// neighbouring pages: where a name is defined twice, Markdown takes the first definition.
//! [slice]: trait@ParBijectiveShuffle
//! [`Columns`]: trait@Columns
//! [`Permutation`]: struct@Permutation
//! [`affine`]: mod@affine
//! [`rng`]: mod@rng
//! [algorithm]: mod@guide::algorithm
//! [guide]: mod@guide::writing_a_bijection
//! [reproducibility]: mod@guide::reproducibility
//!
#![doc = include_str!("../README.md")]
//!
//! # Errors and panics
//!
//! What is in the style of the standard library, such as `to_vec` and the methods on slices, panics
//! if it fails, and has a twin `try_..` that returns an [`Error`]. All other functions that can
//! fail return a `Result`.

mod backend;
mod compact;
// The GPU engine is built only where CUDA has drivers. The same condition is in Cargo.toml, for the
// engine's dependencies, and on every other item that belongs to the engine alone.
#[cfg(all(
    feature = "cuda",
    target_pointer_width = "64",
    any(target_os = "linux", target_os = "windows")
))]
pub mod cuda;
#[cfg(not(all(
    feature = "cuda",
    target_pointer_width = "64",
    any(target_os = "linux", target_os = "windows")
)))]
#[path = "cuda/unavailable.rs"]
pub mod cuda;
pub mod error;
pub mod exchange;
#[cfg(any(doc, doctest))]
pub mod guide;
mod permutation;
pub mod prelude;
mod sampler;
mod slice;

pub use backend::Backend;
#[cfg(feature = "affine")]
#[doc(inline)]
pub use bijective_shuffle_affine as affine;
#[doc(inline)]
pub use bijective_shuffle_core::bijection;
#[doc(hidden)]
pub use bijective_shuffle_core::families;
#[doc(inline)]
pub use bijective_shuffle_core::{
    Bijection, DeviceSource, FromSeed, KeyDomain, KeyStream, Seed, Trusted, TrustedBijection, Word,
    Words,
};
use bijective_shuffle_engine as engine;
#[cfg(feature = "rng")]
#[doc(inline)]
pub use bijective_shuffle_rng as rng;
/// For the packages of other languages.
#[doc(hidden)]
pub use compact::Direction;
pub use compact::{Columns, Compactor, Cpu, Order, Rows, Serial, Strategy, Workspace};
pub use error::any::Error;
pub use permutation::{Cursor, Permutation, Permutations, Segments};
pub use sampler::{Sampler, SamplerBuilder, SamplerState, SamplerStep, Tail};
pub use slice::{ParBijectiveShuffle, ParBijectiveShuffleTogether};

/// Re-exported in the version that this crate uses: [`FromSeed`] draws from its generator traits.
#[cfg(feature = "rand_core")]
pub use rand_core;

/// Re-exported in the version that this crate uses: what [`Permutation::par_iter`] returns
/// implements its iterator traits.
pub use rayon;

/// The iterators over permutations.
pub mod iter {
    #[doc(inline)]
    pub use crate::permutation::{Indexes, IntoIter, Iter};
}
