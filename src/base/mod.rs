//! The foundation: every other room may use it, and it uses none of them but the errors and words.

pub(crate) mod abort;
pub(crate) mod check;
pub(crate) mod machine;
pub(crate) mod memory;
pub(crate) mod parallel;
pub(crate) mod philox4x32;
pub(crate) mod saved;
pub(crate) mod simd;
pub(crate) mod stream;
pub(crate) mod words;
