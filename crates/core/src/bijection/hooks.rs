//! [`Hooked`]: what engines ask any bijection, whether or not it has [`EngineHooks`].
//!
//! An engine asks for the hooks once for each run of points, which costs one more virtual call for
//! hundreds of evaluations. In a generic function the compiler sees through it.

#[doc(hidden)]
pub use super::Passes;
#[doc(hidden)]
pub use super::traits::EngineHooks;
use super::traits::UNKNOWN_PICOSECONDS;
use super::{Bijection, Trusted, narrow};
use crate::error::Error;
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

    fn evaluation_picoseconds(&self) -> u32 {
        self.hooks().map_or(UNKNOWN_PICOSECONDS, EngineHooks::evaluation_picoseconds)
    }

    fn uncompacted(&self) -> Option<&dyn Bijection<N>> {
        self.hooks()?.uncompacted()
    }

    fn passes(&self) -> Option<Passes<Trusted<'_, N>>> {
        self.hooks()?.passes()
    }

    fn build_indexes(&self, is_asked: bool) -> Result<(), Error> {
        self.hooks().map_or(Ok(()), |hooks| hooks.build_indexes(is_asked))
    }
}

impl<N: Word, B: Bijection<N> + ?Sized> Hooked<N> for B {}
