//! One body of tests for every back end: the same laws, lengths, items, columns, lies and threads.
//!
//! Each line of `back_ends!` is a back end, and makes a module of tests, one for each law. A new
//! back end is an implementation of `UnderTest` and a line, both in [`back_ends`], or in
//! [`gpu::back_ends`] if it needs a GPU. The laws are the package `tests/laws`, on which
//! `crates/wgpu` depends too. The command
//! `cargo test --test conformance back_ends::serial::` tests one of them by all laws, and
//! `cargo test --test conformance every_length` all of them by one.
//!
//! The bijections that the back ends are given have laws of their own, in [`bijections`],
//! [`verify`] and [`device_source`]: every family is compiled once, in this program.
//!
//! [`gpu`] has the GPU's lines and what is particular to its engine. Without a GPU its tests are
//! skipped and say so; with `BIJECTIVE_SHUFFLE_REQUIRE_GPU=1` they fail instead.

#[macro_use]
extern crate bijective_shuffle_laws;

#[path = "../../src/cuda/cplusplus.rs"]
mod cplusplus;

mod back_ends;
mod bijections;
mod columns;
// CUDA has no driver for 32 bits, nor for other systems.
#[cfg(all(
    feature = "cuda",
    target_pointer_width = "64",
    any(target_os = "linux", target_os = "windows")
))]
#[path = "../common/mod.rs"]
mod common;
mod device_source;
mod far;
// CUDA has no driver for 32 bits, nor for other systems.
#[cfg(all(
    feature = "cuda",
    target_pointer_width = "64",
    any(target_os = "linux", target_os = "windows")
))]
#[path = "../gpu/mod.rs"]
mod gpu;
mod particular;
mod sizes;
mod verify;
