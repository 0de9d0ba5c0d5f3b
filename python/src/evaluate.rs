//! Values written into arrays: on all threads where there are many, which look for Ctrl-C between
//! chunks.

use bijective_shuffle::Error;
use bijective_shuffle::rayon::prelude::*;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::counter::Counter;
use crate::dtype::IndexType;
use crate::errors::exception;
use crate::numbers::{CHUNK, FEW, Number};
use crate::order::{Lookup, Order};
use crate::run::Run;
use crate::threads::{Stop, detached, interruptible};

/// The values at some places as an array of integers, of a type that they fit.
pub(crate) fn array<'py>(
    py: Python<'py>,
    order: &Order,
    run: Run,
    dtype: IndexType,
) -> PyResult<Bound<'py, PyAny>> {
    match dtype {
        IndexType::Int32 => written(py, run.count, |out: &mut [i32]| write(py, order, run, out)),
        IndexType::UInt32 => written(py, run.count, |out: &mut [u32]| write(py, order, run, out)),
        IndexType::Int64 => written(py, run.count, |out: &mut [i64]| write(py, order, run, out)),
        IndexType::UInt64 => written(py, run.count, |out: &mut [u64]| write(py, order, run, out)),
    }
}

/// What `__array__` returns, for a new array.
pub(crate) fn as_array<'py>(
    py: Python<'py>,
    array: Bound<'py, PyAny>,
    dtype: Option<&Bound<'py, PyAny>>,
    copy: Option<bool>,
) -> PyResult<Bound<'py, PyAny>> {
    if copy == Some(false) {
        return Err(PyValueError::new_err(
            "a permutation is not stored, so its array is always a copy",
        ));
    }
    match dtype {
        None => Ok(array),
        Some(dtype) => {
            let keywords = PyDict::new(py);
            keywords.set_item("copy", false)?;
            array.call_method("astype", (dtype,), Some(&keywords))
        }
    }
}

/// The values at the next places that a counter comes to, as [`array`] returns them.
pub(crate) fn counted<'py>(
    py: Python<'py>,
    counter: &mut Counter,
    run: Run,
    dtype: IndexType,
) -> PyResult<Bound<'py, PyAny>> {
    match dtype {
        IndexType::Int32 => written(py, run.count, |out: &mut [i32]| counter.write(py, run, out)),
        IndexType::UInt32 => written(py, run.count, |out: &mut [u32]| counter.write(py, run, out)),
        IndexType::Int64 => written(py, run.count, |out: &mut [i64]| counter.write(py, run, out)),
        IndexType::UInt64 => written(py, run.count, |out: &mut [u64]| counter.write(py, run, out)),
    }
}

/// A new array that a function has written.
fn written<N: Number>(
    py: Python<'_>,
    count: u64,
    write: impl FnOnce(&mut [N]) -> PyResult<()>,
) -> PyResult<Bound<'_, PyAny>> {
    let array = zeros::<N>(py, count)?;
    // SAFETY: the array is new, so nobody else reads or writes it.
    write(unsafe { array.as_slice_mut() }?)?;
    Ok(array.into_any())
}

/// An array of zeros.
pub(crate) fn zeros<N: Number>(py: Python<'_>, count: u64) -> PyResult<Bound<'_, PyArray1<N>>> {
    // NumPy's own allocation, by its Python interface: from Rust it panics where memory is short.
    let too_many = || PyMemoryError::new_err(format!("an array of {count} indexes is too large"));
    let bytes = count.checked_mul(size_of::<N>() as u64).ok_or_else(too_many)?;
    if isize::try_from(bytes).is_err() {
        return Err(too_many());
    }
    let made = py.import("numpy")?.call_method1("zeros", (count, numpy::dtype::<N>(py)))?;
    Ok(made.cast_into::<PyArray1<N>>()?)
}

/// A new array with some numbers.
pub(crate) fn copied<'py, N: Number>(
    py: Python<'py>,
    numbers: &[N],
) -> PyResult<Bound<'py, PyArray1<N>>> {
    let array = zeros(py, numbers.len() as u64)?;
    // SAFETY: the array is new, so nobody else reads or writes it.
    unsafe { array.as_slice_mut() }?.copy_from_slice(numbers);
    Ok(array)
}

/// Writes the values at some places, as many as there is room for.
fn write<N: Number>(py: Python<'_>, order: &Order, run: Run, out: &mut [N]) -> PyResult<()> {
    let is_all = run.step == 1 && run.count == order.len();
    if out.len() <= FEW && (order.is_random_access() || order.is_counted(run)) {
        return write_some(order, run, out).map_err(exception);
    }
    if out.len() > FEW && is_all && !order.fills_domain() {
        // By the engine, as a whole.
        return detached(py, || N::write_all(order, out))?.map_err(exception);
    }
    interruptible(py, |stop| write_many(order, run, out, stop))?.map_err(exception)
}

/// The same on the threads of the pool.
fn write_many<N: Number>(order: &Order, run: Run, out: &mut [N], stop: &Stop) -> Result<(), Error> {
    if let Some(mut counter) = Counter::new(order, run) {
        // One after the other, since only counting finds their slots.
        counter.fill(run, out, stop);
        return Ok(());
    }
    if out.len() > FEW || !order.is_run_at_hand(run) {
        order.prepare(stop)?;
    }
    let write = |(k, chunk): (usize, &mut [N])| {
        if stop.is_set() { Ok(()) } else { write_some(order, run.after((k * CHUNK) as u64), chunk) }
    };
    if order.is_random_access() && out.len() > FEW {
        out.par_chunks_mut(CHUNK).enumerate().try_for_each(write)
    } else {
        out.chunks_mut(CHUNK).enumerate().try_for_each(write)
    }
}

/// Writes values on the calling thread.
fn write_some<N: Number>(order: &Order, run: Run, out: &mut [N]) -> Result<(), Error> {
    if let Some(mut counter) = Counter::new(order, run) {
        counter.fill(run, out, &Stop::never());
        return Ok(());
    }
    if let Some(words) = N::as_words(out) {
        return order.fill(run.start, run.step, words);
    }
    let mut wide = [0; CHUNK];
    for (k, out) in out.chunks_mut(CHUNK).enumerate() {
        let wide = &mut wide[..out.len()];
        order.fill(run.after((k * CHUNK) as u64).start, run.step, wide)?;
        out.iter_mut().zip(&*wide).for_each(|(out, &value)| *out = N::of(value));
    }
    Ok(())
}

/// Replaces each of some numbers, once `check` has made one below the length of it, by what is
/// looked up for it.
pub(crate) fn replace_each(
    py: Python<'_>,
    order: &Order,
    numbers: &mut [u64],
    check: impl Fn(&mut u64) -> PyResult<()> + Sync,
    lookup: Lookup,
) -> PyResult<()> {
    if numbers.len() <= FEW && order.is_random_access() {
        numbers.iter_mut().try_for_each(check)?;
        return order.each(numbers, lookup).map_err(exception);
    }
    interruptible(py, |stop| {
        // All of them first, so that it is always the first wrong one that is refused.
        for chunk in numbers.chunks_mut(CHUNK).take_while(|_| !stop.is_set()) {
            chunk.iter_mut().try_for_each(&check)?;
        }
        order.prepare(stop).map_err(exception)?;
        let each = |chunk: &mut [u64]| {
            if stop.is_set() { Ok(()) } else { order.each(chunk, lookup) }
        };
        let done = if order.is_random_access() && numbers.len() > FEW {
            numbers.par_chunks_mut(CHUNK).try_for_each(each)
        } else {
            numbers.chunks_mut(CHUNK).try_for_each(each)
        };
        done.map_err(exception)
    })?
}

/// Writes values on the calling thread, for an iterator that keeps them in a buffer. If an index is
/// built for that, it is built on all threads.
pub(crate) fn fill(py: Python<'_>, order: &Order, run: Run, out: &mut [u64]) -> PyResult<()> {
    if order.is_run_at_hand(run) {
        return order.fill(run.start, run.step, out).map_err(exception);
    }
    interruptible(py, |stop| {
        order.prepare(stop)?;
        // Without the index that was asked for it would be built here, as a whole.
        if stop.is_set() { Ok(()) } else { order.fill(run.start, run.step, out) }
    })?
    .map_err(exception)
}
