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

pub mod affine;
mod backend;
mod base;
pub mod bijection;
mod compact;
// The GPU engine is built only where CUDA has drivers. The same condition is in Cargo.toml, for the
// engine's dependencies, and on every other item that belongs to the engine alone.
#[cfg(all(feature = "cuda", any(target_os = "linux", target_os = "windows")))]
mod cuda;
#[cfg(not(all(feature = "cuda", any(target_os = "linux", target_os = "windows"))))]
#[path = "cuda/unavailable.rs"]
mod cuda;
mod error;
pub mod exchange;
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
pub use bijection::passes::Passes;
#[doc(inline)]
pub use bijection::traits::{Bijection, Trusted, TrustedBijection};
pub use compact::{Columns, Compactor, Cpu, Rows, Serial, Strategy, Workspace};
#[doc(inline)]
pub use cuda::Cuda;
#[cfg(all(feature = "cuda", any(target_os = "linux", target_os = "windows")))]
#[doc(inline)]
pub use cuda::{
    CudaArrays, CudaExchange, CudaGroup, CudaGroupArrays, CudaStrategy, CudaStreams, CudaWorkspace,
    DeviceArray, DeviceArrayMut, DeviceGenerator, DeviceNumber, NcclId,
};
pub use error::{
    BijectionError, Defect, Error, ExchangeError, GeneratorError, GpuError, MatrixError, RowsError,
    SamplerError, SavedError, Unavailable, ViewError,
};
pub use permutation::{
    Cursor, Indexes, IntoIter, Iter, ParIter, Permutation, Permutations, SurvivorIndex, Walk,
};
pub use sampler::{Sampler, SamplerBuilder, SamplerState, Tail};
pub use seed::{KeyDomain, KeyStream, Seed};
pub use slice::{ParBijectiveShuffle, ParBijectiveShuffleTogether};
pub use word::Word;

/// Re-exported in the version that this crate uses: [`FromSeed`] draws from its generator traits.
pub use rand_core;

/// Re-exported in the version that this crate uses: [`ParIter`] implements its iterator traits.
pub use rayon;

#[cfg(all(feature = "cuda", any(target_os = "linux", target_os = "windows")))]
#[doc(hidden)]
pub use cuda::make_kernels;

/// Re-exported in the version that this crate uses: [`CudaWorkspace`] takes its device memory and
/// streams.
#[cfg(all(feature = "cuda", any(target_os = "linux", target_os = "windows")))]
pub use cudarc;
