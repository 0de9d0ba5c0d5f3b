//! Communication between the GPUs of several processes, by NVIDIA's library NCCL.
//!
//! ```text
//! library       NCCL's functions, looked for at run time
//! id            `NcclId`, which the processes of one communicator have in common
//! patience      waiting by asking again and again, until a time limit
//! link          one rank's calls of NCCL: none hangs, and every failure has a type
//! communicator  a link on a stream of the driver
//! ```
//!
//! A *rank* is one process, or thread, with one GPU. All ranks make the same calls in the same
//! order; what a rank sends is what another receives.
//!
//! A stand-in for the library, `fake.cpp`, tests all but `communicator` without a GPU.

mod communicator;
mod id;
mod library;
mod link;
mod patience;

#[cfg(all(test, target_os = "linux"))]
mod fake;
#[cfg(all(test, target_os = "linux"))]
mod tests;

pub(in crate::cuda) use communicator::Communicator;
pub use id::NcclId;
pub(in crate::cuda) use link::LinkMessage;
pub(in crate::cuda) use patience::Patience;
