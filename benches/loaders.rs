//! What draws by weights and mixtures cost: to build them, and for each item.
//!
//! `LOADERS_LEN=100000000 cargo bench --bench loaders` has the length of the table; the
//! default is a hundredth of it, with which the table fits no cache either.

use std::env;

use bijective_shuffle_loaders::{Batches, Mixture, Weighted, integer_weights, sample};
use divan::Bencher;
use divan::counter::ItemsCount;

fn main() {
    divan::main();
}

fn len() -> usize {
    let set = env::var("LOADERS_LEN").ok();
    set.map_or(1_000_000, |text| text.parse().expect("a number of weights"))
}

/// Weights with a long tail: a few items have most of the sum.
fn weights() -> Vec<u64> {
    (1..=len() as u64).map(|k| 1 + (1 << 40) / k).collect()
}

#[divan::bench]
fn weighted_build(bencher: Bencher) {
    let weights = weights();
    bencher.counter(ItemsCount::new(weights.len())).bench_local(|| Weighted::new(&weights, 1));
}

#[divan::bench]
fn weights_from_floats(bencher: Bencher) {
    let weights: Vec<f64> = weights().iter().map(|&weight| weight as f64).collect();
    bencher.counter(ItemsCount::new(weights.len())).bench_local(|| integer_weights(&weights));
}

/// Draws in bulk on one thread, and on all.
#[divan::bench(args = [1, 0])]
fn weighted_draws(bencher: Bencher, threads: usize) {
    let draws = Weighted::new(&weights(), 1).expect("it is valid");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    let mut items = vec![0; 1 << 22];
    bencher
        .counter(ItemsCount::new(items.len()))
        .bench_local(|| pool.install(|| draws.fill(0, &mut items)));
    assert_eq!(items[12_345], draws.get(12_345));
}

#[divan::bench(args = [100, 100_000])]
fn weighted_sample(bencher: Bencher, count: usize) {
    let weights = weights();
    bencher
        .counter(ItemsCount::new(weights.len()))
        .bench_local(|| sample(&weights, count, 1).expect("there are enough"));
}

fn mixture() -> Mixture {
    let lengths: Vec<u64> = (1..=100).map(|set| set * 1_000_003).collect();
    Mixture::new(&lengths, &Vec::from_iter(1..=100), 1).expect("it is valid")
}

/// One position after another, each alone.
#[divan::bench]
fn mixture_get(bencher: Bencher) {
    let mixture = mixture();
    let mut position = 1_000_000_000_000;
    bencher.counter(ItemsCount::new(1_usize)).bench_local(|| {
        position += 1;
        mixture.get(position)
    });
}

#[divan::bench]
fn mixture_batch(bencher: Bencher) {
    let mut batches =
        Batches::new(mixture(), Some(1 << 60), |sampler| sampler.rank(3, 8).batch(1024)).expect("valid");
    let mut batch = Vec::new();
    bencher.counter(ItemsCount::new(1024_usize)).bench_local(|| {
        assert!(batches.next_batch(&mut batch).expect("there is memory"));
    });
}

/// A new loader that goes on behind position 10^12: with as many ranks, one step goes that far.
#[divan::bench]
fn mixture_resume(bencher: Bencher) {
    const LEN: u64 = 10_000_000_000_000;
    let make = |world, batch| {
        Batches::new(mixture(), Some(LEN), |sampler| sampler.rank(0, world).batch(batch)).expect("valid")
    };
    let mut far = make(1_000_000_000_000, 1);
    far.next_batch(&mut Vec::new()).expect("there is memory");
    let state = far.state();
    assert_eq!(state.consumed(), 1_000_000_000_000);
    bencher.bench_local(|| {
        let (mut batches, mut batch) = (make(8, 32), Vec::new());
        batches.resume(&state).expect("it is its own");
        batches.next_batch(&mut batch).expect("there is memory");
        batch
    });
}
