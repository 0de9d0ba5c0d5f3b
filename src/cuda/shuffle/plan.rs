//! [`plan`]: plans a job by a strategy, or by the fastest one.

use super::job::Job;
use super::partitioned::Partitioning;
use super::{checked, direct, tuning};
use crate::compact::Direction;
use crate::cuda::runtime::device::Limits;
use crate::cuda::runtime::plan::Plan;
use crate::cuda::strategy::CudaStrategy;
use crate::error::Error;

/// Plans a job by a strategy, for a device.
///
/// # Errors
///
/// [`GpuError::DomainTooWide`](crate::GpuError::DomainTooWide),
/// [`GpuError::OutOfMemory`](crate::GpuError::OutOfMemory) if no device has as much memory.
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

/// Plans a job by the strategy that is expected to be fastest.
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
