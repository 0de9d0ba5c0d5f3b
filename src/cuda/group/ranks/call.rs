//! [`RankCall`]: what the ranks move together, as each of them knows it.

use cudarc::driver::{CudaStream, sys};

use super::super::shards::MemberShards;
use super::super::sizes::GroupSizes;
use super::ballot::Ballot;
use crate::Error;
use crate::compact::Direction;
use crate::cuda::runtime::device::GpuLimits;
use crate::cuda::runtime::stream::failed;
use crate::cuda::runtime::word_type::WordType;
use crate::cuda::shuffle::job::Job;
use crate::cuda::shuffle::strategy::CudaStrategy;

/// What one rank was given: where its run of the array is, before and afterwards, and how many
/// items of how many bytes these have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Given {
    pub(super) source: u64,
    pub(super) out: u64,
    pub(super) lens: [usize; 2],
    pub(super) item: usize,
    pub(super) direction: Direction,
}

/// What is moved.
pub(super) struct RankCall<'a> {
    pub(super) job: &'a Job,
    pub(super) given: Given,
    /// The array before and afterwards. Addresses are known of this rank's runs alone.
    pub(super) source: MemberShards,
    pub(super) out: MemberShards,
}

impl RankCall<'_> {
    /// The sizes with which all ranks send their items in pieces; `None` if they do not.
    pub(super) fn sizes(&self, strategy: CudaStrategy, ballots: &[Ballot]) -> Option<GroupSizes> {
        let limits = ballots.iter().map(|ballot| ballot.limits).reduce(GpuLimits::common)?;
        let item = self.given.item as u64;
        let word = WordType::dividing(item | 16);
        let are_words = ballots.iter().all(|ballot| ballot.unit == item);
        let words = are_words.then_some(word)?;
        let arrays = [&self.source, &self.out];
        GroupSizes::of_job(&limits, self.job, strategy, words, arrays, self.given.direction)
    }
}

/// Copies bytes on the device, in a stream's order.
///
/// # Errors
///
/// [`GpuError::DriverFailed`](crate::error::GpuError::DriverFailed).
///
/// # Safety
///
/// There are as many bytes at both addresses, which the stream may read and write.
pub(super) unsafe fn copy_bytes(
    stream: &CudaStream,
    from: u64,
    to: u64,
    bytes: u64,
) -> Result<(), Error> {
    // What is in memory has no more bytes than a `usize` counts.
    let bytes = bytes as usize;
    if bytes == 0 {
        return Ok(());
    }
    // SAFETY: the caller promises the bytes at both addresses.
    unsafe { sys::cuMemcpyDtoDAsync_v2(to, from, bytes, stream.cu_stream()) }
        .result()
        .map_err(|error| failed(error, "copy on the device"))
}
