#![doc = include_str!("../README.md")]
//!
//! # Where to look
//!
//! | for | see |
//! | --- | --- |
//! | shuffling a slice | [`ParBijectiveShuffle`] |
//! | shuffling several together | [`ParBijectiveShuffleTogether`], [`Columns`] |
//! | the order itself | [`Permutation`] |
//! | single places among more than 2^33 items | [`Permutation::walk`] |
//! | many permutations of one length | [`Permutations`] |
//! | seeds and epochs | [`Seed`] |
//! | a bijection of your own | [`Bijection`] |
//! | the ones there are | [`bijection`] |
//! | the engines | [`compact`] |
//! | bit reversal, transposes and other affine maps of indexes | [`affine`] |
//! | a bijection on a GPU | [`DeviceSource`] |
//! | random numbers, in bulk and in many streams | [`rng`] |
//! | judging a shuffle | `stats`, with the feature of this name |

pub mod affine;
mod backend;
pub mod bijection;
pub mod compact;
mod error;
mod permutation;
mod permutations;
pub mod prelude;
pub mod rng;
mod seed;
mod shuffle;
mod simd;
#[cfg(feature = "stats")]
pub mod stats;
mod together;
mod word;

pub use backend::Backend;
#[doc(inline)]
pub use bijection::{
    Affine, Bijection, BlockShuffle, BlockWindow, Compose, CycleWalk, DeviceSource, FromSeed,
    GridFeistel, Inverse, Lcg, MulXorshift, RandomSign, Standard, Table, Trusted, TrustedBijection,
    VariablePhilox,
};
#[doc(inline)]
pub use compact::{Columns, Compactor, Cpu, Rows, Serial, Strategy, Workspace};
#[cfg(feature = "cuda")]
#[doc(inline)]
pub use compact::{
    Cuda, CudaArrays, CudaStrategy, CudaStreams, CudaWorkspace, DeviceGenerator, DeviceNumber,
};
pub use error::{Defect, Error, Unavailable};
pub use permutation::{Cursor, Indexes, IntoIter, Iter, ParIter, Permutation, SurvivorIndex, Walk};
pub use permutations::Permutations;
pub use seed::{KeyDomain, KeyStream, Seed};
pub use shuffle::ParBijectiveShuffle;
pub use together::ParBijectiveShuffleTogether;
pub use word::Word;

/// The crate of the traits that [`FromSeed`] draws from, in the version that it takes.
pub use rand_core;

/// The crate of the traits that [`ParIter`] has, in the version that it takes.
pub use rayon;

/// The crate of the device memory and streams that [`CudaWorkspace`] takes, in the version that it takes.
#[cfg(feature = "cuda")]
pub use cudarc;

/// Runs the guide's examples as tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/writing-a-bijection.md")]
mod guide {}
