//! The integration tests that are not of the back ends, as one program: what is generic is compiled
//! once. Those of the back ends are in `tests/conformance`.
//!
//! `cargo test --all-features --test suite views::` runs one module of it.

#[path = "../common/mod.rs"]
mod common;
#[path = "../../src/cplusplus.rs"]
mod cplusplus;

mod batches;
mod device_source;
mod golden;
mod laws;
// Loom has no 64-bit atomics on machines of 32 bits.
#[cfg(target_pointer_width = "64")]
mod look_back_model;
#[cfg(target_os = "linux")]
mod memory;
mod peer_defects;
mod permutation;
mod sampler;
#[cfg(feature = "stats")]
mod stats;
#[cfg(feature = "stats")]
mod uniformity;
mod verify;
mod views;
