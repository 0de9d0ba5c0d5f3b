//! Splits: a function of the item's number, and whole data sets dealt by counts.
//!
//! `BIJECTIVE_SHUFFLE_LONG=1 cargo test -p bijective-shuffle-loaders --test splits` has 2,000 cases
//! for each law, and otherwise there are a tenth of these.

use std::env;

use bijective_shuffle::Seed;
use bijective_shuffle_loaders::{Error, Splits};

fn cases() -> u64 {
    if env::var_os("BIJECTIVE_SHUFFLE_LONG").is_some_and(|set| set == "1") { 2000 } else { 200 }
}

/// Numbers that differ from case to case.
struct Choices(u64);

impl Choices {
    fn below(&mut self, count: u64) -> u64 {
        self.0 = (self.0 ^ 0x5DEE_CE66).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (x ^ x >> 29) % count
    }

    fn shares(&mut self) -> Vec<u64> {
        (0..=self.below(5)).map(|_| self.below(12)).collect()
    }
}

#[test]
fn splits_are_exact_and_do_not_move() {
    for case in 0..cases() {
        let mut choices = Choices(case);
        let shares = choices.shares();
        let (stratum, len) = (choices.below(3), choices.below(3000) as usize);
        let splits = match Splits::new(&shares, case) {
            Ok(splits) => splits,
            Err(error) => {
                assert_eq!(error, Error::SharesOutOfRange);
                assert_eq!(shares.iter().sum::<u64>(), 0);
                continue;
            }
        };
        let mut parts = vec![9999; len];
        splits.fill(stratum, 0, &mut parts).unwrap();
        assert!((0..).zip(&parts).all(|(item, &part)| splits.part(stratum, item) == part));
        // Appended to, from anywhere.
        let first = choices.below(1 + len as u64);
        let mut later = vec![9999; 500];
        splits.fill(stratum, first, &mut later).unwrap();
        assert!(parts[first as usize..].iter().zip(&later).all(|(a, b)| a == b));
        let quota = splits.quota();
        for items in parts.chunks_exact(quota as usize) {
            let mut counts = vec![0; shares.len()];
            items.iter().for_each(|&part| counts[part as usize] += 1);
            let sum: u64 = shares.iter().sum();
            assert!(
                counts.iter().zip(&shares).all(|(&count, &share)| count * sum == share * quota)
            );
        }
    }
    // Neighbours, strata, epochs and seeds have splits of their own; many pieces join.
    let splits = |seed: Seed| Splits::new(&[8, 1, 1], seed).unwrap();
    let parts = |splits: &Splits, stratum| {
        let mut parts = vec![0; 100_000];
        splits.fill(stratum, 7, &mut parts).unwrap();
        parts
    };
    let own = parts(&splits(Seed::new(1)), 0);
    assert!((7..).zip(&own).step_by(997).all(|(k, &p)| splits(Seed::new(1)).part(0, k) == p));
    for other in [
        parts(&splits(Seed::new(1)), 1),
        parts(&splits(Seed::new(2)), 0),
        parts(&splits(Seed::new(1).with_epoch(1)), 0),
    ] {
        let same = own.iter().zip(&other).filter(|(a, b)| a == b).count();
        // Of independent ones 0.66 are the same.
        assert!((64_000..68_000).contains(&same), "{same}");
    }
    let mut counts = [0; 3];
    for id in 0..100_000 {
        counts[splits(Seed::new(1)).part_of_id(format!("item {id}").as_bytes()) as usize] += 1;
    }
    assert!((79_000..81_000).contains(&counts[0]) && (9_500..10_500).contains(&counts[1]));
}

/// How many items of each stratum each part has.
fn table(parts: &[u32], counts: &[u64], shares: usize) -> Vec<Vec<u64>> {
    let mut rest = parts;
    let strata = counts.iter().map(|&count| {
        let own;
        (own, rest) = rest.split_at(count as usize);
        let mut of_part = vec![0; shares];
        own.iter().for_each(|&part| of_part[part as usize] += 1);
        of_part
    });
    strata.collect()
}

#[test]
fn whole_sets_are_dealt_by_counts() {
    for case in 0..cases() {
        let mut choices = Choices(case);
        let mut shares = choices.shares();
        shares.push(1 + choices.below(9));
        let few = [3, 40][choices.below(2) as usize];
        let counts: Vec<u64> = (0..=choices.below(12)).map(|_| choices.below(few)).collect();
        let (items, sum) = (counts.iter().sum::<u64>(), shares.iter().sum::<u64>());
        let with_share = shares.iter().filter(|&&share| share > 0).count() as u64;
        let splits = Splits::new(&shares, case).unwrap();
        let dealt = match splits.deal(&counts) {
            Err(error) => {
                assert_eq!(error, Error::TooFewItems { items, parts: with_share });
                assert!(items < with_share);
                continue;
            }
            Ok(dealt) => dealt,
        };
        let strata = table(&dealt, &counts, shares.len());
        // The counts are those of any other seed.
        let other = Splits::new(&shares, case + 1).unwrap().deal(&counts).unwrap();
        assert_eq!(strata, table(&other, &counts, shares.len()));
        // Items of whole quotas are where they are without the others.
        let (quota, mut first) = (splits.quota(), 0);
        for (stratum, &count) in (0..).zip(&counts) {
            let own = &dealt[first..][..count as usize];
            let whole = (count - count % quota) as usize;
            assert!((0..).zip(&own[..whole]).all(|(k, &part)| splits.part(stratum, k) == part));
            first += count as usize;
        }
        let totals: Vec<u64> =
            (0..shares.len()).map(|part| strata.iter().map(|of| of[part]).sum()).collect();
        assert!(totals.iter().zip(&shares).all(|(&total, &share)| (total > 0) == (share > 0)));
        // No item in another part would bring the counts closer to the shares.
        let above = |part: usize| (totals[part] * sum) as i64 - (items * shares[part]) as i64;
        for (from, to) in (0..shares.len()).flat_map(|a| (0..shares.len()).map(move |b| (a, b))) {
            let may_move = from != to && totals[from] > 1 && shares[to] > 0;
            assert!(!may_move || above(from) - above(to) <= sum as i64, "{shares:?} {totals:?}");
        }
    }
}

#[test]
fn folds_differ_by_one_item_in_all_and_by_label() {
    for case in 0..cases() {
        let mut choices = Choices(case);
        let folds = 2 + choices.below(9);
        let mut counts: Vec<u64> = (0..=choices.below(30)).map(|_| choices.below(40)).collect();
        counts.push(folds);
        let dealt = Splits::new(&vec![1; folds as usize], case).unwrap().deal(&counts).unwrap();
        // As cards are dealt, one label after another.
        let mut next = 0;
        for (of_fold, &count) in table(&dealt, &counts, folds as usize).iter().zip(&counts) {
            let mut expected = vec![0; folds as usize];
            for _ in 0..count {
                expected[next] += 1;
                next = (next + 1) % folds as usize;
            }
            assert_eq!(of_fold, &expected);
        }
    }
}

#[test]
fn any_items_may_be_dealt_to_a_part() {
    // One of four, in place of none: each as often.
    let mut often = [0; 4];
    for seed in 0..4000 {
        let dealt = Splits::new(&[4, 1], seed).unwrap().deal(&[4]).unwrap();
        often[dealt.iter().position(|&part| part == 1).unwrap()] += 1;
    }
    assert!(often.iter().all(|count| (900..1100).contains(count)), "{often:?}");
}
