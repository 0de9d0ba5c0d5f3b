//! Iterators that own their permutation or share it, samples, and what a permutation knows of its
//! seed.

use std::sync::Arc;
use std::thread;

use bijective_shuffle::Error;
use bijective_shuffle::bijection::{CycleWalk, MulXorshift, Standard};
use bijective_shuffle::error::SavedError;
use bijective_shuffle::iter::{Indexes, IntoIter};
use bijective_shuffle::prelude::*;

#[test]
fn owned_iterators_are_the_borrowed_ones() {
    for len in [0, 1, 100, 1000, 1024, 70_001] {
        let p = Permutation::new(len, 7);
        let expected = p.to_vec();
        assert!(p.clone().into_iter().eq(expected.iter().copied()));
        assert!(p.clone().into_iter().rev().eq(expected.iter().rev().copied()));
        let shared = Arc::new(p);
        let mut all = Vec::new();
        for rank in 0..3 {
            let indexes = Indexes::over(Arc::clone(&shared)).shard(rank, 3).unwrap();
            all.push(thread::spawn(move || indexes.collect::<Vec<_>>()));
        }
        let all: Vec<u64> = all.into_iter().flat_map(|part| part.join().unwrap()).collect();
        assert_eq!(all, expected);
        let inverse = Arc::new(shared.inverted());
        assert!(Indexes::over(Arc::clone(&inverse)).eq(inverse.iter()));
    }
}

#[test]
fn owned_iterators_are_saved_and_resumed_anywhere() {
    struct Loader {
        indexes: IntoIter,
    }
    let p = Permutation::new(70_001, 7);
    let expected = p.to_vec();
    let mut loader = Loader { indexes: p.clone().into_iter().shard_strided(1, 3).unwrap() };
    let taken: Vec<u64> = loader.indexes.by_ref().take(5000).collect();
    let cursor = loader.indexes.cursor();
    assert!(taken.iter().eq(expected.iter().skip(1).step_by(3).take(5000)));
    let rest: Vec<u64> = loader.indexes.clone().collect();
    assert!(rest.iter().eq(expected.iter().skip(1).step_by(3).skip(5000)));
    assert!(p.resume(&cursor).unwrap().eq(rest.iter().copied()));
    assert!(Indexes::resume(Arc::new(p.clone()), &cursor).unwrap().eq(rest));
    let other = Indexes::resume(Permutation::new(70_001, 8), &cursor);
    assert_eq!(other.unwrap_err(), Error::Saved(SavedError::Foreign));
}

/// So few indexes that Miri can watch them.
#[test]
fn short_form_cursors_go_on_where_they_stopped() {
    let p = Permutation::new(40, 7);
    let expected = p.to_vec();
    let mut shard = p.clone().into_iter().shard_strided(1, 3).unwrap();
    let mine = || expected.iter().skip(1).step_by(3).copied();
    assert!(shard.by_ref().take(5).eq(mine().take(5)));
    let cursor = shard.cursor().to_string().parse().unwrap();
    assert!(p.resume(&cursor).unwrap().eq(mine().skip(5)));
    assert!(shard.eq(mine().skip(5)));
}

#[test]
fn an_iterator_that_owns_a_walk_has_a_name() {
    let walk = Permutation::walk(1000, 3);
    let indexes: IntoIter<CycleWalk<Standard>> = walk.clone().into_iter();
    assert!(indexes.eq(walk.to_vec()));
}

#[test]
fn samples_are_the_first_items() {
    // Texts, which are cloned and dropped; more than are cloned by one thread.
    let items: Vec<String> = (0..30_000).map(|k: u32| k.to_string()).collect();
    for len in [0, 1, 2, 200, 257, 1000, 1024, 30_000] {
        let items = &items[..len];
        let shuffled = items.par_bijective_shuffled(9);
        for count in [0, 1, 2, 100, 256, 999, 8192, 20_000, 30_000, usize::MAX] {
            let expected = &shuffled[..count.min(len)];
            assert_eq!(items.par_bijective_sample(count, 9), expected, "{count} of {len}");
        }
        let p = Permutation::new(len as u64, 9).inverted();
        let expected = &p.apply(items).unwrap()[..len.min(100)];
        assert_eq!(p.sample(items, 100).unwrap(), expected);
        assert_eq!(items.try_par_bijective_sample(100, &p).unwrap(), expected);
        assert_eq!(items.try_par_bijective_sample(100, 9).unwrap(), shuffled[..len.min(100)]);
    }
    let p = Permutation::new(10, 1);
    let refused = p.sample(&items[..9], 3).unwrap_err();
    assert_eq!(refused, Error::LengthMismatch { expected: 10, actual: 9 });
}

/// Items of no size are cloned as often as they should be, also of a slice that is longer than any
/// other.
#[test]
fn samples_take_what_the_sample_takes() {
    let items = [(); usize::MAX / 2];
    assert_eq!(items.par_bijective_sample(1000, 1).len(), 1000);
}

/// Where slots of a large domain have few items, a sample lists those, as every other view does.
#[test]
fn samples_of_wide_domains_are_listed() {
    let items: Vec<u32> = (0..1000).collect();
    let wide = MulXorshift::<10>::from_seed(u64::MAX, 3);
    let p = Permutation::from_bijection(1000, wide).unwrap();
    let expected: Vec<u32> = (0..20).map(|k| items[p.get(k).unwrap() as usize]).collect();
    let p = Permutation::from_bijection(1000, wide).unwrap();
    assert_eq!(p.sample(&items, 20).unwrap(), expected);
    assert_eq!(p.sample(&items, 0).unwrap(), [0; 0]);
    // A few of many are evaluated, and not all listed.
    let wide = MulXorshift::<10>::from_seed(1 << 26, 3);
    let items = vec![(); 1_000_000];
    let p = Permutation::from_bijection(1_000_000, wide).unwrap();
    assert_eq!(p.sample(&items, 5).unwrap().len(), 5);
    assert!(p.index_bytes().is_none());
}

#[test]
fn samples_of_liars_do_no_harm() {
    struct Liar(u64);
    impl Bijection for Liar {
        fn last(&self) -> u64 {
            9
        }
        fn forward(&self, _: u64) -> u64 {
            self.0
        }
        fn inverse(&self, _: u64) -> u64 {
            self.0
        }
    }
    for (len, value) in [(10, 10), (10, u64::MAX), (9, 9), (9, u64::MAX)] {
        let p = Permutation::from_bijection(len, Liar(value)).unwrap();
        let items = vec![String::from("x"); len as usize];
        assert!(matches!(p.sample(&items, 5), Err(Error::NotABijection(_))), "{len} {value}");
    }
}

#[test]
fn permutations_know_their_seed() {
    let seed = Seed::from_bytes([5; 32]).with_epoch(7);
    let p = Permutation::new(100, seed);
    assert_eq!(
        (p.seed(), p.inverted().seed(), p.clone().seed()),
        (Some(seed), Some(seed), Some(seed))
    );
    assert_eq!(p.seed().unwrap().epoch(), 7);
    assert_eq!(Permutation::walk(100, 7).seed(), Some(Seed::new(7)));
    let again = Permutation::new(100, p.seed().unwrap());
    assert!(again.iter().eq(&p));
    assert_eq!(p.then(&p).unwrap().seed(), None);
    assert_eq!(
        Permutations::new(3, 5, 42).row(2).unwrap().seed(),
        Some(Seed::new(42).with_epoch(2))
    );
}
