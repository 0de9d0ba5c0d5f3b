//! [`Hooked`]: what engines ask any bijection, whether or not it has [`EngineHooks`]; and
//! [`EngineForm`], what they evaluate of it.
//!
//! An engine asks for the hooks once for each run of points, which costs one more virtual call for
//! hundreds of evaluations. In a generic function the compiler sees through it.

use core::fmt;
use core::ops::Deref;

#[doc(hidden)]
pub use super::Passes;
use super::standard::StandardCipher;
use super::traits::UNKNOWN_PICOSECONDS;
#[doc(hidden)]
pub use super::traits::{Conduct, EngineHooks};
use super::{Bijection, Trusted, narrow};
use crate::error::IndexError;
use crate::word::Word;

/// The methods of [`EngineHooks`] for every bijection: those of its hooks, or their defaults.
pub trait Hooked<N: Word>: Bijection<N> {
    fn forward_run_u32(&self, first: N, out: &mut [u32]) {
        match self.hooks() {
            Some(hooks) => hooks.forward_run_u32(first, out),
            None => narrow::run_u32(first, out, |first, out| self.forward_run(first, out)),
        }
    }

    fn forward_run_u16(&self, first: N, out: &mut [u16]) {
        match self.hooks() {
            Some(hooks) => hooks.forward_run_u16(first, out),
            None => narrow::run_u16(first, out, |first, out| self.forward_run_u32(first, out)),
        }
    }

    fn inverse_run_u32(&self, first: N, out: &mut [u32]) {
        match self.hooks() {
            Some(hooks) => hooks.inverse_run_u32(first, out),
            None => narrow::run_u32(first, out, |first, out| self.inverse_run(first, out)),
        }
    }

    fn forward_each_u32(&self, values: &mut [u32]) {
        match self.hooks() {
            Some(hooks) => hooks.forward_each_u32(values),
            None => narrow::each_u32(values, |values| self.forward_each(values)),
        }
    }

    /// The default family's cipher, if this is one.
    fn standard_cipher(&self) -> Option<&StandardCipher> {
        self.hooks()?.member()?.downcast_ref()
    }

    fn evaluation_picoseconds(&self) -> u32 {
        self.hooks().map_or(UNKNOWN_PICOSECONDS, EngineHooks::evaluation_picoseconds)
    }

    fn uncompacted(&self) -> Option<&dyn Bijection<N>> {
        self.hooks()?.uncompacted()
    }

    fn passes(&self) -> Option<Passes<Trusted<'_, N>>> {
        self.hooks()?.passes()
    }

    fn build_indexes(&self, is_asked: bool) -> Result<(), IndexError> {
        self.hooks().map_or(Ok(()), |hooks| hooks.build_indexes(is_asked))
    }
}

impl<N: Word, B: Bijection<N> + ?Sized> Hooked<N> for B {}

/// The form of a bijection that an engine evaluates, which also says whether it is vouched for. The
/// domain, the values and the device text all come from it.
///
/// Asked for apart, they could come from two bijections: the trusted form may be another one than
/// the bijection that returns it, so an engine that asks whether there is one and then evaluates
/// the bijection trusts what nobody vouches for.
pub enum EngineForm<'a, N: Word = u64> {
    /// The trusted form.
    Trusted(Trusted<'a, N>),
    /// The bijection itself, which has no trusted form: its values have to be checked.
    Unchecked(&'a dyn Bijection<N>),
}

impl<'a, N: Word> EngineForm<'a, N> {
    /// Asks a bijection once.
    pub fn of(bijection: &'a dyn Bijection<N>) -> Self {
        bijection.trusted().map_or(Self::Unchecked(bijection), Self::Trusted)
    }

    /// Whether this form is vouched for.
    pub fn is_trusted(&self) -> bool {
        matches!(self, Self::Trusted(_))
    }
}

impl<'a, N: Word> Deref for EngineForm<'a, N> {
    type Target = dyn Bijection<N> + 'a;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Trusted(trusted) => trusted,
            Self::Unchecked(bijection) => *bijection,
        }
    }
}

impl<N: Word> fmt::Debug for EngineForm<'_, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (last, is_trusted) = (self.last(), self.is_trusted());
        f.debug_struct("EngineForm").field("last", &last).field("is_trusted", &is_trusted).finish()
    }
}
