//! The views of a permutation: single places, shares, samples, and the index that finds them.
//! Lengths 2^29, which fills its domain, and 2^29 + 1, which does not and has the worst index.

use bijective_shuffle::bijection::{Standard, VariablePhilox};
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
    assert_eq!(p.position(p.get(place).unwrap().expect("a place")).unwrap(), Some(place));
}

const DENSITIES: [u64; 4] = [64, 256, 512, 4096];

#[divan::bench(args = DENSITIES)]
fn get_indexed(bencher: Bencher, slots_per_block: u64) {
    let p = Permutation::new(worst(), 1).with_index(slots_per_block).expect("there is memory");
    println!("index: {} bytes", p.index_bytes().unwrap_or(0));
    queries(bencher, &p, |k| p.get(k).unwrap().expect("a place"));
}

#[divan::bench(args = DENSITIES)]
fn position_indexed(bencher: Bencher, slots_per_block: u64) {
    let p = Permutation::new(worst(), 1).with_index(slots_per_block).expect("there is memory");
    queries(bencher, &p, |k| p.position(k).unwrap().expect("an index"));
}

#[divan::bench]
fn get_indexed_philox(bencher: Bencher) {
    let f = VariablePhilox::<24>::from_seed(worst(), 1);
    let p = Permutation::from_bijection(worst(), f).expect("it fits");
    p.build_index().expect("there is memory");
    queries(bencher, &p, |k| p.get(k).unwrap().expect("a place"));
}

#[divan::bench(args = [full(), worst(), 2 * full() - 1])]
fn get_walk(bencher: Bencher, len: u64) {
    let p = Permutation::walk(len, 1);
    queries(bencher, &p, |k| p.get(k).unwrap().expect("a place"));
}

/// Items a second of the index, on all threads.
#[divan::bench(args = [full() - 1, worst()], sample_count = 5, sample_size = 1)]
fn build_index(bencher: Bencher, len: u64) {
    let p = Permutation::new(len, 1);
    bencher.counter(ItemsCount::new(len)).bench_local(|| {
        divan::black_box(p.clone().with_index(512)).expect("there is memory");
    });
}

/// The same with the slots of the items written out, of a domain of 64 to 128 times as many.
#[divan::bench(args = [full() >> 9, full() >> 5], sample_count = 5, sample_size = 1)]
fn build_sparse_index(bencher: Bencher, len: u64) {
    let f = Standard::from_seed(64 * len + 1, 1);
    let p = Permutation::from_bijection(len, f).expect("it fits");
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
    assert_eq!(out.last().copied(), p.get(len - 1).unwrap());
}

/// All of a permutation, as a fresh vector, on one core.
#[divan::bench(args = [full(), worst()], sample_count = 3, sample_size = 1)]
fn whole_vector_on_one_core(bencher: Bencher, len: u64) {
    let p = Permutation::new(len, 1);
    bencher.counter(ItemsCount::new(len)).bench_local(|| {
        on_one_thread(|| {
            divan::black_box(p.to_vec());
        });
    });
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

/// The same by a `for` loop.
#[divan::bench(args = [full(), worst()], sample_count = 5, sample_size = 1)]
fn shard_in_a_loop(bencher: Bencher, len: u64) {
    let p = Permutation::new(len, 1);
    p.build_index().expect("there is memory");
    bencher.counter(ItemsCount::new(len / 8)).bench_local(|| {
        for index in p.shard(3, 8).expect("there are eight") {
            divan::black_box(index);
        }
    });
}

/// The third of eight shares, dealt out in turn.
#[divan::bench(args = [full(), worst()], sample_count = 3, sample_size = 1)]
fn strided_shard_on_one_core(bencher: Bencher, len: u64) {
    let p = Permutation::new(len, 1);
    bencher.counter(ItemsCount::new(len / 8)).bench_local(|| {
        let shard = p.iter().shard_strided(3, 8).expect("there are eight");
        divan::black_box(shard.fold(0, |sum: u64, index| sum ^ index));
    });
}

#[divan::bench(args = [1 << 40, (1 << 40) + 1])]
fn head_of_1000(bencher: Bencher, len: u64) {
    let mut seed = 0;
    bencher.bench_local(|| {
        seed += 1;
        let sample: Vec<u64> = Permutation::new(divan::black_box(len), seed).head(1000).collect();
        assert_eq!(sample.len(), 1000);
        sample
    });
}

#[divan::bench(args = [full(), worst()], sample_count = 3, sample_size = 1)]
fn par_iter(bencher: Bencher, len: u64) {
    use bijective_shuffle::rayon::prelude::*;
    let p = Permutation::new(len, 1);
    p.build_index().expect("there is memory");
    bencher.counter(ItemsCount::new(len)).bench_local(|| {
        divan::black_box(p.par_iter().reduce(|| 0, |a, b| a ^ b));
    });
}

/// Where items of 8 bytes are moved by two permutations as one: 2^20 + 1 and 2^24 + 1 of them.
fn lengths_to_move() -> [u64; 2] {
    if full() == 1 << 29 { [(1 << 20) + 1, (1 << 24) + 1] } else { [1001, 65_537] }
}

/// Moves items by two permutations, and checks that they are undone.
fn by_two(
    bencher: Bencher,
    len: u64,
    apply: impl Fn(&Permutation, &Permutation, &mut [u64]) -> Result<(), bijective_shuffle::Error>,
) {
    let [p, q] = [1, 2].map(|seed| Permutation::new(len, seed).with_backend(Backend::Cpu));
    let mut items: Vec<u64> = (0..len).collect();
    apply(&p, &q, &mut items).expect("there is memory");
    q.unapply_in_place(&mut items).expect("there is memory");
    p.unapply_in_place(&mut items).expect("there is memory");
    assert!(items.iter().copied().eq(0..len));
    bencher.counter(ItemsCount::new(len)).bench_local(|| {
        apply(&p, &q, divan::black_box(&mut items)).expect("there is memory");
    });
}

#[divan::bench(args = lengths_to_move(), sample_count = 10, sample_size = 1)]
fn move_by_composition(bencher: Bencher, len: u64) {
    by_two(bencher, len, |p, q, items| p.then(q)?.apply_in_place(items));
}

#[divan::bench(args = lengths_to_move(), sample_count = 10, sample_size = 1)]
fn move_by_both(bencher: Bencher, len: u64) {
    by_two(bencher, len, |p, q, items| {
        p.apply_in_place(items)?;
        q.apply_in_place(items)
    });
}
