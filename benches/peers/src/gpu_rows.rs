//! Times the GPU engine, and prints rows.

use std::error::Error;

use bijective_shuffle::bijection::{Standard, VariablePhilox};
use bijective_shuffle::cuda::cudarc::driver::{CudaSlice, DeviceRepr, ValidAsZeroBits};
use bijective_shuffle::cuda::{Cuda, CudaStrategy, CudaWorkspace};
use bijective_shuffle::prelude::*;

use crate::arguments::{Common, Lengths};
use crate::contender::Choice;
use crate::gpu_time;
use crate::sheet::Sheet;

/// How long the calls between two events take, at least.
const MEASURED_SECONDS: f64 = 2e-3;
/// The most calls between two events.
const MOST_CALLS: usize = 1000;
/// How many items at the beginning are compared with the CPU's.
const COMPARED: usize = 100_000;

/// An item that is its own index, with all bits in use.
trait Numbered: DeviceRepr + ValidAsZeroBits + Copy + Default + PartialEq + Unpin {
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
pub(crate) fn run(lengths: &Lengths, common: &Common) -> Result<(), Box<dyn Error>> {
    let cuda = Cuda::new()?;
    let repeats = common.effort().repeats;
    let number = format!("seconds: of one call, median of {repeats}");
    let sheet = Sheet::of_gpu(&cuda, &number, &["name", "item_bytes", "length", "seconds"])?;
    let choice = lengths.choice(common);
    for len in lengths.powers().flat_map(|power| [1 << power, (1 << power) + 1]) {
        let bench = Bench { cuda: &cuda, sheet: &sheet, len, repeats, choice };
        bench.items::<u64>()?;
        bench.items::<u32>()?;
    }
    Ok(())
}

/// The strategies that are measured.
const STRATEGIES: [(&str, CudaStrategy); 3] = [
    ("SinglePass", CudaStrategy::SinglePass),
    ("Partitioned", CudaStrategy::Partitioned),
    ("Auto", CudaStrategy::Auto),
];

/// The families that are measured, by a member for a length.
fn families(len: usize) -> [(&'static str, Box<dyn Bijection>); 2] {
    let len = len as u64;
    [
        ("Philox-24", Box::new(VariablePhilox::<24>::from_seed(len, 1))),
        ("default", Box::new(Standard::from_seed(len, 1))),
    ]
}

/// What is measured at a length.
struct Bench<'a> {
    cuda: &'a Cuda,
    sheet: &'a Sheet,
    len: usize,
    repeats: usize,
    choice: Choice<'a>,
}

impl Bench<'_> {
    /// Every contender, for a type of item.
    fn items<T: Numbered>(&self) -> Result<(), Box<dyn Error>> {
        let stream = self.cuda.stream();
        let items: Vec<T> = (0..self.len as u64).map(T::numbered).collect();
        let source = stream.clone_htod(&items)?;
        drop(items);
        let mut out = stream.alloc_zeros::<T>(self.len)?;
        for (family, f) in &families(self.len) {
            let f = &**f;
            for (name, strategy) in STRATEGIES {
                let name = format!("{name}, {family}");
                let mut workspace = CudaWorkspace::new(&self.cuda.clone().with_strategy(strategy));
                stream.memset_zeros(&mut out)?;
                if self.measure::<T>(&name, || workspace.shuffle_into(f, &source, &mut out))? {
                    self.compare(f, &out, &name)?;
                }
                let back = format!("back, {name}");
                if self.measure::<T>(&back, || workspace.unshuffle_into(f, &source, &mut out))? {
                    // Shuffled again it must be what it was.
                    let mut again = stream.alloc_zeros::<T>(self.len)?;
                    workspace.shuffle_into(f, &out, &mut again)?;
                    self.compare_with(&again, &back, |k| k)?;
                }
            }
            self.in_place(&format!("in place, {family}"), f, &source, &mut out)?;
        }
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
        if self.measure::<T>(name, || workspace.shuffle(f, items))? {
            self.cuda.stream().memcpy_dtod(source, items)?;
            workspace.shuffle(f, items)?;
            self.compare(f, items, name)?;
        }
        if self.measure::<T>(&back, || workspace.unshuffle(f, items))? {
            self.cuda.stream().memcpy_dtod(source, items)?;
            workspace.shuffle(f, items)?;
            workspace.unshuffle(f, items)?;
            self.compare_with(items, &back, |k| k)?;
        }
        Ok(())
    }

    /// Prints the median time of a call, by events, if it is wanted. Returns whether it was
    /// measured; if it does not run, the reason is printed.
    fn measure<T>(
        &self,
        name: &str,
        mut call: impl FnMut() -> Result<(), bijective_shuffle::Error>,
    ) -> Result<bool, Box<dyn Error>> {
        if !self.choice.takes(name) {
            return Ok(false);
        }
        let (bytes, len) = (size_of::<T>().to_string(), self.len.to_string());
        if let Err(error) = call() {
            self.sheet.comment(&format!("{name}, {len} items of {bytes} bytes: {error}"))?;
            return Ok(false);
        }
        let seconds = gpu_time::of_calls(self.repeats, (MEASURED_SECONDS, MOST_CALLS), |calls| {
            gpu_time::by_events(self.cuda.stream(), calls, &mut call)
        })?;
        self.sheet.row(&[name, &bytes, &len, &format!("{seconds:e}")])?;
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
