//! A stream through a buffer, and a peer: what each item costs.

use bijective_shuffle_loaders::{StreamOrder, StreamShuffle};
use divan::Bencher;
use divan::counter::ItemsCount;
use rand::Rng;

fn main() {
    divan::main();
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
