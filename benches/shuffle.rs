//! Items a second of whole shuffles: 8-byte items, lengths one above a power of two, where
//! compaction has most to drop. `benches/peers` measures them beside others.

use bijective_shuffle::bijection::Standard;
use bijective_shuffle::prelude::*;
use divan::Bencher;
use divan::counter::ItemsCount;

fn main() {
    divan::main();
}

const LENGTHS: [usize; 11] = [
    9,
    33,
    129,
    257,
    1025,
    (1 << 12) + 1,
    (1 << 14) + 1,
    (1 << 16) + 1,
    (1 << 17) + 1,
    (1 << 20) + 1,
    (1 << 23) + 1,
];

/// Times a shuffle in place, over and over on one slice, and checks that all the items are still
/// there.
fn shuffles(bencher: Bencher, len: usize, mut shuffle: impl FnMut(&mut [u64], u64)) {
    let mut items: Vec<u64> = (0..len as u64).collect();
    let mut seed = 0;
    bencher.counter(ItemsCount::new(len)).bench_local(|| {
        shuffle(divan::black_box(&mut items), seed);
        seed += 1;
    });
    assert!(len < 100 || !items.is_sorted(), "nothing was shuffled");
    items.sort_unstable();
    assert!(items.into_iter().eq(0..len as u64), "items were lost");
}

#[divan::bench(args = LENGTHS)]
fn par_bijective_shuffle(bencher: Bencher, len: usize) {
    shuffles(bencher, len, |items, seed| items.par_bijective_shuffle(seed));
}

#[divan::bench(args = LENGTHS)]
fn par_bijective_unshuffle(bencher: Bencher, len: usize) {
    shuffles(bencher, len, |items, seed| items.par_bijective_unshuffle(seed));
}

/// Lengths beyond the caches.
const FAR: [usize; 3] = [(1 << 22) + 1, (1 << 24) + 1, (1 << 26) + 1];

#[divan::bench(args = FAR, sample_count = 15)]
fn workspace_shuffle(bencher: Bencher, len: usize) {
    let mut workspace = Workspace::new();
    shuffles(bencher, len, |items, seed| {
        let f = Standard::from_seed(items.len() as u64, seed);
        workspace.shuffle(&f, items).expect("there is memory");
    });
}

#[divan::bench(args = FAR, sample_count = 15)]
fn workspace_unshuffle(bencher: Bencher, len: usize) {
    let mut workspace = Workspace::new();
    shuffles(bencher, len, |items, seed| {
        let f = Standard::from_seed(items.len() as u64, seed);
        workspace.unshuffle(&f, items).expect("there is memory");
    });
}
