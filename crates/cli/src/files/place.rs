//! [`Placer`]: pass 2, buckets in order to the output.

use std::cell::RefCell;
use std::io::{self, ErrorKind, Write};
use std::mem;
use std::ops::Range;

use rayon::prelude::*;

use super::buckets::{Bucket, Distributor, read_key};
use super::budget::bucket_cost;
use super::collect::Job;
use super::error::FilesError;
use super::items::Items;
use super::store::Store;
use super::watch::Watch;

/// An offset that no item has.
const NONE: u32 = u32::MAX;

/// Puts buckets in order and writes them.
pub(super) struct Placer<'a, S> {
    pub(super) job: Job,
    pub(super) store: &'a mut S,
    pub(super) watch: &'a dyn Watch,
    /// How many buckets were split because they were too large.
    pub(super) splits: u64,
}

impl<S: Store> Placer<'_, S> {
    /// Writes the items of buckets, which are in the order of their keys. While the buckets of one
    /// round are written, those of the next are read and put in order.
    pub(super) fn write(
        &mut self,
        buckets: Vec<Bucket>,
        output: &mut (impl Write + Send),
    ) -> Result<(), FilesError> {
        // The next bucket is the last one here.
        let mut left = buckets;
        left.reverse();
        let mut full = Vec::new();
        loop {
            let round = self.next_round(&mut left)?;
            if round.is_empty() && full.is_empty() {
                return Ok(());
            }
            let (store, job, watch) = (&*self.store, self.job, self.watch);
            let (written, ordered): (_, Result<Vec<_>, _>) = rayon::join(
                || write_all(mem::take(&mut full), output, watch),
                || {
                    let ordered = round.into_par_iter().with_max_len(1);
                    ordered.map(|bucket| in_order(&bucket, store, job)).collect()
                },
            );
            written.map_err(FilesError::Write)?;
            full = ordered?;
        }
    }

    /// Takes as many buckets as fit memory together. One that does not fit by itself is split.
    fn next_round(&mut self, left: &mut Vec<Bucket>) -> Result<Vec<Bucket>, FilesError> {
        let room = self.job.budget.round();
        let (mut round, mut sum) = (Vec::new(), 0_u64);
        while let Some(bucket) = left.pop() {
            let cost = bucket_cost(bucket.bytes, width(&bucket), bucket.item_bytes());
            let fits = cost <= room && bucket.bytes < u64::from(NONE);
            if !fits && width(&bucket) > 1 {
                let parts = self.split(&bucket)?;
                left.extend(parts.into_iter().rev());
                continue;
            }
            sum = sum.saturating_add(cost);
            if sum > room && !round.is_empty() {
                left.push(bucket);
                break;
            }
            round.push(bucket);
        }
        Ok(round)
    }

    /// Divides a bucket's keys and appends its items to the store again, as buckets of their own.
    fn split(&mut self, bucket: &Bucket) -> Result<Vec<Bucket>, FilesError> {
        self.splits += 1;
        let Job { items, budget } = self.job;
        let split = budget.split(width(bucket), bucket.items, bucket.item_bytes(), 2);
        let end = self.store.bytes();
        // Blocks are read and appended in turns.
        let store = RefCell::new(&mut *self.store);
        let mut parts = Distributor::new(bucket.keys.clone(), split, end, |block| {
            store.borrow_mut().append(&block).map_err(FilesError::Temporary)?;
            Ok(block)
        });
        let mut block = Vec::new();
        for extent in &bucket.extents {
            block.resize(extent.bytes, 0);
            store.borrow().read_at(&mut block, extent.offset).map_err(FilesError::Temporary)?;
            for_each_item(&block, bucket.key_bytes, items, |key, item| {
                parts.push(bucket.keys.start + key, &block[item])
            })?;
        }
        parts.finish()
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

/// Reads a bucket and returns its items in the order of their keys.
fn in_order(bucket: &Bucket, store: &impl Store, job: Job) -> Result<Vec<u8>, FilesError> {
    let mut stored = vec![0; bucket.bytes as usize];
    let mut rest = stored.as_mut_slice();
    for extent in &bucket.extents {
        let (block, others) = rest.split_at_mut(extent.bytes);
        store.read_at(block, extent.offset).map_err(FilesError::Temporary)?;
        rest = others;
    }
    let mut offsets = vec![NONE; width(bucket) as usize];
    for_each_item(&stored, bucket.key_bytes, job.items, |key, item| {
        // Below `NONE`, as the bucket is.
        let offset = item.start as u32;
        match offsets.get_mut(key as usize) {
            Some(place) if *place == NONE => *place = offset,
            _ => return Err(garbled()),
        }
        Ok(())
    })?;
    let mut ordered = Vec::with_capacity(bucket.item_bytes() as usize);
    for offset in offsets.into_iter().filter(|&offset| offset != NONE) {
        let rest = &stored[offset as usize..];
        let length = job.items.first(rest).ok_or_else(garbled)?;
        ordered.extend_from_slice(&rest[..length]);
    }
    Ok(ordered)
}

/// The store returned something that was not written to it.
fn garbled() -> FilesError {
    FilesError::Temporary(ErrorKind::InvalidData.into())
}

fn write_all(blocks: Vec<Vec<u8>>, output: &mut impl Write, watch: &dyn Watch) -> io::Result<()> {
    for block in blocks {
        output.write_all(&block)?;
        watch.advance(block.len() as u64);
    }
    Ok(())
}
