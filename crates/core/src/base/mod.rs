//! The foundation: every other room may use it, and it uses none of them but the errors and words.

#[cfg(feature = "engine")]
pub mod abort;
pub mod check;
#[cfg(feature = "engine")]
pub mod machine;
#[cfg(feature = "engine")]
pub mod memory;
#[cfg(feature = "engine")]
pub mod parallel;
pub mod philox4x32;
pub mod saved;
pub mod simd;
#[cfg(feature = "engine")]
pub mod stream;
pub mod words;
