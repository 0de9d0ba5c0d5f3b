//! `bijection::verify` passes what is right, and names the point at which anything else is wrong.

use std::sync::Mutex;

use bijective_shuffle::Trusted;
use bijective_shuffle::TrustedBijection;
use bijective_shuffle::bijection::Lcg;
use bijective_shuffle::bijection::hooks::EngineHooks;
use bijective_shuffle::bijection::verify;
use bijective_shuffle::error::{BijectionError, Defect};
use bijective_shuffle::prelude::*;
use bijective_shuffle_laws::hostile::Counter;
use bijective_shuffle_laws::{Plain, every_family, every_word_pair};

#[test]
fn families_pass_on_all_points() {
    for bits in [1, 2, 3, 7, 11] {
        for (name, f) in every_family(bits, 3) {
            let result = verify(&f, 1 << bits);
            assert_eq!(result, Ok(()), "{name}, {bits} bits");
            assert_eq!(verify(&Plain(f), 1 << bits), Ok(()), "{name}, {bits} bits");
        }
        for (name, wide, narrow) in every_word_pair(bits, 4) {
            assert_eq!(verify(&*wide, 1 << bits), Ok(()), "{name}");
            assert_eq!(verify(&*narrow, 1 << bits), Ok(()), "{name}, 32 bits");
        }
    }
}

#[test]
fn families_pass_on_some_points() {
    // Few points for many families and widths; `laws` has more of each.
    for bits in [12, 32, 33, 64] {
        for (name, f) in every_family(bits, 5) {
            assert_eq!(verify(&*f, 100), Ok(()), "{name}, {bits} bits");
        }
    }
    for bits in [12, 32] {
        for (name, _, narrow) in every_word_pair(bits, 6) {
            assert_eq!(verify(&*narrow, 100), Ok(()), "{name}, {bits} bits");
        }
    }
    verify(&Lcg::new(10, 5, 3).unwrap(), 0).unwrap();
    verify(&Lcg::new(1, 1, 1).unwrap(), 0).unwrap();
}

/// The identity on 1000 points, except for what is overridden.
#[derive(Default)]
struct Wrong {
    forward: Option<fn(u64) -> u64>,
    inverse: Option<fn(u64) -> u64>,
    method: &'static str,
    lasts: Option<Counter>,
}

impl Wrong {
    /// Makes one value of a run or a slice wrong, if it has that many values.
    fn spoil<N>(&self, method: &str, out: &mut [N], wrong: N) {
        if let (true, Some(fifth)) = (self.method == method, out.get_mut(5)) {
            *fifth = wrong;
        }
    }
}

impl Bijection for Wrong {
    fn last(&self) -> u64 {
        let asked = self.lasts.as_ref().map_or(0, Counter::next);
        if asked == 0 { 999 } else { 1000 }
    }
    fn forward(&self, slot: u64) -> u64 {
        self.forward.map_or(slot, |forward| forward(slot))
    }
    fn inverse(&self, index: u64) -> u64 {
        self.inverse.map_or(index, |inverse| inverse(index))
    }
    fn forward_run(&self, first: u64, out: &mut [u64]) {
        out.iter_mut().zip(first..).for_each(|(out, x)| *out = self.forward(x));
        self.spoil("forward_run", out, 3);
    }
    fn inverse_run(&self, first: u64, out: &mut [u64]) {
        out.iter_mut().zip(first..).for_each(|(out, x)| *out = self.inverse(x));
        self.spoil("inverse_run", out, 3);
    }
    fn forward_each(&self, values: &mut [u64]) {
        values.iter_mut().for_each(|x| *x = self.forward(*x));
        self.spoil("forward_each", values, 3);
    }
    fn inverse_each(&self, values: &mut [u64]) {
        values.iter_mut().for_each(|x| *x = self.inverse(*x));
        self.spoil("inverse_each", values, 3);
    }
    fn hooks(&self) -> Option<&dyn EngineHooks> {
        Some(self)
    }
}

impl EngineHooks for Wrong {
    fn forward_run_u32(&self, first: u64, out: &mut [u32]) {
        out.iter_mut().zip(first..).for_each(|(out, x)| *out = self.forward(x) as u32);
        self.spoil("forward_run_u32", out, 3);
    }
    fn inverse_run_u32(&self, first: u64, out: &mut [u32]) {
        out.iter_mut().zip(first..).for_each(|(out, x)| *out = self.inverse(x) as u32);
        self.spoil("inverse_run_u32", out, 3);
    }
    fn forward_run_u16(&self, first: u64, out: &mut [u16]) {
        out.iter_mut().zip(first..).for_each(|(out, x)| *out = self.forward(x) as u16);
        self.spoil("forward_run_u16", out, 3);
    }
    fn forward_each_u32(&self, values: &mut [u32]) {
        values.iter_mut().for_each(|x| *x = self.forward(u64::from(*x)) as u32);
        self.spoil("forward_each_u32", values, 3);
    }
}

fn defect(f: &dyn Bijection, samples: u64) -> Defect {
    match verify(f, samples) {
        Err(BijectionError::NotABijection(defect)) => defect,
        other => panic!("{other:?}"),
    }
}

#[test]
fn wrong_values_are_named() {
    let wrong = |forward, inverse| defect(&Wrong { forward, inverse, ..Wrong::default() }, 1000);
    assert_eq!(verify(&Wrong::default(), 1000), Ok(()));
    // Two slots with one value. The inverse knows the one or the other.
    let repeats = Defect::Repeats { index: 6, slots: Some([6, 7]) };
    assert_eq!(wrong(Some(|x| if x == 7 { 6 } else { x }), None), repeats);
    let forward: fn(u64) -> u64 = |x| if x == 7 { 6 } else { x };
    assert_eq!(wrong(Some(forward), Some(|y| if y == 6 { 7 } else { y })), repeats);
    let stray = Defect::OutOfRange { method: "forward", point: 600, value: 1000, last: 999 };
    assert_eq!(wrong(Some(|x| if x == 600 { 1000 } else { x }), None), stray);
    let stray = Defect::OutOfRange { method: "inverse", point: 600, value: u64::MAX, last: 999 };
    assert_eq!(wrong(None, Some(|y| if y == 600 { u64::MAX } else { y })), stray);
    let disagrees =
        |method, point, expected, actual| Defect::Disagrees { method, point, expected, actual };
    let defect = disagrees("inverse", 600, 600, 601);
    assert_eq!(wrong(None, Some(|y| if y == 600 { 601 } else { y })), defect);
    // A cycle of 3, which is not its own inverse.
    let turn: fn(u64) -> u64 = |x| if x < 3 { (x + 1) % 3 } else { x };
    let defect = disagrees("inverse", 1, 0, 2);
    assert_eq!(wrong(Some(turn), Some(turn)), defect);
    // The first slot has a value that goes back to it; the first index has a slot that does not.
    let forward: fn(u64) -> u64 = |x| [5, 1, 2, 3, 4, 4].get(x as usize).copied().unwrap_or(x);
    let inverse: fn(u64) -> u64 = |y| [1, 1, 2, 3, 4, 0].get(y as usize).copied().unwrap_or(y);
    let defect = disagrees("forward", 1, 0, 1);
    assert_eq!(wrong(Some(forward), Some(inverse)), defect);
}

#[test]
fn methods_that_disagree_are_named() {
    let methods = [
        "forward_run",
        "inverse_run",
        "forward_run_u32",
        "inverse_run_u32",
        "forward_run_u16",
        "forward_each",
        "inverse_each",
        "forward_each_u32",
    ];
    for method in methods {
        let f = Wrong { method, ..Wrong::default() };
        for samples in [0, 10, 1000] {
            let Defect::Disagrees { method: named, point, expected, actual: 3 } =
                defect(&f, samples)
            else {
                panic!("{method} is not named");
            };
            assert_eq!((named, point), (method, expected));
        }
    }
    // Right when it is first asked.
    let asked = Mutex::new(std::collections::HashSet::new());
    let f = Changes(|slot| if asked.lock().unwrap().insert(slot) { slot } else { slot ^ 1 });
    assert!(matches!(
        defect(&f, 1000),
        Defect::Repeats { .. } | Defect::Disagrees { method: "forward", .. }
    ));
    let f = Wrong { lasts: Some(Counter::new(0)), ..Wrong::default() };
    assert_eq!(defect(&f, 1000), Defect::DomainChanges { before: 999, after: 1000 });
}

/// A function of a slot, with the identity as its inverse.
struct Changes<F>(F);

impl<F: Fn(u64) -> u64 + Send + Sync> Bijection for Changes<F> {
    fn last(&self) -> u64 {
        999
    }
    fn forward(&self, slot: u64) -> u64 {
        (self.0)(slot)
    }
    fn inverse(&self, index: u64) -> u64 {
        index
    }
}

/// Vouches for another one.
struct Impostor<B>(B);

impl<B: TrustedBijection> Bijection for Impostor<B> {
    fn last(&self) -> u64 {
        1023
    }
    fn forward(&self, slot: u64) -> u64 {
        slot
    }
    fn inverse(&self, index: u64) -> u64 {
        index
    }
    fn trusted(&self) -> Option<Trusted<'_>> {
        Some(Trusted::new(&self.0))
    }
}

#[test]
fn a_trusted_form_that_differs_is_named() {
    let f = Impostor(Lcg::new(10, 1, 1).unwrap());
    let (method, point) = ("trusted().forward", 0);
    let expected = Defect::Disagrees { method, point, expected: 0, actual: 1 };
    assert_eq!(defect(&f, 2000), expected);
    let f = Impostor(Lcg::new(11, 1, 0).unwrap());
    let method = "trusted().last";
    let expected = Defect::Disagrees { method, point, expected: 1023, actual: 2047 };
    assert_eq!(defect(&f, 2000), expected);
    assert_eq!(verify(&Impostor(Lcg::new(10, 1, 0).unwrap()), 2000), Ok(()));
}

/// On a large domain a defect at many points is found, and always the same one.
#[test]
fn samples_find_what_is_often_wrong() {
    struct Large<F>(F);
    impl<F: Fn(u64) -> u64 + Send + Sync> Bijection for Large<F> {
        fn last(&self) -> u64 {
            u64::MAX
        }
        fn forward(&self, slot: u64) -> u64 {
            slot
        }
        fn inverse(&self, index: u64) -> u64 {
            (self.0)(index)
        }
    }
    // At no edge, and at one point in 64.
    let f = Large(|y: u64| if y >> 40 & 63 == 5 { y ^ 1 << 50 } else { y });
    let found = defect(&f, 1000);
    assert!(matches!(found, Defect::Disagrees { method: "inverse", expected, actual, .. }
            if expected ^ actual == 1 << 50));
    assert_eq!(defect(&f, 1000), found);
    // At the edges, with no samples at all.
    for edge in [0, 1000, 1 << 32, u64::MAX / 2, u64::MAX - 1000, u64::MAX] {
        let f = Large(|y: u64| y ^ u64::from(y == edge));
        let found = defect(&f, 0);
        assert!(matches!(found, Defect::Disagrees { expected, .. } if expected == edge), "{edge}");
    }
}
