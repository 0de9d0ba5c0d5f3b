//! A shuffle that another thread can cancel before the first item moves.
//!
//! ```console
//! cargo run --release --example cancel
//! ```
//!
//! A shuffle that moves items cannot stop in the middle: the slice would be neither in its old
//! order nor in its new one. But a bijection that is not trusted is evaluated as a whole before
//! anything moves, which takes 4 or 8 bytes an item, and whatever unwinds then leaves every item
//! where it was. So a bijection that unwinds when a flag is set makes a shuffle that can be
//! cancelled.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use bijective_shuffle::Error;
use bijective_shuffle::bijection::Standard;
use bijective_shuffle::prelude::*;

/// A bijection, until the flag is set.
struct Cancellable<'a, B>(B, &'a AtomicBool);

impl<B> Cancellable<'_, B> {
    fn inner(&self) -> &B {
        if self.1.load(Relaxed) {
            resume_unwind(Box::new("cancelled")); // unwinds without a message
        }
        &self.0
    }
}

impl<B: Bijection> Bijection for Cancellable<'_, B> {
    fn last(&self) -> u64 {
        self.0.last()
    }

    fn forward(&self, slot: u64) -> u64 {
        self.inner().forward(slot)
    }

    fn inverse(&self, index: u64) -> u64 {
        self.inner().inverse(index)
    }

    /// In vectors, with one look at the flag for each run.
    fn forward_run(&self, first: u64, out: &mut [u64]) {
        self.inner().forward_run(first, out);
    }
}

fn main() -> Result<(), Error> {
    let mut items: Vec<u64> = (0..100_000).collect();
    let cancel = AtomicBool::new(false);
    let f = Cancellable(Standard::from_seed(100_000, 42), &cancel);
    items.try_par_bijective_shuffle(&f)?;
    assert_eq!(items, Permutation::new(100_000, 42).to_vec());

    cancel.store(true, Relaxed); // by another thread, or by a signal's handler
    let before = items.clone();
    let result = catch_unwind(AssertUnwindSafe(|| items.try_par_bijective_shuffle(&f)));
    assert!(result.is_err());
    assert_eq!(items, before);
    println!("cancelled, and every item is where it was");
    Ok(())
}
