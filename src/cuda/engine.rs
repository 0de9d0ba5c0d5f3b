//! [`Cuda`]: the engine on one stream of a GPU.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use cudarc::driver::sys::CUresult;
use cudarc::driver::{CudaFunction, CudaStream};
use cudarc::nvrtc::Ptx;

use super::runtime::device::Device;
use super::runtime::executor::Executor;
use super::runtime::probe;
use super::runtime::program::Program;
use super::runtime::staging::PinnedPair;
use super::runtime::stream::failed;
use super::shuffle::strategy::CudaStrategy;
use crate::Error;
use crate::error::GpuError;

/// The engine on an NVIDIA GPU, on one of its streams.
///
/// The engine needs a driver for CUDA 12.0 or later, and a GPU of compute capability 7.0 or later.
/// With the feature `kernels`, which is on by default, the kernels of
/// [`Standard`](crate::bijection::Standard), of batches, of fills and of affine maps are part of
/// the program. Other kernels are compiled at first use by the run-time compiler NVRTC, version
/// 11.7 or later. It comes with CUDA, and separately as the Python package `nvidia-cuda-nvrtc`. If
/// it is not where the system looks for libraries, set the environment variable
/// `BIJECTIVE_SHUFFLE_NVRTC` to its path; the value `none` forbids it. NVRTC must be able to
/// compile for the GPU: NVRTC 13 does so from compute capability 7.5 on. A call that needs the
/// compiler where there is none returns [`Error::BackendUnavailable`].
///
/// As a [`Compactor`](crate::Compactor) it serves slices in host memory, by copying them to the GPU
/// and back. A [`CudaWorkspace`](crate::cuda::CudaWorkspace) serves slices in device memory, which
/// is where a GPU pays most.
///
/// The bijection must have a [`device_source`](crate::Bijection::device_source), as all of this
/// crate's have, except for [`Table`](crate::bijection::Table)s of more than 256 points. Items are
/// moved by a [composition](crate::Permutation::then) of permutations as by one and then the other,
/// so it is their bijections that need a source.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::Error;
/// use bijective_shuffle::bijection::Standard;
/// use bijective_shuffle::Cpu;
/// use bijective_shuffle::prelude::*;
/// use bijective_shuffle::cuda::Cuda;
///
/// let mut items: Vec<u64> = (0..1000).collect();
/// let f = Standard::from_seed(1000, 42);
/// match Cuda::new() {
///     Ok(cuda) => cuda.shuffle(&f, &mut items)?,
///     Err(Error::BackendUnavailable { reason }) => {
///         println!("no GPU: {reason}");
///         Cpu.shuffle(&f, &mut items)?;
///     }
///     Err(error) => return Err(error),
/// }
/// assert_eq!(items, Permutation::new(1000, 42).to_vec());
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Cuda {
    pub(super) device: Arc<Device>,
    pub(super) stream: Arc<CudaStream>,
    pub(super) strategy: CudaStrategy,
    /// Whether its calls may be captured in graphs, as the caller of `with_capture` has promised.
    pub(super) may_be_captured: bool,
    /// Page-locked memory for copies of large slices in host memory, allocated at the first of
    /// them.
    pub(super) link: Arc<Mutex<Option<PinnedPair>>>,
}

impl Cuda {
    /// Creates the engine on the first GPU.
    ///
    /// # Errors
    ///
    /// [`Error::BackendUnavailable`] if there is no suitable GPU or driver, if the library that
    /// `BIJECTIVE_SHUFFLE_NVRTC` names cannot be loaded or, without the feature `kernels`, if there
    /// is no compiler; [`GpuError::DriverFailed`](crate::error::GpuError::DriverFailed).
    pub fn new() -> Result<Self, Error> {
        Self::on_device(0)
    }

    /// Creates the engine on a GPU, counted from 0, with a stream of its own.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn on_device(ordinal: usize) -> Result<Self, Error> {
        let device = Device::number(ordinal)?;
        let stream = device.context.new_stream().map_err(|error| failed(error, "make a stream"))?;
        Ok(Self::with(device, stream))
    }

    /// Creates the engine on a stream of the caller, to which it adds its work in order. The
    /// stream's context, and the kernels that are loaded in it, are kept until the process ends.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn on_stream(stream: Arc<CudaStream>) -> Result<Self, Error> {
        let device = Device::of(stream.context())?;
        Ok(Self::with(device, stream))
    }

    /// The number of GPUs.
    ///
    /// # Errors
    ///
    /// [`Error::BackendUnavailable`] if there is none, or no suitable driver.
    pub fn device_count() -> Result<usize, Error> {
        Ok(probe::driver().map_err(Error::no_cuda)?.devices)
    }

    fn with(device: Arc<Device>, stream: Arc<CudaStream>) -> Self {
        let (strategy, may_be_captured) = (CudaStrategy::Auto, false);
        Self { device, stream, strategy, may_be_captured, link: Arc::default() }
    }

    /// The same engine with another strategy.
    #[must_use]
    pub fn with_strategy(mut self, strategy: CudaStrategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// The same engine, with permission to capture its calls in CUDA graphs: calls of
    /// [`CudaWorkspace`](crate::cuda::CudaWorkspace)s and [`CudaStreams`](crate::cuda::CudaStreams)
    /// that are created with it, and its own calls that fill device memory. Without this permission
    /// such a call fails with [`GpuError::StreamCaptured`](crate::error::GpuError::StreamCaptured).
    ///
    /// The kernels and the memory of a captured call must exist beforehand, from a `reserve`
    /// function or from an earlier call. Each launch of the graph does what the call would do, with
    /// the same bijection, seed and slices; [`CudaStreams`](crate::cuda::CudaStreams) advance with
    /// every launch.
    ///
    /// # Safety
    ///
    /// A graph holds the addresses of all memory that the captured calls use, and launching it is a
    /// safe function of [`CudaGraph`](cudarc::driver::CudaGraph), which checks none of them again.
    /// So the caller promises the following for as long as a graph in which a call was captured may
    /// be launched, or runs:
    ///
    /// * The workspace or the [`CudaStreams`](crate::cuda::CudaStreams) that was called is not
    ///   dropped. It may be used, and may grow: a workspace keeps memory whose address a graph
    ///   holds.
    /// * The slices that the call was given are not dropped.
    /// * A launch of the graph is ordered with everything else that uses the slices and the
    ///   workspace, just as the captured calls would have to be. In the engine's stream, where
    ///   [`CudaGraph::launch`](cudarc::driver::CudaGraph::launch) puts a graph that was captured
    ///   there, it is ordered with the workspace's other calls.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use bijective_shuffle::cuda::cudarc::driver::CudaContext;
    /// use bijective_shuffle::cuda::cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
    /// use bijective_shuffle::bijection::Standard;
    /// use bijective_shuffle::prelude::*;
    /// use bijective_shuffle::cuda::{Cuda, CudaWorkspace};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let context = CudaContext::new(0)?;
    /// // SAFETY: all that this program does on the device is in one stream.
    /// unsafe { context.disable_event_tracking() };
    /// let cuda = Cuda::on_stream(context.new_stream()?)?;
    /// // SAFETY: the graph, which is made last, is dropped before the slices and the workspace, and is
    /// // launched in the only stream there is.
    /// let cuda = unsafe { cuda.with_capture() };
    /// let stream = cuda.stream();
    /// let source = stream.clone_htod(&(0..1000_u32).collect::<Vec<_>>())?;
    /// let mut out = stream.alloc_zeros::<u32>(1000)?;
    /// let f = Standard::from_seed(1000, 42);
    /// let mut workspace = CudaWorkspace::new(&cuda);
    /// workspace.reserve::<u32>(&f, 1000)?;
    ///
    /// stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
    /// let captured = workspace.shuffle_into(&f, &source, &mut out);
    /// let graph = stream.end_capture(CUgraphInstantiate_flags(0))?;
    /// captured?;
    /// graph.expect("something was captured").launch()?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub unsafe fn with_capture(mut self) -> Self {
        self.may_be_captured = true;
        self
    }

    /// The stream in which its kernels run.
    pub fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// An executor for this engine's stream, without kernels or memory yet.
    pub(super) fn executor(&self) -> Executor {
        Executor::new(&self.device, &self.stream, self.may_be_captured)
    }

    /// Compiles a user's kernel that draws random numbers. `text` is CUDA C++17, is compiled after
    /// [`device_header`](crate::cuda::device_header), and defines
    /// `extern "C" __global__ void name(..)`.
    ///
    /// The compiled code is kept in memory, and in the folder of
    /// [`keep_kernels_in`](Self::keep_kernels_in) if there is one, so that the same text is
    /// compiled only once.
    ///
    /// # Errors
    ///
    /// [`Error::BackendUnavailable`] without the compiler;
    /// [`GpuError::CompileFailed`](crate::error::GpuError::CompileFailed), with the kernel's name
    /// and the compiler's log, if the text does not compile or has no such kernel;
    /// [`GpuError::DriverFailed`](crate::error::GpuError::DriverFailed).
    ///
    /// # Examples
    ///
    /// An estimate of pi from 2^20 points in a square, with a stream for each thread:
    ///
    /// ```
    /// use bijective_shuffle::Error;
    /// use bijective_shuffle::cuda::Cuda;
    /// use bijective_shuffle::cuda::cudarc::driver::{LaunchConfig, PushKernelArg};
    /// use bijective_shuffle::prelude::*;
    /// use bijective_shuffle::rng::Philox4x32Rng;
    ///
    /// const TEXT: &str = r#"
    /// using namespace bijective_shuffle;
    ///
    /// extern "C" __global__ void hits(uint64_t key, uint32_t points, uint32_t* hits) {
    ///     Philox4x32Rng<> rng(key, uint64_t(blockIdx.x) * blockDim.x + threadIdx.x);
    ///     uint32_t inside = 0;
    ///     for (uint32_t k = 0; k < points; ++k) {
    ///         const float x = uniform_f32(rng.next()), y = uniform_f32(rng.next());
    ///         inside += x * x + y * y < 1;
    ///     }
    ///     atomicAdd(hits, inside);
    /// }
    /// "#;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let cuda = match Cuda::new() {
    ///     Ok(cuda) => cuda,
    ///     // No GPU or no driver is an ordinary state, and so is no compiler.
    ///     Err(Error::BackendUnavailable { reason }) => return Ok(println!("skipped: {reason}")),
    ///     Err(error) => return Err(error.into()),
    /// };
    /// let kernel = match cuda.kernel(TEXT, "hits") {
    ///     Ok(kernel) => kernel,
    ///     Err(Error::BackendUnavailable { reason }) => return Ok(println!("skipped: {reason}")),
    ///     Err(error) => return Err(error.into()),
    /// };
    /// let stream = cuda.stream();
    /// let mut hits = stream.alloc_zeros::<u32>(1)?;
    /// let (key, points) = (Philox4x32Rng::new(42, 0).key(), 1024_u32);
    /// let shape = LaunchConfig { grid_dim: (4, 1, 1), block_dim: (256, 1, 1), shared_mem_bytes: 0 };
    /// let mut launch = stream.launch_builder(&kernel);
    /// launch.arg(&key).arg(&points).arg(&mut hits);
    /// // SAFETY: the arguments are the kernel's, which writes the one word and nothing else.
    /// unsafe { launch.launch(shape) }?;
    /// let hits = stream.clone_dtoh(&hits)?;
    /// stream.synchronize()?;
    /// let pi = 4.0 * f64::from(hits[0]) / f64::from(1 << 20);
    /// assert!((pi - core::f64::consts::PI).abs() < 0.01);
    /// # Ok(())
    /// # }
    /// ```
    pub fn kernel(&self, text: &str, name: &str) -> Result<CudaFunction, Error> {
        let wrong = |log: &str| {
            Error::Gpu(GpuError::CompileFailed { type_name: name.into(), log: log.into() })
        };
        if name.contains('\0') {
            return Err(wrong("the name has a zero byte"));
        }
        let image = self.device.image(&Program::user(text, name))?;
        let module = self.device.context.load_module(Ptx::from_binary(image.to_vec()));
        let module = module.map_err(|error| failed(error, "load a program"))?;
        module.load_function(name).map_err(|error| match error.0 {
            CUresult::CUDA_ERROR_NOT_FOUND => wrong("the text has no such kernel with C linkage"),
            _ => failed(error, "load a program"),
        })
    }

    /// Keeps compiled kernels in a folder from now on, and looks for them there, for all engines on
    /// this device. A kernel takes about half a second to compile, and is kept in memory in any
    /// case. Kernels that are part of the program are not kept there.
    ///
    /// The folder is created when it is needed. It is not an error if it cannot be written or read.
    /// Anyone who can write to it controls what the GPU runs, so the crate uses no folder unless
    /// the user names one.
    pub fn keep_kernels_in(&self, folder: impl Into<PathBuf>) {
        self.device.keep_programs_in(folder.into());
    }
}
