//! [`LoadedKernel`]: a kernel's code on a device, and the crate's only call of the driver's launch.

use std::ffi::{CString, c_void};
use std::sync::Arc;

use cudarc::driver::sys::{self, CUfunction_attribute};
use cudarc::driver::{CudaContext, result};

use super::probe;
use super::program::ENTRY;
use super::stream::failed;
use crate::Error;

/// The size of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LaunchSize {
    /// Blocks, in two dimensions.
    pub(crate) grid: (u32, u32),
    /// Threads of a block.
    pub(crate) threads: u32,
    /// Bytes of dynamic shared memory of a block.
    pub(crate) shared: usize,
}

/// The first driver version with `cuFuncLoad`, that of CUDA 12.4.
const FUNC_LOAD_SINCE: u32 = 12_040;

/// A kernel on a device. Like its device, it stays loaded until the process ends.
pub(crate) struct LoadedKernel {
    function: sys::CUfunction,
}

// SAFETY: the driver's handles do not belong to a thread: any thread that has bound the context may
// launch the function or query it. Nothing frees the handle, since its module is never unloaded.
unsafe impl Send for LoadedKernel {}
// SAFETY: threads that share a kernel only launch it and query its occupancy, for which the driver
// is thread-safe. `load` sets the function's attribute before there is a `LoadedKernel` to share.
unsafe impl Sync for LoadedKernel {}

impl LoadedKernel {
    /// Loads a program's kernel, and permits it as much shared memory as the device has for a
    /// block.
    pub(crate) fn load(
        context: &Arc<CudaContext>,
        image: &[u8],
        shared: usize,
    ) -> Result<Self, Error> {
        let failed = |error| failed(error, "load a program");
        context.bind_to_thread().map_err(failed)?;
        // SAFETY: the image is what the compiler has made: now, earlier, if it was read from the
        // user's folder, or before the crate was published, if it is an embedded one. It is machine
        // code, whose header has its length, or PTX text that ends with a zero byte, which
        // `embedded::images` checks, and the compiler adds.
        let module = unsafe { result::module::load_data(image.as_ptr().cast()) }.map_err(failed)?;
        let name = CString::new(ENTRY).unwrap_or_default();
        // SAFETY: the module has just been loaded, and nothing ever unloads it.
        let function = unsafe { result::module::get_function(module, name) }.map_err(failed)?;
        // The driver would load the code onto the device only at the first launch, which then could
        // not be captured in a graph.
        if probe::driver().is_ok_and(|driver| driver.version >= FUNC_LOAD_SINCE) {
            // SAFETY: the handle comes from a module that is loaded. By its version the driver has
            // this function, so cudarc finds it and does not panic.
            unsafe { sys::cuFuncLoad(function) }.result().map_err(failed)?;
        }
        let fixed = CUfunction_attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES;
        // SAFETY: the handle comes from a module that is loaded, and the call only reads a number.
        let fixed = unsafe { result::function::get_function_attribute(function, fixed) };
        let dynamic = shared as i32 - fixed.map_err(failed)?;
        let most = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the handle comes from a module that is loaded. The driver refuses a size that the
        // device does not have.
        unsafe { result::function::set_function_attribute(function, most, dynamic) }
            .map_err(failed)?;
        Ok(Self { function })
    }

    /// The number of blocks of the kernel that a multiprocessor holds at a time, at least 1.
    pub(crate) fn blocks_per_multiprocessor(
        &self,
        threads: u32,
        shared: usize,
    ) -> Result<u32, Error> {
        // SAFETY: the function of a `LoadedKernel` comes from a module that is never unloaded. The
        // driver only computes a number from the arguments.
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

    /// Puts the kernel in a stream. The context must be bound to the calling thread.
    ///
    /// # Safety
    ///
    /// There is one pointer for each of the kernel's parameters, to a value with the size and
    /// layout that the kernel declares. The memory that the parameters point to is valid, and the
    /// kernel may use it, until the kernel has finished.
    pub(crate) unsafe fn launch(
        &self,
        stream: sys::CUstream,
        division: LaunchSize,
        parameters: &mut [*mut c_void],
    ) -> Result<(), Error> {
        let LaunchSize { grid: (blocks, rows), threads, shared } = division;
        // SAFETY: the function of a `LoadedKernel` comes from a module that is never unloaded. The
        // driver only reads the parameters, and copies them before it returns. The caller promises
        // a pointer for each parameter, to as many bytes as it has, and that the kernel may use the
        // memory that the parameters point to until it has finished.
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
