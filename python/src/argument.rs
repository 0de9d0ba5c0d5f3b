//! Arguments that are integers from 0 up to 2^64 - 1, also those of NumPy. Python itself raises
//! `OverflowError` for a negative one, which does not say what is wrong, nor which argument it is.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// Functions that read the arguments of these names.
macro_rules! named {
    ($($name:ident)*) => {$(
        pub(crate) fn $name(value: &Bound<'_, PyAny>) -> PyResult<u64> {
            read(value, concat!(stringify!($name), " is"), "")
        }
    )*};
}

named! {
    batch block blocks consumed count emitted epoch first length max_tokens n node nodes overlap position
    rank size start taken window world
}

/// Reads two such integers, if they are there.
pub(crate) fn pair(value: &Bound<'_, PyAny>) -> PyResult<Option<(u64, u64)>> {
    if value.is_none() {
        return Ok(None);
    }
    let (first, second): (Bound<'_, PyAny>, Bound<'_, PyAny>) = value.extract()?;
    Ok(Some((block(&first)?, window(&second)?)))
}

/// Reads an integer. The error says what it is, and what else would have been taken.
pub(crate) fn read(value: &Bound<'_, PyAny>, what: &str, alternative: &str) -> PyResult<u64> {
    value.extract::<u64>().map_err(|error| {
        if error.is_instance_of::<PyTypeError>(value.py()) {
            let given = value.get_type();
            let given = given.name().map_or_else(|_| "that".into(), |name| name.to_string());
            PyTypeError::new_err(format!("{what} an integer{alternative}, not {given}"))
        } else {
            PyValueError::new_err(format!(
                "{what} an integer from 0 to 2^64 - 1{alternative}, not {value}"
            ))
        }
    })
}
