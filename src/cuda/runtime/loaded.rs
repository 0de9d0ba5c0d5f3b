//! [`LoadedKernel`]: a kernel's code on a device, and the crate's only call that launches one.

use std::ffi::{CString, c_void};
use std::sync::Arc;

use cudarc::driver::sys::{self, CUfunction_attribute};
use cudarc::driver::{CudaContext, result};

use super::probe;
use super::program::ENTRY;
use super::stream::failed;
use crate::error::Error;

/// How a kernel is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Division {
    /// Blocks, in two dimensions.
    pub(crate) grid: (u32, u32),
    /// Threads of a block.
    pub(crate) threads: u32,
    /// Bytes of shared memory of a block, besides the kernel's own.
    pub(crate) shared: usize,
}

/// The driver that first had `cuFuncLoad`: of CUDA 12.4.
const FUNC_LOAD_SINCE: u32 = 12_040;

/// A kernel on a device. It stays loaded until the process ends, as its device does.
pub(crate) struct LoadedKernel {
    function: sys::CUfunction,
}

// SAFETY: the handle is of the driver's, not of a thread's: any thread that has bound the context
// may launch the function or ask about it, and nothing frees it, since modules stay loaded.
unsafe impl Send for LoadedKernel {}
// SAFETY: threads that share a kernel launch it and ask for its occupancy, both of which the driver
// serialises where it has to. The attribute that is set is set before there is a `LoadedKernel` to share.
unsafe impl Sync for LoadedKernel {}

impl LoadedKernel {
    /// Loads a program's kernel, and lets it have as much shared memory as the device has for a block.
    pub(crate) fn load(
        context: &Arc<CudaContext>,
        image: &[u8],
        shared: usize,
    ) -> Result<Self, Error> {
        let failed = |error| failed(error, "load a program");
        context.bind_to_thread().map_err(failed)?;
        // SAFETY: the image is what the compiler made: machine code, which says how long it is, or a text that ends
        // with a zero byte.
        let module = unsafe { result::module::load_data(image.as_ptr().cast()) }.map_err(failed)?;
        let name = CString::new(ENTRY).unwrap_or_default();
        // SAFETY: the module has just been loaded, and is never unloaded.
        let function = unsafe { result::module::get_function(module, name) }.map_err(failed)?;
        // The driver puts off bringing the code to the device until the first launch, which then cannot be captured
        // in a graph.
        if probe::driver().is_ok_and(|driver| driver.version >= FUNC_LOAD_SINCE) {
            // SAFETY: the handle was got from a module that is loaded. The driver's version says
            // that it has the call, so that cudarc finds it and does not panic.
            unsafe { sys::cuFuncLoad(function) }.result().map_err(failed)?;
        }
        let fixed = CUfunction_attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES;
        // SAFETY: the handle was got from a module that is loaded, and nothing but a number is
        // read.
        let fixed = unsafe { result::function::get_function_attribute(function, fixed) };
        let dynamic = shared as i32 - fixed.map_err(failed)?;
        let most = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the handle was got from a module that is loaded. A size that the device does not
        // have is refused by the driver.
        unsafe { result::function::set_function_attribute(function, most, dynamic) }
            .map_err(failed)?;
        Ok(Self { function })
    }

    /// How many blocks of the kernel a multiprocessor holds at a time.
    pub(crate) fn blocks_per_multiprocessor(
        &self,
        threads: u32,
        shared: usize,
    ) -> Result<u32, Error> {
        // SAFETY: a `LoadedKernel`'s function was got from a module that is never unloaded. The driver
        // only computes with the numbers.
        let blocks = unsafe {
            result::occupancy::max_active_block_per_multiprocessor(
                self.function,
                threads as i32,
                shared,
            )
        };
        blocks
            .map(|blocks| blocks.max(1) as u32)
            .map_err(|error| failed(error, "ask how many blocks fit"))
    }

    /// Puts the kernel in a stream. The context must be bound to the thread.
    ///
    /// # Safety
    ///
    /// The pointers are to the kernel's parameters, one to each, as large and as laid out as the
    /// kernel has them. What the parameters point at is there, and is the kernel's to use, until
    /// the kernel is done.
    pub(crate) unsafe fn launch(
        &self,
        stream: sys::CUstream,
        division: Division,
        parameters: &mut [*mut c_void],
    ) -> Result<(), Error> {
        let Division { grid: (blocks, rows), threads, shared } = division;
        // SAFETY: a `LoadedKernel`'s function was got from a module that is never unloaded. The
        // driver copies the parameters before it returns, and only reads them. There is a pointer
        // for each, to as many bytes as it has, and what they point at is the kernel's to use until
        // it is done: all of this the caller promises.
        unsafe {
            result::launch_kernel(
                self.function,
                (blocks, rows, 1),
                (threads, 1, 1),
                shared as u32,
                stream,
                parameters,
            )
        }
        .map_err(|error| failed(error, "launch a kernel"))
    }
}
