//! Ranks: processes that copy into each other's memory.

use std::env;
use std::error::Error;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bijective_shuffle::bijection::Standard;
use bijective_shuffle::cuda::cudarc::driver::{CudaSlice, CudaStream};
use bijective_shuffle::cuda::{Cuda, CudaExchange, NcclId};
use bijective_shuffle::prelude::*;

use super::{Bench, Number, numbers};
use crate::arguments::{Common, GpuRank};
use crate::contender::Choice;

/// The calls of a sample of ranks, which cannot choose their number each for itself.
const CALLS: u32 = 4;

/// What a process does that is one of the ranks.
pub(crate) fn run_rank(of: &GpuRank, common: &Common) -> Result<(), Box<dyn Error>> {
    let byte = |at: usize| u8::from_str_radix(of.id.get(2 * at..2 * at + 2).unwrap_or(""), 16);
    let id = (0..of.id.len() / 2).map(byte).collect::<Result<Vec<_>, _>>()?;
    let id = NcclId::from_bytes(id.try_into().map_err(|_| "no id")?);
    let (ordinals, repeats) = ((0..of.ranks).collect(), common.effort().repeats);
    let bench = Bench { sheet: None, ordinals, each: of.each, repeats, choice: Choice::default() };
    match of.bytes {
        4 => bench.in_this_process::<u32>(of.rank, &id),
        _ => bench.in_this_process::<u64>(of.rank, &id),
    }
}

impl Bench<'_> {
    /// Ranks in processes of their own, which copy into each other's memory if they can.
    pub(super) fn in_processes<T: Number>(&self) -> Result<(), Box<dyn Error>> {
        let name = "ranks, default";
        if !self.choice.takes(name) || self.ordinals.len() == 1 {
            return Ok(());
        }
        let id: String = match NcclId::new() {
            Ok(id) => id.to_bytes().map(|byte| format!("{byte:02x}")).concat(),
            Err(error) => {
                return self.comment(&format!("{name}: {error}"));
            }
        };
        let start = |rank: usize| {
            let numbers = [rank, self.ordinals.len(), self.each, size_of::<T>()];
            let numbers = numbers.map(|number| number.to_string());
            Command::new(env::current_exe()?)
                .args(["gpu-rank", "--repeats", &self.repeats.to_string(), "--id", &id])
                .args(numbers)
                .stdout(Stdio::piped())
                .spawn()
        };
        let ranks: Vec<_> = (0..self.ordinals.len()).map(start).collect::<Result<_, _>>()?;
        let mut times = Vec::new();
        for rank in ranks {
            let output = rank.wait_with_output()?;
            let text = String::from_utf8(output.stdout)?;
            // NCCL may write lines of its own.
            let samples: Vec<f64> = text.lines().filter_map(|line| line.parse().ok()).collect();
            if !output.status.success() || samples.len() != 2 * self.repeats {
                return Err(format!("{name}, {} items: {text}", self.len()).into());
            }
            let (there, back) = samples.split_at(self.repeats);
            times.push([there.to_vec(), back.to_vec()]);
        }
        self.print_slowest::<T>(name, &times)
    }

    /// What such a process does: it prints a line for each of its samples.
    fn in_this_process<T: Number>(&self, rank: usize, id: &NcclId) -> Result<(), Box<dyn Error>> {
        let stream = Cuda::on_device(rank)?.stream().clone();
        let source = numbers::<T>(&stream, (rank * self.each) as u64, self.each)?;
        let mut out = [stream.alloc_zeros(self.each)?];
        let f = Standard::from_seed(self.len(), 1);
        // Calls wait for each other.
        let times = self.rank(rank, &stream, &f, id, &source, &mut out[0])?;
        self.compare(&f, &[stream], &out, rank, "a rank")?;
        times.iter().flatten().for_each(|seconds| println!("{seconds:e}"));
        Ok(())
    }

    /// Prints the median, there and back, of what the slowest rank has taken for each sample.
    fn print_slowest<T>(&self, name: &str, times: &[[Vec<f64>; 2]]) -> Result<(), Box<dyn Error>> {
        for (direction, name) in [name.into(), format!("back, {name}")].iter().enumerate() {
            let slowest =
                |k: usize| times.iter().map(|rank| rank[direction][k]).fold(0.0, f64::max);
            let mut samples: Vec<f64> = (0..self.repeats).map(slowest).collect();
            samples.sort_by(f64::total_cmp);
            self.print::<T>(name, self.len(), samples[samples.len() / 2])?;
        }
        Ok(())
    }

    /// What a rank's samples take, there and back. It ends with a shuffle.
    fn rank<T: Number>(
        &self,
        rank: usize,
        stream: &Arc<CudaStream>,
        f: &Standard,
        id: &NcclId,
        source: &CudaSlice<T>,
        out: &mut CudaSlice<T>,
    ) -> Result<[Vec<f64>; 2], bijective_shuffle::Error> {
        let cuda = Cuda::on_stream(stream.clone())?;
        let limit = Duration::from_secs(60);
        let mut exchange = CudaExchange::new(&cuda, id, rank, self.ordinals.len(), limit)?;
        let mut samples = [Vec::new(), Vec::new()];
        for direction in [1, 0] {
            // The first call warms up.
            for sample in 0..=self.repeats {
                let start = Instant::now();
                for _ in 0..CALLS {
                    if direction == 0 {
                        exchange.shuffle_into(f, source, out)?;
                    } else {
                        exchange.unshuffle_into(f, source, out)?;
                    }
                }
                exchange.synchronize()?;
                if sample > 0 {
                    samples[direction].push(start.elapsed().as_secs_f64() / f64::from(CALLS));
                }
            }
        }
        Ok(samples)
    }
}
