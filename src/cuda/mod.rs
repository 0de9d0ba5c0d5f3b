//! [`Cuda`]: the engine on an NVIDIA GPU.
//!
//! ```text
//! runtime    driver, compiler, memory, kernels with types, plans; knows nothing of shuffles
//! shuffle    items and indexes in the order of a bijection; gpu/shuffle
//! batch      many permutations of one length; gpu/batch
//! affine     arrays permuted by affine maps; gpu/affine.cuh
//! fill       arrays filled with random numbers; gpu/fill.cuh
//! engine     `Cuda` itself, on one stream
//! workspace  the engine on device memory, which all rooms serve
//! host       the engine on slices in host memory, there and back over the link
//! ```
//!
//! Each room decides which kernels do a job and makes a [`Plan`](runtime::plan::Plan) of them, which
//! an [`Executor`](runtime::executor::Executor) compiles for, reserves memory for, or executes.

mod affine;
mod batch;
mod engine;
mod fill;
mod host;
mod runtime;
mod shuffle;
mod strategy;
mod workspace;

#[cfg(test)]
#[path = "../cplusplus.rs"]
mod cplusplus;
#[cfg(test)]
mod tests;

pub use affine::DeviceNumber;
pub use engine::Cuda;
pub use fill::{CudaStreams, DeviceGenerator};
pub use runtime::array::{DeviceArray, DeviceArrayMut};
pub use strategy::CudaStrategy;
pub use workspace::{CudaArrays, CudaWorkspace};
