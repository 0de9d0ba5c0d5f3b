//! Filling arrays in device memory with random numbers. The kernels are in gpu/fill.cuh.
//!
//! Fills by one stream of Philox are methods of [`Cuda`](crate::Cuda), because Philox has no state
//! but its position, which the host keeps. Fills by ensembles are methods of [`CudaStreams`],
//! because the states of an ensemble stay on the device from call to call.

mod generator;
mod kernels;
mod philox;
mod streams;
mod tuning;

#[cfg(test)]
mod tests;

pub use generator::DeviceGenerator;
pub use streams::CudaStreams;
