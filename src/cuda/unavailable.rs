//! [`Cuda`] where the GPU engine is not built: without the feature `cuda`, and on systems without
//! CUDA.

use crate::compact::{Compactor, sealed};
use crate::error::Unavailable;
use crate::{Bijection, Error, Word};

/// The engine on an NVIDIA GPU, which this build does not have: creating it returns an error.
///
/// The type exists so that a program which falls back to the CPU compiles everywhere. The engine
/// itself is built with the feature `cuda`, on 64-bit Linux and Windows.
#[derive(Clone, Debug)]
pub struct Cuda {
    never: Never,
}

/// A type without values.
#[derive(Clone, Debug)]
enum Never {}

impl Cuda {
    /// Returns an error, as this build has no such engine.
    ///
    /// # Errors
    ///
    /// [`Error::BackendUnavailable`], always.
    pub fn new() -> Result<Self, Error> {
        Self::on_device(0)
    }

    /// Returns an error, as this build has no such engine.
    ///
    /// # Errors
    ///
    /// [`Error::BackendUnavailable`], always.
    pub fn on_device(_ordinal: usize) -> Result<Self, Error> {
        Err(Error::no_cuda(if cfg!(feature = "cuda") {
            Unavailable::NoSuchSystem
        } else {
            Unavailable::NotBuilt
        }))
    }

    pub(super) fn release(&self) {
        match self.never {}
    }
}

impl Compactor for Cuda {}

impl sealed::Compact for Cuda {
    fn write_indexes_by<N: Word>(&self, _: &dyn Bijection, _: &mut [N]) -> Result<(), Error> {
        match self.never {}
    }

    fn shuffle_by<T: Send>(&self, _: &dyn Bijection, _: &mut [T]) -> Result<(), Error> {
        match self.never {}
    }

    fn unshuffle_by<T: Send>(&self, _: &dyn Bijection, _: &mut [T]) -> Result<(), Error> {
        match self.never {}
    }

    fn shuffled_by<T: Clone + Send + Sync>(
        &self,
        _: &dyn Bijection,
        _: &[T],
    ) -> Result<Vec<T>, Error> {
        match self.never {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Backend, Permutation};

    #[test]
    fn missing_cuda_says_why() {
        let reason =
            if cfg!(feature = "cuda") { Unavailable::NoSuchSystem } else { Unavailable::NotBuilt };
        let none = Error::BackendUnavailable { reason };
        assert_eq!(Cuda::new().unwrap_err(), none);
        let p = Permutation::new(5, 1).with_backend(Backend::Cuda);
        let mut items = [1, 2, 3, 4, 5];
        assert_eq!(p.apply_in_place(&mut items), Err(none));
        assert_eq!(items, [1, 2, 3, 4, 5]);
    }
}
