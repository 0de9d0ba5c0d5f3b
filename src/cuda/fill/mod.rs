//! Arrays in device memory, filled with random numbers. The kernels are in gpu/fill.cuh.

mod generator;
mod kernels;
mod philox;
mod streams;
mod tuning;

#[cfg(test)]
mod tests;

pub use generator::DeviceGenerator;
pub use streams::CudaStreams;
