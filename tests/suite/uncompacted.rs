//! A permutation that is given to an engine as a bijection is not evaluated index by index: the
//! engine compacts the bijection within.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use bijective_shuffle::prelude::*;
use bijective_shuffle::{Strategy, Trusted};

/// Counts the points that are evaluated; with its author's word, or without.
struct Counting<B> {
    inner: B,
    vouched: bool,
    points: AtomicUsize,
}

impl<B: TrustedBijection> Counting<B> {
    fn new(inner: B, vouched: bool) -> Self {
        Self { inner, vouched, points: AtomicUsize::new(0) }
    }

    fn count(&self, points: usize) {
        self.points.fetch_add(points, Relaxed);
    }

    /// How many points a call has evaluated.
    fn during(&self, call: impl FnOnce()) -> usize {
        let before = self.points.load(Relaxed);
        call();
        self.points.load(Relaxed) - before
    }
}

impl<B: TrustedBijection> Bijection for Counting<B> {
    fn last(&self) -> u64 {
        self.inner.last()
    }
    fn forward(&self, slot: u64) -> u64 {
        self.count(1);
        self.inner.forward(slot)
    }
    fn inverse(&self, index: u64) -> u64 {
        self.count(1);
        self.inner.inverse(index)
    }
    fn forward_run(&self, first: u64, out: &mut [u64]) {
        self.count(out.len());
        self.inner.forward_run(first, out);
    }
    fn inverse_run(&self, first: u64, out: &mut [u64]) {
        self.count(out.len());
        self.inner.inverse_run(first, out);
    }
    fn forward_run_u32(&self, first: u64, out: &mut [u32]) {
        self.count(out.len());
        self.inner.forward_run_u32(first, out);
    }
    fn inverse_run_u32(&self, first: u64, out: &mut [u32]) {
        self.count(out.len());
        self.inner.inverse_run_u32(first, out);
    }
    fn trusted(&self) -> Option<Trusted<'_>> {
        self.vouched.then(|| Trusted::new(self))
    }
}

// SAFETY: every answer is that of a bijection whose author vouches for it.
unsafe impl<B: TrustedBijection> TrustedBijection for Counting<B> {}

#[test]
fn a_permutation_costs_what_its_bijection_costs() {
    for (vouched, len) in [(false, 1000), (true, 1000), (false, 150_000), (true, 150_000)] {
        let inner = VariablePhilox::<24>::from_seed(len, 5);
        let f = Counting::new(inner, vouched);
        let p = Permutation::with_bijection(len, &f).unwrap();
        let items: Vec<u64> = (0..len).collect();
        for strategy in [Strategy::Auto, Strategy::Direct, Strategy::Partitioned] {
            let mut workspace = Workspace::new().with_strategy(strategy);
            let mut cost = |f: &Counting<_>, given: &dyn Bijection| {
                let mut a = items.clone();
                let shuffle = f.during(|| workspace.shuffle(given, &mut a).unwrap());
                assert!(a == p.to_vec(), "{strategy:?}, {len}");
                let unshuffle = f.during(|| workspace.unshuffle(given, &mut a).unwrap());
                assert!(a == items, "{strategy:?}, {len}");
                let mut b = items.clone();
                let together = (&mut a, &mut b);
                let together = f.during(|| workspace.shuffle_together(given, together).unwrap());
                let mut out = items.clone();
                let into = f.during(|| workspace.shuffle_into(given, &items, &mut out).unwrap());
                assert!(out == a && out == b, "{strategy:?}, {len}");
                let indices = f.during(|| Cpu.indices(given, &mut out).unwrap());
                assert!(out == a);
                let copy = f.during(|| assert!(Cpu.shuffled(given, &items).unwrap() == a));
                [shuffle, unshuffle, together, into, indices, copy]
            };
            let direct = cost(&f, &f);
            assert!(direct.iter().all(|&points| points >= items.len()));
            assert_eq!(cost(&f, &p), direct, "{strategy:?}, {len}, {vouched}");
        }
    }
}

/// Compacting in two steps is compacting in one.
#[test]
fn shorter_and_nested_permutations_are_right() {
    for outer in [1, 2, 77, 300] {
        let f = VariablePhilox::<24>::from_seed(512, 8);
        let p = Permutation::with_bijection(outer, f).unwrap();
        let shuffled_inverse = p.clone().inverse();
        for len in [0, 1, 2, outer / 2, outer - 1, outer].into_iter().filter(|&len| len <= outer) {
            let nested = Permutation::with_bijection(len.max(1), &p).unwrap();
            let of_inverse = Permutation::with_bijection(len.max(1), &shuffled_inverse).unwrap();
            for given in [&p as &dyn Bijection, &shuffled_inverse, &nested, &of_inverse] {
                let (mut expected, mut actual) = (vec![0_u64; len as usize], vec![0; len as usize]);
                Serial.indices(given, &mut expected).unwrap();
                Cpu.indices(given, &mut actual).unwrap();
                assert_eq!(actual, expected, "{len} of {outer}");
                let mut items: Vec<u64> = (0..len).collect();
                items.par_bijective_shuffle_with(given).unwrap();
                assert_eq!(items, expected, "{len} of {outer}");
            }
        }
        let mut items = vec![0; outer as usize + 1];
        let error = Error::LengthExceedsDomain { len: outer + 1, last: outer - 1 };
        assert_eq!(items.par_bijective_shuffle_with(&p), Err(error));
    }
    // The domain of an empty permutation has one point.
    let empty = Permutation::new(0, 1);
    assert_eq!([7].par_bijective_shuffled_with(&empty), Ok(vec![7]));
}
