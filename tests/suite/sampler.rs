//! The sampler against its definition, and against the rule of PyTorch's `DistributedSampler`;
//! resuming on other numbers of ranks; states and orders that lie.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use bijective_shuffle::Error;
use bijective_shuffle::Tail;
use bijective_shuffle::bijection::{BlockShuffle, Lcg, Table};
use bijective_shuffle::error::BijectionError;
use bijective_shuffle::error::{Defect, SavedError, ViewError};
use bijective_shuffle::prelude::*;
use bijective_shuffle::{SamplerBuilder, SamplerState, SamplerStep};
use proptest::prelude::*;

use bijective_shuffle_laws::cases;

const TAILS: [Tail; 4] = [Tail::Short, Tail::Pad, Tail::Fill, Tail::Drop];

/// An epoch's order, without the sampler.
fn order_of(len: u64, seed: u64, epoch: u64) -> Vec<u64> {
    Permutation::walk(len, Seed::new(seed).with_epoch(epoch)).to_vec()
}

/// All batches of all ranks from where samplers stand to the end of the epoch, by step and rank.
fn steps_of(samplers: &mut [Sampler]) -> Vec<Vec<Vec<u64>>> {
    let mut steps = Vec::new();
    loop {
        let left = samplers[0].steps_remaining();
        let next: Vec<_> = samplers.iter_mut().map(next).collect();
        let some = next.iter().flatten().count();
        assert!(some == 0 || some == samplers.len(), "a rank has more steps than others");
        assert_eq!(left > 0, some > 0);
        if some == 0 {
            return steps;
        }
        assert!(samplers.iter().all(|sampler| sampler.steps_remaining() == left - 1));
        steps.push(next.into_iter().flatten().collect());
    }
}

fn next(sampler: &mut Sampler) -> Option<Vec<u64>> {
    let mut batch = vec![7; 3];
    let is_step = sampler.next_batch(&mut batch).unwrap();
    assert!(is_step || batch.is_empty());
    is_step.then_some(batch)
}

fn of_all_ranks(builder: &SamplerBuilder, ranks: u64) -> Vec<Sampler> {
    (0..ranks).map(|rank| builder.clone().rank(rank, ranks).build().unwrap()).collect()
}

fn expected(order: &[u64], ranks: usize, batch: usize, tail: Tail) -> Vec<Vec<Vec<u64>>> {
    expected_from(0, order, ranks, batch, tail)
}

/// The definition in plain sight, for an epoch with some places taken already.
fn expected_from(
    taken: usize,
    order: &[u64],
    ranks: usize,
    batch: usize,
    tail: Tail,
) -> Vec<Vec<Vec<u64>>> {
    let mut steps = Vec::new();
    for global in order[taken..].chunks(ranks * batch) {
        let whole = match tail {
            Tail::Pad => global.len().next_multiple_of(ranks),
            Tail::Fill => ranks * batch,
            Tail::Drop if global.len() < ranks * batch => break,
            _ => global.len(),
        };
        let repeated = order.iter().cycle();
        let global: Vec<u64> = global.iter().chain(repeated).take(whole).copied().collect();
        let of = |rank| global.iter().skip(rank).step_by(ranks).copied().collect();
        steps.push((0..ranks).map(of).collect());
    }
    steps
}

/// The batches of a rank by the rule of `DistributedSampler` and of a `DataLoader` behind it.
fn distributed_sampler(order: &[u64], rank: usize, ranks: usize, batch: usize) -> Vec<Vec<u64>> {
    let total = order.len().div_ceil(ranks) * ranks;
    let padded: Vec<u64> = order.iter().cycle().take(total).copied().collect();
    let own: Vec<u64> = padded[rank..].iter().step_by(ranks).copied().collect();
    own.chunks(batch).map(<[u64]>::to_vec).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(300)))]

    #[test]
    fn batches_are_what_the_definition_says(
        len in prop_oneof![1..40_u64, 1..3000_u64],
        seed: u64,
        epoch: u64,
        ranks in 1..9_usize,
        batch in prop_oneof![1..7_usize, 1..400_usize],
        tail in 0..4_usize,
    ) {
        let builder = Sampler::builder(len, seed).batch(batch as u64).tail(TAILS[tail]);
        let mut samplers = of_all_ranks(&builder, ranks as u64);
        for sampler in &mut samplers {
            sampler.set_epoch(epoch).unwrap();
        }
        let order = order_of(len, seed, epoch);
        let expected = expected(&order, ranks, batch, TAILS[tail]);
        prop_assert_eq!(samplers[0].steps(), expected.len() as u64);
        let steps = steps_of(&mut samplers);
        prop_assert_eq!(&steps, &expected);
        if TAILS[tail] == Tail::Pad {
            for rank in 0..ranks {
                let own: Vec<_> = steps.iter().map(|step| step[rank].clone()).collect();
                prop_assert_eq!(own, distributed_sampler(&order, rank, ranks, batch));
            }
        }
        // Once more, after one epoch comes the next.
        samplers[0].next_epoch().unwrap();
        prop_assert_eq!(samplers[0].epoch(), epoch.wrapping_add(1));
        prop_assert_eq!(samplers[0].consumed(), 0);
        if tail < 3 {
            let first = order_of(len, seed, epoch.wrapping_add(1))[0];
            prop_assert_eq!(next(&mut samplers[0]).unwrap()[0], first);
        }
    }

    /// Stops after any number of steps, each time with another ranks and batch to go on: every item
    /// comes once.
    #[test]
    fn a_run_on_changing_worlds_takes_every_item_once(
        len in prop_oneof![1..40_u64, 1..3000_u64],
        seed: u64,
        legs in prop::collection::vec((1..9_u64, 1..60_u64, 0..9_u64), 0..6),
        last in (1..9_u64, 1..60_u64),
        tail in 0..4_usize,
        kind in 0..3_u8,
    ) {
        let builder = Sampler::builder(len, seed).tail(TAILS[tail]);
        let builder = match kind {
            0 => builder,
            1 => builder.sequential(),
            _ => builder.blocks(1 + seed % 10, 1 + seed % 7),
        };
        let mut whole = of_all_ranks(&builder.clone().batch(len).tail(Tail::Short), 1);
        let order = steps_of(&mut whole).concat().concat();
        let mut saved: Option<String> = None;
        let mut taken = 0;
        let mut take = |(ranks, batch): (u64, u64), most: u64| {
            let mut samplers = of_all_ranks(&builder.clone().batch(batch), ranks);
            let mut steps = Vec::new();
            if let Some(text) = &saved {
                let state: SamplerState = text.parse().unwrap();
                samplers.iter_mut().for_each(|sampler| sampler.resume(&state).unwrap());
                assert!(samplers.iter().all(|sampler| sampler.consumed() == state.consumed()));
            }
            for _ in 0..most {
                let next: Vec<_> = samplers.iter_mut().filter_map(next).collect();
                if next.is_empty() {
                    break;
                }
                steps.push(next.concat());
            }
            let state = samplers[0].state();
            assert!(samplers.iter().all(|sampler| sampler.state() == state));
            saved = Some(state.to_string());
            for mut step in steps {
                let (from, left) = (taken as usize, (len - taken) as usize);
                taken = (taken + ranks * batch).min(len);
                // The global batch as a set, and then what is repeated.
                let own = &order[from..taken as usize];
                let repeats = step.len() - own.len();
                let allowed = match TAILS[tail] {
                    Tail::Pad => left.next_multiple_of(ranks as usize) - left,
                    Tail::Fill => ((ranks * batch) as usize).saturating_sub(left),
                    _ => 0,
                };
                assert!(repeats == 0 || (taken == len && repeats == allowed));
                let repeated = order.iter().cycle().take(repeats);
                let mut global: Vec<u64> = own.iter().chain(repeated).copied().collect();
                step.sort_unstable();
                global.sort_unstable();
                assert_eq!(step, global);
            }
            assert_eq!(state.consumed(), taken);
        };
        for (ranks, batch, steps) in legs {
            take((ranks, batch), steps);
        }
        take(last, u64::MAX);
        match TAILS[tail] {
            Tail::Drop => prop_assert!(len - taken < last.0 * last.1),
            _ => prop_assert_eq!(taken, len),
        }
    }

    #[test]
    fn a_step_is_the_same_set_for_all_worlds(len in 1..3000_u64, seed: u64, quotient in 1..5_u64) {
        let steps = |ranks: u64, tail| {
            let builder = Sampler::builder(len, seed).batch(12 * quotient / ranks).tail(tail);
            let mut steps: Vec<_> =
                steps_of(&mut of_all_ranks(&builder, ranks)).into_iter().map(|step| step.concat()).collect();
            steps.iter_mut().for_each(|step| step.sort_unstable());
            steps
        };
        for tail in [Tail::Short, Tail::Fill, Tail::Drop] {
            let one = steps(1, tail);
            for ranks in [2, 3, 4, 6, 12] {
                prop_assert_eq!(&steps(ranks, tail), &one);
            }
        }
    }

    #[test]
    fn no_text_is_a_state_by_chance(text in prop_oneof!["[0-9a-fA-F+-]{0,70}", ".{0,40}"]) {
        match text.parse::<SamplerState>() {
            Ok(state) => {
                let mut sampler = Sampler::builder(10, 1).build().unwrap();
                prop_assert_eq!(sampler.resume(&state), Err(Error::Saved(SavedError::Foreign)));
            }
            Err(error) => prop_assert_eq!(error, Error::Saved(SavedError::NotAState)),
        }
    }
}

/// All remainders of items by ranks by batch, from the beginning and behind each step, on the same
/// ranks and on others: all ranks have as many steps, and their items are those of the definition.
#[test]
fn steps_are_equal_for_all_remainders() {
    assert_eq!(Sampler::builder(0, 1).build().map(drop), Err(Error::View(ViewError::NoItems)));
    for case in 0..40 * 6 * 9 {
        let (len, ranks, batch) = (1 + case / 54, 1 + case / 9 % 6, 1 + case % 9);
        let order: Vec<u64> = (0..len).collect();
        for tail in TAILS {
            let builder = Sampler::builder(len, 1).sequential().tail(tail);
            let mut of_all = of_all_ranks(&builder.clone().batch(batch), ranks);
            for taken in (0..=len).step_by((ranks * batch) as usize) {
                let state = of_all[0].state();
                assert_eq!(state.consumed(), taken);
                for (ranks_then, size) in [(ranks, batch), (1 + case % 6, 1 + (len + taken) % 9)] {
                    let mut then = of_all_ranks(&builder.clone().batch(size), ranks_then);
                    then.iter_mut().for_each(|sampler| sampler.resume(&state).unwrap());
                    let steps = steps_of(&mut then);
                    let (ranks_then, size) = (ranks_then as usize, size as usize);
                    let wanted = expected_from(taken as usize, &order, ranks_then, size, tail);
                    assert_eq!(
                        steps, wanted,
                        "{taken} of {len} taken, {ranks_then} ranks, {tail:?}"
                    );
                }
                of_all.iter_mut().for_each(|sampler| drop(next(sampler)));
            }
        }
    }
}

/// All remainders, tails and ranks, of orders of every kind: the state that is asked for by numbers
/// is that of each rank after it has drawn, and one that no drawing reaches resumes like any other.
#[test]
fn a_state_by_numbers_is_the_state_after_drawing() {
    let order = |len, seed| Ok(Lcg::from_seed(len, seed));
    for case in 0..24 * 4 * 5 {
        let (len, ranks, batch) = (1 + case / 20, 1 + case / 5 % 4, 1 + case % 5);
        let (tail, epoch) = (TAILS[case as usize % 4], [0, case, u64::MAX][case as usize % 3]);
        let builder = Sampler::builder(len, 1).tail(tail).batch(batch);
        let builder = match case / 3 % 4 {
            0 => builder,
            1 => builder.blocks(3, 2),
            2 => builder.sequential(),
            _ => builder.order(order),
        };
        let other = builder.clone().batch(7).rank(1, 2).build().unwrap();
        for mut sampler in of_all_ranks(&builder, ranks) {
            sampler.set_epoch(epoch).unwrap();
            loop {
                let consumed = sampler.consumed();
                assert_eq!(other.state_at(epoch, consumed), Ok(sampler.state()));
                if next(&mut sampler).is_none() {
                    break;
                }
                for consumed in consumed..sampler.consumed() {
                    let mut resumed = other.clone();
                    resumed.resume(&sampler.state_at(epoch, consumed).unwrap()).unwrap();
                    assert_eq!((resumed.epoch(), resumed.consumed()), (epoch, consumed));
                }
            }
        }
        let past = other.state_at(epoch, len + 1).unwrap_err();
        assert_eq!(past, Error::View(ViewError::TooManyConsumed { consumed: len + 1, len }));
        let text = format!("{} items consumed were given, and an epoch has {len}:", len + 1);
        assert!(past.to_string().starts_with(&text), "{past}");
        assert_eq!((other.epoch(), other.consumed()), (0, 0));
    }
}

/// So few items that Miri can watch them: two ranks, and then three from where they stopped.
#[test]
fn short_form_ranks_divide_an_epoch() {
    let order = order_of(25, 42, 0);
    let builder = Sampler::builder(25, 42).batch(3).tail(Tail::Short);
    let mut two = of_all_ranks(&builder, 2);
    let begun: Vec<_> = two.iter_mut().map(|sampler| next(sampler).unwrap()).collect();
    assert_eq!(begun, expected(&order, 2, 3, Tail::Short)[0]);
    let mut three = of_all_ranks(&builder, 3);
    three.iter_mut().for_each(|sampler| sampler.resume(&two[0].state()).unwrap());
    assert_eq!(steps_of(&mut three), expected(&order[6..], 3, 3, Tail::Short));
}

/// Batches of several parts are those of the definition; one that is stopped, wherever, is not
/// taken, and comes another time.
#[test]
fn a_batch_that_is_stopped_is_not_taken() {
    const LEN: u64 = 1_000_000;
    let order = order_of(LEN, 42, 0);
    for (ranks, tail) in [1, 3].into_iter().flat_map(|ranks| TAILS.map(|tail| (ranks, tail))) {
        let builder = Sampler::builder(LEN, 42).batch(270_000).tail(tail);
        let expected = expected(&order, ranks as usize, 270_000, tail);
        for (rank, sampler) in of_all_ranks(&builder, ranks).iter_mut().enumerate() {
            let mut batch = Vec::new();
            for step in &expected {
                let state = sampler.state();
                // A part has 2^16 items, and repeated ones begin a part of their own.
                for most in 0..step[rank].len() as u64 / (1 << 16) {
                    let mut asked = 0;
                    let go_on = || {
                        asked += 1;
                        asked <= most
                    };
                    let step = sampler.next_batch_while(&mut batch, go_on);
                    assert_eq!(step, Ok(SamplerStep::Stopped));
                    assert_eq!(asked, most + 1);
                    assert!(batch.is_empty() && sampler.state() == state);
                }
                let taken = sampler.next_batch_while(&mut batch, || true);
                assert_eq!(taken, Ok(SamplerStep::Taken));
                assert!(batch == step[rank], "rank {rank} of {ranks}, {tail:?}");
            }
            // At the end nothing is left to stop.
            for go_on in [true, false] {
                let ended = sampler.next_batch_while(&mut batch, || go_on);
                assert_eq!(ended, Ok(SamplerStep::EpochEnd));
            }
        }
    }
}

#[test]
fn states_are_refused_unless_they_are_the_samplers_own() {
    let builder = Sampler::builder(1000, 1);
    let mut sampler = builder.clone().rank(1, 3).batch(16).build().unwrap();
    sampler.set_epoch(2).unwrap();
    let drawn = [next(&mut sampler), next(&mut sampler)];
    assert!(drawn.iter().flatten().all(|batch| batch.len() == 16));
    let state = sampler.state();
    assert_eq!((state.epoch(), state.consumed()), (2, 96));

    let foreign = Err(Error::Saved(SavedError::Foreign));
    let others = [
        Sampler::builder(1000, 2),
        Sampler::builder(999, 1),
        Sampler::builder(1000, [1; 32]),
        builder.clone().sequential(),
        builder.clone().blocks(10, 10),
        // The orders of so few items may be the same, and the seeds are not.
        Sampler::builder(1, 1),
    ];
    for other in others {
        let mut other = other.build().unwrap();
        assert_eq!(other.resume(&state), foreign);
        assert_eq!((other.epoch(), other.consumed()), (0, 0));
    }
    let one = Sampler::builder(1, 1).build().unwrap().state();
    assert_eq!(Sampler::builder(1, 2).build().unwrap().resume(&one), foreign);

    // Every character changed to every digit.
    let text = state.to_string();
    for k in 0..text.len() {
        for digit in *b"0123456789abcdef-" {
            let mut changed = text.clone().into_bytes();
            if changed[k] == digit {
                continue;
            }
            changed[k] = digit;
            match String::from_utf8(changed).unwrap().parse::<SamplerState>() {
                Ok(changed) => assert_eq!(sampler.resume(&changed), foreign),
                Err(error) => assert_eq!(error, Error::Saved(SavedError::NotAState)),
            }
            assert_eq!(sampler.state(), state);
        }
    }
    for bad in
        ["", "-", "1-2-3", "1-2-3-4-5", "1-2-+3-4", "1-2-3-g", " 1-2-3-4", "1-2-3-4\n", "1--3-4"]
    {
        assert_eq!(bad.parse::<SamplerState>(), Err(Error::Saved(SavedError::NotAState)), "{bad}");
    }
    // The values themselves are for ever.
    assert_eq!(text, "3e8-2-60-b6eadb2098f9a68c");
}

#[cfg(feature = "serde")]
#[test]
fn states_are_serialised() {
    let mut sampler = Sampler::builder(1000, 1).batch(10).build().unwrap();
    next(&mut sampler);
    let text = serde_json::to_string(&sampler.state()).unwrap();
    // A text, since some formats round numbers of 64 bits.
    assert_eq!(text, format!("\"{}\"", sampler.state()));
    let state: SamplerState = serde_json::from_str(&text).unwrap();
    let mut other = Sampler::builder(1000, 1).batch(10).build().unwrap();
    other.resume(&state).unwrap();
    assert_eq!(next(&mut other), next(&mut sampler));
    // More taken than there are items, which no arithmetic may meet.
    let forged: SamplerState = serde_json::from_str(&text.replace("-a-", "-3e9-")).unwrap();
    assert_eq!(forged.consumed(), 1001);
    for bad in ["7", "\"3e8-0-a\"", "[1000, 0, 10, 7]"] {
        assert!(serde_json::from_str::<SamplerState>(bad).is_err(), "{bad}");
    }
    assert_eq!(other.resume(&forged), Err(Error::Saved(SavedError::Foreign)));
}

#[test]
fn builder_reports_what_is_wrong_with_its_parameters() {
    let of = |len, rank, ranks, batch| {
        Sampler::builder(len, 1).rank(rank, ranks).batch(batch).build().map(drop)
    };
    assert_eq!(of(0, 0, 1, 1), Err(Error::View(ViewError::NoItems)));
    let size = |batch, ranks| Err(Error::View(ViewError::BatchSizeOutOfRange { batch, ranks }));
    assert_eq!(of(1, 0, 0, 1), Err(Error::NoSuchRank { rank: 0, ranks: 0 }));
    assert_eq!(of(1, 3, 3, 1), Err(Error::NoSuchRank { rank: 3, ranks: 3 }));
    assert_eq!(of(1, 0, 1, 0), size(0, 1));
    let (ranks, batch) = (1 << 32, 1 << 32);
    assert_eq!(of(1, 0, ranks, batch), size(batch, ranks));
    assert_eq!(of(1, 0, ranks, batch - 1), Ok(()));
    let error = Sampler::builder(10, 1).blocks(0, 5).build().unwrap_err();
    assert_eq!(error, Error::Bijection(BijectionError::EmptyBlock { block: 0, window: 5 }));
    let narrow = Sampler::builder(10, 1).order(|_, seed| Ok(Lcg::from_seed(8, seed)));
    assert_eq!(narrow.build().unwrap_err(), Error::LengthExceedsDomain { len: 10, last: 7 });
}

#[test]
fn the_largest_numbers_do_not_overflow() {
    let most = u64::MAX;
    // A single step of everything, by as many ranks as there are items.
    for (tail, rank) in TAILS.into_iter().flat_map(|tail| [0, 1, most - 1].map(|rank| (tail, rank)))
    {
        let builder = Sampler::builder(most, 1).rank(rank, most).tail(tail);
        let mut sampler = builder.build().unwrap();
        assert_eq!(sampler.steps(), 1);
        let item = Permutation::walk(most, 1).get(rank).unwrap();
        assert_eq!(next(&mut sampler), Some(vec![item]));
        assert_eq!((sampler.consumed(), sampler.steps_remaining()), (most, 0));
        assert_eq!(next(&mut sampler), None);
    }
    // More ranks than items, by far.
    for (tail, own) in [(Tail::Short, vec![]), (Tail::Pad, vec![0]), (Tail::Fill, vec![0; 3])] {
        let builder = Sampler::builder(1, 1).rank(most / 3 - 1, most / 3).batch(3).tail(tail);
        let mut sampler = builder.build().unwrap();
        assert_eq!(next(&mut sampler), Some(own));
        assert_eq!(sampler.consumed(), 1);
    }
    // The middle of a large epoch, and the epochs' end.
    let mut sampler = Sampler::builder(most, 1).rank(2, 3).batch(100).build().unwrap();
    sampler.set_epoch(most).unwrap();
    next(&mut sampler);
    let order = Permutation::walk(most, Seed::new(1).with_epoch(most));
    assert!(
        order.range(300..600).unwrap().shard_strided(2, 3).unwrap().eq(next(&mut sampler).unwrap())
    );
    let before = sampler.state();
    assert_eq!(sampler.next_epoch(), Err(Error::View(ViewError::LastEpoch)));
    assert_eq!(sampler.state(), before);
    sampler.set_epoch(most - 1).unwrap();
    sampler.next_epoch().unwrap();
    assert_eq!(sampler.epoch(), most);
    // What no memory holds.
    let mut sampler = Sampler::builder(10, 1).batch(most).tail(Tail::Fill).build().unwrap();
    let mut batch = vec![1];
    assert!(matches!(sampler.next_batch(&mut batch), Err(Error::OutOfMemory { .. })));
    assert_eq!((batch.len(), sampler.consumed()), (0, 0));
}

#[test]
fn orders_are_those_of_the_permutations() {
    let whole = |builder: SamplerBuilder, epoch| {
        let mut sampler = builder.batch(5000).build().unwrap();
        sampler.set_epoch(epoch).unwrap();
        next(&mut sampler).unwrap()
    };
    let long = [7; 32];
    let seed = Seed::from_bytes(long);
    assert_eq!(
        whole(Sampler::builder(5000, seed.with_epoch(9)), 3),
        Permutation::walk(5000, seed.with_epoch(3)).to_vec()
    );
    assert!(whole(Sampler::builder(5000, long).sequential(), 3).into_iter().eq(0..5000));
    let blocks = BlockShuffle::new(5000, 64, 5, seed.with_epoch(3)).unwrap();
    let blocks = Permutation::from_bijection(5000, blocks).unwrap().to_vec();
    assert_eq!(whole(Sampler::builder(5000, long).blocks(64, 5), 3), blocks);
    // A compacted permutation, which brings its index along.
    let compacted = Sampler::builder(5000, long).order(|len, seed| Ok(Permutation::new(len, seed)));
    assert_eq!(whole(compacted, 3), Permutation::new(5000, seed.with_epoch(3)).to_vec());
}

/// Counts evaluations.
struct Counting(u64, Arc<AtomicU32>);

impl Bijection for Counting {
    fn last(&self) -> u64 {
        self.0
    }
    fn forward(&self, slot: u64) -> u64 {
        self.1.fetch_add(1, Relaxed);
        self.0 - slot
    }
    fn inverse(&self, index: u64) -> u64 {
        self.0 - index
    }
}

#[test]
fn a_rank_evaluates_its_own_places_only() {
    let len = 1_000_000_000_000;
    let count = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&count);
    let builder =
        Sampler::builder(len, 1).order(move |len, _| Ok(Counting(len - 1, counter.clone())));
    let mut sampler = builder.rank(999, 1000).batch(64).build().unwrap();
    assert_eq!(count.load(Relaxed), 0);
    let batch = next(&mut sampler).unwrap();
    assert_eq!(count.load(Relaxed), 64);
    assert!(batch.into_iter().eq((0..64).map(|k| len - 1 - 999 - 1000 * k)));
}

/// Answers what it likes.
struct Liar(fn(u64) -> u64);

impl Bijection for Liar {
    fn last(&self) -> u64 {
        99
    }
    fn forward(&self, slot: u64) -> u64 {
        (self.0)(slot)
    }
    fn inverse(&self, index: u64) -> u64 {
        index
    }
}

#[test]
fn orders_that_lie_are_told_or_do_no_harm() {
    let of = |forward: fn(u64) -> u64| {
        Sampler::builder(100, 1).order(move |_, _| Ok(Liar(forward))).batch(10).build().unwrap()
    };
    let mut batch = Vec::new();
    let mut stray = of(|slot| if slot == 15 { 100 } else { slot });
    assert_eq!(stray.next_batch(&mut batch), Ok(true));
    let index = Error::NotABijection(Defect::OutOfRange {
        method: "forward",
        point: 15,
        value: 100,
        last: 99,
    });
    for _ in 0..2 {
        assert_eq!(stray.next_batch(&mut batch), Err(index.clone()));
        assert!(batch.is_empty());
        assert_eq!(stray.consumed(), 10);
    }
    let error = stray.batches().collect::<Result<Vec<_>, _>>().unwrap_err();
    assert_eq!(error, index);

    let mut panics = of(|slot| if slot < 10 { slot } else { panic!("as it likes") });
    assert_eq!(panics.next_batch(&mut batch), Ok(true));
    let caught = catch_unwind(AssertUnwindSafe(|| panics.next_batch(&mut batch)));
    assert!(caught.is_err());
    assert_eq!((panics.consumed(), panics.steps_remaining()), (10, 9));

    assert_eq!(steps_of(&mut [of(|_| 0)]), vec![vec![vec![0; 10]]; 10]);
}

#[test]
fn an_order_that_cannot_be_drawn_leaves_the_sampler_where_it_was() {
    let error = Error::LengthExceedsDomain { len: 100, last: 8 };
    let draw = |len, seed: Seed| {
        if seed == Seed::new(1).with_epoch(1) {
            Err(Error::LengthExceedsDomain { len: 100, last: 8 })
        } else {
            Ok(Table::from_seed(len, seed))
        }
    };
    let mut sampler = Sampler::builder(100, 1).order(draw).batch(10).build().unwrap();
    next(&mut sampler);
    let state = sampler.state();
    assert_eq!(sampler.next_epoch(), Err(error.clone()));
    assert_eq!(sampler.state_at(1, 0), Err(error.clone()));
    assert_eq!(sampler.state(), state);
    let text = state.to_string().replacen("64-0-", "64-1-", 1);
    assert_eq!(sampler.resume(&text.parse().unwrap()), Err(error.clone()));
    assert_eq!(sampler.state(), state);
    sampler.set_epoch(2).unwrap();
    let table = Table::from_seed(100, Seed::new(1).with_epoch(2));
    assert!((0..10).map(|place| table.forward(place)).eq(next(&mut sampler).unwrap()));
}

#[test]
fn an_epoch_ends_until_another_begins() {
    let mut sampler = Sampler::builder(10, 1).batch(4).tail(Tail::Drop).build().unwrap();
    assert_eq!(sampler.batches().count(), 2);
    assert_eq!(sampler.batches().count(), 0);
    assert_eq!((sampler.consumed(), sampler.steps(), sampler.steps_remaining()), (8, 2, 0));
    // What one drops another may take.
    let mut other = Sampler::builder(10, 1).batch(1).build().unwrap();
    other.resume(&sampler.state()).unwrap();
    assert_eq!(other.steps_remaining(), 2);
    sampler.set_epoch(0).unwrap();
    assert_eq!(sampler.batches().count(), 2);
    // A clone goes its own way.
    sampler.set_epoch(0).unwrap();
    let mut clone = sampler.clone();
    assert_eq!(next(&mut clone), next(&mut sampler));
    next(&mut clone);
    assert_eq!((sampler.consumed(), clone.consumed()), (4, 8));
}

#[test]
fn a_sampler_goes_to_another_thread() {
    fn is_send_and_sync<T: Send + Sync>(_: &T) {}
    let sampler = Sampler::builder(10, 1).blocks(2, 2).build().unwrap();
    is_send_and_sync(&sampler);
    let text = format!("{sampler:?}");
    assert!(text.contains("Custom") && text.contains("consumed: 0"), "{text}");
}
