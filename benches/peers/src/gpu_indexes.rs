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

use crate::arguments::GpuPieces;
use crate::sheet::Sheet;

/// The columns after the origin.
const COLUMNS: [&str; 4] = ["name", "item_bytes", "length", "seconds"];

/// How many indexes are compared with the host's.
const COMPARED: usize = 100_000;

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

/// Measures both ways to leave out indexes beyond the length, each once, and prints rows.
pub(crate) fn run(of: &GpuPieces) -> Result<(), Box<dyn Error>> {
    let cuda = Cuda::new()?;
    let number = format!(
        "seconds: of all indexes, once, by the clock; pieces: 2^{} indexes of 8 bytes, all in the \
         same memory",
        of.piece
    );
    let sheet = Sheet::of_gpu(&cuda, &number, &COLUMNS)?;
    let mut bench = Bench::new(cuda, sheet, 1 << of.piece)?;
    let [len, small] = [of.length, of.length.min(COMPILED_POWER)].map(|power| (1 << power) - 1);
    bench.prepare(&Permutation::walk(small, 2))?;
    bench.all("walked", &Permutation::walk(len, 1))?;
    bench.prepare(&Permutation::new(small, 2))?;
    bench.all("compacted", &Permutation::new(len, 1))
}

/// What is measured, and on what memory.
struct Bench {
    cuda: Cuda,
    workspace: CudaWorkspace,
    sheet: Sheet,
    sum: CudaFunction,
    piece: CudaSlice<u64>,
    total: CudaSlice<u64>,
}

impl Bench {
    fn new(cuda: Cuda, sheet: Sheet, piece: usize) -> Result<Self, Box<dyn Error>> {
        let stream = cuda.stream().clone();
        Ok(Self {
            workspace: CudaWorkspace::new(&cuda),
            sum: cuda.kernel(SUM, "sum")?,
            piece: stream.alloc_zeros(piece)?,
            total: stream.alloc_zeros(1)?,
            cuda,
            sheet,
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
        let name = format!("all indexes in pieces and their sum, {way}");
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
            self.sheet.comment(&format!("{} MB of the host's memory", bytes / 1_000_000))?;
            self.print("the survivor index", p.len(), indexed)?;
        }
        self.print(&name, p.len(), seconds)
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
    fn print(&self, name: &str, len: u64, seconds: f64) -> Result<(), Box<dyn Error>> {
        let bytes = size_of::<u64>().to_string();
        self.sheet.row(&[name, &bytes, &len.to_string(), &format!("{seconds:e}")])
    }
}

/// Compares the first of some indexes, and the last, with the host's.
fn compare<B: Bijection>(
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
}
