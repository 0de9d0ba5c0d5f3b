//! The views of a permutation: single places, shares, and the index that finds them.
//! Lengths 2^29, which fills its domain, and 2^29 + 1, which does not and has the worst index.

use bijective_shuffle::prelude::*;
use bijective_shuffle::rayon::ThreadPoolBuilder;
use divan::Bencher;
use divan::counter::ItemsCount;

fn main() {
    divan::main();
}

/// A power of two: 2^29, or little if the benches are only to be seen to work.
fn full() -> u64 {
    if std::env::args().any(|argument| argument == "--test") { 1 << 16 } else { 1 << 29 }
}

/// One more, so that hardly more than half of the slots survive.
fn worst() -> u64 {
    full() + 1
}

/// Times queries at places all over a permutation, one after the other, and checks that they are
/// undone.
fn queries<B: Bijection>(bencher: Bencher, p: &Permutation<B>, query: impl Fn(u64) -> u64) {
    const QUERIES: u64 = 1000;
    let mut place = 0_u64;
    bencher.counter(ItemsCount::new(QUERIES)).bench_local(|| {
        for _ in 0..QUERIES {
            // The next place is known when the query before has answered, so that queries do not
            // overlap.
            let next = query(divan::black_box(place));
            assert!(next < p.len());
            place = next.wrapping_mul(0x9E37_79B9_7F4A_7C15) % p.len();
        }
    });
    assert_eq!(p.position(p.get(place).unwrap()).unwrap(), place);
}

const DENSITIES: [u64; 4] = [64, 256, 512, 4096];

#[divan::bench(args = DENSITIES)]
fn get_indexed(bencher: Bencher, slots_per_block: u64) {
    let p = Permutation::new(worst(), 1).with_index(slots_per_block).expect("there is memory");
    println!("index: {} bytes", p.index_bytes().unwrap_or(0));
    queries(bencher, &p, |k| p.get(k).unwrap());
}

#[divan::bench(args = DENSITIES)]
fn position_indexed(bencher: Bencher, slots_per_block: u64) {
    let p = Permutation::new(worst(), 1).with_index(slots_per_block).expect("there is memory");
    queries(bencher, &p, |k| p.position(k).unwrap());
}

#[divan::bench(args = [full(), worst(), 2 * full() - 1])]
fn get_walk(bencher: Bencher, len: u64) {
    let p = Permutation::walk(len, 1);
    queries(bencher, &p, |k| p.get(k).unwrap());
}

/// Items a second of the index, on all threads.
#[divan::bench(args = [full() - 1, worst()], sample_count = 5, sample_size = 1)]
fn build_index(bencher: Bencher, len: u64) {
    let p = Permutation::new(len, 1);
    bencher.counter(ItemsCount::new(len)).bench_local(|| {
        divan::black_box(p.clone().with_index(512)).expect("there is memory");
    });
}

/// Runs something on one thread.
fn on_one_thread(f: impl FnMut() + Send) {
    let pool = ThreadPoolBuilder::new().num_threads(1).build().expect("one thread");
    pool.install(f);
}

/// All of a permutation written into memory that is there, on one core.
#[divan::bench(args = [full(), worst()], sample_count = 3, sample_size = 1)]
fn whole_on_one_core(bencher: Bencher, len: u64) {
    let p = Permutation::new(len, 1);
    let mut out = vec![1_u64; len as usize];
    bencher.counter(ItemsCount::new(len)).bench_local(|| {
        on_one_thread(|| p.write_indexes(&mut out).expect("there is memory"));
    });
    assert_eq!(out.last().copied(), p.get(len - 1).ok());
}

/// The third of eight shares on one core, each index looked at; the index is there, where one is
/// needed.
#[divan::bench(args = [full(), worst()], sample_count = 5, sample_size = 1)]
fn shard_on_one_core(bencher: Bencher, len: u64) {
    let p = Permutation::new(len, 1);
    p.build_index().expect("there is memory");
    bencher.counter(ItemsCount::new(len / 8)).bench_local(|| {
        let shard = p.shard(3, 8).expect("there are eight");
        divan::black_box(shard.fold(0, |sum: u64, index| sum ^ index));
    });
}
