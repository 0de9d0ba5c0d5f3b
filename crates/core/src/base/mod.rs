//! The foundation: every other room may use it, and it uses none of them but the errors and words.

pub mod check;
pub mod philox4x32;
pub mod simd;
pub mod words;
