//! The integration tests that are not of the back ends and the bijections, as one program: what is
//! generic is compiled once. Those are in `tests/conformance`.
//!
//! `cargo test --all-features --test suite views::` runs one module of it.

mod batches;
mod crews;
mod exchange;
// Where 2^32 items can be counted.
#[cfg(target_pointer_width = "64")]
mod extremes;
// Loom is for machines of 64 bits.
#[cfg(target_pointer_width = "64")]
mod fallback_model;
// Its chapters are of every part of the library.
#[cfg(all(feature = "affine", feature = "rng"))]
mod golden;
// Loom has no 64-bit atomics on machines of 32 bits.
#[cfg(target_pointer_width = "64")]
mod look_back_model;
#[cfg(target_os = "linux")]
mod memory;
mod partial;
mod peer_defects;
mod permutation;
mod sampler;
mod segments;
mod stats;
mod uniformity;
mod views;
