//! The code of the claims, compiled with loom's atomics: for every order of the threads' steps, and
//! whatever value a load may return, each block is read once, and written only when it has been.
//!
//! Threads exchange blocks as `CollectorRun::run` does, with one item to a block. An item is the
//! number of its bucket. What is bounded: there are two threads, up to four blocks, and two
//! interruptions of a thread that could go on. Threads that wait for each other would exceed loom's
//! limit of steps, and so fail.

use loom::cell::UnsafeCell;
use loom::model::Builder;
use loom::sync::{Arc, atomic};
use loom::thread;

use super::grid;
use super::grid::BlockGrid;
use claims::{Claim, Claims, Search, Taken};

// In it `super::atomic` are loom's.
#[allow(clippy::duplicate_mod, reason = "the same code with other atomics is the point")]
#[allow(dead_code, reason = "the model has no use for all of it")]
#[path = "claims.rs"]
mod claims;

/// A written block holds this and the number of its bucket, so that nobody takes it for an unread
/// one.
const MOVED: usize = 100;

/// What a thread does before it has read a block.
#[derive(Clone, Copy, PartialEq)]
enum Variant {
    /// Nothing: it reads, and then says so.
    Code,
    /// It says that it has read the block.
    SaysSoFirst,
    /// It writes to a block without looking whether it has been read.
    DoesNotWait,
}

struct Exchange {
    variant: Variant,
    grid: BlockGrid,
    claims: Claims,
    blocks: Vec<UnsafeCell<usize>>,
}

// SAFETY: the cells are what is tested: loom fails where two threads may use one at a time.
unsafe impl Sync for Exchange {}

impl Exchange {
    fn cell(&self, bucket: usize, block: usize) -> &UnsafeCell<usize> {
        &self.blocks[self.grid.block(bucket, block).start]
    }

    fn read(&self, bucket: usize, block: usize) -> usize {
        // SAFETY: loom fails where another thread may be writing.
        let item = self.cell(bucket, block).with(|item| unsafe { *item });
        assert!(item < MOVED, "a block is read once");
        item
    }

    fn write(&self, bucket: usize, block: usize) {
        self.cell(bucket, block).with_mut(|item| {
            // SAFETY: loom fails where another thread may be reading or writing.
            let item = unsafe { &mut *item };
            assert!(*item < MOVED, "a block is written once");
            *item = MOVED + bucket;
        });
    }

    fn wait(&self, share: usize) {
        while self.variant != Variant::DoesNotWait && !self.claims.are_read(share) {
            thread::yield_now();
        }
    }

    /// `CollectorRun::run` by one of two threads, with up to `most` steps at a time.
    fn run(&self, thread: usize, most: usize) {
        let (mut full, mut steps) = (Vec::new(), Vec::new());
        let mut search = self.claims.search(thread, 2);
        loop {
            while steps.len() < most && self.plan(&mut search, &mut full, &mut steps) {}
            if steps.is_empty() {
                return;
            }
            for step in steps.drain(..) {
                match step {
                    Step::Claimed { bucket, block } => {
                        full.push(self.read(bucket, block));
                        self.write(bucket, block);
                    }
                    Step::Taken { item } => full.push(item),
                }
            }
        }
    }

    /// `Collector::plan`.
    fn plan(&self, search: &mut Search, full: &mut Vec<usize>, steps: &mut Vec<Step>) -> bool {
        while let Some(bucket) = full.pop() {
            let Claim { share, block, is_unread } = self.claims.claim(bucket, search);
            if is_unread {
                steps.push(Step::Claimed { bucket, block });
                return true;
            }
            self.wait(share);
            self.write(bucket, block);
        }
        let Some(Taken { bucket, share, block }) = self.claims.take(search) else { return false };
        if self.variant == Variant::SaysSoFirst {
            self.claims.has_read(share);
        }
        let item = self.read(bucket, block);
        if self.variant != Variant::SaysSoFirst {
            self.claims.has_read(share);
        }
        steps.push(Step::Taken { item });
        true
    }
}

/// What a thread does with a block.
enum Step {
    /// It has claimed the block, and reads it before it writes there.
    Claimed { bucket: usize, block: usize },
    /// It has taken a block and read it.
    Taken { item: usize },
}

/// Runs two threads on items that are in these buckets, where those of each bucket belong together,
/// with this many shares of each bucket.
fn check(variant: Variant, items: &'static [usize], most: usize, shares: usize) {
    let mut model = Builder::new();
    model.preemption_bound = Some(2);
    model.check(move || {
        let buckets = items.iter().max().map_or(0, |most| most + 1);
        let counts: Vec<usize> = (0..buckets)
            .map(|bucket| items.iter().filter(|&&item| item == bucket).count())
            .collect();
        let grid = BlockGrid::new(&counts, 0).unwrap();
        let claims = Claims::new(&grid, shares).unwrap();
        let blocks = items.iter().map(|&item| UnsafeCell::new(item)).collect();
        let exchange = Arc::new(Exchange { variant, grid, claims, blocks });
        let other = Arc::clone(&exchange);
        let thread = thread::spawn(move || other.run(1, most));
        exchange.run(0, most);
        thread.join().unwrap();
        for (bucket, &count) in counts.iter().enumerate() {
            assert_eq!(exchange.claims.claimed(bucket).flatten().count(), count);
            for block in 0..count {
                // SAFETY: the other thread is done.
                let item = exchange.cell(bucket, block).with(|item| unsafe { *item });
                assert_eq!(item, MOVED + bucket, "every block is written");
            }
        }
    });
}

#[test]
fn blocks_are_exchanged_in_any_order_of_steps() {
    for items in [&[0][..], &[1, 0], &[0, 1], &[1, 0, 0], &[1, 2, 0]] {
        for most in [1, 2] {
            check(Variant::Code, items, most, 1);
        }
    }
}

#[test]
fn threads_that_hold_what_others_wait_for_do_not_wait_in_a_circle() {
    check(Variant::Code, &[1, 1, 0, 0], 1, 1);
}

#[test]
fn blocks_of_several_shares_are_exchanged() {
    for items in [&[0, 0][..], &[1, 0], &[1, 0, 0]] {
        for most in [1, 2] {
            check(Variant::Code, items, most, 2);
        }
    }
    check(Variant::Code, &[1, 1, 0, 0], 1, 2);
    // Both ends of a share of two blocks.
    check(Variant::Code, &[0, 0, 0], 1, 2);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_write_to_a_share_that_does_not_wait_is_noticed() {
    check(Variant::DoesNotWait, &[1, 0, 0], 1, 2);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_block_that_is_said_to_be_read_too_early_is_noticed() {
    check(Variant::SaysSoFirst, &[1, 0, 0], 1, 1);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_write_that_does_not_wait_is_noticed() {
    check(Variant::DoesNotWait, &[1, 0, 0], 1, 1);
}
