//! Batches of rows in memory: what they take, and rows out of them in another order.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, DataType, SchemaRef};
use arrow_select::interleave::interleave;

/// What a row takes besides its columns: its key, and two places while the rows of a bucket are put
/// in order.
pub(super) const ROW_COST: u64 = 8 + 2 * size_of::<(usize, usize)>() as u64;

/// The most rows that are written at a time.
const MOST_ROWS: u64 = 1 << 16;

/// The number of a row's batch, and of the row in it.
pub(super) type RowPlace = (usize, usize);

/// Rows of some columns: batches, and the rows of them that are meant, in their order.
#[derive(Clone, Copy)]
pub(super) struct Picked<'a> {
    pub(super) batches: &'a [RecordBatch],
    pub(super) places: &'a [RowPlace],
}

/// The most bytes that are read or written at a time: far fewer than 2^31, which is where the
/// offsets of texts end.
const MOST_BYTES: u64 = 64 << 20;

/// What a batch takes in memory, with what is held of its rows beside it. Where arrays share a
/// buffer, each takes its part of it.
pub(super) fn cost(batch: &RecordBatch) -> u64 {
    let bytes: usize = batch.columns().iter().map(|column| bytes_of(column)).sum();
    bytes as u64 + batch.num_rows() as u64 * ROW_COST
}

/// What an array takes in memory. A part of an array of lists has a part of the items, which an
/// array does not know of itself.
fn bytes_of(array: &dyn Array) -> usize {
    let of_lists = |start: usize, end: usize, offset: usize, items: &ArrayRef| {
        array.len() * offset + bytes_of(&items.slice(start, end - start))
    };
    match array.data_type() {
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let (start, end) = (list.value_offsets()[0], list.value_offsets()[list.len()]);
            of_lists(start as usize, end as usize, size_of::<i32>(), list.values())
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            let (start, end) = (list.value_offsets()[0], list.value_offsets()[list.len()]);
            of_lists(start as usize, end as usize, size_of::<i64>(), list.values())
        }
        DataType::Struct(_) => array.as_struct().columns().iter().map(|one| bytes_of(one)).sum(),
        _ => match array.to_data().get_slice_memory_size() {
            Ok(bytes) => bytes,
            Err(_) => array.get_array_memory_size(),
        },
    }
}

/// What a batch is to take that is read or written, in this much memory.
pub(super) fn bytes_at_once(memory: u64) -> u64 {
    (memory / 64).clamp(1, MOST_BYTES)
}

/// How many of `rows` rows take about this many bytes, if all of them take `all_bytes`.
pub(super) fn rows_of(bytes: u64, all_bytes: u64, rows: u64) -> usize {
    let mean = all_bytes / rows.max(1) + ROW_COST;
    (bytes / mean).clamp(1, MOST_ROWS) as usize
}

/// Visits rows, with the columns that each of these has, some at a time, and fewer where there are
/// too many for the offsets of their texts.
pub(super) fn for_rows_at<E>(
    picked: &[Picked<'_>],
    places: Range<usize>,
    schema: &SchemaRef,
    rows: usize,
    fault: fn(ArrowError) -> E,
    visit: &mut impl FnMut(RecordBatch, Range<usize>) -> Result<(), E>,
) -> Result<(), E> {
    for start in places.clone().step_by(rows) {
        let places = start..places.end.min(start.saturating_add(rows));
        match rows_at(picked, places.clone(), schema) {
            Ok(batch) => visit(batch, places)?,
            Err(ArrowError::OffsetOverflowError(_)) if places.len() > 1 => {
                let half = places.len().div_ceil(2);
                for_rows_at(picked, places, schema, half, fault, visit)?;
            }
            Err(error) => return Err(fault(error)),
        }
    }
    Ok(())
}

/// The rows at these places, with the columns that each of these has.
fn rows_at(
    picked: &[Picked<'_>],
    places: Range<usize>,
    schema: &SchemaRef,
) -> Result<RecordBatch, ArrowError> {
    let columns = picked.iter().flat_map(|Picked { batches, places: all }| {
        let width = batches.first().map_or(0, RecordBatch::num_columns);
        let places = &all[places.clone()];
        (0..width).map(move |column| {
            let arrays: Vec<&dyn Array> =
                batches.iter().map(|batch| batch.column(column).as_ref()).collect();
            interleave(&arrays, places).map(compacted)
        })
    });
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    // There may be no column.
    let options = RecordBatchOptions::new().with_row_count(Some(places.len()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
}

/// An array without the texts that it does not show. Those of views are shared with the arrays
/// that they come from, which would all be stored with each part of them.
fn compacted(array: ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Utf8View => Arc::new(array.as_string_view().gc()),
        DataType::BinaryView => Arc::new(array.as_binary_view().gc()),
        _ => array,
    }
}
