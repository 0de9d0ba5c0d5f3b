//! [`Placer`]: pass 2, buckets in order to the output.

use std::cell::RefCell;
use std::io::ErrorKind;
use std::ops::Range;

use super::buckets::{BlockSink, Bucket, Distributor, read_key};
use super::budget::{BudgetJob, bucket_cost};
use super::error::FilesError;
use super::items::Items;
use super::ordered::{Ordered, OrderedRounds};
use super::room::{Spare, try_reserve, try_resize};
use super::store::Store;

/// The most buckets of a round for each thread: enough that threads that are faster, or not
/// writing, can do more. More of them would only take memory.
const BUCKETS_PER_THREAD: usize = 4;

/// An offset that no item has.
const NONE: u32 = u32::MAX;

/// Puts buckets in order and writes them.
pub(super) struct Placer<'a, S> {
    job: BudgetJob,
    store: &'a mut S,
    /// Where the pieces of the output end.
    ends: Vec<u64>,
    /// The buckets that are not in order yet, the next one at the end.
    left: Vec<Bucket>,
    splits: u64,
    /// The number of items in the rounds so far.
    items: u64,
    desks: Spare<BucketDesk>,
    blocks: Spare<Vec<u8>>,
}

/// A bucket, and the place of its first item in the output.
pub(super) struct PlacedBucket {
    place: u64,
    bucket: Bucket,
}

/// Where a bucket is put in order: what was read of it, and where its items are in that.
#[derive(Default)]
struct BucketDesk {
    stored: Vec<u8>,
    offsets: Vec<u32>,
}

impl<'a, S: Store> Placer<'a, S> {
    /// Buckets in the order of their keys, whose items go to an output with pieces that end there.
    pub(super) fn new(
        job: BudgetJob,
        store: &'a mut S,
        buckets: Vec<Bucket>,
        ends: &[u64],
    ) -> Self {
        let (left, ends) = (buckets.into_iter().rev().collect(), ends.to_vec());
        let (desks, blocks) = (Spare::default(), Spare::default());
        Self { job, store, ends, left, splits: 0, items: 0, desks, blocks }
    }

    /// How many buckets were split because they were too large.
    pub(super) fn splits(&self) -> u64 {
        self.splits
    }

    /// Divides a bucket's keys and appends its items to the store again, as buckets of their own.
    fn split(&mut self, bucket: &Bucket) -> Result<Vec<Bucket>, FilesError> {
        self.splits += 1;
        let BudgetJob { items, budget } = self.job;
        let split = budget.split(width(bucket), bucket.items, bucket.item_bytes(), 2);
        let end = self.store.bytes();
        // Blocks are read and appended in turns.
        let store = RefCell::new(&mut *self.store);
        let mut memory = split.memory(0)?;
        let slots = memory.chunks_exact_mut(split.block);
        let keys = bucket.keys.clone();
        let mut smaller = Distributor::new(keys, split, slots, end, ToStore(&store));
        let mut block = Vec::new();
        for extent in &bucket.extents {
            try_resize(&mut block, extent.bytes, 0)?;
            store.borrow().read_at(&mut block, extent.offset).map_err(FilesError::Temporary)?;
            store.borrow().release(extent.offset, extent.bytes);
            for_each_item(&block, bucket.key_bytes, items, |key, item| {
                smaller.push(bucket.keys.start + key, &block[item])
            })?;
        }
        smaller.finish()
    }

    /// Whether this much memory is kept for the next bucket. What an unusually full one took is
    /// not, as it would come on top of a whole round.
    fn may_keep(&self, bytes: usize) -> bool {
        bytes as u64 <= self.job.budget.round() / rayon::current_num_threads() as u64
    }
}

impl<S: Store> OrderedRounds for Placer<'_, S> {
    type Block = PlacedBucket;

    /// Takes as many buckets as fit memory together. One that does not fit by itself is split.
    fn next(&mut self) -> Result<Vec<PlacedBucket>, FilesError> {
        let room = self.job.budget.round();
        let most = BUCKETS_PER_THREAD * rayon::current_num_threads();
        let (mut round, mut sum) = (Vec::new(), 0_u64);
        while let Some(bucket) = self.left.pop() {
            let cost = bucket_cost(bucket.bytes, width(&bucket), bucket.item_bytes());
            let fits = cost <= room && bucket.bytes < u64::from(NONE);
            if !fits && width(&bucket) > 1 {
                let smaller = self.split(&bucket)?;
                self.left.extend(smaller.into_iter().rev());
                continue;
            }
            sum = sum.saturating_add(cost);
            if (sum > room || round.len() == most) && !round.is_empty() {
                self.left.push(bucket);
                break;
            }
            let place = self.items;
            self.items += bucket.items;
            round.push(PlacedBucket { place, bucket });
        }
        Ok(round)
    }

    /// Reads a bucket and puts its items in order.
    fn in_order(
        &self,
        PlacedBucket { place, bucket }: PlacedBucket,
    ) -> Result<Ordered, FilesError> {
        let mut desk = self.desks.take();
        let bytes = bucket.bytes as usize;
        if desk.stored.len() < bytes {
            try_resize(&mut desk.stored, bytes, 0)?;
        }
        let stored = &mut desk.stored[..bytes];
        let mut rest = &mut *stored;
        for extent in &bucket.extents {
            let (block, others) = rest.split_at_mut(extent.bytes);
            self.store.read_at(block, extent.offset).map_err(FilesError::Temporary)?;
            self.store.release(extent.offset, extent.bytes);
            rest = others;
        }
        let stored = &*stored;
        let offsets = &mut desk.offsets;
        offsets.clear();
        try_resize(offsets, width(&bucket) as usize, NONE)?;
        let mut items = 0;
        for_each_item(stored, bucket.key_bytes, self.job.items, |key, item| {
            items += 1;
            // Below `NONE`, as the bucket is.
            let offset = item.start as u32;
            match offsets.get_mut(key as usize) {
                Some(place) if *place == NONE => *place = offset,
                _ => return Err(garbled()),
            }
            Ok(())
        })?;
        if items != bucket.items {
            return Err(garbled());
        }
        let mut block = self.blocks.take();
        try_reserve(&mut block, bucket.item_bytes() as usize)?;
        let unwritten = self.job.items.unwritten();
        let found = offsets.iter().filter(|&&offset| offset != NONE).map(|&offset| {
            let rest = &stored[offset as usize..];
            let length = self.job.items.first(rest).ok_or_else(garbled)?;
            Ok(&rest[unwritten..length])
        });
        let ordered = Ordered::new(found, block, place, &self.ends, garbled)?;
        if self.may_keep(desk.stored.capacity() + 4 * desk.offsets.capacity()) {
            self.desks.give(desk);
        }
        Ok(ordered)
    }

    fn spare(&self) -> &Spare<Vec<u8>> {
        &self.blocks
    }

    fn keeps(&self, bytes: usize) -> bool {
        self.may_keep(2 * bytes)
    }
}

/// Appends blocks to the store at once.
struct ToStore<'s, 'a, S>(&'s RefCell<&'a mut S>);

impl<'m, S: Store> BlockSink<'m> for ToStore<'_, '_, S> {
    fn take(
        &mut self,
        slot: &'m mut [u8],
        block: Range<usize>,
    ) -> Result<&'m mut [u8], FilesError> {
        self.0.borrow_mut().append(&slot[block]).map_err(FilesError::Temporary)?;
        Ok(slot)
    }

    fn take_long(&mut self, item: Vec<u8>) -> Result<(), FilesError> {
        self.0.borrow_mut().append(&item).map_err(FilesError::Temporary)
    }
}

fn width(bucket: &Bucket) -> u64 {
    bucket.keys.end - bucket.keys.start
}

/// Visits what was stored of a bucket: the relative key of each item, and where the item is.
fn for_each_item(
    stored: &[u8],
    key_bytes: usize,
    items: Items,
    mut visit: impl FnMut(u64, Range<usize>) -> Result<(), FilesError>,
) -> Result<(), FilesError> {
    let mut at = 0;
    while at < stored.len() {
        let (key, rest) = stored[at..].split_at_checked(key_bytes).ok_or_else(garbled)?;
        let length = items.first(rest).ok_or_else(garbled)?;
        let start = at + key_bytes;
        at = start + length;
        visit(read_key(key), start..at)?;
    }
    Ok(())
}

/// The store returned something that was not written to it.
pub(crate) fn garbled() -> FilesError {
    FilesError::Temporary(ErrorKind::InvalidData.into())
}
