//! [`Backend`]: choosing between CPU and GPU at run time.

use core::fmt;

mod engine;

pub(crate) use engine::Engine;

use crate::Error;
use crate::compact::Workspace;

/// The hardware on which a permutation is computed and applied. The result is the same on all of
/// them.
///
/// The default is the CPU. The CUDA driver is loaded only where [`Auto`](Self::Auto) or
/// [`Cuda`](Self::Cuda) is chosen, or the GPU engine is used directly, by
/// [`Cuda`](crate::cuda::Cuda) and its kin. A process that has started CUDA holds memory of the
/// GPU, and children that it forks cannot use CUDA.
///
/// The CPU is for items in host memory, and CUDA for those in the memory of an NVIDIA GPU. Other
/// makers' GPUs are not among these: the package `bijective-shuffle-wgpu` shuffles buffers of wgpu
/// on any GPU.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::{Backend, Permutation};
///
/// let p = Permutation::new(100, 7);
/// assert_eq!(p.to_vec(), p.clone().with_backend(Backend::Auto).to_vec());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Backend {
    /// The back end that is expected to be fastest for slices in host memory. It never fails for
    /// lack of a GPU.
    ///
    /// This is mostly the CPU, because the items have to be copied to the GPU and back. A GPU is
    /// faster if few threads would have to move many items. With five threads or fewer it is used
    /// from 64 MiB on if an earlier call through a back end has started the GPU, and otherwise only
    /// for enough items to make up for starting it, which takes a second; docs/results/gpu.md has
    /// the measurements. Indexes are always written by the CPU.
    Auto,
    /// The threads of the current rayon pool. This is the default.
    #[default]
    Cpu,
    /// The first NVIDIA GPU, through [`Cuda`](crate::cuda::Cuda), whose documentation says what it
    /// needs. Without a GPU, calls return [`Error::BackendUnavailable`], except those that move
    /// several columns: [`apply_together`](crate::Permutation::apply_together) and its inverse
    /// always use the CPU.
    Cuda,
}

impl Backend {
    /// Frees the working memory that the process and the calling thread have kept from earlier
    /// calls. It holds copies of the last items.
    ///
    /// Calls without a [`Workspace`](crate::Workspace) leave some of their memory to the next, on
    /// the CPU as [`Cpu`](crate::Cpu) says; on [`Cuda`](Self::Cuda) and [`Auto`](Self::Auto) the
    /// page-locked memory for copies to the GPU and back. Other threads free theirs when they end,
    /// or when they call this. The memory of a call that runs meanwhile is kept afterwards. Freed
    /// memory is not overwritten.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let mut items = vec![7_u64; 1_000_000];
    /// items.par_bijective_shuffle(42);
    /// Backend::release_memory();
    /// ```
    pub fn release_memory() {
        Workspace::release();
        Engine::release();
    }

    /// The engine of this back end, for moving `bytes` bytes.
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
