//! What takes much of a GPU's memory, or all of it: alone in its process, one test at a time.
//! Skipped where there is no GPU, or one with too little memory; see tests/gpu.

// CUDA has no driver for 32 bits, nor for other systems.
#![cfg(all(target_pointer_width = "64", any(target_os = "linux", target_os = "windows")))]

mod common;

use std::sync::Mutex;

use bijective_shuffle::Cpu;
use bijective_shuffle::Error;
use bijective_shuffle::bijection::{Standard, VariablePhilox};
use bijective_shuffle::cuda::cudarc::driver::CudaSlice;
use bijective_shuffle::cuda::{
    Cuda, CudaGroup, CudaStrategy, CudaStreams, CudaWorkspace, DeviceGenerator,
};
use bijective_shuffle::error::GpuError;
use bijective_shuffle::prelude::*;
use bijective_shuffle::rng::{
    Fill, LaggedFibonacci521, Mwc, Philox4x32Rng, Streams, XorShift1024Weyl,
};
use rayon::prelude::*;

use common::capture::{alone, capture};
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
    let p = Permutation::from_bijection(len as u64, f).unwrap();
    assert!(shuffled.into_iter().eq(p.iter().take(100_000).map(byte)));

    let mut back = stream.alloc_zeros::<u8>(len).unwrap();
    workspace.unshuffle_into(&f, &out, &mut back).unwrap();
    drop(out);
    let back = stream.clone_dtoh(&back).unwrap();
    stream.synchronize().unwrap();
    assert!(back == items);
}

/// Where there is no memory for buckets, the alternative's is reserved, and the calls use it.
#[test]
fn reserved_alternatives_are_used_where_memory_is_short() {
    let _alone = MEMORY.lock();
    let Some(_) = cuda() else { return };
    // SAFETY: the graph is dropped before the slices and the workspace, and launched in their
    // stream.
    let cuda = unsafe { alone().with_capture() };
    let stream = cuda.stream();
    let (len, spare) = (1 << 26, 128 << 20);
    let f = Standard::from_seed(len as u64, 1);
    let p = Permutation::new(len as u64, 1).to_vec();
    let source = stream.clone_htod(&(0..len as u64).collect::<Vec<_>>()).unwrap();
    let mut out = stream.alloc_zeros::<u64>(len).unwrap();
    let usual = CudaWorkspace::new(&cuda).reserve::<u64>(&f, len).unwrap();
    assert!(usual > spare, "it is partitioned");
    stream.synchronize().unwrap();
    let (free, _) = stream.context().mem_get_info().unwrap();
    // SAFETY: nobody reads it.
    let others = unsafe { stream.alloc::<u8>(free - spare) }.unwrap();
    let mut workspace = CudaWorkspace::new(&cuda);
    let held = workspace.reserve::<u64>(&f, len).unwrap();
    assert!(held < spare);
    let (captured, graph) = capture(stream, || workspace.shuffle_into(&f, &source, &mut out));
    assert_eq!((captured, workspace.bytes()), (Ok(()), held));
    let graph = graph.expect("something was captured");
    for is_captured in [true, false] {
        stream.memset_zeros(&mut out).unwrap();
        match is_captured {
            true => graph.launch().unwrap(),
            false => workspace.shuffle_into(&f, &source, &mut out).unwrap(),
        }
        let got = stream.clone_dtoh(&out).unwrap();
        stream.synchronize().unwrap();
        assert!(got == p);
        assert_eq!(workspace.bytes(), held);
    }
    drop((graph, others));
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
    assert_eq!(cuda.shuffle(&f, &mut out), Err(Error::Gpu(GpuError::OutOfMemory)));
    assert!(out.iter().all(|&byte| byte == 0));
    drop(hoard);
}

/// Where there is too little memory for buckets, all members take the direct strategy, and none
/// keeps what it had got.
#[test]
fn a_group_without_memory_moves_items_directly() {
    let _alone = MEMORY.lock();
    let Some(cuda) = cuda() else { return };
    let stream = cuda.stream();
    let engines = [cuda.clone(), Cuda::new().unwrap()];
    let mut group = CudaGroup::new(&engines).unwrap().with_strategy(CudaStrategy::SinglePass);
    let each = (1_usize << 24) + 3;
    let f = Standard::from_seed(2 * each as u64, 1);
    let items: Vec<u64> = (0..2 * each as u64).collect();
    let (mut source, mut out) = (Vec::new(), Vec::new());
    for (engine, items) in engines.iter().zip(items.chunks(each)) {
        source.push(engine.stream().clone_htod(items).unwrap());
        out.push(engine.stream().alloc_zeros::<u64>(each).unwrap());
    }
    // Now the kernels of this strategy are there.
    group.shuffle_into(&f, &source, &mut out).unwrap();
    for (engine, out) in engines.iter().zip(&mut out) {
        engine.stream().memset_zeros(out).unwrap();
    }
    group.synchronize().unwrap();
    let held = group.bytes();
    let mut group = group.with_strategy(CudaStrategy::Auto);
    // Each member needs 10 bytes and more for each of its items, even in the smallest pieces, and
    // there is enough for one.
    let (free, _) = stream.context().mem_get_info().unwrap();
    // SAFETY: it is never read.
    let hoard = unsafe { stream.alloc::<u8>(free - 15 * each) };
    let Ok(hoard) = hoard else {
        println!("skipped: the memory cannot be taken");
        return;
    };
    group.shuffle_into(&f, &source, &mut out).unwrap();
    assert!(group.bytes() < held + each, "{} bytes, and {held} before", group.bytes());
    let mut got = Vec::new();
    for (engine, out) in engines.iter().zip(&out) {
        got.extend(engine.stream().clone_dtoh(out).unwrap());
        engine.stream().synchronize().unwrap();
    }
    assert!(got == Cpu.shuffled(&f, &items).unwrap());
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
    let f = VariablePhilox::<24>::new(32, [3; 24]).unwrap();
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

/// More words than 32 bits count, and some beyond: no multiple of anything.
const MANY: usize = 1 << 32;
const BEYOND: usize = 100_003;

/// Memory for that many words and one, if there is that much.
fn words_for_fills(cuda: &Cuda) -> Option<CudaSlice<u32>> {
    let len = MANY + BEYOND + 1;
    let (free, _) = cuda.stream().context().mem_get_info().unwrap();
    if free < 4 * len + (1 << 30) {
        println!("skipped: {free} bytes of device memory are too few");
        return None;
    }
    Some(cuda.stream().alloc_zeros(len).unwrap())
}

/// Words of device memory from a place on.
fn words_at(cuda: &Cuda, out: &CudaSlice<u32>, place: usize, len: usize) -> Vec<u32> {
    let words = cuda.stream().clone_dtoh(&out.slice(place..place + len)).unwrap();
    cuda.stream().synchronize().unwrap();
    words
}

#[test]
fn a_stream_fills_more_than_32_bits_of_words() {
    let _alone = MEMORY.lock();
    let Some(cuda) = cuda() else { return };
    let Some(mut out) = words_for_fills(&cuda) else { return };
    let len = MANY + BEYOND;
    // Aligned as the stream is, one word on, and where the words of a block do not come to an
    // aligned place.
    for (before, position) in [(0, 0), (1, 1), (1, 0)] {
        // Other words each time, so that those of the fill before are not taken for them.
        let mut rng =
            Philox4x32Rng::<10>::from_key(42, 7 + (2 * before + position as usize) as u64);
        rng.set_position(position);
        let mut on_device = rng.clone();
        cuda.fill_u32(&mut on_device, &mut out.slice_mut(before..before + len)).unwrap();
        for first in [0, MANY / 4 - 500, MANY / 2 - 500, MANY - 500, len - 1000] {
            rng.set_position(position + first as u128);
            let mut expected = [0; 1000];
            rng.fill_u32(&mut expected);
            let got = words_at(&cuda, &out, before + first, 1000);
            assert!(got == expected, "word {first} from {position}, {before} before");
        }
        assert_eq!(on_device, rng);
    }
}

/// Fills all but the last word by streams whose number does not divide 2^32, so that word 2^32 is
/// within a row, and compares some columns of some rows.
fn streams_fill_all<G: DeviceGenerator>(cuda: &Cuda, out: &mut CudaSlice<u32>, count: u64) {
    let len = out.len() - 1;
    // A seed for each number of streams, so that words of another fill are not taken for these.
    let ensemble = Streams::<G>::new(count, 0..count).unwrap();
    let mut on_device = CudaStreams::new(cuda, &ensemble).unwrap();
    on_device.fill_u32(&mut out.slice_mut(..len)).unwrap();
    let row = ensemble.row_len();
    let rows = len.div_ceil(row);
    let (middle, stream) = (MANY / row, MANY % row / G::BLOCK);
    assert_ne!(MANY % row, 0);
    for first in [0, stream.saturating_sub(4), ensemble.len() - 8] {
        let first = first.min(ensemble.len() - 8);
        let some = ensemble.generators()[first..first + 8].to_vec();
        let mut some = Streams::from_generators(some).unwrap();
        let width = some.row_len();
        let mut expected = vec![0; rows * width];
        some.fill_u32(&mut expected);
        for t in [0, 1, middle - 1, middle, middle + 1, rows - 1] {
            let place = t * row + first * G::BLOCK;
            let there = len.saturating_sub(place).min(width);
            if there > 0 {
                let got = words_at(cuda, out, place, there);
                let what = core::any::type_name::<G>();
                assert!(got == expected[t * width..][..there], "{what}, row {t}, stream {first}");
            }
        }
    }
}

#[test]
fn streams_fill_more_than_32_bits_of_words() {
    let _alone = MEMORY.lock();
    let Some(cuda) = cuda() else { return };
    let Some(mut out) = words_for_fills(&cuda) else { return };
    // Several streams a thread, and one.
    streams_fill_all::<Mwc>(&cuda, &mut out, (1 << 17) + 4);
    streams_fill_all::<Mwc>(&cuda, &mut out, (1 << 17) + 1);
    streams_fill_all::<Philox4x32Rng>(&cuda, &mut out, (1 << 17) + 1);
    streams_fill_all::<XorShift1024Weyl>(&cuda, &mut out, (1 << 15) + 1);
    streams_fill_all::<LaggedFibonacci521>(&cuda, &mut out, (1 << 12) + 1);
}
