//! Arrays that are spread over any numbers of ranks are shuffled as one machine would, whatever
//! each rank holds and whatever the items are.

use bijective_shuffle::bijection::GridFeistel;
use bijective_shuffle::exchange::{Census, Division, Exchange};
use bijective_shuffle::prelude::*;
use proptest::collection::vec;
use proptest::prelude::{Just, ProptestConfig, any, prop_assert_eq, prop_oneof};
use proptest::proptest;
use proptest::strategy::Strategy as _;
use proptest::test_runner::TestCaseError;

use bijective_shuffle_laws::cases;

/// How many items each rank holds before and after.
#[derive(Clone, Debug)]
struct Held {
    before: Vec<u64>,
    after: Vec<u64>,
}

/// Some numbers of items, and as many in other runs.
fn held() -> impl proptest::strategy::Strategy<Value = Held> {
    let few = prop_oneof![Just(0), 0_u64..10, 0_u64..1000, 0_u64..20_000];
    vec(few, 1..7).prop_flat_map(|before| {
        let len: u64 = before.iter().sum();
        let cuts = vec(0..=len, before.len() - 1);
        cuts.prop_map(move |mut cuts| {
            cuts.sort_unstable();
            cuts.push(len);
            let mut last = 0;
            let after = cuts.iter().map(|&cut| cut - core::mem::replace(&mut last, cut));
            Held { after: after.collect(), before: before.clone() }
        })
    })
}

/// Shuffles items over ranks and back, and compares with one machine.
fn check<T: Copy + Send + Sync + PartialEq + core::fmt::Debug>(
    p: &Permutation<impl Bijection>,
    (held, most): (&Held, u64),
    item: impl Fn(u64) -> T,
) -> Result<(), TestCaseError> {
    let [before, after] =
        [&held.before, &held.after].map(|counts| Division::from_counts(counts).unwrap());
    let ranks = before.ranks();
    // Each rank counts its part of the slots.
    let parts = (0..ranks).map(|rank| Census::part(p, rank, ranks).unwrap());
    let census = Census::from_parts(p, &parts.collect::<Vec<_>>().concat()).unwrap();
    let items: Vec<T> = (0..p.len()).map(item).collect();
    let shuffled = exchange(
        &items,
        |rank| {
            Exchange::builder(p, &census, &before, rank)
                .to(&after)
                .in_rounds_of(most)
                .shuffle()
                .unwrap()
        },
        ranks,
    )?;
    prop_assert_eq!(&shuffled, &p.apply(&items).unwrap());
    let back = exchange(
        &shuffled,
        |rank| {
            Exchange::builder(p, &census, &after, rank)
                .to(&before)
                .in_rounds_of(most)
                .unshuffle()
                .unwrap()
        },
        ranks,
    )?;
    prop_assert_eq!(back, items);
    Ok(())
}

/// What all ranks hold after an exchange, by the counts that each side computes alone.
fn exchange<'p, T: Copy + Send + Sync>(
    items: &[T],
    plan: impl Fn(usize) -> Exchange<'p>,
    ranks: usize,
) -> Result<Vec<T>, TestCaseError> {
    let mut workspace = Workspace::new();
    let rounds = plan(0).rounds();
    // What the ranks send to each, round after round.
    let mut sent = vec![Vec::new(); ranks * rounds];
    for rank in 0..ranks {
        let plan = plan(rank);
        let places = plan.source_places();
        let shard = &items[places.start as usize..places.end as usize];
        let mut packed = shard.to_vec();
        plan.pack(&mut workspace, shard, &mut packed).unwrap();
        let mut rest = packed.as_slice();
        let counts = plan.send_counts().unwrap();
        prop_assert_eq!(counts.len(), ranks * rounds);
        for (message, count) in counts.into_iter().enumerate() {
            let items;
            (items, rest) = rest.split_at(count as usize);
            sent[message].push(items.to_vec());
        }
        prop_assert_eq!(rest.len(), 0);
    }
    let mut all = Vec::new();
    for rank in 0..ranks {
        let plan = plan(rank);
        let received: Vec<&Vec<T>> = sent.iter().skip(rank).step_by(ranks).flatten().collect();
        let counts: Vec<u64> = received.iter().map(|items| items.len() as u64).collect();
        prop_assert_eq!(plan.receive_counts().unwrap(), counts);
        let received: Vec<T> = received.into_iter().flatten().copied().collect();
        let mut shard = received.clone();
        plan.place(&mut workspace, &received, &mut shard).unwrap();
        all.extend(shard);
    }
    Ok(all)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(100)))]

    #[test]
    fn any_division_gives_the_same_shuffle(
        held in held(),
        seed in any::<u64>(),
        spare in 0_u64..100_000,
        most in prop_oneof![Just(u64::MAX), 500_u64..50_000],
    ) {
        let held = (&held, most);
        let len = held.0.before.iter().sum::<u64>();
        check(&Permutation::new(len, seed), held, |k| k)?;
        check(&Permutation::walk(len, seed), held, |k| k as u8)?;
        check(&Permutation::new(len, seed).inverted(), held, |k| [k as u16; 3])?;
        // A domain of more slots.
        let f = GridFeistel::<12>::from_seed(len + spare, seed);
        let p = Permutation::from_bijection(len, f).unwrap();
        check(&p, held, |k| [k; 9])?;
    }
}
