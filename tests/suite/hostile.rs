//! A bijection that lies, changes its mind or panics never loses an item: every item is still
//! there, once, and is dropped once.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::common::cases;
use crate::common::hostile::{Counter, End, Liar, survive};
use bijective_shuffle::prelude::*;
use bijective_shuffle::{Defect, Strategy};
use proptest::prelude::{ProptestConfig, prop_assert, proptest};

/// Runs all the calls that move items, and gives the ends of shuffling by `Cpu` and by `Serial`.
fn survive_everything(f: &dyn Bijection, len: usize) -> [End; 2] {
    survive(len, |items| Cpu.unshuffle(f, items));
    survive(len, |items| Serial.unshuffle(f, items));
    survive(len, |items| items.par_bijective_shuffle_with(&f));
    survive(len, |items| {
        let p = Permutation::with_bijection(items.len() as u64, f)?;
        let _ = p.iter().count();
        p.apply_in_place(items)?;
        p.unapply_in_place(items)
    });
    for strategy in [Strategy::Direct, Strategy::Partitioned] {
        survive(len, |items| Workspace::new().with_strategy(strategy).shuffle(f, items));
        survive(len, |items| Workspace::new().with_strategy(strategy).unshuffle(f, items));
    }
    // Wrapped into combinators, a lie is still one.
    survive(len, |items| Cpu.shuffle(&Inverse::new(f), items));
    survive(len, |items| Cpu.shuffle(&RandomSign::new(f, true), items));
    if let Ok(composed) = Compose::new(f, f) {
        survive(len, |items| Cpu.shuffle(&composed, items));
    }
    // A walk over a lie ends, but only after as many steps as there are points outside.
    if let (0..1000, Ok(walk)) = (len, CycleWalk::new(f, len as u64)) {
        survive(len, |items| Cpu.shuffle(&walk, items));
    }
    [survive(len, |items| Cpu.shuffle(f, items)), survive(len, |items| Serial.shuffle(f, items))]
}

/// One length on each side of the threshold from which there are threads. The longer one has a
/// domain of 2^19, so that three threads need two waves for it.
const LENGTHS: [usize; 2] = [100, 300_000];

fn last_for(len: usize) -> u64 {
    len.next_power_of_two() as u64 - 1
}

#[test]
fn repeats_are_found() {
    for len in LENGTHS {
        let last = last_for(len);
        let ends = survive_everything(&Liar { last, map: |x| x & !1 }, len);
        let repeat = Error::NotABijection(Defect::Repeats { index: 0, slots: Some([0, 1]) });
        assert_eq!(ends, [End::Refused(repeat.clone()), End::Refused(repeat)]);
        let ends = survive_everything(&Liar { last, map: |_| 0 }, len);
        assert!(ends.iter().all(|end| matches!(
            end,
            End::Refused(Error::NotABijection(Defect::Survivors { .. }))
        )));
    }
}

#[test]
fn values_outside_the_domain_are_found() {
    for len in LENGTHS {
        let last = last_for(len);
        let leaves = |x| if x == 3 { u64::MAX } else { x };
        let expected = len as u64;
        let survivors = Defect::Survivors { expected, actual: expected - 1 };
        let error = Error::NotABijection(survivors);
        let ends = survive_everything(&Liar { last, map: leaves }, len);
        assert_eq!(ends, [End::Refused(error.clone()), End::Refused(error)]);
        let ends = survive_everything(&Liar { last, map: |x| x + last + 1 }, len);
        assert!(ends.iter().all(|end| matches!(end, End::Refused(Error::NotABijection(_)))));
    }
}

#[test]
fn answers_that_change_are_survived() {
    for len in LENGTHS {
        let calls = Counter::new(0);
        let last = last_for(len);
        let fickle = Liar { last, map: |x| (x + calls.next() / 7) & last };
        survive_everything(&fickle, len);
        // Right the first time over and wrong from then on, for whoever asks twice.
        let calls = Counter::new(0);
        let tired = Liar { last, map: |x| if calls.next() > last { 0 } else { x } };
        survive_everything(&tired, len);
    }
}

/// Says another domain every time it is asked.
struct Shifty(Counter);

impl Bijection for Shifty {
    fn last(&self) -> u64 {
        [40_000, 10, 0, 1_000_000, 3][self.0.next() as usize % 5]
    }
    fn forward(&self, slot: u64) -> u64 {
        slot
    }
    fn inverse(&self, index: u64) -> u64 {
        index
    }
}

#[test]
fn a_domain_that_changes_is_survived() {
    for len in [0, 1, 4, 100, 20_000, 300_000] {
        for start in 0..5 {
            survive_everything(&Shifty(Counter::new(start)), len);
        }
    }
}

/// Right point by point, and wrong in runs.
struct BadRuns;

impl Bijection for BadRuns {
    fn last(&self) -> u64 {
        (1 << 19) - 1
    }
    fn forward(&self, slot: u64) -> u64 {
        slot
    }
    fn inverse(&self, index: u64) -> u64 {
        index
    }
    fn forward_run(&self, _first: u64, out: &mut [u64]) {
        out.reverse();
    }
    fn forward_each(&self, values: &mut [u64]) {
        values.fill(7);
    }
}

#[test]
fn runs_that_lie_are_survived() {
    for len in [5, 20_000, 1 << 19] {
        let [cpu, serial] = survive_everything(&BadRuns, len);
        assert!(matches!(cpu, End::Refused(Error::NotABijection(_))));
        assert_eq!(serial, End::Done);
    }
}

/// Lies that are told late: in the last tiles, after most of the places were handed out.
#[test]
fn late_lies_are_found() {
    let last = (1 << 19) - 1;
    let honest = VariablePhilox::<24>::from_keys(19, [9; 24]);
    for threads in [1, 2, 3, 7] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        for (late, value) in [(last, 0), (last - 40_000, 0), (500_000, 1), (300_000, u64::MAX)] {
            let map = move |x| if x >= late { value } else { honest.forward(x) };
            let end = pool.install(|| {
                survive(300_000, |items| items.par_bijective_shuffle_with(&Liar { last, map }))
            });
            let is_found = matches!(end, End::Refused(Error::NotABijection(_)));
            // A single slot may lie about a value that does not survive anyway.
            assert!(is_found || late == last && honest.forward(last) >= 300_000, "{late}: {end:?}");
        }
    }
}

#[test]
fn a_panic_at_any_call_is_survived() {
    for (len, last) in
        [(20, 31), (100, 127), (9000, 16_383), (140_000, 262_143), (270_000, 524_287)]
    {
        for k in [0, 1, 19, 20, 31, 100, 127, 5000, 16_383, 262_143, 400_000] {
            let calls = Counter::new(0);
            let f = Liar {
                last,
                map: |x| {
                    if calls.next() == k {
                        // Unwinds as a panic does, without the message.
                        resume_unwind(Box::new("the k-th call"));
                    }
                    x ^ 1
                },
            };
            let end = survive(len, |items| items.par_bijective_shuffle_with(&f));
            assert_eq!(end, if k <= last { End::Unwound } else { End::Done }, "call {k} of {last}");
            if len < 1000 {
                survive_everything(&f, len);
            }
        }
    }
}

/// A bijection that is vouched for may still panic; it has run before anything moves.
struct TrustedPanic(u64);

impl Bijection for TrustedPanic {
    fn last(&self) -> u64 {
        524_287
    }
    fn forward(&self, slot: u64) -> u64 {
        if slot == self.0 {
            resume_unwind(Box::new("that slot"));
        }
        slot ^ 1
    }
    fn inverse(&self, index: u64) -> u64 {
        self.forward(index)
    }
    fn trusted(&self) -> Option<bijective_shuffle::Trusted<'_>> {
        Some(bijective_shuffle::Trusted::new(self))
    }
}

// SAFETY: wherever it returns, it is its own inverse on its domain.
unsafe impl TrustedBijection for TrustedPanic {}

#[test]
fn a_trusted_panic_is_survived() {
    for slot in [0, 1000, 40_000, 400_000, 524_287] {
        let [cpu, serial] = survive_everything(&TrustedPanic(slot), 300_000);
        assert_eq!((cpu, serial), (End::Unwound, End::Unwound));
    }
}

/// An item of no size that counts its drops.
struct Unit;

static UNITS_DROPPED: Counter = Counter::new(0);

impl Drop for Unit {
    fn drop(&mut self) {
        UNITS_DROPPED.next();
    }
}

#[test]
fn items_of_no_size_are_dropped_once() {
    let mut units: Vec<Unit> = (0..30_000).map(|_| Unit).collect();
    let liar = Liar { last: 32_767, map: |_| 0 };
    let _ = units.par_bijective_shuffle_with(&liar);
    let _ = Serial.shuffle(&liar, &mut units);
    units.par_bijective_shuffle(1);
    Serial.unshuffle(&VariablePhilox::<24>::from_seed(30_000, 1), &mut units).unwrap();
    assert_eq!(UNITS_DROPPED.get(), 0);
    drop(units);
    assert_eq!(UNITS_DROPPED.get(), 30_000);
}

/// An item whose clones are counted, and whose `k`-th clone panics.
struct Cloner<'a> {
    clones: &'a Counter,
    drops: &'a Counter,
    panic_at: u64,
}

impl Clone for Cloner<'_> {
    fn clone(&self) -> Self {
        if self.clones.get() >= self.panic_at {
            resume_unwind(Box::new("the k-th clone"));
        }
        self.clones.next();
        Self { ..*self }
    }
}

impl Drop for Cloner<'_> {
    fn drop(&mut self) {
        self.drops.next();
    }
}

#[test]
fn clones_are_dropped_once_when_one_panics() {
    for len in [50_u64, 300_000] {
        for panic_at in [0, 1, len / 2, len - 1, len] {
            let (clones, drops) = (Counter::new(0), Counter::new(0));
            let originals: Vec<Cloner> =
                (0..len).map(|_| Cloner { clones: &clones, drops: &drops, panic_at }).collect();
            let result = catch_unwind(AssertUnwindSafe(|| originals.par_bijective_shuffled(3)));
            assert_eq!(result.is_ok(), panic_at == len);
            drop(result);
            assert_eq!(drops.get(), clones.get(), "panic at {panic_at} of {len}");
            drop(originals);
            assert_eq!(drops.get(), clones.get() + len);
        }
    }
}

/// One of many ways to be wrong, now and then and by chance.
fn random_liar(last: u64, seed: u64, mode: u8, rate: u64) -> impl Bijection {
    let right = VariablePhilox::<24>::from_seed(last + 1, seed);
    let calls = Counter::new(0);
    let map = move |slot: u64| {
        let call = calls.next();
        let dice = (slot ^ seed).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
        let value = right.forward(slot & last);
        if !dice.is_multiple_of(rate) {
            return value;
        }
        match mode {
            0 => right.forward(dice & last),
            1 => dice,
            2 => u64::MAX,
            3 => value ^ call & last,
            4 => call & last,
            _ => resume_unwind(Box::new("by chance")),
        }
    };
    Liar { last, map }
}

#[test]
fn every_strategy_moves_each_item_once() {
    for strategy in [Strategy::Direct, Strategy::Partitioned] {
        for len in [1, 1000, 70_000, 200_000] {
            let f = Standard::from_seed(len, 8);
            let mut workspace = Workspace::new().with_strategy(strategy);
            let end = survive(len as usize, |items| {
                workspace.shuffle(&f, items)?;
                workspace.unshuffle(&f, items)?;
                assert!(items.iter().map(|item| item.id).eq(0..len as usize));
                workspace.shuffle(&f, items)
            });
            assert_eq!(end, End::Done, "{strategy:?}, {len} items");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(100_000)))]

    #[test]
    fn few_items(bits in 2..9_u32, part in 0.0..1.0_f64, seed: u64, mode in 0..6_u8, rate in 1..200_u64) {
        let last = (1 << bits) - 1;
        let len = (part * (last + 2) as f64) as usize;
        survive_everything(&random_liar(last, seed, mode, rate), len);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(30)))]

    #[test]
    fn many_items(part in 0.0..1.0_f64, seed: u64, mode in 0..6_u8, rate in 1..1_000_000_u64, threads in 1..4_usize) {
        let last = (1 << 19) - 1;
        let len = (part * (last + 2) as f64) as usize;
        let liar = random_liar(last, seed, mode, rate);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let end = pool.install(|| survive(len, |items| Cpu.shuffle(&liar, items)));
        pool.install(|| survive(len, |items| Cpu.unshuffle(&liar, items)));
        prop_assert!(end != End::Done || rate > 1000 || len < 2000);
    }
}
