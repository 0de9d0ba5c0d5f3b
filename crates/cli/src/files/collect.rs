//! [`collect`]: pass 1, items to their buckets.

use std::io::Read;
use std::sync::mpsc::{channel, sync_channel};
use std::thread::{self, ScopedJoinHandle};

use super::buckets::{Bucket, Distributor};
use super::budget::{Budget, Split};
use super::chunks::{End, Stopped, read_chunks};
use super::error::FilesError;
use super::items::{Count, Items};
use super::keys::Keys;
use super::store::Store;
use super::watch::Watch;

/// How many full blocks may wait to be written.
const WAITING: usize = 4;

/// What the items are, and what may be used for them.
#[derive(Clone, Copy)]
pub(super) struct Job {
    pub(super) items: Items,
    pub(super) budget: Budget,
}

/// The writer has gone: only it knows why.
struct Gone;

/// Reads a source and appends its items to a store, bucket by bucket. One thread reads, one
/// writes, and the calling one distributes.
pub(super) fn collect(
    job: Job,
    count: &Count,
    mut keys: Keys,
    split: Split,
    source: impl Read + Send,
    store: &mut impl Store,
    watch: &dyn Watch,
) -> Result<Vec<Bucket>, FilesError> {
    let end = store.bytes();
    let mut items = 0;
    let (buckets, read, written) = thread::scope(|scope| {
        let (full, chunks) = sync_channel(1);
        let (used, empty) = channel();
        let reader = scope.spawn(move || read_chunks(source, job.items, job.budget, &full, &empty));
        let (blocks, waiting) = sync_channel::<Vec<u8>>(WAITING);
        let (written, spare) = channel();
        let writer = scope.spawn(move || {
            for block in waiting {
                store.append(&block)?;
                // If it is not wanted any more, it is freed.
                let _ = written.send(block);
            }
            Ok(())
        });
        let flush = |block: Vec<u8>| -> Result<Vec<u8>, Gone> {
            let is_long = block.len() > split.block;
            blocks.send(block).map_err(|_| Gone)?;
            // There is memory for one long item only, so it has to be written before the next.
            if is_long {
                while spare.recv().map_err(|_| Gone)?.len() <= split.block {}
                return Ok(Vec::new());
            }
            Ok(spare.try_recv().unwrap_or_default())
        };
        let mut distributor = Distributor::new(keys.wanted(), split, end, flush);
        let distribute = || {
            for chunk in chunks {
                let mut rest = chunk.as_slice();
                while let Some(length) = job.items.first(rest) {
                    // There is no key if the source has more items than before.
                    let Some(key) = keys.next() else { return Ok(()) };
                    let (item, others) = rest.split_at(length);
                    distributor.push(key, item)?;
                    items += 1;
                    rest = others;
                }
                watch.advance(chunk.len() as u64);
                let _ = used.send(chunk);
            }
            Ok(())
        };
        let distributed = distribute();
        let buckets = distributed.and_then(|()| distributor.finish());
        drop(blocks);
        (buckets, joined(reader), joined(writer))
    });
    let End { is_terminated, bytes } = read.map_err(|stopped| job.error(stopped, items))?;
    written.map_err(FilesError::Temporary)?;
    match buckets {
        Ok(buckets) if Count { items, bytes, is_terminated } == *count => Ok(buckets),
        _ => Err(FilesError::Changed),
    }
}

impl Job {
    /// The error for a reader that stopped, behind this number of items.
    pub(super) fn error(self, stopped: Stopped, item: u64) -> FilesError {
        match (stopped, self.items) {
            (Stopped::Read(error), _) => FilesError::Read(error),
            (Stopped::PartOfRecord(rest), Items::Records { bytes }) => {
                FilesError::PartOfRecord { record: bytes.get(), rest }
            }
            // A line is never a part.
            (Stopped::TooLong | Stopped::PartOfRecord(_), _) => {
                FilesError::ItemTooLong { item, most: self.budget.longest_item() }
            }
        }
    }
}

/// What a thread returns, or its panic.
pub(crate) fn joined<T>(thread: ScopedJoinHandle<T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
