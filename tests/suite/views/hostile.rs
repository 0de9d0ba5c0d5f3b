//! Bijections that count what is asked of them, and bijections that lie.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use bijective_shuffle::Defect;
use bijective_shuffle::prelude::*;

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
        Permutation::with_bijection(len, f).unwrap()
    };
    let full = of(1 << 20, 1 << 20).with_index(64).unwrap();
    assert_eq!((full.index().is_none(), taken()), (true, 0));
    // Where the slots are listed they are used.
    let sparse = of(1000, 1 << 32);
    sparse.build_index().unwrap();
    assert!(taken() < 1100);
    assert_eq!(sparse.range(500..501).unwrap().next(), sparse.get(500));
    assert_eq!(sparse.iter().next_back(), sparse.get(999));
    assert!(taken() < 2000);
    // Blocks that are longer than a jump do not send an iterator back.
    let long = of((1 << 16) + 1, 1 << 17).with_index(1 << 15).unwrap();
    taken();
    let strided: Vec<u64> = long.shard_strided(0, 5000).unwrap().collect();
    assert!(taken() <= 1 << 17);
    assert!(long.shard_strided(0, 5000).unwrap().rev().eq(strided.into_iter().rev()));
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

#[test]
fn liars_do_no_harm() {
    let identity = |x| x;
    let constant = Liar { last: 1023, forward: |_| 0, inverse: |_| 0 };
    let stray = Liar { last: 1023, forward: |_| u64::MAX, inverse: |_| u64::MAX };
    let few = Liar { last: 1023, forward: |x| x / 2, inverse: identity };
    for liar in [constant, stray, few] {
        let p = Permutation::with_bijection(1000, liar.clone()).unwrap();
        let error = p.build_index().unwrap_err();
        assert!(matches!(error, Error::NotABijection(Defect::Survivors { expected: 1000, .. })));
        assert!(p.iter().count() <= 1000);
        assert!(std::panic::catch_unwind(|| p.get(500)).is_err());
        let p = Permutation::with_bijection(1000, liar.clone()).unwrap();
        assert!(
            std::panic::catch_unwind(|| p.iter().rev().count()).is_ok_and(|count| count <= 1000)
        );
        let full = Permutation::with_bijection(1024, liar).unwrap();
        assert_eq!(full.iter().count(), 1024);
        let then = full.then(&full).unwrap();
        assert!(matches!(then.try_to_vec(), Err(Error::NotABijection(_))));
    }
    // As many survivors as there must be, and the inverse leads nowhere.
    let lost = Liar { last: 1023, forward: identity, inverse: |_| u64::MAX };
    let p = Permutation::with_bijection(1000, lost).unwrap();
    assert_eq!(p.get(5), Some(5));
    assert!(std::panic::catch_unwind(|| p.position(5)).is_ok_and(|place| place.is_some()));
    assert!(p.trusted().is_none());
}
