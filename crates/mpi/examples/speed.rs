//! Where the time of a shuffle over ranks goes, with tags and without, in as much memory as there
//! is and in little, beside what its bytes alone would take, and beside one process with as many
//! threads as there are ranks.
//!
//! ```console
//! cargo build --release --example speed
//! RAYON_NUM_THREADS=1 mpirun --bind-to none -n 2 target/release/examples/speed 24
//! ```
//!
//! Without `--bind-to none` the one process would have all its threads on one core.
//!
//! The argument is a power of two: that many numbers of 64 bits, and one. Each figure is the median
//! of seven rounds after one that is not counted, and of each round the time of the slowest rank.
//!
//! The memory is what the operating system counts in that first round, at most on any rank, beyond
//! what was there before and the array's new order. Linux tells it.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use bijective_shuffle::exchange::{Census, Division, Exchange};
use bijective_shuffle::rayon::{ThreadPoolBuilder, current_num_threads};
use bijective_shuffle::{Permutation, Seed, Workspace};
use bijective_shuffle_mpi::Spread;
use bijective_shuffle_mpi::mpi;
use mpi::collective::SystemOperation;
use mpi::datatype::{Partition, PartitionMut};
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;

const ROUNDS: u64 = 7;

/// The median of the rounds, each of which gives the times of some steps on the slowest rank.
fn measure<const N: usize>(
    world: &SimpleCommunicator,
    mut round: impl FnMut(u64) -> [Duration; N],
) -> [f64; N] {
    let mut all: Vec<[f64; N]> = Vec::new();
    for k in 0..=ROUNDS {
        world.barrier();
        let mine = round(k).map(|time| time.as_secs_f64());
        let mut slowest = [0.0; N];
        world.all_reduce_into(&mine, &mut slowest, SystemOperation::max());
        if k > 0 {
            all.push(slowest);
        }
    }
    std::array::from_fn(|step| {
        let mut times: Vec<f64> = all.iter().map(|times| times[step]).collect();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    })
}

/// Waits for all ranks without keeping a core busy, as a barrier would.
fn wait(world: &SimpleCommunicator) {
    let mut request = world.immediate_barrier();
    while let Err(pending) = request.test() {
        request = pending;
        sleep(Duration::from_millis(2));
    }
}

/// The memory of this process in bytes, now or at most, or `None` where the system does not tell.
fn memory(which: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(which)?.strip_prefix(':'))?;
    Some(1024 * line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?)
}

/// The most memory that a call takes beyond what was there before, in bytes.
fn peak_of<R>(call: impl FnOnce() -> R) -> (R, Option<u64>) {
    // Has the system count the most from now on.
    let is_reset = fs::write("/proc/self/clear_refs", "5").is_ok();
    let before = memory("VmRSS").filter(|_| is_reset);
    let result = call();
    (result, before.and_then(|before| Some(memory("VmHWM")?.saturating_sub(before))))
}

/// The ways that items travel: what each is called, whether with tags, and the working memory.
const WAYS: [(&str, bool, u64); 3] = [
    // The first, so that it does not find memory that the others have freed.
    ("in 64 MiB", false, Spread::DEFAULT_MEMORY),
    ("without tags", false, u64::MAX),
    ("with tags", true, u64::MAX),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let power: u32 = std::env::args().nth(1).map_or(Ok(24), |argument| argument.parse())?;
    let (universe, _) =
        mpi::initialize_with_threading(mpi::Threading::Funneled).ok_or("MPI does not start")?;
    let world = universe.world();
    let (rank, ranks) = (world.rank() as usize, world.size() as usize);
    let len = (1_u64 << power) + 1;
    let seed = |round| Seed::new(42).with_epoch(round);

    let places = Division::even(len, ranks).places(rank);
    let mut items: Vec<u64> = places.collect();
    let mut ways = Vec::new();
    for (_, has_tags, limit) in WAYS {
        let spread = Spread::new(&world, items.len())?;
        let mut spread = spread.with_tags(has_tags).with_memory_limit(limit);
        let mut peak = None;
        let times = measure(&world, |round| {
            let mut shuffle = || {
                let start = Instant::now();
                let p = Permutation::new(len, seed(round));
                let mut plan = spread.plan(&p).expect("all ranks agree");
                plan.shuffle(&mut items).expect("all ranks agree");
                let total = start.elapsed();
                let times = plan.times();
                [times.census, times.counts, times.pack, times.exchange, times.place, total]
            };
            if round > 0 {
                return shuffle();
            }
            let (times, bytes) = peak_of(shuffle);
            peak = bytes;
            times
        });
        let new_order = 8 * items.len() as u64;
        let mine = peak.map_or(f64::NAN, |peak| peak.saturating_sub(new_order) as f64);
        let mut most = 0.0;
        world.all_reduce_into(&mine, &mut most, SystemOperation::max());
        ways.push((times, most / f64::from(1 << 20)));
    }

    // The same numbers of items, as they lie.
    let p = Permutation::new(len, seed(0));
    let (even, all) = (Division::even(len, ranks), Census::new(&p)?);
    let plan = Exchange::builder(&p, &all, &even, rank).shuffle()?;
    let as_ints = |counts: Vec<u64>| counts.into_iter().map(|count| count as i32).collect();
    let [sent, received]: [Vec<i32>; 2] =
        [as_ints(plan.send_counts()?), as_ints(plan.receive_counts()?)];
    let starts = |counts: &[i32]| -> Vec<i32> {
        let before = |sum: &mut i32, &count: &i32| {
            *sum += count;
            Some(*sum - count)
        };
        counts.iter().scan(0, before).collect()
    };
    let (sent_starts, received_starts) = (starts(&sent), starts(&received));
    let mut out = vec![0_u64; items.len()];
    let [bare] = measure(&world, |_| {
        let start = Instant::now();
        let from = Partition::new(&items[..], &sent[..], &sent_starts[..]);
        let mut to = PartitionMut::new(&mut out[..], &received[..], &received_starts[..]);
        world.all_to_all_varcount_into(&from, &mut to);
        [start.elapsed()]
    });
    drop((out, items));

    // All on rank 0, while the others leave their cores to it.
    let pool = ThreadPoolBuilder::new().num_threads(ranks).build()?;
    let mut whole: Vec<u64> = if rank == 0 { (0..len).collect() } else { Vec::new() };
    let mut workspace = Workspace::new();
    let [alone] = measure(&world, |round| {
        let start = Instant::now();
        if rank == 0 {
            pool.install(|| workspace.shuffle(seed(round), &mut whole)).expect("there is memory");
        }
        let time = start.elapsed();
        wait(&world);
        [if rank == 0 { time } else { Duration::ZERO }]
    });

    if rank == 0 {
        let threads = current_num_threads();
        println!("2^{power} + 1 numbers of 64 bits, {ranks} ranks of {threads} threads, ms");
        print!("{:<34}", "");
        WAYS.iter().for_each(|(way, ..)| print!("{way:>13}"));
        println!();
        let steps = ["census", "counts", "pack", "exchange", "place", "in all"];
        for (k, step) in steps.into_iter().enumerate() {
            print!("{step:<34}");
            ways.iter().for_each(|(times, _)| print!("{:13.2}", times[k] * 1e3));
            println!();
        }
        print!("{:<34}", "memory besides both arrays, MiB");
        ways.iter().for_each(|(_, memory)| print!("{memory:13.1}"));
        println!();
        for (what, seconds) in
            [("a bare MPI_Alltoallv", bare), ("one process with as many threads", alone)]
        {
            println!("{what:<34}{:13.2}", seconds * 1e3);
        }
    }
    Ok(())
}
