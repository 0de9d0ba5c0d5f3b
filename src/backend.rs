//! [`Backend`]: the one choice that is made at run time.

use core::fmt;

use crate::compact::Engine;
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
    /// The fastest back end that this machine has. Never fails for want of a GPU.
    #[default]
    Auto,
    /// The threads of the current rayon pool.
    Cpu,
    /// The first NVIDIA GPU, by [`Cuda`](crate::Cuda), which says what it needs;
    /// [`Error::BackendUnavailable`] without it.
    Cuda,
}

impl Backend {
    /// The engine that it stands for.
    pub(crate) fn engine(self) -> Result<Engine, Error> {
        match self {
            Self::Auto | Self::Cpu => Ok(Engine::Cpu),
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
