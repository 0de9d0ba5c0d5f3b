//! Times the GPU engine, and prints rows that [`gpu`](crate::gpu) makes tables of.

use std::error::Error;
use std::time::Instant;

use bijective_shuffle::TrustedBijection;
use bijective_shuffle::bijection::{Lcg, Standard, VariablePhilox};
use bijective_shuffle::cuda::cudarc::driver::{CudaSlice, DevicePtr, DeviceRepr, ValidAsZeroBits};
use bijective_shuffle::cuda::{Cuda, CudaStrategy, CudaWorkspace};
use bijective_shuffle::prelude::*;
use bijective_shuffle::{DeviceSource, Trusted};

use crate::arguments::{Common, GpuLengths};
use crate::gpu_time;
use crate::machine::{self, Origin};
use crate::measure::median;

/// How long the calls between two events take, at least.
const MEASURED_SECONDS: f64 = 2e-3;
/// The most calls between two events.
const MOST_CALLS: usize = 1000;
/// How many items at the beginning are compared with the CPU's.
const COMPARED: usize = 100_000;

/// Slices in host memory are measured up to 2 to this power.
const MOST_HOST_POWER: u32 = 28;

/// Indexes that lie in device memory, as a bijection: with it the engine is a gather with a given
/// index.
pub(crate) struct Given {
    pub(crate) address: u64,
    pub(crate) last: u64,
}

impl Bijection for Given {
    fn last(&self) -> u64 {
        self.last
    }
    fn forward(&self, slot: u64) -> u64 {
        slot
    }
    fn inverse(&self, index: u64) -> u64 {
        index
    }
    fn trusted(&self) -> Option<Trusted<'_>> {
        Some(Trusted::new(self))
    }
    fn device_source(&self) -> Option<DeviceSource> {
        let text = "
            #ifndef GIVEN
            #define GIVEN
            struct Given {
                const uint32_t* values;
                __device__ uint64_t forward(uint64_t slot) const { return values[slot]; }
                __device__ uint64_t inverse(uint64_t index) const { return index; }
            };
            #endif
        ";
        let params = self.address.to_le_bytes().to_vec();
        // SAFETY: as many slots are asked for as there are indexes, which are kept until the stream
        // is done.
        Some(unsafe { DeviceSource::new("Given", text, params) })
    }
}

// SAFETY: the memory holds a permutation, which the engine has written there; only the gather is
// asked for, on the device, and so neither of the host's functions.
unsafe impl TrustedBijection for Given {}

/// An item that is its own index, with all bits in use.
trait Numbered: DeviceRepr + ValidAsZeroBits + Copy + Default + PartialEq + Unpin {
    const BYTES: usize = size_of::<Self>();
    fn numbered(index: u64) -> Self;
}

impl Numbered for u32 {
    fn numbered(index: u64) -> Self {
        (index as u32).wrapping_mul(0x9E37_79B1)
    }
}

impl Numbered for u64 {
    fn numbered(index: u64) -> Self {
        index.wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }
}

/// Measures lengths `2^w` and `2^w + 1`, and prints a row for each contender.
pub(crate) fn run(lengths: &GpuLengths, common: &Common) -> Result<(), Box<dyn Error>> {
    let cuda = Cuda::new()?;
    let origin = Origin::new(&cuda.stream().context().name()?)?;
    println!("# $ {}", machine::command());
    println!("# {}", machine::LIBRARY);
    println!("# seconds: of one call, median of {}", common.effort().repeats);
    println!("{}", origin.head(&["name", "item_bytes", "length", "seconds"]));
    for power in (lengths.from..=lengths.to).step_by(lengths.step) {
        for len in [1_usize << power, (1 << power) + 1] {
            let bench = Bench {
                cuda: &cuda,
                origin: &origin,
                len,
                repeats: common.effort().repeats,
                only: &lengths.only,
            };
            bench.items::<u64>()?;
            bench.items::<u32>()?;
            if power <= MOST_HOST_POWER {
                bench.host()?;
            }
        }
    }
    Ok(())
}

/// The strategies that are measured.
const STRATEGIES: [(&str, CudaStrategy); 2] =
    [("SinglePass", CudaStrategy::SinglePass), ("Partitioned", CudaStrategy::Partitioned)];

/// A way to shuffle a slice in place.
type Shuffle<'a> = dyn FnMut(&mut [u64]) -> Result<(), bijective_shuffle::Error> + 'a;

/// What is measured at a length.
struct Bench<'a> {
    cuda: &'a Cuda,
    origin: &'a Origin,
    len: usize,
    repeats: usize,
    only: &'a [String],
}

/// The names of what moves items; the others write indexes.
pub(crate) const MOVES_ITEMS: &[&str] = &[
    "SinglePass, Philox-24",
    "SinglePass, default",
    "Partitioned, Philox-24",
    "Partitioned, default",
    "SinglePass, LCG",
    "Auto, Philox-24",
    "Auto, default",
    "back, SinglePass, default",
    "back, Partitioned, default",
    "in place, Philox-24",
    "in place, default",
    "back, in place, Philox-24",
    "back, in place, default",
    "copy",
    "gather (our kernel)",
];

impl Bench<'_> {
    /// Every contender, for a type of item.
    fn items<T: Numbered>(&self) -> Result<(), Box<dyn Error>> {
        // Without them there need not be any items, which take longer than the indexes.
        if MOVES_ITEMS.iter().any(|name| self.wants(name)) {
            self.moves::<T>()?;
        }
        if T::BYTES == 4 {
            let mut indices = self.cuda.stream().alloc_zeros::<u32>(self.len)?;
            let philox = VariablePhilox::<24>::from_seed(self.len as u64, 1);
            let default = Standard::from_seed(self.len as u64, 1);
            self.write_indexes("indices, Philox-24", &philox, &mut indices)?;
            self.write_indexes("indices, default", &default, &mut indices)?;
        }
        Ok(())
    }

    /// Every contender that moves items.
    fn moves<T: Numbered>(&self) -> Result<(), Box<dyn Error>> {
        let stream = self.cuda.stream();
        let items: Vec<T> = (0..self.len as u64).map(T::numbered).collect();
        let source = stream.clone_htod(&items)?;
        drop(items);
        let mut out = stream.alloc_zeros::<T>(self.len)?;
        let philox = VariablePhilox::<24>::from_seed(self.len as u64, 1);
        let default = Standard::from_seed(self.len as u64, 1);
        let lcg = Lcg::from_seed(self.len as u64, 1);
        self.gather(&source, &mut out, &default)?;
        for (name, strategy) in STRATEGIES {
            self.shuffle(&format!("{name}, Philox-24"), strategy, &philox, &source, &mut out)?;
            self.shuffle(&format!("{name}, default"), strategy, &default, &source, &mut out)?;
        }
        self.shuffle("SinglePass, LCG", CudaStrategy::SinglePass, &lcg, &source, &mut out)?;
        self.shuffle("Auto, Philox-24", CudaStrategy::Auto, &philox, &source, &mut out)?;
        self.shuffle("Auto, default", CudaStrategy::Auto, &default, &source, &mut out)?;
        for (name, strategy) in STRATEGIES {
            self.unshuffle(
                &format!("back, {name}, default"),
                strategy,
                &default,
                &source,
                &mut out,
            )?;
        }
        self.in_place("in place, Philox-24", &philox, &source, &mut out)?;
        self.in_place("in place, default", &default, &source, &mut out)?;
        Ok(())
    }

    /// Within an array's own memory, there and back.
    fn in_place<T: Numbered>(
        &self,
        name: &str,
        f: &dyn Bijection,
        source: &CudaSlice<T>,
        items: &mut CudaSlice<T>,
    ) -> Result<(), Box<dyn Error>> {
        let back = format!("back, {name}");
        let mut workspace = CudaWorkspace::new(self.cuda);
        if self.wants(name) && self.measure::<T>(name, || workspace.shuffle(f, items))? {
            self.cuda.stream().memcpy_dtod(source, items)?;
            workspace.shuffle(f, items)?;
            self.compare(f, items, name)?;
        }
        if self.wants(&back) && self.measure::<T>(&back, || workspace.unshuffle(f, items))? {
            self.cuda.stream().memcpy_dtod(source, items)?;
            workspace.shuffle(f, items)?;
            workspace.unshuffle(f, items)?;
            self.compare_with(items, &back, |k| k)?;
        }
        Ok(())
    }

    fn gather<T: Numbered>(
        &self,
        source: &CudaSlice<T>,
        out: &mut CudaSlice<T>,
        order: &Standard,
    ) -> Result<(), Box<dyn Error>> {
        let name = "gather (our kernel)";
        if !self.wants(name) {
            return Ok(());
        }
        let stream = self.cuda.stream();
        let mut indices = stream.alloc_zeros::<u32>(self.len)?;
        let direct = self.cuda.clone().with_strategy(CudaStrategy::SinglePass);
        let mut workspace = CudaWorkspace::new(&direct);
        workspace.write_indexes(order, &mut indices)?;
        let given = Given { address: indices.device_ptr(stream).0, last: self.len as u64 - 1 };
        if !self.measure::<T>(name, || workspace.shuffle_into(&given, source, out))? {
            return Ok(());
        }
        self.compare(order, out, "gather")
    }

    fn shuffle<T: Numbered>(
        &self,
        name: &str,
        strategy: CudaStrategy,
        f: &dyn Bijection,
        source: &CudaSlice<T>,
        out: &mut CudaSlice<T>,
    ) -> Result<(), Box<dyn Error>> {
        if !self.wants(name) {
            return Ok(());
        }
        self.cuda.stream().memset_zeros(out)?;
        let mut workspace = CudaWorkspace::new(&self.cuda.clone().with_strategy(strategy));
        if !self.measure::<T>(name, || workspace.shuffle_into(f, source, out))? {
            return Ok(());
        }
        self.compare(f, out, name)
    }

    fn unshuffle<T: Numbered>(
        &self,
        name: &str,
        strategy: CudaStrategy,
        f: &dyn Bijection,
        source: &CudaSlice<T>,
        out: &mut CudaSlice<T>,
    ) -> Result<(), Box<dyn Error>> {
        if !self.wants(name) {
            return Ok(());
        }
        let mut workspace = CudaWorkspace::new(&self.cuda.clone().with_strategy(strategy));
        if !self.measure::<T>(name, || workspace.unshuffle_into(f, source, out))? {
            return Ok(());
        }
        // Shuffled again it must be what it was.
        let mut again = self.cuda.stream().alloc_zeros::<T>(self.len)?;
        workspace.shuffle_into(f, out, &mut again)?;
        let identity = |k: u64| k;
        self.compare_with(&again, name, identity)
    }

    fn write_indexes(
        &self,
        name: &str,
        f: &dyn Bijection,
        out: &mut CudaSlice<u32>,
    ) -> Result<(), Box<dyn Error>> {
        if !self.wants(name) {
            return Ok(());
        }
        let mut workspace = CudaWorkspace::new(self.cuda);
        if !self.measure::<u32>(name, || workspace.write_indexes(f, out))? {
            return Ok(());
        }
        let few = self.len.min(COMPARED);
        let got = self.cuda.stream().clone_dtoh(&out.slice(..few))?;
        self.cuda.stream().synchronize()?;
        let p = Permutation::from_bijection(self.len as u64, f)?;
        if !got.into_iter().map(u64::from).eq(p.iter().take(few)) {
            return Err(format!("{name} is wrong at {} items", self.len).into());
        }
        Ok(())
    }

    /// A slice in host memory, there and back over the link, beside the CPU's engine; by the clock.
    fn host(&self) -> Result<(), Box<dyn Error>> {
        let f = Standard::from_seed(self.len as u64, 1);
        let mut items: Vec<u64> = (0..self.len as u64).map(u64::numbered).collect();
        let mut cpu = Workspace::new();
        let engines: [(&str, &mut Shuffle<'_>); 2] = [
            ("host slice, GPU, default", &mut |items| self.cuda.shuffle(&f, items)),
            ("host slice, CPU, default", &mut |items| cpu.shuffle(&f, items)),
        ];
        for (name, shuffle) in engines {
            if !self.wants(name) {
                continue;
            }
            shuffle(&mut items)?;
            let mut times = Vec::new();
            for _ in 0..self.repeats {
                let start = Instant::now();
                shuffle(&mut items)?;
                times.push(start.elapsed().as_secs_f64());
            }
            self.print(name, 8, median(times));
        }
        Ok(())
    }

    /// Prints a row.
    fn print(&self, name: &str, item_bytes: usize, seconds: f64) {
        let (bytes, len) = (item_bytes.to_string(), self.len.to_string());
        println!("{}", self.origin.row(&[name, &bytes, &len, &format!("{seconds:e}")]));
    }

    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| name.contains(&**only))
    }

    /// Prints the median time of a call, by events. Returns whether it runs; if it does not, the
    /// reason is printed.
    fn measure<T: Numbered>(
        &self,
        name: &str,
        mut call: impl FnMut() -> Result<(), bijective_shuffle::Error>,
    ) -> Result<bool, Box<dyn Error>> {
        if let Err(error) = call() {
            println!("# {name}, {} items of {} bytes: {error}", self.len, T::BYTES);
            return Ok(false);
        }
        let seconds = gpu_time::of_calls(self.repeats, (MEASURED_SECONDS, MOST_CALLS), |calls| {
            gpu_time::by_events(self.cuda.stream(), calls, &mut call)
        })?;
        self.print(name, T::BYTES, seconds);
        Ok(true)
    }

    fn compare<T: Numbered>(
        &self,
        f: &dyn Bijection,
        out: &CudaSlice<T>,
        name: &str,
    ) -> Result<(), Box<dyn Error>> {
        let p = Permutation::from_bijection(self.len as u64, f)?;
        let order: Vec<u64> = p.iter().take(COMPARED).collect();
        self.compare_with(out, name, |k| order[k as usize])
    }

    /// Compares the first items with those that should be there.
    fn compare_with<T: Numbered>(
        &self,
        out: &CudaSlice<T>,
        name: &str,
        index: impl Fn(u64) -> u64,
    ) -> Result<(), Box<dyn Error>> {
        let few = self.len.min(COMPARED);
        let got = self.cuda.stream().clone_dtoh(&out.slice(..few))?;
        self.cuda.stream().synchronize()?;
        if (0..few as u64).any(|k| got[k as usize] != T::numbered(index(k))) {
            return Err(format!("{name} is wrong at {} items", self.len).into());
        }
        Ok(())
    }
}
