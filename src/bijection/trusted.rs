//! [`TrustedBijection`]: the marker with which an author vouches.

use core::fmt;

use super::{Bijection, DeviceSource};
use crate::word::Word;

/// A bijection whose author vouches for it, so that items may be moved by it without a check.
///
/// The check costs a pass over the permutation's indexes and a bit an item. To skip it, implement this
/// trait and hand the bijection out from [`Bijection::trusted`]:
///
/// ```
/// use bijective_shuffle::{Bijection, Trusted, TrustedBijection};
///
/// struct Backwards {
///     last: u64,
/// }
///
/// impl Bijection for Backwards {
///     fn last(&self) -> u64 {
///         self.last
///     }
///     fn forward(&self, slot: u64) -> u64 {
///         self.last.wrapping_sub(slot)
///     }
///     fn inverse(&self, index: u64) -> u64 {
///         self.last.wrapping_sub(index)
///     }
///     fn trusted(&self) -> Option<Trusted<'_>> {
///         Some(Trusted::new(self))
///     }
/// }
///
/// // SAFETY: on [0, last] the map is x -> last - x, its own inverse; it never panics.
/// unsafe impl TrustedBijection for Backwards {}
/// ```
///
/// # Safety
///
/// The [requirements](Bijection#requirements) hold without exception, for every value of the type that safe code can
/// make, for as long as it lives; for every method that the type overrides, the runs forwards and backwards and those
/// in 32 bits among them, and for the functions of its [`device_source`](Bijection::device_source): engines rely on any
/// of them for memory safety. A method may panic.
///
/// `Inverse` and `RandomSign` of a trusted bijection are trusted. `Compose` and `CycleWalk` rest on a check of their
/// parts, so it is their [`trusted`](Bijection::trusted) form, made of checked parts, that is.
///
/// # Examples
///
/// The word is given with `unsafe`, never by accident:
///
/// ```compile_fail,E0200
/// use bijective_shuffle::{Bijection, TrustedBijection};
///
/// struct Identity;
///
/// impl Bijection for Identity {
///     fn last(&self) -> u64 { u64::MAX }
///     fn forward(&self, slot: u64) -> u64 { slot }
///     fn inverse(&self, index: u64) -> u64 { index }
/// }
///
/// impl TrustedBijection for Identity {}
/// ```
pub unsafe trait TrustedBijection<N: Word = u64>: Bijection<N> {}

// SAFETY: the pointers pass every call on to B, which keeps the requirements; a shared pointer gives
// nobody the means to change B behind it.
unsafe impl<N: Word, B: TrustedBijection<N> + ?Sized> TrustedBijection<N> for &B {}
// SAFETY: the box passes every call on to B, and its methods take `&self`, by which a B that keeps
// the requirements answers always the same.
unsafe impl<N: Word, B: TrustedBijection<N> + ?Sized> TrustedBijection<N> for Box<B> {}
// SAFETY: the shared pointer passes every call on to B. Other owners can only share B too, and
// sharing does not change what a trusted bijection answers.
unsafe impl<N: Word, B: TrustedBijection<N> + ?Sized> TrustedBijection<N> for std::sync::Arc<B> {}

/// A [`TrustedBijection`] of whatever type.
///
/// Whoever moves items without a check asks the bijection for its [`trusted`](Bijection::trusted) form and from then
/// on evaluates that, and no longer the bijection itself. So a bijection that hands out another one fools nobody but
/// itself.
pub struct Trusted<'a, N: Word = u64>(Inner<'a, N>);

enum Inner<'a, N: Word> {
    Borrowed(&'a dyn TrustedBijection<N>),
    Owned(Box<dyn TrustedBijection<N> + 'a>),
}

impl<'a, N: Word> Trusted<'a, N> {
    /// Wraps a reference.
    ///
    /// Only what is vouched for can be wrapped:
    ///
    /// ```compile_fail,E0277
    /// use bijective_shuffle::{Bijection, Trusted};
    ///
    /// struct Identity;
    ///
    /// impl Bijection for Identity {
    ///     fn last(&self) -> u64 { u64::MAX }
    ///     fn forward(&self, slot: u64) -> u64 { slot }
    ///     fn inverse(&self, index: u64) -> u64 { index }
    ///     fn trusted(&self) -> Option<Trusted<'_>> { Some(Trusted::new(self)) }
    /// }
    /// ```
    pub fn new<B: TrustedBijection<N>>(bijection: &'a B) -> Self {
        Self(Inner::Borrowed(bijection))
    }

    /// Wraps a value. Combinators need it: they are made anew from their parts' trusted forms.
    pub fn from_owned<B: TrustedBijection<N> + 'a>(bijection: B) -> Self {
        Self(Inner::Owned(Box::new(bijection)))
    }

    fn get(&self) -> &dyn TrustedBijection<N> {
        match &self.0 {
            Inner::Borrowed(bijection) => *bijection,
            Inner::Owned(bijection) => &**bijection,
        }
    }
}

impl<N: Word> Bijection<N> for Trusted<'_, N> {
    fn last(&self) -> N {
        self.get().last()
    }
    fn forward(&self, slot: N) -> N {
        self.get().forward(slot)
    }
    fn inverse(&self, index: N) -> N {
        self.get().inverse(index)
    }
    fn forward_run(&self, first: N, out: &mut [N]) {
        self.get().forward_run(first, out);
    }
    fn inverse_run(&self, first: N, out: &mut [N]) {
        self.get().inverse_run(first, out);
    }
    fn forward_run_u32(&self, first: N, out: &mut [u32]) {
        self.get().forward_run_u32(first, out);
    }
    fn inverse_run_u32(&self, first: N, out: &mut [u32]) {
        self.get().inverse_run_u32(first, out);
    }
    fn evaluation_picoseconds(&self) -> u32 {
        self.get().evaluation_picoseconds()
    }
    fn forward_each(&self, values: &mut [N]) {
        self.get().forward_each(values);
    }
    fn inverse_each(&self, values: &mut [N]) {
        self.get().inverse_each(values);
    }
    fn trusted(&self) -> Option<Trusted<'_, N>> {
        Some(Trusted(Inner::Borrowed(self.get())))
    }
    fn uncompacted(&self) -> Option<&dyn Bijection<N>> {
        self.get().uncompacted()
    }
    fn device_source(&self) -> Option<DeviceSource> {
        self.get().device_source()
    }
}

// SAFETY: every call goes to the wrapped bijection, which is trusted.
unsafe impl<N: Word> TrustedBijection<N> for Trusted<'_, N> {}

impl<N: Word> fmt::Debug for Trusted<'_, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trusted").field("last", &self.last()).finish_non_exhaustive()
    }
}
