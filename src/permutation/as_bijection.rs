//! A [`Permutation`] is a [`Bijection`] on its indexes, so that it can be composed, walked along and compacted itself.

use super::{Iter, Permutation, tuning};
use crate::base::check::{check_length, or_panic};
use crate::bijection::{Bijection, DeviceSource, Inverse, Trusted, TrustedBijection};

/// What [`get`](Permutation::get) and [`position`](Permutation::position) say. The domain is `[0, len)`; that of an
/// empty permutation has one point, as a domain must.
///
/// # Panics
///
/// All methods that evaluate panic as `get` does.
impl<B: Bijection> Bijection for Permutation<B> {
    fn last(&self) -> u64 {
        self.len.saturating_sub(1)
    }

    fn forward(&self, slot: u64) -> u64 {
        self.at(slot, self.inverted)
    }

    fn inverse(&self, index: u64) -> u64 {
        self.at(index, !self.inverted)
    }

    fn forward_run(&self, first: u64, out: &mut [u64]) {
        self.run(first, self.inverted, out);
    }

    fn inverse_run(&self, first: u64, out: &mut [u64]) {
        self.run(first, !self.inverted, out);
    }

    fn forward_run_u32(&self, first: u64, out: &mut [u32]) {
        self.run_u32(first, self.inverted, out);
    }

    fn inverse_run_u32(&self, first: u64, out: &mut [u32]) {
        self.run_u32(first, !self.inverted, out);
    }

    fn forward_each(&self, values: &mut [u64]) {
        self.each(self.inverted, values);
    }

    fn inverse_each(&self, values: &mut [u64]) {
        self.each(!self.inverted, values);
    }

    fn evaluation_picoseconds(&self) -> u32 {
        if self.fills_domain() {
            self.bijection.evaluation_picoseconds()
        } else {
            tuning::QUERY_PICOSECONDS
        }
    }

    /// With an index of its own, which is built for it.
    fn trusted(&self) -> Option<Trusted<'_>> {
        let trusted = self.bijection.trusted()?;
        // It may be another bijection, hence the check once more, and not the index that there may be.
        check_length(self.len, trusted.last()).ok()?;
        let permutation =
            Permutation { inverted: self.inverted, ..Permutation::of(self.len, trusted) };
        // Where this one has an index, a second one was asked for.
        let built = match self.index() {
            Some(_) => permutation.build_index(),
            None => permutation.need_index(),
        };
        built.ok()?;
        Some(Trusted::from_owned(permutation))
    }

    /// The bijection itself, since to keep the values below one length and of them those below a shorter
    /// one is to keep those below the shorter one. `None` for an inverse: where the length does not fill
    /// the domain, it is not what the bijection's inverse compacts to.
    fn uncompacted(&self) -> Option<&dyn Bijection> {
        if self.inverted || self.len == 0 {
            return None;
        }
        Some(self.bijection.uncompacted().unwrap_or(&self.bijection))
    }

    /// None where the length does not fill the bijection's domain: no device has the index.
    fn device_source(&self) -> Option<DeviceSource> {
        if !self.fills_domain() || self.len == 0 {
            None
        } else if self.inverted {
            Inverse::new(&self.bijection).device_source()
        } else {
            self.bijection.device_source()
        }
    }
}

// Only of a `Trusted`, as `trusted` makes it: it cannot be cloned or exchanged, so that the index is of its values.
//
// SAFETY: if the length fills the domain, it is the trusted bijection, or its inverse, on all of its domain. Else
// `select` gives the value at the k-th slot whose value is below the length, and `rank` the number of such slots before
// that of an index: by the trusted bijection's requirements there are as many such slots as indexes, so the two are
// bijections on [0, len) and undo each other. The runs are the same values, found in a row. An empty permutation is
// the identity on one point.
unsafe impl TrustedBijection for Permutation<Trusted<'_>> {}

impl<B: Bijection> Permutation<B> {
    /// The value at a point, or one outside of the domain if the point is, or the bijection breaks its
    /// requirements.
    fn at(&self, point: u64, inverted: bool) -> u64 {
        if self.len == 0 {
            return point;
        }
        if point >= self.len {
            return u64::MAX;
        }
        let value = if inverted { self.rank(point) } else { self.select(point) };
        or_panic(value).unwrap_or(u64::MAX)
    }

    /// The values at points in a row.
    fn run(&self, first: u64, inverted: bool, out: &mut [u64]) {
        if self.len == 0 {
            out.fill(first);
        } else if self.fills_domain() {
            if inverted {
                self.bijection.inverse_run(first, out);
            } else {
                self.bijection.forward_run(first, out);
            }
        } else {
            let count = self.len.saturating_sub(first).min(out.len() as u64);
            let mut indices = Iter::new(self, inverted, first, count);
            indices.expect_index();
            // Beyond the domain there are none.
            out.fill_with(|| indices.next().unwrap_or(u64::MAX));
        }
    }

    /// The values at points in a row, in 32 bits.
    fn run_u32(&self, first: u64, inverted: bool, out: &mut [u32]) {
        if self.len > 0 && self.fills_domain() {
            if inverted {
                self.bijection.inverse_run_u32(first, out);
            } else {
                self.bijection.forward_run_u32(first, out);
            }
        } else {
            let mut wide = [0; tuning::RUN];
            let mut first = first;
            for out in out.chunks_mut(tuning::RUN) {
                let wide = &mut wide[..out.len()];
                self.run(first, inverted, wide);
                for (narrow, value) in out.iter_mut().zip(&*wide) {
                    *narrow = *value as u32;
                }
                first = first.wrapping_add(out.len() as u64);
            }
        }
    }

    /// The values at any points.
    fn each(&self, inverted: bool, values: &mut [u64]) {
        if !self.fills_domain() || self.len == 0 {
            for value in values {
                *value = self.at(*value, inverted);
            }
        } else if inverted {
            self.bijection.inverse_each(values);
        } else {
            self.bijection.forward_each(values);
        }
    }
}
