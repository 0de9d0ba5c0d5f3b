//! Several arrays that a group moves by one permutation, with all members on one device.

use bijective_shuffle::DeviceSource;
use bijective_shuffle::Serial;
use bijective_shuffle::bijection::{Lcg, Standard, VariablePhilox};
use bijective_shuffle::cuda::cudarc::driver::{
    CudaContext, CudaSlice, DeviceRepr, ValidAsZeroBits,
};
use bijective_shuffle::cuda::{Cuda, CudaGroup, CudaStrategy};
use bijective_shuffle::error::{Defect, GpuError};
use bijective_shuffle::prelude::*;

use super::group::{STRATEGIES, logical};
use super::refusals::Claims;
use crate::common::group::check_arrays;
use bijective_shuffle_laws::agreement::reference;
use bijective_shuffle_laws::{lengths, short};

/// A bijection on the device for which nobody vouches.
struct Unvouched<B>(B);

impl<B: Bijection> Bijection for Unvouched<B> {
    fn last(&self) -> u64 {
        self.0.last()
    }
    fn forward(&self, slot: u64) -> u64 {
        self.0.forward(slot)
    }
    fn inverse(&self, index: u64) -> u64 {
        self.0.inverse(index)
    }
    fn device_source(&self) -> Option<DeviceSource> {
        self.0.device_source()
    }
}

#[test]
fn every_length_of_several_arrays() {
    for (members, strategy) in [(3, CudaStrategy::Partitioned), (2, CudaStrategy::SinglePass)] {
        let Some(mut group) = logical(members, strategy) else { return };
        for len in lengths(12).into_iter().step_by(if short() { 15 } else { 3 }) {
            let f = Standard::from_seed(len, len ^ 5);
            let order = reference(&f, len as usize);
            check_arrays(
                &mut group,
                &f,
                &order,
                &format!("{members} members, {strategy:?}, {len}"),
            );
        }
    }
}

/// Words are exchanged, in the working memory of the largest, and rows are fetched.
#[test]
fn long_arrays_one_after_the_other() {
    let Some(mut group) = logical(3, CudaStrategy::Auto) else { return };
    for len in [800_001, 1 << 21, 3_000_001].into_iter().take(if short() { 1 } else { 3 }) {
        let f = Standard::from_seed(len as u64, 8);
        check_arrays(&mut group, &f, &reference(&f, len), &format!("{len} items"));
    }
}

/// Maps that keep neighbours together overflow the buckets of each array's exchange.
#[test]
fn arrays_whose_buckets_overflow() {
    let Some(mut group) = logical(2, CudaStrategy::Partitioned) else { return };
    let f = Lcg::new(18, 1, 5).unwrap();
    for len in [150_000, 1 << 18] {
        check_arrays(&mut group, &f, &reference(&f, len), &format!("{len} items"));
    }
}

#[test]
fn a_bijection_is_checked_once_for_all() {
    for strategy in STRATEGIES {
        let Some(mut group) = logical(2, strategy) else { return };
        let f = Unvouched(Standard::from_seed(50_001, 3));
        check_arrays(&mut group, &f, &reference(&f, 50_001), &format!("{strategy:?}"));
    }
}

#[test]
fn what_each_array_reserves_is_enough_for_all() {
    for strategy in STRATEGIES {
        let Some(mut group) = logical(2, strategy) else { return };
        let lens = [300_000, 300_001];
        let f = Standard::from_seed(600_001, 3);
        group.reserve::<u64>(&f, &lens, &lens).unwrap();
        group.reserve::<u32>(&f, &lens, &lens).unwrap();
        let held = group.reserve::<[u32; 3]>(&f, &lens, &lens).unwrap();
        let (keys, mut new_keys) = (runs::<u64>(&group, lens), runs::<u64>(&group, lens));
        let (labels, mut new_labels) = (runs::<u32>(&group, lens), runs::<u32>(&group, lens));
        let (rows, mut new_rows) = (runs::<[u32; 3]>(&group, lens), runs::<[u32; 3]>(&group, lens));
        for is_back in [false, true] {
            let arrays = group.arrays(&f, 600_001).array(&rows, &mut new_rows).unwrap();
            let arrays = arrays.array(&labels, &mut new_labels).unwrap();
            let arrays = arrays.array(&keys, &mut new_keys).unwrap();
            if is_back { arrays.unshuffle() } else { arrays.shuffle() }.unwrap();
        }
        group.synchronize().unwrap();
        assert_eq!(group.bytes(), held, "{strategy:?}");
    }
}

/// A slice of zeros on each member.
fn runs<T: DeviceRepr + ValidAsZeroBits>(group: &CudaGroup, lens: [usize; 2]) -> Vec<CudaSlice<T>> {
    let runs = group.streams().zip(lens);
    runs.map(|(stream, len)| stream.alloc_zeros::<T>(len).unwrap()).collect()
}

/// Whether nothing but zeros is there.
fn are_zero(group: &CudaGroup, runs: &[CudaSlice<u64>]) -> bool {
    group.synchronize().unwrap();
    group.streams().zip(runs).all(|(stream, run)| {
        let items = stream.clone_dtoh(run).unwrap();
        stream.synchronize().unwrap();
        items.iter().all(|&item| item == 0)
    })
}

#[test]
fn one_array_that_cannot_be_moved_keeps_all_where_they_are() {
    let Some(mut group) = logical(2, CudaStrategy::Auto) else { return };
    let f = Standard::from_seed(200, 1);
    let keys = ones(&group, [100, 100]);
    let mut new_keys = runs::<u64>(&group, [50, 150]);
    let rows = runs::<[u32; 3]>(&group, [100, 100]);

    let mut short = runs::<[u32; 3]>(&group, [100, 99]);
    let arrays = group.arrays(&f, 200).array(&keys, &mut new_keys).unwrap();
    assert_eq!(
        arrays.array(&rows, &mut short).unwrap_err(),
        Error::LengthMismatch { expected: 200, actual: 199 }
    );
    let arrays = group.arrays(&f, 200).array(&keys, &mut new_keys).unwrap();
    assert_eq!(
        arrays.array(&rows, &mut short[..1]).unwrap_err(),
        Error::Gpu(GpuError::Members { members: 2, slices: 1 })
    );
    // The first array is refused too if it has not the length of the call.
    assert_eq!(
        group.arrays(&f, 201).array(&keys, &mut new_keys).unwrap_err(),
        Error::LengthMismatch { expected: 201, actual: 200 }
    );
    let large = runs::<[u8; 1 << 17]>(&group, [1, 1]);
    let mut new_large = runs::<[u8; 1 << 17]>(&group, [1, 1]);
    let (pair, mut new_pair) = (ones(&group, [1, 1]), runs::<u64>(&group, [1, 1]));
    let arrays = group.arrays(&f, 2).array(&pair, &mut new_pair).unwrap();
    assert_eq!(
        arrays.array(&large, &mut new_large).unwrap().shuffle(),
        Err(Error::Gpu(GpuError::ItemTooLarge { bytes: 1 << 17, most: 1 << 16 }))
    );
    let narrow = VariablePhilox::<24>::new(7, [1; 24]).unwrap();
    let arrays = group.arrays(&narrow, 200).array(&keys, &mut new_keys).unwrap();
    assert_eq!(arrays.unshuffle(), Err(Error::LengthExceedsDomain { len: 200, last: 127 }));
    if let Ok(context) = CudaContext::new_non_primary(0, 0) {
        let stream = context.new_stream().unwrap();
        let foreign = [stream.alloc_zeros(100).unwrap(), stream.alloc_zeros(100).unwrap()];
        let mut new_rows = runs::<[u32; 3]>(&group, [100, 100]);
        let arrays = group.arrays(&f, 200).array(&keys, &mut new_keys).unwrap();
        assert_eq!(
            arrays.array::<[u32; 3]>(&foreign, &mut new_rows).unwrap_err(),
            Error::Gpu(GpuError::WrongDevice { expected: 0, actual: 0 })
        );
    }
    assert!(are_zero(&group, &new_keys) && are_zero(&group, &new_pair));
    assert_eq!(group.bytes(), 0, "a call that is refused takes no memory");
}

/// Ones on each member.
fn ones(group: &CudaGroup, lens: [usize; 2]) -> Vec<CudaSlice<u64>> {
    let runs = group.streams().zip(lens);
    runs.map(|(stream, len)| stream.clone_htod(&vec![1; len]).unwrap()).collect()
}

#[test]
fn what_is_no_bijection_moves_no_array() {
    let Some(mut group) = logical(2, CudaStrategy::Auto) else { return };
    let f = Claims { last: 9, forward: "slot == 3 ? 2 : slot", words: 1, params: 1 };
    let (keys, others) = (ones(&group, [4, 6]), ones(&group, [9, 1]));
    let (mut to, mut back) = (runs::<u64>(&group, [5, 5]), runs::<u64>(&group, [1, 9]));
    let arrays = group.arrays(&f, 10).array(&keys, &mut to).unwrap();
    let answer = arrays.array(&others, &mut back).unwrap().shuffle();
    let repeated = matches!(answer, Err(Error::NotABijection(Defect::Repeats { index: 2, .. })));
    assert!(repeated, "{answer:?}");
    assert!(are_zero(&group, &to) && are_zero(&group, &back));
}

/// No items, and no arrays.
#[test]
fn there_may_be_nothing_to_move() {
    let Some(mut group) = logical(2, CudaStrategy::Auto) else { return };
    let f = Standard::from_seed(200, 1);
    assert_eq!(group.arrays(&f, 200).shuffle(), Ok(()));
    let (last, beyond) = (f.last(), f.last() + 2);
    let exceeds = Err(Error::LengthExceedsDomain { len: beyond, last });
    assert_eq!(group.arrays(&f, beyond as usize).shuffle(), exceeds);
    let (keys, mut new_keys) = (ones(&group, [1, 1]), runs::<u64>(&group, [1, 1]));
    let none: Vec<_> = keys.iter().map(|run| run.slice(..0)).collect();
    let mut nothing: Vec<_> = new_keys.iter_mut().map(|run| run.slice_mut(..0)).collect();
    let arrays = group.arrays(&f, 0).array(&none, &mut nothing).unwrap();
    assert!(format!("{arrays:?}").contains("item_bytes: [8]"), "{arrays:?}");
    assert_eq!(arrays.unshuffle(), Ok(()));
    assert_eq!(group.bytes(), 0);
    assert!(are_zero(&group, &new_keys));
}

/// Each array waits for what is in its slices' streams, and later calls wait for the arrays.
#[test]
fn calls_of_arrays_follow_each_other_without_waiting() {
    let Some(mut group) = logical(3, CudaStrategy::Partitioned) else { return };
    let part = 20_000_u64;
    let len = 3 * part;
    let other = Cuda::new().unwrap().stream().clone();
    let (mut keys, mut labels) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for first in (0..len).step_by(part as usize) {
        // They are written in another stream, for which the group has to wait.
        let items: Vec<u64> = (first..first + part).collect();
        let tags: Vec<u32> = items.iter().map(|&item| !item as u32).collect();
        keys[0].push(other.clone_htod(&items).unwrap());
        keys[1].push(other.alloc_zeros::<u64>(part as usize).unwrap());
        labels[0].push(other.clone_htod(&tags).unwrap());
        labels[1].push(other.alloc_zeros::<u32>(part as usize).unwrap());
    }
    let mut expected: Vec<u64> = (0..len).collect();
    for seed in 0..10 {
        let f = Standard::from_seed(len, seed);
        let ([from, to], [tags, new_tags]) = (&mut keys, &mut labels);
        let arrays = group.arrays(&f, len as usize).array(from, to).unwrap();
        arrays.array(tags, new_tags).unwrap().shuffle().unwrap();
        keys.swap(0, 1);
        labels.swap(0, 1);
        Serial.shuffle(&f, &mut expected).unwrap();
    }
    let (mut all, mut tags) = (Vec::new(), Vec::new());
    for (keys, labels) in keys[0].iter().zip(&labels[0]) {
        all.extend(other.clone_dtoh(keys).unwrap());
        tags.extend(other.clone_dtoh(labels).unwrap());
    }
    other.synchronize().unwrap();
    assert!(all == expected);
    assert!(tags.into_iter().eq(expected.iter().map(|&item| !item as u32)));
}
