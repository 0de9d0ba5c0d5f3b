//! That each algorithm permutes, shuffles, and keeps what it says about seeds: with its own sizes,
//! and with sizes so small that a handful of items is shared among threads.
//!
//! All seeds are fixed, so the tests pass always or never.

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use statrs::distribution::{ChiSquared, ContinuousCDF};

use crate::tuning::Tuning;
use crate::{batched_dice, fisher_yates, merge_shuffle, rao_sandelius, stream::Key};

/// The probability that the statistic of a perfect shuffle exceeds the critical value: less than
/// 100 are computed.
const SIGNIFICANCE: f64 = 1e-8;

/// Blocks and leaves of a single item, and two buckets: everything that can be shared is.
const TINY: Tuning = Tuning { block: 1, leaf: 1, digit_bits: 1 };

/// Small sizes of another kind, with numbers that do not divide each other.
const SMALL: Tuning = Tuning { block: 7, leaf: 5, digit_bits: 3 };

type Shuffle<T> = fn(&mut [T], u64, &Tuning);

fn all<T: Copy + Send + Sync>() -> [(&'static str, Shuffle<T>); 3] {
    [
        ("batched dice", |items, seed, _| batched_dice(items, seed)),
        ("Rao-Sandelius", rao_sandelius::tuned),
        ("MergeShuffle", merge_shuffle::tuned),
    ]
}

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started")
}

/// The order of `len` items that a seed gives.
fn order(shuffle: Shuffle<u32>, len: usize, seed: u64, tuning: &Tuning) -> Vec<u32> {
    let mut items: Vec<u32> = (0..).take(len).collect();
    shuffle(&mut items, seed, tuning);
    items
}

fn is_permutation(items: &[u32]) -> bool {
    let mut sorted = items.to_vec();
    sorted.sort_unstable();
    sorted.into_iter().eq((0..).take(items.len()))
}

/// Sizes, with lengths to try them at: from 0 on, next to powers of two, and long enough to be
/// shared among threads.
fn sizes_and_lengths() -> [(Tuning, Vec<usize>); 3] {
    let near_powers = |last: u32| -> Vec<usize> {
        (0..7).chain((3..=last).flat_map(|power| (1 << power) - 1..=(1 << power) + 1)).collect()
    };
    let used = Tuning::DEFAULT;
    let long = vec![0, 1, 2, 3, 1000, used.block + 1, used.leaf, used.leaf + 1, 2 * used.leaf + 3];
    [(TINY, near_powers(9)), (SMALL, near_powers(12)), (used, long)]
}

#[test]
fn every_algorithm_permutes() {
    for threads in [1, 2, 3, 7] {
        pool(threads).install(|| {
            for (tuning, lengths) in sizes_and_lengths() {
                let least = tuning.block.max(tuning.leaf);
                assert!(lengths.iter().any(|&len| len > 2 * least), "nothing would be shared");
                for (name, shuffle) in all() {
                    for &len in &lengths {
                        let items = order(shuffle, len, len as u64, &tuning);
                        assert!(is_permutation(&items), "{name}, {len} items, {threads} threads");
                        assert!(len < 30 || !items.is_sorted(), "{name}, {len} items: unmoved");
                    }
                }
            }
        });
    }
}

#[test]
fn items_of_other_sizes_stay_whole() {
    let make = |index: u64| (index, [index as u8; 5], !index);
    for (name, shuffle) in all() {
        let mut items: Vec<_> = (0..300_000).map(make).collect();
        shuffle(&mut items, 1, &Tuning::DEFAULT);
        items.par_sort_unstable();
        assert!(items.into_iter().eq((0..300_000).map(make)), "{name}");
    }
    all::<()>().into_iter().for_each(|(_, shuffle)| shuffle(&mut [(); 1000], 1, &SMALL));
}

#[test]
fn the_order_depends_on_the_seed_and_on_nothing_else() {
    let pools = [2, 3, 7].map(pool);
    let single = pool(1);
    for (tuning, lengths) in sizes_and_lengths() {
        for len in lengths {
            for (name, shuffle) in all() {
                let [one, other] =
                    [42, 43].map(|seed| single.install(|| order(shuffle, len, seed, &tuning)));
                for pool in &pools {
                    let actual = pool.install(|| order(shuffle, len, 42, &tuning));
                    assert_eq!(actual, one, "{name}, {len} items");
                }
                assert!(len < 30 || one != other, "{name}, {len} items: seeds 42 and 43");
            }
        }
    }
}

#[test]
fn kept_memory_changes_nothing_whatever_it_holds() {
    let mut scratch = Vec::new();
    for len in [100, 7, 0, 300, 299] {
        let mut items: Vec<u32> = (0..).take(len).collect();
        rao_sandelius::with_scratch(&mut scratch, &mut items, 9, &SMALL);
        assert_eq!(items, order(rao_sandelius::tuned, len, 9, &SMALL), "{len} items");
        assert!(scratch.len() <= 300);
    }
    assert_eq!(scratch.len(), 300);
}

/// Pearson's statistic of counts that should all be the same, over its critical value.
fn excess(counts: &[u64], degrees: usize) -> f64 {
    let expected = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    let statistic: f64 =
        counts.iter().map(|&count| (count as f64 - expected).powi(2) / expected).sum();
    let distribution = ChiSquared::new(degrees as f64).expect("a positive number");
    statistic / distribution.inverse_cdf(1.0 - SIGNIFICANCE)
}

/// Adds up what each of many samples counts, on all threads.
fn tally(samples: u64, cells: usize, count: impl Fn(u64, &mut [u64]) + Sync) -> Vec<u64> {
    let none = || vec![0; cells];
    let add = |mut counts: Vec<u64>, more: Vec<u64>| {
        counts.iter_mut().zip(more).for_each(|(count, more)| *count += more);
        counts
    };
    let fold = (0..samples).into_par_iter().fold(none, |mut counts, sample| {
        count(sample, &mut counts);
        counts
    });
    fold.reduce(none, add)
}

/// How far the `n!` orders of `n` items are from being equally likely: above 1 is too far.
fn excess_over_orders(shuffle: impl Fn(&mut [u32], u64) + Sync, len: usize) -> f64 {
    let orders = (1..=len).product();
    let counts = tally(100_000, orders, |sample, counts| {
        let mut items: Vec<u32> = (0..).take(len).collect();
        shuffle(&mut items, sample);
        counts[rank(&items)] += 1;
    });
    excess(&counts, orders - 1)
}

/// The place of a permutation among all of its length in lexicographic order.
fn rank(items: &[u32]) -> usize {
    (0..items.len()).fold(0, |rank, place| {
        let after = &items[place + 1..];
        rank * (after.len() + 1) + after.iter().filter(|&&item| item < items[place]).count()
    })
}

#[test]
fn every_order_of_few_items_is_equally_likely() {
    pool(3).install(|| {
        for (name, shuffle) in all() {
            for len in 3..=6 {
                let other = Tuning { block: 2, leaf: 2, digit_bits: 2 };
                for tuning in [TINY, other] {
                    let excess =
                        excess_over_orders(|items, seed| shuffle(items, seed, &tuning), len);
                    assert!(excess < 1.0, "{name}, {len} items: {excess} of the critical value");
                }
            }
        }
    });
}

#[test]
fn every_range_of_many_items_comes_to_every_range_of_places() {
    // With the sizes that are used: 8 ranges of items, 8 of places, and on each side the last
    // follows from the others.
    const RANGES: usize = 8;
    let len = 5 << 17;
    for (name, shuffle) in all() {
        let counts = tally(10, RANGES * RANGES, |sample, counts| {
            let items = order(shuffle, len, sample, &Tuning::DEFAULT);
            for (place, item) in items.into_iter().enumerate() {
                counts[item as usize * RANGES / len * RANGES + place * RANGES / len] += 1;
            }
        });
        let excess = excess(&counts, (RANGES - 1).pow(2));
        assert!(excess < 1.0, "{name}: {excess} of the critical value");
    }
}

#[test]
fn bad_shuffles_are_found() {
    type Bad = fn(&mut [u32], u64);
    let bad: [(&str, Bad); 4] = [
        ("exchanges with any place", |items, seed| {
            let mut stream = Key::new(seed).stream();
            (0..items.len()).for_each(|k| items.swap(k, stream.below(items.len())));
        }),
        ("exchanges that never leave an item", |items, seed| {
            let mut stream = Key::new(seed).stream();
            (1..items.len()).rev().for_each(|k| items.swap(k, stream.below(k)));
        }),
        ("halves that are shuffled and not merged", |items, seed| {
            let (left, right) = items.split_at_mut(items.len() / 2);
            let mut stream = Key::new(seed).stream();
            fisher_yates::shuffle(left, &mut stream);
            fisher_yates::shuffle(right, &mut stream);
        }),
        ("keys of four bits, with ties", |items, seed| {
            let key = Key::new(seed);
            items.sort_by_cached_key(|&item| key.child(item as usize).stream().word() & 15);
        }),
    ];
    for (name, shuffle) in bad {
        let excess = excess_over_orders(shuffle, 5);
        assert!(excess > 2.0, "{name}: {excess} of the critical value");
    }
}
