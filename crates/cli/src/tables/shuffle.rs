//! [`TableShuffle`]: the two passes over a table.

use std::ops::Range;
use std::sync::mpsc::sync_channel;
use std::thread;

use arrow_array::RecordBatch;
use bijective_shuffle::Seed;

use super::batches::{ROW_COST, bytes_at_once, cost};
use super::blocks::Windows;
use super::buckets::{RowBucket, RowDistributor, beside};
use super::error::{TableError, checked_sum};
use super::place::{Produced, RowPlacer};
use super::table::{About, TableFile, TableWriter, part_of, read, slices};
use crate::files::distribute::{joined, start};
use crate::files::keys::ItemKeys;
use crate::files::{FileOrder, FilesError, ShufflePass, Store, Summary, Watch};

/// About what the head of a column takes in what is stored for a bucket, in bytes.
const HEAD: u64 = 512;

/// How many batches may wait for the thread that takes them, which stops now and then for what
/// takes as long as some of them: to append rows to the store, or to end a row group.
const WAITING: usize = 8;

/// Memory above which a shuffle of rows gains nothing: the rows of a larger bucket come from memory
/// that no cache has, and more of it is touched for the first time. A folder of 1 GiB took 4.7
/// seconds in this much, and 6.5 in eight times as much.
const ENOUGH: u64 = 512 << 20;

/// The least that is appended to a bucket at a time, on average, in as much as that.
const BLOCK: u64 = 256 << 10;

/// A shuffle of a table's rows, with a bound on the memory it takes.
///
/// See the [module](crate::tables) for the passes, and for an example.
#[derive(Clone, Copy, Debug)]
pub struct TableShuffle {
    memory: u64,
}

impl TableShuffle {
    /// A shuffle in at most about this many bytes of memory, with what the tables of this module
    /// hold in reading, and a row group, encoded, in writing. The program's own memory, some tens
    /// of megabytes with the stacks of its threads, comes on top, and so does a file's metadata.
    pub fn new(memory: usize) -> Self {
        Self { memory: memory as u64 }
    }

    /// Writes the rows of a table in another order, or as many of them as the order has. The writer
    /// is not finished. The bytes of the summary are what the rows take in memory.
    ///
    /// # Errors
    ///
    /// Any [`TableError`] but those of blocks. Nothing is written after [`FilesError::Changed`],
    /// which says that the table has another number of rows than its groups.
    pub fn run(
        &self,
        order: &FileOrder,
        table: &dyn TableFile,
        store: &mut (impl Store + ?Sized),
        writer: &mut dyn TableWriter,
        watch: &dyn Watch,
    ) -> Result<Summary, TableError> {
        let about = table.about();
        let (items, order_len) = (checked_sum(about.groups.iter().copied())?, order.len());
        if order_len != items {
            return Err(FilesError::LengthMismatch { items, order: order_len }.into());
        }
        let mut store = store;
        let before = store.bytes();
        let this = Self { memory: self.memory.min(enough(about, items)) };
        // A bucket takes an eighth of the memory.
        let wanted = cost_of(about, items) / (this.memory / 8).max(1) + 1;
        let slices = slices(about, this.columns_of_slice(wanted));
        let collected = this.collect(order, table, &slices, wanted, &mut store, watch)?;
        let (buckets, bytes) =
            (collected.len() as u64, collected.iter().map(|bucket| bucket.cost).sum());
        watch.begin(ShufflePass::Place, Some(bytes));
        let mut placer = RowPlacer::new(this.memory, about.schema.clone(), slices, &mut store);
        feed(writer, watch, |take| placer.write(collected, take))?;
        let (splits, places) = (placer.splits, order.places());
        let temporary_bytes = store.bytes() - before;
        Ok(Summary { items: places.end - places.start, bytes, buckets, splits, temporary_bytes })
    }

    /// The most columns of a slice, so that the heads of what is stored at a time, for so many
    /// buckets, take no more than the rows.
    fn columns_of_slice(&self, buckets: u64) -> usize {
        usize::try_from(self.memory / 4 / HEAD / buckets).unwrap_or(usize::MAX).max(1)
    }

    /// Pass 1: rows to their buckets, one slice of the columns after the other.
    fn collect(
        &self,
        order: &FileOrder,
        table: &dyn TableFile,
        slices: &[Range<usize>],
        wanted: u64,
        store: &mut impl Store,
        watch: &dyn Watch,
    ) -> Result<Vec<RowBucket>, TableError> {
        let About { schema, bytes, held, .. } = table.about();
        let of_rows = order.len().saturating_mul(ROW_COST).saturating_mul(slices.len() as u64);
        watch.begin(ShufflePass::Distribute, Some(bytes.saturating_add(of_rows)));
        // Less is collected where reading takes more than a half.
        let most = self.memory.saturating_sub(*held).clamp(self.memory / 8, self.memory / 2) / 2;
        let mut buckets = Vec::new();
        for columns in slices.iter().cloned() {
            let (keys, schema) = (ItemKeys::new(order)?, part_of(schema, columns.clone()));
            let mut distributor = RowDistributor::new(keys.wanted(), wanted, &schema, most, store);
            self.distribute(table, columns, keys, &mut distributor, watch)?;
            beside(&mut buckets, distributor.finish()?)?;
        }
        Ok(buckets)
    }

    /// A thread reads some columns of a table, and the calling one brings them to their buckets.
    fn distribute(
        &self,
        table: &dyn TableFile,
        columns: Range<usize>,
        keys: ItemKeys<'_>,
        distributor: &mut RowDistributor<'_, impl Store>,
        watch: &dyn Watch,
    ) -> Result<(), TableError> {
        let mut keys = keys;
        let bytes = bytes_at_once(self.memory);
        let groups: Vec<usize> = (0..table.about().groups.len()).collect();
        thread::scope(|scope| -> Result<(), TableError> {
            let (full, batches) = sync_channel(WAITING);
            let reader = start(scope, move || {
                for batch in read(table, groups, columns, bytes) {
                    if full.send(batch?).is_err() {
                        break;
                    }
                }
                Ok(())
            })?;
            let distribute = || {
                for batch in batches {
                    let cost = cost(&batch);
                    let keys: Option<Vec<u64>> =
                        (0..batch.num_rows()).map(|_| keys.next()).collect();
                    // There is no key if there are more rows than there should be.
                    distributor.push(batch, keys.ok_or(FilesError::Changed)?)?;
                    watch.advance(cost).map_err(TableError::read)?;
                }
                Ok(())
            };
            let distributed = distribute();
            let read: Result<(), TableError> = joined(reader);
            distributed.and(read)
        })?;
        // Nor is one left if there are fewer.
        if keys.next().is_some() { Err(FilesError::Changed.into()) } else { Ok(()) }
    }

    /// Writes the rows of a table in the order of a
    /// [`BlockShuffle`](bijective_shuffle::bijection::BlockShuffle) whose blocks are the table's
    /// row groups, with `window` of them in a window, or those at some places of that order. The
    /// writer is not finished.
    ///
    /// Each group that has any such row is read once. The rows of a window are in memory at one
    /// time.
    ///
    /// # Errors
    ///
    /// Any [`TableError`]; [`FilesError::Shuffle`] if there are no such places, or if `window` is
    /// 0.
    pub fn run_blocks(
        &self,
        window: u64,
        seed: impl Into<Seed>,
        places: Range<u64>,
        table: &dyn TableFile,
        writer: &mut dyn TableWriter,
        watch: &dyn Watch,
    ) -> Result<Summary, TableError> {
        let windows = Windows::new(self.memory, table, window, seed.into(), places.clone())?;
        watch.begin(ShufflePass::Place, None);
        let bytes = feed(writer, watch, |take| windows.read(take))?;
        let items = places.end - places.start;
        Ok(Summary { items, bytes, buckets: 0, splits: 0, temporary_bytes: 0 })
    }
}

/// What all rows of a table take in memory.
fn cost_of(about: &About, rows: u64) -> u64 {
    about.bytes.saturating_add(rows.saturating_mul(ROW_COST))
}

/// The most memory that makes a shuffle of a table faster.
///
/// A quarter of the memory is collected and divided among buckets of an eighth of it, so blocks
/// grow with its square.
fn enough(about: &About, rows: u64) -> u64 {
    let for_blocks = cost_of(about, rows).saturating_mul(32).isqrt().saturating_mul(BLOCK.isqrt());
    for_blocks.max(ENOUGH).saturating_add(about.held)
}

/// Another thread writes the batches that the calling one makes, which belongs to the pool of
/// threads that does the work. Returns what they took in memory.
fn feed(
    writer: &mut dyn TableWriter,
    watch: &dyn Watch,
    produce: impl FnOnce(&mut dyn FnMut(RecordBatch) -> Produced) -> Produced,
) -> Result<u64, TableError> {
    thread::scope(|scope| {
        let (full, batches) = sync_channel::<RecordBatch>(WAITING);
        let write = move || {
            let mut bytes = 0;
            for batch in batches {
                let cost = cost(&batch);
                writer.write(&batch)?;
                watch.advance(cost).map_err(TableError::write)?;
                bytes += cost;
            }
            Ok(bytes)
        };
        let writing = start(scope, write)?;
        let produced = produce(&mut |batch| full.send(batch).map_err(|_| None));
        drop(full);
        match (produced, joined(writing)) {
            (_, Err(error)) | (Err(Some(error)), Ok(_)) => Err(error),
            // Nothing stops taking batches but an error.
            (Ok(()) | Err(None), Ok(bytes)) => Ok(bytes),
        }
    })
}
