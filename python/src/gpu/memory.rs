//! [`DeviceMemory`] and [`Described`]: an array in the memory of a GPU, and what is known of it.

use pyo3::prelude::*;

use crate::errors::ArrayError;

/// An array in device memory, in C order.
#[derive(Clone, Copy)]
pub(super) struct DeviceMemory {
    pub(super) address: u64,
    /// The number of rows: items along the first axis.
    pub(super) rows: usize,
    /// The bytes of a row.
    pub(super) width: usize,
    /// The bytes of all rows. Only [`new`](Self::new) sets it.
    bytes: usize,
}

impl DeviceMemory {
    /// An array of rows of `width` bytes, unless that is more than can be addressed.
    pub(super) fn new(address: u64, rows: usize, width: usize) -> PyResult<Self> {
        let bytes = rows.checked_mul(width);
        if let Some(bytes) = bytes.filter(|&bytes| address.checked_add(bytes as u64).is_some()) {
            return Ok(Self { address, rows, width, bytes });
        }
        let text = format!(
            "an array of {rows} rows of {width} bytes from address {address} on cannot be: its \
             end is beyond 2^64"
        );
        Err(ArrayError::new_err(text))
    }

    pub(super) fn bytes(self) -> usize {
        self.bytes
    }
}

/// Why an array in another order is refused.
pub(super) const NOT_IN_ORDER: &str = "an array on a GPU is shuffled in C order: \
    `contiguous=True` of bijective_shuffle.cuda shuffles a copy and copies it back";

/// What the owner of an array says of it.
pub(super) struct Described {
    pub(super) memory: DeviceMemory,
    /// The type of its items, as in `__array_interface__`.
    pub(super) typestr: String,
    pub(super) is_read_only: bool,
    /// The number of its GPU, if it says so.
    pub(super) device: Option<usize>,
}

impl Described {
    /// Checks that the array is on the GPU whose stream was given.
    pub(super) fn check_device(&self, device: usize) -> PyResult<()> {
        match self.device {
            Some(own) if own != device => {
                let text = format!("the array is on GPU {own}, not on GPU {device}");
                Err(ArrayError::new_err(text))
            }
            _ => Ok(()),
        }
    }
}

/// Whether the items of an array follow one another. Strides are in bytes.
pub(super) fn is_c_order(shape: &[usize], strides: &[isize], item: usize) -> bool {
    if shape.contains(&0) {
        return true;
    }
    let mut expected = item;
    shape.len() == strides.len()
        && shape.iter().zip(strides).rev().all(|(&len, &stride)| {
            let fits = len == 1 || stride == expected as isize;
            expected *= len;
            fits
        })
}
