//! [`Unavailable`]: why a GPU cannot be used.

use core::fmt;

/// What is missing for a back end to be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unavailable {
    /// The crate was built without the feature `cuda`.
    NotBuilt,
    /// CUDA has drivers for 64-bit Linux and Windows only, not for this system.
    NoSuchSystem,
    /// The GPU driver's library was not found, or the file is not such a library.
    NoDriver,
    /// The driver's library is a stub, made for linking only.
    StubDriver,
    /// The driver's library and the driver in the kernel have different versions, or the hardware
    /// is too old for them.
    DriverMismatch,
    /// The driver is older than the engine requires.
    DriverTooOld {
        /// The driver's version: 1000 times the major number plus 10 times the minor number.
        version: u32,
        /// The oldest version that the engine can use, encoded the same way.
        oldest: u32,
    },
    /// There is no GPU.
    NoDevice,
    /// There is no GPU with that number.
    NoSuchDevice {
        /// The number asked for.
        ordinal: usize,
        /// The number of GPUs.
        count: usize,
    },
    /// The driver could not be started.
    DriverFailed {
        /// The driver's error number, a `CUresult`.
        code: u32,
    },
    /// NVRTC, the library that compiles kernels, is needed for this call, and was found neither
    /// where the system looks for libraries nor in a CUDA installation; or
    /// `BIJECTIVE_SHUFFLE_NVRTC` is `none`.
    NoCompiler,
    /// The environment variable `BIJECTIVE_SHUFFLE_NVRTC` is set, but no library can be loaded from
    /// its path. No other place is searched then.
    CompilerNotLoaded {
        /// The path.
        path: String,
        /// What the system's loader reported.
        reason: String,
    },
    /// NVRTC is older than version 11.7.
    CompilerTooOld,
    /// NCCL, the library by which the GPUs of several processes exchange data, is needed for this
    /// call, and was not found where the system looks for libraries; or `BIJECTIVE_SHUFFLE_NCCL` is
    /// `none`. There is no NCCL for Windows.
    NoNccl,
    /// A library was found as NCCL, or the environment variable `BIJECTIVE_SHUFFLE_NCCL` names one,
    /// but it cannot be loaded, or lacks a function. Where the variable is set, no other place is
    /// searched.
    NcclNotLoaded {
        /// The path, or the name by which the system found it.
        path: String,
        /// What is wrong with it, in the words of the system's loader if it has any.
        reason: String,
    },
    /// NCCL is older than this crate requires.
    NcclTooOld {
        /// The library's version, as it reports it: 10000 times the major number plus 100 times the
        /// minor number plus the patch; up to version 2.8, 1000 times the major number.
        version: u32,
        /// The oldest version that can be used, encoded the same way.
        oldest: u32,
    },
    /// The GPU is too old: its compute capability is below 7.0, or below the oldest that NVRTC
    /// compiles for.
    DeviceTooOld {
        /// The major number of the GPU's compute capability.
        major: u32,
        /// The minor number.
        minor: u32,
    },
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotBuilt => f.write_str("the crate was built without the feature `cuda`"),
            Self::NoSuchSystem => f.write_str("CUDA has no driver for this system"),
            Self::NoDriver => f.write_str("no NVIDIA driver is installed"),
            Self::StubDriver => f.write_str("the driver's library is a stub: install the driver"),
            Self::DriverMismatch => {
                f.write_str("the driver's library does not fit the kernel's driver or the hardware")
            }
            Self::DriverTooOld { version, oldest } => {
                let (version, oldest) = (Version(*version), Version(*oldest));
                write!(f, "the driver supports CUDA {version}, but {oldest} is needed")
            }
            Self::NoDevice => f.write_str("there is no GPU"),
            Self::NoSuchDevice { ordinal, count } => {
                write!(f, "there is no GPU number {ordinal}, only {count} in all")
            }
            Self::DriverFailed { code } => {
                write!(f, "the driver could not be started: error {code}")
            }
            Self::NoCompiler => f.write_str(
                "this call needs the library NVRTC, which was not found: install it, by \
                 `pip install nvidia-cuda-nvrtc`, `conda install -c conda-forge cuda-nvrtc` or, from \
                 NVIDIA's repository, `apt install cuda-nvrtc-13-0`, and set BIJECTIVE_SHUFFLE_NVRTC to the path of \
                 libnvrtc.so (Windows: nvrtc64_*.dll) if it still is not found",
            ),
            Self::CompilerNotLoaded { path, reason } => write!(
                f,
                "BIJECTIVE_SHUFFLE_NVRTC is {path}, which cannot be loaded as the library NVRTC: \
                 {reason}"
            ),
            Self::CompilerTooOld => f.write_str("the library NVRTC is older than version 11.7"),
            Self::NoNccl => f.write_str(
                "this call needs the library NCCL, which was not found: install it, by \
                 `pip install nvidia-nccl-cu12` (`nvidia-nccl-cu13` for CUDA 13), \
                 `conda install -c conda-forge nccl` or, from NVIDIA's repository, \
                 `apt install libnccl2`, and set BIJECTIVE_SHUFFLE_NCCL to the path of \
                 libnccl.so.2 if it still is not found",
            ),
            Self::NcclNotLoaded { path, reason } => write!(
                f,
                "{path} cannot be loaded as the library NCCL: {reason}: set \
                 BIJECTIVE_SHUFFLE_NCCL to the path of a libnccl.so.2 that can"
            ),
            Self::NcclTooOld { version, oldest } => {
                let (version, oldest) = (NcclVersion(*version), NcclVersion(*oldest));
                write!(f, "the library NCCL is version {version}, but {oldest} or later is needed")
            }
            Self::DeviceTooOld { major, minor } => {
                write!(
                    f,
                    "the kernels cannot be compiled for a GPU of compute capability {major}.{minor}"
                )
            }
        }
    }
}

/// A CUDA version, encoded as the driver reports it.
struct Version(u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0 / 1000, self.0 % 1000 / 10)
    }
}

/// A version of NCCL, encoded as it reports it.
struct NcclVersion(u32);

impl fmt::Display for NcclVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The encoding changed after version 2.8.
        let scale = if self.0 < 10_000 { 1000 } else { 10_000 };
        write!(f, "{}.{}.{}", self.0 / scale, self.0 % scale / 100, self.0 % 100)
    }
}
