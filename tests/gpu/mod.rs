//! The GPU engine: its back ends, and what is particular to it. Without a GPU every test here is
//! skipped and says so; with `BIJECTIVE_SHUFFLE_REQUIRE_GPU=1` it fails instead.

mod agreement;
mod back_ends;
mod batches;
mod device;
mod fill;
mod group;
mod permute;
mod protocol;
mod refusals;
mod segments;
mod streams;
mod views;

use bijective_shuffle::Error;
use bijective_shuffle::cuda::cudarc::driver::{CudaView, CudaViewMut, DeviceRepr};
use bijective_shuffle::cuda::{Cuda, CudaStrategy, CudaWorkspace};

use crate::common::cuda;
use bijective_shuffle_laws::agreement::reference;

/// Every strategy.
const STRATEGIES: [CudaStrategy; 3] =
    [CudaStrategy::Auto, CudaStrategy::SinglePass, CudaStrategy::Partitioned];

/// [`back_ends::guarded`], with a workspace of its own.
fn guarded<T: DeviceRepr + Copy + PartialEq>(
    cuda: &Cuda,
    poison: T,
    source: &[T],
    run: impl FnOnce(&mut CudaWorkspace, &CudaView<'_, T>, &mut CudaViewMut<'_, T>) -> Result<(), Error>,
) -> Result<Vec<T>, Error> {
    back_ends::guarded(&mut CudaWorkspace::new(cuda), poison, source, source.len(), run)
}
