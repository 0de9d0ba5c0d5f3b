//! What makes the crate `bijective-shuffle-kernels` calls these functions. They are not part of the
//! public interface.

use super::promised;
pub use super::promised::Promised;
use super::runtime::nvrtc::{CompiledTo, Nvrtc};
use super::runtime::program;
use crate::Error;

/// All embedded kernels for an architecture, such as 90, in the order of their groups.
///
/// # Errors
///
/// None that this version of the crate has.
pub fn kernels(architecture: u32) -> Result<Vec<Promised>, Error> {
    promised::kernels(promised::devices(architecture))
}

/// Compiles a text to machine code for an architecture, or to PTX.
///
/// # Errors
///
/// [`Error::BackendUnavailable`] without NVRTC;
/// [`GpuError::CompileFailed`](crate::error::GpuError::CompileFailed).
pub fn compile(text: &str, architecture: u32, ptx: bool) -> Result<Vec<u8>, Error> {
    let target = if ptx { CompiledTo::Ptx(architecture) } else { CompiledTo::Cubin(architecture) };
    program::compile(text, "an embedded kernel", target)
}

/// The version of NVRTC, major and minor.
///
/// # Errors
///
/// [`Error::BackendUnavailable`] without NVRTC.
pub fn compiler() -> Result<(u32, u32), Error> {
    Ok(Nvrtc::get().map_err(Error::no_cuda)?.version)
}
