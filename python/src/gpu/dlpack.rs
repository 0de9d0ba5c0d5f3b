//! Arrays by DLPack: what a capsule says, and who frees it.
//!
//! The structs are those of `dlpack.h` of <https://github.com/dmlc/dlpack>, before version 1 and
//! from it on. A capsule is consumed by giving it another name, so that nobody else consumes it;
//! from then on its consumer calls the deleter, once.

use std::ffi::{CStr, c_void};
use std::slice;

use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

use super::memory::{Described, DeviceMemory, NOT_IN_ORDER, is_c_order};
use crate::errors::ArrayError;

#[repr(C)]
struct Device {
    kind: i32,
    number: i32,
}

/// A GPU's memory.
const CUDA: i32 = 2;
/// Memory that a GPU and the host share.
const CUDA_MANAGED: i32 = 13;

#[repr(C)]
struct DataType {
    code: u8,
    bits: u8,
    lanes: u16,
}

#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device: Device,
    axes: i32,
    dtype: DataType,
    shape: *const i64,
    /// In items, not bytes. Null for C order.
    strides: *const i64,
    byte_offset: u64,
}

/// A tensor before version 1.
#[repr(C)]
pub(super) struct Managed {
    tensor: Tensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

/// A tensor from version 1 on.
#[repr(C)]
pub(super) struct Versioned {
    major: u32,
    minor: u32,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    flags: u64,
    tensor: Tensor,
}

const READ_ONLY: u64 = 1;

const NAME: &CStr = c"dltensor";
const USED: &CStr = c"used_dltensor";
const NAME_VERSIONED: &CStr = c"dltensor_versioned";
const USED_VERSIONED: &CStr = c"used_dltensor_versioned";

/// A tensor that was taken from its capsule. It is freed when this is dropped, by its owner's code,
/// which may need the GIL.
pub(super) enum Taken {
    Managed(*mut Managed),
    Versioned(*mut Versioned),
}

impl Taken {
    /// Takes the tensor of an array whose work is to be in a stream, a number as `__dlpack__` takes
    /// it.
    fn from_array(array: &Bound<'_, PyAny>, stream: u64) -> PyResult<Self> {
        let keywords = PyDict::new(array.py());
        keywords.set_item("stream", stream)?;
        keywords.set_item("max_version", (1, 0))?;
        let capsule = match array.call_method("__dlpack__", (), Some(&keywords)) {
            Err(error) if error.is_instance_of::<PyTypeError>(array.py()) => {
                // From before version 1.
                keywords.del_item("max_version")?;
                array.call_method("__dlpack__", (), Some(&keywords))?
            }
            capsule => capsule?,
        };
        Self::new(&capsule.cast_into::<PyCapsule>()?)
    }

    /// Takes the tensor of a capsule.
    fn new(capsule: &Bound<'_, PyCapsule>) -> PyResult<Self> {
        if let Some(tensor) = take(capsule, NAME_VERSIONED, USED_VERSIONED)? {
            let taken = Self::Versioned(tensor.cast());
            // SAFETY: a capsule of this name has a tensor of this struct, whose version is at its
            // beginning in all versions.
            let major = unsafe { (*tensor.cast::<Versioned>()).major };
            if major > 1 {
                let text = format!("the array is of version {major} of DLPack, not 1");
                return Err(PyBufferError::new_err(text));
            }
            return Ok(taken);
        }
        match take(capsule, NAME, USED)? {
            Some(tensor) => Ok(Self::Managed(tensor.cast())),
            None => {
                Err(PyBufferError::new_err("the capsule has no tensor, or it was taken before"))
            }
        }
    }

    fn tensor(&self) -> &Tensor {
        match self {
            // SAFETY: the pointer is that of a capsule of this struct's name, and stays valid until
            // its deleter is called, in `drop`.
            Self::Managed(managed) => unsafe { &(**managed).tensor },
            // SAFETY: a capsule of the versioned name has this struct, checked to be of version 0
            // or 1, and it stays valid until its deleter is called, in `drop`.
            Self::Versioned(versioned) => unsafe { &(**versioned).tensor },
        }
    }

    fn is_read_only(&self) -> bool {
        match self {
            Self::Managed(_) => false,
            // SAFETY: the struct stays valid until its deleter is called, in `drop`.
            Self::Versioned(versioned) => unsafe { (**versioned).flags & READ_ONLY != 0 },
        }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        match *self {
            Self::Managed(managed) => {
                // SAFETY: the struct stays valid until its deleter is called, below.
                if let Some(deleter) = unsafe { (*managed).deleter } {
                    // SAFETY: the taker of a tensor calls its deleter once, and this is that call.
                    unsafe { deleter(managed) };
                }
            }
            Self::Versioned(versioned) => {
                // SAFETY: the struct stays valid until its deleter is called, below.
                if let Some(deleter) = unsafe { (*versioned).deleter } {
                    // SAFETY: this tensor's deleter is called here and nowhere else.
                    unsafe { deleter(versioned) };
                }
            }
        }
    }
}

/// The pointer of a capsule that has a name, which is then replaced; `None` if it has another one.
fn take(
    capsule: &Bound<'_, PyCapsule>,
    name: &'static CStr,
    used: &'static CStr,
) -> PyResult<Option<*mut c_void>> {
    // SAFETY: it is a capsule, and the name is a text that lives for ever.
    if unsafe { ffi::PyCapsule_IsValid(capsule.as_ptr(), name.as_ptr()) } == 0 {
        return Ok(None);
    }
    // SAFETY: the capsule has a pointer of this name, which was asked above.
    let pointer = unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), name.as_ptr()) };
    // SAFETY: the capsule is valid, and its new name lives for ever. With that name the capsule
    // does not free the tensor any more.
    if pointer.is_null() || unsafe { ffi::PyCapsule_SetName(capsule.as_ptr(), used.as_ptr()) } != 0
    {
        return Err(PyErr::fetch(capsule.py()));
    }
    Ok(Some(pointer))
}

/// What DLPack says of an array on a GPU, and the tensor, which is to be kept until its work has
/// been given to the GPU.
pub(super) fn describe(array: &Bound<'_, PyAny>, stream: u64) -> PyResult<(Described, Taken)> {
    // Asked first, since an array elsewhere has no streams.
    let (kind, _): (i32, i32) = array.call_method0("__dlpack_device__")?.extract()?;
    check_device(kind)?;
    // 0 stands for no stream here; the default stream is 1.
    let taken = Taken::from_array(array, stream.max(1))?;
    let tensor = taken.tensor();
    check_device(tensor.device.kind)?;
    let (typestr, item) = dtype(&tensor.dtype)?;
    let impossible = || ArrayError::new_err("the array's tensor has an impossible shape");
    let axes = usize::try_from(tensor.axes).map_err(|_| impossible())?;
    if axes == 0 {
        return Err(ArrayError::new_err("an array without an axis has no rows to shuffle"));
    }
    if tensor.shape.is_null() {
        return Err(impossible());
    }
    // SAFETY: a tensor has a length for each axis, and lives as long as `taken`.
    let lengths = unsafe { slice::from_raw_parts(tensor.shape, axes) };
    let mut shape = Vec::with_capacity(axes);
    for &len in lengths {
        shape.push(usize::try_from(len).map_err(|_| impossible())?);
    }
    let width = shape[1..].iter().try_fold(item, |width, &len| width.checked_mul(len));
    let address = (tensor.data as u64).checked_add(tensor.byte_offset).ok_or_else(impossible)?;
    let memory = DeviceMemory::new(address, shape[0], width.ok_or_else(impossible)?)?;
    if !tensor.strides.is_null() {
        // SAFETY: there is one for each axis.
        let strides = unsafe { slice::from_raw_parts(tensor.strides, axes) };
        let strides: Option<Vec<isize>> =
            strides.iter().map(|&n| isize::try_from(n).ok()?.checked_mul(item as isize)).collect();
        if !strides.is_some_and(|strides| is_c_order(&shape, &strides, item)) {
            return Err(ArrayError::new_err(NOT_IN_ORDER));
        }
    }
    let (device, is_read_only) = (usize::try_from(tensor.device.number).ok(), taken.is_read_only());
    Ok((Described { memory, typestr, is_read_only, device }, taken))
}

fn check_device(kind: i32) -> PyResult<()> {
    if kind == CUDA || kind == CUDA_MANAGED {
        return Ok(());
    }
    let text = format!(
        "an array on an NVIDIA GPU is needed, and this one is on a device of kind \
                        {kind} of DLPack"
    );
    Err(ArrayError::new_err(text))
}

/// The type of items as in `__array_interface__`, and their size. Kinds of numbers that NumPy does
/// not have are bytes.
fn dtype(dtype: &DataType) -> PyResult<(String, usize)> {
    let &DataType { code, bits, lanes } = dtype;
    if bits == 0 || bits % 8 != 0 {
        return Err(ArrayError::new_err(format!("items of {bits} bits are not shuffled")));
    }
    if lanes != 1 {
        return Err(ArrayError::new_err(format!("items of {lanes} lanes are not shuffled")));
    }
    let size = usize::from(bits / 8);
    let kind = match code {
        0 => 'i',
        1 => 'u',
        2 => 'f',
        5 => 'c',
        6 => 'b',
        _ => 'V',
    };
    Ok((format!("<{kind}{size}"), size))
}
