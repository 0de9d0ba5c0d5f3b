//! Calls that may end in any way, and maps that are no bijections.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use bijective_shuffle::Error;
use bijective_shuffle::prelude::*;

/// A count that any thread may advance. It has 32 bits, as not every processor has atomic integers
/// of 64.
pub struct Counter(AtomicU32);

impl Counter {
    pub const fn new(start: u32) -> Self {
        Self(AtomicU32::new(start))
    }

    /// The count before this call, which adds 1.
    pub fn next(&self) -> u64 {
        u64::from(self.0.fetch_add(1, Relaxed))
    }

    pub fn get(&self) -> u64 {
        u64::from(self.0.load(Relaxed))
    }
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    Done,
    Refused(Error),
    Unwound,
}

impl End {
    /// The end of a call.
    pub fn of(call: impl FnOnce() -> Result<(), Error>) -> Self {
        match catch_unwind(AssertUnwindSafe(call)) {
            Ok(Ok(())) => Self::Done,
            Ok(Err(error)) => Self::Refused(error),
            Err(_) => Self::Unwound,
        }
    }
}

/// Wraps a function that need not be a bijection at all.
pub struct Liar<F> {
    pub last: u64,
    pub map: F,
}

impl<F: Fn(u64) -> u64 + Send + Sync> Bijection for Liar<F> {
    fn last(&self) -> u64 {
        self.last
    }
    fn forward(&self, slot: u64) -> u64 {
        (self.map)(slot)
    }
    fn inverse(&self, index: u64) -> u64 {
        (self.map)(index)
    }
}
