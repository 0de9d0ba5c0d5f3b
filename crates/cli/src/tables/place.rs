//! [`RowPlacer`]: pass 2, buckets in order.

use std::ops::Range;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use rayon::prelude::*;

use super::batches::{Picked, RowPlace, bytes_at_once, for_rows_at, rows_of};
use super::buckets::{RowBucket, RowDistributor, beside, decode};
use super::error::TableError;
use super::table::part_of;
use crate::files::Store;
use crate::files::buckets::Extent;
use crate::files::place::garbled;

/// What becomes of making batches: an error, or `None` if no one takes them any more.
pub(super) type Produced = Result<(), Option<TableError>>;

/// Reads buckets and puts their rows in order.
pub(super) struct RowPlacer<'s, S> {
    memory: u64,
    schema: SchemaRef,
    /// The columns of each slice.
    slices: Vec<Range<usize>>,
    store: &'s mut S,
    /// How many buckets were split because they were too large.
    pub(super) splits: u64,
}

impl<'s, S: Store> RowPlacer<'s, S> {
    pub(super) fn new(
        memory: u64,
        schema: SchemaRef,
        slices: Vec<Range<usize>>,
        store: &'s mut S,
    ) -> Self {
        Self { memory, schema, slices, store, splits: 0 }
    }

    /// Hands on the rows of buckets, which are in the order of their keys.
    pub(super) fn write(
        &mut self,
        buckets: Vec<RowBucket>,
        take: &mut dyn FnMut(RecordBatch) -> Produced,
    ) -> Produced {
        // The next bucket is the last one here.
        let mut left = buckets;
        left.reverse();
        while let Some(bucket) = left.pop() {
            if bucket.cost > self.memory / 4 && bucket.width() > 1 {
                left.extend(self.split(&bucket)?.into_iter().rev());
            } else {
                self.write_bucket(&bucket, take)?;
            }
        }
        Ok(())
    }

    /// Divides a bucket's keys and appends its rows to the store again, as buckets of their own.
    fn split(&mut self, bucket: &RowBucket) -> Result<Vec<RowBucket>, TableError> {
        self.splits += 1;
        let smaller = (bucket.cost / (self.memory / 8).max(1) + 1).max(2);
        // Batches are read and appended in turns, and all that is collected at a time is in memory.
        let most = self.memory / 4;
        let mut buckets = Vec::new();
        for (columns, extents) in self.slices.iter().zip(&bucket.extents) {
            let schema = part_of(&self.schema, columns.clone());
            let mut distributor =
                RowDistributor::new(bucket.keys.clone(), smaller, &schema, most, &mut *self.store);
            for &extent in extents {
                let (batch, keys) = decode(extent, distributor.store())?;
                distributor.push(batch, keys)?;
            }
            beside(&mut buckets, distributor.finish()?)?;
        }
        Ok(buckets)
    }

    fn write_bucket(
        &self,
        bucket: &RowBucket,
        take: &mut dyn FnMut(RecordBatch) -> Produced,
    ) -> Produced {
        let slices =
            bucket.extents.iter().map(|extents| sorted(extents, &bucket.keys, &*self.store));
        let slices = slices.collect::<Result<Vec<_>, _>>()?;
        let picked = slices.iter().map(|(batches, places)| Picked { batches, places });
        let picked: Vec<Picked<'_>> = picked.collect();
        let all = picked[0].places.len() as u64;
        let rows = rows_of(bytes_at_once(self.memory), bucket.cost, all);
        hand_on(&picked, &self.schema, rows, take)
    }
}

/// The rows of extents, and where they are in the order of their keys, which are in a range. About
/// half of those in the range are no row's, at most.
fn sorted(
    extents: &[Extent],
    keys: &Range<u64>,
    store: &impl Store,
) -> Result<(Vec<RecordBatch>, Vec<RowPlace>), TableError> {
    const NONE: RowPlace = (usize::MAX, 0);
    let decoded = extents.par_iter().map(|&extent| decode(extent, store));
    let decoded: Vec<(RecordBatch, Vec<u64>)> = decoded.collect::<Result<_, _>>()?;
    let width = usize::try_from(keys.end - keys.start).map_err(|_| garbled())?;
    let (mut places, mut batches, mut rows) = (vec![NONE; width], Vec::new(), 0);
    for (batch, own) in decoded {
        for (row, key) in own.into_iter().enumerate() {
            let at = key.checked_sub(keys.start).and_then(|at| usize::try_from(at).ok());
            let place = at.and_then(|at| places.get_mut(at)).ok_or_else(garbled)?;
            *place = (batches.len(), row);
        }
        rows += batch.num_rows();
        batches.push(batch);
    }
    places.retain(|&place| place != NONE);
    if places.len() == rows { Ok((batches, places)) } else { Err(garbled().into()) }
}

/// Hands on rows in an order, some at a time.
pub(super) fn hand_on(
    picked: &[Picked<'_>],
    schema: &SchemaRef,
    rows: usize,
    take: &mut dyn FnMut(RecordBatch) -> Produced,
) -> Produced {
    let fault = |error| Some(TableError::Rows(error));
    // All of them have the same rows.
    let all = 0..picked.first().map_or(0, |one| one.places.len());
    for_rows_at(picked, all, schema, rows, fault, &mut |batch, _| take(batch))
}
