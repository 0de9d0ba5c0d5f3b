//! Memory that is refused at any step: what may fail says so, the items are as they were, and
//! nothing aborts.
//!
//! A program of its own, as it has an allocator of its own. It refuses the n-th large request, for
//! one n after the other. Small ones are granted: rayon's own abort the process where they are not,
//! and a caller could not do anything more either. Working memory of 8 MiB or more is mapped and
//! not allocated, so the calls here need less; tests/suite/memory.rs refuses what is mapped.

use std::alloc::{GlobalAlloc, Layout, System};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use bijective_shuffle::Error;
use bijective_shuffle::Strategy;
use bijective_shuffle::bijection::Standard;
use bijective_shuffle::prelude::*;
use bijective_shuffle::{Rows, Serial};
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Requests of at least this many bytes may be refused.
const LARGE: usize = 4096;

/// How many large requests are still granted, and then one is not; 0 if all are.
static GRANTED: AtomicUsize = AtomicUsize::new(0);

/// How many were refused.
static REFUSED: AtomicUsize = AtomicUsize::new(0);

/// The bytes that are allocated.
static LIVE: AtomicUsize = AtomicUsize::new(0);

struct Refusing;

impl Refusing {
    fn refuses(bytes: usize) -> bool {
        let counts_down = |left: usize| left.checked_sub(1);
        let refuses = bytes >= LARGE && GRANTED.fetch_update(SeqCst, SeqCst, counts_down) == Ok(1);
        REFUSED.fetch_add(usize::from(refuses), SeqCst);
        refuses
    }
}

// SAFETY: what is granted is the system's, and what is refused is null.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if Self::refuses(layout.size()) {
            return ptr::null_mut();
        }
        LIVE.fetch_add(layout.size(), SeqCst);
        // SAFETY: the caller promises a layout of some size.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if Self::refuses(layout.size()) {
            return ptr::null_mut();
        }
        LIVE.fetch_add(layout.size(), SeqCst);
        // SAFETY: the caller promises a layout of some size.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        if Self::refuses(bytes) {
            return ptr::null_mut();
        }
        LIVE.fetch_add(bytes, SeqCst);
        LIVE.fetch_sub(layout.size(), SeqCst);
        // SAFETY: the caller promises memory of this layout from here, which is the system's.
        unsafe { System.realloc(start, layout, bytes) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), SeqCst);
        // SAFETY: the caller promises memory of this layout from here, which is the system's.
        unsafe { System.dealloc(start, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Refusing = Refusing;

/// Makes a call again and again, while the first, the second, .. large request is refused, until
/// none is; and how many there were. `check` is told whether the call has succeeded, and looks at
/// what it has left.
fn refuse_each(
    what: &str,
    mut call: impl FnMut() -> Result<(), Error>,
    mut check: impl FnMut(bool),
) -> usize {
    for nth in 1..10_000 {
        REFUSED.store(0, SeqCst);
        GRANTED.store(nth, SeqCst);
        let result = call();
        GRANTED.store(0, SeqCst);
        let refused = REFUSED.load(SeqCst) > 0;
        match result {
            Ok(()) if !refused => {
                check(true);
                return nth - 1;
            }
            // There is another way, with less memory.
            Ok(()) => check(true),
            Err(Error::OutOfMemory { bytes }) if refused && bytes > 0 => check(false),
            Err(error) => panic!("{what}, refused request {nth}: {error}"),
        }
    }
    panic!("{what}: too many requests");
}

/// What a user writes: checked, as nobody vouches for it.
struct Plain(Standard);

impl Bijection for Plain {
    fn last(&self) -> u64 {
        self.0.last()
    }
    fn forward(&self, slot: u64) -> u64 {
        self.0.forward(slot)
    }
    fn inverse(&self, index: u64) -> u64 {
        self.0.inverse(index)
    }
}

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

/// Refuses each request of a call that moves items.
///
/// On threads of its own, as threads keep little memory for the next call. What the process keeps
/// for calls without a workspace is not asked for again, and so is not refused, in any but the
/// first.
fn moves(
    threads: usize,
    what: &str,
    len: usize,
    expected: &[u64],
    mut call: impl FnMut(&mut [u64], &mut [u8]) -> Result<(), Error> + Send,
) -> usize {
    let pool = pool(threads);
    let texts = |items: &[u64]| items.iter().map(|&x| x as u8).collect::<Vec<u8>>();
    let original: Vec<u64> = (0..len as u64).collect();
    let columns = std::cell::RefCell::new((original.clone(), texts(&original)));
    let run = || {
        let (items, more) = &mut *columns.borrow_mut();
        pool.install(|| call(items, more))
    };
    refuse_each(what, run, |succeeded| {
        let (items, more) = &mut *columns.borrow_mut();
        let right = if succeeded { expected } else { &original[..] };
        assert!(items == right, "{what}: items are not where they belong");
        assert!(*more == texts(&original) || *more == texts(right), "{what}: the other column");
        items.copy_from_slice(&original);
        more.copy_from_slice(&texts(&original));
    })
}

fn everything_that_moves(threads: usize, len: usize) {
    let f = Standard::from_seed(len as u64, 1);
    let plain = Plain(f.clone());
    let mut there: Vec<u64> = (0..len as u64).collect();
    let mut back = there.clone();
    Serial.shuffle(&f, &mut there).unwrap();
    Serial.unshuffle(&f, &mut back).unwrap();

    let p = Permutation::new(len as u64, 1);
    let both = p.then(&p).unwrap().with_backend(Backend::Cpu);
    let [mut twice, mut twice_back] = [there.clone(), back.clone()];
    Serial.shuffle(&f, &mut twice).unwrap();
    Serial.unshuffle(&f, &mut twice_back).unwrap();

    let mut requests = vec![
        moves(threads, "shuffle", len, &there, |items, _| items.try_par_bijective_shuffle(1)),
        moves(threads, "unshuffle", len, &back, |items, _| items.try_par_bijective_unshuffle(1)),
        moves(threads, "shuffle_with", len, &there, |items, _| {
            items.try_par_bijective_shuffle(&plain)
        }),
        moves(threads, "unshuffle_with", len, &back, |items, _| {
            items.try_par_bijective_unshuffle(&plain)
        }),
        moves(threads, "together", len, &there, |a, b| {
            (a, b).try_par_bijective_shuffle_together(1)
        }),
        moves(threads, "back", len, &back, |a, b| (a, b).try_par_bijective_unshuffle_together(1)),
        moves(threads, "with", len, &there, |a, b| {
            (a, b).try_par_bijective_shuffle_together(&plain)
        }),
        moves(threads, "serial", len, &there, |items, _| Serial.shuffle(&f, items)),
        moves(threads, "then", len, &twice, |items, _| both.apply_in_place(items)),
        moves(threads, "then, back", len, &twice_back, |items, _| both.unapply_in_place(items)),
        moves(threads, "then, together", len, &twice, |a, b| both.apply_together((a, b))),
        moves(threads, "serial, back", len, &back, |items, _| Serial.unshuffle(&f, items)),
    ];
    for strategy in [Strategy::Auto, Strategy::Direct, Strategy::Partitioned, Strategy::InPlace] {
        let fresh = || Workspace::new().with_strategy(strategy);
        requests.extend([
            moves(threads, "by seed", len, &there, |items, _| fresh().shuffle(1, items)),
            moves(threads, "by seed, back", len, &back, |items, _| fresh().unshuffle(1, items)),
            moves(threads, "by passes", len, &twice, |items, _| {
                fresh().shuffle(both.bijection(), items)
            }),
            moves(threads, "columns", len, &there, |a, b| fresh().shuffle_together(&f, (a, b))),
            moves(threads, "rows", len, &there, |a, b| {
                fresh().shuffle_together(&f, (Rows::new(a, 1)?, Rows::new(b, 1)?))
            }),
        ]);
    }
    assert!(requests.iter().all(|&requests| requests > 0), "none was refused: {requests:?}");
}

fn everything_that_copies(len: usize) {
    let f = Standard::from_seed(len as u64, 1);
    let plain = Plain(f.clone());
    let original: Vec<u64> = (0..len as u64).collect();
    let mut there = original.clone();
    Serial.shuffle(&f, &mut there).unwrap();
    let right = |copy: Result<Vec<u64>, Error>| copy.map(|copy| assert!(copy == there));
    let p = Permutation::new(len as u64, 1);
    let back_and_forth =
        p.inverted().then(&p).unwrap().then(&p).unwrap().with_backend(Backend::Cpu);
    let walk = Permutation::from_bijection(len as u64, &plain).unwrap();
    let requests = [
        refuse_each("shuffled", || right(original.try_par_bijective_shuffled(1)), drop),
        refuse_each(
            "unshuffled",
            || there.try_par_bijective_unshuffled(1).map(|copy| assert!(copy == original)),
            drop,
        ),
        refuse_each(
            "sample",
            || {
                let sample = p.sample(&original, len / 2);
                sample.map(|sample| assert!(sample == there[..len / 2]))
            },
            drop,
        ),
        refuse_each("shuffled_with", || right(original.try_par_bijective_shuffled(&plain)), drop),
        refuse_each("serial", || right(Serial.shuffled(&f, &original)), drop),
        refuse_each("to_vec", || right(p.try_to_vec()), drop),
        refuse_each("then, to_vec", || right(back_and_forth.try_to_vec()), drop),
        refuse_each("then, apply", || right(back_and_forth.apply(&original)), drop),
        refuse_each("to_vec, checked", || right(walk.try_to_vec()), drop),
        refuse_each("apply", || right(p.apply(&original)), drop),
        refuse_each("rows", || Permutations::new(3, len as u64, 1).try_to_vec().map(drop), drop),
    ];
    assert!(requests.iter().all(|&requests| requests > 0), "none was refused: {requests:?}");
}

/// One test, so that nobody else asks for memory meanwhile.
/// Calls keep memory of items for later ones, until it is asked back.
fn what_calls_have_left_is_given_back() {
    // Below and above the lengths whose memory is the process's. The first calls start threads.
    for len in [5000, 600_000, 5000, 600_000] {
        let mut items: Vec<u64> = (0..len).collect();
        Backend::release_memory();
        let before = LIVE.load(SeqCst);
        items.par_bijective_shuffle(1);
        let kept = LIVE.load(SeqCst) - before;
        assert!(kept >= 5000 * 8, "{len}: {kept}");
        Backend::release_memory();
        let left = LIVE.load(SeqCst) - before;
        assert!(left < kept / 4, "{len}: {left} of {kept}");
    }
}

#[test]
fn every_request_may_be_refused() {
    pool(2).install(what_calls_have_left_is_given_back);
    for threads in [1, 2, 16] {
        // Below and above the lengths from which there are threads.
        for len in [3000, 140_000] {
            everything_that_moves(threads, len);
            pool(threads).install(|| everything_that_copies(len));
        }
    }

    // Enough threads that a list of their tiles is large.
    let mut bytes = vec![0_u8; (1 << 22) + 1];
    pool(16).install(|| {
        let fresh = |strategy| Workspace::new().with_strategy(strategy);
        let direct = || fresh(Strategy::Direct).shuffle(1, &mut bytes);
        // The copy, the list of tiles and that of their places.
        assert!(refuse_each("tiles", direct, drop) >= 3);
        let partitioned = || fresh(Strategy::Partitioned).unshuffle(1, &mut bytes);
        assert!(refuse_each("parts", partitioned, drop) > 0);
        let in_place = || fresh(Strategy::InPlace).unshuffle(1, &mut bytes);
        assert!(refuse_each("blocks", in_place, drop) > 0);
    });

    // Many columns, whose list is itself large.
    let mut table = vec![vec![0_u16; 500]; 1000];
    let mut order = Vec::new();
    let requests = refuse_each(
        "many columns",
        || {
            let mut columns: Vec<&mut [u16]> = Vec::new();
            columns.try_reserve(1000).map_err(|_| Error::OutOfMemory { bytes: 1 })?;
            columns.extend(table.iter_mut().map(|column| &mut column[..]));
            columns.try_par_bijective_shuffle_together(1)
        },
        |succeeded| order.push(succeeded),
    );
    assert!(requests > 0 && order.last() == Some(&true));

    // The plain form panics, and leaves the items alone.
    let mut items: Vec<u64> = (0..3000).collect();
    // Nothing is left that would serve it.
    Backend::release_memory();
    GRANTED.store(1, SeqCst);
    let unwound = catch_unwind(AssertUnwindSafe(|| items.par_bijective_shuffle(1)));
    GRANTED.store(0, SeqCst);
    let message = unwound.unwrap_err().downcast::<String>().unwrap();
    assert!(message.ends_with("bytes of working memory could not be allocated"), "{message}");
    assert!(items.into_iter().eq(0..3000));
}
