// The README's links lead to docs.rs, for those who read it elsewhere. Here they lead to the pages
// beside this one: of two definitions of a name, Markdown takes the first.
//! [slice]: trait@ParBijectiveShuffle
//! [`Columns`]: trait@Columns
//! [`Permutation`]: struct@Permutation
//! [`affine`]: mod@affine
//! [`rng`]: mod@rng
//! [algorithm]: mod@guide::algorithm
//! [decisions]: mod@guide::decisions
//! [guide]: mod@guide::writing_a_bijection
//! [reproducibility]: mod@guide::reproducibility
//! [testing]: mod@guide::testing
//!
#![doc = include_str!("../README.md")]

pub mod affine;
mod backend;
mod base;
pub mod bijection;
mod compact;
// CUDA has drivers for these systems. Cargo.toml has the same condition for the crates that the
// engine needs, and so has whatever else is of the engine alone.
#[cfg(all(feature = "cuda", any(target_os = "linux", target_os = "windows")))]
mod cuda;
#[cfg(not(all(feature = "cuda", any(target_os = "linux", target_os = "windows"))))]
#[path = "cuda/unavailable.rs"]
mod cuda;
mod error;
#[cfg(any(doc, doctest))]
pub mod guide;
mod permutation;
pub mod prelude;
pub mod rng;
mod sampler;
mod seed;
mod slice;
#[cfg(feature = "stats")]
pub mod stats;
mod word;

pub use backend::Backend;
#[doc(inline)]
pub use bijection::device::DeviceSource;
#[doc(inline)]
pub use bijection::from_seed::FromSeed;
#[doc(inline)]
pub use bijection::traits::{Bijection, Trusted, TrustedBijection};
pub use compact::{Columns, Compactor, Cpu, Rows, Serial, Strategy, Workspace};
#[doc(inline)]
pub use cuda::Cuda;
#[cfg(all(feature = "cuda", any(target_os = "linux", target_os = "windows")))]
#[doc(inline)]
pub use cuda::{
    CudaArrays, CudaStrategy, CudaStreams, CudaWorkspace, DeviceArray, DeviceArrayMut,
    DeviceGenerator, DeviceNumber,
};
pub use error::{
    BijectionError, Defect, Error, GeneratorError, GpuError, MatrixError, RowsError, SamplerError,
    SavedError, Unavailable, ViewError,
};
pub use permutation::{
    Cursor, Indexes, IntoIter, Iter, ParIter, Permutation, Permutations, SurvivorIndex, Walk,
};
pub use sampler::{Sampler, SamplerBuilder, SamplerState, Tail};
pub use seed::{KeyDomain, KeyStream, Seed};
pub use slice::{ParBijectiveShuffle, ParBijectiveShuffleTogether};
pub use word::Word;

/// The crate of the traits that [`FromSeed`] draws from, in the version that it takes.
pub use rand_core;

/// The crate of the traits that [`ParIter`] has, in the version that it takes.
pub use rayon;

/// The crate of the device memory and streams that [`CudaWorkspace`] takes, in the version that it
/// takes.
#[cfg(all(feature = "cuda", any(target_os = "linux", target_os = "windows")))]
pub use cudarc;
