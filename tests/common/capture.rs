//! Graphs of CUDA: a GPU's context in which nothing else is, and what is captured there.

use std::sync::Arc;

use bijective_shuffle::cuda::Cuda;
use bijective_shuffle::cuda::cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use bijective_shuffle::cuda::cudarc::driver::{CudaContext, CudaGraph, CudaStream};

/// An engine in a context of its own, on its only stream. Events that were recorded outside cannot
/// be waited for within a capture, so the context is without them.
pub(crate) fn alone() -> Cuda {
    let context = CudaContext::new_non_primary(0, 0).unwrap();
    // SAFETY: everything in this context is on one stream.
    unsafe { context.disable_event_tracking() };
    Cuda::on_stream(context.new_stream().unwrap()).unwrap()
}

/// Captures what is added to a stream; what the function answers, and the graph if there is
/// something in it.
pub(crate) fn capture<R>(
    stream: &Arc<CudaStream>,
    record: impl FnOnce() -> R,
) -> (R, Option<CudaGraph>) {
    stream.synchronize().unwrap();
    stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).unwrap();
    let recorded = record();
    let flags = CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
    (recorded, stream.end_capture(flags).unwrap())
}
