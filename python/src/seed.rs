//! Seeds as Python gives them: an integer from 0 up to 2^64 - 1, or 32 bytes.

use bijective_shuffle::Seed;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::argument;

/// Reads a seed, which is used at an epoch.
pub(crate) fn read(seed: &Bound<'_, PyAny>, epoch: u64) -> PyResult<Seed> {
    let read = if let Ok(bytes) = seed.cast::<PyBytes>() {
        let bytes = bytes.as_bytes();
        let wrong = |_| PyValueError::new_err(format!("a seed has 32 bytes, not {}", bytes.len()));
        Seed::from_bytes(bytes.try_into().map_err(wrong)?)
    } else {
        Seed::new(argument::read(seed, "a seed is", " or 32 bytes")?)
    };
    Ok(read.with_epoch(epoch))
}

/// A seed without its epoch, as it was given.
pub(crate) fn to_python(seed: Seed, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    Ok(match seed.keys() {
        &[number] => number.into_pyobject(py)?.into_any(),
        words => {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            PyBytes::new(py, &bytes).into_any()
        }
    })
}

/// A seed and its epoch as they stand in a `repr`.
pub(crate) fn text(seed: Seed, py: Python<'_>) -> PyResult<String> {
    let text = to_python(seed, py)?.repr()?;
    Ok(match seed.epoch() {
        0 => format!("seed={text}"),
        epoch => format!("seed={text}, epoch={epoch}"),
    })
}
