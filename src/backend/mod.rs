//! [`Backend`]: the one choice that is made at run time.

use core::fmt;

mod engine;

pub(crate) use engine::Engine;

use crate::error::Error;

/// Where a permutation is computed and applied. The answer is the same everywhere.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::{Backend, Permutation};
///
/// let p = Permutation::new(100, 7);
/// assert_eq!(p.to_vec(), p.clone().on(Backend::Cpu).to_vec());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Backend {
    /// The back end that is expected to be the fastest for slices in host memory. Never fails for
    /// want of a GPU.
    ///
    /// Mostly this is the CPU: the items have to travel to the GPU and back. A GPU is faster if few
    /// threads would have to move many items. It is used from 64 MiB on, with five threads or
    /// fewer, if the process uses it already, and else if the items are so many that starting it,
    /// which takes a second, pays too; docs/results/gpu.md has the measurements. Indexes are always
    /// written by the CPU.
    #[default]
    Auto,
    /// The threads of the current rayon pool.
    Cpu,
    /// The first NVIDIA GPU, by [`Cuda`](crate::Cuda), which says what it needs;
    /// [`Error::BackendUnavailable`] without it.
    Cuda,
}

impl Backend {
    /// The engine that it stands for, for moving so many bytes.
    pub(crate) fn engine(self, bytes: u64) -> Result<Engine, Error> {
        match self {
            Self::Auto => Ok(Engine::fastest(bytes)),
            Self::Cpu => Ok(Engine::Cpu),
            Self::Cuda => Engine::cuda(),
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Auto => "auto",
            Self::Cpu => "cpu",
            Self::Cuda => "cuda",
        })
    }
}
