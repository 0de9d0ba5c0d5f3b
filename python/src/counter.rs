//! [`Counter`]: places of a permutation that are counted to from the beginning.
//!
//! An iterator over a `Permutation(n, seed)` needs no index, but a single place does. So a run of
//! places that begins at the first one is counted to, at any length.

use bijective_shuffle::bijection::Standard;
use bijective_shuffle::iter::IntoIter;
use pyo3::prelude::*;

use crate::numbers::{CHUNK, FEW, Number};
use crate::order::Order;
use crate::run::Run;
use crate::threads::{Stop, interruptible};

/// An iterator over a permutation, and the place that it has come to.
#[derive(Clone)]
pub(crate) struct Counter {
    indexes: IntoIter<Standard>,
    next: u64,
}

impl Counter {
    /// Stands at the first place, if the places of a run [are counted to](Order::is_counted).
    pub(crate) fn new(order: &Order, run: Run) -> Option<Self> {
        Some(Self { indexes: order.forwards(run)?, next: 0 })
    }

    /// Writes the values at the first places of a run, none of which was passed yet.
    pub(crate) fn fill<N: Number>(&mut self, run: Run, out: &mut [N], stop: &Stop) {
        // A counted run goes forwards.
        let step = run.step.unsigned_abs();
        let mut place = run.start;
        for out in out.chunks_mut(CHUNK) {
            if stop.is_set() {
                return;
            }
            for out in out {
                if let Some(value) = self.indexes.nth((place - self.next) as usize) {
                    *out = N::of(value);
                }
                self.next = place + 1;
                // Beyond the last place it has no meaning.
                place = place.wrapping_add(step);
            }
        }
    }

    /// The same, while other threads of Python run if there are many. After an error no place was
    /// passed.
    pub(crate) fn write<N: Number>(
        &mut self,
        py: Python<'_>,
        run: Run,
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
