//! [`Counter`]: places of a permutation that are counted to from the beginning.
//!
//! An iterator over a `Permutation(n, seed)` needs no index, but a single place does. So a run of
//! places that begins at the first one is counted to, at any length.

use std::sync::Arc;

use bijective_shuffle::iter::IntoIter;
use bijective_shuffle::{Bijection, Word};
use bijective_shuffle_bindings::{AnyOrder, PlaceRun};
use pyo3::prelude::*;

use crate::numbers::{CHUNK, FEW, IndexInteger};
use crate::threads::{Stop, interruptible};

/// An iterator over a permutation, and the place that it has come to.
#[derive(Clone)]
pub(crate) struct Counter {
    indexes: IntoIter<Arc<dyn Bijection>>,
    next: u64,
}

impl Counter {
    /// Stands at the first place, if the places of a run [are counted
    /// to](AnyOrder::is_counted).
    pub(crate) fn new(order: &AnyOrder, run: PlaceRun) -> Option<Self> {
        order.is_counted(run).then(|| Self { indexes: order.indexes(), next: 0 })
    }

    /// Writes the indexes at the first places of a run, none of which was passed yet.
    pub(crate) fn fill<N: IndexInteger>(&mut self, run: PlaceRun, out: &mut [N], stop: &Stop) {
        // A counted run goes forwards.
        let step = run.step as u64;
        let mut place = run.start;
        for out in N::words(out).chunks_mut(CHUNK) {
            if stop.is_set() {
                return;
            }
            for out in out {
                if let Some(index) = self.indexes.nth((place - self.next) as usize) {
                    *out = N::Word::wrap(index);
                }
                self.next = place + 1;
                // Beyond the last place it has no meaning.
                place = place.wrapping_add(step);
            }
        }
    }

    /// The same, while other threads of Python run if there are many. After an error no place was
    /// passed.
    pub(crate) fn write<N: IndexInteger>(
        &mut self,
        py: Python<'_>,
        run: PlaceRun,
        out: &mut [N],
    ) -> PyResult<()> {
        if out.len() <= FEW {
            self.fill(run, out, &Stop::never());
            return Ok(());
        }
        let mut ahead = self.clone();
        interruptible(py, |stop| ahead.fill(run, out, stop))?;
        *self = ahead;
        Ok(())
    }
}
