//! A training loop over shuffled data: eight ranks and three epochs, a stop in the middle, and five
//! ranks with other batches that go on from there.
//!
//! ```console
//! cargo run --release --example epochs
//! ```
//!
//! No rank holds the order, and none asks another for its part: seed and epoch choose the order,
//! and each rank works out the items of its batches. What is done of an epoch is the beginning of
//! its order, whichever ranks did it. So a `SamplerState` of four numbers is all there is to save,
//! and any number of ranks can go on.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

use bijective_shuffle::Error;
use bijective_shuffle::Tail;
use bijective_shuffle::prelude::*;
use bijective_shuffle::{SamplerBuilder, SamplerState};

const EPOCHS: u64 = 3;

/// What a training step does with the items of a batch, of an epoch.
type Step<'a> = &'a (dyn Fn(u64, &[u64]) + Sync);

/// Trains on `ranks` ranks from a saved state on, for at most `most_steps` steps, and saves where
/// it then stands.
fn train(
    data: &SamplerBuilder,
    [ranks, batch, most_steps]: [u64; 3],
    saved: Option<&str>,
    step: Step,
) -> Result<String, Error> {
    let rank = |rank| {
        let mut sampler = data.clone().rank(rank, ranks).batch(batch).build()?;
        if let Some(text) = saved {
            sampler.resume(&text.parse()?)?;
        }
        let mut items = Vec::new();
        let mut steps = 0;
        while steps < most_steps && sampler.epoch() < EPOCHS {
            if sampler.next_batch(&mut items)? {
                step(sampler.epoch(), &items);
                steps += 1;
            } else {
                sampler.next_epoch()?;
            }
        }
        Ok(sampler.state())
    };
    let rank = &rank;
    let states: Vec<SamplerState> = thread::scope(|scope| {
        let ranks: Vec<_> = (0..ranks).map(|number| scope.spawn(move || rank(number))).collect();
        let joined = ranks.into_iter().map(|rank| rank.join().expect("a rank panicked"));
        joined.collect::<Result<_, Error>>()
    })?;
    assert!(states.iter().all(|state| *state == states[0]), "ranks stand at different places");
    Ok(states[0].to_string())
}

/// Three epochs: eight ranks until the middle of the second, and five for what is left.
fn run(data: &SamplerBuilder, step: Step) -> Result<(), Error> {
    let steps = data.clone().rank(0, 8).batch(256).build()?.steps();
    let saved = train(data, [8, 256, steps + steps / 5 * 2], None, step)?;
    train(data, [5, 100, u64::MAX], Some(&saved), step).map(drop)
}

/// The same data as single items in memory, and as blocks of 1000 on a disk; 16 blocks are in
/// memory at a time.
fn kinds(len: u64) -> [SamplerBuilder; 2] {
    let data = Sampler::builder(len, 42).tail(Tail::Short);
    [data.clone(), data.blocks(1000, 16)]
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
    // Long ones in constant memory: the sum of all marks says that nothing was left out or came
    // twice.
    let mut peaks = Vec::new();
    for len in [1_000_003, 16_000_003] {
        let expected = (0..len).map(mark).fold(0, u64::wrapping_add);
        for data in kinds(len) {
            let sums = [const { AtomicU64::new(0) }; EPOCHS as usize];
            run(&data, &|epoch, items| {
                let sum = items.iter().copied().map(mark).fold(0, u64::wrapping_add);
                sums[epoch as usize].fetch_add(sum, Relaxed);
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
    for data in kinds(len) {
        let counts: Vec<AtomicU64> = (0..EPOCHS * len).map(|_| AtomicU64::new(0)).collect();
        run(&data, &|epoch, items| {
            for item in items {
                counts[(epoch * len + item) as usize].fetch_add(1, Relaxed);
            }
        })?;
        assert!(counts.iter().all(|count| count.load(Relaxed) == 1));
    }
    println!("{len:9} items, counted one by one: every one once an epoch");
    Ok(())
}
