//! The GPU engine on slices in device memory, by strategy: each call is waited for. Without a GPU
//! it says so and does nothing. The tables of docs/results/gpu.md are made by benches/peers, which
//! times many calls by the GPU's own clock.

use std::sync::OnceLock;

use bijective_shuffle::bijection::{Standard, SwapOrNot, VariablePhilox};
use bijective_shuffle::cuda::cudarc::driver::DeviceRepr;
use bijective_shuffle::cuda::{Cuda, CudaStrategy, CudaWorkspace};
use bijective_shuffle::prelude::*;
use divan::Bencher;
use divan::counter::ItemsCount;

static CUDA: OnceLock<Cuda> = OnceLock::new();

fn main() {
    match Cuda::new() {
        Ok(cuda) => {
            CUDA.get_or_init(|| cuda);
            divan::main();
        }
        Err(error) => println!("skipped: no CUDA device ({error})"),
    }
}

const LENGTHS: [usize; 6] =
    [(1 << 11) + 1, (1 << 17) + 1, (1 << 20) + 1, 1 << 23, (1 << 23) + 1, (1 << 26) + 1];

/// An item that is made of its index.
trait Numbered: DeviceRepr + Copy + PartialEq {
    fn numbered(index: u64) -> Self;
}

impl Numbered for u32 {
    fn numbered(index: u64) -> Self {
        index as u32
    }
}

impl Numbered for u64 {
    fn numbered(index: u64) -> Self {
        index << 20
    }
}

/// Times shuffles by a strategy, after comparing the first items with the CPU's.
fn shuffle<T: Numbered>(bencher: Bencher, len: usize, strategy: CudaStrategy, f: &dyn Bijection) {
    let Some(cuda) = CUDA.get() else { return };
    let stream = cuda.stream();
    let items: Vec<T> = (0..len as u64).map(T::numbered).collect();
    let source = stream.clone_htod(&items).unwrap();
    let mut out = stream.clone_htod(&items).unwrap();
    let mut workspace = CudaWorkspace::new(&cuda.clone().with_strategy(strategy));
    workspace.shuffle_into(f, &source, &mut out).unwrap();
    let few = len.min(10_000);
    let got = stream.clone_dtoh(&out.slice(..few)).unwrap();
    stream.synchronize().unwrap();
    let p = Permutation::from_bijection(len as u64, f).unwrap();
    assert!(p.iter().zip(&got).all(|(index, &item)| item == T::numbered(index)));
    bencher.counter(ItemsCount::new(len)).bench_local(|| {
        workspace.shuffle_into(f, &source, &mut out).unwrap();
        stream.synchronize().unwrap();
    });
}

#[divan::bench(args = LENGTHS, types = [u32, u64])]
fn single_pass<T: Numbered>(bencher: Bencher, len: usize) {
    let f = Standard::from_seed(len as u64, 1);
    shuffle::<T>(bencher, len, CudaStrategy::SinglePass, &f);
}

#[divan::bench(args = LENGTHS, types = [u32, u64])]
fn partitioned<T: Numbered>(bencher: Bencher, len: usize) {
    let f = Standard::from_seed(len as u64, 1);
    shuffle::<T>(bencher, len, CudaStrategy::Partitioned, &f);
}

#[divan::bench(args = LENGTHS)]
fn single_pass_with_the_papers_cipher(bencher: Bencher, len: usize) {
    let f = VariablePhilox::<24>::from_seed(len as u64, 1);
    shuffle::<u64>(bencher, len, CudaStrategy::SinglePass, &f);
}

#[divan::bench(args = LENGTHS)]
fn indices(bencher: Bencher, len: usize) {
    indices_of(bencher, len, Standard::from_seed(len as u64, 1));
}

#[divan::bench(args = LENGTHS)]
fn indices_of_swap_or_not(bencher: Bencher, len: usize) {
    indices_of(bencher, len, SwapOrNot::from_seed(len as u64, 1));
}

fn indices_of(bencher: Bencher, len: usize, f: impl Bijection + Clone + 'static) {
    let Some(cuda) = CUDA.get() else { return };
    let stream = cuda.stream();
    let mut out = stream.alloc_zeros::<u32>(len).unwrap();
    let mut workspace = CudaWorkspace::new(cuda);
    bencher.counter(ItemsCount::new(len)).bench_local(|| {
        workspace.write_indexes(&f, &mut out).unwrap();
        stream.synchronize().unwrap();
    });
    let few = len.min(10_000);
    let got = stream.clone_dtoh(&out.slice(..few)).unwrap();
    stream.synchronize().unwrap();
    let p = Permutation::from_bijection(len as u64, f).unwrap();
    assert!(p.iter().zip(got).all(|(expected, index)| expected == u64::from(index)));
}

/// 2^28 indexes in rows of a batch.
const ROW_LENGTHS: [usize; 7] = [8, 32, 100, 256, 1000, 10_000, 1_000_000];

/// Words of rows in all.
const ROW_WORDS: usize = 1 << 28;

#[divan::bench(args = ROW_LENGTHS, sample_count = 20)]
fn rows(bencher: Bencher, len: usize) {
    let Some(cuda) = CUDA.get() else { return };
    let stream = cuda.stream();
    let count = ROW_WORDS / len;
    let permutations = Permutations::new(count as u64, len as u64, 1);
    let mut out = stream.alloc_zeros::<u32>(count * len).unwrap();
    let mut workspace = CudaWorkspace::new(cuda);
    workspace.reserve_rows::<u32>(&permutations, count * len).unwrap();
    bencher.counter(ItemsCount::new(count * len)).bench_local(|| {
        workspace.write_rows(&permutations, 0, &mut out).unwrap();
        stream.synchronize().unwrap();
    });
    let got = stream.clone_dtoh(&out.slice((count - 1) * len..)).unwrap();
    stream.synchronize().unwrap();
    let last = permutations.row(count as u64 - 1).unwrap();
    assert!(last.iter().eq(got.into_iter().map(u64::from)));
}

/// What bounds [`rows`]: the same memory, only written.
#[divan::bench(sample_count = 20)]
fn rows_bound(bencher: Bencher) {
    let Some(cuda) = CUDA.get() else { return };
    let stream = cuda.stream();
    let mut out = stream.alloc_zeros::<u32>(ROW_WORDS).unwrap();
    bencher.counter(ItemsCount::new(ROW_WORDS)).bench_local(|| {
        stream.memset_zeros(&mut out).unwrap();
        stream.synchronize().unwrap();
    });
}
