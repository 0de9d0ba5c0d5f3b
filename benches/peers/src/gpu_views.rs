//! Times parts of permutations in device memory, and prints rows.

use std::error::Error;
use std::ops::Range;
use std::time::Instant;

use bijective_shuffle::cudarc::driver::{CudaSlice, LaunchConfig, PushKernelArg};
use bijective_shuffle::prelude::*;
use bijective_shuffle::{Cuda, CudaWorkspace};

use crate::arguments::{Common, GpuViews};
use crate::gpu_time;
use crate::machine::{self, Origin};

/// How long the calls of a sample take, at least.
const SAMPLE_SECONDS: f64 = 0.05;
/// How many indexes are compared with the host's.
const COMPARED: usize = 100_000;
/// In how many places an index is tried, and how many items are between two of its counts there.
const LOOKED_UP: u64 = 1000;
const APART: u64 = 10_000;
/// The most calls of a sample.
const MOST_CALLS: usize = 10_000;

/// The columns after the origin.
const COLUMNS: [&str; 4] = ["name", "length", "indexes", "seconds"];

/// A kernel that adds up words, modulo 2^64.
const SUM: &str = r#"
extern "C" __global__ void sum(const uint64_t* words, uint64_t count, uint64_t* all) {
    uint64_t own = 0;
    for (uint64_t k = blockIdx.x * uint64_t(blockDim.x) + threadIdx.x; k < count; k += uint64_t(gridDim.x) * blockDim.x) {
        own += words[k];
    }
    for (int step = 16; step > 0; step /= 2) own += __shfl_xor_sync(~0u, own, step);
    if (threadIdx.x % 32 == 0) atomicAdd(all, own);
}
"#;

/// Measures ranges of the permutations of some lengths, the index of one that needs one, and all of
/// a length, piece by piece.
pub(crate) fn run(of: &GpuViews, common: &Common) -> Result<(), Box<dyn Error>> {
    let cuda = Cuda::new()?;
    let origin = Origin::new(&cuda.stream().context().name()?)?;
    println!("# $ {}", machine::command());
    println!("# {}", machine::LIBRARY);
    println!("# seconds: of one call, median of {}, by the clock", common.effort().repeats);
    println!("{}", origin.head(&COLUMNS));
    let mut bench = Bench {
        workspace: CudaWorkspace::new(&cuda),
        cuda,
        origin,
        repeats: common.effort().repeats,
    };
    bench.whole((1 << 29) + 1)?;
    let count = 1_usize << of.indexes;
    bench.range("range, walked", &Permutation::walk((1 << of.length) + 1, 1), count)?;
    let p = Permutation::new((1 << of.length) - 1, 1);
    // A length that nearly fills its domain needs the index as any other does.
    bench.index(&p)?;
    bench.range("range, compacted, with an index", &p, count)?;
    if let Some(power) = of.pieces {
        bench.pieces(&Permutation::walk((1 << power) + 1, 1))?;
    }
    Ok(())
}

/// What is measured.
struct Bench {
    cuda: Cuda,
    workspace: CudaWorkspace,
    origin: Origin,
    repeats: usize,
}

impl Bench {
    /// All indexes of a compacted permutation.
    fn whole(&mut self, len: u64) -> Result<(), Box<dyn Error>> {
        let f = Standard::from_seed(len, 1);
        let mut out = self.cuda.stream().alloc_zeros::<u64>(len as usize)?;
        let (name, p) = ("all, compacted", Permutation::new(len, 1));
        let seconds = self.time(|workspace| workspace.indices(&f, &mut out))?;
        self.compare(name, &p, 0..len, &out)?;
        self.print(name, len, len, seconds);
        Ok(())
    }

    /// The index of a permutation.
    fn index(&mut self, p: &Permutation) -> Result<(), Box<dyn Error>> {
        // The kernel is compiled for another one.
        self.workspace.build_index(&Permutation::new(p.len(), 2))?;
        let start = Instant::now();
        self.workspace.build_index(p)?;
        let (name, seconds) = ("the index", start.elapsed().as_secs_f64());
        // The slots between one block's count and that of another, some blocks on, are evaluated
        // one by one.
        for first in (0..p.len() - APART).step_by((p.len() / LOOKED_UP) as usize + 1) {
            let there = p.range(first..=first + APART)?.fold(None, |_, index| Some(index));
            if there.and_then(|index| p.position(index)) != Some(first + APART) {
                return Err(format!("{name} is wrong at {} items", p.len()).into());
            }
        }
        self.print(name, p.len(), p.len(), seconds);
        Ok(())
    }

    /// Indexes in the middle of a permutation.
    fn range<B: Bijection>(
        &mut self,
        name: &str,
        p: &Permutation<B>,
        count: usize,
    ) -> Result<(), Box<dyn Error>> {
        let mut out = self.cuda.stream().alloc_zeros::<u64>(count)?;
        let start = p.len() / 3;
        let places = start..start + count as u64;
        let seconds = self.time(|workspace| workspace.range(p, places.clone(), &mut out))?;
        self.compare(name, p, places, &out)?;
        self.print(name, p.len(), count as u64, seconds);
        Ok(())
    }

    /// All indexes of a permutation that is longer than memory, in pieces that are added up.
    fn pieces<B: Bijection>(&mut self, p: &Permutation<B>) -> Result<(), Box<dyn Error>> {
        let stream = self.cuda.stream().clone();
        let piece = 1_usize << 32;
        let sum = self.cuda.kernel(SUM, "sum")?;
        let mut out = stream.alloc_zeros::<u64>(piece)?;
        let mut all = stream.alloc_zeros::<u64>(1)?;
        // Compiles, and takes memory.
        self.workspace.range(p, 0..piece as u64, &mut out)?;
        stream.synchronize()?;
        let start = Instant::now();
        for first in (0..p.len()).step_by(piece) {
            let count = (p.len() - first).min(piece as u64);
            let mut part = out.slice_mut(..count as usize);
            self.workspace.range(p, first..first + count, &mut part)?;
            let part = out.slice(..count as usize);
            let mut launch = stream.launch_builder(&sum);
            launch.arg(&part).arg(&count).arg(&mut all);
            let shape = LaunchConfig {
                grid_dim: (132 * 8, 1, 1),
                block_dim: (256, 1, 1),
                shared_mem_bytes: 0,
            };
            // SAFETY: the kernel reads `count` words of the first slice, and adds to the word that
            // is the second one; both belong to this stream.
            unsafe { launch.launch(shape) }?;
        }
        let got = stream.clone_dtoh(&all)?;
        stream.synchronize()?;
        let seconds = start.elapsed().as_secs_f64();
        // 0 + 1 + .. + (len - 1), modulo 2^64.
        let len = u128::from(p.len());
        if got != [(len * (len - 1) / 2) as u64] {
            return Err(format!("the indexes of {len} do not add up").into());
        }
        self.print("all, walked, in pieces, and their sum", p.len(), p.len(), seconds);
        Ok(())
    }

    /// Compares the first of some indexes, and the last, with the host's.
    fn compare<B: Bijection>(
        &self,
        name: &str,
        p: &Permutation<B>,
        places: Range<u64>,
        out: &CudaSlice<u64>,
    ) -> Result<(), Box<dyn Error>> {
        let few = out.len().min(COMPARED);
        for first in [0, out.len() - few] {
            let got = self.cuda.stream().clone_dtoh(&out.slice(first..first + few))?;
            self.cuda.stream().synchronize()?;
            let from = places.start + first as u64;
            if !got.into_iter().eq(p.range(from..from + few as u64)?) {
                return Err(format!("{name} is wrong at {} items", p.len()).into());
            }
        }
        Ok(())
    }

    /// The median time of a call.
    fn time(
        &mut self,
        mut call: impl FnMut(&mut CudaWorkspace) -> Result<(), bijective_shuffle::Error>,
    ) -> Result<f64, Box<dyn Error>> {
        let Self { workspace, cuda, repeats, .. } = self;
        call(workspace)?;
        let wait = || cuda.stream().synchronize();
        gpu_time::of_calls(*repeats, (SAMPLE_SECONDS, MOST_CALLS), |calls| {
            gpu_time::by_clock(calls, wait, || call(workspace))
        })
    }

    /// Prints a row.
    fn print(&self, name: &str, len: u64, indexes: u64, seconds: f64) {
        let (len, indexes) = (len.to_string(), indexes.to_string());
        println!("{}", self.origin.row(&[name, &len, &indexes, &format!("{seconds:e}")]));
    }
}
