//! The foundation: every other room may use it, and it uses none of them but the errors and words.

pub mod abort;
pub mod check;
pub mod machine;
pub mod memory;
pub mod parallel;
pub mod philox4x32;
pub mod saved;
pub mod simd;
pub mod stream;
pub mod words;
