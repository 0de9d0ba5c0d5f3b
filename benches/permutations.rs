//! Rows of a batch, in items a second: many permutations of one length, beside a loop over the
//! shuffles of `rand` and `fastrand`, which are sequential. All write 32-bit indexes of whole rows
//! to memory.

use bijective_shuffle::prelude::*;
use divan::Bencher;
use divan::counter::ItemsCount;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rayon::prelude::*;

fn main() {
    divan::main();
}

const LENGTHS: [usize; 6] = [8, 32, 100, 256, 1000, 10_000];

/// Indexes in all: 2^20 rows of 32, or few if the benches are only to be seen to work.
fn items() -> usize {
    if std::env::args().any(|argument| argument == "--test") { 1 << 17 } else { 1 << 25 }
}

/// Times writing rows, and checks that the last one is a permutation.
fn rows(bencher: Bencher, len: usize, mut write: impl FnMut(&mut [u32])) {
    let mut rows = vec![0; items() / len * len];
    bencher.counter(ItemsCount::new(rows.len())).bench_local(|| write(divan::black_box(&mut rows)));
    let mut last = rows.split_off(rows.len() - len);
    assert!(len < 30 || !last.is_sorted(), "nothing was shuffled");
    last.sort_unstable();
    assert!(last.into_iter().eq(0..len as u32), "it is no permutation");
}

#[divan::bench(args = LENGTHS, sample_count = 10)]
fn batch(bencher: Bencher, len: usize) {
    rows(bencher, len, |rows| {
        let permutations = Permutations::new((rows.len() / len) as u64, len as u64, 42);
        permutations.write_indexes(rows).expect("they fit");
    });
}

/// The same, each row by itself.
#[divan::bench(args = LENGTHS, sample_count = 10)]
fn one_by_one(bencher: Bencher, len: usize) {
    rows(bencher, len, |rows| {
        for (epoch, row) in (0..).zip(rows.chunks_exact_mut(len)) {
            let permutation = Permutation::new(len as u64, Seed::new(42).with_epoch(epoch));
            permutation.write_indexes(row).expect("they fit");
        }
    });
}

#[divan::bench(args = LENGTHS, sample_count = 10)]
fn rand_small_rng(bencher: Bencher, len: usize) {
    let mut rng = SmallRng::seed_from_u64(42);
    rows(bencher, len, |rows| {
        for row in rows.chunks_exact_mut(len) {
            fill_in_order(row);
            row.shuffle(&mut rng);
        }
    });
}

#[divan::bench(args = LENGTHS, sample_count = 10)]
fn fastrand(bencher: Bencher, len: usize) {
    let mut rng = fastrand::Rng::with_seed(42);
    rows(bencher, len, |rows| {
        for row in rows.chunks_exact_mut(len) {
            fill_in_order(row);
            rng.shuffle(row);
        }
    });
}

fn fill_in_order(row: &mut [u32]) {
    for (item, index) in row.iter_mut().zip(0..) {
        *item = index;
    }
}

/// What bounds them: the same memory, only written, by all threads.
#[divan::bench(sample_count = 10)]
fn write_only(bencher: Bencher) {
    let mut rows = vec![0_u32; items()];
    bencher.counter(ItemsCount::new(items())).bench_local(|| {
        let rows = divan::black_box(&mut rows);
        rows.par_iter_mut().zip(0..items() as u32).for_each(|(item, index)| *item = index);
    });
}

/// The offsets of segments of this length on average, from 1 to about twice as much.
fn offsets(len: usize) -> Vec<usize> {
    let mut rng = fastrand::Rng::with_seed(42);
    let mut offsets = vec![0];
    let mut end = 0;
    while end < items() {
        end = items().min(end + rng.usize(1..2 * len));
        offsets.push(end);
    }
    offsets
}

/// Segments of different lengths whose items are shuffled apart.
#[divan::bench(args = LENGTHS, sample_count = 10)]
fn segments(bencher: Bencher, len: usize) {
    let (offsets, mut items) = (offsets(len), (0..items() as u32).collect::<Vec<_>>());
    let segments = Segments::new(&offsets, 42).expect("they are in order");
    bencher.counter(ItemsCount::new(items.len())).bench_local(|| {
        segments.shuffle(divan::black_box(&mut items)).expect("there is memory");
    });
}

/// The same, each segment by itself, on all threads.
#[divan::bench(args = LENGTHS, sample_count = 10)]
fn segments_one_by_one(bencher: Bencher, len: usize) {
    let (offsets, mut items) = (offsets(len), (0..items() as u32).collect::<Vec<_>>());
    let lens: Vec<usize> = offsets.windows(2).map(|ends| ends[1] - ends[0]).collect();
    bencher.counter(ItemsCount::new(items.len())).bench_local(|| {
        let mut rest = &mut divan::black_box(&mut items)[..];
        let segments = lens.iter().map(|&len| rest.split_off_mut(..len).expect("it is there"));
        let segments: Vec<&mut [u32]> = segments.collect();
        segments.into_par_iter().enumerate().for_each(|(epoch, segment)| {
            segment.par_bijective_shuffle(Seed::new(42).with_epoch(epoch as u64));
        });
    });
}
