//! Times all indexes of permutations that are longer than memory: they are written to device memory
//! in pieces, which are added up, so that every index is seen once.

use std::error::Error;
use std::ops::Range;
use std::time::Instant;

use bijective_shuffle::cuda::cudarc::driver::{
    CudaFunction, CudaSlice, CudaView, LaunchConfig, PushKernelArg,
};
use bijective_shuffle::cuda::{Cuda, CudaWorkspace};
use bijective_shuffle::prelude::*;

use crate::arguments::{GpuPieces, Way};
use crate::gpu_views::compare;
use crate::machine::{self, Origin};

/// The columns after the origin, which are those of `gpu-rows`.
pub(crate) const COLUMNS: [&str; 4] = ["name", "item_bytes", "length", "seconds"];

/// What the names of all indexes begin with, and that of the index by itself.
pub(crate) const ALL: &str = "all indexes in pieces and their sum";
pub(crate) const INDEX: &str = "the survivor index";

/// Kernels that need not be compiled again are those of this many points, or more.
const COMPILED_POWER: u32 = 34;

/// A kernel that adds up words, modulo 2^64. It reads two at a time, for more bytes on their way.
const SUM: &str = r#"
extern "C" __global__ void sum(const ulonglong2* pairs, uint64_t count, unsigned long long* all) {
    unsigned long long own = 0;
    uint64_t first = blockIdx.x * uint64_t(blockDim.x) + threadIdx.x;
    for (uint64_t k = first; k < count / 2; k += uint64_t(gridDim.x) * blockDim.x) {
        ulonglong2 pair = pairs[k];
        own += pair.x + pair.y;
    }
    if (first == 0 && count % 2 != 0) own += pairs[count / 2].x;
    for (int step = 16; step > 0; step /= 2) own += __shfl_xor_sync(~0u, own, step);
    if (threadIdx.x % 32 == 0) atomicAdd(all, own);
}
"#;
const SUM_THREADS: u32 = 256;
/// As many as the multiprocessors of an H200 hold at the same time.
const SUM_BLOCKS: u32 = 132 * 8;

/// Measures each way once, and prints rows.
pub(crate) fn run(of: &GpuPieces) -> Result<(), Box<dyn Error>> {
    let cuda = Cuda::new()?;
    let origin = Origin::new(&cuda.stream().context().name()?)?;
    println!("# $ {}", machine::command());
    println!("# {}", machine::LIBRARY);
    println!("# seconds: of all indexes, once, by the clock");
    println!("# pieces: 2^{} indexes of 8 bytes, all in the same memory", of.piece);
    println!("{}", origin.head(&COLUMNS));
    let mut bench = Bench::new(cuda, origin, 1 << of.piece)?;
    let (len, small) =
        (length(of.length, of.above), length(of.length.min(COMPILED_POWER), of.above));
    for way in &of.ways {
        match way {
            Way::Walked => {
                bench.prepare(&Permutation::walk(small, 2))?;
                bench.all("walked", &Permutation::walk(len, 1))?;
            }
            Way::Compacted => {
                bench.prepare(&Permutation::new(small, 2))?;
                bench.all("compacted", &Permutation::new(len, 1))?;
            }
        }
    }
    Ok(())
}

/// The length beside a power of two.
fn length(power: u32, above: bool) -> u64 {
    if above { (1 << power) + 1 } else { (1 << power) - 1 }
}

/// What is measured, and on what memory.
struct Bench {
    cuda: Cuda,
    workspace: CudaWorkspace,
    origin: Origin,
    sum: CudaFunction,
    piece: CudaSlice<u64>,
    total: CudaSlice<u64>,
}

impl Bench {
    fn new(cuda: Cuda, origin: Origin, piece: usize) -> Result<Self, Box<dyn Error>> {
        let stream = cuda.stream().clone();
        Ok(Self {
            workspace: CudaWorkspace::new(&cuda),
            sum: cuda.kernel(SUM, "sum")?,
            piece: stream.alloc_zeros(piece)?,
            total: stream.alloc_zeros(1)?,
            cuda,
            origin,
        })
    }

    /// Compiles the kernels and takes the memory for another permutation of the same kind.
    fn prepare<B: Bijection>(&mut self, p: &Permutation<B>) -> Result<(), Box<dyn Error>> {
        self.workspace.build_index(p)?;
        self.produce(p, 0..p.len().min(self.piece.len() as u64))?;
        self.cuda.stream().synchronize()?;
        Ok(())
    }

    /// Times all indexes of a permutation and, where there is one, its survivor index first.
    fn all<B: Bijection>(&mut self, way: &str, p: &Permutation<B>) -> Result<(), Box<dyn Error>> {
        let name = format!("{ALL}, {way}");
        let stream = self.cuda.stream().clone();
        stream.memset_zeros(&mut self.total)?;
        stream.synchronize()?;
        let start = Instant::now();
        self.workspace.build_index(p)?;
        let indexed = start.elapsed().as_secs_f64();
        let mut last = 0..0;
        for places in pieces(p.len(), self.piece.len() as u64) {
            last = places.clone();
            self.produce(p, places)?;
        }
        let got = stream.clone_dtoh(&self.total)?;
        stream.synchronize()?;
        let seconds = start.elapsed().as_secs_f64();
        if got != [sum_below(p.len())] {
            return Err(format!("{name}: those of {} do not add up", p.len()).into());
        }
        // The last piece is still there.
        let count = (last.end - last.start) as usize;
        compare(&self.cuda, &name, p, last, &self.piece.slice(..count))?;
        if let Some(bytes) = p.index_bytes() {
            println!("# {INDEX}: {} MB of the host's memory", bytes / 1_000_000);
            self.print(INDEX, p.len(), indexed);
        }
        self.print(&name, p.len(), seconds);
        Ok(())
    }

    /// Writes the indexes of some places, and adds them to the total.
    fn produce<B: Bijection>(
        &mut self,
        p: &Permutation<B>,
        places: Range<u64>,
    ) -> Result<(), Box<dyn Error>> {
        let count = places.end - places.start;
        self.workspace.write_range(p, places, &mut self.piece.slice_mut(..count as usize))?;
        let part: CudaView<'_, u64> = self.piece.slice(..count as usize);
        let mut launch = self.cuda.stream().launch_builder(&self.sum);
        launch.arg(&part).arg(&count).arg(&mut self.total);
        let shape = LaunchConfig {
            grid_dim: (SUM_BLOCKS, 1, 1),
            block_dim: (SUM_THREADS, 1, 1),
            shared_mem_bytes: 0,
        };
        // SAFETY: the kernel reads `count` words of the first slice, which begins at a multiple of
        // 16 bytes, and adds to the word that is the second one; both belong to this stream.
        unsafe { launch.launch(shape) }?;
        Ok(())
    }

    /// Prints a row.
    fn print(&self, name: &str, len: u64, seconds: f64) {
        let bytes = size_of::<u64>().to_string();
        println!("{}", self.origin.row(&[name, &bytes, &len.to_string(), &format!("{seconds:e}")]));
    }
}

/// The places of each piece.
fn pieces(len: u64, piece: u64) -> impl Iterator<Item = Range<u64>> {
    (0..len.div_ceil(piece)).map(move |k| k * piece..len.min((k + 1) * piece))
}

/// `0 + 1 + .. + (len - 1)`, modulo 2^64.
fn sum_below(len: u64) -> u64 {
    let len = u128::from(len);
    (len * len.saturating_sub(1) / 2) as u64
}

#[cfg(test)]
mod tests {
    use bijective_shuffle::bijection::Standard;

    use super::*;

    #[test]
    fn pieces_are_all_places_in_order() {
        for (len, piece) in [(0, 4), (1, 4), (4, 4), (9, 4), ((1 << 41) - 1, 1 << 39)] {
            let all: Vec<_> = pieces(len, piece).collect();
            assert_eq!(all.first().map_or(0, |piece| piece.start), 0);
            assert_eq!(all.last().map_or(0, |piece| piece.end), len);
            assert!(all.windows(2).all(|two| two[0].end == two[1].start));
            assert!(all.iter().all(|places| places.end - places.start <= piece));
        }
    }

    #[test]
    fn sums_are_those_of_all_indexes() {
        for len in [0, 1, 2, 7, 1000] {
            assert_eq!(sum_below(len), (0..len).sum());
        }
        // 2^41 (2^41 - 1) / 2 is more than 64 bits have.
        assert_eq!(sum_below(1 << 41), (1_u64 << 40).wrapping_mul((1 << 41) - 1));
    }

    #[test]
    fn no_length_fills_its_domain() {
        for (above, points) in [(false, 1 << 41), (true, 1 << 42)] {
            assert_eq!(Standard::from_seed(length(41, above), 1).last(), points - 1);
        }
    }
}
