//! Every shuffle gives the permutation that one process computes.

use core::ops::Range;

use bijective_shuffle::bijection::{GridFeistel, Lcg, VariablePhilox};
use bijective_shuffle::prelude::*;
use bijective_shuffle::rayon::ThreadPoolBuilder;
use bijective_shuffle_mpi::{Plan, Spread};
use mpi::topology::{Color, Communicator, SimpleCommunicator};

use super::shapes::{Numbered, SHAPES, Shape, count, items, ordered, spread};

/// What a permutation does to the numbers of an array's items.
fn order<B: Bijection>(p: &Permutation<B>) -> Vec<u64> {
    let numbers: Vec<u64> = (0..p.len()).collect();
    p.apply(&numbers).unwrap()
}

/// Shuffles an array and undoes it, and compares both with the whole array's order.
fn check<T: Numbered, B: Bijection>(
    plan: &mut Plan<'_, B>,
    places: &[Range<u64>; 2],
    order: &[u64],
) {
    let [before, after] = places;
    let mut array: Vec<T> = items(before.clone());
    plan.shuffle(&mut array).unwrap();
    assert!(array == ordered::<T>(order, after.clone()), "{} items", order.len());
    plan.unshuffle(&mut array).unwrap();
    assert!(array == items::<T>(before.clone()), "{} items", order.len());
}

/// [`check`], for an array of these shapes and items of some sizes, with tags or without.
fn check_shapes<B: Bijection>(
    world: &SimpleCommunicator,
    shapes: [Shape; 2],
    has_tags: bool,
    p: &Permutation<B>,
    order: &[u64],
) {
    let mut spread = spread(world, shapes, p.len()).with_tags(has_tags);
    let rank = spread.rank();
    let places = [spread.before(), spread.after()].map(|division| division.places(rank));
    let mut plan = spread.plan(p).unwrap();
    assert!(plan.write_indexes().unwrap() == ordered::<u64>(order, places[1].clone()));
    check::<u64, B>(&mut plan, &places, order);
    assert!(plan.write_indexes().unwrap() == ordered::<u64>(order, places[1].clone()));
    check::<u8, B>(&mut plan, &places, order);
    if p.len() <= 100_000 {
        check::<u32, B>(&mut plan, &places, order);
        check::<[u64; 3], B>(&mut plan, &places, order);
    }
}

/// [`check_shapes`], for several pairs of shapes.
fn check_permutation<B: Bijection>(world: &SimpleCommunicator, p: &Permutation<B>) {
    let order = order(p);
    for (k, &before) in SHAPES.iter().enumerate() {
        // Long arrays in few shapes.
        if p.len() <= 1000 || k % 3 == 0 {
            // Few items never have tags.
            for has_tags in [false, true].into_iter().take(1 + usize::from(p.len() > 500)) {
                let after = SHAPES[(k + 1) % SHAPES.len()];
                check_shapes(world, [before, before], has_tags, p, &order);
                check_shapes(world, [before, after], has_tags, p, &order);
            }
        }
    }
}

pub(crate) fn every_order(world: &SimpleCommunicator) {
    for len in [0, 1, 2, 100, 1000, 65_537, (1 << 20) + 1] {
        check_permutation(world, &Permutation::new(len, 42));
        // The others are spread by the same code, which takes most of the time.
        if len > 100_000 && std::env::var_os("BIJECTIVE_SHUFFLE_LONG").is_none() {
            continue;
        }
        check_permutation(world, &Permutation::walk(len, 43));
        let philox = VariablePhilox::<24>::from_seed(len, 44);
        check_permutation(world, &Permutation::from_bijection(len, philox).unwrap());
        let grid = GridFeistel::<12>::from_seed(len, 45);
        check_permutation(world, &Permutation::from_bijection(len, grid).unwrap());
    }
}

/// A bijection that is nothing like random overflows the buckets of items with tags.
pub(crate) fn counters(world: &SimpleCommunicator) {
    let counter = Lcg::new(18, 1, 0).unwrap();
    check_permutation(world, &Permutation::from_bijection(200_001, counter).unwrap());
}

pub(crate) fn inverses(world: &SimpleCommunicator) {
    for len in [1, 100, 70_000] {
        check_permutation(world, &Permutation::new(len, 42).inverted());
        check_permutation(world, &Permutation::walk(len, 42).inverted());
        // The first exchange of a plan is the one that undoes.
        let p = Permutation::new(len, 46).inverted();
        let mut spread = spread(world, [SHAPES[4], SHAPES[1]], len);
        let (before, after) = (spread.before().clone(), spread.after().clone());
        let rank = spread.rank();
        let mut array = ordered::<u64>(&order(&p), after.places(rank));
        spread.plan(&p).unwrap().unshuffle(&mut array).unwrap();
        assert_eq!(array, items::<u64>(before.places(rank)));
    }
}

pub(crate) fn item_sizes(world: &SimpleCommunicator) {
    // For as many items there are tags.
    let p = Permutation::new(5000, 42);
    let order = order(&p);
    let mut spread = spread(world, [SHAPES[0], SHAPES[3]], p.len());
    let rank = spread.rank();
    let places = [spread.before(), spread.after()].map(|division| division.places(rank));
    let mut plan = spread.plan(&p).unwrap();
    check::<(), _>(&mut plan, &places, &order);
    check::<u8, _>(&mut plan, &places, &order);
    check::<[u8; 3], _>(&mut plan, &places, &order);
    check::<u32, _>(&mut plan, &places, &order);
    check::<u64, _>(&mut plan, &places, &order);
    check::<[u64; 3], _>(&mut plan, &places, &order);
    // No tags serve larger ones.
    check::<[u64; 9], _>(&mut plan, &places, &order);
}

pub(crate) fn together(world: &SimpleCommunicator) {
    let p = Permutation::new(3001, 42);
    let order = order(&p);
    let mut spread = spread(world, [SHAPES[0], SHAPES[4]], p.len());
    let rank = spread.rank();
    let (before, after) = (spread.before().places(rank), spread.after().places(rank));
    let mut bytes = items::<u8>(before.clone());
    let mut records = items::<[u64; 3]>(before.clone());
    let mut nothing = items::<()>(before.clone());
    let mut plan = spread.plan(&p).unwrap();
    plan.shuffle_together((&mut bytes, &mut records, &mut nothing)).unwrap();
    assert_eq!(bytes, ordered::<u8>(&order, after.clone()));
    assert_eq!(records, ordered::<[u64; 3]>(&order, after.clone()));
    assert_eq!(nothing.len() as u64, after.end - after.start);
    plan.unshuffle_together((&mut records, &mut nothing, &mut bytes)).unwrap();
    assert_eq!(bytes, items::<u8>(before.clone()));
    assert_eq!(records, items::<[u64; 3]>(before.clone()));
    assert_eq!(nothing.len() as u64, before.end - before.start);
}

pub(crate) fn epochs(world: &SimpleCommunicator) {
    let mut spread = spread(world, [SHAPES[0]; 2], 10_007);
    let places = spread.before().places(spread.rank());
    let mut array = items::<u64>(places.clone());
    let mut numbers: Vec<u64> = (0..spread.len()).collect();
    for epoch in 0..4 {
        let p = Permutation::new(spread.len(), Seed::new(7).with_epoch(epoch));
        spread.plan(&p).unwrap().shuffle(&mut array).unwrap();
        numbers = p.apply(&numbers).unwrap();
        assert_eq!(array, ordered::<u64>(&numbers, places.clone()), "epoch {epoch}");
    }
}

pub(crate) fn in_messages(world: &SimpleCommunicator) {
    for (len, limit) in [(0, 1), (1, 1), (60, 0), (1000, 7), (1001, 100), (70_001, 4096)] {
        let p = Permutation::new(len, 42);
        let order = order(&p);
        for shapes in [[SHAPES[0]; 2], [SHAPES[1], SHAPES[4]], [SHAPES[3], SHAPES[2]]] {
            let mut spread = spread(world, shapes, len).with_message_limit(limit);
            let rank = spread.rank();
            let (before, after) = (spread.before().places(rank), spread.after().places(rank));
            let mut plan = spread.plan(&p).unwrap();
            let mut array = items::<[u8; 3]>(before.clone());
            plan.shuffle(&mut array).unwrap();
            assert_eq!(array, ordered::<[u8; 3]>(&order, after));
            plan.unshuffle(&mut array).unwrap();
            assert_eq!(array, items::<[u8; 3]>(before));
        }
    }
}

/// So little memory that there are as many rounds as there can be; and messages of a limited size
/// in each.
pub(crate) fn in_rounds(world: &SimpleCommunicator) {
    for len in [70_001, 500_001] {
        let p = Permutation::new(len, 42);
        for p in [&p, &p.inverted()] {
            let order = order(p);
            for shapes in [[SHAPES[0]; 2], [SHAPES[1], SHAPES[4]], [SHAPES[3], SHAPES[2]]] {
                for messages in [10_000, u64::MAX] {
                    let spread = spread(world, shapes, len).with_memory_limit(0);
                    let mut spread = spread.with_message_limit(messages);
                    let rank = spread.rank();
                    let places =
                        [spread.before(), spread.after()].map(|division| division.places(rank));
                    let mut plan = spread.plan(p).unwrap();
                    check::<u64, _>(&mut plan, &places, &order);
                    check::<[u8; 3], _>(&mut plan, &places, &order);
                }
            }
        }
    }
}

/// Buckets that come in several chunks: also in more than a rank has buckets, and in as many as a
/// memory limit takes.
pub(crate) fn in_chunks(world: &SimpleCommunicator) {
    for len in [150_001, 500_001] {
        let p = Permutation::new(len, 42);
        for p in [&p, &p.inverted()] {
            let order = order(p);
            let first = SHAPES.into_iter().zip(SHAPES.into_iter().cycle().skip(1));
            for shapes in first.map(|(before, after)| [before, after]).chain([[SHAPES[0]; 2]]) {
                for (chunks, memory) in [(2, None), (3, None), (1000, None), (5, Some(1 << 30))] {
                    let mut spread = spread(world, shapes, len).with_chunks(chunks);
                    if let Some(bytes) = memory {
                        spread = spread.with_memory_limit(bytes);
                    }
                    let rank = spread.rank();
                    let places =
                        [spread.before(), spread.after()].map(|division| division.places(rank));
                    let mut plan = spread.plan(p).unwrap();
                    check::<u64, _>(&mut plan, &places, &order);
                    check::<[u8; 3], _>(&mut plan, &places, &order);
                    // Without tags they would have been counted.
                    assert!(plan.times().counts.is_zero());
                }
            }
        }
    }
}

/// Where the calling thread is the only one that computes, it does so while chunks are on their
/// way. It stays one of rayon's threads from then on.
pub(crate) fn on_the_calling_thread(world: &SimpleCommunicator) {
    let pool = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().unwrap();
    assert_eq!(pool.current_thread_index(), Some(0));
    in_chunks(world);
}

pub(crate) fn free_functions(world: &SimpleCommunicator) {
    let p = Permutation::new(777, 42);
    let order = order(&p);
    let spread = spread(world, [SHAPES[4]; 2], p.len());
    let places = spread.before().places(spread.rank());
    let mut array = items::<u64>(places.clone());
    bijective_shuffle_mpi::shuffle(world, &p, &mut array).unwrap();
    assert_eq!(array, ordered::<u64>(&order, places.clone()));
    bijective_shuffle_mpi::unshuffle(world, &p, &mut array).unwrap();
    assert_eq!(array, items::<u64>(places.clone()));
    let mut bytes = items::<u8>(places.clone());
    bijective_shuffle_mpi::shuffle_together(world, &p, (&mut array, &mut bytes)).unwrap();
    assert_eq!(array, ordered::<u64>(&order, places.clone()));
    assert_eq!(bytes, ordered::<u8>(&order, places.clone()));
    bijective_shuffle_mpi::unshuffle_together(world, &p, (&mut array, &mut bytes)).unwrap();
    assert_eq!(array, items::<u64>(places.clone()));
    assert_eq!(bytes, items::<u8>(places));
}

pub(crate) fn other_communicators(world: &SimpleCommunicator) {
    // Two groups, in each of which the ranks are the other way round.
    let color = Color::with_value(world.rank() % 2);
    let half = world.split_by_color_with_key(color, -world.rank()).unwrap();
    let p = Permutation::new(500 + u64::from(world.rank() % 2 == 0), 42);
    let order = order(&p);
    let mut spread = Spread::new(&half, count(&half, SHAPES[0], p.len())).unwrap();
    assert_eq!(spread.rank(), half.rank() as usize);
    let places = spread.before().places(spread.rank());
    let mut array = items::<u32>(places.clone());
    spread.plan(&p).unwrap().shuffle(&mut array).unwrap();
    assert_eq!(array, ordered::<u32>(&order, places));
}

/// Where a rank holds more items than MPI counts. It takes 8 GiB and some minutes, so only two
/// ranks do it, and only if asked.
pub(crate) fn more_than_mpi_counts(world: &SimpleCommunicator) {
    if world.size() != 2 || std::env::var_os("BIJECTIVE_SHUFFLE_LONG").is_none() {
        return;
    }
    let p = Permutation::new((1 << 31) + 7, 42);
    let mut spread = spread(world, [SHAPES[1], SHAPES[0]], p.len());
    let (before, after) = (spread.before().clone(), spread.after().places(spread.rank()));
    let before = before.places(spread.rank());
    let mut plan = spread.plan(&p).unwrap();
    let mut array = items::<u8>(before.clone());
    plan.shuffle(&mut array).unwrap();
    let order = p.range(after).unwrap();
    assert!(order.map(u8::of).eq(array.iter().copied()));
    plan.unshuffle(&mut array).unwrap();
    assert!(before.map(u8::of).eq(array.iter().copied()));
}
