//! Groups of several devices. Skipped where there are fewer; with
//! `BIJECTIVE_SHUFFLE_REQUIRE_GPUS=n` it fails where there are fewer than n. What a group of one
//! device can show is in tests/gpu/group.rs.

// CUDA has no driver for 32 bits, nor for other systems.
#![cfg(all(target_pointer_width = "64", any(target_os = "linux", target_os = "windows")))]

mod common;

use std::sync::Mutex;

use bijective_shuffle::Serial;
use bijective_shuffle::bijection::Standard;
use bijective_shuffle::cuda::cudarc::driver::{CudaSlice, CudaView};
use bijective_shuffle::cuda::{Cuda, CudaGroup, CudaStrategy};
use bijective_shuffle::prelude::*;
use rayon::prelude::*;

use bijective_shuffle_laws::{Numbers, lengths, long};
use common::group::{check, even, guarded};

/// Held by the test that uses the devices.
static DEVICES: Mutex<()> = Mutex::new(());

/// Groups of 2 and 4 devices, where there are as many, and of the devices in another order.
fn groups(strategy: CudaStrategy) -> Vec<CudaGroup> {
    let devices = common::cuda().map_or(0, |_| Cuda::device_count().unwrap());
    let required = std::env::var("BIJECTIVE_SHUFFLE_REQUIRE_GPUS").unwrap_or("0".into());
    let required: usize = required.parse().expect("BIJECTIVE_SHUFFLE_REQUIRE_GPUS is a number");
    assert!(devices >= required, "{devices} devices, of {required}");
    if devices == 1 {
        println!("skipped: {devices} device");
    }
    let orders: [&[usize]; 4] = [&[0, 1], &[1, 0, 1], &[0, 1, 2, 3], &[3, 1, 0, 2]];
    let there = orders.into_iter().filter(|order| order.iter().all(|&device| device < devices));
    let make = |order: &[usize]| CudaGroup::on_devices(order).unwrap().with_strategy(strategy);
    there.map(make).collect()
}

/// The values below the length, in the order of their slots.
fn reference(f: &impl Bijection, len: u64) -> Vec<u64> {
    (0..f.last() + 1).into_par_iter().map(|slot| f.forward(slot)).filter(|&x| x < len).collect()
}

#[test]
fn groups_shuffle_every_length_and_division() {
    let _alone = DEVICES.lock();
    for strategy in [CudaStrategy::Partitioned, CudaStrategy::SinglePass] {
        for mut group in groups(strategy) {
            for len in lengths(if long() { 22 } else { 14 }) {
                let f = Standard::from_seed(len, len ^ 3);
                let order = reference(&f, len);
                assert!(len > 2000 || order == serial(&f, len));
                check(&mut group, &f, &order, &format!("{strategy:?}, {len}"));
            }
        }
    }
}

fn serial(f: &dyn Bijection, len: u64) -> Vec<u64> {
    let mut all = vec![0; len as usize];
    Serial.write_indexes(f, &mut all).unwrap();
    all
}

#[test]
fn groups_shuffle_large_lengths_and_all_widths() {
    let _alone = DEVICES.lock();
    for mut group in groups(CudaStrategy::Auto) {
        // Where a member has 2^24 items or more, they are sent in pieces.
        for len in [(1 << 22) + 1, 5_000_003, 1 << 24, (1 << 25) + 3] {
            let f = Standard::from_seed(len, 8);
            let order = reference(&f, len);
            check(&mut group, &f, &order, &format!("{len} items"));
            if len > 1 << 24 {
                continue;
            }
            of_width(&mut group, &f, &order, |index| index as u8 ^ (index >> 8) as u8);
            of_width(&mut group, &f, &order, |index| index as u16 ^ (index >> 16) as u16);
            of_width(&mut group, &f, &order, |index| (index as u32).wrapping_mul(0x9E37_79B1));
            of_width(&mut group, &f, &order, sixteen_bytes);
            of_width(&mut group, &f, &order, |index| [index as u32, !index as u32, 7]);
        }
    }
}

/// An item that differs from every other number's.
fn sixteen_bytes(number: u64) -> u128 {
    u128::from(number).wrapping_mul(0x1_0000_0001_0000_0001)
}

/// The poison around the items is that of the largest number. This needs no device.
#[test]
fn poison_is_the_largest_item_alone() {
    assert!(
        [0, 1, 1 << 32, u64::MAX - 1]
            .map(sixteen_bytes)
            .iter()
            .all(|&item| item != sixteen_bytes(u64::MAX))
    );
}

/// Items of a type, there and back.
fn of_width<T>(group: &mut CudaGroup, f: &dyn Bijection, order: &[u64], item: fn(u64) -> T)
where
    T: bijective_shuffle::cuda::cudarc::driver::DeviceRepr + Copy + PartialEq,
{
    let original: Vec<T> = (0..order.len() as u64).map(item).collect();
    let shuffled: Vec<T> = order.iter().map(|&index| item(index)).collect();
    let lens = even(order.len(), group.streams().len());
    let lens = [&lens[..], &lens];
    let there = guarded(group, item(u64::MAX), &original, lens, |group, source, out| {
        group.shuffle_into(f, source, out)
    });
    assert!(there.unwrap() == shuffled, "{} items of {} bytes", order.len(), size_of::<T>());
    let back = guarded(group, item(u64::MAX), &shuffled, lens, |group, source, out| {
        group.unshuffle_into(f, source, out)
    });
    assert!(back.unwrap() == original, "{} items of {} bytes", order.len(), size_of::<T>());
}

/// Calls in a row, while other work delays this or that device.
#[test]
fn delays_of_a_gpu_change_nothing() {
    let _alone = DEVICES.lock();
    for mut group in groups(CudaStrategy::Partitioned) {
        let streams: Vec<_> = group.streams().cloned().collect();
        let len = 120_007_u64;
        let lens = even(len as usize, streams.len());
        let mut ballast: Vec<CudaSlice<u8>> =
            streams.iter().map(|stream| stream.alloc_zeros(1 << 26).unwrap()).collect();
        let mut expected: Vec<u64> = (0..len).collect();
        let mut rest = &expected[..];
        let mut arrays = [Vec::new(), Vec::new()];
        for (stream, &own) in streams.iter().zip(&lens) {
            let (items, behind) = rest.split_at(own);
            rest = behind;
            arrays[0].push(stream.clone_htod(items).unwrap());
            arrays[1].push(stream.alloc_zeros::<u64>(own).unwrap());
        }
        let mut numbers = Numbers(7);
        for seed in 0..if long() { 10_000 } else { 1000 } {
            for (stream, ballast) in streams.iter().zip(&mut ballast) {
                let bytes = numbers.below(1 << 26) as usize;
                if bytes.is_multiple_of(3) {
                    stream.memset_zeros(&mut ballast.slice_mut(..bytes)).unwrap();
                }
            }
            let f = Standard::from_seed(len, seed);
            let [source, out] = &mut arrays;
            let source: Vec<CudaView<'_, u64>> = source.iter().map(|run| run.slice(..)).collect();
            if seed % 3 == 2 {
                group.unshuffle_into(&f, &source, out).unwrap();
                Serial.unshuffle(&f, &mut expected).unwrap();
            } else {
                group.shuffle_into(&f, &source, out).unwrap();
                Serial.shuffle(&f, &mut expected).unwrap();
            }
            arrays.swap(0, 1);
        }
        let mut all = Vec::new();
        for (stream, run) in streams.iter().zip(&arrays[0]) {
            all.extend(stream.clone_dtoh(run).unwrap());
        }
        group.synchronize().unwrap();
        assert!(all == expected);
    }
}
