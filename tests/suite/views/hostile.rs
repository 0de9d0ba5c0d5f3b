//! Bijections that count what is asked of them, and bijections that lie.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use bijective_shuffle::Error;
use bijective_shuffle::bijection::{CycleWalk, MulXorshift};
use bijective_shuffle::error::Defect;
use bijective_shuffle::iter::Indexes;
use bijective_shuffle::prelude::*;
use bijective_shuffle::rayon::prelude::*;
use bijective_shuffle_laws::liars::{LIES, Lies, WRAPS, wrap};

/// Counts its evaluations.
#[derive(Clone)]
struct Counting(MulXorshift<10>, Arc<AtomicU32>);

impl Bijection for Counting {
    fn last(&self) -> u64 {
        self.0.last()
    }
    fn forward(&self, slot: u64) -> u64 {
        self.1.fetch_add(1, Relaxed);
        self.0.forward(slot)
    }
    fn inverse(&self, index: u64) -> u64 {
        self.1.fetch_add(1, Relaxed);
        self.0.inverse(index)
    }
}

#[test]
fn views_evaluate_no_more_than_they_must() {
    let count = Arc::new(AtomicU32::new(0));
    let taken = || count.swap(0, Relaxed);
    let of = |len: u64, points: u64| {
        let f = Counting(MulXorshift::from_seed(points, 1), count.clone());
        Permutation::from_bijection(len, f).unwrap()
    };
    let full = of(1 << 20, 1 << 20).with_index(64).unwrap();
    assert_eq!((full.index_bytes().is_none(), taken()), (true, 0));
    // Where the slots are listed they are used.
    let sparse = of(1000, 1 << 32);
    sparse.build_index().unwrap();
    assert!(taken() < 1100);
    assert_eq!(sparse.range(500..501).unwrap().next(), sparse.get(500).ok());
    assert_eq!(sparse.iter().next_back(), sparse.get(999).ok());
    assert!(taken() < 2000);
    // Blocks that are longer than a jump do not send an iterator back.
    let long = of((1 << 16) + 1, 1 << 17).with_index(1 << 15).unwrap();
    taken();
    let strided: Vec<u64> = long.iter().shard_strided(0, 5000).unwrap().collect();
    assert!(taken() <= 1 << 17);
    assert!(long.iter().shard_strided(0, 5000).unwrap().rev().eq(strided.into_iter().rev()));
    assert!(taken() <= 1 << 17);
    // A cursor knows where it is.
    let p = of((1 << 16) + 1, 1 << 17);
    let text = p.shard(7, 8).unwrap().cursor().to_string();
    let fresh = of((1 << 16) + 1, 1 << 17);
    taken();
    fresh.resume(&text.parse().unwrap()).unwrap().next();
    assert!(taken() < 3000);
}

/// Answers what it likes; nothing worse than wrong answers and panics may come of it.
#[derive(Clone)]
struct Liar {
    last: u64,
    forward: fn(u64) -> u64,
    inverse: fn(u64) -> u64,
}

impl Bijection for Liar {
    fn last(&self) -> u64 {
        self.last
    }
    fn forward(&self, slot: u64) -> u64 {
        (self.forward)(slot)
    }
    fn inverse(&self, index: u64) -> u64 {
        (self.inverse)(index)
    }
}

/// Checks that an iterator returns `left` indexes, all below the length, or panics. Returns the
/// text of its panic.
fn all_or_panic<I: IntoIterator<Item = u64>>(
    left: u64,
    len: u64,
    iterator: impl FnOnce() -> I,
) -> Option<String> {
    let all = catch_unwind(AssertUnwindSafe(|| iterator().into_iter().collect::<Vec<_>>()));
    match all {
        Ok(all) => {
            assert_eq!(all.len() as u64, left);
            assert!(all.iter().all(|&index| index < len), "{all:?}");
            None
        }
        Err(panic) => Some(match panic.downcast_ref::<&str>() {
            Some(text) => text.to_string(),
            None => panic.downcast_ref::<String>().cloned().unwrap_or_default(),
        }),
    }
}

/// Checks every iterator over a permutation, whatever its bijection does, and returns the texts of
/// their panics.
fn check_iterators<B: Bijection + Clone>(p: &Permutation<B>) -> Vec<String> {
    let (len, mut panics) = (p.len(), Vec::new());
    for p in [p.clone(), p.inverted()] {
        panics.extend(all_or_panic(len, len, || p.iter()));
        panics.extend(all_or_panic(len, len, || p.iter().rev()));
        panics.extend(all_or_panic(len, len, || p.clone().into_iter()));
        panics.extend(all_or_panic(len, len, || p.par_iter().collect::<Vec<_>>()));
        panics.extend(all_or_panic(len, len, || p.par_iter().rev().collect::<Vec<_>>()));
        panics.extend(all_or_panic(len, len, || {
            let mut iter = p.iter();
            // One by one, in turn from both ends.
            let ends: [fn(&mut Indexes<_, _>) -> _; 2] = [Iterator::next, |i| i.next_back()];
            ends.into_iter().cycle().map_while(move |end| end(&mut iter)).collect::<Vec<u64>>()
        }));
        panics.extend(all_or_panic(1, len, || p.iter().last()));
        panics.extend(all_or_panic(1, len, || p.iter().nth(len as usize - 1)));
        let (half, third) = (len / 2, len.div_ceil(3));
        panics.extend(all_or_panic(len - half, len, || p.shard(1, 2).expect("an index")));
        panics.extend(all_or_panic(half, len, || p.range(..half).expect("an index")));
        panics.extend(all_or_panic(1, len, || p.range(len - 1..).expect("an index")));
        panics.extend(all_or_panic(third, len, || p.iter().shard_strided(0, 3).unwrap()));
        panics.extend(all_or_panic(third, len, || p.iter().shard_strided(0, 3).unwrap().rev()));
        panics.extend(all_or_panic(len - half, len, || {
            let mut iter = p.iter();
            iter.nth(half as usize - 1);
            p.resume(&iter.cursor()).expect("the same values")
        }));
        let sample = catch_unwind(AssertUnwindSafe(|| {
            let items: Vec<u64> = (0..len).collect();
            p.sample(&items, half as usize)
        }));
        assert!(!matches!(sample, Ok(Ok(sample)) if sample.len() as u64 != half));
    }
    panics
}

#[test]
fn iterators_over_every_lie_return_all_indexes_or_panic() {
    for (&kind, seed) in LIES.iter().zip(0..) {
        for &how in WRAPS {
            for len in [37, 64] {
                let f = Lies::new(kind, 6, 11, seed);
                let Ok(map) = wrap(&f, how, len) else { continue };
                let len = len.min(map.last().saturating_add(1));
                if let Ok(p) = Permutation::from_bijection(len, &*map) {
                    let panics = check_iterators(&p);
                    assert!(panics.is_empty() || !kind.is_right(), "{kind:?}, {how:?}: {panics:?}");
                    // What is found out, what is asked of the iterators, and what the lie says.
                    let reasons = [
                        "the map is not a bijection: ",
                        "an index: NotABijection(",
                        "the same values: Saved(Foreign",
                        "as it should",
                    ];
                    let is_said =
                        |text: &String| reasons.iter().any(|start| text.starts_with(start));
                    assert!(panics.iter().all(is_said), "{kind:?}, {how:?}: {panics:?}");
                }
            }
        }
    }
}

#[test]
fn iterators_say_why_they_panic() {
    let inverse = |x| x;
    let of = |len, forward| {
        Permutation::from_bijection(len, Liar { last: len, forward, inverse }).unwrap()
    };
    let nine = of(10, |x| if x == 5 { 110 } else { x });
    let count = "the map is not a bijection: 9 slots have values below the length 10, and the \
                 numbers must be equal: `bijection::verify` finds the wrong slots";
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(all_or_panic(10, 10, || nine.iter()), text(count));
    assert_eq!(all_or_panic(10, 10, || nine.iter().rev()), text(count));
    assert_eq!(all_or_panic(5, 10, || nine.shard(1, 2).unwrap()), text(count));
    assert_eq!(all_or_panic(2, 10, || nine.range(8..10).unwrap()), text(count));
    assert_eq!(all_or_panic(1, 10, || nine.iter().nth(9)), text(count));
    assert!(catch_unwind(AssertUnwindSafe(|| nine.iter().count())).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| nine.par_iter().count())).is_err());
    let error = nine.sample(&[(); 10], 10).unwrap_err();
    assert_eq!(Some(error.to_string()), text(count));
    // After a panic it goes on refusing.
    let mut iter = nine.iter();
    assert_eq!(iter.nth(8), Some(9));
    for _ in 0..2 {
        assert!(catch_unwind(AssertUnwindSafe(|| iter.next())).is_err());
        assert_eq!(iter.remaining(), 1);
    }

    let eleven = of(10, |x| x / 2);
    assert_eq!(all_or_panic(10, 10, || eleven.iter()), None);
    let count = count.replace("9 slots", "11 or more slots");
    assert_eq!(all_or_panic(10, 10, || eleven.iter().rev()), text(&count));

    let stray = Liar { last: 9, forward: |x| if x == 7 { 110 } else { x }, inverse };
    let stray = Permutation::from_bijection(10, stray).unwrap();
    let beyond = "the map is not a bijection: `forward` gives 110 at point 7, but the largest value \
                  allowed is 9";
    assert_eq!(all_or_panic(10, 10, || stray.iter()), text(beyond));
    assert_eq!(all_or_panic(10, 10, || stray.iter().rev()), text(beyond));
    assert_eq!(all_or_panic(7, 10, || stray.range(..7).unwrap()), None);
}

#[test]
fn liars_do_no_harm() {
    let identity = |x| x;
    let constant = Liar { last: 1023, forward: |_| 0, inverse: |_| 0 };
    let stray = Liar { last: 1023, forward: |_| u64::MAX, inverse: |_| u64::MAX };
    let few = Liar { last: 1023, forward: |x| x / 2, inverse: identity };
    for liar in [constant, stray, few] {
        let p = Permutation::from_bijection(1000, liar.clone()).unwrap();
        let error = p.build_index().unwrap_err();
        assert!(matches!(error, Error::NotABijection(Defect::Survivors { expected: 1000, .. })));
        assert_eq!(p.get(500), Err(error));
        check_iterators(&p);
        let full = Permutation::from_bijection(1024, liar).unwrap();
        check_iterators(&full);
        let then = full.then(&full).unwrap();
        assert!(matches!(then.try_to_vec(), Err(Error::NotABijection(_))));
    }
    // As many survivors as there must be, and the inverse leads nowhere.
    let lost = Liar { last: 1023, forward: identity, inverse: |_| u64::MAX };
    let p = Permutation::from_bijection(1000, lost).unwrap();
    assert_eq!(p.get(5).unwrap(), 5);
    assert!(matches!(p.position(5), Err(Error::NotABijection(Defect::OutOfRange { .. }))));
    assert!(p.trusted().is_none());
}

/// A bijection whose domain changes, and whose values may be any number; it counts them.
#[derive(Clone)]
struct Fickle {
    /// Not atomic: not every processor has such integers of 64 bits.
    last: Arc<Mutex<u64>>,
    value: Option<u64>,
    count: Arc<AtomicU32>,
}

impl Fickle {
    fn new(last: u64, value: Option<u64>) -> Self {
        Self { last: Arc::new(Mutex::new(last)), value, count: Arc::default() }
    }

    fn set_last(&self, last: u64) {
        *self.last.lock().unwrap() = last;
    }
}

impl Bijection for Fickle {
    fn last(&self) -> u64 {
        *self.last.lock().unwrap()
    }
    fn forward(&self, slot: u64) -> u64 {
        self.count.fetch_add(1, Relaxed);
        self.value.unwrap_or(slot)
    }
    fn inverse(&self, index: u64) -> u64 {
        self.count.fetch_add(1, Relaxed);
        self.value.unwrap_or(index)
    }
}

#[test]
fn a_walk_along_a_bijection_that_shrinks_ends() {
    let f = Fickle::new(1023, Some(5000));
    let walk = CycleWalk::new(f.clone(), 1000).unwrap();
    // One step, and as many more as there are points outside.
    assert_eq!((walk.forward(3), f.count.swap(0, Relaxed)), (5000, 1 + 24));
    f.set_last(10);
    assert_eq!((walk.forward(3), f.count.swap(0, Relaxed)), (5000, 1));
    assert_eq!((walk.inverse(3), f.count.swap(0, Relaxed)), (5000, 1));
    let mut values = [7; 300];
    walk.forward_run(0, &mut values);
    walk.inverse_run(0, &mut values);
    walk.forward_each(&mut values);
    walk.inverse_each(&mut values);
    assert_eq!((values, f.count.load(Relaxed)), ([5000; 300], 1200));
    assert!(walk.trusted().is_none());
}

#[test]
fn views_of_a_bijection_whose_domain_changes_do_no_harm() {
    for value in [None, Some(0), Some(1 << 39), Some(u64::MAX)] {
        for (len, indexed) in [(1000, true), (1000, false), (100_000, true)] {
            for last in [0, 10, len - 1, len, (1 << 20) - 1, 1 << 40] {
                let f = Fickle::new(len + 23, None);
                let p = Permutation::from_bijection(len, f.clone()).unwrap();
                if indexed {
                    p.build_index().unwrap();
                }
                let mut iter = p.iter();
                assert_eq!((iter.next(), iter.next_back()), (Some(0), Some(len - 1)));
                let p = Permutation::from_bijection(len, Fickle { value, ..f.clone() }).unwrap();
                if indexed {
                    let built = p.build_index();
                    assert_eq!(built.is_ok(), value.is_none());
                }
                f.set_last(last);
                for k in [0, 1, len / 2, len - 1] {
                    let (_, _) = (p.get(k), p.position(k));
                }
                let back = p.inverted();
                let (_, _) = (back.get(5), back.position(5));
                // The first thousand, since the domain may be large by now.
                all_or_panic((len - 2).min(1000), len, || iter.by_ref().take(1000));
                let cursor = iter.cursor();
                let left = iter.remaining();
                if let Ok(iter) = p.resume(&cursor) {
                    all_or_panic(left.min(1000), len, || iter.take(1000));
                }
            }
        }
    }
}

/// Slots and places are counted in more than 64 bits.
#[test]
fn one_item_of_all_points_is_found() {
    let f = MulXorshift::<10>::from_seed(u64::MAX, 3);
    assert_eq!(f.last(), u64::MAX);
    let p = Permutation::from_bijection(1, f).unwrap();
    assert_eq!((p.get(0), p.position(0), p.get(1).is_err()), (Ok(0), Ok(0), true));
    assert_eq!(p.range(..).unwrap().next(), Some(0));
    assert_eq!(p.shard(0, 1).unwrap().next_back(), Some(0));
    assert_eq!(p.par_iter().sum::<u64>(), 0);
    for len in [2, 3, 64] {
        let p = Permutation::from_bijection(len, f).unwrap();
        let mut all: Vec<u64> = p.range(..).unwrap().collect();
        assert!((0..len).all(|k| p.get(k).unwrap() == all[k as usize]));
        all.sort_unstable();
        assert!(all.into_iter().eq(0..len));
    }
}
