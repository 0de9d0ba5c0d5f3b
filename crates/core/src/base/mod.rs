//! The foundation: every other room may use it, and it uses none of them but the errors and words.

#[cfg(feature = "engine")]
#[doc(hidden)]
pub mod abort;
#[doc(hidden)]
pub mod check;
#[cfg(feature = "engine")]
mod crew;
#[cfg(feature = "engine")]
#[doc(hidden)]
pub mod machine;
#[cfg(feature = "engine")]
#[doc(hidden)]
pub mod memory;
#[cfg(feature = "engine")]
#[doc(hidden)]
pub mod parallel;
pub mod philox4x32;
#[doc(hidden)]
pub mod saved;
#[doc(hidden)]
pub mod simd;
#[cfg(feature = "engine")]
#[doc(hidden)]
pub mod stream;
#[doc(hidden)]
pub mod words;
