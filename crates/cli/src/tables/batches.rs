//! Batches of rows in memory: what they take, and rows out of them in another order.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::interleave::interleave;

/// What a row takes besides its columns: its key twice, and its number in its batch.
pub(super) const ROW_COST: u64 = 32;

/// The most rows that are written at a time.
const MOST_ROWS: u64 = 1 << 16;

/// The number of a row's batch, and of the row in it.
pub(super) type Place = (usize, usize);

/// What a batch takes in memory, with what is held of its rows beside it. Where arrays share a
/// buffer, each takes its part of it.
pub(super) fn cost(batch: &RecordBatch) -> u64 {
    let of_array = |array: &ArrayRef| match array.to_data().get_slice_memory_size() {
        Ok(bytes) => bytes,
        Err(_) => array.get_array_memory_size(),
    };
    let bytes: usize = batch.columns().iter().map(of_array).sum();
    bytes as u64 + batch.num_rows() as u64 * ROW_COST
}

/// How many rows to read or write at a time, if rows take this many bytes in all.
pub(super) fn rows_at_once(memory: u64, bytes: u64, rows: u64) -> usize {
    let mean = bytes / rows.max(1) + ROW_COST;
    (memory / 64 / mean).clamp(1, MOST_ROWS) as usize
}

/// These rows of some batches, of their first columns, as many as the schema has.
pub(super) fn rows_at(
    batches: &[RecordBatch],
    places: &[Place],
    schema: &SchemaRef,
) -> Result<RecordBatch, ArrowError> {
    let columns = (0..schema.fields().len()).map(|column| {
        let arrays: Vec<&dyn Array> =
            batches.iter().map(|batch| batch.column(column).as_ref()).collect();
        interleave(&arrays, places)
    });
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    // There may be no column.
    let options = RecordBatchOptions::new().with_row_count(Some(places.len()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
}
