//! What a first call on a GPU costs, and what of it the driver takes for itself: each sample is a
//! fresh process, which opens the device, moves 8 MiB of items there, shuffles them, and reads the
//! first one.

use std::env;
use std::error::Error;
use std::process::{Command, Stdio};
use std::time::Instant;

use bijective_shuffle::bijection::Standard;
use bijective_shuffle::cuda::cudarc::driver::{CudaContext, CudaSlice};
use bijective_shuffle::cuda::{Cuda, CudaWorkspace};
use bijective_shuffle::prelude::*;
use clap::ValueEnum;

use crate::arguments::{Common, Kernels};
use crate::machine::{self, Origin};
use crate::measure::median;
use crate::sheet::Sheet;

/// The number of items, of 8 bytes each.
const LEN: usize = 1 << 20;

/// The columns after the origin.
const COLUMNS: [&str; 3] = ["kernels", "ms", "ms after `Cuda::new`"];

impl Kernels {
    /// As rows have it.
    const fn name(self) -> &'static str {
        match self {
            Self::Driver => "the driver alone",
            Self::Machine => "brought along, machine code",
            Self::Ptx => "brought along, PTX",
            Self::Compiler => "NVRTC",
        }
    }

    /// The variables that leave no other choice. The driver keeps no translation of PTX.
    const fn environment(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Driver | Self::Machine => &[("BIJECTIVE_SHUFFLE_NVRTC", "none")],
            Self::Ptx => &[
                ("BIJECTIVE_SHUFFLE_NVRTC", "none"),
                ("BIJECTIVE_SHUFFLE_KERNELS", "ptx"),
                ("CUDA_CACHE_DISABLE", "1"),
            ],
            Self::Compiler => &[("BIJECTIVE_SHUFFLE_KERNELS", "none")],
        }
    }
}

/// Measures, and prints rows. What cannot be measured here, such as the compiler where there is
/// none, is a comment.
pub(crate) fn run(common: &Common) -> Result<(), Box<dyn Error>> {
    let origin = Origin::new(&CudaContext::new(0)?.name()?)?;
    let number = format!(
        "the median of {} fresh processes, which take turns: milliseconds from before \
         `Cuda::new` until the first of 2^20 shuffled `u64` is on the host; no kernel is kept on disk",
        common.effort().repeats
    );
    let comments = [format!("$ {}", machine::command()), number];
    let sheet = Sheet::new(origin, None, &comments, &COLUMNS)?;
    let all = Kernels::value_variants();
    let mut samples = vec![Vec::new(); all.len()];
    for _ in 0..common.effort().repeats {
        for (kernels, samples) in all.iter().zip(&mut samples) {
            samples.push(in_fresh_process(*kernels));
        }
    }
    for (kernels, samples) in all.iter().zip(samples) {
        let name = kernels.name();
        match samples.into_iter().collect::<Result<Vec<[f64; 2]>, _>>() {
            Ok(samples) => {
                let of = |part: usize| median(samples.iter().map(|ms| ms[part]).collect());
                sheet.row(&[name, &format!("{:.1}", of(0)), &format!("{:.1}", of(1))])?;
            }
            Err(why) => sheet.comment(&format!("{name}: {why}"))?,
        }
    }
    Ok(())
}

/// Takes a sample in a process that has done nothing else: milliseconds in all, and of those the
/// ones after the device was open.
fn in_fresh_process(kernels: Kernels) -> Result<[f64; 2], String> {
    let value = kernels.to_possible_value().expect("none is skipped");
    let output = Command::new(env::current_exe().map_err(|error| error.to_string())?)
        .args(["gpu-cold-sample", value.get_name()])
        .envs(kernels.environment().iter().copied())
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().replace('\n', " "));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    numbers.try_into().map_err(|_| format!("`{text}` is no sample"))
}

/// Takes a sample in this process, and prints it.
pub(crate) fn sample(kernels: Kernels) -> Result<(), Box<dyn Error>> {
    let items: Vec<u64> = (0..LEN as u64).collect();
    let start = Instant::now();
    let (open, first) = if kernels == Kernels::Driver {
        let stream = CudaContext::new(0)?.new_stream()?;
        let open = start.elapsed();
        let source = stream.clone_htod(&items)?;
        let mut out: CudaSlice<u64> = stream.alloc_zeros(LEN)?;
        stream.memcpy_dtod(&source, &mut out)?;
        let first = stream.clone_dtoh(&out.slice(..1))?;
        stream.synchronize()?;
        (open, first)
    } else {
        let cuda = Cuda::new()?;
        let open = start.elapsed();
        let stream = cuda.stream().clone();
        let source = stream.clone_htod(&items)?;
        let mut out: CudaSlice<u64> = stream.alloc_zeros(LEN)?;
        let f = Standard::from_seed(LEN as u64, 42);
        CudaWorkspace::new(&cuda).shuffle_into(&f, &source, &mut out)?;
        let first = stream.clone_dtoh(&out.slice(..1))?;
        stream.synchronize()?;
        (open, first)
    };
    let all = start.elapsed();
    let expected = match kernels {
        Kernels::Driver => Some(0),
        _ => Permutation::new(LEN as u64, 42).get(0).ok(),
    };
    if first.first().copied() != expected {
        return Err("the first item is another than on the CPU".into());
    }
    println!("{:.3} {:.3}", all.as_secs_f64() * 1e3, (all - open).as_secs_f64() * 1e3);
    Ok(())
}
