//! A composition is moved by as the one permutation and then the other are, whatever it is made of:
//! in the same order, and without a search for each item.

use std::sync::Arc;

use bijective_shuffle::bijection::{Compose, Inverse, MulXorshift, VariablePhilox};
use bijective_shuffle::prelude::*;

use crate::agreement::{check, in_pools, reference};
use crate::items::{KINDS, Kind, Ledger, SHAPES, Table};
use crate::permutations::{Counting, costs};
use crate::under_test::{Direction, Given, UnderTest, serves};
use crate::{Numbers, Plain, cases, long, short};

/// The order of one permutation and then another.
fn then(first: &[u64], second: &[u64]) -> Vec<u64> {
    second.iter().map(|&place| first[place as usize]).collect()
}

fn inverse_of(order: &[u64]) -> Vec<u64> {
    let mut inverse = vec![0; order.len()];
    (0..).zip(order).for_each(|(place, &index)| inverse[index as usize] = place);
    inverse
}

/// Compositions of all kinds, with their orders: of three permutations, two of which are compacted
/// from more points, and of a walk, which is not.
fn compositions(len: u64, seed: u64) -> Vec<(&'static str, Box<dyn Bijection>, Vec<u64>)> {
    let f = VariablePhilox::<24>::from_seed(2 * len, seed);
    let g = MulXorshift::<10>::from_seed(len, seed + 1);
    let walk = Permutation::walk(len, seed);
    let orders = [
        reference(&f, len as usize),
        reference(&g, len as usize),
        reference(walk.bijection(), len as usize),
    ];
    let [first, second, third] = orders.each_ref().map(|order| &order[..]);
    let p = Permutation::from_bijection(len, f).unwrap();
    let q = Permutation::from_bijection(len, g).unwrap();
    let both = p.then(&q).unwrap();
    let all = both.then(&walk).unwrap();
    let of_both = then(first, second);
    let of_all = then(&of_both, third);
    let plain = Permutation::from_bijection(len, Plain(f)).unwrap();
    let plain = Compose::new(q.clone(), plain).unwrap();
    vec![
        ("both", Box::new(both.bijection().clone()), of_both.clone()),
        ("inverse", Box::new(both.inverted()), inverse_of(&of_both)),
        ("of inverses", Box::new(p.inverted().then(&q.inverted()).unwrap()), {
            then(&inverse_of(first), &inverse_of(second))
        }),
        ("and a walk", Box::new(Arc::new(all.clone())), of_all.clone()),
        ("inverse of three", Box::new(Inverse::new(all.clone())), inverse_of(&of_all)),
        ("after a walk", Box::new(walk.then(&both.inverted()).unwrap()), {
            then(third, &inverse_of(&of_both))
        }),
        ("there and back", Box::new(all.then(&all.inverted()).unwrap()), (0..len).collect()),
        ("one, inverted", Box::new(p.inverted()), inverse_of(first)),
        // Evaluated point by point.
        ("plain", Box::new(plain), of_both),
    ]
}

pub fn compositions_of_every_kind(backend: &mut dyn UnderTest) {
    // The reference searches for each item.
    let most = if backend.has_threads() { 140_001 } else { 1500 };
    let step = if short() { 3 } else { 1 };
    for len in [1, 2, 3, 33, 300, 1024, most].into_iter().step_by(step) {
        for (name, map, order) in compositions(len, len + 3) {
            if name == "plain" && len > 300 {
                // It takes a search for each item, and each search many evaluations.
                continue;
            }
            let kinds = match len {
                33 => KINDS,
                // What is counted takes most of the time.
                _ if len == most && !long() => &[Kind::Word],
                _ => &[Kind::Word, Kind::Counted],
            };
            check(backend, &Given::by(&*map), &order, kinds, &format!("{name} of {len}"));
        }
    }
}

pub fn compositions_of_columns(backend: &mut dyn UnderTest) {
    for (name, map, order) in compositions(1000, 7) {
        let given = Given::by(&*map);
        if !serves(backend, &given, order.len()) {
            continue;
        }
        let in_order: Vec<u64> = (0..order.len() as u64).collect();
        let ledger = Ledger::new(order.len());
        for &shape in SHAPES {
            let table = |order: &[u64]| Table::new(shape, order, &ledger);
            for (direction, from, to) in
                [(Direction::Shuffle, &in_order, &order), (Direction::Unshuffle, &order, &in_order)]
            {
                let mut got = table(from);
                if let Some(done) = backend.together(&given, &mut got, direction) {
                    done.unwrap();
                    assert!(got == table(to), "{name}, {shape:?}, {direction:?}");
                }
            }
        }
    }
}

/// Fewer items than the composition has points: it is compacted again.
pub fn compositions_compacted_again(backend: &mut dyn UnderTest) {
    for (name, map, order) in compositions(300, 8) {
        for len in [1, 100, 299] {
            let order: Vec<u64> = order.iter().copied().filter(|&index| index < len).collect();
            let of_fewer = Permutation::from_bijection(len, &*map).unwrap();
            for map in [&*map, &of_fewer] {
                if map.device_source().is_some() || backend.has_threads() {
                    check(backend, &Given::by(map), &order, &[Kind::Word], name);
                }
            }
        }
    }
}

/// Random compositions of up to six parts, in pools of several numbers of threads.
pub fn random_compositions(backend: &mut dyn UnderTest) {
    let mut numbers = Numbers(6);
    for case in 0..cases(if long() { 200 } else { 20 }) {
        let is_long = case % 10 == 9 && backend.has_threads();
        let len = 1 + numbers.below(if is_long { 100_000 } else { 3000 });
        let mut map: Arc<dyn Bijection> = Arc::new(Permutation::walk(len, 1));
        let mut order = reference(&map, len as usize);
        for _ in 0..1 + numbers.below(5) {
            let p = Permutation::new(len, numbers.next());
            let (p, part) = match numbers.below(2) {
                0 => (p.clone(), p.clone().with_backend(Backend::Cpu).to_vec()),
                _ => (p.inverted(), inverse_of(&p.clone().with_backend(Backend::Cpu).to_vec())),
            };
            let before = Permutation::from_bijection(len, map).unwrap();
            match numbers.below(3) {
                0 => (map, order) = (Arc::new(p.then(&before).unwrap()), then(&part, &order)),
                1 => (map, order) = (Arc::new(before.then(&p).unwrap()), then(&order, &part)),
                _ => {
                    map = Arc::new(before.then(&p).unwrap().inverted());
                    order = inverse_of(&then(&order, &part));
                }
            }
        }
        in_pools(backend, &[[1, 2, 3, 7][case as usize % 4]], |backend| {
            let kinds = [Kind::Word, Kind::Counted];
            check(backend, &Given::by(&map), &order, &kinds, &format!("random {case}"));
        });
    }
}

/// What is searched for is searched for by an index, which a composition has no need to build.
pub fn compositions_search_for_nothing(backend: &mut dyn UnderTest) {
    if !backend.has_threads() {
        return;
    }
    for len in [1000, 150_000] {
        let f = Counting::new(VariablePhilox::<24>::from_seed(len, 5), true);
        if !backend.serves(&Given::by(&f)) {
            return;
        }
        let most = costs(backend, &f, &f, len).into_iter().max().unwrap();
        let p = Permutation::from_bijection(len, &f).unwrap();
        let walk = Permutation::walk(len, 1);
        let all = p.then(&walk).unwrap().then(&p.inverted()).unwrap().then(&p).unwrap();
        for map in [&all as &dyn Bijection, all.bijection(), &all.inverted()] {
            let costs = costs(backend, &f, map, len);
            let bound = 3 * most;
            assert!(costs.iter().all(|&points| points <= bound), "{costs:?}, {bound}, {len}");
        }
        assert!(p.index_bytes().is_none());
    }
}
