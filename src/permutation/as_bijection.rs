//! A [`Permutation`] is a [`Bijection`] on its indexes, so that it can itself be composed,
//! cycle-walked and compacted.
//!
//! It is trusted through an index of its own. The bijection inside may return a different bijection
//! as its trusted form, and an index of the one with values of the other would be no bijection.

use super::{Iter, Permutation, tuning};
use crate::bijection::Inverse;
use crate::bijection::hooks::{Conduct, EngineHooks, Hooked, Passes};
use crate::engine::IndexError;
use crate::engine::check::{check_length, or_panic};
use crate::{Bijection, DeviceSource, Trusted, TrustedBijection};

/// `forward` is [`get`](Permutation::get) and `inverse` is
/// [`position`](Permutation::position). The domain is `[0, len)`; that of an empty
/// permutation has one point, since a domain cannot be empty.
///
/// # Panics
///
/// All methods that evaluate panic where `get` returns an error.
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

    fn forward_each(&self, values: &mut [u64]) {
        self.each(self.inverted, values);
    }

    fn inverse_each(&self, values: &mut [u64]) {
        self.each(!self.inverted, values);
    }

    /// The trusted form has an index of its own, which is built for it.
    fn trusted(&self) -> Option<Trusted<'_>> {
        let trusted = self.bijection.trusted()?;
        // The trusted form may be a different bijection, so the length is checked again and an
        // existing index is not used.
        check_length(self.len, trusted.last()).ok()?;
        let conduct = trusted.conduct();
        let permutation =
            Permutation { inverted: self.inverted, ..Permutation::of(self.len, trusted) };
        // If this permutation has an index already, the caller accepts the cost of another.
        let built = match self.index() {
            Some(_) => permutation.build_index(),
            None => permutation.need_index(),
        };
        built.ok()?;
        // A query without an index panics, and one that builds it waits for other threads.
        let conduct = if permutation.fills_domain() { conduct } else { Conduct::default() };
        Some(Trusted::from_owned(permutation).with_conduct(conduct))
    }

    /// `None` where the length does not fill the bijection's domain, since the device does not have
    /// the index.
    fn device_source(&self) -> Option<DeviceSource> {
        if !self.fills_domain() || self.len == 0 {
            None
        } else if self.inverted {
            Inverse::new(&self.bijection).device_source()
        } else {
            self.bijection.device_source()
        }
    }

    #[inline]
    fn hooks(&self) -> Option<&dyn EngineHooks> {
        Some(self)
    }
}

impl<B: Bijection> EngineHooks for Permutation<B> {
    fn forward_run_u32(&self, first: u64, out: &mut [u32]) {
        self.run_u32(first, self.inverted, out);
    }

    fn inverse_run_u32(&self, first: u64, out: &mut [u32]) {
        self.run_u32(first, !self.inverted, out);
    }

    fn forward_each_u32(&self, values: &mut [u32]) {
        if self.len > 0 && self.fills_domain() && !self.inverted {
            return self.bijection.forward_each_u32(values);
        }
        for value in values {
            *value = self.at(u64::from(*value), self.inverted) as u32;
        }
    }

    fn evaluation_picoseconds(&self) -> u32 {
        if self.fills_domain() {
            self.bijection.evaluation_picoseconds()
        } else {
            tuning::QUERY_PICOSECONDS
        }
    }

    /// The bijection itself: keeping the values below one length, and then those below a shorter
    /// length, is the same as keeping those below the shorter one at once. `None` for an inverse,
    /// because where the length does not fill the domain, the inverse is not what the bijection's
    /// inverse compacts to.
    fn uncompacted(&self) -> Option<&dyn Bijection> {
        if self.inverted || self.len == 0 {
            return None;
        }
        Some(self.bijection.uncompacted().unwrap_or(&self.bijection))
    }

    /// Where the length does not fill the bijection's domain, one pass: the compaction itself,
    /// which needs no index. `None` if the bijection within is a composition of more points, since
    /// no passes compact that.
    fn passes(&self) -> Option<Passes<Trusted<'_>>> {
        let within: &dyn Bijection = self.bijection.uncompacted().unwrap_or(&self.bijection);
        let passes = match within.passes() {
            passes if self.len.checked_sub(1)? == within.last() => passes?,
            Some(_) => return None,
            None => within.trusted()?.compacted_to(self.len)?,
        };
        Some(if self.inverted { passes.inverted() } else { passes })
    }

    fn build_indexes(&self, is_asked: bool) -> Result<(), IndexError> {
        self.build_if(is_asked)
    }
}

// Only for a permutation over a `Trusted`, which `trusted` creates: it can be neither cloned nor
// replaced, so the index always belongs to its values.
//
// SAFETY: if the length fills the domain, this is the trusted bijection, or its inverse, on all of
// its domain. Otherwise `select` returns the value at the k-th slot whose value is below the
// length, and `rank` the number of such slots before that of an index. By the trusted bijection's
// requirements there are exactly as many such slots as indexes, so the two are bijections on [0,
// len) and undo each other. The methods for runs return the same values, computed consecutively. An
// empty permutation is the identity on one point.
unsafe impl TrustedBijection for Permutation<Trusted<'_>> {}

impl<B: Bijection> Permutation<B> {
    /// The value at a point. It is outside the domain if the point is, or if the bijection breaks
    /// its requirements.
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

    /// The values at consecutive points.
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
            let (out, beyond) = out.split_at_mut(count as usize);
            // Points beyond the domain have no values.
            beyond.fill(u64::MAX);
            if count > 0 {
                self.run_within(first, inverted, out);
            }
        }
    }

    /// The values at some consecutive points of the domain. As from any bijection that breaks its
    /// requirements, they may be any numbers: the engines check them.
    fn run_within(&self, first: u64, inverted: bool, out: &mut [u64]) {
        let indexes = Iter::new(self, inverted, first, out.len() as u64);
        indexes.expect_index();
        if indexes.is_direct() {
            out.iter_mut().zip(first..).for_each(|(point, k)| *point = k);
            return self.evaluate(inverted, true, out);
        }
        let mut written = 0;
        let found = indexes.try_for_each_run(|run| {
            out[written..][..run.len()].copy_from_slice(run);
            written += run.len();
        });
        if found.is_err() {
            out[written..].fill(u64::MAX);
        }
    }

    /// The values at consecutive points, in 32 bits.
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

    /// Replaces any points by the values there.
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
