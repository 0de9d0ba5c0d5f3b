//! [`Unavailable`]: what is missing for a GPU to be used.

use core::fmt;

/// What a back end lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unavailable {
    /// The crate was built without the feature `cuda`.
    NotBuilt,
    /// CUDA has no driver for this operating system: it has for Linux and for Windows.
    NoSuchSystem,
    /// There is no library of the GPU's driver, or it is none.
    NoDriver,
    /// The driver's library is a stub, made for linking only.
    StubDriver,
    /// The driver's library and the driver in the kernel are of different versions, or the hardware is too old for
    /// them.
    DriverMismatch,
    /// The driver is older than what the engine needs.
    DriverTooOld {
        /// Its version: a thousand times the major one, and ten times the minor one.
        version: u32,
        /// The oldest that will do.
        oldest: u32,
    },
    /// There is no GPU.
    NoDevice,
    /// There is no GPU of that number.
    NoSuchDevice {
        /// The number asked for.
        ordinal: usize,
        /// How many there are.
        count: usize,
    },
    /// The driver could not be started.
    DriverFailed {
        /// The driver's number of the error, a `CUresult`.
        code: u32,
    },
    /// The library NVRTC, which compiles the kernels, was not found where the system looks for
    /// libraries, nor in an installation of CUDA.
    NoCompiler,
    /// The environment variable `BIJECTIVE_SHUFFLE_NVRTC` has a path at which there is no library
    /// that can be loaded. No other place is looked at then.
    CompilerNotLoaded {
        /// The path.
        path: String,
        /// What the system's loader says.
        reason: String,
    },
    /// NVRTC is older than version 11.7.
    CompilerTooOld,
    /// The kernels cannot be compiled for so old a GPU: its compute capability is below 7.0, or what NVRTC knows.
    DeviceTooOld {
        /// The GPU's compute capability, before the point.
        major: u32,
        /// After it.
        minor: u32,
    },
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotBuilt => f.write_str("the crate was built without the feature `cuda`"),
            Self::NoSuchSystem => f.write_str("CUDA has no driver for this operating system"),
            Self::NoDriver => f.write_str("no NVIDIA driver is installed"),
            Self::StubDriver => f.write_str("the driver's library is a stub: install the driver"),
            Self::DriverMismatch => {
                f.write_str("the driver's library does not fit the kernel's driver or the hardware")
            }
            Self::DriverTooOld { version, oldest } => {
                let (version, oldest) = (Version(*version), Version(*oldest));
                write!(f, "the driver is for CUDA {version}, and {oldest} is needed")
            }
            Self::NoDevice => f.write_str("there is no GPU"),
            Self::NoSuchDevice { ordinal, count } => {
                write!(f, "there is no GPU number {ordinal}, only {count} in all")
            }
            Self::DriverFailed { code } => {
                write!(f, "the driver could not be started: it says {code}")
            }
            Self::NoCompiler => f.write_str(
                "the library NVRTC was not found: install it, by `pip install nvidia-cuda-nvrtc`, \
                 `conda install -c conda-forge cuda-nvrtc` or, from NVIDIA's repository, \
                 `apt install cuda-nvrtc-13-0`, and set BIJECTIVE_SHUFFLE_NVRTC to the path of \
                 libnvrtc.so (Windows: nvrtc64_*.dll) if it still is not found",
            ),
            Self::CompilerNotLoaded { path, reason } => write!(
                f,
                "BIJECTIVE_SHUFFLE_NVRTC is {path}, which cannot be loaded as the library NVRTC: {reason}"
            ),
            Self::CompilerTooOld => f.write_str("the library NVRTC is older than version 11.7"),
            Self::DeviceTooOld { major, minor } => {
                write!(
                    f,
                    "the kernels cannot be compiled for a GPU of compute capability {major}.{minor}"
                )
            }
        }
    }
}

/// A version of CUDA as its driver says it.
struct Version(u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0 / 1000, self.0 % 1000 / 10)
    }
}
