//! [`Inverse`]: a bijection with its directions exchanged.

use super::hooks::{EngineHooks, Hooked};
use super::{Bijection, DeviceSource, Passes, Trusted, TrustedBijection};
use crate::error::IndexError;
use crate::word::Word;

/// A bijection with its two directions exchanged.
///
/// # It does not undo a shuffle of fewer items than points
///
/// A shuffle of `m` items by a bijection on `n > m` points keeps the slots whose values are below
/// `m`. The inverse keeps other slots, so a shuffle by `Inverse` is a different permutation of the
/// `m` items and does not put them back, unless `m = n`. To undo a shuffle of any length, call the
/// method that undoes it, with the bijection itself: `try_par_bijective_unshuffle`,
/// `Workspace::unshuffle` or
/// `Compactor::unshuffle`. The inverse of the permutation of `m`
/// items, with its indexes and places, is `Permutation::inverted`.
///
/// ```
/// use bijective_shuffle::bijection::{Inverse, Lcg};
/// use bijective_shuffle::prelude::*;
///
/// let f = Lcg::new(3, 5, 3)?; // 8 points: 3 0 5 2 7 4 1 6
/// let mut v = [0, 1, 2, 3, 4];
/// v.try_par_bijective_shuffle(&f)?;
/// assert_eq!(v, [3, 0, 2, 4, 1]);
///
/// let mut not_undone = v;
/// not_undone.try_par_bijective_shuffle(&Inverse::new(f))?;
/// assert_eq!(not_undone, [0, 4, 3, 2, 1]);
///
/// let mut undone = v;
/// undone.try_par_bijective_unshuffle(&f)?;
/// assert_eq!(undone, [0, 1, 2, 3, 4]);
///
/// let inverse = Permutation::from_bijection(5, f)?.inverted();
/// assert_eq!(inverse.apply(&v)?, [0, 1, 2, 3, 4]);
///
/// // With as many items as points, it does undo.
/// let mut all = [0, 1, 2, 3, 4, 5, 6, 7];
/// all.try_par_bijective_shuffle(&f)?;
/// all.try_par_bijective_shuffle(&Inverse::new(f))?;
/// assert_eq!(all, [0, 1, 2, 3, 4, 5, 6, 7]);
/// # Ok::<(), bijective_shuffle::Error>(())
/// ```
///
/// # Examples
///
/// ```
/// use bijective_shuffle::bijection::{Inverse, VariablePhilox};
/// use bijective_shuffle::prelude::*;
///
/// let f = VariablePhilox::<24>::new(8, [7; 24]).unwrap();
/// assert_eq!(Inverse::new(f).forward(99), f.inverse(99));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Inverse<B>(B);

impl<B> Inverse<B> {
    /// The inverse of a bijection.
    pub const fn new(inner: B) -> Self {
        Self(inner)
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

    #[cfg(feature = "alloc")]
    fn trusted(&self) -> Option<Trusted<'_, N>> {
        let inner = self.0.trusted()?;
        let conduct = inner.conduct();
        Some(Trusted::from_owned(Inverse(inner)).with_conduct(conduct))
    }

    #[cfg(feature = "alloc")]
    fn device_source(&self) -> Option<DeviceSource> {
        Some(DeviceSource::combinator("Inverse").part(self.0.device_source()?))
    }

    #[inline]
    fn hooks(&self) -> Option<&dyn EngineHooks<N>> {
        Some(self)
    }
}

impl<N: Word, B: Bijection<N>> EngineHooks<N> for Inverse<B> {
    fn forward_run_u32(&self, first: N, out: &mut [u32]) {
        self.0.inverse_run_u32(first, out);
    }

    fn inverse_run_u32(&self, first: N, out: &mut [u32]) {
        self.0.forward_run_u32(first, out);
    }

    fn evaluation_picoseconds(&self) -> u32 {
        self.0.evaluation_picoseconds()
    }

    #[cfg(feature = "alloc")]
    fn passes(&self) -> Option<Passes<Trusted<'_, N>>> {
        self.0.passes().map(Passes::inverted)
    }

    fn build_indexes(&self, is_asked: bool) -> Result<(), IndexError> {
        self.0.build_indexes(is_asked)
    }
}

// SAFETY: the inner bijection keeps the requirements. Its inverse is a bijection on the same
// domain, and each method here calls the inner method of the opposite direction.
unsafe impl<N: Word, B: TrustedBijection<N>> TrustedBijection<N> for Inverse<B> {}
