//! [`race`]: measures contenders at one length, in turns.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::arena::Arena;
use crate::contender::Contender;

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// How often each contender is measured, at least.
    pub(crate) repeats: usize,
    /// How long it is measured altogether, for each contender.
    pub(crate) budget: Duration,
    /// The first of the seeds.
    pub(crate) seed: u64,
}

/// How long a sample takes at least: as many calls are measured together as that needs. In 0.2 ms a
/// gather of 2^18 items was still a third slower than in a longer run.
const SAMPLE: Duration = Duration::from_millis(2);

/// Calls that take longer than this have more items than a cache keeps from one call to the next.
/// Before shorter ones, a call that does not count brings the contender's arrays back into the
/// caches, as its own last call would have left them had no other contender been in between.
const WARM_UP: Duration = Duration::from_millis(50);

/// The calls of a sample.
#[derive(Clone, Copy)]
struct Batch {
    /// Those before the time is taken.
    warm_ups: usize,
    /// Those that count.
    calls: usize,
}

/// The median speed of each contender, in items a second.
///
/// One sample of each contender is taken after the other, again and again, so that whatever else
/// the machine does hits all alike. Each works on what the one before it left.
///
/// # Panics
///
/// If a contender loses an item, or does not move them.
pub(crate) fn race(len: usize, contenders: &mut [Contender], effort: Effort) -> Vec<f64> {
    let mut arena = Arena::new(len);
    let mut seed = effort.seed;
    let batches: Vec<Batch> = contenders
        .iter_mut()
        .map(|contender| {
            check(contender, &mut arena, seed);
            batch(contender, &mut arena, seed)
        })
        .collect();

    let mut samples = vec![Vec::new(); contenders.len()];
    let (start, budget) = (Instant::now(), effort.budget.as_secs_f64() * contenders.len() as f64);
    let mut rounds = 0;
    while rounds < effort.repeats || start.elapsed().as_secs_f64() < budget {
        for ((contender, samples), &batch) in contenders.iter_mut().zip(&mut samples).zip(&batches)
        {
            let time = sample(contender, &mut arena, batch, seed);
            samples.push((batch.calls * len) as f64 / time.as_secs_f64());
            seed = seed.wrapping_add((batch.warm_ups + batch.calls) as u64);
        }
        rounds += 1;
    }
    samples.into_iter().map(median).collect()
}

/// Lets a contender work once, and looks at what it did.
fn check(contender: &mut Contender, arena: &mut Arena, seed: u64) {
    arena.reset();
    let census = arena.census();
    sample(contender, arena, Batch { warm_ups: 0, calls: 1 }, seed);
    let (name, len) = (&contender.name, arena.items.len());
    assert_eq!(arena.census(), census, "{name} lost some of {len} items");
    let moved = arena.moved();
    if contender.runner.moves() {
        assert!(len < 100 || moved > len / 2, "{name} moved {moved} of {len} items only");
    } else {
        assert_eq!(moved, 0, "{name} moved some of {len} items");
    }
}

/// The calls that make a sample long enough.
fn batch(contender: &mut Contender, arena: &mut Arena, seed: u64) -> Batch {
    let mut calls = 1;
    loop {
        let time = sample(contender, arena, Batch { warm_ups: 0, calls }, seed);
        if time >= SAMPLE {
            return Batch { warm_ups: usize::from(time < WARM_UP), calls };
        }
        calls *= 2;
    }
}

/// The time of the calls that count.
fn sample(contender: &mut Contender, arena: &mut Arena, batch: Batch, seed: u64) -> Duration {
    let Batch { warm_ups, calls } = batch;
    contender.runner.prepare(arena.items.len(), seed, warm_ups + calls);
    let mut run = |call| contender.runner.run(black_box(&mut *arena), call);
    (0..warm_ups).for_each(&mut run);
    let start = Instant::now();
    (warm_ups..warm_ups + calls).for_each(&mut run);
    start.elapsed()
}

/// The middle one of some numbers, or the mean of the two in the middle.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::by_generator;

    fn race_of(work: fn(&mut [u64])) -> Vec<f64> {
        let mut contenders = [by_generator("test", |_| (), move |items, _| work(items))];
        let effort = Effort { repeats: 2, budget: Duration::ZERO, seed: 1 };
        race(1000, &mut contenders, effort)
    }

    #[test]
    fn a_reversal_passes_as_a_shuffle() {
        assert!(matches!(race_of(|items| items.reverse())[..], [speed] if speed > 0.0));
    }

    #[test]
    #[should_panic(expected = "test lost some of 1000 items")]
    fn a_race_sees_a_contender_that_loses_items() {
        race_of(|items| {
            items.reverse();
            items[0] = items[1];
        });
    }

    #[test]
    #[should_panic(expected = "test moved 2 of 1000 items only")]
    fn a_race_sees_a_contender_that_moves_too_few_items() {
        race_of(|items| items.swap(0, 1));
    }

    #[test]
    fn medians_of_even_and_odd_counts() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
    }
}
