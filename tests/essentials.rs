//! The tests of `suite` and `conformance` that CI runs in other builds too: without default
//! features, without overflow and debug checks, and by Miri (`.ci/sanitize`). They are compiled by
//! themselves, which takes a fraction of the time; `cargo test` leaves this program out, and runs
//! them in those.

#[path = "conformance/bijections.rs"]
mod bijections;
#[path = "suite/sampler.rs"]
mod sampler;
#[path = "suite/views/mod.rs"]
mod views;
