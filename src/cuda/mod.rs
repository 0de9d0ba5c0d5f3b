//! The engine on an NVIDIA GPU.
//!
//! | for | see |
//! | --- | --- |
//! | slices in host memory, copied to the device and back | [`Cuda`], which is cheap to clone and is a [`Compactor`](crate::Compactor) |
//! | slices in device memory, with kernels and memory kept from call to call | [`CudaWorkspace`] |
//! | several arrays at once | [`CudaArrays`] |
//! | the GPUs of one process | [`CudaGroup`] |
//! | the GPUs of several processes | [`CudaExchange`] |
//! | random numbers | [`CudaStreams`], [`device_header`] |
//!
//! Device memory and streams are those of [`cudarc`], so this module follows that crate's versions:
//! a new minor version of `cudarc` may be a breaking change here, and nowhere else in this crate.

// ```text
// runtime    driver, compiler, memory, typed kernels, plans; independent of shuffles
// nccl       the GPUs of several processes, by the library NCCL
// shuffle    moving items, or writing indexes, in the order of a bijection; gpu/shuffle
// batch      many permutations of one length; gpu/batch
// affine     permuting arrays by affine maps; gpu/affine.cuh
// fill       filling arrays with random numbers; gpu/fill.cuh
// group      arrays that are divided among several GPUs; gpu/group
// view       parts of a permutation; gpu/view.cuh
// promised   what runs without the compiler; `make_kernels` hands it to crates/kernels/make
// header     the generators as a text, for kernels of users
// engine     `Cuda`: a device, a stream and a strategy
// workspace  the engine on device memory, with methods from several rooms
// in_place   its methods for an array within its own memory
// raw        its methods for arrays at raw addresses
// host       the engine on slices in host memory, copied to the device and back
// ```
//
// Each room decides which kernels do a job and puts them in a `DevicePlan`. An `Executor` compiles
// a plan's kernels, reserves its memory, or executes it. `CudaWorkspace` is no `Compactor`, since
// its slices are those of cudarc. `CudaStrategy` is not the CPU's `Strategy`: only two names would
// be the same, and they would mean different kernels.

mod affine;
mod batch;
mod engine;
mod fill;
mod group;
mod header;
mod host;
mod in_place;
#[doc(hidden)]
pub mod make_kernels;
mod nccl;
mod promised;
mod raw;
mod runtime;
mod shuffle;
mod view;
mod workspace;

#[cfg(test)]
mod cplusplus;
#[cfg(test)]
mod tests;

pub use engine::Cuda;
pub use fill::{CudaStreams, DeviceGenerator};
pub use group::{CudaExchange, CudaGroup};
pub use header::device_header;
pub use nccl::NcclId;
pub use raw::{RawArray, RawOffsets};
pub use runtime::array::{DeviceArray, DeviceArrayMut};
pub use shuffle::strategy::CudaStrategy;
pub(crate) use view::SlotPart;
pub use workspace::{CudaArrays, CudaWorkspace};

/// Re-exported in the version that this crate uses: [`CudaWorkspace`] takes its device memory and
/// streams.
pub use cudarc;
