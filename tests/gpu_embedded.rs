//! What runs on a GPU without NVRTC: the same bits as on the CPU, by the embedded kernels. Each
//! test passes with the compiler and without it:
//!
//! ```console
//! BIJECTIVE_SHUFFLE_NVRTC=none cargo test --test gpu_embedded
//! BIJECTIVE_SHUFFLE_NVRTC=none BIJECTIVE_SHUFFLE_KERNELS=ptx cargo test --test gpu_embedded
//! ```
//!
//! The second command uses the PTX where the first uses machine code. Skipped where there is no
//! GPU; see tests/gpu.

// CUDA has no driver for 32 bits, nor for other systems.
#![cfg(all(target_pointer_width = "64", any(target_os = "linux", target_os = "windows")))]

mod common;

use bijective_shuffle::Cpu;
use bijective_shuffle::Error;
use bijective_shuffle::Word;
use bijective_shuffle::affine::Affine;
use bijective_shuffle::affine::permuted;
use bijective_shuffle::bijection::{Standard, VariablePhilox};
use bijective_shuffle::cuda::cudarc::driver::{CudaSlice, DeviceRepr, ValidAsZeroBits};
use bijective_shuffle::cuda::{Cuda, CudaStrategy, CudaStreams, CudaWorkspace, DeviceGenerator};
use bijective_shuffle::error::Unavailable;
use bijective_shuffle::prelude::*;
use bijective_shuffle::rng::{
    Fill, LaggedFibonacci521, LaggedFibonacci1279, Lcg32, Lcg64, Mwc, Philox4x32Rng, Streams,
    XorShift1024Weyl, Xorwow,
};

use common::gpu;

/// Lengths by every shape, with gaps and without: tables, one and several tiles, and buckets.
const LENS: [usize; 16] = [
    1,
    2,
    31,
    256,
    257,
    512,
    1000,
    1 << 12,
    (1 << 15) + 1,
    1 << 16,
    (1 << 17) + 1,
    300_000,
    1 << 19,
    (1 << 20) + 1,
    1 << 22,
    (1 << 22) + 1,
];

/// What can be in device memory and be looked at.
trait Item: DeviceRepr + ValidAsZeroBits + Copy + Default + PartialEq + Send + Sync {}

impl<T: DeviceRepr + ValidAsZeroBits + Copy + Default + PartialEq + Send + Sync> Item for T {}

fn read<T: Item>(cuda: &Cuda, slice: &CudaSlice<T>) -> Vec<T> {
    let host = cuda.stream().clone_dtoh(slice).unwrap();
    cuda.stream().synchronize().unwrap();
    host
}

/// The order in which a bijection puts items, by the CPU.
fn order_of(f: &Standard, len: usize) -> Vec<u32> {
    let mut order = vec![0; len];
    Cpu.write_indexes(f, &mut order).unwrap();
    order
}

/// Whether items are those of a source in an order. (With the CPU's engine for each type of items,
/// this file would take a minute to compile.)
fn are_in_order<T: Item>(items: &[T], source: &[T], order: &[u32]) -> bool {
    let is_right = |(item, &index): (&T, &u32)| *item == source[index as usize];
    let piece = items.len().div_ceil(8).max(1 << 20);
    items.len() == order.len()
        && std::thread::scope(|scope| {
            let pieces = items.chunks(piece).zip(order.chunks(piece));
            let check = |(items, order): (&[T], &[u32])| items.iter().zip(order).all(is_right);
            let all: Vec<_> = pieces.map(|piece| scope.spawn(move || check(piece))).collect();
            all.into_iter().all(|thread| thread.join().unwrap())
        })
}

/// Shuffles items on the GPU into the order of the CPU, and back.
fn there_and_back<T: Item>(cuda: &Cuda, f: &Standard, source: &[T], order: &[u32]) {
    let (stream, len) = (cuda.stream().clone(), source.len());
    let mut workspace = CudaWorkspace::new(cuda);
    let from = stream.clone_htod(source).unwrap();
    let mut out = stream.alloc_zeros::<T>(len).unwrap();
    workspace.shuffle_into(f, &from, &mut out).unwrap();
    let is_right = are_in_order(&read(cuda, &out), source, order);
    assert!(is_right, "{len} of {}", size_of::<T>());
    let mut back = stream.alloc_zeros::<T>(len).unwrap();
    workspace.unshuffle_into(f, &out, &mut back).unwrap();
    assert!(read(cuda, &back) == source, "{len} of {}, back", size_of::<T>());
}

#[test]
fn items_of_every_word_move_as_on_the_cpu() {
    let Some(cuda) = gpu() else { return };
    for strategy in [CudaStrategy::Auto, CudaStrategy::SinglePass] {
        let cuda = cuda.clone().with_strategy(strategy);
        for len in LENS {
            let f = Standard::from_seed(len as u64, len as u64);
            let order = order_of(&f, len);
            let numbers = || 0..len as u64;
            there_and_back(&cuda, &f, &numbers().map(|x| x as u8).collect::<Vec<_>>(), &order);
            there_and_back(&cuda, &f, &numbers().map(|x| x as u16).collect::<Vec<_>>(), &order);
            there_and_back(&cuda, &f, &numbers().map(|x| x as u32).collect::<Vec<_>>(), &order);
            there_and_back(&cuda, &f, &numbers().collect::<Vec<_>>(), &order);
            there_and_back(&cuda, &f, &numbers().map(|x| [x, !x]).collect::<Vec<_>>(), &order);
            there_and_back(&cuda, &f, &numbers().map(|x| [x as u8; 3]).collect::<Vec<_>>(), &order);
            there_and_back(
                &cuda,
                &f,
                &numbers().map(|x| [x as u32; 3]).collect::<Vec<_>>(),
                &order,
            );
        }
    }
}

#[test]
fn large_arrays_move_as_on_the_cpu() {
    let Some(cuda) = gpu() else { return };
    // `Auto` sorts them into buckets, in one pass or two, on a device with an L2 cache of up to 64
    // MiB. The bytes of the last one's items of 8 bytes take more than 32 bits.
    for len in [(1_usize << 25) + 1, 1 << 26, (1 << 29) + 12_345] {
        let (free, _) = cuda.stream().context().mem_get_info().unwrap();
        if free < 6 * 8 * len {
            println!("skipped: {free} bytes of device memory are too few");
            return;
        }
        let f = Standard::from_seed(len as u64, 3);
        let order = order_of(&f, len);
        there_and_back(&cuda, &f, &(0..len as u64).collect::<Vec<_>>(), &order);
        there_and_back(&cuda, &f, &(0..len as u32).collect::<Vec<_>>(), &order);
    }
}

#[test]
fn columns_and_host_slices_move_as_on_the_cpu() {
    let Some(cuda) = gpu() else { return };
    for len in LENS {
        let f = Standard::from_seed(len as u64, 5);
        let (keys, values): (Vec<u64>, Vec<[u8; 5]>) =
            (0..len as u64).map(|x| (x, [x as u8; 5])).unzip();
        let mut moved = keys.clone();
        cuda.shuffle(&f, &mut moved).unwrap();
        let order = order_of(&f, len);
        assert!(are_in_order(&moved, &keys, &order), "{len} in host memory");
        let stream = cuda.stream().clone();
        let from = (stream.clone_htod(&keys).unwrap(), stream.clone_htod(&values).unwrap());
        let mut to_keys = stream.alloc_zeros::<u64>(len).unwrap();
        let mut to_values = stream.alloc_zeros::<[u8; 5]>(len).unwrap();
        let mut workspace = CudaWorkspace::new(&cuda);
        let arrays = workspace.arrays(&f, len).array(&from.0, &mut to_keys).unwrap();
        arrays.array(&from.1, &mut to_values).unwrap().shuffle().unwrap();
        assert!(are_in_order(&read(&cuda, &to_keys), &keys, &order), "{len} keys");
        assert!(are_in_order(&read(&cuda, &to_values), &values, &order), "{len} values");
    }
}

fn indexes<N: Word + Item>(cuda: &Cuda, len: usize) {
    let p = Permutation::new(len as u64, 8);
    let mut out = cuda.stream().alloc_zeros::<N>(len).unwrap();
    let f = Standard::from_seed(len as u64, 8);
    CudaWorkspace::new(cuda).write_indexes(&f, &mut out).unwrap();
    let expected = p.iter().map(N::wrap);
    assert!(read(cuda, &out).into_iter().eq(expected), "{len} in {} bits", N::BITS);
}

#[test]
fn indexes_are_those_of_the_cpu() {
    let Some(cuda) = gpu() else { return };
    for len in LENS {
        indexes::<u32>(&cuda, len);
        indexes::<u64>(&cuda, len);
    }
}

#[test]
fn wide_domains_are_those_of_the_cpu() {
    let Some(cuda) = gpu() else { return };
    // More than 2^32 slots, and few of them survive. The CPU asks the bijection for the slots of
    // the items, which takes less time.
    let (len, points) = (1000_u64, (1_u64 << 33) + 1);
    let f = Standard::from_seed(points, 2);
    let mut slots: Vec<(u64, u64)> = (0..len).map(|index| (f.inverse(index), index)).collect();
    slots.sort_unstable();
    let expected = || slots.iter().map(|&(_, index)| index);
    let mut out = cuda.stream().alloc_zeros::<u64>(len as usize).unwrap();
    CudaWorkspace::new(&cuda).write_indexes(&f, &mut out).unwrap();
    assert!(read(&cuda, &out).into_iter().eq(expected()));
    let mut out = cuda.stream().alloc_zeros::<u32>(len as usize).unwrap();
    CudaWorkspace::new(&cuda).write_indexes(&f, &mut out).unwrap();
    assert!(read(&cuda, &out).into_iter().map(u64::from).eq(expected()));
}

fn rows<N: Word + Item>(cuda: &Cuda, len: u64, count: u64) {
    let permutations = Permutations::new(1 << 40, len, 9);
    let mut expected = vec![N::default(); (len * count) as usize];
    permutations.write_rows(7, &mut expected).unwrap();
    let mut out = cuda.stream().alloc_zeros::<N>(expected.len()).unwrap();
    CudaWorkspace::new(cuda).write_rows(&permutations, 7, &mut out).unwrap();
    assert!(read(cuda, &out) == expected, "{count} rows of {len} in {} bits", N::BITS);
}

#[test]
fn rows_of_batches_are_those_of_the_cpu() {
    let Some(cuda) = gpu() else { return };
    for (len, count) in [
        (32, 10_000),
        (256, 1000),
        (300, 5000),
        (1024, 3000),
        (5000, 3000),
        (20_000, 1500),
        (30_000, 300),
        (1 << 20, 5),
        ((1 << 20) + 1, 3),
    ] {
        rows::<u32>(&cuda, len, count);
        rows::<u64>(&cuda, len, count);
    }
}

/// Without the compiler they are moved one after the other: the kernels for many rows of items are
/// not embedded.
#[test]
fn embedded_kernels_move_items_of_rows_and_back() {
    let Some(cuda) = gpu() else { return };
    for (len, count) in [(32, 100), (300, 50), (5000, 20)] {
        let permutations = Permutations::new(count, len, 9);
        let items: Vec<u64> = (0..len * count).collect();
        let mut expected = items.clone();
        permutations.apply_rows(&mut expected).unwrap();
        let source = cuda.stream().clone_htod(&items).unwrap();
        let room = || cuda.stream().alloc_zeros::<u64>(items.len()).unwrap();
        let (mut workspace, mut out, mut back) = (CudaWorkspace::new(&cuda), room(), room());
        workspace.shuffle_rows_into(&permutations, 0, &source, &mut out).unwrap();
        assert!(read(&cuda, &out) == expected, "{count} rows of {len}");
        workspace.unshuffle_rows_into(&permutations, 0, &out, &mut back).unwrap();
        assert!(read(&cuda, &back) == items, "{count} rows of {len}, back");
    }
}

fn affine<T: Item>(cuda: &Cuda, bits: u32, item: impl Fn(u64) -> T) {
    let source: Vec<T> = (0..1 << bits).map(item).collect();
    let matrix = bijective_shuffle::affine::BitMatrix::random(bits, 1).unwrap();
    let from = cuda.stream().clone_htod(&source).unwrap();
    for map in [Affine::reversal(bits).unwrap(), Affine::new(&matrix, 5).unwrap()] {
        let mut out = cuda.stream().alloc_zeros::<T>(source.len()).unwrap();
        CudaWorkspace::new(cuda).permute_into(&map, &from, &mut out).unwrap();
        let expected = permuted(&map, &source).unwrap();
        assert!(read(cuda, &out) == expected, "2^{bits} items of {} bytes", size_of::<T>());
    }
}

#[test]
fn affine_maps_move_as_on_the_cpu() {
    let Some(cuda) = gpu() else { return };
    for bits in [3, 10, 14, 17, 20, 22] {
        affine(&cuda, bits, |x| x as u8);
        affine(&cuda, bits, |x| x as u16);
        affine(&cuda, bits, |x| x as u32);
        affine(&cuda, bits, |x| x);
        affine(&cuda, bits, |x| [x, !x]);
        affine(&cuda, bits, |x| [x as u8, 2, 3]);
        affine(&cuda, bits, |x| [x as u32; 3]);
        affine(&cuda, bits, |x| [x; 9]);
    }
}

/// Calls a function with each kind of fill.
macro_rules! each_fill {
    ($fills:ident) => {
        $fills!(fill_u32: u32);
        $fills!(fill_u64: u64);
        $fills!(fill_f32: f32);
        $fills!(fill_f64: f64);
        $fills!(fill_normal_f32: f32);
        $fills!(fill_normal_f64: f64);
    };
}

#[test]
fn embedded_philox_fills_are_those_of_the_cpu() {
    let Some(cuda) = gpu() else { return };
    macro_rules! check {
        ($fill:ident: $number:ty) => {
            // The shapes for few words and for many, aligned and not.
            for (len, skipped) in [(1, 0), (1000, 0), (70_001, 3), (1 << 27, 0), (1 << 27, 1)] {
                let mut rng = Philox4x32Rng::<10>::from_key(42, 7);
                rng.skip(skipped);
                let mut on_device = rng.clone();
                let mut expected = vec![<$number>::default(); len];
                rng.$fill(&mut expected);
                let mut out = cuda.stream().alloc_zeros::<$number>(len).unwrap();
                cuda.$fill(&mut on_device, &mut out).unwrap();
                assert!(read(&cuda, &out) == expected, "{len} by {}", stringify!($fill));
                assert_eq!(on_device, rng);
            }
        };
    }
    each_fill!(check);
}

fn streams<G: DeviceGenerator>(cuda: &Cuda) {
    macro_rules! check {
        ($fill:ident: $number:ty) => {
            // One stream for each thread, and several.
            for (count, len) in [(5, 1000), (5, 70_001), (1 << 16, 1 << 20)] {
                let mut here = Streams::<G>::new(7, 0..count).unwrap();
                let mut there = CudaStreams::new(cuda, &here).unwrap();
                let mut expected = vec![<$number>::default(); len];
                here.$fill(&mut expected);
                let mut out = cuda.stream().alloc_zeros::<$number>(len).unwrap();
                there.$fill(&mut out).unwrap();
                assert!(read(cuda, &out) == expected, "{count}, {len}: {}", stringify!($fill));
            }
        };
    }
    each_fill!(check);
}

#[test]
fn streams_of_other_generators_are_those_of_the_cpu() {
    let Some(cuda) = gpu() else { return };
    streams::<Philox4x32Rng>(&cuda);
    streams::<Lcg32>(&cuda);
    streams::<Lcg64>(&cuda);
    streams::<Mwc>(&cuda);
    streams::<Xorwow>(&cuda);
    streams::<XorShift1024Weyl>(&cuda);
    streams::<LaggedFibonacci521>(&cuda);
    streams::<LaggedFibonacci1279>(&cuda);
}

#[test]
fn kernels_that_are_not_embedded_need_the_compiler_and_say_so() {
    let Some(cuda) = gpu() else { return };
    let mut items: Vec<u64> = (0..1000).collect();
    let f = VariablePhilox::<24>::from_seed(1000, 1);
    let moved = cuda.shuffle(&f, &mut items);
    let is_forbidden =
        std::env::var_os("BIJECTIVE_SHUFFLE_NVRTC").is_some_and(|path| path == "none");
    match moved {
        Err(Error::BackendUnavailable { reason }) => {
            assert!(reason == Unavailable::NoCompiler || !is_forbidden, "{reason}");
            assert!(items.into_iter().eq(0..1000), "nothing has moved");
        }
        moved => {
            assert_eq!(moved, Ok(()));
            assert!(!is_forbidden, "the compiler is forbidden");
            assert!(items.into_iter().eq(Permutation::from_bijection(1000, f).unwrap().iter()));
        }
    }
}
