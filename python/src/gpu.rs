//! Arrays in the memory of an NVIDIA GPU, as other libraries own it: those that have
//! `__cuda_array_interface__`, which are the arrays of CuPy, PyTorch, JAX and Numba, and those that
//! have `__dlpack__`.
//!
//! The work is done in the caller's stream: the host waits for nothing, and the caller may free or
//! use the arrays as after any call of its own library.

use bijective_shuffle::Permutations;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::argument::List;
use crate::errors::ArrayError;
use crate::permutation::Permutation;
use crate::seed;

#[cfg(all(
    feature = "cuda",
    target_pointer_width = "64",
    any(target_os = "linux", target_os = "windows")
))]
#[path = "gpu/device.rs"]
mod device;
#[cfg(not(all(
    feature = "cuda",
    target_pointer_width = "64",
    any(target_os = "linux", target_os = "windows")
)))]
#[path = "gpu/none.rs"]
mod device;
#[cfg(all(
    feature = "cuda",
    target_pointer_width = "64",
    any(target_os = "linux", target_os = "windows")
))]
#[path = "gpu/graph.rs"]
mod graph;

#[path = "gpu/dlpack.rs"]
mod dlpack;
#[path = "gpu/memory.rs"]
mod memory;
#[path = "gpu/range.rs"]
mod range;

pub(crate) use range::gpu_covers;

use dlpack::Taken;
use memory::{Described, DeviceMemory, NOT_IN_ORDER, is_c_order};

/// What `bijective_shuffle.cuda` has found out about an array: the dictionary of its interface,
/// which takes some libraries long to make, or its address, its rows, their bytes and the type
/// of its items; or an array that is to be asked. With it comes the tensor of an array by DLPack,
/// which is to be kept until its work has been given to the GPU.
fn described(array: &Bound<'_, PyAny>, stream: u64) -> PyResult<(Described, Option<Taken>)> {
    if let Ok(known) = array.cast::<PyTuple>() {
        let (address, rows, width, typestr) = known.extract()?;
        let memory = DeviceMemory::new(address, rows, width)?;
        return Ok((Described { memory, typestr, is_read_only: false, device: None }, None));
    }
    if let Ok(interface) = array.cast::<PyDict>() {
        return Ok((by_interface(interface)?, None));
    }
    match array.getattr_opt("__cuda_array_interface__")? {
        Some(interface) => Ok((by_interface(&interface.cast_into::<PyDict>()?)?, None)),
        None => dlpack::describe(array, stream).map(|(array, taken)| (array, Some(taken))),
    }
}

fn by_interface(interface: &Bound<'_, PyDict>) -> PyResult<Described> {
    let part = |name: &str| {
        let missing = || ArrayError::new_err(format!("the array's interface has no {name}"));
        interface.get_item(name)?.ok_or_else(missing)
    };
    let List(shape): List<usize> = part("shape")?.extract()?;
    let (address, is_read_only): (u64, bool) = part("data")?.extract()?;
    let typestr: String = part("typestr")?.extract()?;
    let item = item_bytes(&typestr)?;
    let Some((&rows, axes)) = shape.split_first() else {
        return Err(ArrayError::new_err("an array without an axis has no rows to shuffle"));
    };
    let too_large = || ArrayError::new_err("the array's interface has an impossible shape");
    let width = axes.iter().try_fold(item, |width, &len| width.checked_mul(len));
    let memory = DeviceMemory::new(address, rows, width.ok_or_else(too_large)?)?;
    if let Some(strides) = interface.get_item("strides")?.filter(|strides| !strides.is_none()) {
        let List(strides): List<isize> = strides.cast_into::<PyTuple>()?.extract()?;
        if !is_c_order(&shape, &strides, item) {
            return Err(ArrayError::new_err(NOT_IN_ORDER));
        }
    }
    Ok(Described { memory, typestr, is_read_only, device: None })
}

/// [`described`], for an array that is written to.
fn written(array: &Bound<'_, PyAny>, stream: u64) -> PyResult<(Described, Option<Taken>)> {
    let (described, taken) = described(array, stream)?;
    if described.is_read_only {
        return Err(ArrayError::new_err("the array is read-only"));
    }
    Ok((described, taken))
}

/// The size of an item, from a text such as `<f4`.
fn item_bytes(typestr: &str) -> PyResult<usize> {
    let unknown = || ArrayError::new_err(format!("items of an unknown type: {typestr}"));
    let (kind, size) = typestr.get(1..2).zip(typestr.get(2..)).ok_or_else(unknown)?;
    if !"tbiufcmMV".contains(kind) || kind == "t" {
        return Err(unknown());
    }
    size.parse().map_err(|_| unknown())
}

/// The name of a GPU that can be used, or `GpuUnavailableError`, which says what is missing.
///
/// It starts CUDA in this process, after which children that are forked cannot use it.
#[pyfunction]
#[pyo3(signature = (device=0))]
pub(crate) fn gpu(py: Python<'_>, device: usize) -> PyResult<String> {
    py.detach(|| device::name(device))
}

/// Moves the rows of an array on a GPU by a permutation of their length, or back: in place, or to
/// another array of that shape and type. With `back` that is room for a copy, and they are moved in
/// place. It does not wait for the GPU.
///
/// `stream` is the caller's stream as a number.
#[pyfunction]
#[pyo3(signature = (permutation, source, out, device, stream, undo, back=false))]
#[expect(clippy::too_many_arguments, reason = "they are keyword arguments of Python's functions")]
pub(crate) fn gpu_reorder<'py>(
    py: Python<'py>,
    permutation: &Bound<'py, Permutation>,
    source: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    device: usize,
    stream: u64,
    undo: bool,
    back: bool,
) -> PyResult<()> {
    let order = &permutation.get().order;
    let describe = if back || out.is_none() { written } else { described };
    let (from, source_taken) = describe(source, stream)?;
    let (to, out_taken) = out.map(|out| written(out, stream)).transpose()?.unzip();
    for array in to.iter().chain([&from]) {
        array.check_device(device)?;
    }
    if from.memory.rows as u64 != order.len() {
        let (rows, len) = (from.memory.rows, order.len());
        return Err(ArrayError::new_err(format!(
            "an array of {rows} rows was given for {len}: the lengths must be equal"
        )));
    }
    if let Some(to) = &to {
        check_pair(&from, to)?;
    }
    if from.memory.bytes() == 0 {
        return Ok(());
    }
    let (source, out) = (from.memory, to.as_ref().map(|to| to.memory));
    let done = py.detach(|| device::reorder(order, source, out, back, (device, stream), undo));
    // With the GIL, which their owner's code may need. The memory is in use until the caller's
    // stream has come to the end of this work.
    drop((source_taken, out_taken));
    done
}

/// Checks that items can be moved from one array to another.
fn check_pair(from: &Described, to: &Described) -> PyResult<()> {
    let (from, to) = (from.memory, to.memory);
    if to.rows != from.rows || to.width != from.width {
        return Err(ArrayError::new_err("the two arrays have different shapes or types"));
    }
    if to.address.abs_diff(from.address) < from.bytes() as u64 {
        return Err(ArrayError::new_err("the two arrays share memory"));
    }
    Ok(())
}

/// Moves the items of an array with one axis, which are rows of `len` each, within their rows, to
/// another such array. Row `r` is moved by the permutation of epoch `r`, or back. It does not wait
/// for the GPU.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are arguments of a function of Python")]
pub(crate) fn gpu_permuted<'py>(
    py: Python<'py>,
    seed: &Bound<'py, PyAny>,
    len: u64,
    source: &Bound<'py, PyAny>,
    out: &Bound<'py, PyAny>,
    device: usize,
    stream: u64,
    undo: bool,
) -> PyResult<()> {
    let (from, source_taken) = described(source, stream)?;
    let (to, out_taken) = written(out, stream)?;
    from.check_device(device)?;
    to.check_device(device)?;
    check_pair(&from, &to)?;
    let count = (from.memory.rows as u64).checked_div(len).unwrap_or(0);
    let permutations = Permutations::new(count, len, seed::read(seed, 0)?);
    if from.memory.bytes() == 0 {
        return Ok(());
    }
    let both = (from.memory, to.memory);
    let done = py.detach(|| device::permuted(&permutations, both, (device, stream), undo));
    drop((source_taken, out_taken));
    done
}

/// Moves the rows of an array within their segments, to another array of that shape and type, or
/// back. The offsets are int32, uint32, int64 or uint64 on that GPU. It waits for the GPU once, to
/// learn how long the segments are.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are arguments of a function of Python")]
pub(crate) fn gpu_segments<'py>(
    py: Python<'py>,
    offsets: &Bound<'py, PyAny>,
    seed: &Bound<'py, PyAny>,
    source: &Bound<'py, PyAny>,
    out: &Bound<'py, PyAny>,
    device: usize,
    stream: u64,
    undo: bool,
) -> PyResult<()> {
    let seed = seed::read(seed, 0)?;
    let (offsets, offsets_taken) = described(offsets, stream)?;
    let (from, source_taken) = described(source, stream)?;
    let (to, out_taken) = written(out, stream)?;
    for array in [&offsets, &from, &to] {
        array.check_device(device)?;
    }
    check_pair(&from, &to)?;
    let word = match offsets.typestr.as_str() {
        "<i4" | "<u4" => 4,
        "<i8" | "<u8" => 8,
        other => {
            let text = format!("offsets are int32, uint32, int64 or uint64, not {other}");
            return Err(pyo3::exceptions::PyTypeError::new_err(text));
        }
    };
    if offsets.memory.width != word {
        return Err(ArrayError::new_err("offsets are an array with one axis"));
    }
    let memories = (offsets.memory, from.memory, to.memory);
    let done = py.detach(|| device::segments(seed, memories, (device, stream), undo));
    drop((offsets_taken, source_taken, out_taken));
    done
}

/// Writes a permutation to an array of int32, uint32, int64 or uint64 on a GPU. It does not wait
/// for the GPU.
#[pyfunction]
pub(crate) fn gpu_indexes<'py>(
    py: Python<'py>,
    permutation: &Bound<'py, Permutation>,
    out: &Bound<'py, PyAny>,
    device: usize,
    stream: u64,
) -> PyResult<()> {
    let order = &permutation.get().order;
    let (described, taken) = written(out, stream)?;
    described.check_device(device)?;
    let Described { memory, typestr, .. } = described;
    let (bits, max) = match typestr.as_str() {
        "<i4" => (32, i32::MAX as u64),
        "<u4" => (32, u64::from(u32::MAX)),
        "<i8" => (64, i64::MAX as u64),
        "<u8" => (64, u64::MAX),
        _ => {
            let text = format!("indexes are int32, uint32, int64 or uint64, not {typestr}");
            return Err(pyo3::exceptions::PyTypeError::new_err(text));
        }
    };
    if memory.width != bits / 8 || memory.rows as u64 != order.len() {
        let text = format!("{} indexes need an array with one axis of that length", order.len());
        return Err(ArrayError::new_err(text));
    }
    if order.len() > 0 && order.len() - 1 > max {
        let text = format!("indexes below {} do not fit {typestr}", order.len());
        return Err(pyo3::exceptions::PyOverflowError::new_err(text));
    }
    if memory.rows == 0 {
        return Ok(());
    }
    let done = py.detach(|| device::indexes(order, memory, bits, device, stream));
    drop(taken);
    done
}
