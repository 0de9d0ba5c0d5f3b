//! The C library: `include/bijective_shuffle.h` says what it does, from the comments of these
//! functions.
//!
//! Every function works within [`status::guarded`], so that no panic leaves it and every failure
//! has a text. `order.rs` is all that knows the Rust library's permutations, `sampler.rs` and
//! `generator.rs` the rest of it.

pub mod bijection;
pub mod generator;
pub mod items;
mod memory;
mod order;
pub mod permutation;
pub mod sampler;
mod seed;
pub mod status;
pub mod threads;
