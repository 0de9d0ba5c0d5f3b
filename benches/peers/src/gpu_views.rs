//! Times parts of permutations in device memory, and prints rows.

use std::error::Error;
use std::ops::Range;
use std::time::Instant;

use bijective_shuffle::bijection::Standard;
use bijective_shuffle::cuda::cudarc::driver::CudaView;
use bijective_shuffle::cuda::{Cuda, CudaWorkspace};
use bijective_shuffle::prelude::*;

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

/// Measures ranges of the permutations of some lengths, and the index of one that needs one.
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
        let seconds = self.time(|workspace| workspace.write_indexes(&f, &mut out))?;
        compare(&self.cuda, name, &p, 0..len, &out.slice(..))?;
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
            if there.and_then(|index| p.position(index).unwrap()) != Some(first + APART) {
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
        let seconds = self.time(|workspace| workspace.write_range(p, places.clone(), &mut out))?;
        compare(&self.cuda, name, p, places, &out.slice(..))?;
        self.print(name, p.len(), count as u64, seconds);
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

/// Compares the first of some indexes, and the last, with the host's.
pub(crate) fn compare<B: Bijection>(
    cuda: &Cuda,
    name: &str,
    p: &Permutation<B>,
    places: Range<u64>,
    out: &CudaView<'_, u64>,
) -> Result<(), Box<dyn Error>> {
    let few = out.len().min(COMPARED);
    for first in [0, out.len() - few] {
        let got = cuda.stream().clone_dtoh(&out.slice(first..first + few))?;
        cuda.stream().synchronize()?;
        let from = places.start + first as u64;
        if !got.into_iter().eq(p.range(from..from + few as u64)?) {
            return Err(format!("{name} is wrong at {} items", p.len()).into());
        }
    }
    Ok(())
}
