//! The engine of each GPU, and its work between two events of the caller's stream.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::mem::ManuallyDrop;
use std::process;
use std::sync::{Mutex, PoisonError};

use bijective_shuffle::cudarc::driver::{
    CudaEvent, DevicePtr, DeviceRepr, DriverError, result, sys,
};
use bijective_shuffle::{Bijection, Cuda, CudaWorkspace, Error, Word};
use pyo3::exceptions::{PyMemoryError, PyRuntimeError};
use pyo3::prelude::*;

use super::DeviceMemory;
use super::range::{Allocation, covers};
use crate::errors::{ArrayError, exception};
use crate::order::Order;

/// The workspaces of this process, one for each GPU that was used.
///
/// They keep their memory and their kernels. After a fork CUDA is unusable in the child, and its
/// driver says so; the number of the process tells which child has to ask it anew.
static WORKSPACES: Mutex<Option<Workspaces>> = Mutex::new(None);

struct Workspaces {
    process: u32,
    of_device: HashMap<usize, CudaWorkspace>,
}

pub(super) fn name(device: usize) -> Result<String, Error> {
    let cuda = Cuda::on_device(device)?;
    // The device was found, so a missing name is no reason to say that it was not.
    Ok(cuda.stream().context().name().unwrap_or_else(|_| "a GPU without a name".into()))
}

/// Calls a function with the workspace of a GPU, between two events of the caller's stream.
///
/// # Safety
///
/// `stream` is a stream of the GPU's primary context, or one of the numbers of CUDA that stand for
/// a stream: 0, 1 or 2.
unsafe fn in_stream(
    device: usize,
    stream: u64,
    work: impl FnOnce(&mut CudaWorkspace) -> PyResult<()>,
) -> PyResult<()> {
    let mut workspaces = WORKSPACES.lock().unwrap_or_else(PoisonError::into_inner);
    let process = process::id();
    if workspaces.as_ref().is_some_and(|workspaces| workspaces.process != process) {
        // What the parent had cannot be freed here.
        std::mem::forget(workspaces.take());
    }
    let workspaces =
        workspaces.get_or_insert_with(|| Workspaces { process, of_device: HashMap::new() });
    let workspace = match workspaces.of_device.entry(device) {
        Entry::Occupied(entry) => entry.into_mut(),
        Entry::Vacant(entry) => {
            let cuda = Cuda::on_device(device).map_err(exception)?;
            entry.insert(CudaWorkspace::new(&cuda))
        }
    };
    let ours = workspace.stream().clone();
    let theirs = stream as usize as sys::CUstream;
    let called = ours.context().new_event(None).map_err(failed)?;
    ours.context().bind_to_thread().map_err(failed)?;
    // SAFETY: the event was just made, in the context that is current, and the caller promises the
    // stream.
    unsafe { result::event::record(called.cu_event(), theirs) }.map_err(failed)?;
    ours.wait(&called).map_err(failed)?;
    let done = work(workspace);
    // After an error too: some kernels may have been launched.
    let finished: CudaEvent = ours.record_event(None).map_err(failed)?;
    let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
    // SAFETY: as above; the event has been recorded.
    unsafe { result::stream::wait_event(theirs, finished.cu_event(), flags) }.map_err(failed)?;
    done
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

/// Calls code with the bijection behind an order, and whether it is meant inverted.
fn bijection(order: &Order) -> (&dyn Bijection, bool) {
    let bijection: &dyn Bijection = match order {
        Order::Compacted(p) => p.bijection(),
        Order::Walk(p) => p.bijection(),
        Order::Blocks(p) => p.bijection(),
    };
    (bijection, order.is_inverted())
}

pub(super) fn reorder(
    order: &Order,
    from: DeviceMemory,
    to: Option<DeviceMemory>,
    device: usize,
    stream: u64,
    undo: bool,
) -> PyResult<()> {
    let (bijection, is_inverted) = bijection(order);
    let work = |workspace: &mut CudaWorkspace| {
        check_range(from, device)?;
        if let Some(to) = to {
            check_range(to, device)?;
        }
        let ours = workspace.stream().clone();
        // In place, the rows are moved to other memory and copied back. It is freed when the stream
        // has come to that.
        let room = match to {
            Some(_) => None,
            // SAFETY: all of it is written before any of it is read.
            None => Some(unsafe { ours.alloc::<u8>(from.bytes()) }.map_err(failed)?),
        };
        let target = match (&room, to) {
            (Some(room), _) => {
                // The guard orders other streams' uses, and there are none.
                room.device_ptr(&ours).0
            }
            (None, to) => to.map_or(0, |to| to.address),
        };
        let (from, rows, width) = (from.address, from.rows, from.width);
        let moved = if undo == is_inverted {
            // SAFETY: both are addresses of that many rows on this GPU, as the interfaces of the
            // arrays say and the driver confirms, and they do not overlap. The
            // events around this call order it with the caller's uses of them.
            unsafe { workspace.shuffle_raw(bijection, from, target, rows, width) }
        } else {
            // SAFETY: as for the other direction.
            unsafe { workspace.unshuffle_raw(bijection, from, target, rows, width) }
        };
        moved.map_err(exception)?;
        if room.is_some() {
            // SAFETY: both have that many bytes, as above; the stream has filled the room by then.
            let copied =
                unsafe { result::memcpy_dtod_async(from, target, rows * width, ours.cu_stream()) };
            copied.map_err(failed)?;
        }
        Ok(())
    };
    // SAFETY: the number is what the array's own library calls its stream.
    unsafe { in_stream(device, stream, work) }
}

pub(super) fn indexes(
    order: &Order,
    out: DeviceMemory,
    bits: usize,
    device: usize,
    stream: u64,
) -> PyResult<()> {
    let (bijection, is_inverted) = bijection(order);
    if is_inverted {
        let text = "indexes on a GPU are those of a permutation, not of an inverse";
        return Err(pyo3::exceptions::PyValueError::new_err(text));
    }
    let work = |workspace: &mut CudaWorkspace| {
        check_range(out, device)?;
        let written = if bits == 32 {
            // SAFETY: there are that many words of 32 bits, as the array's interface says; and see
            // `reorder`.
            unsafe { write::<u32>(workspace, bijection, out) }
        } else {
            // SAFETY: as above, of 64 bits.
            unsafe { write::<u64>(workspace, bijection, out) }
        };
        written.map_err(exception)
    };
    // SAFETY: the number is what the array's own library calls its stream.
    unsafe { in_stream(device, stream, work) }
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
    // SAFETY: as the caller promises; any bits are a word.
    let words = unsafe { workspace.stream().upgrade_device_ptr::<N>(out.address, out.rows) };
    // The memory is the caller's, so it is not freed here, not by a panic either.
    let mut words = ManuallyDrop::new(words);
    let written = workspace.indices(bijection, &mut *words);
    ManuallyDrop::into_inner(words).leak();
    written
}

/// The exception for an error of the driver.
fn failed(error: DriverError) -> PyErr {
    if error.0 == sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY {
        return PyMemoryError::new_err("the GPU has not enough free memory");
    }
    PyRuntimeError::new_err(format!("the CUDA driver failed: {error}"))
}
