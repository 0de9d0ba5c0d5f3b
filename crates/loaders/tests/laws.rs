//! The laws that the documentation promises.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use bijective_shuffle::error::{SavedError, ViewError};
use bijective_shuffle::{Tail, rayon};
use bijective_shuffle_loaders::{
    BatchOptions, Batches, Error, ItemLengths, ItemWeights, Lengths, Mixture, Source, Splits,
    Weighted, integer_weights, weighted_sample,
};
use proptest::prelude::*;
use statrs::distribution::{ChiSquared, ContinuousCDF};

fn word(k: u64) -> u64 {
    let x = (k ^ 0x5DEE_CE66).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (x ^ x >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 11
}

/// Weights that are others each time after the first `steady` times that a run of them is read.
struct Changing {
    count: u64,
    steady: u64,
    reads: AtomicU64,
    weight: fn(u64, u64) -> u64,
}

impl ItemWeights for Changing {
    fn count(&self) -> u64 {
        self.count
    }

    fn read(&self, first: u64, out: &mut [u64]) -> Result<(), Error> {
        let time = self.reads.fetch_add(1, Ordering::Relaxed).saturating_sub(self.steady);
        assert!(first + out.len() as u64 <= self.count);
        for (item, out) in (first..).zip(out) {
            *out = (self.weight)(item, time);
            if *out == u64::MAX {
                return Err(Error::NotAWeight { index: item });
            }
        }
        Ok(())
    }
}

#[test]
fn weights_that_change_are_noticed_or_give_a_table() {
    let shapes: [fn(u64, u64) -> u64; 5] = [
        |item, time| word(item + time) % 1000,
        |item, time| if time == 0 { 1 + word(item) % 3 } else { 0 },
        |item, time| if time == 0 { word(item) % 3 } else { 1 << 40 },
        |item, time| if item % 4096 == time % 2 { 1 << 40 } else { time % 3 },
        |item, time| if time > 0 && item == 50_000 { u64::MAX } else { 1 },
    ];
    let count = 70_000_u64;
    let (chunks, mut noticed) = (count.div_ceil(4096), 0);
    for weight in shapes {
        for steady in (0..4 * chunks).step_by(5) {
            let weights = Changing { count, steady, reads: AtomicU64::new(0), weight };
            match Weighted::new(&weights, 1) {
                Ok(draws) => {
                    Weighted::from_table(draws.table().to_vec(), 1).unwrap();
                }
                Err(Error::NotAWeight { index }) => assert_eq!(index, 50_000),
                Err(error) => {
                    noticed += u64::from(error == Error::WeightsChanged);
                    assert!(matches!(error, Error::WeightsChanged | Error::NoWeight), "{error}");
                }
            }
        }
    }
    assert!(noticed > 10, "{noticed}");
}

/// What all columns together give each item.
fn room_of_each(draws: &Weighted) -> Vec<u128> {
    let mut room = vec![0; draws.len() as usize];
    let (entries, rest) = draws.table().as_chunks();
    assert!(rest.is_empty());
    for (item, &[kept, alias]) in entries[1..].iter().enumerate() {
        assert!(kept <= draws.total());
        room[item] += u128::from(kept);
        room[alias as usize] += u128::from(draws.total() - kept);
    }
    room
}

fn assert_exact(weights: &[u64]) {
    let draws = Weighted::new(weights, 1).unwrap();
    assert_eq!(draws.total(), weights.iter().sum::<u64>());
    let items = weights.len() as u128;
    let room = room_of_each(&draws);
    for (item, (&room, &weight)) in room.iter().zip(weights).enumerate() {
        assert_eq!(room, items * u128::from(weight), "item {item} of {}", weights.len());
    }
}

#[test]
fn tables_are_exact_over_many_chunks() {
    // Of several tasks, each of several chunks.
    const LEN: u64 = 70_000;
    let shapes: [fn(u64) -> u64; 8] = [
        |k| word(k) % 1000,
        |k| u64::from(k >= LEN / 2),
        |k| u64::from(k < LEN / 2),
        |k| u64::from(k == 12_345),
        |_| 7,
        // A few large gaps, which small surpluses all over the items fill.
        |k| if (5000..5100).contains(&k) { 0 } else { 1000 },
        |k| if k % 4096 == 0 { 1 << 40 } else { word(k) % 3 },
        |k| word(k) >> 14,
    ];
    for shape in shapes {
        assert_exact(&(0..LEN).map(shape).collect::<Vec<_>>());
    }
    assert_exact(&[u64::MAX]);
    assert_exact(&[0, u64::MAX - 1, 1, 0]);
}

proptest! {
    #[test]
    fn tables_are_exact(weights in prop::collection::vec(0_u64..4, 1..32), wide in 0_u32..57) {
        prop_assume!(weights.iter().any(|&weight| weight > 0));
        let wide = weights.iter().map(|&w| w << wide).collect::<Vec<_>>();
        assert_exact(&weights);
        assert_exact(&wide);
    }

    #[test]
    fn whole_weights_are_in_proportion(weights in prop::collection::vec(0.0..1e9_f64, 1..60)) {
        prop_assume!(weights.iter().any(|&weight| weight > 0.0));
        let whole = integer_weights(&weights).unwrap();
        let sum: u128 = whole.iter().copied().map(u128::from).sum();
        prop_assert!(sum <= 1 << 63);
        let largest = weights.iter().copied().fold(0.0, f64::max);
        let most = *whole.iter().max().unwrap() as f64;
        prop_assert!(most >= 2_f64.powi(63 - 6 - 1));
        for (&weight, &whole) in weights.iter().zip(&whole) {
            prop_assert!((weight / largest - whole as f64 / most).abs() < 1e-15);
            prop_assert_eq!(weight > 0.0, whole > 0);
        }
    }

    #[test]
    fn runs_of_a_quota_are_exact_and_even(
        weights in prop::collection::vec(0_u64..12, 1..12),
        first in any::<u64>(),
        factor in 1_u64..1 << 50,
    ) {
        prop_assume!(weights.iter().any(|&weight| weight > 0));
        let scaled: Vec<_> = weights.iter().map(|weight| weight * factor).collect();
        let mixture = Mixture::new(&vec![1000; weights.len()], &scaled, 3).unwrap();
        let quota = mixture.quota();
        let all: u64 = weights.iter().sum();
        let first = first.min(u64::MAX - 3 * quota);
        let count = |places: core::ops::Range<u64>| {
            let mut counts = vec![0; weights.len()];
            places.for_each(|place| counts[mixture.get(place).0] += 1);
            counts
        };
        let expected: Vec<_> = weights.iter().map(|weight| weight * quota / all).collect();
        prop_assert_eq!(count(first..first + quota), expected);
        let mut counts = vec![0_u64; weights.len()];
        let levels = weights.len().next_power_of_two().trailing_zeros();
        for p in 0..2 * quota {
            for (&count, &weight) in counts.iter().zip(&weights) {
                let share = (p * weight) as f64 / all as f64;
                prop_assert!((count as f64 - share).abs() <= f64::from(levels) / 2.0 + 1e-9);
            }
            counts[mixture.get(p).0] += 1;
        }
    }
}

#[test]
fn no_item_of_a_set_comes_again_before_all_others() {
    let lengths = [300, 7, 1, 40];
    let mut mixture = Mixture::new(&lengths[..3], &[4, 2, 1], 9).unwrap();
    mixture.change(1000, &[1, 0, 3, 2], &lengths[3..]).unwrap();
    mixture.change(1501, &[1, 1, 1, 1], &[]).unwrap();
    let mut of_set = vec![Vec::new(); 4];
    for place in 0..5000 {
        let (set, item) = mixture.get(place);
        of_set[set].push(item);
    }
    for (items, len) in of_set.iter().zip(lengths) {
        let epochs: Vec<_> = items.chunks_exact(len as usize).collect();
        assert!(epochs.len() > 1);
        for epoch in &epochs {
            let mut sorted = epoch.to_vec();
            sorted.sort_unstable();
            assert!(sorted.iter().copied().eq(0..len));
        }
        assert!(len == 1 || epochs[0] != epochs[1]);
    }
    // Nothing moved where the mixture had not changed yet.
    let before = Mixture::new(&lengths[..3], &[4, 2, 1], 9).unwrap();
    assert!((0..1000).all(|place| before.get(place) == mixture.get(place)));
    let ends = [0, 1, 2, 3].map(|back| mixture.get(u64::MAX - back).0);
    assert_eq!(ends.iter().sum::<usize>(), 6, "each once: {ends:?}");
}

/// The chance of counts at least as far from what is expected.
/// The sets at the places of a quota, and the most by which the count of a set differs from its
/// share in any run of places, as numerators of fractions of the sum of the weights.
fn deviations(weights: &[u64]) -> i64 {
    let mixture = Mixture::new(&vec![1; weights.len()], weights, 1).unwrap();
    let sum = weights.iter().sum::<u64>() as i64;
    let mut worst = 0;
    for (set, &weight) in weights.iter().enumerate() {
        // How much more than their share the places before a place have. All of a quota have
        // exactly their share, so every run's deviation is the difference of two of these.
        let mut before = vec![0];
        for place in 0..mixture.quota() {
            let is_own = i64::from(mixture.get(place).0 == set);
            before.push(before[place as usize] + is_own * sum - weight as i64);
        }
        assert_eq!(before.last(), Some(&0));
        worst = worst.max(before.iter().max().unwrap() - before.iter().min().unwrap());
    }
    worst
}

/// All mixtures of a few sets with small weights.
fn all_weights(sets: usize, most: u64) -> impl Iterator<Item = Vec<u64>> {
    (1..(most + 1).pow(sets as u32)).map(move |mut number| {
        (0..sets).map(|_| (number % (most + 1), number /= most + 1).0).collect()
    })
}

#[test]
fn any_run_of_a_mixture_differs_from_its_shares_by_less_than_its_levels() {
    assert_eq!(deviations(&[3]), 0);
    // Three places with the first set alone: 0.9 more than 2.1.
    let mixture = Mixture::new(&[100, 100], &[7, 3], 1).unwrap();
    assert!((2..5).all(|place| mixture.get(place).0 == 0));
    assert_eq!(deviations(&[7, 3]), 9);
    for (sets, most) in [(2_usize, 14), (3, 7), (4, 4), (5, 3), (8, 1)] {
        let levels = sets.next_power_of_two().trailing_zeros();
        for weights in all_weights(sets, most) {
            let sum = weights.iter().sum::<u64>() as i64;
            assert!(deviations(&weights) < i64::from(levels) * sum, "{weights:?}");
        }
    }
    // No smaller number of levels would do.
    for (weights, least) in
        [(&[13, 14][..], 0.96), (&[2, 1, 300, 1], 1.97), (&[1, 30, 30, 100, 1, 1, 300, 2], 2.9)]
    {
        let sum = weights.iter().sum::<u64>() as f64;
        assert!(deviations(weights) as f64 > least * sum);
    }
}

#[test]
#[expect(clippy::needless_borrows_for_generic_args, reason = "a borrow is another implementation")]
fn floating_point_weights_are_taken_by_the_rule_of_integer_weights() {
    let weights: [f64; 7] = [0.1, 2.5, 0.0, 1.0, 1.0, 7.25, 1e-3];
    let whole = integer_weights(&weights).unwrap();
    let expected = Weighted::new(&whole, 42).unwrap();
    for draws in [
        Weighted::new(&weights, 42),
        Weighted::new(&weights[..], 42),
        Weighted::new(&weights.to_vec(), 42),
    ] {
        assert_eq!(draws.unwrap().table(), expected.table());
    }
    let sample = weighted_sample(&whole, 5, 42).unwrap();
    assert_eq!(weighted_sample(&weights, 5, 42).unwrap(), sample);
    let narrow = weights.map(|weight| weight as f32);
    let exact = integer_weights(&narrow.map(f64::from)).unwrap();
    for draws in [
        Weighted::new(&narrow, 42),
        Weighted::new(&narrow[..], 42),
        Weighted::new(&narrow.to_vec(), 42),
    ] {
        assert_eq!(draws.unwrap().table(), Weighted::new(&exact, 42).unwrap().table());
    }
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        let refused = Err(Error::NotAWeight { index: 1 });
        assert_eq!(Weighted::new(&[1.0, bad], 1).map(drop), refused);
        assert_eq!(weighted_sample(&[1.0, bad], 1, 1).map(drop), refused);
    }
    // Numbers without a type are what they look like.
    assert_eq!(Weighted::new(&[0.5, 1.5], 1).unwrap().total(), 1 << 62);
    assert_eq!(Weighted::new(&[1, 0, 3], 1).unwrap().total(), 4);
}

/// All remainders of places by ranks by batch, from the beginning and after each step: all ranks
/// have as many steps, and each place comes once, except those that the tail repeats or leaves out.
#[test]
fn steps_are_equal_for_all_remainders() {
    let mut batch = Vec::new();
    for (len, ranks, size) in grid().step_by(11) {
        let draws = Mixture::new(&[len], &[1], 1).unwrap();
        for tail in [Tail::Short, Tail::Pad, Tail::Fill, Tail::Drop] {
            let of = |rank| BatchOptions::new(size).rank(rank, ranks).tail(tail);
            for taken in (0..=len).step_by((ranks * size) as usize) {
                // What all ranks together have taken, by one rank in one step.
                let mut before =
                    Batches::new(&draws, Some(len), BatchOptions::new(taken.max(1))).unwrap();
                if taken > 0 {
                    before.next_batch(&mut batch).unwrap();
                }
                let (mut steps, mut found) = (Vec::new(), vec![0_u64; len as usize]);
                for rank in 0..ranks {
                    let mut own = Batches::new(&draws, Some(len), of(rank)).unwrap();
                    own.resume(&before.state()).unwrap();
                    steps.push((own.sampler().steps_remaining(), 0));
                    while own.next_batch(&mut batch).unwrap() {
                        steps[rank as usize].1 += 1;
                        assert!(tail == Tail::Short || !batch.is_empty());
                        batch.iter().for_each(|&(_, item)| found[item as usize] += 1);
                    }
                }
                assert!(steps.iter().all(|&(left, came)| left == came && left == steps[0].0));
                let left = len - taken;
                let last = left % (ranks * size);
                let expected = match tail {
                    Tail::Drop => left - last,
                    Tail::Fill => left.next_multiple_of(ranks * size),
                    Tail::Pad => left - last + last.next_multiple_of(ranks),
                    _ => left,
                };
                assert_eq!(found.iter().sum::<u64>(), expected);
                let came = found.iter().filter(|&&times| times > 0).count() as u64;
                assert!(came >= left.min(expected));
            }
        }
    }
}

/// Items, ranks and batch.
fn grid() -> impl Iterator<Item = (u64, u64, u64)> {
    (0..40 * 6 * 9).map(|k| (1 + k / 54, 1 + k / 9 % 6, 1 + k % 9))
}

fn p_value(counts: &[u64], expected: &[f64]) -> f64 {
    let distance = |(&count, &mean): (&u64, &f64)| (count as f64 - mean).powi(2) / mean;
    let distances: f64 = counts.iter().zip(expected).map(distance).sum();
    ChiSquared::new((counts.len() - 1) as f64).unwrap().sf(distances)
}

#[test]
fn counts_of_draws_are_within_the_bounds_of_the_law() {
    const DRAWS: usize = 1 << 20;
    // Column and part of it are drawn with a bound that rejects half of all words, too.
    for factor in [1, (1 << 63) / 5050 + 1] {
        let weights: Vec<u64> = (1..=100).map(|weight| weight * factor).collect();
        let draws = Weighted::new(&weights, 7).unwrap();
        let mut items = vec![0; DRAWS];
        draws.fill(1 << 40, &mut items).unwrap();
        let (mut counts, mut pairs) = (vec![0; 100], vec![0; 4]);
        items.iter().for_each(|&item| counts[item as usize] += 1);
        for pair in items.chunks_exact(2) {
            let halves = [pair[0], pair[1]].map(|item| usize::from(item < 70));
            pairs[2 * halves[0] + halves[1]] += 1;
        }
        let expected = (1..=100).map(|w| DRAWS as f64 * f64::from(w) / 5050.0);
        assert!(p_value(&counts, &expected.collect::<Vec<_>>()) > 1e-6);
        // Neighbours are independent: 2485 of 5050 fall to the first seventy.
        let low = 2485.0 / 5050.0;
        let expected = [(1.0 - low) * (1.0 - low), (1.0 - low) * low, low * (1.0 - low), low * low];
        assert!(p_value(&pairs, &expected.map(|share| share * DRAWS as f64 / 2.0)) > 1e-6);
    }
}

#[test]
fn epochs_and_seeds_have_draws_of_their_own() {
    let draws = Weighted::new([1; 1000], 7).unwrap();
    let first = |draws: &Weighted| (0..8).map(|place| draws.get(place)).collect::<Vec<_>>();
    let other_epoch = draws.clone().with_epoch(1);
    assert_ne!(first(&draws), first(&other_epoch));
    assert_eq!(first(&draws), first(&other_epoch.with_epoch(0)));
    assert_ne!(first(&draws), first(&Weighted::new([1; 1000], 8).unwrap()));
    // A table with any pointer to it.
    let shared = Weighted::from_table(draws.table(), 7).unwrap();
    assert!((0..100).all(|place| shared.get(place) == draws.get(place)));
}

#[test]
fn samples_follow_the_law_and_do_not_depend_on_threads() {
    let weights = [5, 0, 1, 3, 2, 9];
    let total: u64 = weights.iter().sum();
    let mut counts = BTreeMap::new();
    const SAMPLES: u64 = 40_000;
    for seed in 0..SAMPLES {
        let items = weighted_sample(weights, 2, seed).unwrap();
        *counts.entry([items[0], items[1]]).or_insert(0_u64) += 1;
    }
    let (mut seen, mut expected) = (Vec::new(), Vec::new());
    for a in [0, 2, 3, 4, 5] {
        for b in [0, 2, 3, 4, 5] {
            if a != b {
                let [of_a, of_b] = [a, b].map(|item| weights[item] as f64);
                let chance = of_a / total as f64 * of_b / (total as f64 - of_a);
                expected.push(chance * SAMPLES as f64);
                seen.push(counts.remove(&[a as u64, b as u64]).unwrap_or(0));
            }
        }
    }
    assert!(counts.is_empty(), "{counts:?}");
    assert!(p_value(&seen, &expected) > 1e-6);

    let many: Vec<u64> = (0..200_000).map(|k| word(k) % 50).collect();
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let on = |threads, count| pool(threads).install(|| weighted_sample(&many, count, 5).unwrap());
    let all = on(1, many.iter().filter(|&&weight| weight > 0).count());
    for count in [0, 1, 2, 100, 70_000] {
        assert_eq!(on(4, count), all[..count]);
    }
    assert_eq!(all.iter().collect::<std::collections::BTreeSet<_>>().len(), all.len());
}

#[test]
fn a_text_has_all_of_a_mixture() {
    let mut mixture = Mixture::new(&[300, 7], &[4, 1 << 40], [9; 32]).unwrap();
    let plain = mixture.to_string();
    mixture.change(1000, &[1, 0, 2, 0], &[40, 0]).unwrap();
    mixture.change(1000, &[1, 1, 1, 0], &[]).unwrap();
    for text in [&plain, &mixture.to_string()] {
        let read: Mixture = text.parse().unwrap();
        assert_eq!(read.to_string(), *text);
    }
    let read: Mixture = mixture.to_string().parse().unwrap();
    assert_eq!(read.fingerprint(), mixture.fingerprint());
    assert!((900..1200).all(|place| read.get(place) == mixture.get(place)));

    let weights = "0-1-1";
    assert!(format!("42 5-5 {weights}").parse::<Mixture>().is_ok());
    for text in [
        "",
        "42",
        "42 5-5",
        "x 5-5 0-1-1",
        "42 5-5 1-1-1",
        "42 5-5 0-1",
        "42 5-5 0-1-1-1",
        "42 5-5 0-1-1 ",
        "42 5-5 0-1-+1",
        "42 5-5 0-1-1 7-1",
        "42 5-5 0-1-1 7-1-1 6-1-1",
        "42 5-0 0-1-1",
    ] {
        assert!(text.parse::<Mixture>().is_err(), "{text}");
    }
}

#[test]
fn batches_of_each_rank_have_the_shares_of_the_whole() {
    let mixture = Mixture::new(&[1000, 1000], &[1, 1], 3).unwrap();
    for (ranks, rank) in [(2, 0), (2, 1), (8, 3)] {
        let options = BatchOptions::new(10).rank(rank, ranks);
        let mut batches = Batches::new(&mixture, Some(1600), options).unwrap();
        let mut batch = Vec::new();
        while batches.next_batch(&mut batch).unwrap() {
            assert_eq!(batch.iter().filter(|&&(set, _)| set == 0).count(), 5);
        }
    }
}

#[test]
fn the_last_step_is_that_of_a_sampler() {
    let draws = Weighted::new([1; 1000], 3).unwrap();
    for (len, ranks, size, tail) in [
        (110, 3, 8, Tail::Pad),
        (110, 3, 8, Tail::Short),
        (110, 3, 8, Tail::Fill),
        (110, 3, 8, Tail::Drop),
        (2, 7, 3, Tail::Pad),
        (2, 7, 3, Tail::Short),
        (2, 7, 3, Tail::Fill),
    ] {
        let (mut dealt, mut sampled, mut batch) = (Vec::new(), Vec::new(), Vec::new());
        for rank in 0..ranks {
            let options = BatchOptions::new(size).rank(rank, ranks).tail(tail);
            let mut batches = Batches::new(&draws, Some(len), options).unwrap();
            let builder = bijective_shuffle::Sampler::builder(len, 0).sequential();
            let builder = builder.rank(rank, ranks).batch(size).tail(tail);
            let mut sampler = builder.build().unwrap();
            let mut places = Vec::new();
            while batches.next_batch(&mut batch).unwrap() {
                assert!(sampler.next_batch(&mut places).unwrap());
                assert_eq!(batch.len(), places.len());
                dealt.append(&mut batch);
                sampled.extend(places.iter().map(|&place| draws.get(place)));
            }
            assert!(!sampler.next_batch(&mut places).unwrap());
        }
        dealt.sort_unstable();
        sampled.sort_unstable();
        assert_eq!(dealt, sampled, "{len} places, {ranks} ranks, {tail:?}");
    }
}

/// Lengths that count how often they are looked at, which is once for each index that is built.
struct Looked<'l>(&'l [u32], AtomicU64);

impl ItemLengths for Looked<'_> {
    fn count(&self) -> u64 {
        self.0.len() as u64
    }

    fn length(&self, item: u64) -> u64 {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0[item as usize].into()
    }
}

#[test]
fn a_resumed_run_builds_one_index() {
    let lengths: Vec<u32> = (0..5000).map(|item| (word(item) % 100) as u32).collect();
    let looked = Looked(&lengths, AtomicU64::new(0));
    let source = Lengths::new(&looked, 1000, 100, 42).unwrap();
    let looks = || looked.1.swap(0, Ordering::Relaxed) / 5000;
    looks();
    let mut batches = Batches::new(&source, None, BatchOptions::new(1)).unwrap();
    assert_eq!(looks(), 1);
    batches.set_epoch(5).unwrap();
    batches.next_batch(&mut Vec::new()).unwrap();
    assert_eq!(looks(), 1);
    let (state, mut next) = (batches.state(), Vec::new());
    batches.next_batch(&mut next).unwrap();

    // As in another process, which has no index yet.
    let source = Lengths::new(&looked, 1000, 100, 42).unwrap();
    looks();
    let mut resumed = Batches::from_state(&source, None, &state, BatchOptions::new(1)).unwrap();
    let mut batch = Vec::new();
    resumed.next_batch(&mut batch).unwrap();
    assert_eq!((batch, resumed.sampler().epoch()), (next, 5));
    assert_eq!(looks(), 1);
}

#[test]
fn states_of_others_are_refused() {
    let weighted = |weights: &[u64], seed: u64, len| {
        Batches::new(Weighted::new(weights, seed).unwrap(), Some(len), BatchOptions::new(1))
            .unwrap()
    };
    let mut own = weighted(&[1, 2, 3], 1, 10);
    own.next_batch(&mut Vec::new()).unwrap();
    let state = own.state();
    assert!(weighted(&[1, 2, 3], 1, 10).resume(&state).is_ok());
    let foreign = Err(Error::from(bijective_shuffle::Error::Saved(SavedError::Foreign)));
    let other = Weighted::new([1, 2, 4], 1).unwrap();
    let resumed = Batches::from_state(other, Some(10), &state, BatchOptions::new(1));
    assert_eq!(resumed.map(drop), foreign);
    assert_eq!(weighted(&[1, 2, 4], 1, 10).resume(&state), foreign);
    assert_eq!(weighted(&[1, 2, 3], 2, 10).resume(&state), foreign);
    assert_eq!(weighted(&[1, 2, 3], 1, 11).resume(&state), foreign);

    let mixed = |change: Option<u64>| {
        let mut mixture = Mixture::new(&[10, 10], &[1, 1], 1).unwrap();
        if let Some(from) = change {
            mixture.change(from, &[2, 1], &[]).unwrap();
        }
        Batches::new(mixture, Some(100), BatchOptions::new(1)).unwrap()
    };
    let state = mixed(Some(50)).state();
    assert!(mixed(Some(50)).resume(&state).is_ok());
    assert_eq!(mixed(None).resume(&state), foreign);
    assert_eq!(mixed(Some(51)).resume(&state), foreign);
}

#[test]
fn bad_weights_are_named() {
    let weighted = |weights: &[u64]| Weighted::new(weights, 1).err();
    assert_eq!(weighted(&[]), Some(Error::NoWeight));
    assert_eq!(weighted(&[0, 0]), Some(Error::NoWeight));
    assert_eq!(weighted(&[u64::MAX, 1]), Some(Error::TotalWeightTooLarge));
    // Of several that are none, the first, also where several threads look.
    let weight = |item, _| if [20_000, 20_001, 60_000].contains(&item) { u64::MAX } else { 1 };
    let bad = Changing { count: 70_000, steady: 0, reads: AtomicU64::new(0), weight };
    let error = Some(Error::NotAWeight { index: 20_000 });
    assert_eq!(Weighted::new(&bad, 1).err(), error);
    assert_eq!(weighted_sample(&bad, 3, 1).err(), error);
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        let error = integer_weights(&[1.0, bad]).unwrap_err();
        assert_eq!(error, Error::NotAWeight { index: 1 });
    }
    assert_eq!(integer_weights(&[0.0, -0.0]), Ok(vec![0, 0]));
    assert_eq!(
        weighted_sample([1, 0, 1], 3, 1),
        Err(Error::SampleTooLarge { count: 3, available: 2 })
    );
    let table = Weighted::new([1, 2], 1).unwrap().table().to_vec();
    for place in [1, 3, 5] {
        let mut altered = table.clone();
        altered[place] = 9;
        let error = Weighted::from_table(altered, 1).unwrap_err();
        assert_eq!(error, Error::NotATable);
    }
    for size in [0, 5] {
        let error = Weighted::from_table(&table[..size], 1).unwrap_err();
        assert_eq!(error, Error::NotATable);
    }
    let draws = Weighted::from_table([&table[..], &[1]].concat(), 1);
    assert_eq!(draws.unwrap_err(), Error::NotATable);

    let mixture = |lengths: &[u64], weights: &[u64]| Mixture::new(lengths, weights, 1).err();
    assert_eq!(mixture(&[1], &[1, 1]), Some(Error::SetCountMismatch { sets: 1, weights: 2 }));
    assert_eq!(mixture(&[1, 0], &[1, 1]), Some(Error::EmptySet { set: 1 }));
    assert_eq!(mixture(&[1, 0], &[1, 0]), None);
    assert_eq!(mixture(&[], &[]), Some(Error::NoWeight));
    let mut mixture = Mixture::new(&[5], &[1], 1).unwrap();
    mixture.change(10, &[1, 1], &[3]).unwrap();
    let error = mixture.change(9, &[1, 2], &[]).unwrap_err();
    assert_eq!(error, Error::ChangeTooEarly { from: 9, last: 10 });
    let mut batches = Batches::new(mixture, Some(1 << 40), BatchOptions::new(1)).unwrap();
    let error = batches.set_epoch(1 << 24).unwrap_err();
    assert_eq!(error, Error::EpochTooLarge { epoch: 1 << 24, len: 1 << 40 });
    assert_eq!(batches.sampler().epoch(), 0);
}

/// Nothing begins again after the last epoch and the last place.
#[test]
fn last_epoch_and_last_place_end_with_an_error() {
    let draws = Weighted::new([1, 2, 3], 1).unwrap();
    let splits = Splits::new(&[3, 1], 1).unwrap();
    let mut batches = Batches::new(&draws, None, BatchOptions::new(1)).unwrap();
    batches.set_epoch(u64::MAX - 1).unwrap();
    batches.next_epoch().unwrap();
    let state = batches.state();
    let last = bijective_shuffle::Error::View(ViewError::LastEpoch);
    assert_eq!(batches.next_epoch(), Err(Error::Shuffle(last)));
    assert_eq!(batches.state(), state);

    for len in [3, 100_000] {
        let first = u64::MAX - len as u64 + 1;
        let (mut items, mut parts) = (vec![7; len], vec![7; len]);
        let error = Error::PlacesOutOfRange { first: first + 1, count: len as u64 };
        assert_eq!(draws.fill(first + 1, &mut items), Err(error.clone()));
        assert_eq!(splits.fill(0, first + 1, &mut parts), Err(error));
        assert!(items.iter().all(|&item| item == 7) && parts.iter().all(|&part| part == 7));
        draws.fill(first, &mut items).unwrap();
        splits.fill(0, first, &mut parts).unwrap();
        for k in [0, 1, len - 1] {
            let place = first + k as u64;
            assert_eq!(items[k], draws.get(place));
            assert_eq!(parts[k], splits.part(0, place));
        }
    }
    assert_eq!(draws.fill(u64::MAX, &mut []), Ok(()));
}
