//! Arguments that are integers from 0 up to 2^64 - 1, also those of NumPy, and [lists](List).
//! Python itself raises `OverflowError` for a negative integer, which does not say what is wrong,
//! nor which argument it is.

use bijective_shuffle_engine::check::{try_reserve, try_with_capacity};
use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::errors::exception;

/// Functions that read the arguments of these names.
macro_rules! named {
    ($($name:ident)*) => {$(
        pub(crate) fn $name(value: &Bound<'_, PyAny>) -> PyResult<u64> {
            read(value, concat!(stringify!($name), " is"), "")
        }
    )*};
}

named! {
    batch block blocks consumed count emitted epoch first length max_tokens n node nodes overlap place
    rank size start taken window ranks
}

/// The items of a list or another sequence.
///
/// PyO3's own conversion to a `Vec` trusts `__len__`, which may say anything, and where there is no
/// memory for as much, it panics or ends the program.
pub(crate) struct List<T>(pub(crate) Vec<T>);

impl<'py, T: FromPyObjectOwned<'py>> FromPyObject<'_, 'py> for List<T> {
    type Error = PyErr;

    fn extract(list: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let mut items = try_with_capacity(list.len()?).map_err(exception)?;
        for item in list.try_iter()? {
            // There may be more of them than it says.
            try_reserve(&mut items, 1).map_err(exception)?;
            items.push(item?.extract().map_err(Into::into)?);
        }
        Ok(Self(items))
    }
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
