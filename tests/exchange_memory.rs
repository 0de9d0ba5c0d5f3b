//! The memory that an exchange in rounds takes, or one with tags in chunks, is what it was asked to
//! take.
//!
//! A program of its own, as it has an allocator of its own, which counts. Working memory of 32 MiB
//! or more is mapped and not allocated; that of a workspace is what the workspace says.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use bijective_shuffle::exchange::{Census, Division, Exchange, TaggedExchange, items_of_round};
use bijective_shuffle::prelude::*;
use rayon::ThreadPoolBuilder;

/// The bytes that are allocated, and the most since [`peak_of`] began.
static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: all memory is the system's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
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

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most bytes that a call has allocated at any time, beyond those that were there before.
fn peak_of<R>(call: impl FnOnce() -> R) -> (R, usize) {
    let before = HELD.load(SeqCst);
    PEAK.store(before, SeqCst);
    let result = call();
    (result, PEAK.load(SeqCst) - before)
}

/// The memory that a round may take.
const MEMORY: usize = 16 << 20;

/// Makes and takes one rank's part of an exchange, and returns the most that it took, without the
/// items and as many places.
fn bytes_of<T: Copy + Send + Sync + Default>(
    p: &Permutation,
    census: &Census,
    division: &Division,
    most: u64,
    undo: bool,
) -> usize {
    let places = division.places(1);
    let items = vec![T::default(); (places.end - places.start) as usize];
    let mut out = items.clone();
    let mut workspace = Workspace::new();
    let (bytes, peak) = peak_of(|| {
        let plan = if undo {
            Exchange::builder(p, census, division, 1).in_rounds_of(most).unshuffle()
        } else {
            Exchange::builder(p, census, division, 1).in_rounds_of(most).shuffle()
        };
        let plan = plan.unwrap();
        plan.pack(&mut workspace, &items, &mut out).unwrap();
        // As many items come, though others.
        plan.place(&mut workspace, &items, &mut out).unwrap();
        workspace.bytes()
    });
    peak.max(bytes)
}

/// One test, so that nobody else allocates meanwhile.
#[test]
fn rounds_take_the_memory_that_they_are_given() {
    for (threads, ranks) in [(1, 2), (2, 9)] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            // 40 MB of items of 8 bytes on each rank.
            let len = ranks * 5_000_001;
            let p = Permutation::new(len, 42);
            let census = Census::new(&p).unwrap();
            let division = Division::even(len, ranks as usize);
            for undo in [false, true] {
                let most = items_of_round(MEMORY as u64, 8);
                let bytes = bytes_of::<u64>(&p, &census, &division, most, undo);
                assert!(bytes <= MEMORY, "{ranks} ranks: {bytes} bytes");
                let most = items_of_round(MEMORY as u64, 24);
                let bytes = bytes_of::<[u64; 3]>(&p, &census, &division, most, undo);
                assert!(bytes <= MEMORY, "{ranks} ranks, larger items: {bytes} bytes");
                let bytes = bytes_of::<u64>(&p, &census, &division, u64::MAX, undo);
                assert!(bytes > 2 * MEMORY, "in one round no more than {bytes} bytes");
            }
        });
    }
    for threads in [1, 4] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| chunks_take_the_memory_that_they_are_given(threads));
    }
    a_domain_that_shrinks_takes_no_more_memory();
}

/// Two ranks of one process, which copy from one to the other and have no other memory.
fn chunks_take_the_memory_that_they_are_given(threads: usize) {
    // 8 MB of items on each rank, so that no working memory is mapped.
    const ITEMS: u64 = 1_000_001;
    let p = Permutation::new(2 * ITEMS, 42);
    let even = Division::even(p.len(), 2);
    let items: Vec<u64> = (0..p.len()).collect();
    let shards: Vec<&[u64]> = items.chunks(ITEMS as usize).collect();
    let expected = p.apply(&items).unwrap();
    let plans = [0, 1].map(|rank| TaggedExchange::shuffle(&p, None, &even, &even, rank).unwrap());
    let shapes = [0, 1].map(|rank: usize| plans[rank].shape::<u64>().unwrap());
    let bytes = |chunks| plans[0].working_bytes::<u64>(&shapes, chunks);
    let (most, least) = (bytes(1), bytes(usize::MAX));
    for memory in [most, least.midpoint(most), least] {
        let chunks = plans[0].chunks::<u64>(&shapes, memory);
        assert_eq!(chunks > 1, memory < most, "{chunks} chunks");
        let mut out = vec![0; items.len()];
        let ((), peak) = peak_of(|| {
            let mut workspaces = [const { Workspace::new() }; 2];
            let sorted = plans.iter().zip(&mut workspaces).zip(&shards);
            let sorted = sorted.map(|((plan, workspace), shard)| {
                plan.sort(workspace, shard).unwrap().expect("it is like random")
            });
            let sorted: Vec<_> = sorted.collect();
            let counts = sorted[0].counts().iter().zip(sorted[1].counts());
            let totals: Vec<u64> = counts.map(|(a, b)| a + b).collect();
            let mut deliveries: Vec<_> = sorted
                .into_iter()
                .map(|sorted| sorted.deliver(&totals, &shapes, chunks).unwrap())
                .collect();
            let [first, second] = &mut deliveries[..] else { unreachable!("there are two") };
            let (to_first, to_second) = out.split_at_mut(ITEMS as usize);
            for step in 0..first.steps() {
                let ((blocks, arrived), (others, others_arrived)) =
                    (first.step(step), second.step(step));
                let (sent, others_sent) = (blocks.sent(), others.sent());
                for (message, room) in sent.zip(others.received()) {
                    room.bytes.copy_from_slice(message.bytes);
                }
                for (message, room) in others_sent.zip(blocks.received()) {
                    room.bytes.copy_from_slice(message.bytes);
                }
                // SAFETY: in each step, all messages of a rank are copied to the other one's rooms,
                // in the order that both have.
                unsafe { arrived.place(to_first) }.unwrap();
                // SAFETY: the other rank's rooms were filled alike.
                unsafe { others_arrived.place(to_second) }.unwrap();
            }
        });
        assert!(out == expected);
        // The lists of buckets are not counted.
        let room = 2 * memory as usize + (1 << 18);
        assert!(peak <= room, "{chunks} chunks: {peak} bytes and not {room}");
        // Several threads may not all need their memory at the same time.
        let is_enough = threads > 1 || peak >= 2 * least as usize * 7 / 8;
        assert!(is_enough, "{chunks} chunks: only {peak} bytes");
    }
}

/// A bijection whose domain has a single point from some time on, against its requirements.
struct Shrinks<'a>(&'a AtomicBool);

impl Bijection for Shrinks<'_> {
    fn last(&self) -> u64 {
        if self.0.load(SeqCst) { 0 } else { (1 << 24) - 1 }
    }

    fn forward(&self, slot: u64) -> u64 {
        slot
    }

    fn inverse(&self, index: u64) -> u64 {
        index
    }
}

/// Where slots are looked up, the table is as long as the domain is then.
fn a_domain_that_shrinks_takes_no_more_memory() {
    let shrinks = AtomicBool::new(false);
    let p = Permutation::from_bijection(1 << 24, Shrinks(&shrinks)).unwrap();
    let census = Census::new(&p).unwrap();
    let division = Division::from_counts(&[10, 1 << 23, (1 << 23) - 10]).unwrap();
    let plan = Exchange::builder(&p, &census, &division, 0).shuffle().unwrap();
    assert_eq!(plan.send_counts(), Ok(vec![10, 0, 0]));
    shrinks.store(true, SeqCst);
    let (counts, peak) = peak_of(|| plan.send_counts());
    assert_eq!(counts.unwrap().iter().sum::<u64>(), 10);
    assert!(peak < 1 << 20, "{peak} bytes");
}
