#![doc = include_str!("../README.md")]
#![cfg_attr(not(any(feature = "std", test)), no_std)]
// Some of it is there for bijections that need memory, or for machines with vectors.
#![cfg_attr(not(feature = "std"), allow(dead_code, unreachable_pub, unused_imports))]

#[cfg(feature = "alloc")]
extern crate alloc;

#[allow(
    missing_docs,
    missing_debug_implementations,
    reason = "only the project's own packages see what has none"
)]
mod base;
pub mod bijection;
pub mod error;
#[cfg(feature = "std")]
#[doc(hidden)]
pub mod internal;
mod seed;
mod word;

#[doc(inline)]
pub use base::philox4x32::Philox4x32;
#[doc(inline)]
#[cfg(feature = "alloc")]
pub use bijection::device::DeviceSource;
#[doc(inline)]
pub use bijection::from_seed::FromSeed;
#[doc(inline)]
pub use bijection::traits::{Bijection, Trusted, TrustedBijection};
#[doc(inline)]
#[cfg(not(feature = "alloc"))]
pub use bijection::without_alloc::DeviceSource;
pub use seed::{KeyDomain, KeyStream, Seed, Words};
pub use word::Word;

// The order of `Permutation::walk` is there without an allocator: see docs/recipes.md.
#[cfg(not(feature = "alloc"))]
const _: fn(u64, u64) -> bijection::CycleWalk<bijection::Standard> =
    |len, seed| FromSeed::from_seed(len, seed);
