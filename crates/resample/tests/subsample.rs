//! Laws of batches for private training.

use bijective_shuffle::{Permutation, Seed};
use bijective_shuffle_resample::{Error, FixedSizeSample, PoissonSample};
use proptest::prelude::*;

proptest! {
    #[test]
    fn a_batch_has_different_items_in_order_and_is_its_shares(
        items in 0..5000_u64,
        q in prop_oneof![0.0..=1.0, 0.0..0.01, Just(0.0), Just(1.0), Just(0.5)],
        seed: u64,
        step: u64,
        ranks in 1..9_u64,
    ) {
        let sample = PoissonSample::new(items, q, seed).unwrap();
        let (mut batch, mut share, mut all) = (vec![1], Vec::new(), Vec::new());
        sample.batch(step, &mut batch).unwrap();
        prop_assert!(batch.is_sorted_by(|a, b| a < b));
        prop_assert!(batch.iter().all(|&item| item < items));
        for rank in 0..ranks {
            sample.share(step, rank, ranks, &mut share).unwrap();
            let whole = batch.len() as u64 / ranks;
            prop_assert!((whole..=whole + 1).contains(&(share.len() as u64)));
            all.extend_from_slice(&share);
        }
        all.sort_unstable();
        prop_assert_eq!(all, batch);
    }

    #[test]
    fn a_fixed_batch_is_the_beginning_of_a_walked_order(
        items in 0..5000_u64, part in 0.0..=1.0, seed: u64, step: u64, ranks in 1..9_u64,
    ) {
        let size = (items as f64 * part) as u64;
        let sample = FixedSizeSample::new(items, size, seed).unwrap();
        let (mut batch, mut share) = (vec![1], Vec::new());
        sample.batch(step, &mut batch).unwrap();
        let order = Permutation::walk(items, Seed::new(seed).with_epoch(step));
        prop_assert!(order.range(..size).unwrap().eq(batch.iter().copied()));
        for rank in 0..ranks {
            sample.share(step, rank, ranks, &mut share).unwrap();
            let own = batch.iter().copied().skip(rank as usize).step_by(ranks as usize);
            prop_assert!(own.eq(share.iter().copied()));
        }
    }
}

/// Checks the counts of items and of pairs of items over many steps against the binomial law.
fn check_inclusion(items: u64, q: f64, steps: u64, seed: u64) {
    let sample = PoissonSample::new(items, q, seed).unwrap();
    let watched: Vec<u64> = (0..8).map(|k| k * (items - 1) / 7).collect();
    let (mut single, mut pairs) = ([0_u64; 8], [[0_u64; 8]; 8]);
    let (mut sizes, mut squares, mut repeats, mut batch) = (0.0, 0.0, 0, Vec::new());
    let mut last = [false; 8];
    for step in 0..steps {
        sample.batch(step, &mut batch).unwrap();
        let mut is_in = [false; 8];
        for (is_in, item) in is_in.iter_mut().zip(&watched) {
            *is_in = batch.binary_search(item).is_ok();
        }
        for a in (0..8).filter(|&a| is_in[a]) {
            single[a] += 1;
            repeats += u64::from(last[a]);
            (0..a).filter(|&b| is_in[b]).for_each(|b| pairs[a][b] += 1);
        }
        last = is_in;
        let off = batch.len() as f64 - items as f64 * q;
        sizes += off;
        squares += off * off;
    }
    let steps = steps as f64;
    let check = |count: f64, p: f64, trials: f64, what: &str| {
        let error = (trials * p * (1.0 - p)).sqrt().max(1.0);
        assert!((count - trials * p).abs() <= 5.0 * error, "{what}: {count} of {trials}, {p}");
    };
    for a in 0..8 {
        check(single[a] as f64, q, steps, "item");
        (0..a).for_each(|b| check(pairs[a][b] as f64, q * q, steps, "pair"));
    }
    check(repeats as f64, q * q, 8.0 * (steps - 1.0), "items of two steps");
    // The size has the binomial law's mean and variance; its kurtosis is about that of the normal.
    let variance = items as f64 * q * (1.0 - q);
    assert!((sizes / steps).abs() <= 5.0 * (variance / steps).sqrt(), "mean size");
    let error = variance * ((2.0 + 1.0 / variance) / steps).sqrt();
    assert!((squares / steps - variance).abs() <= 5.0 * error, "variance of sizes");
}

#[test]
fn each_item_comes_by_itself_with_its_probability() {
    // Several parts, a part by most of its items, one part, few items of which pairs come often.
    for (items, q) in [(10_000, 0.3), (3000, 0.75), (100, 0.2), (8, 0.5)] {
        check_inclusion(items, q, 4000, 1);
    }
}

#[test]
#[ignore = "a minute; the long form of the test above"]
fn each_item_comes_by_itself_with_its_probability_over_a_million_steps() {
    for (items, q) in [(1000, 0.05), (3000, 0.5), (100_000_000, 1e-6), (8, 0.25)] {
        check_inclusion(items, q, 1_000_000, 2);
    }
}

#[test]
fn all_batches_of_few_items_are_as_likely_as_they_should_be() {
    const STEPS: u64 = 100_000;
    let (q, sample) = (0.3_f64, PoissonSample::new(4, 0.3, 9).unwrap());
    let (mut counts, mut batch) = ([0_u32; 16], Vec::new());
    for step in 0..STEPS {
        sample.batch(step, &mut batch).unwrap();
        counts[batch.iter().map(|&item| 1 << item).sum::<usize>()] += 1;
    }
    for (set, &count) in counts.iter().enumerate() {
        let size = set.count_ones() as i32;
        let p = q.powi(size) * (1.0 - q).powi(4 - size);
        let (mean, error) = (STEPS as f64 * p, (STEPS as f64 * p * (1.0 - p)).sqrt());
        assert!((f64::from(count) - mean).abs() < 5.0 * error, "{set:b}: {count}, not {mean}");
    }
}

#[test]
fn sets_beyond_memory_have_batches() {
    let mut batch = Vec::new();
    for (items, q) in [(u64::MAX, 1e-17), (1 << 40, 1e-9), (u64::MAX, 5e-20), (3, 1e-300)] {
        PoissonSample::new(items, q, 1).unwrap().batch(u64::MAX, &mut batch).unwrap();
        let mean = items as f64 * q;
        assert!((batch.len() as f64 - mean).abs() <= 6.0 * mean.sqrt() + 6.0, "{items} {q}");
    }
    FixedSizeSample::new(u64::MAX, 5, 1).unwrap().batch(u64::MAX, &mut batch).unwrap();
    assert_eq!(batch.len(), 5);
}

#[test]
fn bad_input_is_refused() {
    for given in [-0.1, 1.5, f64::INFINITY] {
        let wrong = Err(Error::NotBetweenZeroAndOne { given });
        assert_eq!(PoissonSample::new(10, given, 1).map(drop), wrong);
    }
    assert!(PoissonSample::new(10, f64::NAN, 1).is_err());
    assert_eq!(PoissonSample::new(1 << 60, 0.5, 1).map(drop), Err(Error::BatchTooLarge));
    let wrong = Err(Error::SampleTooLarge { size: 3, items: 2 });
    assert_eq!(FixedSizeSample::new(2, 3, 1).map(drop), wrong);
    let (sample, mut out) = (PoissonSample::new(10, 0.5, 1).unwrap(), vec![5]);
    for (rank, ranks) in [(2, 2), (0, 0)] {
        assert_eq!(sample.share(0, rank, ranks, &mut out), Err(Error::Rank { rank, ranks }));
        assert_eq!(out, [5]);
    }
    let all = PoissonSample::new(u64::MAX, 1.0, 1).unwrap();
    assert!(matches!(all.batch(0, &mut out), Err(Error::Shuffle(_))));
}
