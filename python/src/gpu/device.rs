//! The engine of each GPU, and its work in streams of the caller's.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::mem::ManuallyDrop;
use std::process;
use std::sync::{Arc, Mutex, PoisonError};

use bijective_shuffle::cuda::cudarc::driver::{
    CudaEvent, CudaStream, DevicePtr, DeviceRepr, result, sys,
};
use bijective_shuffle::cuda::{Cuda, CudaWorkspace, RawArray, RawOffsets};
use bijective_shuffle::error::GpuError;
use bijective_shuffle::{Bijection, Error, Permutations, Seed, Word};
use bijective_shuffle_bindings::AnyOrder;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use super::graph;
use super::memory::DeviceMemory;
use super::range::{Allocation, covers};
use crate::errors::{ArrayError, exception, failed};

/// The GPUs that this process has used.
///
/// After a fork CUDA is unusable in the child, and its driver says so; the number of the process
/// tells which child has to ask it anew.
static GPUS: Mutex<Option<Gpus>> = Mutex::new(None);

struct Gpus {
    process: u32,
    of_device: HashMap<usize, Gpu>,
}

/// A GPU's engine, and a workspace that keeps its memory and its kernels from call to call.
struct Gpu {
    cuda: Cuda,
    name: String,
    workspace: CudaWorkspace,
    /// The end of the last call, in whatever stream it was: the next one waits for it.
    last: CudaEvent,
}

impl Gpu {
    fn new(device: usize) -> Result<Self, Error> {
        let cuda = Cuda::on_device(device)?;
        let context = cuda.stream().context().clone();
        // SAFETY: what is in this context is ordered by the events of this file. Without cudarc's
        // own, a slice that a call borrows by its address has none.
        unsafe { context.disable_event_tracking() };
        // The device was found, so a missing name is no reason to say that it was not.
        let name = context.name().unwrap_or_else(|_| "a GPU without a name".into());
        let workspace = CudaWorkspace::new(&cuda);
        // It has the same reason to be there.
        let no_event = || Error::Gpu(bijective_shuffle::error::GpuError::OutOfMemory);
        let last = context.new_event(None).map_err(|_| no_event())?;
        Ok(Self { cuda, name, workspace, last })
    }
}

/// Calls a function with a GPU, which is opened when it is first asked for.
fn with_gpu<R>(
    device: usize,
    open: impl FnOnce() -> PyResult<Gpu>,
    call: impl FnOnce(&mut Gpu) -> PyResult<R>,
) -> PyResult<R> {
    let mut gpus = GPUS.lock().unwrap_or_else(PoisonError::into_inner);
    let process = process::id();
    if gpus.as_ref().is_some_and(|gpus| gpus.process != process) {
        // What the parent had cannot be freed here.
        std::mem::forget(gpus.take());
        graph::forget_what_is_left();
    }
    let gpus = gpus.get_or_insert_with(|| Gpus { process, of_device: HashMap::new() });
    let gpu = match gpus.of_device.entry(device) {
        Entry::Occupied(entry) => entry.into_mut(),
        Entry::Vacant(entry) => entry.insert(open()?),
    };
    call(gpu)
}

pub(super) fn name(device: usize) -> PyResult<String> {
    let open = || Gpu::new(device).map_err(exception);
    with_gpu(device, open, |gpu| Ok(gpu.name.clone()))
}

/// Calls a function with a workspace whose calls run in the caller's stream. If that is being
/// captured in a graph, the workspace is the graph's own, and `reserve` has made it ready.
///
/// # Safety
///
/// `stream` is a stream of the GPU's primary context, or one of the numbers of CUDA that stand for
/// a stream: 0, 1 or 2.
unsafe fn in_stream(
    device: usize,
    stream: u64,
    reserve: impl FnOnce(&mut CudaWorkspace) -> Result<usize, Error>,
    work: impl FnOnce(&mut CudaWorkspace) -> PyResult<()>,
) -> PyResult<()> {
    let theirs = stream as usize as sys::CUstream;
    let open = || {
        let has_driver = Cuda::device_count().is_ok();
        // SAFETY: the caller promises the stream.
        let is_captured = || unsafe { result::stream::is_capturing(theirs) }.is_ok_and(is);
        // What opens a GPU must not be in a capture.
        if has_driver && is_captured() {
            let text = "a CUDA graph is being captured, and nothing is ready on this GPU: make a \
                        call of bijective_shuffle.cuda before the capture";
            return Err(PyRuntimeError::new_err(text));
        }
        Gpu::new(device).map_err(exception)
    };
    with_gpu(device, open, |gpu| {
        let context = gpu.cuda.stream().context().clone();
        context.bind_to_thread().map_err(failed)?;
        // SAFETY: the caller promises the stream, and its context is current.
        let borrowed = unsafe { context.wrap_borrowed_stream(theirs) };
        // SAFETY: the stream exists, as the caller promises, and asking changes nothing.
        if is(unsafe { result::stream::is_capturing(theirs) }.map_err(failed)?) {
            let kept = graph::Kept::ready(&gpu.cuda, reserve)?;
            return kept.captured(&borrowed, work);
        }
        graph::free_what_is_left();
        let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: the stream is the caller's promise, and the event exists.
        unsafe { result::stream::wait_event(theirs, gpu.last.cu_event(), flags) }
            .map_err(failed)?;
        let call = InTheirs::new(gpu, borrowed)?;
        work(&mut call.gpu.workspace)
    })
}

/// Whether this is the status of a stream that is being captured.
fn is(status: sys::CUstreamCaptureStatus) -> bool {
    status != sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE
}

/// A call in the caller's stream. When it ends, also by an error or a panic, later calls wait for
/// what it has put there, and the workspace lets go of the stream.
struct InTheirs<'a> {
    gpu: &'a mut Gpu,
    theirs: Arc<CudaStream>,
}

impl<'a> InTheirs<'a> {
    fn new(gpu: &'a mut Gpu, theirs: Arc<CudaStream>) -> PyResult<Self> {
        // SAFETY: the stream has been made to wait for the last call, which is all that the
        // workspace's memory may still be used by.
        unsafe { gpu.workspace.set_stream(theirs.clone()) }.map_err(exception)?;
        Ok(Self { gpu, theirs })
    }
}

impl Drop for InTheirs<'_> {
    fn drop(&mut self) {
        // SAFETY: the event is of the stream's context, and the stream exists.
        let recorded =
            unsafe { result::event::record(self.gpu.last.cu_event(), self.theirs.cu_stream()) };
        if recorded.is_err() {
            // Nothing else says when the call has ended.
            // SAFETY: the stream exists.
            let _ = unsafe { result::stream::synchronize(self.theirs.cu_stream()) };
        }
        let ours = self.gpu.cuda.stream().clone();
        // SAFETY: no call is made before the next one of `InTheirs::new`.
        let _ = unsafe { self.gpu.workspace.set_stream(ours) };
    }
}

/// What the driver knows of an address; `None` if it is not an address of a GPU's memory.
fn ask(address: u64) -> Option<Allocation> {
    let mut device: std::ffi::c_int = -1;
    let attribute = sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL;
    let room = (&raw mut device).cast();
    // SAFETY: this attribute is an `int`, for which there is room; of an address that it does not
    // know the driver says so.
    unsafe { sys::cuPointerGetAttribute(room, attribute, address) }.result().ok()?;
    let (mut start, mut size) = (0, 0);
    // Not the attributes of the range: for memory that grows they are those of all addresses that
    // are set aside for it, mapped or not.
    // SAFETY: there is room for both; of an address that it does not know the driver says so.
    unsafe { sys::cuMemGetAddressRange_v2(&raw mut start, &raw mut size, address) }
        .result()
        .ok()?;
    Some(Allocation { device: usize::try_from(device).ok()?, end: start.checked_add(size as u64)? })
}

/// Checks that all of an array is in the memory of a GPU.
fn check_range(memory: DeviceMemory, device: usize) -> PyResult<()> {
    if covers(device, memory.address, memory.bytes(), ask) {
        return Ok(());
    }
    let (bytes, address) = (memory.bytes(), memory.address);
    Err(ArrayError::new_err(format!(
        "the {bytes} bytes at {address:#x} are not all in the memory of GPU {device}: the shape or \
         the address that the array's interface says is wrong, or the array has been freed"
    )))
}

/// An array of up to this many bytes without room for a copy is left to the workspace, which keeps
/// room from call to call.
const SHORT_BYTES: usize = 64 << 10;

/// Moves rows to `to` or, if that is only room for a copy, there and back again. Without any room
/// it takes some, or needs none.
pub(super) fn reorder(
    order: &AnyOrder,
    from: DeviceMemory,
    to: Option<DeviceMemory>,
    back: bool,
    (device, stream): (usize, u64),
    undo: bool,
) -> PyResult<()> {
    let (bijection, is_inverted) = (order.bijection(), order.is_inverted());
    let (rows, width) = (from.rows, from.width);
    if to.is_none() && from.bytes() <= SHORT_BYTES {
        let call = (bijection, from, undo != is_inverted);
        match width {
            1 => return short::<u8>(call, (device, stream)),
            2 => return short::<u16>(call, (device, stream)),
            4 => return short::<u32>(call, (device, stream)),
            8 => return short::<u64>(call, (device, stream)),
            16 => return short::<[u64; 2]>(call, (device, stream)),
            _ => {}
        }
    }
    let reserve = |workspace: &mut CudaWorkspace| {
        let out = to.map_or(from.address, |to| to.address);
        let array = RawArray { source: from.address, out, len: rows, item_bytes: width };
        workspace.reserve_raw(bijection, array)
    };
    let work = |workspace: &mut CudaWorkspace| {
        check_range(from, device)?;
        if let Some(to) = to {
            check_range(to, device)?;
        }
        let theirs = workspace.stream().clone();
        // It is freed when the stream has come to the end of this call.
        let room = match to {
            Some(_) => None,
            // SAFETY: all of it is written before any of it is read.
            None => Some(unsafe { theirs.alloc::<u8>(from.bytes()) }.map_err(failed)?),
        };
        let target = match (&room, to) {
            (_, Some(to)) => to.address,
            // The guard orders other streams' uses, and there are none.
            (Some(room), None) => room.device_ptr(&theirs).0,
            (None, None) => return Ok(()),
        };
        let from = from.address;
        let array = RawArray { source: from, out: target, len: rows, item_bytes: width };
        let moved = if undo == is_inverted {
            // SAFETY: both are addresses of that many rows on this GPU, as the interfaces of the
            // arrays say and the driver confirms, and they do not overlap. They are used in the
            // stream of their owner alone.
            unsafe { workspace.shuffle_raw(bijection, array) }
        } else {
            // SAFETY: both are addresses of that many rows on this GPU, which do not overlap and
            // are used in the stream of their owner alone, whatever the direction.
            unsafe { workspace.unshuffle_raw(bijection, array) }
        };
        moved.map_err(exception)?;
        if back || room.is_some() {
            let stream = theirs.cu_stream();
            // SAFETY: both have that many bytes, as above; the stream has filled the room by then.
            unsafe { result::memcpy_dtod_async(from, target, rows * width, stream) }
                .map_err(failed)?;
        }
        Ok(())
    };
    // SAFETY: the number is what the array's own library calls its stream.
    unsafe { in_stream(device, stream, reserve, work) }
}

/// Moves the words of a short array within its own memory.
fn short<T: DeviceRepr>(
    (bijection, array, undo): (&dyn Bijection, DeviceMemory, bool),
    (device, stream): (usize, u64),
) -> PyResult<()> {
    let reserve =
        |workspace: &mut CudaWorkspace| workspace.reserve_in_place::<T>(bijection, array.rows);
    let work = |workspace: &mut CudaWorkspace| {
        check_range(array, device)?;
        let stream = workspace.stream();
        // SAFETY: there are that many words of a type for which any bits are a value, as the
        // array's interface says and the driver confirms. They are used in the stream of their
        // owner alone.
        let words = unsafe { stream.upgrade_device_ptr::<T>(array.address, array.rows) };
        // The memory is the caller's, so it is not freed here, not by a panic either.
        let mut words = ManuallyDrop::new(words);
        let moved = if undo {
            workspace.unshuffle(bijection, &mut *words)
        } else {
            workspace.shuffle(bijection, &mut *words)
        };
        ManuallyDrop::into_inner(words).leak();
        moved.map_err(exception)
    };
    // SAFETY: the number is what the array's own library calls its stream.
    unsafe { in_stream(device, stream, reserve, work) }
}

/// Moves rows within their segments from one array to another.
pub(super) fn segments(
    seed: Seed,
    (offsets, from, to): (DeviceMemory, DeviceMemory, DeviceMemory),
    (device, stream): (usize, u64),
    undo: bool,
) -> PyResult<()> {
    let (source, out) = (from.address, to.address);
    let array = RawArray { source, out, len: from.rows, item_bytes: from.width };
    let ends =
        RawOffsets { address: offsets.address, len: offsets.rows, are_wide: offsets.width == 8 };
    // The call needs the host.
    let reserve = |_: &mut CudaWorkspace| Err(Error::Gpu(GpuError::StreamCaptured));
    let work = |workspace: &mut CudaWorkspace| {
        for memory in [offsets, from, to].into_iter().filter(|memory| memory.bytes() > 0) {
            check_range(memory, device)?;
        }
        let moved = if undo {
            // SAFETY: these are addresses of that many offsets and items on this GPU, as the
            // interfaces of the arrays say and the driver confirms, and the output, which is new,
            // overlaps neither. They are used in the stream of their owner alone.
            unsafe { workspace.unshuffle_segments_raw(ends, seed, array) }
        } else {
            // SAFETY: these are addresses of that many offsets and items on this GPU, of which none
            // overlaps the output, and which are used in the stream of their owner alone, whatever
            // the direction.
            unsafe { workspace.shuffle_segments_raw(ends, seed, array) }
        };
        moved.map_err(exception)
    };
    // SAFETY: the number is what the arrays' own library calls its stream.
    unsafe { in_stream(device, stream, reserve, work) }
}

/// Moves the items of rows of `permutations`, each row apart, from one array to another.
pub(super) fn permuted(
    permutations: &Permutations,
    (from, to): (DeviceMemory, DeviceMemory),
    (device, stream): (usize, u64),
    undo: bool,
) -> PyResult<()> {
    let (source, out) = (from.address, to.address);
    let array = RawArray { source, out, len: from.rows, item_bytes: from.width };
    let reserve = |workspace: &mut CudaWorkspace| workspace.reserve_rows_raw(permutations, array);
    let work = |workspace: &mut CudaWorkspace| {
        check_range(from, device)?;
        check_range(to, device)?;
        let moved = if undo {
            // SAFETY: both are addresses of that many items on this GPU, as the interfaces of the
            // arrays say and the driver confirms, and they do not overlap. They are used in the
            // stream of their owner alone.
            unsafe { workspace.unshuffle_rows_raw(permutations, 0, array) }
        } else {
            // SAFETY: both are addresses of that many items on this GPU, which do not overlap and
            // are used in the stream of their owner alone, whatever the direction.
            unsafe { workspace.shuffle_rows_raw(permutations, 0, array) }
        };
        moved.map_err(exception)
    };
    // SAFETY: the number is what the arrays' own library calls its stream.
    unsafe { in_stream(device, stream, reserve, work) }
}

pub(super) fn indexes(
    order: &AnyOrder,
    out: DeviceMemory,
    bits: usize,
    device: usize,
    stream: u64,
) -> PyResult<()> {
    let (bijection, is_inverted) = (order.bijection(), order.is_inverted());
    if is_inverted {
        let text = "indexes on a GPU are those of a permutation, not of an inverse";
        return Err(pyo3::exceptions::PyValueError::new_err(text));
    }
    let reserve = |workspace: &mut CudaWorkspace| match bits {
        32 => workspace.reserve_indexes::<u32>(bijection, out.rows),
        _ => workspace.reserve_indexes::<u64>(bijection, out.rows),
    };
    let work = |workspace: &mut CudaWorkspace| {
        check_range(out, device)?;
        let written = if bits == 32 {
            // SAFETY: there are that many words of 32 bits, as the array's interface says; and see
            // `reorder`.
            unsafe { write::<u32>(workspace, bijection, out) }
        } else {
            // SAFETY: there are that many words of 64 bits, as the array's interface says; and see
            // `reorder`.
            unsafe { write::<u64>(workspace, bijection, out) }
        };
        written.map_err(exception)
    };
    // SAFETY: the number is what the array's own library calls its stream.
    unsafe { in_stream(device, stream, reserve, work) }
}

/// Writes the values of a bijection.
///
/// # Safety
///
/// There are as many words on the workspace's GPU as the memory has rows, and they are the stream's
/// until it has done with them.
unsafe fn write<N: Word + DeviceRepr>(
    workspace: &mut CudaWorkspace,
    bijection: &dyn Bijection,
    out: DeviceMemory,
) -> Result<(), Error> {
    // SAFETY: the caller promises a word on this GPU for each row, in the stream's order; any bits
    // are a word.
    let words = unsafe { workspace.stream().upgrade_device_ptr::<N>(out.address, out.rows) };
    // The memory is the caller's, so it is not freed here, not by a panic either.
    let mut words = ManuallyDrop::new(words);
    let written = workspace.write_indexes(bijection, &mut *words);
    ManuallyDrop::into_inner(words).leak();
    written
}
