//! The ground floor: what every other room stands on, and what needs none of them.

pub(crate) mod check;
pub(crate) mod machine;
pub(crate) mod memory;
pub(crate) mod philox4x32;
pub(crate) mod saved;
pub(crate) mod simd;
pub(crate) mod stream;
pub(crate) mod words;
