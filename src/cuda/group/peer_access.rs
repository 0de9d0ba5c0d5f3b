//! Lets the GPUs of a group use each other's memory.

use std::sync::Arc;

use cudarc::driver::sys::{self, CUresult};
use cudarc::driver::{CudaContext, DriverError};

use crate::Error;
use crate::cuda::runtime::stream::failed;
use crate::error::GpuError;

/// Lets kernels in one context read and write the memory of another: what the driver allocates by
/// itself, and what comes from the device's memory pool, as most of cudarc's allocations do.
///
/// Contexts that are the same need no permission. Nothing withdraws it again, since other parts of
/// the program may have asked for the same.
///
/// # Errors
///
/// [`GpuError::NoPeerAccess`](crate::error::GpuError::NoPeerAccess) if the devices have no way to
/// each other's memory, and [`GpuError::DriverFailed`](crate::error::GpuError::DriverFailed).
pub(super) fn allow(from: &Arc<CudaContext>, to: &Arc<CudaContext>) -> Result<(), Error> {
    if from == to {
        return Ok(());
    }
    let no_access = GpuError::NoPeerAccess { from: from.ordinal(), to: to.ordinal() };
    let mut can = 0;
    // SAFETY: both devices are those of contexts that exist, and the call writes one `int`, which
    // is borrowed.
    unsafe { sys::cuDeviceCanAccessPeer(&raw mut can, from.cu_device(), to.cu_device()) }
        .result()
        .map_err(|error| failed(error, "ask for access to a peer"))?;
    if can == 0 {
        return Err(no_access.into());
    }
    from.bind_to_thread().map_err(|error| failed(error, "use the device"))?;
    // SAFETY: the peer's context exists, since it is borrowed, and the flags must be 0.
    match unsafe { sys::cuCtxEnablePeerAccess(to.cu_ctx(), 0) } {
        CUresult::CUDA_SUCCESS | CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => {}
        CUresult::CUDA_ERROR_PEER_ACCESS_UNSUPPORTED => return Err(no_access.into()),
        code => return Err(failed(DriverError(code), "get access to a peer")),
    }
    if to.has_async_alloc() { allow_pool(from, to) } else { Ok(()) }
}

/// The same for the pool from which the driver now takes the device's stream-ordered allocations,
/// to which the permission between contexts does not extend.
fn allow_pool(from: &CudaContext, to: &CudaContext) -> Result<(), Error> {
    allow_device(from.cu_device(), to)
}

/// Lets all devices that can use the memory of this one use what comes from its pool.
///
/// # Errors
///
/// [`GpuError::DriverFailed`](crate::error::GpuError::DriverFailed).
pub(super) fn open_pool(to: &CudaContext) -> Result<(), Error> {
    let failed = |error| failed(error, "ask for access to a peer");
    if !to.has_async_alloc() {
        return Ok(());
    }
    to.bind_to_thread().map_err(failed)?;
    let devices = CudaContext::device_count().map_err(failed)?;
    for device in (0..devices).filter(|&device| device != to.cu_device()) {
        let mut can = 0;
        // SAFETY: devices have the numbers below their count, and the call writes one `int`, which
        // is borrowed.
        unsafe { sys::cuDeviceCanAccessPeer(&raw mut can, device, to.cu_device()) }
            .result()
            .map_err(failed)?;
        if can != 0 {
            allow_device(device, to)?;
        }
    }
    Ok(())
}

fn allow_device(from: sys::CUdevice, to: &CudaContext) -> Result<(), Error> {
    let failed = |error| failed(error, "get access to a peer's memory pool");
    let mut pool = core::ptr::null_mut();
    // SAFETY: the device is that of a context that exists, and the call writes one handle, which is
    // borrowed.
    unsafe { sys::cuDeviceGetMemPool(&raw mut pool, to.cu_device()) }.result().map_err(failed)?;
    let access = sys::CUmemAccessDesc {
        location: sys::CUmemLocation {
            type_: sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
            id: from,
        },
        flags: sys::CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    };
    // SAFETY: the driver has just returned the pool, which belongs to the device, and the call
    // reads one description, which is borrowed.
    unsafe { sys::cuMemPoolSetAccess(pool, &raw const access, 1) }.result().map_err(failed)
}
