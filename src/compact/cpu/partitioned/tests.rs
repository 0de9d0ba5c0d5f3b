//! Tests of the strategy by itself, with buckets of both kinds: the direct strategy would take over
//! after an overflow, and so hide it.

use core::mem::MaybeUninit;
use std::fmt::Debug;

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::*;
use crate::FromSeed;
use crate::bijection::{CycleWalk, GridFeistel, Lcg, MulXorshift, VariablePhilox};
use crate::compact::cpu::places::Span;
use crate::compact::plain::Plain;
use crate::compact::{Compactor, Serial, Strategy, Workspace};
use crate::engine::memory::SharedPtr;

/// Few enough buckets that they are large ones for more than `2^17` slots or indexes.
const FEW: u64 = 2;

fn pools() -> impl Iterator<Item = ThreadPool> {
    [1, 2, 3, 7, 16]
        .into_iter()
        .map(|threads| ThreadPoolBuilder::new().num_threads(threads).build().unwrap())
}

fn permutation(f: &dyn Bijection, len: usize) -> Vec<u32> {
    let mut p = vec![0; len];
    Serial.write_indexes(f, &mut p).unwrap();
    p
}

fn mix(x: u32) -> u64 {
    u64::from(x).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Moves items in both directions, and checks that the sort did not fall back to the direct
/// strategy and that every item is in its place.
fn check<T: Copy + Debug + Default + PartialEq + Send + Sync>(
    f: &Trusted,
    p: &[u32],
    most_buckets: u64,
    item: impl Fn(u32) -> T,
) {
    let with_most = |direction| Sorting::new::<T>(f, p.len(), direction, most_buckets).unwrap();
    check_sorts(p, with_most, item);
}

/// [`check`], of the sorts in the two directions.
fn check_sorts<'f, T: Copy + Debug + Default + PartialEq + Send + Sync>(
    p: &[u32],
    sorting: impl Fn(Direction) -> Sorting<'f>,
    item: impl Fn(u32) -> T,
) {
    let len = p.len();
    let source: Vec<T> = (0..len as u32).map(&item).collect();
    let shuffled: Vec<T> = p.iter().map(|&index| item(index)).collect();
    let mut buffers = PartitionedBuffers::new();
    let mut sort = |direction, from: *const T, to: &mut [T]| {
        let sorting = sorting(direction);
        let to = core::ptr::from_mut(to) as *mut [MaybeUninit<T>];
        let from = if from.is_null() { to.cast() } else { from.cast_mut() };
        // SAFETY: the places are those of `to`, which is borrowed until the sort is done.
        let to = unsafe { Span::new(to) };
        // SAFETY: there are `len` items at `from`: those of `source`, which has that length, or
        // those of `to` itself. Nothing else uses either meanwhile.
        let sorted = unsafe { sorting.sort(&SharedPtr::new(from), to, &mut buffers) };
        assert_eq!(
            sorted.map(|sorted| sorted.map(|place| place()).is_some()),
            Ok(true),
            "{direction:?}, {len} items, {} buckets",
            sorting.buckets.count
        );
    };
    let mut out = vec![T::default(); len];
    sort(Direction::Shuffle, source.as_ptr(), &mut out);
    assert!(out == shuffled, "{len} items of {} bytes, copied", size_of::<T>());
    sort(Direction::Unshuffle, core::ptr::null(), &mut out);
    assert!(out == source, "{len} items of {} bytes, back", size_of::<T>());
    sort(Direction::Shuffle, core::ptr::null(), &mut out);
    assert!(out == shuffled, "{len} items of {} bytes, in place", size_of::<T>());
}

#[test]
fn any_length_is_sorted_into_buckets_of_any_size() {
    for pool in pools() {
        for len in [1, 1000, 65_537, 131_071, 131_073, 200_000, 1 << 18, (1 << 20) + 1] {
            let f = MulXorshift::<10>::from_seed(len as u64, 1);
            let (f, p) = (f.trusted().unwrap(), permutation(&f, len));
            pool.install(|| {
                for most_buckets in [1, FEW, 5, tuning::MOST_BUCKETS] {
                    check(&f, &p, most_buckets, mix);
                }
            });
        }
    }
}

/// A few hundred items, which Miri can watch: in one bucket of the usual size, with gaps, and in
/// several small ones without, since the gaps of small ones are not what the strategy expects.
#[test]
fn short_form_few_items_are_sorted() {
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let chain = MulXorshift::<2>::from_seed(260, 1);
    let (f, p) = (chain.trusted().unwrap(), permutation(&chain, 260));
    pool.install(|| check(&f, &p, tuning::MOST_BUCKETS, |x| [mix(x) as u8; 3]));
    let full = Lcg::new(8, 5, 3).unwrap();
    let (f, p) = (full.trusted().unwrap(), permutation(&full, 256));
    let small = |direction| {
        let sorting = Sorting::new::<u64>(&f, 256, direction, tuning::MOST_BUCKETS).unwrap();
        Sorting { buckets: BucketDivision::of_bits(6, 255, tuning::MOST_BUCKETS), ..sorting }
    };
    pool.install(|| check_sorts(&p, small, mix));
}

#[test]
fn items_of_any_size_are_sorted() {
    let f = MulXorshift::<10>::from_seed(150_000, 1);
    let (f, p) = (f.trusted().unwrap(), permutation(&f, 150_000));
    for pool in pools() {
        pool.install(|| {
            for most_buckets in [FEW, tuning::MOST_BUCKETS] {
                check(&f, &p, most_buckets, |x| mix(x) as u8);
                check(&f, &p, most_buckets, |x| mix(x) as u16);
                check(&f, &p, most_buckets, |x| mix(x) as u32);
                check(&f, &p, most_buckets, mix);
                check(&f, &p, most_buckets, |x| [mix(x) as u32; 3]);
                check(&f, &p, most_buckets, |x| u128::from(mix(x)) << 20);
                check(&f, &p, most_buckets, |x| [mix(x); 3]);
                check(&f, &p, most_buckets, |x| [mix(x); 8]);
            }
        });
    }
}

#[test]
fn every_family_is_sorted() {
    let len = 140_000;
    let philox = VariablePhilox::<24>::from_seed(len as u64, 2);
    let walk = CycleWalk::new(philox, len as u64).unwrap();
    let grid = GridFeistel::<12>::from_seed(len as u64, 2);
    // Four to eight times as many slots as items.
    let wide = MulXorshift::<10>::from_seed(4 * len as u64, 2);
    let families: [&dyn Bijection; 4] = [&philox, &walk, &grid, &wide];
    for pool in pools() {
        for &f in &families {
            let p = permutation(f, len);
            let f = f.trusted().unwrap();
            pool.install(|| {
                for most_buckets in [FEW, tuning::MOST_BUCKETS] {
                    check(&f, &p, most_buckets, mix);
                }
            });
        }
    }
}

/// Permutations that are not random at all overflow buckets of either kind, and nothing has been
/// written by then.
#[test]
fn buckets_that_overflow_are_left_to_the_direct_strategy() {
    let len = 300_000;
    for most_buckets in [FEW, tuning::MOST_BUCKETS] {
        let mut overflows = [0, 0];
        for multiplier in [1, 3, (1 << 17) + 1] {
            let f = Lcg::new(19, multiplier, 5).unwrap();
            let p = permutation(&f, len);
            for pool in pools() {
                let more = pool.install(|| count_overflows(&f, &p, most_buckets));
                overflows = [overflows[0] + more[0], overflows[1] + more[1]];
            }
        }
        assert!(overflows.iter().all(|&count| count > 0), "{overflows:?}, {most_buckets} buckets");
    }
}

/// The number of sorts in each direction that overflow, after which the direct strategy takes over.
fn count_overflows(f: &Lcg, p: &[u32], most_buckets: u64) -> [u32; 2] {
    let source: Vec<u32> = (0..p.len() as u32).collect();
    let mut items = source.clone();
    let mut workspace = Workspace::new().with_strategy(Strategy::Partitioned);
    workspace.shuffle(f, &mut items).unwrap();
    assert_eq!(items, p);
    workspace.unshuffle(f, &mut items).unwrap();
    assert_eq!(items, source);
    let mut out = vec![0; p.len()];
    workspace.shuffle_into(f, &source, &mut out).unwrap();
    assert_eq!(out, p);
    workspace.unshuffle_into(f, &out, &mut items).unwrap();
    assert_eq!(items, source);
    [Direction::Shuffle, Direction::Unshuffle].map(|direction| {
        let mut items = source.clone();
        let f = f.trusted().unwrap();
        let sorting = Sorting::new::<u32>(&f, p.len(), direction, most_buckets).unwrap();
        let places = core::ptr::from_mut(&mut *items) as *mut [MaybeUninit<u32>];
        let from = SharedPtr::new(places.cast::<u32>());
        // SAFETY: the places are those of `items`, which is not used until the sort is done.
        let span = unsafe { Span::new(places) };
        let mut buffers = PartitionedBuffers::new();
        // SAFETY: `from` is the start of the same items, as many as the sort was created for.
        let sorted = unsafe { sorting.sort(&from, span, &mut buffers) };
        let overflows = sorted.unwrap().map(|place| place()).is_none();
        assert!(!overflows || items == source, "{direction:?}, {most_buckets} buckets");
        u32::from(overflows)
    })
}

/// Only where a `usize` can count the items.
#[cfg(target_pointer_width = "64")]
#[test]
fn lengths_that_cannot_be_sorted_are_refused() {
    let f = Lcg::new(40, 5, 3).unwrap();
    let f = f.trusted().unwrap();
    let serves = |len, most_buckets| {
        Sorting::new::<u64>(&f, len, Direction::Shuffle, most_buckets).is_some()
    };
    assert!(!serves(1 << 39, tuning::MOST_BUCKETS), "the buckets would be too large");
    assert!(serves(1 << 39, 1 << 18));
    assert!(serves(1 << 24, tuning::MOST_BUCKETS));
    assert!(!serves(1 << 20, tuning::MOST_BUCKETS), "the buckets would have too many slots");
}

#[test]
fn items_that_cannot_be_sorted_are_refused() {
    let f = Lcg::new(20, 5, 3).unwrap();
    let f = f.trusted().unwrap();
    let most = tuning::MOST_BUCKETS;
    assert!(Sorting::new::<[u64; 8]>(&f, 1 << 20, Direction::Unshuffle, most).is_some());
    assert!(Sorting::new::<[u64; 9]>(&f, 1 << 20, Direction::Unshuffle, most).is_none());
    assert!(Sorting::new::<u64>(&f, 0, Direction::Unshuffle, most).is_none());
}

/// Items that are few for the slots, in both directions, of several sizes, with all strategies.
#[test]
fn few_items_of_many_slots_are_moved() {
    fn check<T: Copy + Send + Sync + PartialEq + core::fmt::Debug>(
        len: usize,
        f: &dyn Bijection,
        item: impl Fn(usize) -> T,
    ) {
        let source: Vec<T> = (0..len).map(item).collect();
        let mut expected = source.clone();
        Serial.shuffle(f, &mut expected).unwrap();
        for strategy in [Strategy::Auto, Strategy::Direct, Strategy::Partitioned, Strategy::InPlace]
        {
            let mut workspace = Workspace::new().with_strategy(strategy);
            let mut items = source.clone();
            workspace.shuffle(f, &mut items).unwrap();
            assert_eq!(items, expected, "{strategy:?}");
            workspace.unshuffle(f, &mut items).unwrap();
            assert_eq!(items, source, "{strategy:?}");
            workspace.shuffle_into(f, &source, &mut items).unwrap();
            assert_eq!(items, expected, "{strategy:?}");
            let mut back = source.clone();
            back.reverse();
            workspace.unshuffle_into(f, &items, &mut back).unwrap();
            assert_eq!(back, source, "{strategy:?}");
        }
    }

    for (len, points) in [(1, 1 << 18), (2, 1 << 17), (1000, 1 << 20), (60_001, 1 << 20)] {
        for seed in 0..2 {
            let f = MulXorshift::<10>::from_seed(points, seed);
            check(len, &f, |k| k as u32);
            check(len, &f, |k| [k as u64; 3]);
            check(len, &f, |k| [k as u8; 100]);
        }
        // All survivors at the beginning, and a bijection that is not trusted.
        let counter = Lcg::new(20, 1, 0).unwrap();
        check(len, &counter, |k| k as u64);
        check(len, &Plain(counter), |k| k as u64);
    }
}
