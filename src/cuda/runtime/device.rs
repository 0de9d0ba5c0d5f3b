//! [`Device`]: a GPU in one context, with its limits and the programs loaded on it.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::CudaContext;
use cudarc::driver::sys::{CUdevice_attribute as Attribute, CUresult};

use super::launch::LoadedKernel;
use super::nvrtc::{CompiledTo, Nvrtc};
use super::program::Program;
use super::stream::failed;
use super::{embedded, probe};
use crate::Error;
use crate::error::{GpuError, Unavailable};

/// The resources of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GpuLimits {
    pub(crate) multiprocessors: u32,
    pub(crate) threads_per_multiprocessor: u32,
    /// The most shared memory that a block may have, and that a multiprocessor has, in bytes.
    pub(crate) shared_per_block: usize,
    pub(crate) shared_per_multiprocessor: usize,
    pub(crate) l2_bytes: u64,
}

impl GpuLimits {
    /// What two devices both have.
    pub(crate) fn common(self, other: Self) -> Self {
        Self {
            multiprocessors: self.multiprocessors.min(other.multiprocessors),
            threads_per_multiprocessor: self
                .threads_per_multiprocessor
                .min(other.threads_per_multiprocessor),
            shared_per_block: self.shared_per_block.min(other.shared_per_block),
            shared_per_multiprocessor: self
                .shared_per_multiprocessor
                .min(other.shared_per_multiprocessor),
            l2_bytes: self.l2_bytes.min(other.l2_bytes),
        }
    }
}

/// A GPU, in one context.
pub(crate) struct Device {
    pub(crate) context: Arc<CudaContext>,
    pub(crate) limits: GpuLimits,
    /// Its compute capability, such as 90.
    architecture: u32,
    kernels: Mutex<HashMap<Program, Arc<LoadedKernel>>>,
    folder: Mutex<Option<PathBuf>>,
}

impl Device {
    /// The device of a context. All engines of a context share its programs.
    ///
    /// # Errors
    ///
    /// [`Error::BackendUnavailable`],
    /// [`GpuError::DriverFailed`](crate::error::GpuError::DriverFailed).
    pub(crate) fn of(context: &Arc<CudaContext>) -> Result<Arc<Self>, Error> {
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
    /// [`Error::BackendUnavailable`],
    /// [`GpuError::DriverFailed`](crate::error::GpuError::DriverFailed).
    pub(crate) fn number(ordinal: usize) -> Result<Arc<Self>, Error> {
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
        let architecture = major * 10 + minor;
        // The compiler is needed only for kernels that are not embedded. A path that the user
        // has named is an error right away if there is no compiler at it.
        if Nvrtc::is_named() || !embedded::serve(architecture) {
            target(architecture)?;
        }
        let shared = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?;
        let most = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)?;
        let threads = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?;
        Ok(Self {
            context: context.clone(),
            limits: GpuLimits {
                multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
                threads_per_multiprocessor: threads,
                shared_per_block: shared as usize,
                shared_per_multiprocessor: most as usize,
                l2_bytes: u64::from(attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?),
            },
            architecture,
            kernels: Mutex::default(),
            folder: Mutex::default(),
        })
    }

    /// Keeps compiled programs in a folder from now on, and looks for them there.
    pub(crate) fn keep_programs_in(&self, folder: PathBuf) {
        *self.folder.lock().unwrap_or_else(PoisonError::into_inner) = Some(folder);
    }

    /// A program's kernel, which is loaded at first use: embedded machine code, embedded PTX, or
    /// else what the compiler makes.
    ///
    /// # Errors
    ///
    /// [`Error::BackendUnavailable`] if the compiler is needed and there is none,
    /// [`GpuError::CompileFailed`](crate::error::GpuError::CompileFailed),
    /// [`GpuError::DriverFailed`](crate::error::GpuError::DriverFailed).
    pub(crate) fn kernel(&self, program: &Program) -> Result<Arc<LoadedKernel>, Error> {
        let kernels = || self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = kernels().get(program) {
            return Ok(kernel.clone());
        }
        let kernel = Arc::new(self.load(program)?);
        Ok(kernels().entry(program.clone()).or_insert(kernel).clone())
    }

    fn load(&self, program: &Program) -> Result<LoadedKernel, Error> {
        let load =
            |image: &[u8]| LoadedKernel::load(&self.context, image, self.limits.shared_per_block);
        for image in embedded::images(&program.full_text(), self.architecture) {
            match load(&image) {
                // The driver is older than the compiler that made the image, or lacks the compiler
                // of PTX.
                Err(Error::Gpu(GpuError::DriverFailed { code, .. }))
                    if REFUSED.iter().any(|&refused| refused as u32 == code) => {}
                loaded => return loaded,
            }
        }
        load(&self.image(program)?)
    }

    /// A program's code for this device, which is compiled at first use.
    ///
    /// # Errors
    ///
    /// [`Error::BackendUnavailable`],
    /// [`GpuError::CompileFailed`](crate::error::GpuError::CompileFailed).
    pub(crate) fn image(&self, program: &Program) -> Result<Arc<[u8]>, Error> {
        let folder = self.folder.lock().unwrap_or_else(PoisonError::into_inner).clone();
        program.image(target(self.architecture)?, folder.as_deref())
    }
}

/// The driver's answers to an image that it cannot use: to one that is none, or has no code for the
/// device, and to PTX that is wrong or too new, that it has no compiler for, or that the user has
/// told it not to compile, by `CUDA_DISABLE_PTX_JIT`.
const REFUSED: [CUresult; 6] = [
    CUresult::CUDA_ERROR_INVALID_IMAGE,
    CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU,
    CUresult::CUDA_ERROR_INVALID_PTX,
    CUresult::CUDA_ERROR_JIT_COMPILER_NOT_FOUND,
    CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
    CUresult::CUDA_ERROR_JIT_COMPILATION_DISABLED,
];

/// What the compiler compiles to for a device of this architecture.
///
/// # Errors
///
/// [`Error::BackendUnavailable`] if there is no compiler, or none for this device.
fn target(architecture: u32) -> Result<CompiledTo, Error> {
    let nvrtc = Nvrtc::get().map_err(Error::no_cuda)?;
    let (major, minor) = (architecture / 10, architecture % 10);
    nvrtc
        .target(architecture)
        .ok_or_else(|| Error::no_cuda(Unavailable::DeviceTooOld { major, minor }))
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Device")
            .field("ordinal", &self.context.ordinal())
            .field("architecture", &self.architecture)
            .finish_non_exhaustive()
    }
}
