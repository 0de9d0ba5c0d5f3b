//! What the GPU engine runs without NVRTC: the calls whose kernels are embedded in the crate, as
//! the plans of jobs that together need all of these kernels.
//!
//! The crate `bijective-shuffle-kernels` holds the kernels' images. What makes them, and what
//! checks that they are those of this tree, gets the list of programs from here.

use std::collections::HashSet;

use super::affine::plan as affine;
use super::batch::rows::{self, RowsJob};
use super::fill;
use super::runtime::device::GpuLimits;
use super::runtime::embedded::key;
use super::runtime::plan::{Address, DevicePlan};
use super::runtime::program::Program;
use super::runtime::word_type::WordType;
use super::shuffle::job::Job;
use super::shuffle::movement::{MovedArray, Movement};
use super::shuffle::strategy::{self, CudaStrategy};
use crate::affine::Affine;
use crate::bijection::Standard;
use crate::compact::Direction;
use crate::compact::batch::Batch;
use crate::error::GpuError;
use crate::{Bijection, Error, FromSeed, Seed};

/// The strategies whose kernels are embedded.
const STRATEGIES: [CudaStrategy; 2] = [CudaStrategy::Auto, CudaStrategy::SinglePass];

const DIRECTIONS: [Direction; 2] = [Direction::Shuffle, Direction::Unshuffle];

/// All words of items, the smallest first.
const WORDS: [WordType; 5] =
    [WordType::U8, WordType::U16, WordType::U32, WordType::U64, WordType::U128];

/// A device, by what decides which kernels it runs: its multiprocessors, their threads, the KiB of
/// shared memory of a block and of a multiprocessor, and the MiB of the least L2 cache of its kind.
/// The figures are those of the CUDA C++ Programming Guide's table of technical specifications.
const fn device(
    multiprocessors: u32,
    threads_per_multiprocessor: u32,
    (block, all): (usize, usize),
    l2_mib: u64,
) -> GpuLimits {
    GpuLimits {
        multiprocessors,
        threads_per_multiprocessor,
        shared_per_block: block << 10,
        shared_per_multiprocessor: all << 10,
        l2_bytes: l2_mib << 20,
    }
}

/// A length whose indexes fit 32 bits in a domain whose points do not.
const FEW: u64 = 1 << 32;

/// More MiB than any device has, so that `Auto` never partitions.
const NEVER: u64 = 1 << 30;

/// Compute capability 7.0. `Auto` does not partition there without NVRTC.
const VOLTA: GpuLimits = device(80, 2048, (96, 96), NEVER);
/// Compute capability 7.5. `Auto` does not partition there without NVRTC.
const TURING: GpuLimits = device(72, 1024, (64, 64), NEVER);
/// Compute capabilities 8.0 and 8.7.
const AMPERE: GpuLimits = device(108, 2048, (163, 164), 4);
/// Compute capabilities 8.6, 8.9 and 12.0.
const GEFORCE: GpuLimits = device(84, 1536, (99, 100), 3);
/// Compute capabilities 9.0, 10.0, 10.3 and 11.0.
const HOPPER: GpuLimits = device(132, 2048, (227, 228), 48);

/// The devices whose kernels are embedded for an architecture: those on which its machine code runs
/// or, for compute capability 7.0, whose PTX every device can run, those that have no machine code
/// of their own.
pub(crate) fn devices(architecture: u32) -> &'static [GpuLimits] {
    match architecture {
        70 => &[VOLTA, TURING, GEFORCE, HOPPER],
        80 => &[AMPERE, GEFORCE],
        _ => &[HOPPER],
    }
}

/// An embedded kernel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Promised {
    /// The function that it calls, and what it evaluates. Kernels of a group are much alike.
    pub group: String,
    /// Its whole text.
    pub text: String,
    /// The key by which its image is found.
    pub key: u128,
}

/// The kernels of all promised calls on some devices, in the order of their groups.
///
/// # Errors
///
/// Those of the functions that plan. No job here causes one.
pub(crate) fn kernels(devices: &[GpuLimits]) -> Result<Vec<Promised>, Error> {
    let mut programs = HashSet::new();
    for limits in devices {
        each_plan(limits, &mut |plan| programs.extend(Program::all(plan)))?;
    }
    let promised = |program: &Program| {
        let (group, text) = (program.group(), program.full_text());
        Promised { group, key: key(&text), text }
    };
    let mut kernels: Vec<_> = programs.iter().map(promised).collect();
    kernels.sort_unstable();
    Ok(kernels)
}

/// Calls a function with plans that together have all kernels of the promised calls on a device.
fn each_plan(limits: &GpuLimits, run: &mut dyn FnMut(&DevicePlan<'_>)) -> Result<(), Error> {
    // A `Standard` of few items is a table.
    shuffles(&Standard::from_seed(Standard::EXACT_MAX, 0), limits, run)?;
    for bits in 9..=64 {
        shuffles(&Standard::from_seed(points(bits), 0), limits, run)?;
    }
    batches(limits, run)?;
    affine_maps(limits, run)?;
    fill::each_plan(limits.multiprocessors, run)
}

/// `2^bits`, or as many as there are.
fn points(bits: u32) -> u64 {
    1_u64.checked_shl(bits).unwrap_or(u64::MAX)
}

/// Moving items, and writing indexes, by a bijection.
fn shuffles(
    f: &dyn Bijection,
    limits: &GpuLimits,
    run: &mut dyn FnMut(&DevicePlan<'_>),
) -> Result<(), Error> {
    let mut movements = vec![
        Movement::Indices { out: Address::Given(256), word: WordType::U32 },
        Movement::Indices { out: Address::Given(256), word: WordType::U64 },
    ];
    for direction in DIRECTIONS {
        for word in WORDS {
            movements
                .push(Movement::items(vec![MovedArray::given(256, 256, word.bytes())], direction)?);
        }
        movements.push(Movement::items(vec![MovedArray::given(256, 256, 3)], direction)?);
    }
    let last = f.last();
    // The number of items decides whether there are gaps, and the size of buckets: all, all but
    // one, and from a half of the points on in steps of a 32nd.
    let steps = (0..16).map(|step| last / 2 + 1 + last / 32 * step);
    let mut lens: Vec<u64> = steps.chain([last, last.saturating_add(1)]).collect();
    // The indexes of a few of many points may have 32 bits.
    if last > FEW {
        lens.push(FEW);
    }
    lens.retain(|&len| len > 0);
    lens.dedup();
    for movement in movements {
        for &len in &lens {
            // Indexes of 32 bits are for as many items as have them.
            if matches!(movement, Movement::Indices { word: WordType::U32, .. }) && len > 1 << 32 {
                continue;
            }
            let job = Job::new(f, len, movement.clone())?;
            for strategy in STRATEGIES {
                match strategy::plan(&job, strategy, limits) {
                    Ok(plan) => run(&plan),
                    // No kernel serves that many points, so nothing is promised.
                    Err(Error::Gpu(GpuError::DomainTooWide)) => {}
                    Err(error) => return Err(error),
                }
            }
        }
    }
    Ok(())
}

/// Writing rows of batches.
fn batches(limits: &GpuLimits, run: &mut dyn FnMut(&DevicePlan<'_>)) -> Result<(), Error> {
    // Where a `usize` has 32 bits there are no longer rows.
    let powers = (7..=40).filter_map(|bits| 1_usize.checked_shl(bits));
    for len in powers.flat_map(|power| [power - 1, power]) {
        for rows in (0..=40).map(|bits| 1 << bits) {
            for word in [WordType::U32, WordType::U64] {
                if word == WordType::U32 && len as u64 > 1 << 32 {
                    continue;
                }
                let batch = Batch { len, seed: Seed::new(0) };
                let movement = Movement::Indices { out: Address::Given(256), word };
                let job = RowsJob { batch, first: 0, rows: 1, at_once: rows, movement };
                rows::each_plan(&job, job.rows, limits, |plan| {
                    run(plan);
                    Ok(())
                })?;
            }
        }
    }
    Ok(())
}

/// Permuting arrays by affine maps.
fn affine_maps(limits: &GpuLimits, run: &mut dyn FnMut(&DevicePlan<'_>)) -> Result<(), Error> {
    for bits in 1..=36 {
        let map = Affine::reversal(bits)?;
        // Items of each word, of several words, and of three words, which leave gaps.
        for item in
            WORDS.into_iter().flat_map(|word| [1, 2, 3, 5].map(|units| units * word.bytes()))
        {
            // Addresses that 16 bytes can be loaded from at once, and others.
            for at in [256, 256 + item as u64] {
                run(&affine::permute(&map, MovedArray::given(at, at, item), limits)?);
            }
        }
    }
    Ok(())
}

// CUDA has no driver for 32 bits.
#[cfg(all(test, feature = "kernels", target_pointer_width = "64"))]
mod tests;
