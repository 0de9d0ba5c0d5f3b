//! What a call of a group is given: slices as arrays over the members, and the job.

use std::sync::Arc;

use cudarc::driver::CudaStream;

use super::shards::MemberShards;
use crate::compact::Order;
use crate::cuda::runtime::array::{DeviceArray, DeviceArrayMut};
use crate::cuda::runtime::in_use::SlicesInUse;
use crate::cuda::runtime::plan::Address;
use crate::cuda::runtime::word_type::WordType;
use crate::cuda::shuffle::job::Job;
use crate::cuda::shuffle::movement::{LARGEST_ITEM, Movement};
use crate::error::GpuError;
use crate::{Bijection, Error};

/// A movement for jobs that say only what is evaluated.
pub(super) fn nowhere() -> Movement {
    Movement::Indices { out: Address::Given(256), word: WordType::U64 }
}

/// The job of moving `len` items of a size; `None` if there is nothing to move.
///
/// # Errors
///
/// As [`Job::new`], and [`GpuError::ItemTooLarge`](crate::error::GpuError::ItemTooLarge).
pub(super) fn job_of_items(
    bijection: &dyn Bijection,
    len: u64,
    item: usize,
) -> Result<Option<Job>, Error> {
    let job = Job::new(bijection, len, nowhere())?;
    if item > LARGEST_ITEM {
        let (bytes, most) = (item, LARGEST_ITEM);
        return Err(GpuError::ItemTooLarge { bytes, most }.into());
    }
    // Items of size zero cannot be told apart, so they need not be moved.
    Ok((len > 0 && item > 0).then_some(job))
}

/// The number of all members' items. Lengths that are reserved for need not be those of slices, so
/// there may be any number.
///
/// # Errors
///
/// [`Error::LengthExceedsDomain`] if 64 bits do not count them.
pub(super) fn total<'o>(
    lens: impl IntoIterator<Item = usize>,
    order: impl Into<Order<'o>>,
) -> Result<u64, Error> {
    let mut lens = lens.into_iter();
    let total = lens.try_fold(0_u64, |sum, len| sum.checked_add(len as u64));
    total.ok_or_else(|| {
        let last = order.into().for_len(u64::MAX).bijection().last();
        Error::LengthExceedsDomain { len: u64::MAX, last }
    })
}

/// The array of slices that are read in the members' streams.
pub(super) fn reading<'g, T>(
    slices: &'g [impl DeviceArray<T>],
    streams: &'g [Arc<CudaStream>],
    guards: &mut SlicesInUse<'g>,
) -> MemberShards {
    let runs =
        slices.iter().zip(streams).map(|(slice, stream)| (guards.read(slice, stream), slice.len()));
    MemberShards::new(runs, size_of::<T>())
}

/// The array of slices that are written in the members' streams.
pub(super) fn writing<'g, T>(
    slices: &'g mut [impl DeviceArrayMut<T>],
    streams: &'g [Arc<CudaStream>],
    guards: &mut SlicesInUse<'g>,
) -> MemberShards {
    let runs = slices.iter_mut().zip(streams).map(|(slice, stream)| {
        let len = slice.len();
        (guards.write(slice, stream), len)
    });
    MemberShards::new(runs, size_of::<T>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bijection::Lcg;

    #[test]
    fn lengths_that_64_bits_do_not_count_are_refused() {
        let f = Lcg::new(20, 5, 1).unwrap();
        assert_eq!(total([3, 0, 4], &f), Ok(7));
        assert_eq!(total([usize::MAX, 0], &f), Ok(usize::MAX as u64));
        let last = f.last();
        let refused = Err(Error::LengthExceedsDomain { len: u64::MAX, last });
        assert_eq!(total([usize::MAX, 1], &f), refused);
        assert_eq!(total([usize::MAX / 2 + 1; 2], &f), refused);
    }

    #[test]
    fn large_items_and_lengths_are_refused_before_anything_is_taken() {
        let f = Lcg::new(20, 5, 1).unwrap();
        assert!(job_of_items(&f, 1 << 20, LARGEST_ITEM).unwrap().is_some());
        assert!(job_of_items(&f, 0, 8).unwrap().is_none());
        assert!(job_of_items(&f, 7, 0).unwrap().is_none());
        let answer = |len, item| job_of_items(&f, len, item).map(drop);
        let (bytes, most) = (LARGEST_ITEM + 1, LARGEST_ITEM);
        assert_eq!(answer(7, bytes), Err(GpuError::ItemTooLarge { bytes, most }.into()));
        let (len, last) = ((1 << 20) + 1, f.last());
        assert_eq!(answer(len, 8), Err(Error::LengthExceedsDomain { len, last }));
    }
}
