//! Arrays that are shuffled within their own device memory: that they are, at lengths of all sorts,
//! and what memory it takes. Alone in its process, one test at a time. Skipped where there is no
//! GPU, or one with too little memory; see tests/gpu.

// CUDA has no driver for 32 bits, nor for other systems.
#![cfg(all(target_pointer_width = "64", any(target_os = "linux", target_os = "windows")))]

mod common;

use std::sync::Mutex;

use bijective_shuffle::bijection::{CycleWalk, GridFeistel, Lcg, Standard, VariablePhilox};
use bijective_shuffle::cuda::cudarc::driver::{CudaSlice, DeviceRepr};
use bijective_shuffle::cuda::{Cuda, CudaWorkspace};
use bijective_shuffle::prelude::*;

use common::cuda;

/// Held by the test that uses the memory.
static MEMORY: Mutex<()> = Mutex::new(());

/// What lies around an array, and must stay as it is.
const GUARD: usize = 1000;

/// Shuffles an array in place and back, and compares with another array and the items.
fn there_and_back<T: DeviceRepr + Copy + PartialEq>(
    cuda: &Cuda,
    f: &dyn Bijection,
    len: usize,
    item: impl Fn(u64) -> T,
    first: usize,
) -> usize {
    let stream = cuda.stream();
    let poison = item(u64::MAX);
    let items: Vec<T> = (0..len as u64).map(&item).collect();
    let mut padded = vec![poison; len + 2 * GUARD];
    padded[first..first + len].copy_from_slice(&items);
    let mut array = stream.clone_htod(&padded).unwrap();
    let mut workspace = CudaWorkspace::new(cuda);
    let there = {
        let source = stream.clone_htod(&items).unwrap();
        let mut out = stream.alloc_zeros::<u8>(len * size_of::<T>()).unwrap();
        // SAFETY: plain bytes of as many items, whose alignment is that of an allocation.
        let mut out = unsafe { out.transmute_mut::<T>(len) }.unwrap();
        CudaWorkspace::new(cuda).shuffle_into(f, &source, &mut out).unwrap();
        stream.clone_dtoh(&out).unwrap()
    };
    workspace.shuffle(f, &mut array.slice_mut(first..first + len)).unwrap();
    let shuffled = stream.clone_dtoh(&array).unwrap();
    stream.synchronize().unwrap();
    assert!(shuffled[first..first + len] == there, "{len} items of {} bytes", size_of::<T>());
    padded[first..first + len].copy_from_slice(&there);
    assert!(shuffled == padded, "around {len} items of {} bytes", size_of::<T>());
    workspace.unshuffle(f, &mut array.slice_mut(first..first + len)).unwrap();
    let back = stream.clone_dtoh(&array).unwrap();
    stream.synchronize().unwrap();
    assert!(back[first..first + len] == items, "{len} items of {} bytes back", size_of::<T>());
    workspace.bytes()
}

#[test]
fn arrays_are_shuffled_in_place_and_back() {
    let _alone = MEMORY.lock();
    let Some(cuda) = cuda() else { return };
    let hash = |k: u64| k.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    // In items of 8 bytes; of others as many as have those bytes.
    // Items of 8 bytes have planes of bits there, but not at the last length.
    let lens = [1_usize << 24, 30_000_001, (1 << 24) + 1];
    for len in if bijective_shuffle_laws::short() { &lens[1..2] } else { &lens[..] } {
        let order = |item: usize| {
            let len = len * 8 / item;
            (len, Standard::from_seed(len as u64, 11))
        };
        let most = len * 8 / 100 * 15 + (1 << 16);
        // A whole number of blocks from an aligned address on, and neither.
        for first in [256, 3] {
            let (len, f) = order(8);
            assert!(there_and_back(&cuda, &f, len, hash, first) <= most, "{len}");
            let (len, f) = order(4);
            assert!(there_and_back(&cuda, &f, len, |k| hash(k) as u32, first) <= most, "{len}");
        }
        let (len, f) = order(16);
        there_and_back(&cuda, &f, len, |k| [hash(k), k], 5);
        let (len, f) = order(2);
        there_and_back(&cuda, &f, len, |k| hash(k) as u16, 1);
        let (len, f) = order(12);
        there_and_back(&cuda, &f, len, |k| [hash(k) as u32, k as u32, 7], 2);
    }
    // Arrays that are copied, among them bytes, which few sizes serve.
    for len in [5000, (1 << 20) + 1, (1 << 24) - 1] {
        let f = Standard::from_seed(len as u64, 11);
        assert!(there_and_back(&cuda, &f, len, hash, 3) <= len * 8 + (1 << 20), "{len}");
        there_and_back(&cuda, &f, len, |k| hash(k) as u8, 77);
    }
}

/// Bijections that mix nothing, and those with many points for each item; a composition.
#[test]
fn bijections_of_all_sorts_are_served() {
    let _alone = MEMORY.lock();
    let Some(cuda) = cuda() else { return };
    let len = 17_000_000_usize;
    let sparse = Standard::from_seed(1 << 30, 5);
    let p = [1, 2].map(|seed| Permutation::new(len as u64, seed));
    let all: [&dyn Bijection; 8] = [
        &Lcg::new(25, 1, 0).unwrap(),
        &Lcg::new(27, 1, 0).unwrap(),
        &Lcg::new(27, 1, 65_000_000).unwrap(),
        &Lcg::new(25, 5, 77).unwrap(),
        &GridFeistel::<24>::from_seed(len as u64, 3),
        &CycleWalk::new(VariablePhilox::<24>::from_seed(len as u64, 4), len as u64).unwrap(),
        &sparse,
        &p[0].then(&p[1]).unwrap(),
    ];
    for f in all {
        there_and_back(&cuda, f, len, |k| k, 0);
    }
    // The last list has 2^26 slots, and all that survive are among the first.
    there_and_back(&cuda, &Lcg::new(27, 1, 0).unwrap(), len + 5, |k| k, 0);
}

/// 64 GiB and a little more on a GPU of 80 GB, and as much of a smaller one: there and back, looked
/// at on the device.
#[test]
fn most_of_the_memory_is_shuffled() {
    let _alone = MEMORY.lock();
    let Some(cuda) = cuda() else { return };
    if !bijective_shuffle_laws::long() {
        println!("skipped: BIJECTIVE_SHUFFLE_LONG=1 runs it");
        return;
    }
    let stream = cuda.stream();
    let (free, _) = stream.context().mem_get_info().unwrap();
    // 16 % of the array besides the array.
    let len = 1_usize << (free / 116 * 100 / 8).ilog2();
    let f = VariablePhilox::<24>::from_seed(len as u64, 6);
    let mut workspace = CudaWorkspace::new(&cuda);
    // The indexes in order, and then in that of the permutation: both written by other kernels.
    let mut array = stream.alloc_zeros::<u64>(len).unwrap();
    workspace.write_indexes(&Lcg::new(len.ilog2(), 1, 0).unwrap(), &mut array).unwrap();
    workspace.shuffle(&f, &mut array).unwrap();
    assert!(workspace.bytes() <= len * 8 / 100 * 15 + (1 << 16));
    let look = |array: &CudaSlice<u64>, first: usize| {
        let some = stream.clone_dtoh(&array.slice(first..first + (1 << 20))).unwrap();
        stream.synchronize().unwrap();
        some
    };
    for first in (0..16).map(|k| (len - (1 << 20)) / 15 * k) {
        let expected = (first..).map(|slot| f.forward(slot as u64));
        assert!(look(&array, first).into_iter().eq(expected.take(1 << 20)), "from {first} on");
    }
    workspace.unshuffle(&f, &mut array).unwrap();
    for first in (0..16).map(|k| (len - (1 << 20)) / 15 * k) {
        assert!(look(&array, first).into_iter().eq((first as u64..).take(1 << 20)));
    }
    println!("{} of {} bytes", workspace.bytes(), 8 * len);
}
