#![doc = include_str!("../README.md")]
#![cfg_attr(not(any(feature = "std", test)), no_std)]
// Without memory to allocate there is less to import, and less that is used.
#![cfg_attr(not(feature = "std"), allow(unused_imports, dead_code))]
#![cfg_attr(not(feature = "engine"), allow(unreachable_pub))]

#[cfg(feature = "alloc")]
extern crate alloc;

#[doc(hidden)]
#[allow(missing_debug_implementations, reason = "only the project's own packages see it")]
pub mod base;
pub mod bijection;
mod error;
#[doc(hidden)]
pub mod seed;
#[doc(hidden)]
pub mod word;

#[doc(inline)]
pub use base::philox4x32::Philox4x32;
#[doc(inline)]
pub use bijection::from_seed::FromSeed;
#[doc(inline)]
pub use bijection::traits::{Bijection, Trusted, TrustedBijection};
#[doc(inline)]
#[cfg(not(feature = "alloc"))]
pub use bijection::without_alloc::{DeviceSource, Passes};
#[doc(inline)]
#[cfg(feature = "alloc")]
pub use bijection::{device::DeviceSource, passes::Passes};
pub use error::*;
pub use seed::{KeyDomain, KeyStream, Seed, Words};
pub use word::Word;

/// What the packages of this project share. It promises nothing to others.
#[cfg(feature = "engine")]
#[doc(hidden)]
pub mod engine;
