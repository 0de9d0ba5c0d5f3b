//! A training loop over shuffled data: eight workers and three epochs, a stop in the middle, and five workers that go
//! on from there.
//!
//! ```console
//! cargo run --release --example epochs
//! ```
//!
//! No worker holds the order, and none asks another for its part: seed and epoch choose the order, and each works out
//! the places that are its own. What is done of an epoch is the beginning of its order, whoever did it. So what has to be
//! saved is two numbers, and any number of workers can go on.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

use bijective_shuffle::prelude::*;

const SEED: u64 = 42;
const EPOCHS: u64 = 3;

/// A worker's share of some steps: every `world`-th, from the `rank`-th on.
#[derive(Clone, Copy)]
struct Share {
    rank: u64,
    world: u64,
}

/// How an epoch goes through the data. An epoch has a number of steps, which the workers take in turn.
trait Order: Sync {
    fn steps(&self) -> u64;

    /// Visits the items of a worker's share of some steps of an epoch.
    fn visit(
        &self,
        epoch: u64,
        steps: Range<u64>,
        of: Share,
        see: &dyn Fn(u64),
    ) -> Result<(), Error>;
}

/// In random order, an item a step: for data in memory.
struct ByItem {
    len: u64,
}

impl Order for ByItem {
    fn steps(&self) -> u64 {
        self.len
    }

    fn visit(
        &self,
        epoch: u64,
        steps: Range<u64>,
        of: Share,
        see: &dyn Fn(u64),
    ) -> Result<(), Error> {
        let order = Permutation::walk(self.len, Seed::new(SEED).epoch(epoch));
        order.range(steps)?.shard_strided(of.rank, of.world)?.for_each(see);
        Ok(())
    }
}

/// A window of whole blocks a step: for data on disks and in object stores.
struct ByBlock {
    len: u64,
    block: u64,
    window: u64,
}

impl Order for ByBlock {
    fn steps(&self) -> u64 {
        self.len.div_ceil(self.block).div_ceil(self.window)
    }

    fn visit(
        &self,
        epoch: u64,
        steps: Range<u64>,
        of: Share,
        see: &dyn Fn(u64),
    ) -> Result<(), Error> {
        let seed = Seed::new(SEED).epoch(epoch);
        let blocks = BlockShuffle::new(self.len, self.block, self.window, seed)?;
        let order = Permutation::with_bijection(self.len, &blocks)?;
        for step in steps.skip(of.rank as usize).step_by(of.world as usize) {
            let window = blocks.window(step).expect("there are as many as steps");
            // A loader would now read the items of window.blocks(), and no others come.
            order.range(window.slots())?.for_each(see);
        }
        Ok(())
    }
}

/// Where a run stands: all that there is to save.
#[derive(Clone, Copy, Debug, PartialEq)]
struct State {
    epoch: u64,
    /// How many steps of the epoch are done, by all workers together.
    done: u64,
}

impl State {
    fn save(self) -> String {
        format!("{} {}", self.epoch, self.done)
    }

    fn load(text: &str) -> Option<Self> {
        let (epoch, done) = text.split_once(' ')?;
        Some(Self { epoch: epoch.parse().ok()?, done: done.parse().ok()? })
    }
}

/// Trains from a state on until another one, with as many workers. `see` gets the epoch and the item.
fn train(
    order: &dyn Order,
    [from, until]: [State; 2],
    world: u64,
    see: &(dyn Fn(u64, u64) + Sync),
) -> Result<State, Error> {
    let mut state = from;
    while state != until {
        let State { epoch, done } = state;
        let end = if epoch == until.epoch { until.done } else { order.steps() };
        thread::scope(|scope| {
            let worker = |rank| {
                move || {
                    order.visit(epoch, done..end, Share { rank, world }, &|item| see(epoch, item))
                }
            };
            let workers: Vec<_> = (0..world).map(|rank| scope.spawn(worker(rank))).collect();
            workers.into_iter().try_for_each(|worker| worker.join().expect("a worker panicked"))
        })?;
        state = State { epoch, done: end };
        if state != until {
            state = State { epoch: epoch + 1, done: 0 };
        }
    }
    Ok(state)
}

/// Three epochs: eight workers until the middle of the second, and five for what is left.
fn run(order: &dyn Order, see: &(dyn Fn(u64, u64) + Sync)) -> Result<(), Error> {
    let start = State { epoch: 0, done: 0 };
    let middle = State { epoch: 1, done: order.steps() / 5 * 2 };
    let end = State { epoch: EPOCHS - 1, done: order.steps() };
    let saved = train(order, [start, middle], 8, see)?.save();
    let state = State::load(&saved).expect("it was saved just now");
    train(order, [state, end], 5, see).map(drop)
}

/// The most memory that the process has ever held, in KiB, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

/// A number that tells an item from others, so that a sum over items tells whether each came once.
fn mark(item: u64) -> u64 {
    let x = (item + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (x ^ x >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

fn main() -> Result<(), Error> {
    // Long ones in constant memory: the sum of all marks says that nothing was left out or came twice.
    let mut peaks = Vec::new();
    for len in [1_000_003, 16_000_003] {
        let expected = (0..len).map(mark).fold(0, u64::wrapping_add);
        let by_item = ByItem { len };
        let by_block = ByBlock { len, block: 1000, window: 16 };
        for order in [&by_item as &dyn Order, &by_block] {
            let sums = [const { AtomicU64::new(0) }; EPOCHS as usize];
            run(order, &|epoch, item| {
                sums[epoch as usize].fetch_add(mark(item), Relaxed);
            })?;
            assert!(sums.iter().all(|sum| sum.load(Relaxed) == expected));
        }
        let peak = peak_memory();
        let text = peak.map_or("unknown".into(), |kib| format!("{kib} KiB"));
        println!("{len:9} items, every one once an epoch; memory so far at most {text}");
        peaks.extend(peak);
    }
    if let [short, long] = peaks[..] {
        assert!(long - short < 1024, "16 times as many items took more memory");
    }

    // A shorter one item by item.
    let len = 100_003;
    for order in [&ByItem { len } as &dyn Order, &ByBlock { len, block: 100, window: 16 }] {
        let counts: Vec<AtomicU64> = (0..EPOCHS * len).map(|_| AtomicU64::new(0)).collect();
        run(order, &|epoch, item| {
            counts[(epoch * len + item) as usize].fetch_add(1, Relaxed);
        })?;
        assert!(counts.iter().all(|count| count.load(Relaxed) == 1));
    }
    println!("{len:9} items, counted one by one: every one once an epoch");
    Ok(())
}
