//! [`WgpuError`]: why a GPU cannot do a job.

use core::fmt;

use bijective_shuffle_wgsl::WgslError;
use bijective_shuffle_wgsl::limits::Excess;

/// Why a GPU cannot do a job. Items in host memory are as they were.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WgpuError {
    /// No GPU was found. On Linux a Vulkan driver is needed; Mesa's `lavapipe` is one that runs on
    /// the CPU.
    NoAdapter {
        /// What wgpu says.
        message: String,
    },
    /// A GPU was found, and it cannot be opened.
    NoDevice {
        /// What wgpu says.
        message: String,
    },
    /// The device was lost or destroyed. Everything that was made with it is unusable.
    DeviceLost {
        /// What the driver says.
        message: String,
    },
    /// The GPU does not have enough memory.
    OutOfMemory {
        /// What was being made.
        what: &'static str,
    },
    /// A limit of the device is exceeded.
    LimitExceeded {
        /// What exceeds it.
        what: &'static str,
        /// The size asked for.
        asked: u64,
        /// The largest size that the device allows.
        most: u64,
    },
    /// The bijection cannot be written in WGSL.
    Wgsl(WgslError),
    /// The text of a [`WgslSource`](crate::WgslSource) does not compile.
    CompileFailed {
        /// The compiler's log.
        log: String,
    },
    /// A buffer cannot serve as what it was given for.
    UnsuitableBuffer {
        /// What is wrong with it, and what to do.
        fault: &'static str,
    },
    /// Two arrays of one call share memory.
    ArraysOverlap {
        /// Which of the arrays, by their numbers from 0 on.
        arrays: [usize; 2],
    },
    /// The length does not fit the bijection, or the map is not a bijection, or the host has too
    /// little memory.
    Shuffle(bijective_shuffle::Error),
    /// wgpu or the driver failed.
    DriverFailed {
        /// What was being done.
        during: &'static str,
        /// What wgpu says.
        message: String,
    },
}

impl fmt::Display for WgpuError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAdapter { message } => write!(
                f,
                "no GPU was found ({message}): install a driver for Vulkan, or use the CPU's engine"
            ),
            Self::NoDevice { message } => {
                write!(f, "the GPU cannot be opened ({message}): use the CPU's engine")
            }
            Self::DeviceLost { message } => {
                write!(f, "the GPU's device is lost ({message}): open another")
            }
            Self::OutOfMemory { what } => {
                write!(f, "the GPU does not have enough memory for {what}: shuffle fewer items")
            }
            Self::LimitExceeded { what, asked, most } => {
                write!(
                    f,
                    "{asked} {what} exceed the limit of {most}: shuffle fewer items, or open the \
                     device with the adapter's limits"
                )
            }
            Self::Wgsl(error) => error.fmt(f),
            Self::CompileFailed { log } => write!(f, "the text in WGSL does not compile:\n{log}"),
            Self::UnsuitableBuffer { fault } => f.write_str(fault),
            Self::ArraysOverlap { arrays: [first, second] } => write!(
                f,
                "arrays {first} and {second} share memory: give slices that do not overlap"
            ),
            Self::Shuffle(error) => error.fmt(f),
            Self::DriverFailed { during, message } => write!(f, "the GPU failed to {during}: {message}"),
        }
    }
}

impl std::error::Error for WgpuError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Shuffle(error) => Some(error),
            Self::Wgsl(error) => Some(error),
            _ => None,
        }
    }
}

impl From<bijective_shuffle::Error> for WgpuError {
    fn from(error: bijective_shuffle::Error) -> Self {
        Self::Shuffle(error)
    }
}

impl From<WgslError> for WgpuError {
    fn from(error: WgslError) -> Self {
        Self::Wgsl(error)
    }
}

impl From<Excess> for WgpuError {
    fn from(Excess { what, asked, most }: Excess) -> Self {
        Self::LimitExceeded { what, asked, most }
    }
}
