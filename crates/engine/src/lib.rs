#![doc = include_str!("../README.md")]
#![allow(
    missing_docs,
    missing_debug_implementations,
    reason = "only the project's packages see it"
)]

pub mod abort;
mod crew;
mod length;
pub mod machine;
pub mod memory;
pub mod parallel;
pub mod saved;
pub mod stream;

pub use bijective_shuffle_core::error::{IndexError, OutOfMemory};
pub use bijective_shuffle_core::internal::{bijection, check, philox4x32, seed, simd, word, words};
pub use length::LengthMismatch;
