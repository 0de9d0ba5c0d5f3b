//! [`CudaStrategy`], and [`plan`], which chooses one and has it planned.

use super::job::Job;
use super::movement::MovedArray;
use super::partitioned::Partitioning;
use super::{checked, direct, tuning};
use crate::Error;
use crate::compact::Direction;
use crate::cuda::runtime::device::GpuLimits;
use crate::cuda::runtime::plan::DevicePlan;
use crate::cuda::runtime::word_type::WordType;

/// How the GPU engine moves items. All strategies give the same result. [`Auto`](Self::Auto) is for
/// all uses but measurements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CudaStrategy {
    /// The strategy that is expected to be fastest.
    #[default]
    Auto,
    /// Does everything in one kernel, whose tiles get their places by decoupled look-back (Merrill
    /// and Garland, 2016): `Bijective2` of Mitchell et al. (2022). Where the GPU can hold all tiles
    /// at the same time, each of them adds up the counts of all before it instead.
    ///
    /// It takes one launch for any length.
    SinglePass,
    /// Sorts the items into buckets in one or two passes, and then each bucket in shared memory:
    /// sequential access to memory only, and one evaluation for each item.
    ///
    /// It serves one array of items of 1, 2, 4, 8 or 16 bytes, and domains of at most 2^32 points,
    /// less than eight times as many as items. Elsewhere the single pass is used instead. Over a
    /// [group](crate::cuda::CudaGroup) of GPUs domains may have more points.
    Partitioned,
}

/// Plans a job by a strategy, for a device.
///
/// # Errors
///
/// [`GpuError::DomainTooWide`](crate::error::GpuError::DomainTooWide),
/// [`GpuError::OutOfMemory`](crate::error::GpuError::OutOfMemory) if no device has as much memory.
pub(crate) fn plan<'a>(
    job: &'a Job,
    strategy: CudaStrategy,
    limits: &GpuLimits,
) -> Result<DevicePlan<'a>, Error> {
    if job.len == 0 {
        return Ok(DevicePlan::new());
    }
    if !job.trusted {
        return checked::plan(job);
    }
    match strategy {
        CudaStrategy::Auto => fastest(job, limits),
        CudaStrategy::SinglePass => direct::single_pass(job, limits),
        CudaStrategy::Partitioned => match Partitioning::new(job, limits) {
            Some(partitioning) => partitioning.plan(job),
            None => direct::single_pass(job, limits),
        },
    }
}

/// Plans a job by the strategy that is expected to be fastest.
fn fastest<'a>(job: &'a Job, limits: &GpuLimits) -> Result<DevicePlan<'a>, Error> {
    let caches = match job.movement.direction() {
        Direction::Shuffle => tuning::PARTITION_CACHES,
        Direction::Unshuffle => tuning::PARTITION_BACK_CACHES,
    };
    // Short calls do not pay for working out the sizes of a strategy that they do not use.
    let is_large = |(array, _): &(MovedArray, WordType)| {
        job.len.saturating_mul(array.item as u64) >= caches * limits.l2_bytes
    };
    let partitioning = match job.movement.word().filter(is_large) {
        Some(_) => Partitioning::new(job, limits),
        None => None,
    };
    match partitioning {
        Some(sizes) => Ok(sizes.plan(job)?.or(direct::single_pass(job, limits)?)),
        None => direct::single_pass(job, limits),
    }
}
