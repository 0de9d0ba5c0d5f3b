//! The integration tests that need no GPU, as one program: what is generic is compiled once.
//!
//! `cargo test --all-features --test suite engines` runs one module of it.

#[path = "../common/mod.rs"]
mod common;
#[path = "../../src/cplusplus.rs"]
mod cplusplus;

mod batches;
mod device_source;
mod engines;
mod far;
mod golden;
mod hostile;
mod laws;
mod liars;
// Loom has no 64-bit atomics on machines of 32 bits.
#[cfg(target_pointer_width = "64")]
mod look_back_model;
#[cfg(target_os = "linux")]
mod memory;
mod peer_defects;
mod sampler;
mod sizes;
#[cfg(feature = "stats")]
mod stats;
mod together;
mod twins;
mod uncompacted;
#[cfg(feature = "stats")]
mod uniformity;
mod verify;
mod views;
