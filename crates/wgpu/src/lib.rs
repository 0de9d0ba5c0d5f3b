//! Shuffles arrays into pseudo-random permutations on any GPU that [`wgpu`] reaches: through
//! Vulkan, Metal, Direct3D 12 or WebGPU, those of AMD, Apple, ARM, Intel, NVIDIA and others. The
//! results are the same as those of the crate [`bijective_shuffle`] on the CPU and through CUDA.
//!
//! * [`WgpuWorkspace`] records shuffles of a program's own buffers, and fills with random numbers,
//!   in its own encoder.
//! * [`Wgpu`] shuffles items in host memory.
//! * [`WgslSource`] is a bijection in WGSL: of a family of the library, or your own.
//!
//! ```no_run
//! use bijective_shuffle::bijection::Standard;
//! use bijective_shuffle::prelude::*;
//! use bijective_shuffle_wgpu::Wgpu;
//!
//! let mut items: Vec<u32> = (0..100_000).collect();
//! Wgpu::new()?.shuffle(&Standard::from_seed(100_000, 42), &mut items)?;
//!
//! let mut same: Vec<u32> = (0..100_000).collect();
//! same.par_bijective_shuffle(42);
//! assert_eq!(items, same);
//! # Ok::<(), bijective_shuffle_wgpu::WgpuError>(())
//! ```
//!
//! # How it works
//!
//! One kernel evaluates the bijection at every slot, finds the survivors' places by a decoupled
//! look-back, and moves the items. WGSL promises no progress between workgroups. So a workgroup
//! that has waited for another for a few turns does the other's counting itself, which takes no
//! access to memory: a bijection can be evaluated anywhere. Where the length is the whole domain
//! there is nothing to count, and each item is moved by itself. Arrays that do not fit the cache
//! are sorted by the places that their items go to, in passes of sequential traffic.

mod context;
mod engine;
mod error;
mod fill;
#[cfg(test)]
mod tests;
mod workspace;

// The programs in the README compile.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[doc(inline)]
pub use bijective_shuffle_wgsl::{AsWgsl, WgslError, WgslSource, WgslWalk};
pub use engine::Wgpu;
pub use error::WgpuError;
pub use workspace::WgpuWorkspace;

/// Re-exported in the version that this crate uses: [`WgpuWorkspace`] takes its buffers and
/// encoders.
pub use wgpu;
