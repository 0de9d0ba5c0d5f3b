//! The forms of a shuffle: by a seed or a bijection, there or back, in place, as a copy or
//! together, with memory of its own or a workspace's. All give what `Serial` gives, fail with the
//! same errors, and lose nothing.

use std::panic::resume_unwind;

use crate::common::Plain;
use crate::common::hostile::{Counter, End, Liar, survive, survive_together};
use bijective_shuffle::prelude::*;
use bijective_shuffle::{Defect, Strategy};
use rayon::ThreadPoolBuilder;

/// On both sides of the lengths from which there are threads, and from which buckets are used.
const LENGTHS: [usize; 9] = [0, 1, 2, 5, 100, 1000, 131_071, 131_073, 200_000];

const STRATEGIES: [Strategy; 3] = [Strategy::Auto, Strategy::Direct, Strategy::Partitioned];

/// What `Serial` makes of the numbers up to a length.
fn shuffled(f: &dyn Bijection, len: usize) -> Vec<u32> {
    let mut items: Vec<u32> = (0..len as u32).collect();
    Serial.shuffle(f, &mut items).unwrap();
    items
}

/// The numbers up to a length, and their texts.
fn columns(len: usize) -> (Vec<u32>, Vec<String>) {
    (0..len as u32).map(|x| (x, x.to_string())).unzip()
}

fn check_bijection<B: Bijection + ?Sized>(f: &B, len: usize) {
    let expected = shuffled(&f, len);
    let (original, texts) = columns(len);
    let mut items = original.clone();
    items.par_bijective_shuffle_with(f).unwrap();
    assert!(items == expected, "shuffle_with, {len}");
    items.par_bijective_unshuffle_with(f).unwrap();
    assert!(items == original, "unshuffle_with, {len}");
    assert!(items.par_bijective_shuffled_with(f).unwrap() == expected, "shuffled_with, {len}");

    let mut more = texts.clone();
    (&mut items, &mut more).par_bijective_shuffle_together_with(f).unwrap();
    assert!(items == expected, "shuffle_together_with, {len}");
    assert!(items.iter().zip(&more).all(|(item, text)| item.to_string() == *text));
    (&mut items, &mut more).par_bijective_unshuffle_together_with(f).unwrap();
    assert!(items == original && more == texts, "unshuffle_together_with, {len}");
}

#[test]
fn every_form_by_a_bijection_gives_what_serial_gives() {
    for threads in [1, 3] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        for len in LENGTHS {
            let f = Standard::from_seed(len as u64 + 3, 9);
            pool.install(|| {
                check_bijection(&f, len);
                check_bijection(&Plain(f.clone()), len);
                let dynamic: Box<dyn Bijection> = Box::new(f);
                check_bijection(&*dynamic, len);
                check_bijection(&dynamic, len);
            });
        }
    }
}

#[test]
fn every_form_by_a_seed_gives_what_serial_gives() {
    for strategy in STRATEGIES {
        let mut workspace = Workspace::new().with_strategy(strategy);
        for len in LENGTHS {
            for seed in [Seed::new(7), Seed::new(7).epoch(1)] {
                let expected = shuffled(&Standard::from_seed(len as u64, seed), len);
                let (original, texts) = columns(len);
                assert!(original.par_bijective_shuffled(seed) == expected);
                let mut items = original.clone();
                workspace.shuffle_by_seed(seed, &mut items).unwrap();
                assert!(items == expected, "{strategy:?}, {len}");
                let mut out = vec![0; len];
                workspace.shuffle_into_by_seed(seed, &original, &mut out).unwrap();
                assert!(out == expected, "into, {strategy:?}, {len}");
                workspace.unshuffle_by_seed(seed, &mut items).unwrap();
                assert!(items == original, "back, {strategy:?}, {len}");

                let mut more = texts.clone();
                workspace.shuffle_together_by_seed(seed, (&mut items, &mut more)).unwrap();
                assert!(items == expected, "together, {strategy:?}, {len}");
                workspace.unshuffle_together_by_seed(seed, (&mut items, &mut more)).unwrap();
                assert!(items == original && more == texts, "together and back, {strategy:?}");
            }
        }
    }
}

#[test]
fn lengths_that_do_not_fit_are_refused() {
    let f = Lcg::new(3, 5, 3).unwrap();
    let mut items: Vec<u32> = (0..9).collect();
    let error = Err(Error::LengthExceedsDomain { len: 9, last: 7 });
    assert_eq!(items.par_bijective_shuffle_with(&f), error);
    assert_eq!(items.par_bijective_unshuffle_with(&f), error);
    assert_eq!(items.par_bijective_shuffled_with(&f).map(drop), error);
    let mut units = [(); 9];
    assert_eq!(units.par_bijective_unshuffle_with(&f), error);
    assert_eq!(units.par_bijective_shuffled_with(&f).map(drop), error);
    assert_eq!((&mut items, &mut units).par_bijective_shuffle_together_with(&f), error);
    assert_eq!((&mut items, &mut units).par_bijective_unshuffle_together_with(&f), error);

    let error = Err(Error::LengthMismatch { expected: 9, actual: 4 });
    let mut few = [0; 4];
    let mut workspace = Workspace::new();
    assert_eq!((&mut items, &mut few).par_bijective_shuffle_together_with(&f), error);
    assert_eq!((&mut items, &mut few).par_bijective_unshuffle_together_with(&f), error);
    assert_eq!(workspace.shuffle_together_by_seed(1, (&mut items, &mut few)), error);
    assert_eq!(workspace.unshuffle_together_by_seed(1, (&mut items, &mut few)), error);
    assert_eq!(workspace.shuffle_into_by_seed(1, &items, &mut few), error);
    assert!(items.into_iter().eq(0..9));
}

/// The ends of all forms by a bijection.
fn ends(f: &impl Bijection, len: usize) -> [End; 5] {
    [
        survive(len, |items| items.par_bijective_shuffle_with(f)),
        survive(len, |items| items.par_bijective_unshuffle_with(f)),
        survive_together(len, |a, b| (a, b).par_bijective_shuffle_together_with(f)).0,
        survive_together(len, |a, b| (a, b).par_bijective_unshuffle_together_with(f)).0,
        End::of(|| vec![0_u32; len].par_bijective_shuffled_with(f).map(drop)),
    ]
}

#[test]
fn every_form_refuses_lies() {
    for len in [100, 140_000] {
        let last = (len as u64).next_power_of_two() - 1;
        let slots = Some([6, 7]);
        let repeats = Error::NotABijection(Defect::Repeats { index: 6, slots });
        for end in ends(&Liar { last, map: |x| if x == 7 { 6 } else { x } }, len) {
            assert_eq!(end, End::Refused(repeats.clone()));
        }
        for end in ends(&Liar { last, map: |x| if x == 7 { u64::MAX } else { x } }, len) {
            let (expected, actual) = (len as u64, len as u64 - 1);
            let few = Error::NotABijection(Defect::Survivors { expected, actual });
            assert_eq!(end, End::Refused(few));
        }
        for nth in [0, 1, len as u64 - 1] {
            let calls = Counter::new(0);
            let map = |x| {
                if calls.next() % len as u64 == nth {
                    resume_unwind(Box::new("the n-th call"));
                }
                x
            };
            for end in ends(&Liar { last, map }, len) {
                assert_eq!(end, End::Unwound, "call {nth}");
            }
        }
    }
}

/// The slots of a repetition, and not the places among the survivors, are named; by all engines.
#[test]
fn repeats_name_the_slots() {
    for len in [20, 200_000] {
        let last = 2 * (len as u64).next_power_of_two() - 1;
        let honest = VariablePhilox::<24>::from_seed(last + 1, 3);
        let mut surviving = (5..=last).filter(|&slot| honest.forward(slot) < len as u64);
        let (first, second) = (surviving.next().unwrap(), surviving.next_back().unwrap());
        let index = honest.forward(first);
        let map = |x| honest.forward(if x == second { first } else { x });
        let slots = Some([first, second]);
        let repeats = Error::NotABijection(Defect::Repeats { index, slots });
        let message = repeats.to_string();
        let error = Err(repeats);
        let f = Liar { last, map };
        let mut indices = vec![0_u64; len];
        assert_eq!(Cpu.indices(&f, &mut indices), error);
        assert_eq!(Serial.indices(&f, &mut indices), error);
        assert_eq!(indices.par_bijective_shuffle_with(&f), error);
        let said = format!("the slots {first} and {second} both have the value {index}");
        assert!(message.ends_with(&said), "{message}");

        // One that does not repeat when it is asked again.
        let calls = Counter::new(0);
        let map = |x| honest.forward(if calls.next() <= last && x == second { first } else { x });
        let error = Error::NotABijection(Defect::Repeats { index, slots: None });
        assert_eq!(Cpu.indices(&Liar { last, map }, &mut indices), Err(error));
    }
}
