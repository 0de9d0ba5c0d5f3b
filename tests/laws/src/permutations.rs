//! A permutation that is given to an engine as a bijection is not evaluated index by index: the
//! engine compacts the bijection within.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use bijective_shuffle::Trusted;
use bijective_shuffle::TrustedBijection;
use bijective_shuffle::bijection::VariablePhilox;
use bijective_shuffle::bijection::hooks::{EngineHooks, Hooked};
use bijective_shuffle::prelude::*;

use crate::agreement::{check, reference};
use crate::items::{Items, Kind, Ledger, Shape, Table};
use crate::under_test::{DIRECTIONS, Given, Indices, UnderTest};

/// Counts the points that are evaluated; with its author's word, or without.
pub struct Counting<B> {
    inner: B,
    vouched: bool,
    points: AtomicUsize,
}

impl<B: TrustedBijection> Counting<B> {
    pub fn new(inner: B, vouched: bool) -> Self {
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
    fn trusted(&self) -> Option<Trusted<'_>> {
        self.vouched.then(|| Trusted::new(self).panic_free())
    }
    fn hooks(&self) -> Option<&dyn EngineHooks> {
        Some(self)
    }
}

impl<B: TrustedBijection> EngineHooks for Counting<B> {
    fn forward_run_u32(&self, first: u64, out: &mut [u32]) {
        self.count(out.len());
        self.inner.forward_run_u32(first, out);
    }
    fn inverse_run_u32(&self, first: u64, out: &mut [u32]) {
        self.count(out.len());
        self.inner.inverse_run_u32(first, out);
    }
}

// SAFETY: every answer is that of a bijection whose author vouches for it.
unsafe impl<B: TrustedBijection> TrustedBijection for Counting<B> {}

/// How many points a back end evaluates of `f` in each of its entry points, if it is given `map`.
pub fn costs<B: TrustedBijection>(
    backend: &mut dyn UnderTest,
    f: &Counting<B>,
    map: &dyn Bijection,
    len: u64,
) -> Vec<usize> {
    let given = Given::by(map);
    let order: Vec<u64> = (0..len).collect();
    let ledger = Ledger::new(order.len());
    let words = Items::new(Kind::Word, &order, &ledger);
    let mut costs = Vec::new();
    for mut out in Indices::both(order.len()) {
        costs.push(f.during(|| _ = backend.write_indexes(&given, &mut out)));
    }
    for direction in DIRECTIONS {
        let mut items = words.clone();
        costs.push(f.during(|| _ = backend.in_place(&given, &mut items, direction)));
        costs.push(f.during(|| _ = backend.copied(&given, &words, direction)));
        costs.push(f.during(|| _ = backend.into(&given, &words, &mut items, direction)));
        let mut table = Table::new(Shape::Nested, &order, &ledger);
        costs.push(f.during(|| _ = backend.together(&given, &mut table, direction)));
    }
    costs
}

pub fn permutations_cost_what_their_maps_cost(backend: &mut dyn UnderTest) {
    // The reference asks permutations index by index, and a GPU evaluates texts.
    if !backend.has_threads() {
        return;
    }
    for (vouched, len) in [(false, 1000), (true, 1000), (false, 150_000), (true, 150_000)] {
        let f = Counting::new(VariablePhilox::<24>::from_seed(len, 5), vouched);
        if !backend.serves(&Given::by(&f)) {
            return;
        }
        let p = Permutation::from_bijection(len, &f).unwrap();
        let direct = costs(backend, &f, &f, len);
        assert!(direct.iter().all(|&points| points == 0 || points as u64 >= len));
        assert!(direct.iter().any(|&points| points > 0));
        assert_eq!(costs(backend, &f, &p, len), direct, "{len}, {vouched}");
    }
}

/// Compacting in two steps is compacting in one.
pub fn permutations_as_maps(backend: &mut dyn UnderTest) {
    for outer in [1, 2, 33, 50] {
        let f = VariablePhilox::<24>::from_seed(64, 8);
        let p = Permutation::from_bijection(outer, f).unwrap();
        let inverse = p.inverted();
        for len in [0, 1, outer / 2, outer - 1, outer].into_iter().filter(|&len| len <= outer) {
            let nested = Permutation::from_bijection(len.max(1), &p).unwrap();
            let of_inverse = Permutation::from_bijection(len.max(1), &inverse).unwrap();
            for map in [&p as &dyn Bijection, &inverse, &nested, &of_inverse] {
                let order = reference(map, len as usize);
                check(backend, &Given::by(map), &order, &[Kind::Word], &format!("of {outer}"));
            }
        }
    }
    // The domain of an empty permutation has one point.
    let empty = Permutation::new(0, 1);
    check(backend, &Given::by(&empty), &[0], &[Kind::Word], "of none");
}
