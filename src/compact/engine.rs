//! [`Engine`]: any of the engines, chosen at run time.

use super::{Compactor, Cpu, sealed};
use crate::bijection::Bijection;
use crate::error::Error;
use crate::word::Word;

/// An engine for slices in host memory.
#[derive(Clone, Debug)]
pub(crate) enum Engine {
    /// The threads of the current pool.
    Cpu,
    /// The first GPU.
    #[cfg(feature = "cuda")]
    Cuda(super::Cuda),
}

impl Engine {
    /// The first GPU's engine, which is made once in a process.
    ///
    /// # Errors
    ///
    /// As [`Cuda::new`](super::Cuda::new).
    #[cfg(feature = "cuda")]
    pub(crate) fn cuda() -> Result<Self, Error> {
        static CUDA: std::sync::OnceLock<super::Cuda> = std::sync::OnceLock::new();
        // What failed once, for want of memory perhaps, may succeed the next time.
        match CUDA.get() {
            Some(cuda) => Ok(Self::Cuda(cuda.clone())),
            None => super::Cuda::new().map(|cuda| Self::Cuda(CUDA.get_or_init(|| cuda).clone())),
        }
    }

    /// There is none in this build.
    #[cfg(not(feature = "cuda"))]
    pub(crate) fn cuda() -> Result<Self, Error> {
        Err(Error::no_cuda(crate::error::Unavailable::NotBuilt))
    }
}

impl sealed::Sealed for Engine {}

impl Compactor for Engine {
    fn indices<N: Word>(&self, bijection: &dyn Bijection, out: &mut [N]) -> Result<(), Error> {
        match self {
            Self::Cpu => Cpu.indices(bijection, out),
            #[cfg(feature = "cuda")]
            Self::Cuda(cuda) => cuda.indices(bijection, out),
        }
    }

    fn shuffle<T: Send>(&self, bijection: &dyn Bijection, items: &mut [T]) -> Result<(), Error> {
        match self {
            Self::Cpu => Cpu.shuffle(bijection, items),
            #[cfg(feature = "cuda")]
            Self::Cuda(cuda) => cuda.shuffle(bijection, items),
        }
    }

    fn unshuffle<T: Send>(&self, bijection: &dyn Bijection, items: &mut [T]) -> Result<(), Error> {
        match self {
            Self::Cpu => Cpu.unshuffle(bijection, items),
            #[cfg(feature = "cuda")]
            Self::Cuda(cuda) => cuda.unshuffle(bijection, items),
        }
    }

    fn shuffled<T: Clone + Send + Sync>(
        &self,
        bijection: &dyn Bijection,
        items: &[T],
    ) -> Result<Vec<T>, Error> {
        match self {
            Self::Cpu => Cpu.shuffled(bijection, items),
            #[cfg(feature = "cuda")]
            Self::Cuda(cuda) => cuda.shuffled(bijection, items),
        }
    }
}
