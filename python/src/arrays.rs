//! Arrays whose rows are moved: [`reorder`] for one or several under one permutation, and
//! [`permuted`] and [`reorder_segments`] for the rows of a matrix and for segments, each under a
//! permutation of its own.
//!
//! An array is moved as bytes, whatever it holds. References to objects are moved like any bytes,
//! while the GIL is held: no other thread sees an array in which one of them is there twice, and
//! nobody counts references, since afterwards each is there once as before.

use bijective_shuffle::{Permutations, Segments, Workspace};
use bijective_shuffle_bindings::{Direction, RowArray, RowsBy, with_item};
use numpy::{
    BorrowError, Element, IxDyn, PyArray, PyArray1, PyArrayDescrMethods, PyArrayMethods,
    PyReadonlyArray, PyReadonlyArray1, PyReadwriteArray, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyMemoryError, PyTypeError};
use pyo3::prelude::*;

use crate::argument::{self, List};
use crate::dtype::IndexType;
use crate::errors::{ArrayError, exception};
use crate::evaluate::zeros;
use crate::loaders::numbers_of;
use crate::numbers::IndexInteger;
use crate::permutation::Permutation;
use crate::pin::Pin;
use crate::seed;
use crate::threads::{Stop, attached, detached, interruptible};

/// The number of indexes of a batch between two looks for Ctrl-C, which are a tenth of a second
/// apart on a single core.
const PIECE: u64 = 1 << 23;

/// An array that may be written to, as bytes, for as long as this is kept.
struct Bytes<'py> {
    start: *mut u8,
    /// The number of rows: items along the first axis.
    rows: usize,
    /// The bytes of a row.
    width: usize,
    /// The bytes of a single item.
    item: usize,
    /// Whether it holds references to objects.
    has_objects: bool,
    /// Keeps other calls of this package, and other extensions in Rust, from using the array. None
    /// is needed where it has no bytes.
    _borrowed: Option<PyReadwriteArray<'py, u8, IxDyn>>,
    /// Keeps everybody from freeing or moving the memory.
    _pin: Pin,
}

impl<'py> Bytes<'py> {
    /// Borrows an array in C order with at least one axis.
    fn new(array: &Bound<'py, PyUntypedArray>) -> PyResult<Self> {
        // Before the array is looked at: a buffer may be exported by code of Python.
        let pin = Pin::new(array)?;
        if array.ndim() == 0 {
            return Err(PyTypeError::new_err("an array without an axis has no rows to shuffle"));
        }
        if !array.is_c_contiguous() {
            return Err(ArrayError::new_err("the array is not in C order"));
        }
        let dtype = array.dtype();
        let bytes = as_bytes(array);
        let borrowed = match bytes.try_readwrite() {
            Ok(borrowed) => Some(borrowed),
            Err(BorrowError::NotWriteable) => {
                return Err(ArrayError::new_err("the array is read-only"));
            }
            // Nothing is there to share, even if it is given twice.
            Err(_) if array.len() * dtype.itemsize() == 0 => None,
            Err(_) => {
                return Err(ArrayError::new_err("the array is being used by another thread"));
            }
        };
        let (rows, item) = (array.shape()[0], dtype.itemsize());
        let width = array.shape()[1..].iter().product::<usize>() * item;
        let has_objects = dtype.has_object();
        let start = bytes.data();
        Ok(Self { start, rows, width, item, has_objects, _borrowed: borrowed, _pin: pin })
    }

    fn len(&self) -> usize {
        self.rows * self.width
    }

    /// The array's memory, free of any borrow.
    fn memory(&self) -> RowArray {
        RowArray { start: self.start, bytes: self.len(), width: self.width }
    }
}

/// Any array, as one of bytes whose strides are not those of bytes.
fn as_bytes<'a, 'py>(array: &'a Bound<'py, PyUntypedArray>) -> &'a Bound<'py, PyArray<u8, IxDyn>> {
    // SAFETY: the type of the items is not looked at: only the flags, strides and address of the
    // array are, which are those of any array. So no byte is ever read as a wrong `u8`.
    unsafe { array.cast_unchecked() }
}

/// Moves the rows of arrays by a permutation of their length, or back. All of them are moved, or,
/// after an error, none.
#[pyfunction]
pub(crate) fn reorder<'py>(
    py: Python<'py>,
    permutation: &Bound<'py, Permutation>,
    arrays: List<Bound<'py, PyUntypedArray>>,
    undo: bool,
) -> PyResult<()> {
    let (order, List(arrays)) = (&permutation.get().order, arrays);
    let memory = |array: &Bound<'py, PyUntypedArray>| {
        let (bytes, width) = (array.len() * array.dtype().itemsize(), array.dtype().itemsize());
        RowArray { start: as_bytes(array).data(), bytes, width }
    };
    if !RowArray::are_apart(&arrays.iter().map(memory).collect::<Vec<_>>()) {
        return Err(ArrayError::new_err("two of the arrays share memory"));
    }
    let borrowed = arrays.iter().map(Bytes::new).collect::<PyResult<Vec<_>>>()?;
    for bytes in &borrowed {
        if bytes.rows as u64 != order.len() {
            let (rows, len) = (bytes.rows, order.len());
            return Err(ArrayError::new_err(format!(
                "an array of {rows} rows was given for {len}: the lengths must be equal"
            )));
        }
    }
    let memories: Vec<RowArray> =
        borrowed.iter().map(Bytes::memory).filter(|memory| memory.bytes > 0).collect();
    let has_objects = borrowed.iter().any(|bytes| bytes.has_objects);
    let direction = if undo { Direction::Unshuffle } else { Direction::Shuffle };
    // SAFETY: `borrowed` keeps the arrays where they are, and they were found apart. Another thread
    // of Python that uses one nevertheless gets some mixture of bytes from before and after, as
    // with all functions of NumPy that release the GIL.
    let work = move || unsafe { RowsBy::Order(order).reorder(&memories, direction) };
    let moved = if has_objects { attached(work)? } else { detached(py, work)? };
    drop(borrowed);
    moved.map_err(exception)
}

/// Copies the rows of arrays, in the order of a permutation of their length, to other arrays of the
/// same sizes. Rows have the size of an integer, of up to 16 bytes, and hold no objects.
///
/// Nothing but the copy is written: that of a large array takes half the time of copying it as it
/// is and moving the copy.
#[pyfunction]
pub(crate) fn reorder_copies<'py>(
    py: Python<'py>,
    permutation: &Bound<'py, Permutation>,
    sources: List<Bound<'py, PyUntypedArray>>,
    outs: List<Bound<'py, PyUntypedArray>>,
) -> PyResult<()> {
    let order = &permutation.get().order;
    let written = outs.0.iter().map(Bytes::new).collect::<PyResult<Vec<_>>>()?;
    // Where a source and an output share memory, this fails.
    let read = sources.0.iter().map(Source::new).collect::<PyResult<Vec<_>>>()?;
    let mut pairs = Vec::new();
    for (source, out) in read.iter().zip(&written) {
        let (from, to) = (source.memory, out.memory());
        let is_item = with_item!(from, to.width, Item => to.is_aligned::<Item>(), else false);
        if out.rows as u64 != order.len() || (from.bytes, from.width) != (to.bytes, to.width) {
            let (rows, len) = (out.rows, order.len());
            return Err(ArrayError::new_err(format!(
                "a copy of {rows} rows was given for {len}: lengths and sizes must be equal"
            )));
        }
        if to.bytes > 0 && (!is_item || out.has_objects) {
            return Err(PyTypeError::new_err("rows that are copied are aligned plain numbers"));
        }
        pairs.push((from, to));
    }
    if read.len() != written.len() {
        return Err(ArrayError::new_err("there is not one copy for each array"));
    }
    let work = move || {
        let mut workspace = Workspace::new();
        pairs.into_iter().filter(|(_, to)| to.bytes > 0).try_for_each(|(from, to)| {
            with_item!(to, to.width, Item => {
                // SAFETY: `read` keeps the array where it is, nobody else knows that it is read,
                // the alignment was checked, and any bytes are an item.
                let source = unsafe { from.shared_items::<Item>() };
                // SAFETY: `written` keeps the array where it is, and it shares memory with no
                // other; the alignment was checked, and any bytes are an item.
                let out = unsafe { to.items::<Item>() };
                order.reorder_into(&mut workspace, source, out)
            }, else Ok(()))
        })
    };
    let copied = detached(py, work)?;
    drop((read, written));
    copied.map_err(exception)
}

/// An array that is read, for as long as this is kept.
struct Source<'py> {
    memory: RowArray,
    /// Keeps other calls of this package, and other extensions in Rust, from writing to the array.
    _borrowed: PyReadonlyArray<'py, u8, IxDyn>,
    /// Keeps everybody from freeing or moving the memory.
    _pin: Pin,
}

impl<'py> Source<'py> {
    /// Borrows an array in C order with at least one axis.
    fn new(array: &Bound<'py, PyUntypedArray>) -> PyResult<Self> {
        // Before the array is looked at: a buffer may be exported by code of Python.
        let pin = Pin::new(array)?;
        if array.ndim() == 0 || !array.is_c_contiguous() {
            return Err(ArrayError::new_err("an array that is copied is in C order"));
        }
        let bytes = as_bytes(array);
        let borrowed = bytes
            .try_readonly()
            .map_err(|_| ArrayError::new_err("the array is being used by another thread"))?;
        let width = array.shape()[1..].iter().product::<usize>() * array.dtype().itemsize();
        let memory = RowArray { start: bytes.data(), bytes: array.shape()[0] * width, width };
        Ok(Self { memory, _borrowed: borrowed, _pin: pin })
    }
}

/// Shuffles each row of a matrix in C order by a permutation of its own, or back, in place.
/// Returns whether there are items of such a size; if not, nothing was done.
#[pyfunction]
pub(crate) fn permuted<'py>(
    py: Python<'py>,
    matrix: &Bound<'py, PyUntypedArray>,
    seed: &Bound<'py, PyAny>,
    undo: bool,
) -> PyResult<bool> {
    if matrix.ndim() != 2 {
        return Err(PyTypeError::new_err("a matrix has two axes"));
    }
    let borrowed = Bytes::new(matrix)?;
    let (count, len) = (borrowed.rows as u64, matrix.shape()[1] as u64);
    let permutations = Permutations::new(count, len, seed::read(seed, 0)?);
    let (memory, item) = (borrowed.memory(), borrowed.item);
    let work = move || {
        with_item!(memory, item, Item => {
            // SAFETY: `borrowed` keeps the array where it is, and nobody else knows that it
            // changes; the alignment was checked, and any bytes are an item.
            let items = unsafe { memory.items::<Item>() };
            Some(if undo { permutations.unapply_rows(items) } else { permutations.apply_rows(items) })
        }, else { None })
    };
    if memory.bytes == 0 {
        return Ok(true);
    }
    let moved = if borrowed.has_objects { attached(work)? } else { detached(py, work)? };
    drop(borrowed);
    match moved {
        Some(moved) => moved.map_err(exception).map(|()| true),
        None => Ok(false),
    }
}

/// Shuffles each segment of the rows of an array in C order by a permutation of its own, or back,
/// in place. Returns whether there are items of the size of a row; if not, nothing was done.
#[pyfunction]
pub(crate) fn reorder_segments<'py>(
    py: Python<'py>,
    array: &Bound<'py, PyUntypedArray>,
    offsets: PyReadonlyArray1<'py, i64>,
    seed: &Bound<'py, PyAny>,
    undo: bool,
) -> PyResult<bool> {
    let (offsets, seed) = (numbers_of(&offsets)?, seed::read(seed, 0)?);
    let borrowed = Bytes::new(array)?;
    let segments = Segments::new(&offsets, seed).map_err(exception)?;
    if segments.items() != borrowed.rows {
        let (last, rows) = (segments.items(), borrowed.rows);
        return Err(ArrayError::new_err(format!(
            "the last offset is {last}, and the array has {rows} rows: the two must be equal"
        )));
    }
    let memory = borrowed.memory();
    let work = move || {
        with_item!(memory, memory.width, Item => {
            // SAFETY: `borrowed` keeps the array where it is, and nobody else knows that it
            // changes; the alignment was checked, and any bytes are an item.
            let items = unsafe { memory.items::<Item>() };
            Some(if undo { segments.unshuffle(items) } else { segments.shuffle(items) })
        }, else { None })
    };
    if memory.bytes == 0 {
        return Ok(true);
    }
    let moved = if borrowed.has_objects { attached(work)? } else { detached(py, work)? };
    drop(borrowed);
    match moved {
        Some(moved) => moved.map_err(exception).map(|()| true),
        None => Ok(false),
    }
}

/// The permutations of segments, one after another, as indexes that count from a segment's first
/// row.
#[pyfunction]
pub(crate) fn segment_indexes<'py>(
    py: Python<'py>,
    offsets: PyReadonlyArray1<'py, i64>,
    seed: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let (offsets, seed) = (numbers_of(&offsets)?, seed::read(seed, 0)?);
    let segments = Segments::new(&offsets, seed).map_err(exception)?;
    let array = zeros::<i64>(py, segments.items() as u64)?;
    // SAFETY: the array is new, so nobody else reads or writes it.
    let out = i64::words(unsafe { array.as_slice_mut() }?);
    detached(py, move || segments.write_indexes(out))?.map_err(exception)?;
    Ok(array)
}

/// Draws a batch of permutations: an array of `count * n` indexes, a row after the other.
#[pyfunction]
pub(crate) fn write_permutations<'py>(
    py: Python<'py>,
    #[pyo3(from_py_with = argument::count)] count: u64,
    #[pyo3(from_py_with = argument::n)] n: u64,
    seed: &Bound<'py, PyAny>,
    dtype: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let dtype = IndexType::new(Some(dtype), n)?;
    let permutations = Permutations::new(count, n, seed::read(seed, 0)?);
    // NumPy's signed integers are drawn as the words of their size.
    match dtype {
        IndexType::Int32 | IndexType::UInt32 => drawn::<u32>(py, permutations, dtype),
        IndexType::Int64 | IndexType::UInt64 => drawn::<u64>(py, permutations, dtype),
    }
}

fn drawn<'py, N>(
    py: Python<'py>,
    permutations: Permutations,
    dtype: IndexType,
) -> PyResult<Bound<'py, PyAny>>
where
    N: bijective_shuffle::Word + Element + IndexInteger,
{
    let (count, len) = (permutations.rows(), permutations.row_len());
    let too_many =
        || PyMemoryError::new_err(format!("{count} permutations of {len} items are too many"));
    let array = zeros::<N>(py, count.checked_mul(len).ok_or_else(too_many)?)?;
    // SAFETY: the array is new, so nobody else reads or writes it.
    let out = unsafe { array.as_slice_mut() }?;
    // A row of more items than a piece is a piece.
    let rows = (PIECE / len.max(1)).max(1);
    let write = |stop: &Stop| {
        let pieces = (0..).step_by(rows as usize).zip(out.chunks_mut((rows * len).max(1) as usize));
        pieces
            .take_while(|_| !stop.is_set())
            .try_for_each(|(first, piece)| permutations.write_rows(first, piece))
    };
    interruptible(py, write)?.map_err(exception)?;
    array.call_method1("view", (dtype.name(),))?.call_method1("reshape", ((count, len),))
}
