//! The same, with items that travel with tags.

use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::collections::HashMap;

use rayon::ThreadPoolBuilder;

use super::{divisions, exchange};
use crate::Error;
use crate::bijection::{Lcg, MulXorshift, VariablePhilox};
use crate::compact::Workspace;
use crate::error::ExchangeError;
use crate::exchange::{
    Blocks, BucketShape, Census, Delivery, Division, Exchange, Message, Sorted, TaggedExchange,
};
use crate::permutation::Permutation;
use crate::{Bijection, FromSeed, Trusted, TrustedBijection};

/// The threads of a rank: the ranks have different numbers of them.
fn threads_of(plan: &TaggedExchange) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(plan.rank % 3 + 1).build().unwrap()
}

/// Messages, by the ranks that send and receive them and the part.
type Wire = HashMap<[usize; 3], Vec<MaybeUninit<u8>>>;

/// What all ranks send in a step.
fn messages<T: Copy + Send + Sync>(deliveries: &mut [Delivery<T>], step: usize) -> Wire {
    let mut wire = HashMap::new();
    for (sender, delivery) in deliveries.iter_mut().enumerate() {
        for Message { rank, part, bytes } in delivery.step(step).0.sent() {
            assert!(rank != sender && !bytes.is_empty());
            assert_eq!(bytes.len() % Blocks::BLOCK_BYTES, 0);
            let before = wire.insert([sender, rank, part], bytes.to_vec());
            assert!(before.is_none(), "one message of a part");
        }
    }
    wire
}

/// Makes a tagged exchange, and returns what each rank holds afterwards, one after the other.
/// `None` if a rank's buckets overflow.
fn tagged<T: Copy + Send + Sync + Default>(
    plans: &[TaggedExchange],
    items: &[T],
    chunks: usize,
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
    let bytes = |plan: &TaggedExchange| {
        threads_of(plan).install(|| plan.working_bytes::<T>(&shapes, chunks))
    };
    let bytes: Vec<u64> = plans.iter().map(bytes).collect();
    let deliveries = plans.iter().zip(sorted).map(|(plan, sorted)| {
        threads_of(plan).install(|| sorted.deliver(&totals, &shapes, chunks))
    });
    let mut deliveries = deliveries.collect::<Result<Vec<_>, _>>()?;
    let held = |plan: &TaggedExchange| plan.target_places().end - plan.target_places().start;
    let mut shards: Vec<_> =
        plans.iter().map(|plan| vec![T::default(); held(plan) as usize]).collect();
    for step in 0..deliveries[0].steps() {
        let mut wire = messages(&mut deliveries, step);
        for (receiver, (delivery, shard)) in deliveries.iter_mut().zip(&mut shards).enumerate() {
            let (blocks, arrived) = delivery.step(step);
            // One half of the messages comes before the chunk before it is placed.
            let mut rooms = blocks.received();
            let mut arrive = |room: Message<&mut [_]>| {
                let sent = wire.remove(&[room.rank, receiver, room.part]).expect("it was sent");
                room.bytes.copy_from_slice(&sent);
            };
            rooms.by_ref().take(plans.len() / 2).for_each(&mut arrive);
            // SAFETY: all that was sent in the step before has been received.
            threads_of(&plans[receiver]).install(|| unsafe { arrived.place(shard) })?;
            rooms.for_each(arrive);
        }
        assert!(wire.is_empty(), "all that was sent is received");
    }
    drop(deliveries);
    // What was said to be needed was, or a little less.
    for (workspace, bytes) in workspaces.iter().zip(bytes) {
        assert!(workspace.bytes() as u64 <= bytes, "{} and not {bytes}", workspace.bytes());
    }
    Ok(Some(shards.concat()))
}

/// Shuffles and un-shuffles between divisions with tags.
fn check_tagged<B: Bijection + Clone>(p: &Permutation<B>, from: &Division, to: &Division) {
    let items: Vec<(u64, u8)> = (0..p.len()).map(|k| (k * 3 + 1, k as u8)).collect();
    let shuffled: Vec<_> = p.to_vec().into_iter().map(|index| items[index as usize]).collect();
    let census = Census::new(p).unwrap();
    let inverse = p.inverted();
    let plans = |p, census, undo, from, to: _| {
        let plan = |rank| match undo {
            false => TaggedExchange::shuffle(p, census, from, to, rank),
            true => TaggedExchange::unshuffle(p, census, from, to, rank),
        };
        (0..Division::ranks(from)).map(plan).collect::<Result<Vec<_>, _>>().unwrap()
    };
    for chunks in [1, 3, usize::MAX] {
        let moved = |plans: &[_], items: &_| tagged(plans, items, chunks).unwrap().unwrap();
        let forward = plans(p, None, false, from, to);
        assert!(forward.iter().all(TaggedExchange::serves::<(u64, u8)>));
        assert_eq!(moved(&forward, &items), shuffled);
        assert_eq!(moved(&plans(&inverse, None, true, from, to), &items), shuffled);
        let census = Some(&census);
        assert_eq!(moved(&plans(p, census, true, to, from), &shuffled), items);
        assert_eq!(moved(&plans(&inverse, census, false, to, from), &shuffled), items);
    }
}

#[test]
fn items_with_tags_go_where_they_go_without() {
    for (len, ranks) in [(1024, 1), (65_536, 3), (70_001, 5), (100_001, 8)] {
        let [even, one, odd] = divisions(len, ranks);
        for (from, to) in [(&even, &even), (&odd, &even), (&even, &one), (&one, &odd)] {
            check_tagged(&Permutation::new(len, 42), from, to);
            // Each item of these takes many evaluations.
            if len < 100_000 && ranks > 1 {
                check_tagged(&Permutation::walk(len, 42), from, to);
                let philox = VariablePhilox::<24>::from_seed(len, 42);
                check_tagged(&Permutation::from_bijection(len, philox).unwrap(), from, to);
            }
        }
    }
}

/// All ranks report what tags do not serve. Only the ranks whose buckets overflow report that.
#[test]
fn tags_are_for_many_items_of_random_order() {
    let division = Division::even(10_000, 40);
    let p = Permutation::new(10_000, 42);
    let plan = TaggedExchange::shuffle(&p, None, &division, &division, 0).unwrap();
    assert!(!plan.serves::<u64>());
    assert_eq!(plan.shape::<u64>(), None);
    let error = TaggedExchange::unshuffle(&p, None, &division, &division, 0).unwrap_err();
    assert_eq!(error, Error::Exchange(ExchangeError::CensusMismatch));

    let len = 1 << 18;
    let counter = Lcg::new(18, 1, 0).unwrap();
    let p = Permutation::from_bijection(len, counter).unwrap();
    let even = Division::even(len, 2);
    let plans: Vec<_> =
        (0..2).map(|rank| TaggedExchange::shuffle(&p, None, &even, &even, rank).unwrap()).collect();
    assert!(plans[0].serves::<u64>() && !plans[0].serves::<()>() && !plans[0].serves::<[u8; 65]>());
    assert_eq!(tagged(&plans, &vec![0_u8; len as usize], 1).unwrap(), None);
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
            shapes[1..].fill(BucketShape { parts: 0, blocks: 2 });
            let mut delivery = sorted.deliver(&totals, &shapes, 2).unwrap();
            for step in 0..3 {
                let (_, arrived) = delivery.step(step);
                // SAFETY: no other rank has a part, so nothing is received.
                let placed = unsafe { arrived.place(&mut vec![0; len]) };
                let (expected, actual) = (held as u64, len as u64);
                assert_eq!(placed, Err(Error::LengthMismatch { expected, actual }));
            }
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
    let mut delivery = sorted.deliver(&totals, &shapes, 1).unwrap();
    let (_, arrived) = delivery.step(1);
    // SAFETY: nothing is received, since there is no other rank.
    let placed = unsafe { arrived.place(&mut items.clone()) };
    assert_eq!(placed, Err(Error::Exchange(ExchangeError::ItemsMismatch)));

    let sorted = plan.sort(&mut workspace, &items).unwrap().unwrap();
    let too_many = vec![len; totals.len()];
    let error = sorted.deliver(&too_many, &shapes, 1).map(drop).unwrap_err();
    assert_eq!(error, Error::Exchange(ExchangeError::ItemsMismatch));
    let sorted = plan.sort(&mut workspace, &items).unwrap().unwrap();
    let error =
        sorted.deliver(&totals, &[BucketShape { parts: 1, blocks: 7 }], 1).map(drop).unwrap_err();
    assert_eq!(error, Error::Exchange(ExchangeError::ItemsMismatch));
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
        let shapes = [sorted.shape(), BucketShape { parts: 1, blocks: stride }];
        let error = sorted.deliver(&totals, &shapes, 1).map(drop).unwrap_err();
        assert_eq!(error, Error::Exchange(ExchangeError::ItemsMismatch));
    }
}

/// A bijection whose trusted form may have another domain whenever it is asked for.
struct Changing {
    own: MulXorshift<10>,
    /// What vouches after the first time, if anything does.
    later: Option<MulXorshift<10>>,
    asked: AtomicU32,
}

impl Changing {
    /// One that has vouched this number of times.
    fn new(bits: u32, later: Option<u32>, asked: u32) -> Self {
        let of_bits = |bits: u32| MulXorshift::<10>::from_seed(1 << bits, 42);
        Self { own: of_bits(bits), later: later.map(of_bits), asked: AtomicU32::new(asked) }
    }
}

impl Bijection for Changing {
    fn last(&self) -> u64 {
        self.own.last()
    }

    fn forward(&self, slot: u64) -> u64 {
        self.own.forward(slot)
    }

    fn inverse(&self, index: u64) -> u64 {
        self.own.inverse(index)
    }

    fn trusted(&self) -> Option<Trusted<'_>> {
        match self.asked.fetch_add(1, Relaxed) {
            0 => self.own.trusted(),
            _ => self.later.as_ref()?.trusted(),
        }
    }
}

/// A plan asks for the trusted form once, and has the domain and the values from that alone.
#[test]
fn a_plan_keeps_the_form_that_it_was_made_with() {
    let (len, items) = (200_000, (0..200_000).collect::<Vec<u32>>());
    let all = Division::even(len, 1);
    let own = Permutation::from_bijection(len, Changing::new(18, None, 1)).unwrap();
    let census = Census::new(&own).unwrap();
    let mut workspace = Workspace::new();
    for later in [Some(20), Some(17), None] {
        let of = |asked| Permutation::from_bijection(len, Changing::new(18, later, asked)).unwrap();
        for is_back in [false, true] {
            let new = if is_back { TaggedExchange::unshuffle } else { TaggedExchange::shuffle };
            let p = of(0);
            let plan = new(&p, Some(&census), &all, &all, 0).unwrap();
            assert!(plan.serves::<u32>());
            assert!(plan.sort(&mut workspace, &items).unwrap().is_some());
            let p = of(0);
            let settings = Exchange::builder(&p, &census, &all, 0);
            let plan = if is_back { settings.unshuffle() } else { settings.shuffle() }.unwrap();
            assert!(plan.is_trusted());
            let expected = if is_back { own.unapply(&items) } else { own.apply(&items) };
            assert_eq!(exchange(&[plan], &items).unwrap(), expected.unwrap());
        }
        // If it is another one from the start, its domain is the one that counts.
        let p = of(1);
        let plan = TaggedExchange::shuffle(&p, None, &all, &all, 0);
        match later {
            Some(17) => {
                let error = Error::LengthExceedsDomain { len, last: (1 << 17) - 1 };
                assert_eq!(plan.unwrap_err(), error);
                assert_eq!(Census::new(&p).unwrap_err(), error);
            }
            _ => assert_eq!(plan.unwrap().serves::<u32>(), later.is_some()),
        }
    }
}

/// What a bijection's own methods do does not matter, if another one is its trusted form: these do
/// not even return.
#[test]
fn only_the_trusted_form_is_evaluated() {
    struct Silent(MulXorshift<10>);

    impl Bijection for Silent {
        fn last(&self) -> u64 {
            self.0.last()
        }

        fn forward(&self, _: u64) -> u64 {
            panic!("the trusted form is there")
        }

        fn inverse(&self, _: u64) -> u64 {
            panic!("the trusted form is there")
        }

        fn trusted(&self) -> Option<Trusted<'_>> {
            self.0.trusted()
        }
    }

    let items: Vec<u32> = (0..3000).collect();
    let inner = || MulXorshift::<10>::from_seed(3000, 42);
    let p = Permutation::from_bijection(3000, Silent(inner())).unwrap();
    let expected = Permutation::from_bijection(3000, inner()).unwrap().apply(&items).unwrap();
    let (census, division) = (Census::new(&p).unwrap(), Division::even(3000, 3));
    for most in [u64::MAX, 200] {
        let plan = |rank| {
            Exchange::builder(&p, &census, &division, rank).in_rounds_of(most).shuffle().unwrap()
        };
        let plans: Vec<_> = (0..3).map(plan).collect();
        assert!(plans.iter().all(Exchange::is_trusted));
        assert_eq!(exchange(&plans, &items).unwrap(), expected);
        let plan = |rank| {
            Exchange::builder(&p, &census, &division, rank).in_rounds_of(most).unshuffle().unwrap()
        };
        let plans: Vec<_> = (0..3).map(plan).collect();
        assert_eq!(exchange(&plans, &expected).unwrap(), items);
    }
}

/// Ranks whose bijections differ in two slots send two items of one slot. The rank that receives
/// them finds out when it places their chunk, and only then.
#[test]
fn two_items_of_a_slot_are_found_in_their_chunk() {
    /// A bijection in which two slots have changed their indexes.
    struct Swapped {
        inner: MulXorshift<10>,
        slots: [u64; 2],
    }

    impl Swapped {
        fn slot(&self, slot: u64) -> u64 {
            let [a, b] = self.slots;
            if slot == a {
                b
            } else if slot == b {
                a
            } else {
                slot
            }
        }
    }

    impl Bijection for Swapped {
        fn last(&self) -> u64 {
            self.inner.last()
        }

        fn forward(&self, slot: u64) -> u64 {
            self.inner.forward(self.slot(slot))
        }

        fn inverse(&self, index: u64) -> u64 {
            self.slot(self.inner.inverse(index))
        }

        fn trusted(&self) -> Option<Trusted<'_>> {
            Some(Trusted::new(self))
        }
    }

    // SAFETY: a bijection after an exchange of two slots is one.
    unsafe impl TrustedBijection for Swapped {}

    let len = 900_000;
    let of = |slots| {
        let inner = MulXorshift::<10>::from_seed(len, 42);
        Permutation::from_bijection(len, Swapped { inner, slots }).unwrap()
    };
    let same = of([0, 0]);
    let from = Division::even(len, 2);
    // Of the 16 buckets, rank 1 receives the last nine. The sixth of these is in the third of four
    // chunks.
    let to = Division::from_counts(&[430_000, 470_000]).unwrap();
    let survivor = |slot: u64| (slot..).find(|&slot| same.bijection().forward(slot) < len).unwrap();
    let holder = |slot| usize::from(same.bijection().forward(slot) >= len / 2);
    let b = survivor(12 * (1 << 16) + 7);
    // The other rank holds the item of the other slot, and sends it to this one.
    let a = (100..).map(survivor).find(|&a| holder(a) != holder(b)).unwrap();
    let other = of([a, b]);
    let plan = |rank| {
        let p = if rank == holder(a) { &other } else { &same };
        TaggedExchange::shuffle(p, None, &from, &to, rank).unwrap()
    };
    let plans: Vec<_> = (0..2).map(plan).collect();
    let items: Vec<u64> = (0..len / 2).collect();
    let mut workspaces = [const { Workspace::new() }; 2];
    let sorted = plans.iter().zip(&mut workspaces);
    let sorted: Vec<_> =
        sorted.map(|(plan, workspace)| plan.sort(workspace, &items).unwrap().unwrap()).collect();
    let totals = sorted[0].counts().iter().zip(sorted[1].counts()).map(|(a, b)| a + b);
    let totals: Vec<u64> = totals.collect();
    let shapes: Vec<_> = sorted.iter().map(Sorted::shape).collect();
    let deliveries = sorted.into_iter().map(|sorted| sorted.deliver(&totals, &shapes, 4).unwrap());
    let mut deliveries: Vec<_> = deliveries.collect();
    let mut shards = [vec![0; 430_000], vec![0; 470_000]];
    let mut failures = Vec::new();
    for step in 0..deliveries[0].steps() {
        let wire = messages(&mut deliveries, step);
        for (receiver, delivery) in deliveries.iter_mut().enumerate() {
            let (blocks, arrived) = delivery.step(step);
            for room in blocks.received() {
                room.bytes.copy_from_slice(&wire[&[room.rank, receiver, room.part]]);
            }
            // SAFETY: all that was sent in the step before has been received.
            if let Err(error) = unsafe { arrived.place(&mut shards[receiver]) } {
                failures.push((receiver, step, error));
            }
        }
    }
    let differ = Error::Exchange(ExchangeError::ItemsMismatch);
    // The third chunk is placed in step 3.
    assert_eq!(failures, [(1, 3, differ)]);
}

/// The shapes of all ranks' buckets of items of 8 bytes.
fn shapes(plans: &[TaggedExchange]) -> Vec<BucketShape> {
    plans.iter().map(|plan| plan.shape::<u64>().unwrap()).collect()
}

#[test]
fn all_ranks_choose_the_same_chunks() {
    // With more threads, more items are few enough for a single chunk.
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    pool.install(check_chunks);
}

fn check_chunks() {
    for (len, ranks) in [(150_001, 1), (150_001, 8), (1 << 24, 2), ((1 << 26) + 1, 16)] {
        let p = Permutation::new(len, 42);
        for to in divisions(len, ranks) {
            let from = Division::even(len, ranks);
            let plan = |rank| TaggedExchange::shuffle(&p, None, &from, &to, rank).unwrap();
            let plans: Vec<_> = (0..ranks).map(plan).collect();
            let shapes = shapes(&plans);
            let bytes = |chunks| {
                let needs = plans.iter().map(|plan| plan.working_bytes::<u64>(&shapes, chunks));
                needs.max().unwrap()
            };
            let chunks = |memory| {
                let chosen = plans.iter().map(|plan| plan.chunks::<u64>(&shapes, memory));
                let chosen: Vec<_> = chosen.collect();
                assert!(chosen.iter().all(|&chunks| chunks == chosen[0]), "{chosen:?}");
                chosen[0]
            };
            let usual = chunks(u64::MAX);
            assert_eq!(usual > 1, len > 1 << 20, "{usual} chunks");
            // No more than are needed for the memory, or the most that there can be.
            let (least, most) = (bytes(chunks(0)), bytes(usual));
            assert!(usual == 1 || least < most);
            let memories = [least, least + 1, least.midpoint(most), most - 1, most];
            // A rank that receives nothing needs the same memory whatever comes in chunks.
            for memory in memories.into_iter().filter(|&memory| memory >= least) {
                let needed = chunks(memory);
                assert!(needed >= usual && bytes(needed) <= memory, "{needed} chunks");
                assert!(needed == usual || bytes(needed - 1) > memory, "{needed} chunks");
            }
        }
    }
}

/// Other ranks tell their shapes, and may tell anything.
#[test]
fn shapes_of_any_size_are_added_up() {
    let p = Permutation::new(200_000, 1);
    let even = Division::even(p.len(), 2);
    let plan = TaggedExchange::shuffle(&p, None, &even, &even, 0).unwrap();
    let most = [BucketShape { parts: u64::MAX, blocks: u64::MAX }; 2];
    assert_eq!(plan.working_bytes::<u8>(&most, usize::MAX), u64::MAX);
    assert!(plan.chunks::<u8>(&most, u64::MAX) >= 1);
}

#[test]
#[should_panic(expected = "there are 3 steps")]
fn steps_beyond_the_last_panic() {
    let p = Permutation::new(200_000, 1);
    let all = Division::even(p.len(), 1);
    let plan = TaggedExchange::shuffle(&p, None, &all, &all, 0).unwrap();
    let mut workspace = Workspace::new();
    let sorted = plan.sort(&mut workspace, &vec![1_u8; 200_000]).unwrap().unwrap();
    let (totals, shapes) = (sorted.counts().to_vec(), [sorted.shape()]);
    let mut delivery = sorted.deliver(&totals, &shapes, 2).unwrap();
    assert_eq!(delivery.steps(), 3);
    let _ = delivery.step(3);
}
