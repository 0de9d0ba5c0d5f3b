//! [`RowDistributor`]: rows to the buckets of their keys.

use std::mem;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use rayon::prelude::*;

use super::batches::{Picked, RowPlace, cost, for_rows_at};
use super::error::TableError;
use super::table::part_of;
use crate::files::buckets::Extent;
use crate::files::place::garbled;
use crate::files::{FilesError, Store};

/// The most buckets.
const MOST_BUCKETS: u64 = 1 << 12;

/// How many record batches a thread encodes at a time. As many wait to be appended meanwhile.
const BLOCKS_PER_THREAD: usize = 8;

/// Rows whose keys are in a range.
#[derive(Debug)]
pub(super) struct RowBucket {
    pub(super) keys: Range<u64>,
    /// What the rows take in memory.
    pub(super) cost: u64,
    /// Where in the store each slice of their columns is. An extent is a stream of Arrow IPC with
    /// one batch, whose last column has the keys.
    pub(super) extents: Vec<Vec<Extent>>,
}

impl RowBucket {
    pub(super) fn width(&self) -> u64 {
        self.keys.end - self.keys.start
    }
}

/// Adds another slice of the columns of the same rows to buckets.
pub(super) fn beside(
    buckets: &mut Vec<RowBucket>,
    slice: Vec<RowBucket>,
) -> Result<(), TableError> {
    if buckets.is_empty() {
        *buckets = slice;
        return Ok(());
    }
    // The same rows have the same keys, so they are in the same buckets.
    if !buckets.iter().map(|bucket| &bucket.keys).eq(slice.iter().map(|bucket| &bucket.keys)) {
        return Err(FilesError::Changed.into());
    }
    for (bucket, other) in buckets.iter_mut().zip(slice) {
        bucket.cost += other.cost;
        bucket.extents.extend(other.extents);
    }
    Ok(())
}

/// The columns of what is stored: those of the table, and the keys.
pub(super) fn stored_schema(schema: &Schema) -> SchemaRef {
    let key = Arc::new(Field::new("key", DataType::UInt64, false));
    let fields = schema.fields().iter().cloned().chain([key]);
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// Collects rows of one slice of the columns, and appends them to a store, bucket by bucket, when
/// there are enough.
pub(super) struct RowDistributor<'s, S> {
    keys: Range<u64>,
    /// A bucket has the keys that agree in all but this number of low bits.
    shift: u32,
    buckets: Vec<RowBucket>,
    schema: SchemaRef,
    store: &'s mut S,
    /// The rows that were collected, and their keys.
    batches: Vec<(RecordBatch, Vec<u64>)>,
    /// What they take in memory, and may.
    held: u64,
    most: u64,
}

impl<'s, S: Store> RowDistributor<'s, S> {
    /// Rows with keys in a range go to at least a number of buckets, unless there are fewer keys.
    pub(super) fn new(
        keys: Range<u64>,
        wanted: u64,
        schema: &Schema,
        most: u64,
        store: &'s mut S,
    ) -> Self {
        let last = |shift| (keys.end - keys.start).saturating_sub(1) >> shift;
        let wanted = wanted.clamp(1, MOST_BUCKETS);
        let mut shift = 0;
        while last(shift) >= 2 * wanted {
            shift += 1;
        }
        let bucket = |number: u64| {
            let start = keys.start + (number << shift);
            let end = start.saturating_add(1 << shift).min(keys.end);
            RowBucket { keys: start..end, cost: 0, extents: vec![Vec::new()] }
        };
        let buckets = (0..=last(shift)).map(bucket).collect();
        let schema = stored_schema(schema);
        Self { keys, shift, buckets, schema, store, batches: Vec::new(), held: 0, most }
    }

    /// Takes rows and their keys. Rows whose keys are out of the range are left out.
    pub(super) fn push(&mut self, batch: RecordBatch, keys: Vec<u64>) -> Result<(), TableError> {
        self.held += cost(&batch);
        self.batches.push((batch, keys));
        if self.held >= self.most { self.flush() } else { Ok(()) }
    }

    /// The store. All that was flushed can be read.
    pub(super) fn store(&self) -> &S {
        self.store
    }

    /// Appends what was collected to the store.
    fn flush(&mut self) -> Result<(), TableError> {
        self.held = 0;
        let (batches, keys): (Vec<_>, Vec<_>) = mem::take(&mut self.batches).into_iter().unzip();
        let (ends, places) = self.by_bucket(&keys);
        let of_bucket = |bucket: usize| {
            let start = bucket.checked_sub(1).map_or(0, |before| ends[before]);
            &places[start..ends[bucket]]
        };
        let full: Vec<usize> =
            (0..self.buckets.len()).filter(|&bucket| !of_bucket(bucket).is_empty()).collect();
        let schema = Arc::clone(&self.schema);
        let encoded = |round: &[usize]| -> Result<Vec<IpcStreams>, ArrowError> {
            let encode = |&bucket: &usize| encode(&batches, &keys, of_bucket(bucket), &schema);
            round.par_iter().map(encode).collect()
        };
        // While a round is encoded, the one before is appended.
        let (none, mut before) = (&full[..0], (&full[..0], Vec::new()));
        let rounds = full.chunks(BLOCKS_PER_THREAD * rayon::current_num_threads());
        for round in rounds.chain([none]) {
            let mut blocks = Ok(Vec::new());
            rayon::in_place_scope(|scope| {
                scope.spawn(|_| blocks = encoded(round));
                self.append(before.0, mem::take(&mut before.1))
            })?;
            before = (round, blocks.map_err(TableError::Rows)?);
        }
        Ok(())
    }

    /// Appends rows of these buckets to the store.
    fn append(&mut self, buckets: &[usize], blocks: Vec<IpcStreams>) -> Result<(), TableError> {
        for (&bucket, blocks) in buckets.iter().zip(blocks) {
            for (block, cost) in blocks {
                let extent = Extent { offset: self.store.bytes(), bytes: block.len() };
                self.store.append(&block).map_err(FilesError::Temporary)?;
                self.buckets[bucket].cost += cost;
                self.buckets[bucket].extents[0].push(extent);
            }
        }
        Ok(())
    }

    /// The places of the rows of each bucket, one bucket after the other, and where each ends.
    fn by_bucket(&self, keys: &[Vec<u64>]) -> (Vec<usize>, Vec<RowPlace>) {
        let bucket = |key: &u64| {
            let is_wanted = self.keys.contains(key);
            is_wanted.then(|| ((key - self.keys.start) >> self.shift) as usize)
        };
        // Counted one bucket further on, the counts add up to where each begins, and in the end,
        // moved on by what was placed, to where it ends.
        let mut next = vec![0; self.buckets.len() + 1];
        for number in keys.iter().flatten().filter_map(bucket) {
            next[number + 1] += 1;
        }
        for number in 1..next.len() {
            next[number] += next[number - 1];
        }
        let mut places = vec![(0, 0); next[self.buckets.len()]];
        for (batch, keys) in keys.iter().enumerate() {
            for (row, key) in keys.iter().enumerate() {
                if let Some(number) = bucket(key) {
                    places[next[number]] = (batch, row);
                    next[number] += 1;
                }
            }
        }
        (next, places)
    }

    /// Appends the rest, and returns the buckets that have any rows.
    pub(super) fn finish(mut self) -> Result<Vec<RowBucket>, TableError> {
        self.flush()?;
        self.buckets.retain(|bucket| !bucket.extents[0].is_empty());
        Ok(self.buckets)
    }
}

/// Rows with their keys as streams of Arrow IPC, and what each takes in memory. There is one,
/// unless the rows are too many for the offsets of their texts.
type IpcStreams = Vec<(Vec<u8>, u64)>;

fn encode(
    batches: &[RecordBatch],
    keys: &[Vec<u64>],
    places: &[RowPlace],
    stored: &SchemaRef,
) -> Result<IpcStreams, ArrowError> {
    let schema = part_of(stored, 0..stored.fields().len() - 1);
    let mut blocks = Vec::new();
    let (picked, all, fault) = ([Picked { batches, places }], places.len(), |error| error);
    for_rows_at(&picked, 0..all, &schema, all, fault, &mut |rows, range| {
        let keys = places[range].iter().map(|&(batch, row)| keys[batch][row]);
        let mut columns = rows.columns().to_vec();
        columns.push(Arc::new(UInt64Array::from_iter_values(keys)) as ArrayRef);
        let rows = RecordBatch::try_new(Arc::clone(stored), columns)?;
        let cost = cost(&rows);
        let mut block = Vec::with_capacity(cost as usize);
        let mut writer = StreamWriter::try_new(&mut block, stored)?;
        writer.write(&rows)?;
        writer.finish()?;
        drop(writer);
        blocks.push((block, cost));
        Ok(())
    })?;
    Ok(blocks)
}

/// Reads an extent, for the only time: its rows, and their keys.
pub(super) fn decode(
    extent: Extent,
    store: &impl Store,
) -> Result<(RecordBatch, Vec<u64>), TableError> {
    let mut block = vec![0; extent.bytes];
    store.read_at(&mut block, extent.offset).map_err(FilesError::Temporary)?;
    store.release(extent.offset, extent.bytes);
    // The columns stay where they are in it.
    let mut block = Buffer::from_vec(block);
    let batch = StreamDecoder::new().decode(&mut block).map_err(TableError::Rows)?;
    let mut batch = batch.ok_or_else(garbled)?;
    let last = batch.num_columns().checked_sub(1).ok_or_else(garbled)?;
    let keys = batch.remove_column(last);
    let keys = keys.as_any().downcast_ref::<UInt64Array>().ok_or_else(garbled)?.values().to_vec();
    Ok((batch, keys))
}
