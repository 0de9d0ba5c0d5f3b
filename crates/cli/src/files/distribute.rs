//! [`distribute`]: pass 1, items to their buckets.

use std::io::Read;
use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::{self, Scope, ScopedJoinHandle};

use super::buckets::{Bucket, Distributor, Sink};
use super::budget::{Budget, Split};
use super::chunks::{End, Stopped, read_chunks};
use super::error::FilesError;
use super::items::{Count, Items};
use super::keys::Keys;
use super::store::Store;
use super::watch::Watch;

/// How many full blocks may wait to be written.
const WAITING: usize = 4;

/// How many blocks may be on their way: those that wait, and one that is written.
const MOVING: usize = WAITING + 1;

/// What the items are, and what may be used for them.
#[derive(Clone, Copy)]
pub(super) struct Job {
    pub(super) items: Items,
    pub(super) budget: Budget,
}

/// A block for the writer.
enum Block<'m> {
    Slot(&'m mut [u8], Range<usize>),
    Long(Vec<u8>),
}

/// The way to the writer and back.
struct ToWriter<'m> {
    blocks: SyncSender<Block<'m>>,
    /// Slots whose blocks were written, and others that were not used yet.
    spare: Receiver<&'m mut [u8]>,
    /// Says that a long item was written.
    long: Receiver<()>,
}

/// The writer has gone: only it knows why.
struct Gone;

impl<'m> Sink<'m> for ToWriter<'m> {
    type Error = Gone;

    fn take(&mut self, slot: &'m mut [u8], block: Range<usize>) -> Result<&'m mut [u8], Gone> {
        self.blocks.send(Block::Slot(slot, block)).map_err(|_| Gone)?;
        self.spare.recv().map_err(|_| Gone)
    }

    fn take_long(&mut self, item: Vec<u8>) -> Result<(), Gone> {
        self.blocks.send(Block::Long(item)).map_err(|_| Gone)?;
        self.long.recv().map_err(|_| Gone)
    }
}

/// Reads a source and appends its items to a store, bucket by bucket. One thread reads, one
/// writes, and the calling one distributes.
pub(super) fn distribute(
    job: Job,
    count: &Count,
    mut keys: Keys,
    split: Split,
    source: impl Read + Send,
    store: &mut impl Store,
    watch: &dyn Watch,
) -> Result<Vec<Bucket>, FilesError> {
    let end = store.bytes();
    let mut memory = split.memory(MOVING)?;
    let mut items = 0;
    let (buckets, read, written) = thread::scope(|scope| -> Result<_, FilesError> {
        let (full, chunks) = sync_channel(1);
        let (used, empty) = channel();
        let read = move || read_chunks(source, job.items, job.budget, &full, &empty);
        let reader = start(scope, read)?;
        let (blocks, waiting) = sync_channel(WAITING);
        let (written, spare) = channel();
        let (long_written, long) = channel();
        let mut slots = memory.chunks_exact_mut(split.block);
        for slot in slots.by_ref().take(MOVING) {
            let _ = written.send(slot);
        }
        let write = move || {
            for block in waiting {
                // What nobody wants any more may go.
                match block {
                    Block::Slot(slot, block) => {
                        store.append(&slot[block])?;
                        let _ = written.send(slot);
                    }
                    Block::Long(item) => {
                        store.append(&item)?;
                        drop(item);
                        let _ = long_written.send(());
                    }
                }
            }
            Ok(())
        };
        let writer = start(scope, write)?;
        let sink = ToWriter { blocks, spare, long };
        let mut distributor = Distributor::new(keys.wanted(), split, slots, end, sink);
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
        // Either way the distributor is gone after this, and the writer stops waiting for it.
        let buckets = distributed.and_then(|()| distributor.finish());
        Ok((buckets, joined(reader), joined(writer)))
    })?;
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
            (Stopped::OutOfMemory(error), _) => FilesError::Order(error),
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

/// Starts a thread. One that is refused is an error, and what the others wait for is gone then.
pub(super) fn start<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, FilesError> {
    thread::Builder::new().spawn_scoped(scope, work).map_err(FilesError::Thread)
}

/// What a thread returns, or its panic.
pub(crate) fn joined<T>(thread: ScopedJoinHandle<T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
