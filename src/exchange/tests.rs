//! Exchanges among ranks of one process give the permutation that one machine makes.

mod tagged;

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::{Census, Division, Exchange};
use crate::bijection::{GridFeistel, Lcg, MulXorshift, VariablePhilox};
use crate::compact::Workspace;
use crate::error::ExchangeError;
use crate::permutation::Permutation;
use crate::{Bijection, Error, FromSeed};

/// Makes an exchange, and returns what each rank holds afterwards, one after the other.
fn exchange<T: Copy + Send + Sync + PartialEq + core::fmt::Debug>(
    plans: &[Exchange],
    items: &[T],
) -> Result<Vec<T>, Error> {
    let mut workspace = Workspace::new();
    let (ranks, rounds) = (plans.len(), plans[0].rounds());
    // What each rank sends to each in each round.
    let mut sent = vec![vec![Vec::new(); ranks]; ranks * rounds];
    for (sender, plan) in plans.iter().enumerate() {
        let places = plan.source_places();
        let shard = &items[places.start as usize..places.end as usize];
        let mut packed = shard.to_vec();
        plan.pack(&mut workspace, shard, &mut packed)?;
        let counts = plan.send_counts()?;
        assert_eq!((plan.rounds(), counts.len()), (rounds, ranks * rounds));
        let mut rest = packed.as_slice();
        for (of_round, count) in sent.chunks_mut(ranks).zip(counts.chunks(ranks)) {
            for (to, &count) in of_round.iter_mut().zip(count) {
                let items;
                (items, rest) = rest.split_at(count as usize);
                to[sender] = items.to_vec();
            }
        }
        assert!(rest.is_empty());
        let mut unpacked = packed.clone();
        plan.unpack(&mut workspace, &packed, &mut unpacked)?;
        assert_eq!(unpacked, shard);
    }
    let mut all = Vec::new();
    for (receiver, plan) in plans.iter().enumerate() {
        let of_rounds = sent.iter().skip(receiver).step_by(ranks);
        let counts: Vec<u64> =
            of_rounds.clone().flatten().map(|items| items.len() as u64).collect();
        assert_eq!(plan.receive_counts()?, counts);
        let received: Vec<T> = of_rounds.flatten().flatten().copied().collect();
        let mut shard = received.clone();
        plan.place(&mut workspace, &received, &mut shard)?;
        all.extend(shard);
    }
    Ok(all)
}

/// Shuffles and un-shuffles between divisions.
fn check<B: Bijection + Clone>(p: &Permutation<B>, from: &Division, to: &Division) {
    let items: Vec<(u64, u8)> = (0..p.len()).map(|k| (k * 3 + 1, k as u8)).collect();
    let shuffled: Vec<_> = p.to_vec().into_iter().map(|index| items[index as usize]).collect();
    let census = Census::new(p).unwrap();
    let ranks = 0..from.ranks();
    let plans =
        ranks.clone().map(|rank| Exchange::builder(p, &census, from, rank).to(to).shuffle());
    let plans = plans.collect::<Result<Vec<_>, _>>().unwrap();
    assert_eq!(exchange(&plans, &items).unwrap(), shuffled);
    for plan in &plans {
        let places = plan.target_places();
        let mut indexes = vec![u64::MAX; (places.end - places.start) as usize];
        plan.write_indexes(&mut indexes).unwrap();
        let ordered = &shuffled[places.start as usize..places.end as usize];
        assert!(indexes.iter().map(|&index| items[index as usize]).eq(ordered.iter().copied()));
    }

    let plans =
        ranks.clone().map(|rank| Exchange::builder(p, &census, to, rank).to(from).unshuffle());
    let plans = plans.collect::<Result<Vec<_>, _>>().unwrap();
    assert_eq!(exchange(&plans, &shuffled).unwrap(), items);

    let inverse = p.inverted();
    let plans =
        ranks.clone().map(|rank| Exchange::builder(&inverse, &census, to, rank).to(from).shuffle());
    let plans = plans.collect::<Result<Vec<_>, _>>().unwrap();
    assert_eq!(exchange(&plans, &shuffled).unwrap(), items);

    // In rounds: the last ranks have fewer than the others, or none.
    let most = p.len() / 7 + 1;
    let there = |rank| {
        Exchange::builder(p, &census, from, rank).to(to).in_rounds_of(most).shuffle().unwrap()
    };
    let plans: Vec<_> = ranks.clone().map(there).collect();
    assert_eq!(exchange(&plans, &items).unwrap(), shuffled);
    let back = |rank| {
        Exchange::builder(p, &census, to, rank).to(from).in_rounds_of(most).unshuffle().unwrap()
    };
    let plans: Vec<_> = ranks.clone().map(back).collect();
    assert_eq!(exchange(&plans, &shuffled).unwrap(), items);
    let undone = |rank| {
        Exchange::builder(&inverse, &census, from, rank)
            .to(to)
            .in_rounds_of(most)
            .unshuffle()
            .unwrap()
    };
    let plans: Vec<_> = ranks.map(undone).collect();
    assert_eq!(exchange(&plans, &items).unwrap(), shuffled);
}

/// Some divisions of a length: even and odd ones, with ranks that hold nothing.
fn divisions(len: u64, ranks: usize) -> [Division; 3] {
    let mut one = vec![0; ranks];
    one[ranks / 2] = len;
    let mut odd: Vec<u64> =
        (0..ranks as u64).map(|rank| rank % 3 * (len / (2 * ranks as u64))).collect();
    odd[ranks - 1] += len - odd.iter().sum::<u64>();
    [Division::even(len, ranks)]
        .into_iter()
        .chain([one, odd].map(|counts| Division::from_counts(&counts).unwrap()))
        .collect::<Vec<_>>()
        .try_into()
        .unwrap()
}

#[test]
fn ranks_make_the_permutation_of_one_machine() {
    for len in [0, 1, 2, 17, 1000, 1025, 70_001] {
        for ranks in [1, 2, 3, 5, 8] {
            if len > 1025 && ranks % 2 == 1 {
                continue;
            }
            let [even, one, odd] = divisions(len, ranks);
            for (from, to) in [(&even, &even), (&odd, &even), (&even, &one), (&one, &odd)] {
                check(&Permutation::new(len, 42), from, to);
                // Each item of the others takes many evaluations.
                if len > 1025 {
                    continue;
                }
                check(&Permutation::walk(len, 42), from, to);
                let philox = VariablePhilox::<24>::from_seed(len, 42);
                check(&Permutation::from_bijection(len, philox).unwrap(), from, to);
                let grid = GridFeistel::<12>::from_seed(len, 42);
                check(&Permutation::from_bijection(len, grid).unwrap(), from, to);
            }
        }
    }
}

/// So few items that Miri can watch them.
#[test]
fn short_form_every_item_reaches_its_rank() {
    let [even, _, odd] = divisions(17, 3);
    check(&Permutation::new(17, 42), &odd, &even);
}

/// Ranks that hold few items each, of many slots, and a map that is not random at all.
#[test]
fn many_ranks_and_maps_that_are_not_random() {
    let len = 150_001;
    let [even, _, odd] = divisions(len, 64);
    check(&Permutation::new(len, 1), &even, &odd);
    let counter = Lcg::new(18, 1, 0).unwrap();
    check(&Permutation::from_bijection(len, counter).unwrap(), &odd, &even);
    let sparse = MulXorshift::<10>::from_seed(1 << 20, 1);
    check(&Permutation::from_bijection(len, sparse).unwrap(), &even, &even);
}

#[test]
fn divisions_of_another_length_and_unknown_ranks_are_refused() {
    let p = Permutation::new(1000, 42);
    let census = Census::new(&p).unwrap();
    let even = Division::even(1000, 3);
    let refused = |from: &Division, to: &Division, rank| {
        Exchange::builder(&p, &census, from, rank).to(to).shuffle().map(drop).unwrap_err()
    };
    assert_eq!(
        refused(&Division::even(999, 3), &even, 0),
        Error::LengthMismatch { expected: 1000, actual: 999 }
    );
    let of_four = Division::even(1000, 4);
    assert_eq!(
        refused(&even, &of_four, 0),
        Error::Exchange(ExchangeError::RankCountMismatch { from: 3, to: 4 })
    );
    assert_eq!(refused(&even, &even, 3), Error::NoSuchRank { rank: 3, ranks: 3 });

    let other = Permutation::new(5000, 42);
    let census = Census::new(&other).unwrap();
    let error = Exchange::builder(&p, &census, &even, 0).shuffle().map(drop).unwrap_err();
    assert_eq!(error, Error::Exchange(ExchangeError::CensusMismatch));
    let mut counts = Census::part(&p, 0, 1).unwrap();
    counts[0] -= 1;
    assert_eq!(
        Census::from_parts(&p, &counts).unwrap_err(),
        Error::Exchange(ExchangeError::CensusMismatch)
    );
    counts.push(1);
    assert_eq!(
        Census::from_parts(&p, &counts).unwrap_err(),
        Error::Exchange(ExchangeError::CensusMismatch)
    );

    let census = Census::new(&p).unwrap();
    let plan = Exchange::builder(&p, &census, &even, 1).shuffle().unwrap();
    let error = plan.pack(&mut Workspace::new(), &[1; 333], &mut [0; 332]).unwrap_err();
    assert_eq!(error, Error::LengthMismatch { expected: 333, actual: 332 });
}

/// Two slots have one index, and another index has none. The ranks that hold these indexes find
/// out.
#[test]
fn a_map_that_is_no_bijection_is_found() {
    #[derive(Clone)]
    struct Liar;

    impl Bijection for Liar {
        fn last(&self) -> u64 {
            (1 << 17) - 1
        }

        fn forward(&self, slot: u64) -> u64 {
            if slot == 70_000 { 5 } else { slot }
        }

        fn inverse(&self, index: u64) -> u64 {
            index
        }
    }

    let p = Permutation::from_bijection(100_000, Liar).unwrap();
    let census = Census::new(&p).unwrap();
    let even = Division::even(100_000, 4);
    let items = vec![7_u16; 25_000];
    let found = (0..4).filter(|&rank| {
        let made = Exchange::builder(&p, &census, &even, rank)
            .shuffle()
            .and_then(|plan| plan.pack(&mut Workspace::new(), &items, &mut items.clone()));
        made.is_err()
    });
    assert_eq!(found.collect::<Vec<_>>(), [0, 2]);
}

/// A map whose domain grows after some calls of `last`: whenever that is, counting ends with counts
/// or with an error.
#[test]
fn a_domain_that_grows_while_items_are_counted_is_no_panic() {
    struct Growing {
        maps: [MulXorshift<10>; 2],
        /// The calls of `last` before it grows.
        left: AtomicU32,
    }

    impl Growing {
        fn now(&self) -> &MulXorshift<10> {
            &self.maps[usize::from(self.left.load(Relaxed) == 0)]
        }
    }

    impl Bijection for Growing {
        fn last(&self) -> u64 {
            let last = self.now().last();
            let _ = self.left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1));
            last
        }

        fn forward(&self, slot: u64) -> u64 {
            self.now().forward(slot)
        }

        fn inverse(&self, index: u64) -> u64 {
            self.now().inverse(index)
        }
    }

    let even = Division::even(1000, 3);
    let maps = [1 << 10, 1 << 30].map(|points| MulXorshift::<10>::from_seed(points, 1));
    let p = Permutation::from_bijection(1000, Growing { maps, left: u32::MAX.into() }).unwrap();
    let census = Census::new(&p).unwrap();
    let plan = Exchange::builder(&p, &census, &even, 0).shuffle().unwrap();
    let counts = plan.send_counts().unwrap();
    let left = &p.bijection().left;
    for calls in 0.. {
        left.store(calls, Relaxed);
        let counted = plan.send_counts();
        if left.load(Relaxed) > 0 {
            // It makes fewer calls than that.
            assert_eq!(counted.unwrap(), counts);
            assert!(calls > 2);
            break;
        }
    }
}
