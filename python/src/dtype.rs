//! [`IndexType`]: the integers that indexes are returned in.

use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;

/// A type of integers that indexes are returned in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum IndexType {
    Int32,
    UInt32,
    Int64,
    UInt64,
}

impl IndexType {
    /// The type for indexes below `len`, unless asked otherwise: the one that NumPy takes as
    /// indexes, if it is wide enough.
    pub(crate) fn usual(len: u64) -> Self {
        if len <= 1 << 63 { Self::Int64 } else { Self::UInt64 }
    }

    /// The type for indexes below `len` that was asked for, as anything that NumPy takes as a
    /// `dtype`.
    pub(crate) fn new(dtype: Option<&Bound<'_, PyAny>>, len: u64) -> PyResult<Self> {
        let Some(dtype) = dtype else { return Ok(Self::usual(len)) };
        let dtype = dtype.py().import("numpy")?.call_method1("dtype", (dtype,))?;
        let name: String = dtype.getattr("name")?.extract()?;
        let is_native: bool = dtype.getattr("isnative")?.extract()?;
        let found = Self::ALL.into_iter().find(|known| is_native && known.name() == name);
        let Some(found) = found else {
            return Err(PyTypeError::new_err(format!(
                "indexes are int32, uint32, int64 or uint64, in the byte order of this machine, \
                 not {dtype}"
            )));
        };
        if len > 0 && len - 1 > found.max() {
            let text = format!("indexes below {len} do not fit {name}");
            return Err(PyOverflowError::new_err(text));
        }
        Ok(found)
    }

    const ALL: [Self; 4] = [Self::Int32, Self::UInt32, Self::Int64, Self::UInt64];

    /// Its name in NumPy.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Int32 => "int32",
            Self::UInt32 => "uint32",
            Self::Int64 => "int64",
            Self::UInt64 => "uint64",
        }
    }

    /// The largest integer.
    fn max(self) -> u64 {
        match self {
            Self::Int32 => i32::MAX as u64,
            Self::UInt32 => u32::MAX.into(),
            Self::Int64 => i64::MAX as u64,
            Self::UInt64 => u64::MAX,
        }
    }
}
