//! [`GpuError`]: why the GPU cannot do a job.

use core::fmt;
use core::time::Duration;

/// Why the GPU engine cannot do a job.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GpuError {
    /// The bijection has no [`device_source`](crate::Bijection::device_source), so it cannot run on
    /// a GPU.
    NoSource,
    /// The device text of a bijection, its use in a kernel, or a user's kernel does not compile.
    CompileFailed {
        /// The type or kernel that the text should define.
        type_name: String,
        /// The compiler's log.
        log: String,
    },
    /// A bijection has more bytes of device parameters than a kernel can take.
    ParamsTooLarge {
        /// The bijection's device type.
        type_name: String,
        /// The parameters' size in bytes.
        bytes: usize,
        /// The largest size allowed, in bytes.
        most: usize,
    },
    /// Two arrays overlap that must not overlap.
    ArraysOverlap,
    /// A slice belongs to another GPU, or to another context, than the engine.
    WrongDevice {
        /// The engine's device.
        expected: usize,
        /// The slice's device.
        actual: usize,
    },
    /// A group of GPUs has no members, or more than the engine can address.
    GroupSizeOutOfRange {
        /// How many engines were given.
        members: usize,
        /// The largest number allowed.
        most: usize,
    },
    /// An array for a group of GPUs does not have one slice for each of its members.
    SliceCountMismatch {
        /// The number of members.
        members: usize,
        /// The number of slices.
        slices: usize,
    },
    /// A GPU cannot use the memory of another, in the same group.
    NoPeerAccess {
        /// The device that would use it.
        from: usize,
        /// The device whose memory it is.
        to: usize,
    },
    /// More arrays were given than the engine can move in one call.
    TooManyArrays {
        /// How many were given.
        arrays: usize,
        /// The largest number allowed.
        most: usize,
    },
    /// An item is too large for the GPU engine.
    ItemTooLarge {
        /// The item's size in bytes.
        bytes: usize,
        /// The largest size allowed, in bytes.
        most: usize,
    },
    /// The bijection's domain has more slots than the GPU engine can count.
    DomainTooWide,
    /// A stream is being captured in a CUDA graph, but the engine was not made by
    /// `Cuda::with_capture`, or the call cannot be captured. Calls of a `CudaGroup` can
    /// never be captured.
    StreamCaptured,
    /// The GPU does not have enough memory. The items to be shuffled are unchanged.
    OutOfMemory,
    /// The GPU's driver failed. Items in host memory are unchanged; device memory holds unspecified
    /// values.
    DriverFailed {
        /// The driver's error number, a `CUresult`.
        code: u32,
        /// What the engine was doing.
        during: &'static str,
    },
    /// NCCL failed. The engine is unusable from now on, and the contents of receive buffers are
    /// unspecified.
    NcclFailed {
        /// NCCL's error number, an `ncclResult_t`.
        code: u32,
        /// What this rank was doing.
        during: &'static str,
    },
    /// Another rank's process has ended or cannot be reached any more, as NCCL noticed, or another
    /// rank has failed. The engine is unusable from now on, and the contents of receive buffers are
    /// unspecified.
    PeerLost {
        /// This rank, which noticed it.
        own_rank: usize,
        /// What it was doing.
        during: &'static str,
    },
    /// The other ranks did not do their part within the time limit. The communicator is unusable
    /// from now on, and the contents of receive buffers are unspecified.
    TimedOut {
        /// This rank, which waited.
        own_rank: usize,
        /// What it was doing.
        during: &'static str,
        /// The time limit.
        after: Duration,
    },
}

impl fmt::Display for GpuError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSource => {
                f.write_str("the bijection has no device source: give it one, or use the CPU")
            }
            Self::CompileFailed { type_name, log } => {
                write!(f, "the device text of {type_name} does not compile:\n{log}")
            }
            Self::ParamsTooLarge { type_name, bytes, most } => {
                write!(
                    f,
                    "the parameters of {type_name} are {bytes} bytes: at most {most} are allowed"
                )
            }
            Self::ArraysOverlap => f.write_str(
                "an array to be written overlaps an array to be read: give the output memory of its \
                 own",
            ),
            Self::WrongDevice { expected, actual } => write!(
                f,
                "a slice is on device {actual} or in another context than the engine, which is on \
                 device {expected}"
            ),
            Self::GroupSizeOutOfRange { members, most } => {
                write!(f, "a group has 1 to {most} GPUs, and not {members}")
            }
            Self::SliceCountMismatch { members, slices } => write!(
                f,
                "an array of {slices} slices was given for a group of {members} members: each \
                 member needs one"
            ),
            Self::NoPeerAccess { from, to } => {
                write!(
                    f,
                    "device {from} cannot use the memory of device {to}: shuffle on one of them"
                )
            }
            Self::TooManyArrays { arrays, most } => {
                write!(f, "{arrays} arrays are too many for one call: at most {most} are allowed")
            }
            Self::ItemTooLarge { bytes, most } => {
                write!(f, "items of {bytes} bytes are too large for the GPU: the limit is {most}")
            }
            Self::DomainTooWide => f.write_str(
                "the bijection's domain has more slots than the GPU can count: use a narrower one",
            ),
            Self::StreamCaptured => f.write_str(
                "the stream is being captured in a graph, which takes an engine made by \
                 `Cuda::with_capture` and a call on one GPU that does not need the host",
            ),
            Self::OutOfMemory => f.write_str("the GPU does not have enough memory"),
            Self::DriverFailed { code, during } => {
                write!(f, "the GPU's driver failed to {during}: error {code}")
            }
            Self::NcclFailed { code, during } => write!(
                f,
                "NCCL failed to {during}: error {code}, {}: set NCCL_DEBUG=WARN to have it say \
                 more",
                meaning(*code)
            ),
            Self::PeerLost { own_rank, during } => write!(
                f,
                "rank {own_rank} could not {during}, because another rank has failed or cannot be \
                 reached: start all ranks again, with a new NcclId"
            ),
            Self::TimedOut { own_rank, during, after } => write!(
                f,
                "rank {own_rank} could not {during} within {after:?}: check that all ranks are \
                 running and make the same calls, or allow more time"
            ),
        }
    }
}

/// What an error number of NCCL means.
fn meaning(code: u32) -> &'static str {
    match code {
        1 => "a call of CUDA failed",
        2 => "a call of the operating system failed",
        3 => "an internal error",
        4 => "an argument is not valid",
        5 => "a call is not allowed here",
        6 => "another rank has ended or cannot be reached",
        8 => "another rank took too long",
        _ => "which this version of the crate does not know",
    }
}
