//! Exchanges among ranks of one process give the permutation that one machine makes.

use super::{Blocks, Census, Division, Exchange, Sorted, TaggedExchange};
use crate::bijection::{Bijection, FromSeed, GridFeistel, Lcg, MulXorshift, VariablePhilox};
use crate::compact::Workspace;
use crate::error::{Error, ExchangeError};
use crate::permutation::Permutation;

/// Makes an exchange, and returns what each rank holds afterwards, one after the other.
fn exchange<B: Bijection, T: Copy + Send + Sync + PartialEq + core::fmt::Debug>(
    plans: &[Exchange<B>],
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
    let plans = ranks.clone().map(|rank| Exchange::shuffle(p, &census, from, to, rank));
    let plans = plans.collect::<Result<Vec<_>, _>>().unwrap();
    assert_eq!(exchange(&plans, &items).unwrap(), shuffled);
    for plan in &plans {
        let places = plan.target_places();
        let mut indexes = vec![u64::MAX; (places.end - places.start) as usize];
        plan.indexes(&mut indexes).unwrap();
        let ordered = &shuffled[places.start as usize..places.end as usize];
        assert!(indexes.iter().map(|&index| items[index as usize]).eq(ordered.iter().copied()));
    }

    let plans = ranks.clone().map(|rank| Exchange::unshuffle(p, &census, to, from, rank));
    let plans = plans.collect::<Result<Vec<_>, _>>().unwrap();
    assert_eq!(exchange(&plans, &shuffled).unwrap(), items);

    let inverse = p.inverse();
    let plans = ranks.clone().map(|rank| Exchange::shuffle(&inverse, &census, to, from, rank));
    let plans = plans.collect::<Result<Vec<_>, _>>().unwrap();
    assert_eq!(exchange(&plans, &shuffled).unwrap(), items);

    // In rounds, of which the last ranks have fewer than the others or none.
    let most = p.len() / 7 + 1;
    let there = |rank| Exchange::shuffle_in_rounds(p, &census, from, to, rank, most).unwrap();
    let plans: Vec<_> = ranks.clone().map(there).collect();
    assert_eq!(exchange(&plans, &items).unwrap(), shuffled);
    let back = |rank| Exchange::unshuffle_in_rounds(p, &census, to, from, rank, most).unwrap();
    let plans: Vec<_> = ranks.clone().map(back).collect();
    assert_eq!(exchange(&plans, &shuffled).unwrap(), items);
    let undone =
        |rank| Exchange::unshuffle_in_rounds(&inverse, &census, from, to, rank, most).unwrap();
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
                check(&Permutation::walk(len, 42), from, to);
                let philox = VariablePhilox::<24>::from_seed(len, 42);
                check(&Permutation::with_bijection(len, philox).unwrap(), from, to);
                let grid = GridFeistel::<12>::from_seed(len, 42);
                check(&Permutation::with_bijection(len, grid).unwrap(), from, to);
            }
        }
    }
}

/// Ranks that hold few items each, of many slots, and a map that is not random at all.
#[test]
fn many_ranks_and_maps_that_are_not_random() {
    let len = 150_001;
    let [even, _, odd] = divisions(len, 64);
    check(&Permutation::new(len, 1), &even, &odd);
    let counter = Lcg::new(18, 1, 0).unwrap();
    check(&Permutation::with_bijection(len, counter).unwrap(), &odd, &even);
    let sparse = MulXorshift::<10>::from_seed(1 << 20, 1);
    check(&Permutation::with_bijection(len, sparse).unwrap(), &even, &even);
}

#[test]
fn what_does_not_add_up_is_refused() {
    let p = Permutation::new(1000, 42);
    let census = Census::new(&p).unwrap();
    let even = Division::even(1000, 3);
    let refused = |from: &Division, to: &Division, rank| {
        Exchange::shuffle(&p, &census, from, to, rank).map(drop).unwrap_err()
    };
    assert_eq!(
        refused(&Division::even(999, 3), &even, 0),
        Error::LengthMismatch { expected: 1000, actual: 999 }
    );
    let of_four = Division::even(1000, 4);
    assert_eq!(refused(&even, &of_four, 0), ExchangeError::RanksDiffer { from: 3, to: 4 }.into());
    assert_eq!(refused(&even, &even, 3), ExchangeError::NoSuchRank { rank: 3, ranks: 3 }.into());

    let other = Permutation::new(5000, 42);
    let census = Census::new(&other).unwrap();
    let error = Exchange::shuffle(&p, &census, &even, &even, 0).map(drop).unwrap_err();
    assert_eq!(error, ExchangeError::CensusDiffers.into());
    let mut counts = Census::part(&p, 0, 1).unwrap();
    counts[0] -= 1;
    assert_eq!(Census::from_parts(&p, &counts).unwrap_err(), ExchangeError::CensusDiffers.into());
    counts.push(1);
    assert_eq!(Census::from_parts(&p, &counts).unwrap_err(), ExchangeError::CensusDiffers.into());

    let census = Census::new(&p).unwrap();
    let plan = Exchange::shuffle(&p, &census, &even, &even, 1).unwrap();
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

    let p = Permutation::with_bijection(100_000, Liar).unwrap();
    let census = Census::new(&p).unwrap();
    let even = Division::even(100_000, 4);
    let items = vec![7_u16; 25_000];
    let found = (0..4).filter(|&rank| {
        let made = Exchange::shuffle(&p, &census, &even, &even, rank)
            .and_then(|plan| plan.pack(&mut Workspace::new(), &items, &mut items.clone()));
        made.is_err()
    });
    assert_eq!(found.collect::<Vec<_>>(), [0, 2]);
}

/// The threads of a rank: the ranks have different numbers of them.
fn threads_of<B: Bijection>(plan: &TaggedExchange<B>) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(plan.rank() % 3 + 1).build().unwrap()
}

/// Makes a tagged exchange, and returns what each rank holds afterwards, one after the other.
/// `None` if a rank's buckets overflow.
fn tagged<B: Bijection, T: Copy + Send + Sync + Default>(
    plans: &[TaggedExchange<B>],
    items: &[T],
) -> Result<Option<Vec<T>>, Error> {
    let mut workspaces: Vec<_> = plans.iter().map(|_| Workspace::new()).collect();
    let mut sorted = Vec::new();
    for (plan, workspace) in plans.iter().zip(&mut workspaces) {
        let places = plan.source_places();
        let shard = &items[places.start as usize..places.end as usize];
        let (shape, own) =
            threads_of(plan).install(|| (plan.shape::<T>(), plan.sort(workspace, shard)));
        let Some(own) = own? else { return Ok(None) };
        assert_eq!(shape, Some(own.shape()));
        sorted.push(own);
    }
    let mut totals = vec![0; sorted[0].counts().len()];
    for sorted in &sorted {
        totals.iter_mut().zip(sorted.counts()).for_each(|(total, count)| *total += count);
    }
    let shapes: Vec<_> = sorted.iter().map(Sorted::shape).collect();
    let bytes =
        |plan: &TaggedExchange<B>| threads_of(plan).install(|| plan.working_bytes::<T>(&shapes));
    let bytes: Vec<u64> = plans.iter().map(bytes).collect();
    let deliveries = sorted.into_iter().map(|sorted| sorted.deliver(&totals, &shapes));
    let mut deliveries = deliveries.collect::<Result<Vec<_>, _>>()?;
    for part in 0..deliveries[0].parts() {
        for sender in 0..plans.len() {
            for receiver in 0..plans.len() {
                let blocks = deliveries[sender].exchange(part);
                let first = blocks.send_starts[receiver] * Blocks::BLOCK_BYTES;
                let bytes = blocks.send_counts[receiver] * Blocks::BLOCK_BYTES;
                let sent = blocks.sent[first..first + bytes].to_vec();
                let blocks = deliveries[receiver].exchange(part);
                let first = blocks.receive_starts[sender] * Blocks::BLOCK_BYTES;
                assert_eq!(bytes, blocks.receive_counts[sender] * Blocks::BLOCK_BYTES);
                blocks.received[first..first + bytes].copy_from_slice(&sent);
            }
        }
    }
    let mut all = Vec::new();
    for (plan, delivery) in plans.iter().zip(deliveries) {
        let places = plan.target_places();
        let mut shard = vec![T::default(); (places.end - places.start) as usize];
        // SAFETY: all that was to be sent has been received.
        threads_of(plan).install(|| unsafe { delivery.place(&mut shard) })?;
        all.extend(shard);
    }
    // What was said to be needed was, or a little less.
    for (workspace, bytes) in workspaces.iter().zip(bytes) {
        assert!(workspace.bytes() as u64 <= bytes, "{} and not {bytes}", workspace.bytes());
    }
    Ok(Some(all))
}

/// Shuffles and un-shuffles between divisions with tags.
fn check_tagged<B: Bijection + Clone>(p: &Permutation<B>, from: &Division, to: &Division) {
    let items: Vec<(u64, u8)> = (0..p.len()).map(|k| (k * 3 + 1, k as u8)).collect();
    let shuffled: Vec<_> = p.to_vec().into_iter().map(|index| items[index as usize]).collect();
    let census = Census::new(p).unwrap();
    let inverse = p.inverse();
    let plans = |p, census, undo, from, to: _| {
        let plan = |rank| match undo {
            false => TaggedExchange::shuffle(p, census, from, to, rank),
            true => TaggedExchange::unshuffle(p, census, from, to, rank),
        };
        (0..Division::ranks(from)).map(plan).collect::<Result<Vec<_>, _>>().unwrap()
    };
    let forward = plans(p, None, false, from, to);
    assert!(forward.iter().all(TaggedExchange::serves::<(u64, u8)>));
    assert_eq!(tagged(&forward, &items).unwrap().unwrap(), shuffled);
    assert_eq!(tagged(&plans(&inverse, None, true, from, to), &items).unwrap().unwrap(), shuffled);
    let census = Some(&census);
    assert_eq!(tagged(&plans(p, census, true, to, from), &shuffled).unwrap().unwrap(), items);
    let back = plans(&inverse, census, false, to, from);
    assert_eq!(tagged(&back, &shuffled).unwrap().unwrap(), items);
}

#[test]
fn items_with_tags_go_where_they_go_without() {
    for (len, ranks) in [(1024, 1), (70_001, 1), (65_536, 3), (70_001, 5), (150_001, 8)] {
        let [even, one, odd] = divisions(len, ranks);
        for (from, to) in [(&even, &even), (&odd, &even), (&even, &one), (&one, &odd)] {
            check_tagged(&Permutation::new(len, 42), from, to);
            check_tagged(&Permutation::walk(len, 42), from, to);
            let philox = VariablePhilox::<24>::from_seed(len, 42);
            check_tagged(&Permutation::with_bijection(len, philox).unwrap(), from, to);
        }
    }
}

/// What tags do not serve is said by all ranks, and what overflows by those whose buckets do.
#[test]
fn tags_are_for_many_items_of_random_order() {
    let division = Division::even(10_000, 40);
    let p = Permutation::new(10_000, 42);
    let plan = TaggedExchange::shuffle(&p, None, &division, &division, 0).unwrap();
    assert!(!plan.serves::<u64>());
    assert_eq!(plan.shape::<u64>(), None);
    let error = TaggedExchange::unshuffle(&p, None, &division, &division, 0).unwrap_err();
    assert_eq!(error, ExchangeError::CensusMissing.into());

    let len = 1 << 18;
    let counter = Lcg::new(18, 1, 0).unwrap();
    let p = Permutation::with_bijection(len, counter).unwrap();
    let even = Division::even(len, 2);
    let plans: Vec<_> =
        (0..2).map(|rank| TaggedExchange::shuffle(&p, None, &even, &even, rank).unwrap()).collect();
    assert!(plans[0].serves::<u64>() && !plans[0].serves::<()>() && !plans[0].serves::<[u8; 65]>());
    assert_eq!(tagged(&plans, &vec![0_u8; len as usize]).unwrap(), None);
}

/// Neither fewer places than the rank holds nor more, not even where its last bucket has items of
/// the next rank.
#[test]
fn items_are_put_in_as_many_places_as_the_rank_holds() {
    let p = Permutation::new(100_000, 1);
    let items = vec![1_u16; 100_000];
    for counts in [&[100_000, 0][..], &[60_000, 0, 40_000]] {
        let to = Division::from_counts(counts).unwrap();
        let mut from = vec![0; counts.len()];
        from[0] = p.len();
        let from = Division::from_counts(&from).unwrap();
        let plan = TaggedExchange::shuffle(&p, None, &from, &to, 0).unwrap();
        let held = counts[0] as usize;
        for len in [0, 1, held - 1, held + 1, held + 10] {
            let mut workspace = Workspace::new();
            let sorted = plan.sort(&mut workspace, &items).unwrap().unwrap();
            let totals = sorted.counts().to_vec();
            let mut shapes = vec![sorted.shape(); counts.len()];
            // The others have sorted nothing.
            shapes[1..].fill([0, 2]);
            let delivery = sorted.deliver(&totals, &shapes).unwrap();
            // SAFETY: no other rank has a part, so nothing is received.
            let placed = unsafe { delivery.place(&mut vec![0; len]) };
            let (expected, actual) = (held as u64, len as u64);
            assert_eq!(placed, Err(Error::LengthMismatch { expected, actual }));
        }
    }
}

/// A rank that is sent other items than its buckets count says so.
#[test]
fn items_that_differ_are_found() {
    let len = 100_000;
    let (p, other) = (Permutation::new(len, 1), Permutation::new(len, 2));
    let even = Division::even(len, 1);
    let items = vec![1_u16; len as usize];
    let plan = TaggedExchange::shuffle(&p, None, &even, &even, 0).unwrap();
    let wrong = TaggedExchange::shuffle(&other, None, &even, &even, 0).unwrap();
    let (mut workspace, mut more) = (Workspace::new(), Workspace::new());
    let totals = wrong.sort(&mut more, &items).unwrap().unwrap().counts().to_vec();
    let sorted = plan.sort(&mut workspace, &items).unwrap().unwrap();
    assert_ne!(sorted.counts(), totals);
    let shapes = [sorted.shape()];
    let delivery = sorted.deliver(&totals, &shapes).unwrap();
    // SAFETY: nothing is received, since there is no other rank.
    let placed = unsafe { delivery.place(&mut items.clone()) };
    assert_eq!(placed, Err(ExchangeError::ItemsDiffer.into()));

    let sorted = plan.sort(&mut workspace, &items).unwrap().unwrap();
    let too_many = vec![len; totals.len()];
    let error = sorted.deliver(&too_many, &shapes).map(drop).unwrap_err();
    assert_eq!(error, ExchangeError::ItemsDiffer.into());
    let sorted = plan.sort(&mut workspace, &items).unwrap().unwrap();
    let error = sorted.deliver(&totals, &[[1, 7]]).map(drop).unwrap_err();
    assert_eq!(error, ExchangeError::ItemsDiffer.into());
    assert_eq!(
        plan.sort(&mut workspace, &items[1..]).map(drop).unwrap_err(),
        Error::LengthMismatch { expected: len, actual: len - 1 }
    );

    // Another rank's shape that no rank can have.
    let even = Division::even(len, 2);
    let plan = TaggedExchange::shuffle(&p, None, &even, &even, 0).unwrap();
    let items = &items[..len as usize / 2];
    for stride in [0, 1] {
        let sorted = plan.sort(&mut workspace, items).unwrap().unwrap();
        let totals: Vec<u64> = sorted.counts().iter().map(|count| 2 * count).collect();
        let shapes = [sorted.shape(), [1, stride]];
        let error = sorted.deliver(&totals, &shapes).map(drop).unwrap_err();
        assert_eq!(error, ExchangeError::ItemsDiffer.into());
    }
}
