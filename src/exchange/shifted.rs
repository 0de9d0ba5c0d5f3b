//! [`Shifted`]: a bijection whose values count from another index on.

use crate::bijection::hooks::{EngineHooks, Hooked};
use crate::{Bijection, Trusted, TrustedBijection};

/// A bijection whose values are those of another, less a shift, modulo the number of points. With a
/// shift to a rank's first index, the survivors are that rank's items, numbered from 0.
pub(super) struct Shifted<B> {
    inner: B,
    by: u64,
    /// The number of values from the shift on, less one.
    above: u64,
}

impl<B: Bijection> Shifted<B> {
    /// `by` is a point of the domain.
    pub(super) fn new(inner: B, by: u64) -> Self {
        let above = inner.last().saturating_sub(by);
        Self { inner, by, above }
    }

    /// What a value becomes.
    #[inline(always)]
    fn down(&self, value: u64) -> u64 {
        if value >= self.by { value - self.by } else { value + self.above + 1 }
    }

    /// What values become, of a domain of at most 2^32 points.
    fn down_u32(&self, values: &mut [u32]) {
        // So all of this fits.
        let (by, above) = (self.by as u32, self.above as u32);
        for value in values {
            let below = value.wrapping_add(above).wrapping_add(1);
            *value = if *value >= by { *value - by } else { below };
        }
    }

    /// What a value was.
    #[inline(always)]
    fn up(&self, value: u64) -> u64 {
        if value <= self.above { value + self.by } else { value - self.above - 1 }
    }

    /// Evaluates the inverse at values that are consecutive up to the shift and again from the
    /// shift on.
    fn inverse_runs<N>(&self, first: u64, out: &mut [N], run: impl Fn(u64, &mut [N])) {
        let above = match self.above.checked_sub(first) {
            Some(left) if left < out.len() as u64 => left as usize + 1,
            Some(_) => out.len(),
            None => 0,
        };
        let (low, high) = out.split_at_mut(above);
        if !low.is_empty() {
            run(self.up(first), low);
        }
        if !high.is_empty() {
            run(self.up(first + above as u64), high);
        }
    }
}

impl<B: Bijection> Bijection for Shifted<B> {
    fn last(&self) -> u64 {
        self.inner.last()
    }

    fn forward(&self, slot: u64) -> u64 {
        self.down(self.inner.forward(slot))
    }

    fn inverse(&self, index: u64) -> u64 {
        self.inner.inverse(self.up(index))
    }

    fn forward_run(&self, first: u64, out: &mut [u64]) {
        self.inner.forward_run(first, out);
        out.iter_mut().for_each(|value| *value = self.down(*value));
    }

    fn inverse_run(&self, first: u64, out: &mut [u64]) {
        self.inverse_runs(first, out, |first, out| self.inner.inverse_run(first, out));
    }

    fn forward_each(&self, values: &mut [u64]) {
        self.inner.forward_each(values);
        values.iter_mut().for_each(|value| *value = self.down(*value));
    }

    fn inverse_each(&self, values: &mut [u64]) {
        values.iter_mut().for_each(|value| *value = self.up(*value));
        self.inner.inverse_each(values);
    }

    fn trusted(&self) -> Option<Trusted<'_>> {
        let inner = self.inner.trusted()?;
        let conduct = inner.conduct();
        // What the checked form says of its domain counts, and the shift may be beyond it.
        (self.by <= inner.last())
            .then(|| Trusted::from_owned(Shifted::new(inner, self.by)).with_conduct(conduct))
    }

    #[inline]
    fn hooks(&self) -> Option<&dyn EngineHooks> {
        Some(self)
    }
}

impl<B: Bijection> EngineHooks for Shifted<B> {
    fn forward_run_u32(&self, first: u64, out: &mut [u32]) {
        self.inner.forward_run_u32(first, out);
        self.down_u32(out);
    }

    fn inverse_run_u32(&self, first: u64, out: &mut [u32]) {
        self.inverse_runs(first, out, |first, out| self.inner.inverse_run_u32(first, out));
    }

    fn forward_each_u32(&self, values: &mut [u32]) {
        self.inner.forward_each_u32(values);
        self.down_u32(values);
    }

    fn evaluation_picoseconds(&self) -> u32 {
        self.inner.evaluation_picoseconds()
    }
}

// SAFETY: B keeps the requirements, and `new` is only called with a point of its domain. Adding a
// number modulo the number of points is a bijection on them, `up` undoes `down`, and each method
// here evaluates B in the same direction at the same points. The runs in 32 bits are only asked for
// where the domain fits them.
unsafe impl<B: TrustedBijection> TrustedBijection for Shifted<B> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FromSeed;
    use crate::bijection::{CycleWalk, GridFeistel, Lcg, MulXorshift, verify};

    fn check<B: Bijection>(inner: &B, by: u64) {
        let shifted = Shifted::new(inner, by);
        verify(&shifted, 100).unwrap();
        let points = inner.last() + 1;
        for slot in 0..points {
            let value = (inner.forward(slot) + points - by) % points;
            assert_eq!(shifted.forward(slot), value);
            assert_eq!(shifted.inverse(value), slot);
        }
        let mut wide = vec![0; points as usize];
        let mut narrow = vec![0; points as usize];
        shifted.inverse_run(0, &mut wide);
        Hooked::inverse_run_u32(&shifted, 0, &mut narrow);
        assert!((0..points).all(|index| wide[index as usize] == shifted.inverse(index)));
        assert!(wide.iter().zip(&narrow).all(|(&wide, &narrow)| wide == u64::from(narrow)));
    }

    #[test]
    fn shifted_bijections_are_bijections() {
        for by in [0, 1, 500, 999] {
            check(&CycleWalk::new(MulXorshift::<10>::from_seed(1000, 1), 1000).unwrap(), by);
            check(&GridFeistel::<12>::from_seed(1000, 1), by);
            check(&MulXorshift::<10>::from_seed(1000, 1), by);
        }
    }

    #[test]
    fn the_largest_domain_is_shifted() {
        let all = Lcg::new(64, 5, 1).unwrap();
        for by in [0, 1, u64::MAX] {
            let shifted = Shifted::new(&all, by);
            for slot in [0, 1, 12_345, u64::MAX - 1, u64::MAX] {
                assert_eq!(shifted.forward(slot), all.forward(slot).wrapping_sub(by));
                assert_eq!(shifted.inverse(shifted.forward(slot)), slot);
            }
        }
    }
}
