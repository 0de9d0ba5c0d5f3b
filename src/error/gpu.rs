//! [`GpuError`]: what is wrong with a job for the GPU, or with the GPU.

use core::fmt;

/// Why the GPU engine cannot do a job.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GpuError {
    /// The bijection has no [`device_source`](crate::Bijection::device_source), so it cannot run on a GPU.
    NoSource,
    /// A bijection's device text, or its use in a kernel, does not compile; or a kernel of a user's does not.
    Compile {
        /// The type, or the kernel, that the text should define.
        type_name: String,
        /// What the compiler says.
        log: String,
    },
    /// A bijection's device parameters are too many for a kernel's.
    Params {
        /// The type that they are of.
        type_name: String,
        /// Their size in bytes.
        bytes: usize,
        /// The most there may be.
        most: usize,
    },
    /// Two arrays overlap that must not.
    Overlap,
    /// A slice is on another GPU, or in another context, than the engine.
    WrongDevice {
        /// The engine's device.
        expected: usize,
        /// The slice's.
        actual: usize,
    },
    /// More arrays at once than the engine moves.
    TooManyArrays {
        /// How many were given.
        arrays: usize,
        /// The most there may be.
        most: usize,
    },
    /// An item is too large for the GPU engine.
    ItemTooLarge {
        /// Its size in bytes.
        bytes: usize,
        /// The largest size there may be.
        most: usize,
    },
    /// The bijection's domain has more slots than the GPU engine can go through.
    DomainTooWide,
    /// The engine's stream is being captured in a CUDA graph, and the engine is not one that
    /// `Cuda::with_capture` made.
    Captured,
    /// The GPU has not enough memory; what was to be shuffled is as it was.
    OutOfMemory,
    /// The GPU's driver failed. What was to be shuffled in host memory is as it was; device memory holds
    /// unspecified values.
    Driver {
        /// The driver's number of the error, a `CUresult`.
        code: u32,
        /// What was being done.
        during: &'static str,
    },
}

impl fmt::Display for GpuError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSource => {
                f.write_str("the bijection has no device source: give it one, or use the CPU")
            }
            Self::Compile { type_name, log } => {
                write!(f, "the device text of {type_name} does not compile:\n{log}")
            }
            Self::Params { type_name, bytes, most } => {
                write!(f, "the parameters of {type_name} are {bytes} bytes, and {most} may be")
            }
            Self::Overlap => f.write_str("an array to be written overlaps the one to be read"),
            Self::WrongDevice { expected, actual } => write!(
                f,
                "a slice is on device {actual} or in another context than the engine, which is on {expected}"
            ),
            Self::TooManyArrays { arrays, most } => {
                write!(f, "{arrays} arrays at once are too many: at most {most} may be")
            }
            Self::ItemTooLarge { bytes, most } => {
                write!(f, "items of {bytes} bytes are too large for the GPU: {most} may be")
            }
            Self::DomainTooWide => f.write_str(
                "the bijection's domain has more slots than the GPU can go through: use a narrower one",
            ),
            Self::Captured => f.write_str(
                "the stream is being captured in a graph: only an engine made by `Cuda::with_capture` may be",
            ),
            Self::OutOfMemory => f.write_str("the GPU has not enough memory"),
            Self::Driver { code, during } => {
                write!(f, "the GPU's driver failed with error {code} while it was to {during}")
            }
        }
    }
}
