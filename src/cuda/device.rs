//! [`Device`]: a GPU's context, what it can do, and the programs loaded on it.

use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::sys::{self, CUdevice_attribute as Attribute, CUfunction_attribute};
use cudarc::driver::{CudaContext, DriverError, result};

use super::nvrtc::{Nvrtc, Target};
use super::probe;
use super::program::{ENTRY, Program};
use crate::error::{Error, Unavailable};

/// What a GPU has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) multiprocessors: u32,
    pub(super) threads_per_multiprocessor: u32,
    /// The most shared memory that a block may have, and that a multiprocessor has, in bytes.
    pub(super) shared_per_block: usize,
    pub(super) shared_per_multiprocessor: usize,
    pub(super) l2_bytes: u64,
}

/// A GPU, in one context.
pub(super) struct Device {
    pub(super) context: Arc<CudaContext>,
    pub(super) limits: Limits,
    target: Target,
    kernels: Mutex<HashMap<Program, Arc<Kernel>>>,
    folder: Mutex<Option<PathBuf>>,
}

impl Device {
    /// The device in a context. Programs are shared by all engines of a context.
    ///
    /// # Errors
    ///
    /// [`Error::BackendUnavailable`], [`Error::Driver`].
    pub(super) fn of(context: &Arc<CudaContext>) -> Result<Arc<Self>, Error> {
        static DEVICES: Mutex<Vec<Arc<Device>>> = Mutex::new(Vec::new());
        let mut devices = DEVICES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(device) = devices.iter().find(|device| device.context == *context) {
            return Ok(device.clone());
        }
        let device = Arc::new(Self::new(context)?);
        devices.push(device.clone());
        Ok(device)
    }

    /// The device with a number, in its primary context.
    ///
    /// # Errors
    ///
    /// [`Error::BackendUnavailable`], [`Error::Driver`].
    pub(super) fn number(ordinal: usize) -> Result<Arc<Self>, Error> {
        let count = probe::driver().map_err(Error::no_cuda)?.devices;
        if ordinal >= count {
            return Err(Error::no_cuda(Unavailable::NoSuchDevice { ordinal, count }));
        }
        let context =
            CudaContext::new(ordinal).map_err(|error| failed(error, "open the device"))?;
        Self::of(&context)
    }

    fn new(context: &Arc<CudaContext>) -> Result<Self, Error> {
        let attribute = |attribute| {
            context
                .attribute(attribute)
                .map(|value| value as u32)
                .map_err(|error| failed(error, "ask what the device can do"))
        };
        let major = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        let nvrtc = Nvrtc::get().map_err(Error::no_cuda)?;
        let target = nvrtc
            .target(major * 10 + minor)
            .ok_or_else(|| Error::no_cuda(Unavailable::DeviceTooOld { major, minor }))?;
        let shared = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?;
        let most = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)?;
        let threads = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?;
        Ok(Self {
            context: context.clone(),
            limits: Limits {
                multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
                threads_per_multiprocessor: threads,
                shared_per_block: shared as usize,
                shared_per_multiprocessor: most as usize,
                l2_bytes: u64::from(attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?),
            },
            target,
            kernels: Mutex::default(),
            folder: Mutex::default(),
        })
    }

    /// Keeps compiled programs in a folder from now on.
    pub(super) fn keep_programs_in(&self, folder: PathBuf) {
        *self.folder.lock().unwrap_or_else(PoisonError::into_inner) = Some(folder);
    }

    /// A program's kernel, compiled and loaded if it is not yet.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceCompile`], [`Error::Driver`].
    pub(super) fn kernel(&self, program: &Program) -> Result<Arc<Kernel>, Error> {
        let kernels = || self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = kernels().get(program) {
            return Ok(kernel.clone());
        }
        let image = self.image(program)?;
        let kernel = Arc::new(Kernel::load(&self.context, &image, self.limits.shared_per_block)?);
        Ok(kernels().entry(program.clone()).or_insert(kernel).clone())
    }

    /// A program, compiled for this device if it is not yet.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceCompile`].
    pub(super) fn image(&self, program: &Program) -> Result<Arc<[u8]>, Error> {
        let folder = self.folder.lock().unwrap_or_else(PoisonError::into_inner).clone();
        program.image(self.target, folder.as_deref())
    }
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Device")
            .field("ordinal", &self.context.ordinal())
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}

/// The driver that first had `cuFuncLoad`: of CUDA 12.4.
const FUNC_LOAD_SINCE: u32 = 12_040;

/// A kernel on a device. It stays loaded until the process ends, as its device does.
pub(super) struct Kernel {
    function: sys::CUfunction,
}

// SAFETY: the handle is of the driver's, not of a thread's: any thread that has bound the context
// may launch the function or ask about it, and nothing frees it, since modules stay loaded.
unsafe impl Send for Kernel {}
// SAFETY: threads that share a kernel launch it and ask for its occupancy, both of which the driver
// serialises where it has to. The attribute that is set is set before there is a `Kernel` to share.
unsafe impl Sync for Kernel {}

impl Kernel {
    /// Loads a program's kernel, and lets it have as much shared memory as the device has for a block.
    fn load(context: &Arc<CudaContext>, image: &[u8], shared: usize) -> Result<Self, Error> {
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
    pub(super) fn blocks_per_multiprocessor(
        &self,
        threads: u32,
        shared: usize,
    ) -> Result<u32, Error> {
        // SAFETY: a `Kernel`'s function was got from a module that is never unloaded. The driver
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
    /// The arguments are, byte for byte, the kernel's parameters, and what they point at is there, and is the
    /// kernel's to use, until the kernel is done.
    pub(super) unsafe fn launch(
        &self,
        stream: sys::CUstream,
        (grid, rows): (u32, u32),
        threads: u32,
        shared: usize,
        arguments: &[&[u8]],
    ) -> Result<(), Error> {
        // The driver copies the arguments before it returns, and only reads them.
        let mut pointers: [*mut c_void; MOST_ARGUMENTS] = [core::ptr::null_mut(); MOST_ARGUMENTS];
        for (pointer, argument) in pointers[..arguments.len()].iter_mut().zip(arguments) {
            *pointer = argument.as_ptr().cast_mut().cast();
        }
        let pointers = &mut pointers[..arguments.len()];
        // SAFETY: a `Kernel`'s function was got from a module that is never unloaded. There is a
        // pointer for each parameter, to as many bytes as it has, and what the parameters point at
        // is the kernel's to use until it is done: all of this the caller promises.
        unsafe {
            result::launch_kernel(
                self.function,
                (grid, rows, 1),
                (threads, 1, 1),
                shared as u32,
                stream,
                pointers,
            )
        }
        .map_err(|error| failed(error, "launch a kernel"))
    }
}

const MOST_ARGUMENTS: usize = 8;

/// The driver's error as ours. Its number is kept, since asking for its name is another call into the driver.
pub(super) fn failed(error: DriverError, during: &'static str) -> Error {
    let code = error.0 as u32;
    match code {
        2 => Error::DeviceMemory,
        code => Error::Driver { code, during },
    }
}
