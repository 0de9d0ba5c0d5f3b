//! The memory that a rank takes is limited, and where a rank is refused some, all say so and
//! nothing has moved.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use bijective_shuffle::prelude::*;
use bijective_shuffle_mpi::{MpiShuffleError, Spread};
use mpi::collective::SystemOperation;
use mpi::topology::{Communicator, SimpleCommunicator};
use mpi::traits::CommunicatorCollectives;

use super::shapes::{SHAPES, items, ordered, spread};

/// Requests of as many bytes may be refused. Smaller ones are not: rayon's own would abort.
const LARGE: usize = 4096;

/// How many large requests are still granted, and then one is not; 0 if all are.
static GRANTED: AtomicUsize = AtomicUsize::new(0);

/// How many were refused.
static REFUSED: AtomicUsize = AtomicUsize::new(0);

/// The bytes that are allocated, and the most at any time since it was last set.
static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// Counts what is allocated, and refuses a request.
pub(crate) struct Counting;

impl Counting {
    fn refuses(bytes: usize) -> bool {
        let counts_down = |left: usize| left.checked_sub(1);
        let refuses = bytes >= LARGE && GRANTED.fetch_update(SeqCst, SeqCst, counts_down) == Ok(1);
        REFUSED.fetch_add(usize::from(refuses), SeqCst);
        refuses
    }
}

// SAFETY: what is granted is the system's, and what is refused is null.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if Self::refuses(layout.size()) {
            return ptr::null_mut();
        }
        let held = HELD.fetch_add(layout.size(), SeqCst) + layout.size();
        PEAK.fetch_max(held, SeqCst);
        // SAFETY: the caller promises a layout of some size.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), SeqCst);
        // SAFETY: the caller promises memory of this layout from here, which is the system's.
        unsafe { System.dealloc(start, layout) }
    }
}

/// The most bytes that a call has allocated at any time, beyond those that were there before.
fn peak_of<R>(call: impl FnOnce() -> R) -> (R, usize) {
    let before = HELD.load(SeqCst);
    PEAK.store(before, SeqCst);
    let result = call();
    (result, PEAK.load(SeqCst) - before)
}

/// As many items on each rank that without a limit the working memory is allocated and not mapped.
const ITEMS: u64 = 1 << 21;

/// The memory beside an array and as many places for its new order, to shuffle it and to undo that.
/// `uses_tags` is whether there is memory for tags.
fn working_bytes(
    world: &SimpleCommunicator,
    limit: u64,
    has_tags: bool,
    uses_tags: bool,
) -> [usize; 2] {
    let mut spread = Spread::new(world, ITEMS as usize).unwrap();
    spread = spread.with_tags(has_tags).with_memory_limit(limit);
    let places = spread.before().places(spread.rank());
    let p = Permutation::new(spread.len(), 42);
    let expected: Vec<u64> = p.range(places.clone()).unwrap().collect();
    let mut array = items::<u64>(places.clone());
    let mut plan = spread.plan(&p).unwrap();
    let (result, there) = peak_of(|| plan.shuffle(&mut array));
    result.unwrap();
    assert!(array == expected);
    // Tags need no census there.
    assert_eq!(plan.times().census.is_zero(), uses_tags);
    drop(plan);
    // Another spread has none of this one's memory.
    let mut spread = Spread::new(world, ITEMS as usize).unwrap();
    spread = spread.with_tags(has_tags).with_memory_limit(limit);
    let mut plan = spread.plan(&p).unwrap();
    let (result, back) = peak_of(|| plan.unshuffle(&mut array));
    result.unwrap();
    assert!(array == items::<u64>(places));
    // What the array's new order takes was allocated too.
    [there, back].map(|bytes| bytes - 8 * ITEMS as usize)
}

pub(crate) fn limits(world: &SimpleCommunicator) {
    // More ranks only take longer.
    if world.size() > 3 {
        return;
    }
    const LIMIT: usize = 10 << 20;
    for has_tags in [false, true] {
        let taken = working_bytes(world, LIMIT as u64, has_tags, false);
        assert!(taken.iter().all(|&bytes| bytes <= LIMIT), "tags {has_tags}: {taken:?} bytes");
        let without_limit = working_bytes(world, u64::MAX, has_tags, has_tags);
        assert!(without_limit.iter().any(|&bytes| bytes > LIMIT), "{without_limit:?} bytes");
    }
    // In many chunks tags take little more than the items once more, and in a single one twice as
    // much if there are others who send.
    const FEW_CHUNKS: usize = 33 << 20;
    let taken = working_bytes(world, FEW_CHUNKS as u64, true, true);
    assert!(taken.iter().all(|&bytes| bytes <= FEW_CHUNKS), "{taken:?} bytes");
}

/// Refuses the n-th large request of one rank, for one n after the other, until it has no more.
fn refuse_each(world: &SimpleCommunicator, refused: i32, has_tags: bool, undo: bool) -> usize {
    // Enough items that every list of them is large, and that without tags there are two rounds.
    let len = 70_001 * world.size() as u64;
    let p = Permutation::new(len, 42);
    let whole: Vec<u64> = (0..len).collect();
    let order = p.apply(&whole).unwrap();
    for nth in 1.. {
        let mut spread = spread(world, [SHAPES[0]; 2], len).with_tags(has_tags).with_chunks(3);
        if !has_tags {
            spread = spread.with_memory_limit(0);
        }
        let places = spread.before().places(spread.rank());
        let (before, after) = (items::<u64>(places.clone()), ordered::<u64>(&order, places));
        let [before, after] = if undo { [after, before] } else { [before, after] };
        let mut array = before.clone();
        let mut bytes: Vec<u8> = before.iter().map(|&item| item as u8).collect();
        let [bytes_before, bytes_after] =
            [&before, &after].map(|items| items.iter().map(|&item| item as u8).collect::<Vec<_>>());
        let mut plan = spread.plan(&p).unwrap();
        REFUSED.store(0, SeqCst);
        GRANTED.store(if world.rank() == refused { nth } else { 0 }, SeqCst);
        let result = if undo {
            plan.unshuffle_together((&mut array, &mut bytes))
        } else {
            plan.shuffle_together((&mut array, &mut bytes))
        };
        GRANTED.store(0, SeqCst);
        let was_refused = REFUSED.load(SeqCst);
        match result {
            Ok(()) => assert!(array == after && bytes == bytes_after, "request {nth}"),
            Err(MpiShuffleError::RankFailed { rank, message }) => {
                assert_eq!(rank, refused as usize, "{message}");
                assert!(message.contains("working memory"), "{message}");
                assert!(array == before && bytes == bytes_before, "request {nth}: {message}");
                // There is memory again.
                if undo {
                    plan.unshuffle_together((&mut array, &mut bytes)).unwrap();
                } else {
                    plan.shuffle_together((&mut array, &mut bytes)).unwrap();
                }
                assert!(array == after && bytes == bytes_after, "after request {nth}");
            }
            Err(error) => panic!("request {nth}: {error}"),
        }
        let mut refusals = 0_u64;
        world.all_reduce_into(&(was_refused as u64), &mut refusals, SystemOperation::sum());
        if refusals == 0 {
            return nth - 1;
        }
    }
    unreachable!("some request is the last")
}

pub(crate) fn refused(world: &SimpleCommunicator) {
    for refused in if world.size() > 1 { vec![0, world.size() - 1] } else { vec![0] } {
        for has_tags in [false, true] {
            for undo in [false, true] {
                assert!(refuse_each(world, refused, has_tags, undo) > 1);
            }
        }
    }
}
