//! Tests of the strategy by itself, with buckets of both kinds and in pools of several sizes.

use std::fmt::Debug;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::claims::{Claim, Taken};
use super::*;
use crate::bijection::{CycleWalk, GridFeistel, Lcg, MulXorshift, VariablePhilox};
use crate::compact::{Compactor, Serial};
use crate::{FromSeed, TrustedBijection};

/// Few enough buckets that they are large ones for more than `2^17` slots or indexes.
const FEW: u64 = 2;

fn pools() -> impl Iterator<Item = ThreadPool> {
    [1, 2, 7].into_iter().map(pool)
}

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

/// Pools, each with the most buckets to try in it: both kinds of buckets by several threads.
fn pools_and_buckets() -> [(ThreadPool, u64); 3] {
    let most = tuning::MOST_EXCHANGES;
    [(pool(1), most), (pool(2), FEW), (pool(7), most)]
}

fn permutation(f: &dyn Bijection, len: usize) -> Vec<u32> {
    let mut p = vec![0; len];
    Serial.write_indexes(f, &mut p).unwrap();
    p
}

fn mix(x: u32) -> u64 {
    u64::from(x).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Moves items in both directions, with one set of buffers.
fn check<T: Clone + Debug + PartialEq + Send>(
    f: &Trusted,
    p: &[u32],
    most_buckets: u64,
    item: impl Fn(u32) -> T,
) {
    let exchange = |direction, block_bytes| {
        let in_place = InPlace::new::<T>(f, p.len(), direction, most_buckets).unwrap();
        InPlace { block_bits: tuning::exchanged_bits::<T>(block_bytes), ..in_place }
    };
    check_exchanges(p, exchange, item);
}

/// [`check`], of the exchanges in the two directions, with blocks of two sizes.
fn check_exchanges<'f, T: Clone + Debug + PartialEq + Send>(
    p: &[u32],
    exchange: impl Fn(Direction, usize) -> InPlace<'f, Direction>,
    item: impl Fn(u32) -> T,
) {
    let len = p.len();
    let source: Vec<T> = (0..len as u32).map(&item).collect();
    let shuffled: Vec<T> = p.iter().map(|&index| item(index)).collect();
    let mut items = source.clone();
    let mut buffers = InPlaceBuffers::new();
    let mut move_all = |direction, items: &mut [T], block_bytes| {
        let in_place = exchange(direction, block_bytes);
        let start = SharedPtr::new(items.as_mut_ptr());
        // SAFETY: there are `len` items from the start on, which are borrowed meanwhile.
        unsafe { in_place.run(start, &mut buffers) }.unwrap();
    };
    for block_bytes in [tuning::EXCHANGED_BYTES, tuning::LARGE_BLOCK_BYTES] {
        move_all(Direction::Shuffle, &mut items, block_bytes);
        assert!(items == shuffled, "{len} items of {} bytes", size_of::<T>());
        move_all(Direction::Unshuffle, &mut items, block_bytes);
        assert!(items == source, "{len} items of {} bytes, back", size_of::<T>());
    }
}

#[test]
fn any_length_is_moved_with_buckets_of_any_size() {
    for pool in pools() {
        for len in [1, 2, 63, 64, 65, 1000, 65_537, 131_071, 200_000, 1 << 18, (1 << 18) + 1] {
            let f = MulXorshift::<10>::from_seed(len as u64, 1);
            let (f, p) = (f.trusted().unwrap(), permutation(&f, len));
            pool.install(|| {
                for most_buckets in [1, FEW, 5, tuning::MOST_EXCHANGES] {
                    check(&f, &p, most_buckets, mix);
                }
            });
        }
    }
}

/// Several buckets of a few hundred items, and several blocks of each, which Miri can watch. They
/// are boxes: one that is there twice is memory that is freed twice.
#[test]
fn short_form_small_buckets_are_put_in_order() {
    let chain = MulXorshift::<2>::from_seed(260, 1);
    let full = Lcg::new(8, 5, 3).unwrap();
    let pool = pool(2);
    for (f, len) in [(&chain as &dyn Bijection, 260), (&full, 256)] {
        let (f, p) = (f.trusted().unwrap(), permutation(f, len));
        let small = |direction, block_bytes| {
            let most_buckets = tuning::MOST_EXCHANGES;
            let in_place = InPlace::new::<u64>(&f, len, direction, most_buckets).unwrap();
            let last = if direction == Direction::Shuffle { f.last() } else { len as u64 - 1 };
            let block_bits = if block_bytes == tuning::EXCHANGED_BYTES { 2 } else { 4 };
            InPlace {
                buckets: BucketDivision::of_bits(7, last, most_buckets),
                block_bits,
                ..in_place
            }
        };
        pool.install(|| check_exchanges(&p, small, |x| Box::new(mix(x))));
    }
}

#[test]
fn items_of_any_size_are_moved() {
    let f = MulXorshift::<10>::from_seed(70_000, 1);
    let (f, p) = (f.trusted().unwrap(), permutation(&f, 70_000));
    for (pool, most_buckets) in [(pool(1), 1), (pool(7), tuning::MOST_EXCHANGES)] {
        pool.install(|| {
            check(&f, &p, most_buckets, |x| mix(x) as u8);
            check(&f, &p, most_buckets, |x| mix(x) as u16);
            check(&f, &p, most_buckets, |x| mix(x) as u32);
            check(&f, &p, most_buckets, |x| [mix(x) as u32; 3]);
            check(&f, &p, most_buckets, |x| u128::from(mix(x)) << 20);
            check(&f, &p, most_buckets, |x| [mix(x); 3]);
            check(&f, &p, most_buckets, |x| [mix(x); 8]);
            check(&f, &p, most_buckets, |x| [mix(x); 32]);
            check(&f, &p, most_buckets, |x| format!("item {x}"));
        });
    }
}

#[test]
fn every_family_is_moved() {
    let len = 140_000;
    let philox = VariablePhilox::<24>::from_seed(len as u64, 2);
    let walk = CycleWalk::new(philox, len as u64).unwrap();
    let grid = GridFeistel::<12>::from_seed(len as u64, 2);
    // Four to eight times as many slots as items.
    let wide = MulXorshift::<10>::from_seed(4 * len as u64, 2);
    let families: [&dyn Bijection; 4] = [&philox, &walk, &grid, &wide];
    for f in families {
        let p = permutation(f, len);
        let f = f.trusted().unwrap();
        for (pool, most_buckets) in pools_and_buckets() {
            pool.install(|| check(&f, &p, most_buckets, mix));
        }
    }
}

/// Permutations that are not random at all fill one bucket after the other, or all at once: every
/// thread then holds as many full blocks as it ever can.
#[test]
fn permutations_that_are_not_random_are_moved() {
    let len = 300_000;
    for (multiplier, increment) in [(1, 0), (1, 5), (1, 1 << 18), (3, 5), ((1 << 17) + 1, 5)] {
        let f = Lcg::new(19, multiplier, increment).unwrap();
        for len in [len, 1 << 19] {
            let (f, p) = (f.trusted().unwrap(), permutation(&f, len));
            for (pool, most_buckets) in pools_and_buckets() {
                pool.install(|| {
                    check(&f, &p, most_buckets, mix);
                    check(&f, &p, most_buckets, |x| [mix(x); 8]);
                });
            }
        }
    }
}

#[test]
fn unsuitable_lengths_items_and_domains_are_refused() {
    let f = Lcg::new(20, 5, 3).unwrap();
    let f = f.trusted().unwrap();
    let serves =
        |f: &Trusted, len, most| InPlace::new::<u64>(f, len, Direction::Shuffle, most).is_some();
    assert!(serves(&f, 1 << 20, 1 << 13));
    assert!(!serves(&f, (1 << 17) - 1, 1 << 13), "nearly all slots would be empty");
    assert!(InPlace::new::<()>(&f, 1 << 20, Direction::Shuffle, 1 << 13).is_none());
    assert!(InPlace::new::<[u64; 33]>(&f, 1 << 20, Direction::Shuffle, 1 << 13).is_none());
    assert!(InPlace::new::<u64>(&f, 0, Direction::Unshuffle, 1 << 13).is_none());
    assert!(!serves(&Trusted::new(&f), 1 << 20, 1 << 13), "it may panic");
}

/// A bijection may use the pool in which the items are moved. While it waits for its tasks, its
/// thread may begin another collector, and nobody must wait for the one below that.
#[test]
fn a_bijection_may_have_tasks_of_its_own() {
    struct InTasks(MulXorshift<10>, [AtomicUsize; 2]);

    impl Bijection for InTasks {
        fn last(&self) -> u64 {
            self.0.last()
        }

        fn forward(&self, slot: u64) -> u64 {
            self.0.forward(slot)
        }

        fn inverse(&self, index: u64) -> u64 {
            self.0.inverse(index)
        }

        fn inverse_run(&self, first: u64, out: &mut [u64]) {
            out.par_chunks_mut(64).enumerate().for_each(|(k, out)| {
                self.1[0].fetch_add(1, Ordering::Relaxed);
                self.0.inverse_run(first + 64 * k as u64, out);
            });
        }

        fn forward_each(&self, slots: &mut [u64]) {
            slots.par_chunks_mut(64).for_each(|slots| {
                self.1[1].fetch_add(1, Ordering::Relaxed);
                self.0.forward_each(slots);
            });
        }
    }

    // SAFETY: all values are those of a trusted bijection.
    unsafe impl TrustedBijection for InTasks {}

    const TIMES: usize = 12;
    let len = 300_000;
    let (done, is_done) = mpsc::channel();
    let moves = thread::spawn(move || {
        let f = InTasks(MulXorshift::from_seed(len as u64, 1), Default::default());
        let p = permutation(&f, len);
        let original: Vec<u64> = (0..len as u32).map(mix).collect();
        let shuffled: Vec<u64> = p.iter().map(|&index| mix(index)).collect();
        let trusted = Trusted::new(&f).panic_free();
        let pool = pool(7);
        let mut buffers = InPlaceBuffers::new();
        for _ in 0..TIMES {
            let mut items = original.clone();
            for (direction, expected) in
                [(Direction::Shuffle, &shuffled), (Direction::Unshuffle, &original)]
            {
                let in_place = InPlace::new::<u64>(&trusted, len, direction, 1 << 13).unwrap();
                let moved = pool.install(|| {
                    let start = SharedPtr::new(items.as_mut_ptr());
                    // SAFETY: there are `len` items from the start on, which are borrowed
                    // meanwhile.
                    unsafe { in_place.run(start, &mut buffers) }
                });
                assert!(moved.is_ok() && items == *expected);
            }
        }
        assert!(f.1.iter().all(|tasks| tasks.load(Ordering::Relaxed) >= TIMES * len / 64));
        let _ = done.send(());
    });
    // Seconds, or for ever: on a machine with much else to do as well.
    let waited = is_done.recv_timeout(Duration::from_secs(900));
    assert_ne!(waited, Err(RecvTimeoutError::Timeout), "threads wait for each other");
    moves.join().unwrap();
}

#[test]
fn a_bucket_s_blocks_are_claimed_upwards_and_taken_downwards() {
    let grid = BlockGrid::new(&[3 * 8, 0, 8 + 1, 2 * 8], 3).unwrap();
    let claims = Claims::new(&grid, 1).unwrap();
    let (home, mut search) = (claims.search(0, 1), claims.search(0, 1));
    let mut take = || claims.take(&mut search).map(|Taken { bucket, block, .. }| (bucket, block));
    assert_eq!(take(), Some((0, 2)));
    assert!(!claims.are_read(0) && claims.are_read(2));
    let claim = |bucket| {
        let Claim { block, is_unread, .. } = claims.claim(bucket, &home);
        (block, is_unread)
    };
    assert_eq!([claim(0), claim(0), claim(0)], [(0, true), (1, true), (2, false)]);
    assert!(!claims.are_read(0));
    claims.has_read(0);
    assert!(claims.are_read(0));
    assert_eq!(take(), Some((2, 1)));
    assert_eq!(take(), Some((2, 0)));
    assert_eq!(take(), Some((3, 1)));
    assert_eq!(claim(3), (0, true));
    assert_eq!([take(), take()], [None, None]);
    assert_eq!([0, 1, 2, 3].map(|bucket| claims.claimed(bucket).flatten().count()), [3, 0, 0, 1]);
}

#[test]
fn blocks_are_claimed_at_home_first() {
    let grid = BlockGrid::new(&[8, 5 * 8 + 3], 3).unwrap();
    let claims = Claims::new(&grid, 3).unwrap();
    let homes = [0, 1, 2].map(|thread| claims.search(thread, 3));
    let claim = |thread: usize| claims.claim(1, &homes[thread]).block;
    // The shares of the bucket have two blocks each, and the last block is not whole.
    assert_eq!([claim(1), claim(2), claim(0)], [2, 4, 0]);
    assert_eq!(claims.claimed(1).collect::<Vec<_>>(), [0..1, 2..3, 4..5]);
    assert_eq!([claim(2), claim(2)], [1, 3]);
    assert_eq!(claims.claimed(1).collect::<Vec<_>>(), [0..2, 2..4, 4..5]);
    assert_eq!(claims.claim(0, &homes[0]).block, 0);
    // That there was no place for a block does not hide one that is still to be read.
    let mut search = claims.search(2, 3);
    let taken = core::iter::from_fn(|| claims.take(&mut search));
    assert!(taken.map(|taken| (taken.bucket, taken.block)).eq([(1, 5)]));
}

#[test]
#[should_panic(expected = "a bucket has room for its items")]
fn no_more_blocks_are_claimed_than_there_are() {
    let claims = Claims::new(&BlockGrid::new(&[8 + 7], 3).unwrap(), 2).unwrap();
    let home = claims.search(1, 2);
    assert_eq!(claims.claim(0, &home).block, 0);
    claims.claim(0, &home);
}

#[test]
fn threads_take_all_blocks_from_different_buckets_on() {
    let counts = [48, 8, 0, 24, 17, 8];
    let grid = BlockGrid::new(&counts, 3).unwrap();
    for (threads, shares) in (1..=8).flat_map(|threads| [(threads, 1), (threads, 3)]) {
        let claims = Claims::new(&grid, shares).unwrap();
        let mut searches: Vec<_> = (0..threads).map(|k| claims.search(k, threads)).collect();
        let first = claims.take(&mut searches[threads - 1]).unwrap();
        if shares == 1 {
            assert_eq!(first.bucket, [0, 3, 4, 4, 4, 5, 5, 5][threads - 1]);
        }
        let mut all = vec![first];
        for search in &mut searches {
            all.extend(core::iter::from_fn(|| claims.take(search)));
        }
        let mut all: Vec<_> = all.iter().map(|taken| (taken.bucket, taken.block)).collect();
        all.sort_unstable();
        let blocks = counts.iter().enumerate();
        let blocks = blocks.flat_map(|(bucket, count): (usize, &usize)| {
            (0..count.div_ceil(8)).map(move |k| (bucket, k))
        });
        assert!(all.into_iter().eq(blocks), "{threads} threads, {shares} shares");
    }
}
