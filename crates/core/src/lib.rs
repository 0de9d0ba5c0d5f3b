#![doc = include_str!("../README.md")]

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
pub use bijection::device::DeviceSource;
#[doc(inline)]
pub use bijection::from_seed::FromSeed;
#[doc(inline)]
pub use bijection::passes::Passes;
#[doc(inline)]
pub use bijection::traits::{Bijection, Trusted, TrustedBijection};
pub use error::*;
pub use seed::{KeyDomain, KeyStream, Seed};
pub use word::Word;

/// What the packages of this project share. It promises nothing to others.
#[doc(hidden)]
pub mod engine;
