//! The C library: `include/bijective_shuffle.h` says what it does, from the comments of these
//! functions.
//!
//! Every function works within [`status::guarded`], so that no panic leaves it and every failure
//! has a text. Permutations are those of `crates/bindings`; `sampler.rs` and `generator.rs` are all
//! that knows the rest of the Rust library.

pub mod bijection;
pub mod generator;
pub mod items;
mod memory;
pub mod permutation;
pub mod sampler;
mod seed;
pub mod status;
pub mod threads;
