//! [`FileShuffle`]: the passes, one after the other.

use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::thread;

use super::buckets::Bucket;
use super::budget::{Budget, BudgetJob, KeySplit};
use super::distribute::{Numbered, distribute, joined, start};
use super::error::FilesError;
use super::items::{ItemCount, Items};
use super::keys::ItemKeys;
use super::order::FileOrder;
use super::ordered::OrderedRounds;
use super::place::Placer;
use super::readers::Readers;
use super::sources::{Pieces, Single, Sources, Whole};
use super::store::Store;
use super::summary::Summary;
use super::watch::{ShufflePass, Watch, Watched};

/// A shuffle of a file's items, with a bound on the memory it takes.
///
/// See the [module](crate::files) for the passes, and for an example.
#[derive(Clone, Copy, Debug)]
pub struct FileShuffle {
    job: BudgetJob,
}

impl FileShuffle {
    /// A shuffle of these items in about this many bytes of memory. The program's own memory, some
    /// megabytes with the stacks of its threads, comes on top, and so does what the system caches
    /// of files. The allocator keeps its settings: before a pass begins, glibc's is asked to give
    /// back what it has free (`malloc_trim`). Another allocator may keep more.
    ///
    /// The memory limits what can be shuffled in two ways. An item may have an eighth of it. And
    /// buckets have to be split, so that their items are written to the store once more, beyond
    /// about `memory^2 / 2^18` bytes: 256 MiB are enough for 250 GiB. Where each block is in the
    /// store takes memory too, and is not counted: at that size it is a thousandth of the file, and
    /// less the smaller the file is.
    pub fn new(items: Items, memory: usize) -> Self {
        Self { job: BudgetJob { items, budget: Budget::new(memory) } }
    }

    /// The most bytes that an item may have. A longer one is [`FilesError::ItemTooLong`].
    pub fn longest_item(&self) -> usize {
        self.job.budget.longest_item()
    }

    /// A shuffle whose buckets are the same on any machine.
    pub(crate) fn of_any_machine(items: Items, memory: usize) -> Self {
        Self { job: BudgetJob { items, budget: Budget::of_any_machine(memory) } }
    }

    /// Counts the items from the source's position to its end, and seeks back. Records are counted
    /// by their size, lines by reading all of them.
    ///
    /// # Errors
    ///
    /// [`FilesError::Read`], [`FilesError::PartOfRecord`], [`FilesError::ItemTooLong`] and
    /// [`FilesError::Thread`]; [`FilesError::Shuffle`] if memory could not be allocated.
    pub fn count(
        &self,
        source: &mut (impl Read + Seek + Send),
        watch: &dyn Watch,
    ) -> Result<ItemCount, FilesError> {
        let start = source.stream_position().map_err(FilesError::Read)?;
        let end = source.seek(SeekFrom::End(0)).map_err(FilesError::Read)?;
        source.seek(SeekFrom::Start(start)).map_err(FilesError::Read)?;
        let count = self.count_read(source, end.saturating_sub(start), watch)?;
        source.seek(SeekFrom::Start(start)).map_err(FilesError::Read)?;
        Ok(count)
    }

    /// Counts the items of a source of this many bytes. It is read, unless it has records.
    pub(crate) fn count_read(
        &self,
        source: &mut (impl Read + Send),
        bytes: u64,
        watch: &dyn Watch,
    ) -> Result<ItemCount, FilesError> {
        if let Items::Records { bytes: record } = self.job.items {
            let record = record.get();
            let rest = (bytes % record as u64) as usize;
            if rest > 0 {
                return Err(FilesError::PartOfRecord { record, rest });
            }
            return Ok(ItemCount { items: bytes / record as u64, bytes, is_terminated: true });
        }
        watch.begin(ShufflePass::Count, Some(bytes));
        let mut watched = Watched { reader: source, watch };
        Ok(self.count_sources(&Single::new(&mut watched), 1, &|_, chunk| chunk)?[0])
    }

    /// Counts the items of a number of sources, which are read side by side. `take` gets the number
    /// of a source, counted from 0, and whole items of it, in their order. What it returns is
    /// memory for others, which may be the same, or none.
    ///
    /// # Errors
    ///
    /// Those of [`count`](Self::count).
    pub fn count_sources(
        &self,
        sources: &dyn Sources,
        count: usize,
        take: &(dyn Fn(usize, Vec<u8>) -> Vec<u8> + Sync),
    ) -> Result<Vec<ItemCount>, FilesError> {
        let readers = Readers::new(self.job, sources, count);
        let read = || {
            let mut counts = vec![0; count];
            let ends = readers.read(|source, chunk| {
                counts[source] += self.job.items.count(&chunk);
                Some(take(source, chunk))
            });
            (counts, ends)
        };
        let (mut items, mut ends) = (vec![0; count], Vec::new());
        thread::scope(|scope| -> Result<_, FilesError> {
            let threads = (0..readers.threads()).map(|_| start(scope, read));
            for thread in threads.collect::<Result<Vec<_>, _>>()? {
                let (counts, own_ends) = joined(thread);
                items.iter_mut().zip(counts).for_each(|(all, own): (&mut u64, u64)| *all += own);
                ends.extend(own_ends);
            }
            Ok(())
        })?;
        let ends = self.job.ends(ends, count, |source| items[..=source].iter().sum())?;
        Ok(items.into_iter().zip(ends).map(|(items, end)| end.count(items)).collect())
    }

    /// Writes the items from the source's position to its end in another order, or as many of them
    /// as the order has, and flushes the output.
    ///
    /// Every line that is written has its delimiter; the last one of the source gets one if it has
    /// none. The store may have anything in it, which is left alone; it does not shrink.
    ///
    /// # Errors
    ///
    /// Any [`FilesError`]. [`FilesError::Changed`] if the source does not have what was counted;
    /// nothing is written then. After the other errors the output may have a part of the items.
    pub fn run(
        &self,
        order: &FileOrder,
        count: &ItemCount,
        source: &mut (impl Read + Send),
        store: &mut impl Store,
        output: &mut (impl Write + Send),
        watch: &dyn Watch,
    ) -> Result<Summary, FilesError> {
        let (source, mut whole) = (Single::new(source), Whole(&mut *output));
        let summary = self.run_sources(order, &source, &[*count], store, &mut whole, watch)?;
        output.flush().map_err(FilesError::Write)?;
        Ok(summary)
    }

    /// Writes the items of sources, one source after the other, in another order, or as many of
    /// them as the order has. The sources are read side by side; `counts` is what
    /// [`count_sources`](Self::count_sources) found in them. The output has as many places as the
    /// order.
    ///
    /// # Errors
    ///
    /// Those of [`run`](Self::run).
    pub fn run_sources(
        &self,
        order: &FileOrder,
        sources: &dyn Sources,
        counts: &[ItemCount],
        store: &mut impl Store,
        output: &mut dyn Pieces,
        watch: &dyn Watch,
    ) -> Result<Summary, FilesError> {
        let source = Numbered::whole(sources, counts);
        let found: u64 = source.counts.iter().map(|count| count.items).sum();
        let found_bytes: u64 = source.counts.iter().map(|count| count.bytes).sum();
        if order.len() != found {
            return Err(FilesError::LengthMismatch { items: found, order: order.len() });
        }
        let most = self.job.budget.longest_item();
        if let Items::Records { bytes } = self.job.items
            && bytes.get() > most
            && found > 0
        {
            return Err(FilesError::ItemTooLong { item: 0, most });
        }
        let (_, split) = self.split(order, found_bytes)?;
        let before = store.bytes();
        let buckets = self.distribute(order, split, source, store, watch)?;
        let summary = self.place(buckets, store, output, watch)?;
        Ok(Summary { temporary_bytes: store.bytes() - before, ..summary })
    }

    /// Writes items that are in memory in another order, or as many of them as the order has, and
    /// keeps nothing in a store. `texts` have whole items, one after the other.
    pub(crate) fn gather(
        &self,
        order: &FileOrder,
        texts: &[&[u8]],
        output: &mut dyn Pieces,
        watch: &dyn Watch,
    ) -> Result<Summary, FilesError> {
        let held = super::gather::Held::new(self.job.items, texts)?;
        if order.len() != held.len() {
            return Err(FilesError::LengthMismatch { items: held.len(), order: order.len() });
        }
        // It takes less memory where it can.
        match u32::try_from(order.len()) {
            Ok(_) => held.write::<u32>(order, self.job.budget, output, watch),
            Err(_) => held.write::<u64>(order, self.job.budget, output, watch),
        }
    }

    /// The range of keys that the order has, and how it is divided. All items together have
    /// `bytes`.
    pub(crate) fn split(
        &self,
        order: &FileOrder,
        bytes: u64,
    ) -> Result<(Range<u64>, KeySplit), FilesError> {
        let wanted = ItemKeys::new(order)?.wanted();
        let places = order.places();
        let items = places.end - places.start;
        // The size of what is wanted can only be guessed before it is read.
        let bytes = if order.is_whole() {
            bytes
        } else {
            let mean = bytes as f64 / order.len().max(1) as f64;
            (mean * items as f64) as u64
        };
        let split = self.job.budget.split(wanted.end - wanted.start, items, bytes, 1);
        Ok((wanted, split))
    }

    /// Pass 1: the items of a source, as many of them as the order has, to their buckets.
    pub(crate) fn distribute(
        &self,
        order: &FileOrder,
        split: KeySplit,
        source: Numbered,
        store: &mut impl Store,
        watch: &dyn Watch,
    ) -> Result<Vec<Bucket>, FilesError> {
        let bytes = source.counts.iter().map(|count| count.bytes).sum();
        give_back();
        watch.begin(ShufflePass::Distribute, Some(bytes));
        distribute(self.job, order, self.job.budget.with_room(split), source, store, watch)
    }

    /// Pass 2: buckets, in the order of their keys, to the output.
    pub(crate) fn place(
        &self,
        buckets: Vec<Bucket>,
        store: &mut impl Store,
        output: &mut dyn Pieces,
        watch: &dyn Watch,
    ) -> Result<Summary, FilesError> {
        let summary = self.summary(&buckets);
        give_back();
        watch.begin(ShufflePass::Place, Some(summary.bytes));
        let mut placer = Placer::new(self.job, store, buckets, output.ends());
        // On a thread of the pool: another one would be woken several times a round.
        rayon::scope(|_| placer.write(output, watch))?;
        Ok(Summary { splits: placer.splits(), ..summary })
    }

    /// What is known after pass 1.
    pub(crate) fn summary(&self, buckets: &[Bucket]) -> Summary {
        let sum = |number: fn(&Bucket) -> u64| buckets.iter().map(number).sum::<u64>();
        let items = sum(|bucket| bucket.items);
        let bytes = sum(Bucket::item_bytes) - items * self.job.items.unwritten() as u64;
        let temporary_bytes = sum(|bucket| bucket.bytes);
        Summary { items, bytes, buckets: buckets.len() as u64, splits: 0, temporary_bytes }
    }
}

/// Has the allocator give back to the system what the pass before has freed. That of glibc keeps it
/// for each thread by itself, and other threads would take as much again.
fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it may be called at any time, and touches only memory that the allocator has free.
    unsafe {
        libc::malloc_trim(0);
    }
}
