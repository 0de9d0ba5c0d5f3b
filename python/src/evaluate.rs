//! Values written into arrays: in pieces, between which Ctrl-C is noticed, and on all threads where
//! there are many.

use bijective_shuffle::Error;
use bijective_shuffle::rayon::prelude::*;
use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::exceptions::{PyMemoryError, PyOverflowError, PyTypeError};
use pyo3::prelude::*;

use crate::errors::exception;
use crate::order::{Lookup, Order};
use crate::places::Run;
use crate::threads::{attached, detached};

/// Up to so many values are written by the calling thread, which takes less time than to wake
/// others.
const FEW: usize = 1 << 13;

/// So many values at a time are written by one thread: they fit its first-level cache.
const CHUNK: usize = 1 << 11;

/// Between so many values Ctrl-C is noticed: a tenth of a second on a single core.
const PIECE: usize = 1 << 23;

/// The integers that values are returned in.
pub(crate) trait Number: Element + Copy + Send + Sync {
    /// The largest one.
    const MAX: u64;

    /// All of a permutation's values, by the engine; `None` if it has no such words.
    fn write_all(order: &Order, out: &mut [Self]) -> Result<(), Error>;

    /// The words themselves, if they are words of 64 bits.
    fn as_words(out: &mut [Self]) -> Option<&mut [u64]>;

    /// The number, which is at most [`MAX`](Self::MAX).
    fn of(value: u64) -> Self;
}

macro_rules! numbers {
    ($($number:ty, $word:ty, $as_words:expr;)*) => {$(
        impl Number for $number {
            const MAX: u64 = <$number>::MAX as u64;

            fn write_all(order: &Order, out: &mut [Self]) -> Result<(), Error> {
                let len = out.len();
                // SAFETY: a signed integer has the size and alignment of the unsigned one, and any
                // bits are a value of either.
                let words = unsafe { core::slice::from_raw_parts_mut(out.as_mut_ptr().cast::<$word>(), len) };
                order.write_all(words)
            }

            fn as_words(out: &mut [Self]) -> Option<&mut [u64]> {
                let as_words: fn(&mut [Self]) -> Option<&mut [u64]> = $as_words;
                as_words(out)
            }

            fn of(value: u64) -> Self {
                value as Self
            }
        }
    )*};
}

numbers! {
    i32, u32, |_| None;
    u32, u32, |_| None;
    i64, u64, |out| {
        let len = out.len();
        // SAFETY: both integers have 64 bits and the same alignment, and any bits are a value of
        // either.
        Some(unsafe { core::slice::from_raw_parts_mut(out.as_mut_ptr().cast(), len) })
    };
    u64, u64, |out| Some(out);
}

/// The name of the integers that values below `len` are returned in, unless asked otherwise: those
/// that NumPy takes as indexes, if they are wide enough.
pub(crate) fn default_dtype(len: u64) -> &'static str {
    if len <= 1 << 63 { "int64" } else { "uint64" }
}

/// The values at some places as an array of integers, whose type is given by its name in NumPy.
pub(crate) fn array<'py>(
    py: Python<'py>,
    order: &Order,
    run: Run,
    dtype: &str,
) -> PyResult<Bound<'py, PyAny>> {
    match dtype {
        "int32" => typed::<i32>(py, order, run),
        "uint32" => typed::<u32>(py, order, run),
        "int64" => typed::<i64>(py, order, run),
        "uint64" => typed::<u64>(py, order, run),
        _ => Err(PyTypeError::new_err(format!(
            "indexes are int32, uint32, int64 or uint64, not {dtype}"
        ))),
    }
}

/// The same for one type of integers.
fn typed<'py, N: Number>(py: Python<'py>, order: &Order, run: Run) -> PyResult<Bound<'py, PyAny>> {
    let array = zeros::<N>(py, order.len(), run.count)?;
    // SAFETY: the array is new, so nobody else reads or writes it.
    let out = unsafe { array.as_slice_mut() }?;
    write(py, order, run, out)?;
    Ok(array.into_any())
}

/// An array for values below `len`.
pub(crate) fn zeros<N: Number>(
    py: Python<'_>,
    len: u64,
    count: u64,
) -> PyResult<Bound<'_, PyArray1<N>>> {
    if len > 0 && len - 1 > N::MAX {
        let bits = 8 * size_of::<N>();
        return Err(PyOverflowError::new_err(format!(
            "indexes below {len} do not fit integers of {bits} bits"
        )));
    }
    // NumPy's own allocation, by its Python interface: from Rust it panics where memory is short.
    let too_many = || PyMemoryError::new_err(format!("an array of {count} indexes is too large"));
    let bytes = count.checked_mul(size_of::<N>() as u64).ok_or_else(too_many)?;
    if isize::try_from(bytes).is_err() {
        return Err(too_many());
    }
    let made = py.import("numpy")?.call_method1("zeros", (count, numpy::dtype::<N>(py)))?;
    Ok(made.cast_into::<PyArray1<N>>()?)
}

/// Writes the values at some places, as many as there is room for.
fn write<N: Number>(py: Python<'_>, order: &Order, run: Run, out: &mut [N]) -> PyResult<()> {
    let is_all = run.step == 1 && run.count == order.len();
    if out.len() <= FEW {
        if order.is_random_access() || order.is_counted(run) {
            return write_some(order, run, out).map_err(exception);
        }
        return detached(py, || write_some(order, run, out))?.map_err(exception);
    }
    if is_all && !order.fills_domain() {
        return detached(py, || N::write_all(order, out))?.map_err(exception);
    }
    if let Some(mut indexes) = forwards(order, run) {
        // One after the other, since only counting finds their slots.
        for piece in out.chunks_mut(PIECE) {
            let fill =
                || piece.iter_mut().zip(&mut indexes).for_each(|(out, value)| *out = N::of(value));
            py.detach(fill);
            py.check_signals()?;
        }
        return Ok(());
    }
    detached(py, || order.prepare())?.map_err(exception)?;
    let is_parallel = order.is_random_access();
    for (k, piece) in out.chunks_mut(PIECE).enumerate() {
        let run = run.after((k * PIECE) as u64);
        let chunks = |piece: &mut [N]| {
            let write = |(k, chunk)| write_some(order, run.after((k * CHUNK) as u64), chunk);
            if is_parallel {
                piece.par_chunks_mut(CHUNK).enumerate().try_for_each(write)
            } else {
                piece.chunks_mut(CHUNK).enumerate().try_for_each(write)
            }
        };
        detached(py, || chunks(piece))?.map_err(exception)?;
        py.check_signals()?;
    }
    Ok(())
}

/// An iterator over the places of a run, if they are best counted to from the beginning.
fn forwards(order: &Order, run: Run) -> Option<impl Iterator<Item = u64>> {
    let step = usize::try_from(run.step).ok()?;
    Some(order.forwards(run)?.step_by(step))
}

/// Writes values on the calling thread.
fn write_some<N: Number>(order: &Order, run: Run, out: &mut [N]) -> Result<(), Error> {
    if let Some(indexes) = forwards(order, run) {
        out.iter_mut().zip(indexes).for_each(|(out, value)| *out = N::of(value));
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

/// Replaces each of some numbers below the length by what is looked up for it.
pub(crate) fn replace_each(
    py: Python<'_>,
    order: &Order,
    numbers: &mut [u64],
    lookup: Lookup,
) -> PyResult<()> {
    if numbers.len() <= FEW && order.is_random_access() {
        return order.each(numbers, lookup).map_err(exception);
    }
    detached(py, || order.prepare())?.map_err(exception)?;
    let is_parallel = order.is_random_access();
    for piece in numbers.chunks_mut(PIECE) {
        let each = |chunk: &mut [u64]| order.each(chunk, lookup);
        let replace = || {
            if is_parallel && piece.len() > FEW {
                piece.par_chunks_mut(CHUNK).try_for_each(each)
            } else {
                each(piece)
            }
        };
        detached(py, replace)?.map_err(exception)?;
        py.check_signals()?;
    }
    Ok(())
}

/// Writes values on the calling thread, for an iterator that keeps them in a buffer. If an index is
/// built for that, it is built on all threads.
pub(crate) fn fill(order: &Order, run: Run, out: &mut [u64]) -> PyResult<()> {
    if order.is_random_access() || order.is_counted(run) {
        return order.fill(run.start, run.step, out).map_err(exception);
    }
    attached(|| order.fill(run.start, run.step, out))?.map_err(exception)
}
