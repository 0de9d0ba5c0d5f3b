//! [`Compose`]: one bijection after another.

use super::hooks::{EngineHooks, Hooked};
use super::{Bijection, DeviceSource, Passes, Trusted, TrustedBijection};
use crate::error::{BijectionError, IndexError};
use crate::word::Word;

/// The composition of two bijections on the same domain: `forward(x)` is
/// `second.forward(first.forward(x))`.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::bijection::{Compose, Lcg, VariablePhilox};
/// use bijective_shuffle::prelude::*;
///
/// let first = Lcg::new(8, 5, 3)?;
/// let second = VariablePhilox::<24>::new(8, [7; 24])?;
/// let both = Compose::new(first, second)?;
/// assert_eq!(both.forward(99), second.forward(first.forward(99)));
/// assert_eq!(both.inverse(both.forward(99)), 99);
/// # Ok::<(), bijective_shuffle::Error>(())
/// ```
///
/// The type itself is not [trusted](TrustedBijection); only its [`trusted`](Bijection::trusted)
/// form is:
///
/// ```compile_fail,E0277
/// use bijective_shuffle::bijection::{Compose, VariablePhilox};
/// use bijective_shuffle::TrustedBijection;
/// use bijective_shuffle::prelude::*;
///
/// fn takes_trusted(_: impl TrustedBijection) {}
///
/// let f = VariablePhilox::<24>::new(8, [7; 24]).unwrap();
/// takes_trusted(Compose::new(f, f).unwrap());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Compose<A, B> {
    first: A,
    second: B,
}

impl<A, B> Compose<A, B> {
    /// Applies `first`, then `second`.
    ///
    /// # Errors
    ///
    /// [`BijectionError::DomainMismatch`] if their domains differ.
    pub fn new<N: Word>(first: A, second: B) -> Result<Self, BijectionError>
    where
        A: Bijection<N>,
        B: Bijection<N>,
    {
        let (a, b) = (first.last(), second.last());
        if a == b {
            Ok(Self { first, second })
        } else {
            Err(BijectionError::DomainMismatch { first: a.widen(), second: b.widen() })
        }
    }

    /// The two parts, in the order in which they are applied.
    pub fn into_parts(self) -> (A, B) {
        (self.first, self.second)
    }
}

impl<N: Word, A: Bijection<N>, B: Bijection<N>> Bijection<N> for Compose<A, B> {
    fn last(&self) -> N {
        self.first.last()
    }

    fn forward(&self, slot: N) -> N {
        self.second.forward(self.first.forward(slot))
    }

    fn inverse(&self, index: N) -> N {
        self.first.inverse(self.second.inverse(index))
    }

    fn forward_run(&self, first: N, out: &mut [N]) {
        self.first.forward_run(first, out);
        self.second.forward_each(out);
    }

    fn inverse_run(&self, first: N, out: &mut [N]) {
        self.second.inverse_run(first, out);
        self.first.inverse_each(out);
    }

    fn forward_each(&self, values: &mut [N]) {
        self.first.forward_each(values);
        self.second.forward_each(values);
    }

    fn inverse_each(&self, values: &mut [N]) {
        self.second.inverse_each(values);
        self.first.inverse_each(values);
    }

    #[cfg(feature = "alloc")]
    fn trusted(&self) -> Option<Trusted<'_, N>> {
        // A part's trusted form may be a different bijection, so the constructor checks the domains
        // again.
        let parts = Compose::new(self.first.trusted()?, self.second.trusted()?).ok()?;
        let conduct = parts.first.conduct().and(parts.second.conduct());
        Some(Trusted::from_owned(parts).with_conduct(conduct))
    }

    #[cfg(feature = "alloc")]
    fn device_source(&self) -> Option<DeviceSource> {
        let (first, second) = (self.first.device_source()?, self.second.device_source()?);
        Some(DeviceSource::combinator("Compose").part(first).part(second))
    }

    #[inline]
    fn hooks(&self) -> Option<&dyn EngineHooks<N>> {
        Some(self)
    }
}

impl<N: Word, A: Bijection<N>, B: Bijection<N>> EngineHooks<N> for Compose<A, B> {
    fn evaluation_picoseconds(&self) -> u32 {
        self.first.evaluation_picoseconds().saturating_add(self.second.evaluation_picoseconds())
    }

    /// The passes of both parts, if either has any: by the second part first, because an item comes
    /// from where the composition's value, which is the second part's, says.
    #[cfg(feature = "alloc")]
    fn passes(&self) -> Option<Passes<Trusted<'_, N>>> {
        let (first, second) = (self.first.passes(), self.second.passes());
        if first.is_none() && second.is_none() {
            return None;
        }
        let second = second.or_else(|| whole(&self.second))?;
        Some(second.then(first.or_else(|| whole(&self.first))?))
    }

    fn build_indexes(&self, is_asked: bool) -> Result<(), IndexError> {
        self.first.build_indexes(is_asked)?;
        self.second.build_indexes(is_asked)
    }
}

/// A pass over all points of a bijection that is evaluated as it is.
#[cfg(feature = "alloc")]
fn whole<N: Word>(part: &dyn Bijection<N>) -> Option<Passes<Trusted<'_, N>>> {
    let part = part.trusted()?;
    let len = part.last().widen().checked_add(1)?;
    part.compacted_to(len)
}

// This is implemented for `Trusted` parts, as `trusted` makes them, and not for all trusted parts.
// The constructor checked the domains in one word and for the values that it was given. A type may
// be trusted in two words with different domains, and a clone may have a different domain from its
// original.
//
// SAFETY: the constructor checked that the domains are equal. A `Trusted` has one word, cannot be
// cloned or replaced by another, and never changes its domain. A composition of bijections on one
// domain is a bijection, and its inverse undoes the parts in reverse order.
unsafe impl<N: Word> TrustedBijection<N> for Compose<Trusted<'_, N>, Trusted<'_, N>> {}
