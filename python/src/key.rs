//! [`Key`]: a seed as Python gives it, with its epoch.

use bijective_shuffle::Seed;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::argument;

/// The two numbers that choose a permutation, as they were given.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    number: Number,
    pub(crate) epoch: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Number {
    Short(u64),
    Long([u8; 32]),
}

impl Key {
    /// Reads a seed: an integer from 0 up to 2^64 - 1, or 32 bytes.
    pub(crate) fn new(seed: &Bound<'_, PyAny>, epoch: u64) -> PyResult<Self> {
        let number = if let Ok(bytes) = seed.cast::<PyBytes>() {
            let bytes = bytes.as_bytes();
            let bytes = bytes.try_into().map_err(|_| {
                PyValueError::new_err(format!("a seed has 32 bytes, not {}", bytes.len()))
            })?;
            Number::Long(bytes)
        } else {
            Number::Short(argument::read(seed, "a seed is", " or 32 bytes")?)
        };
        Ok(Self { number, epoch })
    }

    /// The library's seed.
    pub(crate) fn seed(self) -> Seed {
        match self.number {
            Number::Short(number) => Seed::new(number),
            Number::Long(bytes) => Seed::from_bytes(bytes),
        }
        .with_epoch(self.epoch)
    }

    /// The seed without its epoch, as it was given.
    pub(crate) fn to_python<'py>(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(match self.number {
            Number::Short(number) => number.into_pyobject(py)?.into_any(),
            Number::Long(bytes) => PyBytes::new(py, &bytes).into_any(),
        })
    }

    /// The seed and the epoch as they stand in a `repr`.
    pub(crate) fn text(self, py: Python<'_>) -> PyResult<String> {
        let seed = self.to_python(py)?.repr()?.to_string();
        Ok(match self.epoch {
            0 => format!("seed={seed}"),
            epoch => format!("seed={seed}, epoch={epoch}"),
        })
    }
}
