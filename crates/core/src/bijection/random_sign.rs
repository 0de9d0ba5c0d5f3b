//! [`RandomSign`]: makes both signs of a permutation equally likely.

use super::hooks::{EngineHooks, Hooked};
use super::{Bijection, DeviceSource, FromSeed, Trusted, TrustedBijection};
use crate::error::IndexError;
use crate::seed::{KeyDomain, Words};
use crate::word::Word;

/// A bijection, followed for half of the keys by an exchange of the values 0 and 1.
///
/// Some ciphers make only even permutations of their whole domain; [`VariablePhilox`] is one. Half
/// of all orders then never occur, which shows whenever the length equals the size of the domain or
/// is one less. An exchange is odd, so a fair key bit makes both signs equally likely. If the inner
/// bijection was uniform over the even permutations, the result is uniform over all. Any fixed pair
/// would balance the signs on the whole domain. 0 and 1 survive compaction to any length of at
/// least two, so the signs are balanced there, too.
///
/// [`VariablePhilox`]: crate::bijection::VariablePhilox
///
/// # Examples
///
/// ```
/// use bijective_shuffle::bijection::{RandomSign, VariablePhilox};
/// use bijective_shuffle::prelude::*;
///
/// let even = VariablePhilox::<24>::new(8, [7; 24]).unwrap();
/// let odd = RandomSign::new(even, true);
/// assert_eq!(odd.inverse(0), even.inverse(1));
/// assert_eq!(odd.inverse(2), even.inverse(2));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RandomSign<B> {
    inner: B,
    swap: bool,
}

impl<B> RandomSign<B> {
    /// The bijection itself or, if `swap` is set, the bijection followed by the exchange of 0
    /// and 1. A domain of one point is left unchanged.
    pub const fn new(inner: B, swap: bool) -> Self {
        Self { inner, swap }
    }
}

/// The mask that exchanges 0 and 1 by exclusive or; 0 if nothing is exchanged.
fn mask<N: Word>(swap: bool, last: N) -> N {
    if swap && last >= N::ONE { N::ONE } else { N::ZERO }
}

#[inline]
fn exchange<N: Word>(value: N, mask: N) -> N {
    if value <= N::ONE { value ^ mask } else { value }
}

impl<N: Word, B: Bijection<N>> Bijection<N> for RandomSign<B> {
    fn last(&self) -> N {
        self.inner.last()
    }

    fn forward(&self, slot: N) -> N {
        exchange(self.inner.forward(slot), mask(self.swap, self.inner.last()))
    }

    fn inverse(&self, index: N) -> N {
        self.inner.inverse(exchange(index, mask(self.swap, self.inner.last())))
    }

    fn forward_run(&self, first: N, out: &mut [N]) {
        self.inner.forward_run(first, out);
        self.exchange_each(out);
    }

    fn inverse_run(&self, first: N, out: &mut [N]) {
        self.inner.inverse_run(first, out);
        // Only the indexes 0 and 1 have other slots than in the inner bijection: theirs are
        // exchanged.
        for (index, slot) in (first.widen()..=1).zip(out) {
            *slot = self.inverse(N::wrap(index));
        }
    }

    fn forward_each(&self, values: &mut [N]) {
        self.inner.forward_each(values);
        self.exchange_each(values);
    }

    fn inverse_each(&self, values: &mut [N]) {
        self.exchange_each(values);
        self.inner.inverse_each(values);
    }

    #[cfg(feature = "alloc")]
    fn trusted(&self) -> Option<Trusted<'_, N>> {
        let inner = self.inner.trusted()?;
        let conduct = inner.conduct();
        Some(Trusted::from_owned(RandomSign::new(inner, self.swap)).with_conduct(conduct))
    }

    #[cfg(feature = "alloc")]
    fn device_source(&self) -> Option<DeviceSource> {
        let mask = mask(self.swap, self.inner.last()).widen();
        let inner = self.inner.device_source()?;
        Some(DeviceSource::combinator("RandomSign").part(inner).field("mask", &[mask]))
    }

    #[inline]
    fn hooks(&self) -> Option<&dyn EngineHooks<N>> {
        Some(self)
    }
}

impl<N: Word, B: Bijection<N>> EngineHooks<N> for RandomSign<B> {
    fn evaluation_picoseconds(&self) -> u32 {
        self.inner.evaluation_picoseconds()
    }

    fn build_indexes(&self, is_asked: bool) -> Result<(), IndexError> {
        self.inner.build_indexes(is_asked)
    }
}

impl<B> RandomSign<B> {
    fn exchange_each<N: Word>(&self, values: &mut [N])
    where
        B: Bijection<N>,
    {
        let mask = mask(self.swap, self.inner.last());
        if mask != N::ZERO {
            for value in values {
                *value = exchange(*value, mask);
            }
        }
    }
}

// SAFETY: the inner bijection keeps the requirements. The exchange of two points of the domain is a
// bijection on it and its own inverse; with fewer than two points it is the identity.
unsafe impl<N: Word, B: TrustedBijection<N>> TrustedBijection<N> for RandomSign<B> {}

impl<B: FromSeed> FromSeed for RandomSign<B> {
    /// Draws the inner key, then one word, whose lowest bit decides on the exchange.
    fn from_words<W: Words + ?Sized>(len: u64, words: &mut W) -> Self {
        let inner = B::from_words(len, words);
        let swap = words.next_u32() & 1 == 1;
        Self { inner, swap }
    }

    fn key_domain(len: u64) -> KeyDomain {
        B::key_domain(len)
    }
}
