//! Times shapes of the kernels that fill, to choose those in `src/cuda/fill/tuning.rs`.

use std::error::Error;

use bijective_shuffle::cuda::cudarc::driver::{
    CudaFunction, CudaViewMut, DevicePtrMut, LaunchConfig, PushKernelArg,
};
use bijective_shuffle::cuda::{Cuda, CudaStreams, DeviceGenerator};
use bijective_shuffle::rng::{
    Generator, LaggedFibonacci521, LaggedFibonacci1279, Lcg64, Mwc, Philox4x32Rng, Streams,
    XorShift1024Weyl, Xorwow,
};
use rayon::prelude::*;

use super::contenders::{Contender, multiprocessors};
use crate::arguments::{Common, GpuNumbers};

/// The kernels' text.
const FILL: &str = include_str!("../../../../gpu/fill.cuh");

/// A kernel that is measured.
struct Candidate {
    name: String,
    /// What it is compared with: the others of the same group.
    group: String,
    /// Parameters and body.
    text: (&'static str, String),
    threads: u32,
    /// Blocks that a multiprocessor should hold, which limits their registers.
    blocks: u32,
    grid: u32,
    fills: Fills,
}

/// What a kernel fills with, which says what its arguments are.
#[derive(Clone, Copy)]
enum Fills {
    /// A stream of Philox4x32, from its beginning.
    Philox,
    /// From the word `skip` on, an array that begins `before` words after a multiple of 16 bytes.
    Anywhere { skip: u64, before: usize },
    /// So many streams of a generator.
    Streams(&'static str, u64),
}

const PHILOX: &str =
    "uint64_t key, uint64_t stream, uint64_t block, uint32_t* out, uint64_t first, uint64_t end";
const ANYWHERE: &str =
    "uint64_t key, uint64_t stream, uint64_t block, uint64_t skip, uint32_t* out, uint64_t words";
const STREAMS: &str = "uint32_t* states, uint64_t count, uint32_t* out, uint64_t len";

/// Measures every candidate, and prints each group with the fastest first.
pub(crate) fn run(numbers: &GpuNumbers, common: &Common) -> Result<(), Box<dyn Error>> {
    let cuda = Cuda::new()?;
    let mut candidates = candidates(multiprocessors(&cuda)?);
    candidates.retain(|candidate| {
        let wanted = |only: &String| candidate.name.contains(&**only);
        numbers.only.is_empty() || numbers.only.iter().any(wanted)
    });
    let kernels: Vec<CudaFunction> = candidates
        .par_iter()
        .map(|Candidate { text: (parameters, body), threads, blocks, .. }| {
            let text = format!(
                "{FILL}\nusing namespace bijective_shuffle;\n\
                 extern \"C\" __global__ void __launch_bounds__({threads}, {blocks}) entry({parameters}) {{ {body} }}"
            );
            cuda.kernel(&text, "entry")
        })
        .collect::<Result<_, _>>()?;
    let mut memory = cuda.stream().alloc_zeros::<u32>(1 << numbers.power)?;
    let mut out = memory.slice_mut(..);
    let mut rows: Vec<(String, f64, String)> = Vec::new();
    for (candidate, kernel) in candidates.iter().zip(&kernels) {
        let mut contender = contender(&cuda, candidate, kernel)?;
        let mut times = Vec::new();
        for _ in 0..common.effort().repeats {
            times.push(contender.time(cuda.stream(), &mut out)?);
        }
        times.sort_by(f64::total_cmp);
        let speed = out.len() as f64 / times[times.len() / 2] / 1e9;
        rows.push((candidate.group.clone(), speed, candidate.name.clone()));
    }
    rows.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
    println!("words,10^9 words a second,shape");
    for (group, speed, name) in rows {
        println!("{group},{speed:.0},{name}");
    }
    Ok(())
}

/// All shapes.
fn candidates(multiprocessors: u32) -> Vec<Candidate> {
    [
        one_stream(multiprocessors),
        one_stream_anywhere(multiprocessors),
        philox_streams(),
        lone_streams(),
        warp_streams(),
        block_streams(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A stream of Philox4x32, from its beginning.
fn one_stream(multiprocessors: u32) -> Vec<Candidate> {
    let mut all = Vec::new();
    let numbers =
        [("U32", 10), ("U32", 7), ("F32", 10), ("F64", 10), ("NormalF32", 10), ("NormalF64", 10)];
    for (number, rounds) in numbers {
        for threads in [128, 256, 512] {
            for unroll in [1, 2, 4, 8] {
                for held in [512, 1024, 2048] {
                    for waves in [2048, 8192, 1 << 20] {
                        // As many blocks as hold so many threads a multiprocessor; the last is a
                        // block a tile.
                        let grid = (multiprocessors * (waves / threads)).max(1);
                        all.push(Candidate {
                            name: format!(
                                "{threads} threads; {unroll} blocks; {held} threads held; \
                                 {waves} threads a multiprocessor"
                            ),
                            group: format!("Philox4x32-{rounds} {number}"),
                            text: (
                                PHILOX,
                                format!(
                                    "fill_philox<{number}, {rounds}, {threads}, {unroll}>\
                                     (key, stream, block, out, first, end);"
                                ),
                            ),
                            threads,
                            blocks: held / threads,
                            grid,
                            fills: Fills::Philox,
                        });
                    }
                }
            }
        }
    }
    all
}

/// The same from any word, into any place.
fn one_stream_anywhere(multiprocessors: u32) -> Vec<Candidate> {
    let mut all = Vec::new();
    for (number, skip, before) in [
        ("U32", 3, 0),
        ("U32", 0, 3),
        ("U32", 3, 1),
        ("F32", 3, 1),
        ("F64", 3, 2),
        ("NormalF32", 3, 1),
    ] {
        for threads in [128, 256, 512] {
            for unroll in [4, 8, 12, 16] {
                for held in [512, 1024] {
                    for waves in [512, 1024, 2048, 8192, 1 << 20] {
                        let grid = (multiprocessors * (waves / threads)).max(1);
                        all.push(Candidate {
                            name: format!(
                                "anywhere; {threads} threads; {unroll} rows; {held} threads held; \
                                 {waves} threads a multiprocessor"
                            ),
                            group: format!(
                                "Philox4x32-10 {number}, {skip} words skipped, {before} before"
                            ),
                            text: (
                                ANYWHERE,
                                format!(
                                    "fill_philox_anywhere<{number}, 10, {threads}, {unroll}>\
                                     (key, stream, block, skip, out, words);"
                                ),
                            ),
                            threads,
                            blocks: held / threads,
                            grid,
                            fills: Fills::Anywhere { skip, before },
                        });
                    }
                }
            }
        }
    }
    all
}

/// Streams of Philox4x32.
fn philox_streams() -> Vec<Candidate> {
    let mut all = Vec::new();
    for (number, steps) in
        [("U32", 1), ("F32", 1), ("NormalF32", 1), ("U64", 2), ("F64", 2), ("NormalF64", 2)]
    {
        for threads in [128, 256, 512] {
            for unroll in [2, 4, 8] {
                for held in [512, 1024, 1280, 1536, 2048] {
                    // Whole blocks only.
                    if held % threads != 0 {
                        continue;
                    }
                    for power in [17, 18, 19] {
                        let count = 1_u64 << power;
                        all.push(Candidate {
                            name: format!("2^{power} streams; {threads} threads; {unroll} rows; {held} threads held"),
                            group: format!("Philox4x32Rng {number}"),
                            text: (
                                STREAMS,
                                format!(
                                    "fill_philox_streams<{number}, 10, {threads}, {unroll}>\
                                     (states, count, out, len);"
                                ),
                            ),
                            threads,
                            blocks: held / threads,
                            grid: (count * steps / u64::from(threads)) as u32,
                            fills: Fills::Streams("Philox4x32Rng", count),
                        });
                    }
                }
            }
        }
    }
    all
}

/// Streams with a state a thread.
fn lone_streams() -> Vec<Candidate> {
    let mut all = Vec::new();
    for generator in ["Lcg64", "Mwc", "Xorwow"] {
        for threads in [64, 128, 256] {
            for streams in [1, 4] {
                for unroll in [1, 4, 8] {
                    for power in [16, 17, 18, 19, 20] {
                        let count = 1_u64 << power;
                        all.push(Candidate {
                            name: format!("2^{power} streams; {threads} threads; {streams} a thread; {unroll} rows"),
                            group: generator.into(),
                            text: (
                                STREAMS,
                                format!(
                                    "fill_streams<{generator}, U32, {threads}, {streams}, {unroll}>\
                                     (states, count, out, len);"
                                ),
                            ),
                            threads,
                            blocks: 1,
                            grid: (count / u64::from(threads * streams)) as u32,
                            fills: Fills::Streams(generator, count),
                        });
                    }
                }
            }
        }
    }
    all
}

/// Streams whose state threads of a warp share.
fn warp_streams() -> Vec<Candidate> {
    let mut all = Vec::new();
    for threads in [64, 128, 256, 512] {
        for power in [13, 14, 15, 16, 17] {
            let count = 1_u64 << power;
            all.push(Candidate {
                name: format!("2^{power} streams; {threads} threads"),
                group: "XorShift1024Weyl".into(),
                text: (
                    STREAMS,
                    format!("fill_warps<XorShift1024WeylQuads, U32, {threads}>(states, count, out, len);"),
                ),
                threads,
                blocks: 1,
                grid: (count * 8 / u64::from(threads)) as u32,
                fills: Fills::Streams("XorShift1024Weyl", count),
            });
        }
    }
    all
}

/// Streams whose state a block shares.
fn block_streams() -> Vec<Candidate> {
    let mut all = Vec::new();
    for (generator, lags, threads) in
        [("LaggedFibonacci521", "521, 353", 64), ("LaggedFibonacci1279", "1279, 861", 128)]
    {
        for power in [10, 11, 12, 13, 14] {
            all.push(Candidate {
                name: format!("2^{power} streams; {threads} threads"),
                group: generator.into(),
                text: (
                    STREAMS,
                    format!("fill_rings<LaggedFibonacci<{lags}, {threads}>, U32>(states, count, out, len);"),
                ),
                threads,
                blocks: 1,
                grid: 1 << power,
                fills: Fills::Streams(generator, 1 << power),
            });
        }
    }
    all
}

/// A candidate that is ready to fill.
fn contender<'a>(
    cuda: &'a Cuda,
    candidate: &Candidate,
    kernel: &'a CudaFunction,
) -> Result<Contender<'a, u32>, Box<dyn Error>> {
    let (generator, count) = match candidate.fills {
        Fills::Philox => return Ok(philox(cuda, candidate, kernel)),
        Fills::Anywhere { skip, before } => {
            return Ok(anywhere(cuda, candidate, kernel, skip, before));
        }
        Fills::Streams(generator, count) => (generator, count),
    };
    match generator {
        "Philox4x32Rng" => streams::<Philox4x32Rng>(cuda, candidate, kernel, count),
        "Lcg64" => streams::<Lcg64>(cuda, candidate, kernel, count),
        "Mwc" => streams::<Mwc>(cuda, candidate, kernel, count),
        "Xorwow" => streams::<Xorwow>(cuda, candidate, kernel, count),
        "LaggedFibonacci521" => streams::<LaggedFibonacci521>(cuda, candidate, kernel, count),
        "LaggedFibonacci1279" => streams::<LaggedFibonacci1279>(cuda, candidate, kernel, count),
        "XorShift1024Weyl" => streams::<XorShift1024Weyl>(cuda, candidate, kernel, count),
        _ => Err(format!("no generator {generator}").into()),
    }
}

fn shape(candidate: &Candidate) -> LaunchConfig {
    LaunchConfig {
        grid_dim: (candidate.grid, 1, 1),
        block_dim: (candidate.threads, 1, 1),
        shared_mem_bytes: 0,
    }
}

fn named<'a>(
    candidate: &Candidate,
    fill: impl FnMut(&mut CudaViewMut<'_, u32>) -> Result<(), Box<dyn Error>> + 'a,
) -> Contender<'a, u32> {
    let name = candidate.name.clone();
    Contender { name, fill: Box::new(fill), expected: Vec::new(), moments: None }
}

fn philox<'a>(
    cuda: &'a Cuda,
    candidate: &Candidate,
    kernel: &'a CudaFunction,
) -> Contender<'a, u32> {
    let (stream, shape) = (cuda.stream(), shape(candidate));
    named(candidate, move |out| {
        let words = out.len() as u64;
        let (address, _guard) = out.device_ptr_mut(stream);
        let mut launch = stream.launch_builder(kernel);
        launch.arg(&42_u64).arg(&0_u64).arg(&0_u64).arg(&address).arg(&0_u64).arg(&words);
        // SAFETY: the arguments are the kernel's, which writes so many words: the slice, borrowed
        // for writing.
        unsafe { launch.launch(shape) }?;
        Ok(())
    })
}

fn anywhere<'a>(
    cuda: &'a Cuda,
    candidate: &Candidate,
    kernel: &'a CudaFunction,
    skip: u64,
    before: usize,
) -> Contender<'a, u32> {
    let (stream, shape) = (cuda.stream(), shape(candidate));
    named(candidate, move |out| {
        let mut out = out.slice_mut(before..);
        let words = out.len() as u64;
        let (address, _guard) = out.device_ptr_mut(stream);
        let mut launch = stream.launch_builder(kernel);
        launch.arg(&42_u64).arg(&0_u64).arg(&0_u64).arg(&skip).arg(&address).arg(&words);
        // SAFETY: the arguments are the kernel's, which writes so many words: the slice, borrowed
        // for writing.
        unsafe { launch.launch(shape) }?;
        Ok(())
    })
}

fn streams<'a, G: DeviceGenerator + Generator>(
    cuda: &'a Cuda,
    candidate: &Candidate,
    kernel: &'a CudaFunction,
    count: u64,
) -> Result<Contender<'a, u32>, Box<dyn Error>> {
    let mut on_device = CudaStreams::new(cuda, &Streams::<G>::new(1, 0..count)?)?;
    let (stream, shape) = (cuda.stream(), shape(candidate));
    Ok(named(candidate, move |out| {
        let words = out.len() as u64;
        let (address, _guard) = out.device_ptr_mut(stream);
        let mut launch = stream.launch_builder(kernel);
        let mut states = on_device.states_mut();
        launch.arg(&mut states).arg(&count).arg(&address).arg(&words);
        // SAFETY: the arguments are the kernel's, for so many streams and words; the slice is
        // borrowed for writing.
        unsafe { launch.launch(shape) }?;
        Ok(())
    }))
}
