//! A group whose members are all on one device, which is as far as one device can try it.

use std::sync::OnceLock;

use bijective_shuffle::Error;
use bijective_shuffle::Serial;
use bijective_shuffle::bijection::{Lcg, Standard, VariablePhilox};
use bijective_shuffle::cuda::cudarc::driver::{
    CudaContext, CudaSlice, CudaView, CudaViewMut, DeviceRepr,
};
use bijective_shuffle::cuda::{Cuda, CudaGroup, CudaStrategy};
use bijective_shuffle::error::GpuError;
use bijective_shuffle::prelude::*;

use super::back_ends::order;
use crate::common::cuda;
use crate::common::group::{check, guarded};
use bijective_shuffle_laws::agreement::reference;
use bijective_shuffle_laws::items::Items;
use bijective_shuffle_laws::under_test::{Answer, Direction, Given, UnderTest};
use bijective_shuffle_laws::{every_family, lengths, long, short};

pub(super) const STRATEGIES: [CudaStrategy; 3] =
    [CudaStrategy::Auto, CudaStrategy::SinglePass, CudaStrategy::Partitioned];

/// Members with streams of their own on one device.
pub(super) fn logical(members: usize, strategy: CudaStrategy) -> Option<CudaGroup> {
    cuda()?;
    let engines: Vec<_> = (0..members).map(|_| Cuda::new().unwrap()).collect();
    Some(CudaGroup::new(&engines).unwrap().with_strategy(strategy))
}

/// Three members: before the call the second has no items, and the third has most of them.
pub(crate) fn of_three(strategy: CudaStrategy) -> Option<impl UnderTest> {
    static THERE: OnceLock<bool> = OnceLock::new();
    let is_there = *THERE.get_or_init(|| cuda().is_some());
    if is_there { logical(3, strategy).map(Group) } else { None }
}

struct Group(CudaGroup);

/// How many items the members have before, and afterwards.
fn uneven(len: usize) -> [Vec<usize>; 2] {
    [vec![len / 3, 0, len - len / 3], vec![len / 2, len / 4, len - len / 2 - len / 4]]
}

impl UnderTest for Group {
    fn serves(&self, given: &Given) -> bool {
        given.bijection.device_source().is_some()
    }

    fn into(&mut self, given: &Given, source: &Items, out: &mut Items, to: Direction) -> Answer {
        fn copy<T: DeviceRepr + Copy + Default + PartialEq>(
            group: &mut CudaGroup,
            given: &Given,
            source: &[T],
            out: &mut Vec<T>,
            to: Direction,
        ) -> Result<(), Error> {
            let poison = out.first().copied().unwrap_or_default();
            let lens = [&uneven(source.len())[0][..], &uneven(out.len())[1]];
            *out = guarded(group, poison, source, lens, |group, source, out| match to {
                Direction::Shuffle => group.shuffle_into(order(given), source, out),
                Direction::Unshuffle => group.unshuffle_into(order(given), source, out),
            })?;
            Ok(())
        }
        with_device_copies!(source, out, source, out => copy(&mut self.0, given, source, out, to))
    }
}

#[test]
fn every_length_over_any_number_of_members() {
    let groups = [
        (1, CudaStrategy::Partitioned),
        (2, CudaStrategy::Partitioned),
        (5, CudaStrategy::Partitioned),
        (16, CudaStrategy::Partitioned),
        (4, CudaStrategy::SinglePass),
    ];
    for (members, strategy) in groups.into_iter().skip(if short() { 2 } else { 0 }) {
        let Some(mut group) = logical(members, strategy) else { return };
        let lens = lengths(if long() { 20 } else { 12 });
        for len in lens.into_iter().step_by(if short() { 5 } else { 1 }) {
            let f = Standard::from_seed(len, len ^ 3);
            let order = reference(&f, len as usize);
            check(&mut group, &f, &order, &format!("{members} members, {strategy:?}, {len}"));
        }
    }
}

#[test]
fn large_lengths_over_some_members() {
    let Some(mut group) = logical(3, CudaStrategy::Auto) else { return };
    // Where a member has most of the last ones, these are sent in pieces.
    let lens = [800_001, 3_000_001, 1 << 21, (1 << 21) + 1, (1 << 23) - 5, (1 << 25) + 3];
    for &len in &lens[..if short() { 1 } else { 6 }] {
        let f = Standard::from_seed(len as u64, 8);
        check(&mut group, &f, &reference(&f, len), &format!("{len} items"));
    }
}

/// Maps that keep neighbours together overflow the buckets of one sender.
#[test]
fn families_and_maps_that_are_not_random() {
    for strategy in STRATEGIES {
        let Some(mut group) = logical(3, strategy) else { return };
        for (name, f) in every_family(10, 9) {
            // The short form leaves families to the laws of all back ends.
            if f.device_source().is_none() || short() {
                continue;
            }
            let points = f.last() + 1;
            for len in [points, points / 2 + 1] {
                let order = reference(&f, len as usize);
                check(&mut group, &f, &order, &format!("{name}, {len}, {strategy:?}"));
            }
        }
        for multiplier in [1, 3, (1 << 17) + 1] {
            let f = Lcg::new(19, multiplier, 5).unwrap();
            for len in [300_000, 1 << 19] {
                let what = format!("times {multiplier}, {len}, {strategy:?}");
                check(&mut group, &f, &reference(&f, len), &what);
            }
        }
    }
}

#[test]
fn calls_follow_each_other_without_waiting() {
    let Some(mut group) = logical(4, CudaStrategy::Partitioned) else { return };
    let streams: Vec<_> = group.streams().cloned().collect();
    let part = 20_000_u64;
    let len = part * streams.len() as u64;
    let mut arrays: Vec<Vec<CudaSlice<u64>>> = vec![Vec::new(), Vec::new()];
    for (stream, first) in streams.iter().zip((0..).step_by(part as usize)) {
        let items: Vec<u64> = (first..first + part).collect();
        arrays[0].push(stream.clone_htod(&items).unwrap());
        arrays[1].push(stream.alloc_zeros::<u64>(part as usize).unwrap());
    }
    let mut expected: Vec<u64> = (0..len).collect();
    for seed in 0..20 {
        let f = Standard::from_seed(len, seed);
        let (source, out) = arrays.split_at_mut(1);
        group.shuffle_into(&f, &source[0], &mut out[0]).unwrap();
        arrays.swap(0, 1);
        Serial.shuffle(&f, &mut expected).unwrap();
    }
    let mut all = Vec::new();
    for (stream, run) in streams.iter().zip(&arrays[0]) {
        all.extend(stream.clone_dtoh(run).unwrap());
    }
    group.synchronize().unwrap();
    assert!(all == expected);
}

/// Slices that begin at multiples of 8 bytes have items of 16.
#[test]
fn slices_of_any_alignment() {
    for strategy in STRATEGIES {
        let Some(mut group) = logical(2, strategy) else { return };
        let streams: Vec<_> = group.streams().cloned().collect();
        let each = 150_001;
        let f = Standard::from_seed(2 * each as u64, 4);
        let item = |index: u64| [index, !index];
        let (mut sources, mut outs) = (Vec::new(), Vec::new());
        for (stream, first) in streams.iter().zip((0..).step_by(each)) {
            let words = (first as u64..(first + each) as u64).flat_map(item);
            let words: Vec<u64> = core::iter::once(7).chain(words).collect();
            sources.push(stream.clone_htod(&words).unwrap());
            outs.push(stream.alloc_zeros::<u64>(2 * each + 2).unwrap());
        }
        let views: Vec<_> = sources.iter().map(|run| run.slice(1..)).collect();
        let views: Vec<CudaView<'_, [u64; 2]>> = views
            .iter()
            .map(|view| {
                // SAFETY: any two words are an item.
                unsafe { view.transmute(each) }.unwrap()
            })
            .collect();
        let mut places: Vec<_> = outs.iter_mut().map(|run| run.slice_mut(1..)).collect();
        let mut places: Vec<CudaViewMut<'_, [u64; 2]>> = places
            .iter_mut()
            .map(|view| {
                // SAFETY: any two words are an item.
                unsafe { view.transmute_mut(each) }.unwrap()
            })
            .collect();
        group.shuffle_into(&f, &views, &mut places).unwrap();
        drop((views, places));
        let expected = reference(&f, 2 * each);
        for ((stream, out), expected) in streams.iter().zip(&outs).zip(expected.chunks(each)) {
            let words = stream.clone_dtoh(out).unwrap();
            stream.synchronize().unwrap();
            assert_eq!([words[0], words[2 * each + 1]], [0, 0], "{strategy:?}");
            let expected = expected.iter().flat_map(|&index| item(index));
            assert!(words[1..=2 * each].iter().copied().eq(expected), "{strategy:?}");
        }
    }
}

#[test]
fn slices_outside_of_the_group_are_refused() {
    let Some(mut group) = logical(2, CudaStrategy::Auto) else { return };
    assert!(matches!(
        CudaGroup::new(&[]),
        Err(Error::Gpu(GpuError::GroupSizeOutOfRange { members: 0, most: 16 }))
    ));
    let engine = Cuda::new().unwrap();
    assert!(matches!(
        CudaGroup::new(&vec![engine.clone(); 17]),
        Err(Error::Gpu(GpuError::GroupSizeOutOfRange { members: 17, .. }))
    ));
    let f = Standard::from_seed(200, 1);
    let run = |len: usize| engine.stream().alloc_zeros::<u64>(len).unwrap();
    let source = [run(100), run(100)];
    let mut one = [run(200)];
    assert_eq!(
        group.shuffle_into(&f, &source, &mut one),
        Err(Error::Gpu(GpuError::SliceCountMismatch { members: 2, slices: 1 }))
    );
    let mut short = [run(100), run(99)];
    assert_eq!(
        group.shuffle_into(&f, &source, &mut short),
        Err(Error::LengthMismatch { expected: 200, actual: 199 })
    );
    // What is too large is refused before it takes memory.
    let large = || [engine.stream().alloc_zeros::<[[u8; 512]; 256]>(1).unwrap()];
    let mut alone = logical(1, CudaStrategy::Auto).unwrap();
    assert_eq!(
        alone.shuffle_into(&f, &large(), &mut large()),
        Err(Error::Gpu(GpuError::ItemTooLarge { bytes: 1 << 17, most: 1 << 16 }))
    );
    assert_eq!(alone.bytes(), 0);
    let narrow = VariablePhilox::<24>::new(7, [1; 24]).unwrap();
    let mut out = [run(50), run(150)];
    assert_eq!(
        group.shuffle_into(&narrow, &source, &mut out),
        Err(Error::LengthExceedsDomain { len: 200, last: 127 })
    );
    let Ok(context) = CudaContext::new_non_primary(0, 0) else {
        println!("skipped: no second context");
        return;
    };
    // A slice of the default stream would be freed in the context that is the thread's by then.
    let foreign = context.new_stream().unwrap().alloc_zeros::<u64>(100).unwrap();
    assert_eq!(
        group.shuffle_into(&f, &[run(100), foreign], &mut out),
        Err(Error::Gpu(GpuError::WrongDevice { expected: 0, actual: 0 }))
    );
    // Two contexts are out of each other's reach, even on one device.
    let there = Cuda::on_stream(context.default_stream()).unwrap();
    assert!(matches!(
        CudaGroup::new(&[engine.clone(), there]),
        Err(Error::Gpu(GpuError::NoPeerAccess { from: 0, to: 0 }))
    ));
    group.shuffle_into(&f, &source, &mut out).unwrap();
    group.synchronize().unwrap();
}
