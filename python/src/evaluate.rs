//! Indexes written into arrays: on all threads where there are many, which look for Ctrl-C between
//! chunks.

use bijective_shuffle::Error;
use bijective_shuffle::rayon::prelude::*;
use bijective_shuffle_bindings::{AnyOrder, Lookup, PlaceRun};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::counter::Counter;
use crate::dtype::IndexType;
use crate::errors::exception;
use crate::numbers::{CHUNK, FEW, IndexInteger};
use crate::threads::{Stop, detached, interruptible};

/// The indexes at some places as an array of integers, of a type that they fit; by a counter where
/// there is one, which has come to no later place.
pub(crate) fn array<'py>(
    py: Python<'py>,
    order: &AnyOrder,
    counter: Option<&mut Counter>,
    run: PlaceRun,
    dtype: IndexType,
) -> PyResult<Bound<'py, PyAny>> {
    match dtype {
        IndexType::Int32 => written::<i32>(py, order, counter, run),
        IndexType::UInt32 => written::<u32>(py, order, counter, run),
        IndexType::Int64 => written::<i64>(py, order, counter, run),
        IndexType::UInt64 => written::<u64>(py, order, counter, run),
    }
}

fn written<'py, N: IndexInteger>(
    py: Python<'py>,
    order: &AnyOrder,
    counter: Option<&mut Counter>,
    run: PlaceRun,
) -> PyResult<Bound<'py, PyAny>> {
    let array = zeros::<N>(py, run.count)?;
    // SAFETY: the array is new, so nobody else reads or writes it.
    let out = unsafe { array.as_slice_mut() }?;
    match counter {
        Some(counter) => counter.write(py, run, out)?,
        None => write(py, order, run, out)?,
    }
    Ok(array.into_any())
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

/// An array of zeros.
pub(crate) fn zeros<N: IndexInteger>(
    py: Python<'_>,
    count: u64,
) -> PyResult<Bound<'_, PyArray1<N>>> {
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
pub(crate) fn copied<'py, N: IndexInteger>(
    py: Python<'py>,
    numbers: &[N],
) -> PyResult<Bound<'py, PyArray1<N>>> {
    let array = zeros(py, numbers.len() as u64)?;
    // SAFETY: the array is new, so nobody else reads or writes it.
    unsafe { array.as_slice_mut() }?.copy_from_slice(numbers);
    Ok(array)
}

/// Writes the indexes at some places, as many as there is room for.
fn write<N: IndexInteger>(
    py: Python<'_>,
    order: &AnyOrder,
    run: PlaceRun,
    out: &mut [N],
) -> PyResult<()> {
    let is_all = run == PlaceRun::first(order.len());
    if out.len() <= FEW && (order.is_random_access() || order.is_counted(run)) {
        return write_some(order, run, out).map_err(exception);
    }
    if out.len() > FEW && is_all && !order.is_full() {
        // By the engine, as a whole.
        return detached(py, || order.write_all(N::words(out)))?.map_err(exception);
    }
    interruptible(py, |stop| write_many(order, run, out, stop))?.map_err(exception)
}

/// The same on the threads of the pool.
fn write_many<N: IndexInteger>(
    order: &AnyOrder,
    run: PlaceRun,
    out: &mut [N],
    stop: &Stop,
) -> Result<(), Error> {
    if let Some(mut counter) = Counter::new(order, run) {
        // One after the other, since only counting finds their slots.
        counter.fill(run, out, stop);
        return Ok(());
    }
    if out.len() > FEW || !order.is_run_at_hand(run) {
        order.prepare(|| !stop.is_set())?;
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

/// Writes indexes on the calling thread.
fn write_some<N: IndexInteger>(
    order: &AnyOrder,
    run: PlaceRun,
    out: &mut [N],
) -> Result<(), Error> {
    if let Some(mut counter) = Counter::new(order, run) {
        counter.fill(run, out, &Stop::never());
        return Ok(());
    }
    order.write(run, N::words(out))
}

/// Replaces each of some numbers, once `check` has made one below the length of it, by what is
/// looked up for it.
pub(crate) fn replace_each(
    py: Python<'_>,
    order: &AnyOrder,
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
        order.prepare(|| !stop.is_set()).map_err(exception)?;
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

/// Writes indexes on the calling thread, for an iterator that keeps them in a buffer. An index that
/// this needs is built on all threads.
pub(crate) fn fill(
    py: Python<'_>,
    order: &AnyOrder,
    run: PlaceRun,
    out: &mut [u64],
) -> PyResult<()> {
    if order.is_run_at_hand(run) {
        return order.write(run, out).map_err(exception);
    }
    interruptible(py, |stop| {
        order.prepare(|| !stop.is_set())?;
        // Without the index that was asked for it would be built here, as a whole.
        if stop.is_set() { Ok(()) } else { order.write(run, out) }
    })?
    .map_err(exception)
}
