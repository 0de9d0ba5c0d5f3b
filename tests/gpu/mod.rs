//! The GPU engine: the lines of its back ends, and what is particular to it. Without a GPU every
//! test here is skipped and says so; with `BIJECTIVE_SHUFFLE_REQUIRE_GPU=1` it fails instead.

mod agreement;
mod back_ends;
mod batches;
mod device;
mod fill;
mod group;
mod permute;
mod protocol;
mod refusals;
mod views;

use bijective_shuffle::cudarc::driver::{CudaView, CudaViewMut, DeviceRepr};
use bijective_shuffle::prelude::*;
use bijective_shuffle::{Cuda, CudaStrategy, CudaWorkspace};

use crate::agreement::reference;
use crate::common::cuda;

back_ends! {
    cuda_view: back_ends::view();
    cuda_host: back_ends::host(CudaStrategy::Auto);
    cuda_host_partitioned: back_ends::host(CudaStrategy::Partitioned);
    cuda_device: back_ends::device(CudaStrategy::Auto);
    cuda_device_unfused: back_ends::device(CudaStrategy::Unfused);
    cuda_device_two_pass: back_ends::device(CudaStrategy::TwoPass);
    cuda_device_single_pass: back_ends::device(CudaStrategy::SinglePass);
    cuda_device_partitioned: back_ends::device(CudaStrategy::Partitioned);
    cuda_group: group::of_three(CudaStrategy::Auto);
    cuda_group_partitioned: group::of_three(CudaStrategy::Partitioned);
}

/// Every strategy.
const STRATEGIES: [CudaStrategy; 5] = [
    CudaStrategy::Auto,
    CudaStrategy::Unfused,
    CudaStrategy::TwoPass,
    CudaStrategy::SinglePass,
    CudaStrategy::Partitioned,
];

/// [`back_ends::guarded`], with a workspace of its own.
fn guarded<T: DeviceRepr + Copy + PartialEq>(
    cuda: &Cuda,
    poison: T,
    source: &[T],
    run: impl FnOnce(&mut CudaWorkspace, &CudaView<'_, T>, &mut CudaViewMut<'_, T>) -> Result<(), Error>,
) -> Result<Vec<T>, Error> {
    back_ends::guarded(&mut CudaWorkspace::new(cuda), poison, source, source.len(), run)
}
