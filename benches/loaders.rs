//! What the loaders cost: to build them, and for each item.
//!
//! `LOADERS_LEN=100000000 cargo bench --bench loaders` has the number of weights and lengths that
//! is of interest, and for `packed` it is ten times as many documents; the default is a hundredth
//! of it, with which a table of weights fits no cache either.

use std::env;

use bijective_shuffle_loaders::{
    Batches, Lengths, Mixture, NodeBlocks, Packed, Splits, StreamOrder, StreamShuffle, Weighted,
    integer_weights, weighted_sample,
};
use divan::Bencher;
use divan::counter::ItemsCount;
use rand::Rng;

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
    let draws = Weighted::new(weights(), 1).expect("it is valid");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    let mut items = vec![0; 1 << 22];
    bencher
        .counter(ItemsCount::new(items.len()))
        .bench_local(|| pool.install(|| draws.fill(0, &mut items).unwrap()));
    assert_eq!(items[12_345], draws.get(12_345));
}

#[divan::bench(args = [100, 100_000])]
fn draws_without_replacement(bencher: Bencher, count: usize) {
    let weights = weights();
    bencher
        .counter(ItemsCount::new(weights.len()))
        .bench_local(|| weighted_sample(&weights, count, 1).expect("there are enough"));
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
        Batches::new(mixture(), Some(1 << 60), |sampler| sampler.rank(3, 8).batch(1024))
            .expect("valid");
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
        Batches::new(mixture(), Some(LEN), |sampler| sampler.rank(0, world).batch(batch))
            .expect("valid")
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

/// Lengths from 1 to 4000, most of them short.
fn lengths(count: usize) -> Vec<u32> {
    let length = |item: u64| {
        let random = item.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 52;
        1 + (random * random / 4200) as u32
    };
    (0..count as u64).map(length).collect()
}

fn packed(lengths: &[u32]) -> Packed<&[u32]> {
    Packed::new(lengths, 4096, 1, 1).expect("there are enough tokens")
}

/// The sum of all lengths, and the index of an epoch.
#[divan::bench(sample_count = 3)]
fn packed_build(bencher: Bencher) {
    let lengths = lengths(10 * len());
    bencher
        .counter(ItemsCount::new(lengths.len()))
        .bench_local(|| packed(&lengths).build().expect("there is memory"));
}

/// A rank's first batch, when the index is there.
#[divan::bench]
fn packed_first_batch(bencher: Bencher) {
    let lengths = lengths(10 * len());
    let packed = packed(&lengths);
    packed.build().expect("there is memory");
    let (mut rank, mut batch) = (0, Vec::new());
    bencher.counter(ItemsCount::new(32_usize)).bench_local(|| {
        rank += 1;
        Batches::new(&packed, None, |sampler| sampler.rank(rank % 64, 64).batch(32))
            .and_then(|mut batches| batches.next_batch(&mut batch))
    });
}

#[divan::bench(args = [1024, 8192, 65_536], sample_count = 3)]
fn lengths_build(bencher: Bencher, window: usize) {
    let lengths = lengths(len());
    bencher.counter(ItemsCount::new(lengths.len())).bench_local(|| {
        Lengths::new(&lengths[..], 16_384, window, 1).and_then(|lengths| lengths.batch_count())
    });
}

/// One batch after another, each alone.
#[divan::bench]
fn lengths_get(bencher: Bencher) {
    let lengths = lengths(len());
    let batches = Lengths::new(&lengths[..], 16_384, 8192, 1).expect("valid");
    let (mut place, len) = (0, batches.batch_count().expect("there is memory"));
    bencher.bench_local(|| {
        place = (place + 1) % len;
        batches.get(place)
    });
}

/// A peer: the buffer that a program writes for itself, with a fast generator.
fn plain_buffer(items: u64, size: usize) -> u64 {
    let mut rng = rand_pcg::Pcg64Mcg::new(1);
    let mut buffer: Vec<u64> = (0..size as u64).collect();
    (size as u64..items).fold(0, |sum, item| {
        let slot = ((u128::from(rng.next_u64()) * size as u128) >> 64) as usize;
        sum ^ core::mem::replace(&mut buffer[slot], item)
    })
}

const STREAM: u64 = 1 << 22;

#[divan::bench]
fn stream_plain(bencher: Bencher) {
    bencher.counter(ItemsCount::new(STREAM)).bench_local(|| plain_buffer(STREAM, 1 << 16));
}

#[divan::bench]
fn stream(bencher: Bencher) {
    let order = StreamOrder::new(1 << 16, 1).expect("valid");
    bencher
        .counter(ItemsCount::new(STREAM))
        .bench_local(|| StreamShuffle::new(0..STREAM, order).fold(0, |sum, item| sum ^ item));
}

#[divan::bench]
fn stream_resume(bencher: Bencher) {
    let order = StreamOrder::new(1 << 16, 1).expect("valid");
    let mut stream = StreamShuffle::new(0..1_u64 << 40, order);
    stream.nth(1 << 20).expect("it is longer");
    let state = stream.state();
    bencher.bench_local(|| order.buffered(&state));
}

#[divan::bench]
fn split_parts(bencher: Bencher) {
    let splits = Splits::new(&[8, 1, 1], 1).expect("valid");
    let mut parts = vec![0; len()];
    bencher
        .counter(ItemsCount::new(parts.len()))
        .bench_local(|| splits.fill(0, 0, &mut parts).unwrap());
}

#[divan::bench]
fn blocks_of_a_node(bencher: Bencher) {
    let blocks = NodeBlocks::new(1_000_000, 0.9, 1).expect("valid");
    bencher.bench_local(|| blocks.of_node(1, 3, 64));
}
