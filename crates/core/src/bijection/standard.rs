//! [`Standard`]: the family from which a plain seed chooses, and the rule for small lengths.

use super::exact::{Exact, POINTS};
use super::traits::{EngineHooks, pass_on};
use super::{Bijection, DeviceSource, FromSeed, MulXorshift, Trusted, TrustedBijection};
use crate::seed::{KeyDomain, Seed, Words};
use crate::word::bits_for;

/// The default family, which `Permutation::new` and
/// `par_bijective_shuffle` use.
///
/// Up to [`EXACT_MAX`](Self::EXACT_MAX) items the permutation is drawn exactly, as
/// [`Table`](crate::bijection::Table) draws it; for more it is a [`MulXorshift`] of 10 rounds. It
/// allocates nothing. The default is not the paper's cipher, since `MulXorshift` passes every test
/// and costs less.
/// [`VariablePhilox`](crate::bijection::VariablePhilox) is available by name. The rule is part of
/// the stable values, and `docs/quality.md` has the evidence for it and the margin.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::bijection::Standard;
/// use bijective_shuffle::prelude::*;
///
/// assert_eq!(Standard::from_seed(100, 42).last(), 99);
/// assert_eq!(Standard::from_seed(1000, 42).last(), 1023);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Standard(StandardKind);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::large_enum_variant, reason = "a box would cost an allocation a shuffle")]
enum StandardKind {
    Exact(Exact),
    Cipher(StandardCipher),
}

/// The family for lengths above [`Standard::EXACT_MAX`].
pub type StandardCipher = MulXorshift<10>;

impl StandardCipher {
    /// The cipher of a seed, as [`FromSeed::from_seed`] draws it. Like [`trust`](Self::trust) it is
    /// neither generic nor inlined, so that evaluators are compiled in this package alone.
    #[doc(hidden)]
    #[inline(never)]
    pub fn of_seed(len: u64, seed: Seed) -> Self {
        Self::from_seed(len, seed)
    }

    /// The cipher as engines evaluate it.
    #[doc(hidden)]
    #[inline(never)]
    pub fn trust(&self) -> Trusted<'_> {
        Trusted::of_family(self)
    }
}

/// What the family does by its kind.
macro_rules! of_kind {
    ($self:ident, $kind:ident => $does:expr) => {
        match &$self.0 {
            StandardKind::Exact($kind) => $does,
            StandardKind::Cipher($kind) => $does,
        }
    };
}

impl Standard {
    /// The largest length for which the permutation is drawn exactly.
    ///
    /// On very few bits no cipher is uniform enough: this one fails on 4 bits and needs 7 rounds on
    /// 5 (`docs/quality.md`), and lengths up to 256 take at most 8 bits. A table of that size is
    /// small and quick to draw.
    pub const EXACT_MAX: u64 = POINTS as u64;

    /// [`FromSeed::from_seed`] in a constant.
    pub(super) const fn constant(len: u64, seed: Seed) -> Self {
        Self(if len <= Self::EXACT_MAX {
            let mut words = seed.key_stream(KeyDomain::Exact(len));
            StandardKind::Exact(Exact::constant(len, &mut words))
        } else {
            let mut words = seed.key_stream(KeyDomain::Bits(bits_for(len)));
            StandardKind::Cipher(StandardCipher::constant(len, &mut words))
        })
    }

    /// [`Bijection::last`], [`Bijection::forward`] and [`Bijection::inverse`] in a constant.
    pub(super) const fn constant_last(&self) -> u64 {
        match &self.0 {
            StandardKind::Exact(exact) => exact.last(),
            StandardKind::Cipher(cipher) => u64::MAX >> (u64::BITS - cipher.bits()),
        }
    }

    pub(super) const fn constant_value(&self, slot: u64) -> u64 {
        match &self.0 {
            StandardKind::Exact(exact) => exact.value(slot),
            StandardKind::Cipher(cipher) => cipher.constant_value(slot),
        }
    }

    pub(super) const fn constant_slot(&self, index: u64) -> u64 {
        match &self.0 {
            StandardKind::Exact(exact) => exact.slot(index),
            StandardKind::Cipher(cipher) => cipher.constant_slot(index),
        }
    }

    // Neither this nor what calls it is `inline`: the ciphers' evaluators are compiled here alone.
    fn inner(&self) -> &dyn TrustedBijection {
        of_kind!(self, kind => kind)
    }
}

impl Bijection for Standard {
    #[inline]
    fn last(&self) -> u64 {
        of_kind!(self, kind => kind.last())
    }

    #[inline]
    fn forward(&self, slot: u64) -> u64 {
        of_kind!(self, kind => kind.forward(slot))
    }

    #[inline]
    fn inverse(&self, index: u64) -> u64 {
        of_kind!(self, kind => kind.inverse(index))
    }

    pass_on!(runs of u64, self => self.inner());

    fn trusted(&self) -> Option<Trusted<'_>> {
        Some(Trusted::of_family(self))
    }
    fn hooks(&self) -> Option<&dyn EngineHooks> {
        self.inner().hooks()
    }
}

// SAFETY: each kind passes every call on to a bijection that is trusted, and the kind never
// changes.
unsafe impl TrustedBijection for Standard {}

impl FromSeed for Standard {
    fn from_words<W: Words + ?Sized>(len: u64, words: &mut W) -> Self {
        Self(if len <= Self::EXACT_MAX {
            StandardKind::Exact(Exact::draw(len, words))
        } else {
            StandardKind::Cipher(StandardCipher::from_words(len, words))
        })
    }

    fn from_seed(len: u64, seed: impl Into<Seed>) -> Self {
        Self(if len <= Self::EXACT_MAX {
            StandardKind::Exact(Exact::draw(
                len,
                &mut seed.into().key_stream(Self::key_domain(len)),
            ))
        } else {
            StandardKind::Cipher(StandardCipher::of_seed(len, seed.into()))
        })
    }

    fn key_domain(len: u64) -> KeyDomain {
        if len <= Self::EXACT_MAX { KeyDomain::Exact(len) } else { StandardCipher::key_domain(len) }
    }
}
