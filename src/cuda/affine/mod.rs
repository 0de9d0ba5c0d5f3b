//! Permuting arrays in device memory by affine maps. The kernels are in gpu/affine.cuh.

mod arguments;
mod kernels;
pub(crate) mod plan;
pub(crate) mod tuning;
mod workspace;
