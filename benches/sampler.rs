//! What a training loop pays for its batches, for one rank and for many.

use bijective_shuffle::SamplerBuilder;
use bijective_shuffle::prelude::*;
use divan::Bencher;
use divan::counter::ItemsCount;

fn main() {
    divan::main();
}

/// A length that no family's domain has.
const LEN: u64 = 1_000_000_000_000;

/// World and batch.
const SHAPES: [(u64, u64); 4] = [(1, 32), (1, 1024), (64, 32), (64, 1024)];

/// Times the batches of the middle rank, one after another, and checks one of them.
fn batches(bencher: Bencher, builder: SamplerBuilder, (world, batch): (u64, u64)) {
    let builder = builder.rank(world / 2, world).batch(batch);
    let mut sampler = builder.build().expect("it is valid");
    let mut items = Vec::new();
    bencher.counter(ItemsCount::new(batch)).bench_local(|| {
        // Fewer batches are timed than an epoch has.
        assert!(sampler.next_batch(&mut items).expect("there is memory"));
        divan::black_box(&items);
    });
    assert_eq!(items.len() as u64, batch);
}

#[divan::bench(args = SHAPES)]
fn shuffled(bencher: Bencher, shape: (u64, u64)) {
    batches(bencher, Sampler::builder(LEN, 1), shape);
}

#[divan::bench(args = SHAPES)]
fn sequential(bencher: Bencher, shape: (u64, u64)) {
    batches(bencher, Sampler::builder(LEN, 1).sequential(), shape);
}

#[divan::bench(args = SHAPES)]
fn in_blocks(bencher: Bencher, shape: (u64, u64)) {
    batches(bencher, Sampler::builder(LEN, 1).blocks(4096, 64), shape);
}
