//! What is particular to some back end, and what an erased item or bijection cannot show.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

use bijective_shuffle::Error;
use bijective_shuffle::Strategy;
use bijective_shuffle::bijection::{BlockShuffle, CycleWalk, Lcg, Standard, Table, VariablePhilox};
use bijective_shuffle::error::{BijectionError, Defect, ViewError};
use bijective_shuffle::exchange::Division;
use bijective_shuffle::prelude::*;
use bijective_shuffle::{Cpu, Rows, Serial, Words};

use bijective_shuffle_laws::agreement::reference;
use bijective_shuffle_laws::hostile::{Counter, Liar};
use bijective_shuffle_laws::items::Ledger;

fn serial(f: &dyn Bijection, len: usize) -> Vec<u64> {
    let mut expected = vec![0; len];
    Serial.write_indexes(f, &mut expected).unwrap();
    expected
}

#[test]
fn algorithm_1_by_hand() {
    // 3 0 5 2 7 4 1 6; those below the length stay.
    let f = Lcg::new(3, 5, 3).unwrap();
    assert_eq!(serial(&f, 8), [3, 0, 5, 2, 7, 4, 1, 6]);
    assert_eq!(serial(&f, 5), [3, 0, 2, 4, 1]);
    assert_eq!(serial(&f, 1), [0]);
    assert!(serial(&f, 0).is_empty());
}

#[test]
fn a_workspace_says_what_it_holds() {
    let f = Standard::from_seed(1 << 18, 1);
    let mut items: Vec<u64> = (0..1 << 18).collect();
    let mut workspace = Workspace::new().with_strategy(Strategy::Partitioned);
    assert_eq!(workspace.bytes(), 0);
    workspace.shuffle(&f, &mut items).unwrap();
    let held = workspace.bytes();
    assert!(held > 10 << 18, "{held}");
    workspace.shuffle(&f, &mut items[..1 << 17]).unwrap();
    assert_eq!(workspace.bytes(), held);
}

#[test]
fn items_that_cannot_be_copied_or_shared_are_moved() {
    // A cell may change threads, but not be shared between them.
    let mut cells: Vec<std::cell::Cell<u32>> = (0..300_000).map(std::cell::Cell::new).collect();
    cells.par_bijective_shuffle(1);
    let p = Permutation::new(300_000, 1);
    assert!(p.iter().zip(&cells).all(|(index, cell)| index == u64::from(cell.get())));

    let mut boxes: Vec<Box<dyn Fn() -> u64 + Send>> = Vec::new();
    for k in 0..300_u64 {
        boxes.push(Box::new(move || k));
    }
    boxes.par_bijective_shuffle(2);
    assert!(Permutation::new(300, 2).iter().zip(&boxes).all(|(index, f)| index == f()));
}

#[test]
fn zero_sized_items_take_no_time() {
    let mut units = [(); usize::MAX];
    units.par_bijective_shuffle(1);
    units.par_bijective_unshuffle(1);
    let f = VariablePhilox::<24>::new(64, [0; 24]).unwrap();
    units.try_par_bijective_shuffle(&f).unwrap();
    assert_eq!(units.len(), usize::MAX);
    let short = Lcg::new(4, 1, 0).unwrap();
    let error = units.try_par_bijective_shuffle(&short).unwrap_err();
    assert!(matches!(error, Error::LengthExceedsDomain { last: 15, .. }));
}

#[test]
fn wrong_lengths_are_refused_and_nothing_moves() {
    let p = Permutation::new(4, 1);
    let mut items = [1, 2, 3];
    let error = Error::LengthMismatch { expected: 4, actual: 3 };
    assert_eq!(p.apply_in_place(&mut items), Err(error.clone()));
    assert_eq!(p.unapply_in_place(&mut items), Err(error.clone()));
    assert_eq!(p.apply(&items), Err(error.clone()));
    assert_eq!(p.write_indexes(&mut [0_u32; 3]), Err(error));
    assert_eq!(items, [1, 2, 3]);

    let small = Lcg::new(2, 1, 0).unwrap();
    let error = Error::LengthExceedsDomain { len: 5, last: 3 };
    assert_eq!(Permutation::from_bijection(5, small).unwrap_err(), error);
    let mut items = [1, 2, 3, 4, 5];
    assert_eq!(Cpu.shuffle(&small, &mut items), Err(error.clone()));
    assert_eq!(Serial.shuffle(&small, &mut items), Err(error.clone()));
    assert_eq!(Cpu.shuffled(&small, &items), Err(error.clone()));
    assert_eq!(Serial.unshuffle(&small, &mut items), Err(error));
    assert_eq!(items, [1, 2, 3, 4, 5]);
    assert!(Permutation::from_bijection(4, small).is_ok());
}

#[test]
fn permutations_beyond_memory_are_an_error_with_their_bytes() {
    let p = Permutation::new(1 << 60, 1);
    assert_eq!(p.try_to_vec(), Err(Error::OutOfMemory { bytes: 1 << 63 }));
    assert!(matches!(Permutation::new(1 << 62, 1).try_to_vec(), Err(Error::OutOfMemory { .. })));
}

/// Constructors that allocate what a number asks for: none panics with another message than the
/// error's, and none aborts.
#[test]
fn tables_that_do_not_fit_the_memory_are_refused() {
    for len in [1 << 60, 1 << 61, u64::MAX] {
        let error = Table::try_from_seed(len, 1).unwrap_err();
        assert_eq!(error, BijectionError::OutOfMemory { bytes: len.saturating_mul(8) });
        let unwound = catch_unwind(|| Table::from_seed(len, 1)).unwrap_err();
        assert_eq!(unwound.downcast_ref::<String>(), Some(&error.to_string()));
        let walk = catch_unwind(|| CycleWalk::<Table>::from_seed(len, 1));
        assert_eq!(walk.unwrap_err().downcast_ref::<String>(), Some(&error.to_string()));
    }
    assert_eq!(Table::try_from_seed(0, 1).unwrap().values(), [0]);
    assert_eq!(Table::try_from_seed(1000, 1).unwrap(), Table::from_seed(1000, 1));
}

#[test]
fn divisions_that_do_not_fit_the_memory_are_refused() {
    let unwound = catch_unwind(|| Division::even(10, usize::MAX)).unwrap_err();
    let message = unwound.downcast_ref::<String>().unwrap();
    assert!(message.ends_with("bytes of working memory could not be allocated"), "{message}");
}

#[test]
fn rows_without_items_are_refused() {
    let no_rows = |actual| Error::View(ViewError::NotWholeRows { len: 0, actual });
    assert_eq!(Rows::new(&mut [1, 2, 3], 0).unwrap_err(), no_rows(3));
    assert_eq!(Rows::<u8>::new(&mut [], 0).unwrap_err(), no_rows(0));
    // A batch may have such rows, and then there is nothing to write.
    let none = Permutations::new(5, 0, 1);
    let error = none.write_rows(0, &mut [0_u32]).unwrap_err().to_string();
    assert_eq!(error, "a slice of 1 items cannot be divided into rows of 0");
    assert_eq!(none.write_rows::<u32>(0, &mut []), Ok(()));
}

#[test]
fn debug_output_shows_the_seed() {
    let seed = Seed::new(42).with_epoch(3);
    assert_eq!(format!("{seed:?}"), "Seed(42@3)");
    let shown = |p: &dyn std::fmt::Debug| format!("{p:?}").contains("seed: Some(Seed(42@3))");
    let p = Permutation::new(1000, seed);
    assert!(shown(&p) && shown(&p.inverted()) && shown(&Permutation::walk(1000, seed)));
    let given = Permutation::from_bijection(5, Lcg::new(3, 5, 3).unwrap()).unwrap();
    assert!(format!("{given:?}").contains("seed: None"));
    assert!(format!("{:?}", Permutations::new(3, 5, 42)).contains("seed: Seed(42)"));
}

/// Only one integer is a seed, so a literal of any size has that type.
#[test]
fn literals_are_seeds() {
    let mut v = [1, 2, 3];
    v.par_bijective_shuffle(42);
    v.par_bijective_unshuffle(42);
    v.par_bijective_shuffle(0xFEDC_BA98_7654_3210);
    v.par_bijective_unshuffle(Seed::from(0xFEDC_BA98_7654_3210));
    assert_eq!(v, [1, 2, 3]);
}

/// A plain call never starts CUDA: it would take memory of the first GPU, and break the children
/// that the process forks.
#[test]
fn the_back_end_is_the_cpu_until_another_is_chosen() {
    let p = Permutation::new(100, 1);
    let walk = Permutation::walk(100, 1);
    let given = Permutation::from_bijection(5, Lcg::new(3, 5, 3).unwrap()).unwrap();
    assert_eq!(Backend::default(), Backend::Cpu);
    let row = Permutations::new(3, 100, 1).row(2).unwrap();
    let by_default: [&dyn Debug; 6] =
        [&p, &p.inverted(), &p.then(&p).unwrap(), &walk, &given, &row];
    for p in by_default {
        assert!(format!("{p:?}").contains("backend: Cpu"), "{p:?}");
    }

    // What is made from a permutation runs where that does.
    let p = p.with_backend(Backend::Auto);
    let derived: [&dyn Debug; 2] = [&p.inverted(), &p.then(&Permutation::new(100, 2)).unwrap()];
    for p in derived {
        assert!(format!("{p:?}").contains("backend: Auto"), "{p:?}");
    }
}

#[test]
fn back_ends_can_be_chosen() {
    let p = Permutation::new(100, 1);
    assert_eq!(p.clone().with_backend(Backend::Auto).to_vec(), p.to_vec());
    let mut items: Vec<u32> = (0..100).collect();
    match p.clone().with_backend(Backend::Cuda).try_to_vec() {
        Ok(order) => assert_eq!(order, p.to_vec()),
        Err(error) => {
            assert!(matches!(error, Error::BackendUnavailable { .. }));
            assert!(error.to_string().starts_with("back end cuda is not available: "));
            assert_eq!(p.with_backend(Backend::Cuda).apply_in_place(&mut items), Err(error));
            assert!(items.into_iter().eq(0..100));
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
        assert_eq!(Cpu.write_indexes(&f, &mut indices), error);
        assert_eq!(Serial.write_indexes(&f, &mut indices), error);
        assert_eq!(indices.try_par_bijective_shuffle(&f), error);
        let said = format!("the slots {first} and {second} both have the value {index}");
        assert!(message.ends_with(&said), "{message}");

        // One that does not repeat when it is asked again.
        let calls = Counter::new(0);
        let map = |x| honest.forward(if calls.next() <= last && x == second { first } else { x });
        let error = Error::NotABijection(Defect::Repeats { index, slots: None });
        assert_eq!(Cpu.write_indexes(&Liar { last, map }, &mut indices), Err(error));
    }
}

#[test]
fn lengths_beyond_the_domain_are_refused() {
    let f = Lcg::new(3, 5, 3).unwrap();
    let mut items: Vec<u32> = (0..9).collect();
    let error = Err(Error::LengthExceedsDomain { len: 9, last: 7 });
    assert_eq!(items.try_par_bijective_shuffle(&f), error);
    assert_eq!(items.try_par_bijective_unshuffle(&f), error);
    assert_eq!(items.try_par_bijective_shuffled(&f).map(drop), error);
    assert_eq!(items.try_par_bijective_unshuffled(&f).map(drop), error);
    assert_eq!(items.try_par_bijective_sample(2, &f).map(drop), error);
    let mut units = [(); 9];
    assert_eq!(units.try_par_bijective_unshuffle(&f), error);
    assert_eq!(units.try_par_bijective_shuffled(&f).map(drop), error);
    assert_eq!((&mut items, &mut units).try_par_bijective_shuffle_together(&f), error);
    assert_eq!((&mut items, &mut units).try_par_bijective_unshuffle_together(&f), error);

    let error = Err(Error::LengthMismatch { expected: 9, actual: 4 });
    let mut few = [0; 4];
    let mut workspace = Workspace::new();
    assert_eq!((&mut items, &mut few).try_par_bijective_shuffle_together(&f), error);
    assert_eq!((&mut items, &mut few).try_par_bijective_unshuffle_together(&f), error);
    assert_eq!(workspace.shuffle_together(1, (&mut items, &mut few)), error);
    assert_eq!(workspace.unshuffle_together(1, (&mut items, &mut few)), error);
    assert_eq!(workspace.shuffle_into(1, &items, &mut few), error);
    assert!(items.into_iter().eq(0..9));
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
    let _ = units.try_par_bijective_shuffle(&liar);
    let _ = Serial.shuffle(&liar, &mut units);
    units.par_bijective_shuffle(1);
    Serial.unshuffle(&VariablePhilox::<24>::from_seed(30_000, 1), &mut units).unwrap();
    assert_eq!(UNITS_DROPPED.get(), 0);
    drop(units);
    assert_eq!(UNITS_DROPPED.get(), 30_000);
}

#[test]
fn clones_are_dropped_once_when_one_panics() {
    for len in [50_u32, 300_000] {
        for panic_at in [0, 1, len / 2, len - 1, len] {
            let ledger = Ledger::with_clones(len as usize, panic_at);
            let originals = ledger.items();
            let result = catch_unwind(AssertUnwindSafe(|| originals.par_bijective_shuffled(3)));
            assert_eq!(result.is_ok(), panic_at == len);
            drop(result);
            assert!(ledger.each_is_alive(1), "panic at {panic_at} of {len}");
            drop(originals);
            assert!(ledger.each_is_alive(0), "panic at {panic_at} of {len}");
        }
    }
}

/// Whatever points to a bijection is one, to the methods of slices too.
#[test]
fn any_pointer_to_a_bijection_will_do() {
    fn check<B: Bijection + ?Sized>(f: &B) {
        let in_order: Vec<u64> = (0..100).collect();
        let order = reference(&f, 100);
        let mut items = in_order.clone();
        items.try_par_bijective_shuffle(&f).unwrap();
        assert_eq!(items, order);
        assert_eq!(in_order.try_par_bijective_shuffled(&f).unwrap(), order);
        assert_eq!(order.try_par_bijective_unshuffled(&f).unwrap(), in_order);
        assert_eq!(in_order.try_par_bijective_sample(9, &f).unwrap(), order[..9]);
        (&mut items[..]).try_par_bijective_unshuffle_together(&f).unwrap();
        assert_eq!(items, in_order);
        (&mut items[..]).try_par_bijective_shuffle_together(&f).unwrap();
        items.try_par_bijective_unshuffle(&f).unwrap();
        assert_eq!(items, in_order);
    }
    let f = Standard::from_seed(103, 9);
    check(&f);
    check(&&f);
    let boxed: Box<dyn Bijection> = Box::new(f);
    check(&*boxed);
    check(&boxed);
}

/// A family that draws a different member each time, never with as many points as requested.
#[derive(Debug)]
struct Fickle(u64);

impl FromSeed for Fickle {
    fn from_words<W: Words + ?Sized>(len: u64, words: &mut W) -> Self {
        use core::sync::atomic::{AtomicU32, Ordering};
        static CALLS: AtomicU32 = AtomicU32::new(0);
        let calls = u64::from(CALLS.fetch_add(1, Ordering::Relaxed));
        Self((len + words.next_u64() % 3 + calls % 3) / 2)
    }
}

impl Bijection for Fickle {
    fn last(&self) -> u64 {
        self.0
    }
    fn forward(&self, slot: u64) -> u64 {
        slot.wrapping_mul(self.0).wrapping_sub(3)
    }
    fn inverse(&self, index: u64) -> u64 {
        index.wrapping_add(u64::MAX - 5)
    }
}

#[test]
fn a_family_that_lies_is_found_out() {
    for len in 3..100 {
        let f = BlockShuffle::<Fickle>::try_from_seed(len, 3, 2, len).unwrap();
        assert!(f.trusted().is_none());
        let mut items: Vec<u64> = (0..len).collect();
        let result = Permutation::from_bijection(len, f).and_then(|p| p.apply_in_place(&mut items));
        assert!(matches!(result, Err(Error::NotABijection(_))), "{result:?}");
        assert!(items.into_iter().eq(0..len));
    }
}
