//! [`Kept`]: the workspace of a call that is captured in a CUDA graph, which lives as long as the
//! graph.
//!
//! A graph has the addresses of the working memory of the calls in it, so that memory must be there
//! before the call is captured, and be nobody else's until the graph has gone. It is allocated
//! while the capture waits, as PyTorch allocates its own, and the graph holds the workspace by an
//! object of the driver's, which is destroyed with the last of the graph and its instances.

use std::ffi::c_void;
use std::mem;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use bijective_shuffle::Error;
use bijective_shuffle::cuda::cudarc::driver::{CudaStream, DriverError, result, sys};
use bijective_shuffle::cuda::{Cuda, CudaWorkspace};
use pyo3::prelude::*;

use crate::errors::{exception, failed};

/// A workspace for one call, shared with the graph.
pub(super) struct Kept(Arc<Mutex<CudaWorkspace>>);

/// Workspaces of graphs that have gone. The driver allows none of its functions where it says that,
/// so they are freed by a later call.
static LEFT: Mutex<Vec<Kept>> = Mutex::new(Vec::new());

/// Frees the workspaces of graphs that have gone.
pub(super) fn free_what_is_left() {
    let left = mem::take(&mut *LEFT.lock().unwrap_or_else(PoisonError::into_inner));
    // Without the lock, which the driver's own threads take.
    drop(left);
}

/// After a fork: what the parent had cannot be freed in the child.
pub(super) fn forget_what_is_left() {
    mem::forget(mem::take(&mut *LEFT.lock().unwrap_or_else(PoisonError::into_inner)));
}

impl Kept {
    /// A workspace that `reserve` has made ready for one call.
    pub(super) fn ready(
        cuda: &Cuda,
        reserve: impl FnOnce(&mut CudaWorkspace) -> Result<usize, Error>,
    ) -> PyResult<Self> {
        let _relaxed = Relaxed::new().map_err(failed)?;
        // SAFETY: the graph keeps the workspace, and nobody else uses it after the call that is
        // captured. Its owner orders its launches with other uses of the arrays, as with all of its
        // library's kernels.
        let cuda = unsafe { cuda.clone().with_capture() };
        let mut workspace = CudaWorkspace::new(&cuda);
        reserve(&mut workspace).map_err(exception)?;
        // The memory is initialised before any launch of the graph.
        // SAFETY: the stream exists, since the engine has it.
        unsafe { result::stream::synchronize(cuda.stream().cu_stream()) }.map_err(failed)?;
        Ok(Self(Arc::new(Mutex::new(workspace))))
    }

    /// Makes a call in a stream that is being captured, whose graph keeps the workspace.
    pub(super) fn captured(
        self,
        theirs: &Arc<CudaStream>,
        work: impl FnOnce(&mut CudaWorkspace) -> PyResult<()>,
    ) -> PyResult<()> {
        // Before anything is captured, so that nothing is if it fails.
        keep(theirs, Self(self.0.clone())).map_err(failed)?;
        let mut workspace = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let ours = workspace.stream().clone();
        // SAFETY: no call has been made before.
        unsafe { workspace.set_stream(theirs.clone()) }.map_err(exception)?;
        let done = work(&mut workspace);
        // SAFETY: no call is made after this one.
        unsafe { workspace.set_stream(ours) }.map_err(exception)?;
        done
    }
}

/// Has the graph that a stream is being captured in keep a workspace.
fn keep(stream: &CudaStream, workspace: Kept) -> Result<(), DriverError> {
    let mut status = sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
    let (mut graph, none) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: the stream exists, and what is asked for is written to variables of its types; for
    // the rest null is allowed.
    unsafe {
        sys::cuStreamGetCaptureInfo_v2(
            stream.cu_stream(),
            &mut status,
            none,
            &mut graph,
            ptr::null_mut(),
            ptr::null_mut(),
        )
    }
    .result()?;
    let mut object = ptr::null_mut();
    let workspace = Box::into_raw(Box::new(workspace));
    let no_sync = sys::CUuserObject_flags::CU_USER_OBJECT_NO_DESTRUCTOR_SYNC as u32;
    // SAFETY: the object owns the box, for which `leave` is called once.
    let made =
        unsafe { sys::cuUserObjectCreate(&mut object, workspace.cast(), Some(leave), 1, no_sync) };
    if let Err(error) = made.result() {
        // SAFETY: the box is still ours, since there is no object.
        drop(unsafe { Box::from_raw(workspace) });
        return Err(error);
    }
    let r#move = sys::CUuserObjectRetain_flags::CU_GRAPH_USER_OBJECT_MOVE as u32;
    // SAFETY: the graph exists while it is being captured, and takes the one reference that there
    // is to the object.
    let kept = unsafe { sys::cuGraphRetainUserObject(graph, object, 1, r#move) }.result();
    if kept.is_err() {
        // SAFETY: the reference has not been taken.
        let _ = unsafe { sys::cuUserObjectRelease(object, 1) };
    }
    kept
}

/// Leaves a graph's workspace for a later call to free.
unsafe extern "C" fn leave(workspace: *mut c_void) {
    // SAFETY: this is called once, with the box that the object was made with.
    let workspace = unsafe { Box::from_raw(workspace.cast::<Kept>()) };
    LEFT.lock().unwrap_or_else(PoisonError::into_inner).push(*workspace);
}

/// While it exists, this thread may allocate memory and load kernels although a stream is being
/// captured.
struct Relaxed(sys::CUstreamCaptureMode);

impl Relaxed {
    fn new() -> Result<Self, DriverError> {
        let mut mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the variable is of the mode's type.
        unsafe { sys::cuThreadExchangeStreamCaptureMode(&mut mode) }.result()?;
        Ok(Self(mode))
    }
}

impl Drop for Relaxed {
    fn drop(&mut self) {
        // SAFETY: the variable is of the mode's type. It cannot fail with a mode that the driver
        // has returned.
        let _ = unsafe { sys::cuThreadExchangeStreamCaptureMode(&mut self.0) };
    }
}
