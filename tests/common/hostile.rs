//! Items that are counted, calls that may end in any way, and maps that are no bijections.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use bijective_shuffle::prelude::*;

/// A count that any thread may advance. It has 32 bits, as not every processor has atomic integers
/// of 64.
pub(crate) struct Counter(AtomicU32);

impl Counter {
    pub(crate) const fn new(start: u32) -> Self {
        Self(AtomicU32::new(start))
    }

    /// The count before this call, which adds 1.
    pub(crate) fn next(&self) -> u64 {
        u64::from(self.0.fetch_add(1, Relaxed))
    }

    pub(crate) fn get(&self) -> u64 {
        u64::from(self.0.load(Relaxed))
    }
}

/// How many times each item was dropped.
pub(crate) struct Ledger(Vec<AtomicU32>);

/// An item that signs the ledger when it is dropped.
pub(crate) struct Item<'a> {
    pub(crate) id: usize,
    ledger: &'a Ledger,
}

impl Drop for Item<'_> {
    fn drop(&mut self) {
        self.ledger.0[self.id].fetch_add(1, Relaxed);
    }
}

impl Ledger {
    fn new(len: usize) -> Self {
        Self((0..len).map(|_| AtomicU32::new(0)).collect())
    }

    fn items(&self) -> Vec<Item<'_>> {
        (0..self.0.len()).map(|id| Item { id, ledger: self }).collect()
    }

    fn all_dropped(&self, times: u32) -> bool {
        self.0.iter().all(|count| count.load(Relaxed) == times)
    }
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum End {
    Done,
    Refused(Error),
    Unwound,
}

impl End {
    /// The end of a call.
    pub(crate) fn of(call: impl FnOnce() -> Result<(), Error>) -> Self {
        match catch_unwind(AssertUnwindSafe(call)) {
            Ok(Ok(())) => Self::Done,
            Ok(Err(error)) => Self::Refused(error),
            Err(_) => Self::Unwound,
        }
    }
}

/// Runs a call on fresh items and checks that none is lost, whatever happens; and that none has
/// moved, if the call did not succeed.
pub(crate) fn survive(len: usize, call: impl FnOnce(&mut [Item]) -> Result<(), Error>) -> End {
    survive_in_order(len, call).0
}

/// As [`survive`], and gives the order that the items are in then.
pub(crate) fn survive_in_order(
    len: usize,
    call: impl FnOnce(&mut [Item]) -> Result<(), Error>,
) -> (End, Vec<usize>) {
    let ledger = Ledger::new(len);
    let mut items = ledger.items();
    let end = End::of(|| call(&mut items));
    assert!(ledger.all_dropped(0), "an item was dropped on the way: {end:?}");
    let order: Vec<usize> = items.iter().map(|item| item.id).collect();
    if end != End::Done {
        assert!(order.iter().copied().eq(0..len), "an item has moved: {end:?}");
    }
    let mut ids = order.clone();
    ids.sort_unstable();
    assert!(ids.into_iter().eq(0..len), "an item is missing: {end:?}");
    drop(items);
    assert!(ledger.all_dropped(1), "not every item was dropped once: {end:?}");
    (end, order)
}

/// [`survive_in_order`] with two columns, of which none may be torn from the other.
pub(crate) fn survive_together(
    len: usize,
    call: impl FnOnce(&mut [Item], &mut [Item]) -> Result<(), Error>,
) -> (End, Vec<usize>) {
    let mut inner = None;
    let (end, order) = survive_in_order(len, |a| {
        let (end, order) = survive_in_order(len, |b| call(a, b));
        inner = Some(order);
        match end {
            End::Done => Ok(()),
            End::Refused(error) => Err(error),
            End::Unwound => resume_unwind(Box::new("as the call within")),
        }
    });
    assert_eq!(inner.as_ref(), Some(&order), "columns are torn apart: {end:?}");
    (end, order)
}

/// Wraps a function that need not be a bijection at all.
pub(crate) struct Liar<F> {
    pub(crate) last: u64,
    pub(crate) map: F,
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
