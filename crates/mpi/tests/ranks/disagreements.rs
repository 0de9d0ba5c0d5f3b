//! Ranks whose arguments do not belong together get the same error, and nothing moves.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use bijective_shuffle::Trusted;
use bijective_shuffle::bijection::Standard;
use bijective_shuffle::prelude::*;
use bijective_shuffle_mpi::{Difference, MpiShuffleError, Spread};
use mpi::topology::{Communicator, SimpleCommunicator};

/// Whether this is the rank that differs from the others: each once.
fn differs(world: &SimpleCommunicator) -> impl Iterator<Item = bool> + use<> {
    let (rank, ranks) = (world.rank(), world.size());
    (0..if ranks > 1 { ranks } else { 0 }).map(move |other| rank == other)
}

pub(crate) fn of_arguments(world: &SimpleCommunicator) {
    use Difference::{Arrays, Chunks, Lengths, MemoryLimits, MessageLimits, Permutations, Tags};
    let items: Vec<u64> = (0..5000).map(|k| 10_000 * world.rank() as u64 + k).collect();
    for differs in differs(world) {
        let mut spread = Spread::new(world, items.len()).unwrap();
        let len = spread.len();

        // Permutations.
        let plan = |spread: &mut Spread, len, seed| {
            spread.plan(&Permutation::new(len, seed)).map(drop).unwrap_err()
        };
        let error = plan(&mut spread, len + u64::from(differs), 42);
        assert_eq!(error, MpiShuffleError::Disagreement(Lengths));
        let error = plan(&mut spread, len, 42 + u64::from(differs));
        assert_eq!(error, MpiShuffleError::Disagreement(Permutations));
        let epoch = Seed::new(42).with_epoch(u64::from(differs));
        let error = spread.plan(&Permutation::new(len, epoch)).map(drop).unwrap_err();
        assert_eq!(error, MpiShuffleError::Disagreement(Permutations));
        let p = Permutation::new(len, 42);
        let p = if differs { p.inverted() } else { p };
        let error = spread.plan(&p).map(drop).unwrap_err();
        assert_eq!(error, MpiShuffleError::Disagreement(Permutations));
        let error = if differs {
            spread.plan(&Permutation::walk(len, 42)).map(drop).unwrap_err()
        } else {
            spread.plan(&Permutation::new(len, 42)).map(drop).unwrap_err()
        };
        assert_eq!(error, MpiShuffleError::Disagreement(Permutations));

        // Arrays.
        let p = Permutation::new(len, 42);
        let mut plan = spread.plan(&p).unwrap();
        let mut array = items.clone();
        let mut small: Vec<u32> = items.iter().map(|&item| item as u32).collect();
        let result = if differs { plan.shuffle(&mut small) } else { plan.shuffle(&mut array) };
        assert_eq!(result, Err(MpiShuffleError::Disagreement(Arrays)));
        let result = if differs {
            plan.shuffle_together((&mut array, &mut small))
        } else {
            plan.shuffle(&mut array)
        };
        assert_eq!(result, Err(MpiShuffleError::Disagreement(Arrays)));
        assert_eq!(array, items);
        assert!(small.iter().zip(&items).all(|(&small, &item)| small == item as u32));
        // The plan still works.
        plan.shuffle(&mut array).unwrap();
        plan.unshuffle(&mut array).unwrap();
        assert_eq!(array, items);

        // Messages.
        drop(plan);
        let mut spread = spread.with_message_limit(if differs { 7 } else { 8 });
        let result = spread.plan(&p).unwrap().shuffle(&mut array);
        assert_eq!(result, Err(MpiShuffleError::Disagreement(MessageLimits)));
        assert_eq!(array, items);

        // Memory.
        let mut spread = Spread::new(world, items.len()).unwrap();
        if differs {
            spread = spread.with_memory_limit(0);
        }
        let result = spread.plan(&p).unwrap().shuffle(&mut array);
        assert_eq!(result, Err(MpiShuffleError::Disagreement(MemoryLimits)));
        assert_eq!(array, items);

        // Tags.
        let mut spread = Spread::new(world, items.len()).unwrap().with_tags(differs);
        let result = spread.plan(&p).unwrap().shuffle(&mut array);
        assert_eq!(result, Err(MpiShuffleError::Disagreement(Tags)));
        assert_eq!(array, items);

        // Chunks.
        let mut spread = Spread::new(world, items.len()).unwrap();
        if differs {
            spread = spread.with_chunks(2);
        }
        let result = spread.plan(&p).unwrap().shuffle(&mut array);
        assert_eq!(result, Err(MpiShuffleError::Disagreement(Chunks)));
        assert_eq!(array, items);
    }
}

/// The default family, trusted or not, and from some time on.
struct Perhaps {
    inner: Standard,
    /// How often it still vouches.
    times: AtomicU64,
}

impl Bijection for Perhaps {
    fn last(&self) -> u64 {
        self.inner.last()
    }

    fn forward(&self, slot: u64) -> u64 {
        self.inner.forward(slot)
    }

    fn inverse(&self, index: u64) -> u64 {
        self.inner.inverse(index)
    }

    fn trusted(&self) -> Option<Trusted<'_>> {
        let left = self.times.load(Relaxed);
        self.times.store(left.saturating_sub(1), Relaxed);
        if left > 0 { self.inner.trusted() } else { None }
    }
}

/// A bijection that is vouched for on one rank only is not the same on all, and one for which
/// nobody vouches any more later on travels without tags on all ranks.
pub(crate) fn of_trust(world: &SimpleCommunicator) {
    const LEN: u64 = 1 << 18;
    for differs in differs(world) {
        for memory in [None, Some(64 << 20)] {
            let mut spread = Spread::new(world, LEN as usize).unwrap();
            if let Some(bytes) = memory {
                spread = spread.with_memory_limit(bytes);
            }
            let of = |times| {
                let (inner, times) = (Standard::from_seed(spread.len(), 42), AtomicU64::new(times));
                Permutation::from_bijection(spread.len(), Perhaps { inner, times }).unwrap()
            };
            let (never, once) = (of(if differs { u64::MAX } else { 0 }), of(1));
            let once = if differs { once } else { of(u64::MAX) };
            let error = spread.plan(&never).map(drop).unwrap_err();
            assert_eq!(error, MpiShuffleError::Disagreement(Difference::Permutations));
            let first = LEN * world.rank() as u64;
            let items: Vec<u64> = (first..first + LEN).collect();
            let mut array = items.clone();
            let mut plan = spread.plan(&once).unwrap();
            plan.shuffle(&mut array).unwrap();
            plan.unshuffle(&mut array).unwrap();
            assert_eq!(array, items);
        }
    }
}

pub(crate) fn of_calls(world: &SimpleCommunicator) {
    let calls = Err(MpiShuffleError::Disagreement(Difference::Calls));
    let items: Vec<u64> = (0..5000).map(|k| 10_000 * world.rank() as u64 + k).collect();
    for differs in differs(world) {
        let mut spread = Spread::new(world, items.len()).unwrap();
        let p = Permutation::new(spread.len(), 42);
        let mut array = items.clone();

        // Some shuffle, and some undo it; whether or not they have done so before.
        let mut plan = spread.plan(&p).unwrap();
        for _ in 0..2 {
            let result =
                if differs { plan.shuffle(&mut array) } else { plan.unshuffle(&mut array) };
            assert_eq!(result, calls);
            assert_eq!(array, items);
            plan.shuffle(&mut array).unwrap();
            plan.unshuffle(&mut array).unwrap();
            assert_eq!(array, items);
        }

        // Some make another plan.
        let result = if differs {
            drop(plan);
            spread.plan(&p).map(drop)
        } else {
            plan.shuffle(&mut array)
        };
        assert_eq!(result, calls);
        assert_eq!(array, items);
    }
}
