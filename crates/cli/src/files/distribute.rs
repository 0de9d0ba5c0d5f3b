//! [`distribute`]: pass 1, items to their buckets.

use std::io;
use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, Scope, ScopedJoinHandle};

use super::buckets::{BlockSink, Bucket, Distributor};
use super::budget::{BudgetJob, KeySplit};
use super::chunks::{SourceEnd, Stopped};
use super::error::FilesError;
use super::items::{ItemCount, Items};
use super::keys::ItemKeys;
use super::order::FileOrder;
use super::readers::{Readers, SourceEnds};
use super::room::Spare;
use super::sources::Sources;
use super::store::Store;
use super::watch::Watch;

/// How many full blocks may wait to be written.
const WAITING: usize = 4;

/// How many blocks may be on their way: those that wait, and one that is written.
const MOVING: usize = WAITING + 1;

/// A block for the writer.
enum WriterBlock<'m> {
    Slot(&'m mut [u8], Range<usize>),
    Long(Vec<u8>),
}

/// The way to the writer and back.
struct ToWriter<'m> {
    blocks: SyncSender<WriterBlock<'m>>,
    /// Slots whose blocks were written, and others that were not used yet.
    spare: Receiver<&'m mut [u8]>,
    /// Says that a long item was written.
    long: Receiver<()>,
}

/// The error where the writer has gone. Only it knows why, and what it says is said instead.
fn gone<T>(_: T) -> FilesError {
    FilesError::Changed
}

impl<'m> BlockSink<'m> for ToWriter<'m> {
    fn take(
        &mut self,
        slot: &'m mut [u8],
        block: Range<usize>,
    ) -> Result<&'m mut [u8], FilesError> {
        self.blocks.send(WriterBlock::Slot(slot, block)).map_err(gone)?;
        self.spare.recv().map_err(gone)
    }

    fn take_long(&mut self, item: Vec<u8>) -> Result<(), FilesError> {
        self.blocks.send(WriterBlock::Long(item)).map_err(gone)?;
        self.long.recv().map_err(gone)
    }
}

/// What is read: sources, what each has, and the numbers of its items among those of the order.
pub(crate) struct Numbered<'s> {
    pub(crate) sources: &'s dyn Sources,
    pub(crate) counts: &'s [ItemCount],
    pub(crate) items: Vec<Range<u64>>,
}

impl<'s> Numbered<'s> {
    /// Sources that have all items of an order, one source after the other.
    pub(super) fn whole(sources: &'s dyn Sources, counts: &'s [ItemCount]) -> Self {
        Self { sources, counts, items: numbers(counts) }
    }
}

/// The numbers of the items of sources, one source after the other.
pub(crate) fn numbers(counts: &[ItemCount]) -> Vec<Range<u64>> {
    let mut end = 0;
    let items = counts.iter().map(|count| {
        let start = end;
        end += count.items;
        start..end
    });
    items.collect()
}

/// The keys of items of sources that come in turns.
struct SourceKeys<'o> {
    order: &'o FileOrder,
    /// The items of each source.
    items: Vec<Range<u64>>,
    /// How many of them have come.
    taken: Vec<u64>,
    /// The keys of the sources that have begun to come, and are not complete.
    open: Vec<Option<ItemKeys<'o>>>,
}

impl<'o> SourceKeys<'o> {
    fn new(order: &'o FileOrder, items: Vec<Range<u64>>) -> Self {
        let (taken, open) = (vec![0; items.len()], items.iter().map(|_| None).collect());
        Self { order, items, taken, open }
    }

    /// Visits the items of a source's next chunk, each with its key.
    fn visit(
        &mut self,
        source: usize,
        chunk: &[u8],
        items: Items,
        mut visit: impl FnMut(u64, &[u8]) -> Result<(), FilesError>,
    ) -> Result<(), FilesError> {
        let range = self.items[source].clone();
        let all = range.end - range.start;
        if self.taken[source] == 0 && all > 0 {
            self.open[source] = Some(ItemKeys::of_items(self.order, range)?);
        }
        let keys = self.open[source].as_mut().ok_or(FilesError::Changed)?;
        let mut rest = chunk;
        while let Some(length) = items.first(rest) {
            let (item, others) = rest.split_at(length);
            visit(keys.next().ok_or(FilesError::Changed)?, item)?;
            self.taken[source] += 1;
            rest = others;
        }
        if self.taken[source] > all {
            return Err(FilesError::Changed);
        }
        if self.taken[source] == all {
            // The batch of each takes memory.
            self.open[source] = None;
        }
        Ok(())
    }
}

/// Reads a source and appends its items to a store, bucket by bucket. Some threads read, one
/// writes, and the calling one distributes.
pub(super) fn distribute(
    job: BudgetJob,
    order: &FileOrder,
    split: KeySplit,
    source: Numbered,
    store: &mut impl Store,
    watch: &dyn Watch,
) -> Result<Vec<Bucket>, FilesError> {
    let end = store.bytes();
    let mut memory = split.memory(MOVING)?;
    let mut keys = SourceKeys::new(order, source.items);
    let wanted = ItemKeys::new(order)?.wanted();
    let readers = Readers::new(job, source.sources, source.counts.len());
    let used = Spare::default();
    let (buckets, read, written) = thread::scope(|scope| -> Result<_, FilesError> {
        let (full, chunks) = sync_channel(1);
        let mut reading = Vec::new();
        for _ in 0..readers.threads() {
            let (full, readers, used) = (full.clone(), &readers, &used);
            let read = move || {
                readers.read(|source, chunk| {
                    full.send((source, chunk)).ok()?;
                    Some(used.take())
                })
            };
            reading.push(start(scope, read)?);
        }
        drop(full);
        let (blocks, waiting) = sync_channel(WAITING);
        let (written, spare) = channel();
        let (long_written, long) = channel();
        let mut slots = memory.chunks_exact_mut(split.block);
        for slot in slots.by_ref().take(MOVING) {
            let _ = written.send(slot);
        }
        let writer = start(scope, move || write(waiting, store, written, long_written))?;
        let sink = ToWriter { blocks, spare, long };
        let mut distributor = Distributor::new(wanted, split, slots, end, sink);
        let distribute = || {
            for (source, chunk) in chunks {
                keys.visit(source, &chunk, job.items, |key, item| distributor.push(key, item))?;
                watch.advance(chunk.len() as u64).map_err(FilesError::Read)?;
                used.give(chunk);
            }
            Ok(())
        };
        let distributed: Result<(), FilesError> = distribute();
        // Either way the distributor is gone after this, and the writer stops waiting for it.
        let buckets = distributed.and_then(|()| distributor.finish());
        Ok((buckets, reading.into_iter().flat_map(joined).collect(), joined(writer)))
    })?;
    let items = |source: usize| keys.items[source].start + keys.taken[source];
    let read = job.ends(read, source.counts.len(), items)?;
    written.map_err(FilesError::Temporary)?;
    let buckets = buckets?;
    let found = read.iter().zip(&keys.taken).map(|(end, &items)| end.count(items));
    // A source that was not read has no items, or the threads have stopped.
    if found.eq(source.counts.iter().copied()) { Ok(buckets) } else { Err(FilesError::Changed) }
}

/// Appends blocks to a store, and says when each was written: a slot goes back to be filled again,
/// and a long item is only reported.
fn write<'m>(
    waiting: Receiver<WriterBlock<'m>>,
    store: &mut impl Store,
    written: Sender<&'m mut [u8]>,
    long_written: Sender<()>,
) -> io::Result<()> {
    for block in waiting {
        // The distributor may have stopped. Then no one waits for an answer.
        match block {
            WriterBlock::Slot(slot, block) => {
                store.append(&slot[block])?;
                let _ = written.send(slot);
            }
            WriterBlock::Long(item) => {
                store.append(&item)?;
                drop(item);
                let _ = long_written.send(());
            }
        }
    }
    Ok(())
}

impl BudgetJob {
    /// How the sources ended, in their order. One that was not read has no bytes. `items` is the
    /// number of items that were read up to the end of a source.
    pub(super) fn ends(
        self,
        ends: SourceEnds,
        sources: usize,
        items: impl Fn(usize) -> u64,
    ) -> Result<Vec<SourceEnd>, FilesError> {
        let mut all = vec![SourceEnd { is_terminated: true, bytes: 0 }; sources];
        let mut ends = ends;
        ends.sort_by_key(|&(source, _)| source);
        for (source, end) in ends {
            all[source] = end.map_err(|stopped| self.error(stopped, items(source)))?;
        }
        Ok(all)
    }

    /// The error for a reader that stopped after this number of items.
    pub(super) fn error(self, stopped: Stopped, item: u64) -> FilesError {
        match (stopped, self.items) {
            (Stopped::Read(error), _) => FilesError::Read(error),
            (Stopped::OutOfMemory(error), _) => FilesError::Shuffle(error),
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
pub(crate) fn start<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, FilesError> {
    thread::Builder::new().spawn_scoped(scope, work).map_err(FilesError::Thread)
}

/// What a thread returns, or its panic.
pub(crate) fn joined<T>(thread: ScopedJoinHandle<T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
