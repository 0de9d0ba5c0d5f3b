//! What takes much of a GPU's memory, or all of it: alone in its process, one test at a time. Skipped where there is no
//! GPU, or one with too little memory; see tests/gpu.

mod common;

use std::sync::Mutex;

use bijective_shuffle::affine::Network;
use bijective_shuffle::prelude::*;
use bijective_shuffle::{CudaStrategy, CudaWorkspace};
use rayon::prelude::*;

use common::cuda;

/// Held by the test that uses the memory.
static MEMORY: Mutex<()> = Mutex::new(());

#[test]
fn more_than_32_bits_of_bytes_go_there_and_back() {
    let _alone = MEMORY.lock();
    let Some(cuda) = cuda() else { return };
    let stream = cuda.stream();
    let len = (1_usize << 33) + 7;
    let (free, _) = stream.context().mem_get_info().unwrap();
    if free < 4 * len {
        println!("skipped: {free} bytes of device memory are too few");
        return;
    }
    let f = VariablePhilox::<24>::from_seed(len as u64, 6);
    let mut workspace = CudaWorkspace::new(&cuda.clone().with_strategy(CudaStrategy::SinglePass));
    // Each byte is a hash of its index, so that bytes in a wrong place are seen.
    let byte = |index: u64| (index.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8;
    let items: Vec<u8> = (0..len).into_par_iter().map(|index| byte(index as u64)).collect();
    let source = stream.clone_htod(&items).unwrap();
    let mut out = stream.alloc_zeros::<u8>(len).unwrap();
    workspace.shuffle_into(&f, &source, &mut out).unwrap();

    // The first and the last items, one by one.
    let shuffled = stream.clone_dtoh(&out.slice(..100_000)).unwrap();
    stream.synchronize().unwrap();
    let p = Permutation::with_bijection(len as u64, f).unwrap();
    assert!(shuffled.into_iter().eq(p.iter().take(100_000).map(byte)));

    let mut back = stream.alloc_zeros::<u8>(len).unwrap();
    workspace.unshuffle_into(&f, &out, &mut back).unwrap();
    drop(out);
    let back = stream.clone_dtoh(&back).unwrap();
    stream.synchronize().unwrap();
    assert!(back == items);
}

#[test]
fn a_full_device_is_said() {
    let _alone = MEMORY.lock();
    let Some(cuda) = cuda() else { return };
    let stream = cuda.stream();
    let (free, _) = stream.context().mem_get_info().unwrap();
    // SAFETY: it is never read.
    let hoard = unsafe { stream.alloc::<u8>(free - free / 32) };
    let Ok(hoard) = hoard else {
        println!("skipped: the memory cannot be taken");
        return;
    };
    let f = Standard::from_seed(1 << 40, 1);
    let mut out = vec![0_u8; free / 16];
    assert_eq!(cuda.shuffle(&f, &mut out), Err(Error::DeviceMemory));
    assert!(out.iter().all(|&byte| byte == 0));
    drop(hoard);
}

#[test]
fn a_full_device_leaves_an_array_where_it_was() {
    let _alone = MEMORY.lock();
    let Some(cuda) = cuda() else { return };
    let stream = cuda.stream();
    stream.synchronize().unwrap();
    let (free, _) = stream.context().mem_get_info().unwrap();
    // A sixteenth to an eighth of the memory, the first items of which are looked at.
    let bits = (free / 16).next_power_of_two().ilog2() - 2;
    let mut array = stream.alloc_zeros::<u32>(1 << bits).unwrap();
    let first: Vec<u32> = (1..=1 << 16).collect();
    stream.memcpy_htod(&first, &mut array.slice_mut(..1 << 16)).unwrap();
    stream.synchronize().unwrap();
    let (free, _) = stream.context().mem_get_info().unwrap();
    // SAFETY: it is never read.
    let hoard = unsafe { stream.alloc::<u8>(free - (2 << bits)) };
    let Ok(hoard) = hoard else {
        println!("skipped: the memory cannot be taken");
        return;
    };
    let mut workspace = CudaWorkspace::new(&cuda);
    let full = Err(Error::DeviceMemory);
    let reversal = Affine::reversal(bits).unwrap();
    assert_eq!(workspace.permute_in_place(&reversal, &mut array), full);
    let done = workspace.parm(1, &mut array, |_, _| panic!("there is no room for the parts"));
    assert_eq!(done, full);
    assert_eq!(workspace.order_by_network(&Network::merger(bits).unwrap(), &mut array), full);
    let got = stream.clone_dtoh(&array.slice(..1 << 16)).unwrap();
    stream.synchronize().unwrap();
    assert!(got == first);
    drop(hoard);
}

#[test]
fn every_slot_of_32_bits_is_looked_at_once() {
    let _alone = MEMORY.lock();
    let Some(cuda) = cuda() else { return };
    let stream = cuda.stream();
    let len = (1_usize << 31) + 5;
    let (free, _) = stream.context().mem_get_info().unwrap();
    if free < 20 * len {
        println!("skipped: {free} bytes of device memory are too few");
        return;
    }
    let f = VariablePhilox::<24>::from_keys(32, [3; 24]);
    let items: Vec<u8> =
        (0..len).into_par_iter().map(|k| ((k * 0x9E37_79B1) >> 24) as u8).collect();
    let source = stream.clone_htod(&items).unwrap();
    drop(items);
    let answers = [CudaStrategy::SinglePass, CudaStrategy::Partitioned].map(|strategy| {
        let mut workspace = CudaWorkspace::new(&cuda.clone().with_strategy(strategy));
        let mut out = stream.alloc_zeros::<u8>(len).unwrap();
        workspace.unshuffle_into(&f, &source, &mut out).unwrap();
        let back = stream.clone_dtoh(&out).unwrap();
        workspace.shuffle_into(&f, &source, &mut out).unwrap();
        let there = stream.clone_dtoh(&out).unwrap();
        stream.synchronize().unwrap();
        [back, there]
    });
    assert!(answers[0] == answers[1]);
}
