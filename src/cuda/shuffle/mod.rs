//! Items or indexes in the order of a bijection: which strategy does it, and by which kernels.
//!
//! A [`Job`] is what is to be done, [`plan`] decides how, and an
//! [`Executor`](super::runtime::executor::Executor) does it. The kernels are in gpu/shuffle.
//!
//! ```text
//! job        a permutation to be applied   movement     what is moved, and which way
//! direct     every slot is evaluated       partitioned  items are sorted roughly first
//! checked    nobody vouches for it         partition    the sizes of the partitioned strategy
//! kernels    the kernels, typed            tuning       shapes and thresholds, as measured
//! ```

mod checked;
mod direct;
mod job;
pub(crate) mod kernels;
pub(crate) mod movement;
pub(crate) mod partition;
mod partitioned;
pub(crate) mod tuning;

use partitioned::Partitioning;

pub(crate) use job::Job;

use super::CudaStrategy;
use super::runtime::device::Limits;
use super::runtime::plan::Plan;
use crate::compact::Direction;
use crate::error::Error;

/// How a job is done by a strategy, on a device.
///
/// # Errors
///
/// [`Error::DomainTooWide`], [`Error::DeviceMemory`] if no device has as much.
pub(crate) fn plan<'a>(
    job: &'a Job,
    strategy: CudaStrategy,
    limits: &Limits,
) -> Result<Plan<'a>, Error> {
    if job.len == 0 {
        return Ok(Plan::new());
    }
    if !job.trusted {
        return checked::plan(job);
    }
    match strategy {
        CudaStrategy::Auto => fastest(job, limits),
        CudaStrategy::Unfused => direct::unfused(job),
        CudaStrategy::TwoPass => direct::two_pass(job),
        CudaStrategy::SinglePass => direct::single_pass(job),
        CudaStrategy::Partitioned => match Partitioning::new(job, limits) {
            Some(partitioning) => partitioning.plan(job),
            None => direct::single_pass(job),
        },
    }
}

/// The strategy that is expected to be the fastest.
fn fastest<'a>(job: &'a Job, limits: &Limits) -> Result<Plan<'a>, Error> {
    let caches = match job.movement.direction() {
        Direction::Shuffle => tuning::PARTITION_CACHES,
        Direction::Unshuffle => tuning::PARTITION_BACK_CACHES,
    };
    match Partitioning::new(job, limits) {
        Some(partitioning)
            if job.len * partitioning.array.item as u64 >= caches * limits.l2_bytes =>
        {
            Ok(partitioning.plan(job)?.or(direct::single_pass(job)?))
        }
        _ => direct::single_pass(job),
    }
}
