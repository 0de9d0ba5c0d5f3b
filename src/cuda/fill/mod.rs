//! Filling arrays in device memory with random numbers. The kernels are in gpu/fill.cuh.
//!
//! Fills by one stream of Philox are methods of [`Cuda`](crate::cuda::Cuda), because Philox has no
//! state but its position, which the host keeps. Fills by ensembles are methods of [`CudaStreams`],
//! because the states of an ensemble stay on the device from call to call.

mod generator;
mod kernels;
mod philox;
mod streams;
mod tuning;

#[cfg(test)]
mod tests;

use self::generator::DeviceDraw;
use super::runtime::plan::DevicePlan;
use crate::Error;
use crate::rng::engine::{F32, F64, NormalF32, NormalF64, U32, U64};
use crate::rng::{
    LaggedFibonacci521, LaggedFibonacci1279, Lcg32, Lcg64, Mwc, Philox4x32Rng, XorShift1024Weyl,
    Xorwow,
};

pub use generator::DeviceGenerator;
pub use streams::CudaStreams;

/// Calls a function with the plans of all fills, in every shape that a device with this number of
/// multiprocessors gets. Of Philox4x32 it has only the plans with 10 rounds.
pub(super) fn each_plan(
    multiprocessors: u32,
    run: &mut dyn FnMut(&DevicePlan<'_>),
) -> Result<(), Error> {
    each_plan_of::<U32>(multiprocessors, run)?;
    each_plan_of::<U64>(multiprocessors, run)?;
    each_plan_of::<F32>(multiprocessors, run)?;
    each_plan_of::<F64>(multiprocessors, run)?;
    each_plan_of::<NormalF32>(multiprocessors, run)?;
    each_plan_of::<NormalF64>(multiprocessors, run)
}

fn each_plan_of<D: DeviceDraw>(
    multiprocessors: u32,
    run: &mut dyn FnMut(&DevicePlan<'_>),
) -> Result<(), Error> {
    philox::each_plan::<D, 10>(multiprocessors, run)?;
    streams::each_plan::<Philox4x32Rng<10>, D>(multiprocessors, run)?;
    streams::each_plan::<Lcg32, D>(multiprocessors, run)?;
    streams::each_plan::<Lcg64, D>(multiprocessors, run)?;
    streams::each_plan::<Mwc, D>(multiprocessors, run)?;
    streams::each_plan::<Xorwow, D>(multiprocessors, run)?;
    streams::each_plan::<XorShift1024Weyl, D>(multiprocessors, run)?;
    streams::each_plan::<LaggedFibonacci521, D>(multiprocessors, run)?;
    streams::each_plan::<LaggedFibonacci1279, D>(multiprocessors, run)
}
