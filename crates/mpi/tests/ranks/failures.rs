//! Where one rank fails, all ranks get the same error, and nothing has moved.

use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};

use bijective_shuffle::bijection::VariablePhilox;
use bijective_shuffle::prelude::*;
use bijective_shuffle::{Trusted, TrustedBijection};
use bijective_shuffle_mpi::{MpiShuffleError, Spread};
use mpi::environment::Universe;
use mpi::topology::{Communicator, SimpleCommunicator};

use super::shapes::{SHAPES, count, items, spread};

/// What a bijection says when it panics.
const PANIC: &str = "this bijection panics";

/// Whether a panic is one that a test asks for.
pub(crate) fn is_expected(panic: &PanicHookInfo<'_>) -> bool {
    let payload = panic.payload();
    payload.downcast_ref::<String>().is_some_and(|text| text == PANIC)
        || payload.downcast_ref::<&str>().is_some_and(|&text| text == PANIC)
}

/// The rank and the message of an error.
#[track_caller]
fn failure(result: Result<(), MpiShuffleError>) -> (usize, String) {
    match result {
        Err(MpiShuffleError::RankFailed { rank, message }) => (rank, message),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn wrong_arrays(world: &SimpleCommunicator) {
    let (rank, ranks) = (world.rank() as usize, world.size() as usize);
    for first in 0..ranks {
        let mut spread = Spread::new(world, 100).unwrap();
        let p = Permutation::new(spread.len(), 42);
        let mut plan = spread.plan(&p).unwrap();
        // From some rank on, all have one item too many.
        let count = 100 + u64::from(rank >= first);
        let (mut array, mut other) = (items::<u64>(0..count), items::<u8>(0..100));
        let results = [
            plan.shuffle(&mut array),
            plan.unshuffle(&mut array),
            plan.shuffle_together((&mut other, &mut array)),
        ];
        for result in results {
            let (rank, message) = failure(result);
            assert_eq!(rank, first);
            assert!(message.contains("101 items"), "{message}");
        }
        assert_eq!(array, items::<u64>(0..count));
        assert_eq!(other, items::<u8>(0..100));
        array.truncate(100);
        plan.shuffle_together((&mut array, &mut other)).unwrap();
    }
}

/// A bijection that is wrong in a part of its domain.
struct Hostile {
    inner: VariablePhilox<24>,
    /// In place of these values it repeats the one before them, or panics.
    wrong: Range<u64>,
    panics: bool,
}

impl Hostile {
    fn answer(&self, point: u64) -> u64 {
        let is_wrong = self.wrong.contains(&point);
        assert!(!(self.panics && is_wrong), "{PANIC}");
        if is_wrong { self.wrong.start - 1 } else { point }
    }
}

impl Bijection for Hostile {
    fn last(&self) -> u64 {
        self.inner.last()
    }

    fn forward(&self, slot: u64) -> u64 {
        self.answer(self.inner.forward(slot))
    }

    fn inverse(&self, index: u64) -> u64 {
        self.inner.inverse(self.answer(index))
    }
}

pub(crate) fn hostile_bijections(world: &SimpleCommunicator) {
    const LEN: u64 = 3000;
    // With a single wrong value as many survive as there should.
    for wrong in [1..u64::MAX, LEN / 2..u64::MAX, LEN - 1..LEN + 1, LEN - 1..LEN, 1..2, 77..90] {
        for panics in [false, true] {
            let inner = VariablePhilox::<24>::from_seed(LEN, 42);
            let p =
                Permutation::from_bijection(LEN, Hostile { inner, wrong: wrong.clone(), panics })
                    .unwrap();
            for shape in [SHAPES[0], SHAPES[4]] {
                let mut spread = spread(world, [shape; 2], LEN);
                let before = items::<u64>(spread.before().places(spread.rank()));
                let mut array = before.clone();
                let outcome = catch_unwind(AssertUnwindSafe(|| {
                    let mut plan = spread.plan(&p)?;
                    plan.shuffle(&mut array)
                }));
                // A rank whose own part panics goes on panicking; the others get an error, or they
                // would wait here for ever.
                if let Ok(result) = outcome {
                    let (_, message) = failure(result);
                    assert!(!panics || message.contains(PANIC), "{message}");
                }
                assert_eq!(array, before);
            }
        }
    }
}

/// A bijection that panics when one of its slots is evaluated for the given time.
struct Fuse {
    inner: VariablePhilox<24>,
    slot: u64,
    calls: AtomicU64,
    /// The call that panics; 0 if none does.
    last: AtomicU64,
    /// Whether the trusted form is the inner bijection, and not this one.
    is_apart: bool,
}

impl Bijection for Fuse {
    fn last(&self) -> u64 {
        self.inner.last()
    }

    fn forward(&self, slot: u64) -> u64 {
        if slot == self.slot {
            let call = self.calls.fetch_add(1, Relaxed) + 1;
            assert!(call != self.last.load(Relaxed), "{PANIC}");
        }
        self.inner.forward(slot)
    }

    fn inverse(&self, index: u64) -> u64 {
        self.inner.inverse(index)
    }

    fn trusted(&self) -> Option<Trusted<'_>> {
        let trusted = if self.is_apart { self.inner.trusted()? } else { Trusted::new(self) };
        Some(trusted.panic_free())
    }
}

// SAFETY: the values are those of the inner bijection, where there are any. That it is free of
// panics is a lie, which is what is tested.
unsafe impl TrustedBijection for Fuse {}

/// What has arrived has replaced the items already when a rank's bijection panics for the first
/// time. If it is not even the one that is vouched for, it is not asked.
pub(crate) fn a_late_panic(world: &SimpleCommunicator) {
    const LEN: u64 = 4096;
    for is_apart in [true, false] {
        let inner = VariablePhilox::<24>::from_seed(LEN, 42);
        let (calls, last) = (AtomicU64::new(0), AtomicU64::new(0));
        // The first slot is evaluated by rank 0 when it places what has arrived.
        let fuse = Fuse { inner, slot: 0, calls, last, is_apart };
        let p = Permutation::from_bijection(LEN, fuse).unwrap();
        let mut spread = spread(world, [SHAPES[0]; 2], LEN).with_tags(false);
        let before = items::<u64>(spread.before().places(spread.rank()));
        let mut array = before.clone();
        let mut plan = spread.plan(&p).unwrap();
        plan.shuffle(&mut array).unwrap();
        let shuffled = array.clone();
        plan.unshuffle(&mut array).unwrap();
        // How often the slot is evaluated in a shuffle, for the last time to place.
        let calls = || p.bijection().calls.swap(0, Relaxed);
        calls();
        plan.shuffle(&mut array).unwrap();
        let evaluations = calls();
        plan.unshuffle(&mut array).unwrap();
        calls();
        if world.rank() == 0 {
            assert_eq!(evaluations == 0, is_apart);
            p.bijection().last.store(evaluations, Relaxed);
        }
        let outcome = catch_unwind(AssertUnwindSafe(|| plan.shuffle(&mut array)));
        if is_apart {
            outcome.unwrap().unwrap();
            assert_eq!(array, shuffled);
            continue;
        }
        match outcome {
            Err(_) => assert_eq!(world.rank(), 0),
            Ok(result) => {
                let (rank, message) = failure(result);
                assert!(rank == 0 && message.contains(PANIC), "{rank}: {message}");
            }
        }
        assert_eq!(array, before);
    }
}

/// A bijection in which two slots have changed their indexes.
struct Swapped {
    inner: VariablePhilox<24>,
    slots: [u64; 2],
}

impl Swapped {
    fn slot(&self, slot: u64) -> u64 {
        let [a, b] = self.slots;
        if slot == a {
            b
        } else if slot == b {
            a
        } else {
            slot
        }
    }
}

impl Bijection for Swapped {
    fn last(&self) -> u64 {
        self.inner.last()
    }

    fn forward(&self, slot: u64) -> u64 {
        self.inner.forward(self.slot(slot))
    }

    fn inverse(&self, index: u64) -> u64 {
        self.slot(self.inner.inverse(index))
    }

    fn trusted(&self) -> Option<Trusted<'_>> {
        Some(Trusted::new(self))
    }
}

// SAFETY: a bijection after an exchange of two slots is one.
unsafe impl TrustedBijection for Swapped {}

/// A rank whose bijection differs in two slots only, which is not noticed beforehand, sends an item
/// to the slot of another item. The rank that puts their bucket in order finds out, in whichever
/// chunk that is, and all get its error after the last one.
pub(crate) fn two_items_of_a_slot(world: &SimpleCommunicator) {
    let (rank, ranks) = (world.rank() as u64, world.size() as u64);
    const LEN: u64 = 900_000;
    let bijection = |slots| Swapped { inner: VariablePhilox::<24>::from_seed(LEN, 42), slots };
    let of = |slots| Permutation::from_bijection(LEN, bijection(slots)).unwrap();
    let same = bijection([0, 0]);
    let survivor = |slot: u64| (slot..).find(|&slot| same.forward(slot) < LEN).unwrap();
    // With even shards.
    let holder = |slot| {
        let index = same.forward(slot);
        (0..ranks).find(|rank| LEN * (rank + 1) / ranks > index).unwrap()
    };
    // In the first, a middle and the last one of the 16 buckets.
    for bucket in [0, 9, 15] {
        let b = survivor(bucket * (1 << 16) + 777);
        // If another rank holds its item, it sends it to the place of the first one's.
        let a = (3 << 16..).map(survivor).find(|&a| ranks == 1 || holder(a) != holder(b)).unwrap();
        for chunks in [1, 2, 4, 16] {
            let mut spread = spread(world, [SHAPES[0]; 2], LEN).with_chunks(chunks);
            let places = spread.before().places(spread.rank());
            let before = items::<u64>(places);
            let mut array = before.clone();
            let p = of(if rank == holder(a) { [a, b] } else { [0, 0] });
            let result = spread.plan(&p).unwrap().shuffle(&mut array);
            if ranks == 1 {
                // It is another permutation then.
                result.unwrap();
                continue;
            }
            let (failed, message) = failure(result);
            assert!(message.contains("items"), "{message}");
            // About as many places come before the bucket as it has slots before it.
            let about = LEN * b / (1 << 20) * ranks / LEN;
            assert!((failed as u64).abs_diff(about) <= 1, "rank {failed} and not {about}");
            assert_eq!(array, before);
            // The next shuffle finds nothing of it.
            let p = Permutation::new(LEN, 43);
            let mut plan = spread.plan(&p).unwrap();
            plan.shuffle(&mut array).unwrap();
            plan.unshuffle(&mut array).unwrap();
            assert_eq!(array, before);
        }
    }
}

pub(crate) fn other_lengths(world: &SimpleCommunicator) {
    let held = count(world, SHAPES[4], 1000);
    let mut spread = Spread::new(world, held).unwrap();
    for len in [0, 999, 1001, 1 << 40] {
        let error = spread.plan(&Permutation::walk(len, 42)).map(drop).unwrap_err();
        assert_eq!(error, MpiShuffleError::LengthMismatch { permutation: len, items: 1000 });
    }
    // Items that would appear from nowhere, on one rank.
    let more = held + usize::from(world.rank() == world.size() - 1);
    let (rank, message) = failure(Spread::between(world, held, more).map(drop));
    assert_eq!(rank, 0);
    assert!(message.contains("1001 items"), "{message}");
    // More items than 64 bits count.
    if world.size() > 1 {
        failure(Spread::new(world, usize::MAX).map(drop));
    }
}

/// A spread may be dropped after the end of MPI.
pub(crate) fn outlive(universe: Universe) {
    let spread = Spread::new(&universe.world(), 10).unwrap();
    drop(universe);
    assert_eq!(spread.len(), 10 * spread.ranks() as u64);
    drop(spread);
}
