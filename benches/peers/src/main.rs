//! Measures `bijective-shuffle` beside its peers, one after the other in one run, so that noise
//! hits all alike; checks what every one of them did; and writes the rows of `benches/results`. See
//! `README.md`.

mod arena;
mod arguments;
mod bounds;
mod cold;
mod contender;
mod curand;
mod exchange;
mod files;
mod gpu_batch;
mod gpu_calls;
mod gpu_cold;
mod gpu_group;
mod gpu_indexes;
mod gpu_rng;
mod gpu_rows;
mod gpu_segments;
mod gpu_time;
mod item;
mod machine;
mod measure;
mod ours;
mod pages;
mod peers;
mod sheet;
mod std_shuffle;
mod table;
mod trial;

use std::error::Error;

use clap::Parser;

use crate::arguments::{Arguments, Command};
use crate::pages::PagedAllocator;

#[global_allocator]
static ALLOCATOR: PagedAllocator = PagedAllocator;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let common = &arguments.common;
    if let Command::ColdSample(sample) = &arguments.command {
        // Before there is a pool, whose start is part of a first call.
        return cold::sample(sample, common);
    }
    if let Command::GpuColdSample { kernels } = arguments.command {
        return gpu_cold::sample(kernels);
    }
    common.pages.choose();
    let threads = match (common.threads, &arguments.command) {
        (Some(threads), _) => threads,
        (None, Command::Small) => 1,
        (None, _) => std::thread::available_parallelism()?.get(),
    };
    // The global pool: so that calls come from outside of it, as those of most programs do.
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    match &arguments.command {
        Command::Table(lengths) => table::run(lengths, common),
        Command::Small => table::run_small(common),
        Command::Cold(calls) => cold::run(calls, common),
        Command::ColdSample(_) | Command::GpuColdSample { .. } => {
            unreachable!("it was answered above")
        }
        Command::Exchange(ranks) => exchange::run(ranks, common),
        Command::Files(files) => files::run(files, common),
        Command::GpuCalls => gpu_calls::run(common),
        Command::GpuBatch => gpu_batch::run(common),
        Command::GpuSegments => gpu_segments::run(common),
        Command::GpuCold => gpu_cold::run(common),
        Command::GpuRows(lengths) => gpu_rows::run(lengths, common),
        Command::GpuGroup(groups) => gpu_group::run(groups, common),
        Command::GpuRank(rank) => gpu_group::run_rank(rank, common),
        Command::GpuIndexes(pieces) => gpu_indexes::run(pieces),
        Command::GpuRng(numbers) => gpu_rng::run(numbers, common),
        Command::Test => trial::run(common),
    }
}
