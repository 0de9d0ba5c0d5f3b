//! [`Inverse`]: a bijection backwards.

use super::{Bijection, DeviceSource, Trusted, TrustedBijection};
use crate::word::Word;

/// A bijection with its two directions exchanged.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::prelude::*;
///
/// let f = VariablePhilox::<24>::from_keys(8, [7; 24]);
/// assert_eq!(Inverse::new(f).forward(99), f.inverse(99));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Inverse<B>(B);

impl<B> Inverse<B> {
    /// The inverse of a bijection.
    pub const fn new(inner: B) -> Self {
        Self(inner)
    }

    /// The bijection this is the inverse of.
    pub fn into_inner(self) -> B {
        self.0
    }
}

impl<N: Word, B: Bijection<N>> Bijection<N> for Inverse<B> {
    fn last(&self) -> N {
        self.0.last()
    }

    fn forward(&self, slot: N) -> N {
        self.0.inverse(slot)
    }

    fn inverse(&self, index: N) -> N {
        self.0.forward(index)
    }

    fn forward_run(&self, first: N, out: &mut [N]) {
        self.0.inverse_run(first, out);
    }

    fn inverse_run(&self, first: N, out: &mut [N]) {
        self.0.forward_run(first, out);
    }

    fn forward_each(&self, values: &mut [N]) {
        self.0.inverse_each(values);
    }

    fn inverse_each(&self, values: &mut [N]) {
        self.0.forward_each(values);
    }

    fn forward_run_u32(&self, first: N, out: &mut [u32]) {
        self.0.inverse_run_u32(first, out);
    }

    fn inverse_run_u32(&self, first: N, out: &mut [u32]) {
        self.0.forward_run_u32(first, out);
    }

    fn evaluation_picoseconds(&self) -> u32 {
        self.0.evaluation_picoseconds()
    }

    fn trusted(&self) -> Option<Trusted<'_, N>> {
        Some(Trusted::from_owned(Inverse(self.0.trusted()?)))
    }

    fn device_source(&self) -> Option<DeviceSource> {
        Some(DeviceSource::combine("Inverse", [self.0.device_source()?], []))
    }
}

// SAFETY: the inverse of a bijection is a bijection on the same domain.
unsafe impl<N: Word, B: TrustedBijection<N>> TrustedBijection<N> for Inverse<B> {}
