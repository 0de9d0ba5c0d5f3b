//! [`Distributor`]: items to the blocks of their buckets.

use std::mem;
use std::ops::Range;

use super::budget::Split;

/// Items whose keys are in a range.
#[derive(Debug)]
pub(super) struct Bucket {
    pub(super) keys: Range<u64>,
    /// The size of the key that stands before each item, relative to the first of the range.
    pub(super) key_bytes: usize,
    pub(super) items: u64,
    /// The number of bytes in the store, keys and all.
    pub(super) bytes: u64,
    /// Where in the store they are. An extent has whole items.
    pub(super) extents: Vec<Extent>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub(crate) offset: u64,
    pub(crate) bytes: usize,
}

impl Bucket {
    /// The number of bytes without the keys.
    pub(super) fn item_bytes(&self) -> u64 {
        self.bytes - self.items * self.key_bytes as u64
    }
}

/// Reads the key before an item.
#[inline]
pub(super) fn read_key(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |key, &byte| key << 8 | u64::from(byte))
}

/// How many bytes the keys of a bucket take.
fn key_bytes(shift: u32) -> usize {
    shift.div_ceil(8) as usize
}

/// Copies items to the open blocks of their buckets, and hands on each block that is full.
pub(super) struct Distributor<F> {
    keys: Range<u64>,
    split: Split,
    buckets: Vec<Bucket>,
    open: Vec<Vec<u8>>,
    /// Where the next block begins in the store.
    end: u64,
    /// Takes a full block, and returns an empty one.
    flush: F,
}

impl<E, F: FnMut(Vec<u8>) -> Result<Vec<u8>, E>> Distributor<F> {
    /// Items with keys in a range go to as many buckets as the split says. Blocks are appended to a
    /// store, in order, which has `end` bytes already.
    pub(super) fn new(keys: Range<u64>, split: Split, end: u64, flush: F) -> Self {
        let key_bytes = key_bytes(split.shift);
        let bucket = |number: u64| {
            let first = keys.start + (number << split.shift);
            // The last one ends with the range.
            let width = (keys.end - first).min(1_u64.checked_shl(split.shift).unwrap_or(u64::MAX));
            let keys = first..first + width;
            Bucket { keys, key_bytes, items: 0, bytes: 0, extents: Vec::new() }
        };
        let buckets: Vec<Bucket> = (0..split.buckets).map(bucket).collect();
        let open = buckets.iter().map(|_| Vec::new()).collect();
        Self { keys, split, buckets, open, end, flush }
    }

    /// Brings an item to its bucket, unless its key is out of the range.
    #[inline]
    pub(super) fn push(&mut self, key: u64, item: &[u8]) -> Result<(), E> {
        if !self.keys.contains(&key) {
            return Ok(());
        }
        let relative = key - self.keys.start;
        let number = (relative >> self.split.shift) as usize;
        let key_bytes = key_bytes(self.split.shift);
        let size = key_bytes + item.len();
        if self.open[number].len() + size > self.split.block {
            self.make_room(number, size)?;
        }
        let open = &mut self.open[number];
        // The bits above belong to the bucket's number, or are not there.
        let low = relative & (1_u64 << self.split.shift).wrapping_sub(1);
        open.extend_from_slice(&low.to_le_bytes()[..key_bytes]);
        open.extend_from_slice(item);
        self.buckets[number].items += 1;
        if size > self.split.block {
            // A long item does not wait for others: each bucket could hold one then.
            self.empty(number)?;
        }
        Ok(())
    }

    /// Flushes a bucket's block. A block has more than the usual size only for one long item.
    #[cold]
    fn make_room(&mut self, number: usize, size: usize) -> Result<(), E> {
        self.empty(number)?;
        self.open[number].reserve_exact(size.max(self.split.block));
        Ok(())
    }

    /// Flushes a bucket's block if there is anything in it.
    fn empty(&mut self, number: usize) -> Result<(), E> {
        let block = mem::take(&mut self.open[number]);
        if !block.is_empty() {
            self.open[number] = self.flush(number, block)?;
        }
        Ok(())
    }

    fn flush(&mut self, number: usize, block: Vec<u8>) -> Result<Vec<u8>, E> {
        let bucket = &mut self.buckets[number];
        bucket.bytes += block.len() as u64;
        bucket.extents.push(Extent { offset: self.end, bytes: block.len() });
        self.end += block.len() as u64;
        let mut empty = (self.flush)(block)?;
        empty.clear();
        empty.shrink_to(self.split.block);
        Ok(empty)
    }

    /// Hands on the blocks that are not full, and returns the buckets that have any items.
    pub(super) fn finish(mut self) -> Result<Vec<Bucket>, E> {
        for number in 0..self.open.len() {
            self.empty(number)?;
            self.open[number] = Vec::new();
        }
        self.buckets.retain(|bucket| bucket.items > 0);
        Ok(self.buckets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_they_are_written() {
        for key in [0, 1, 255, 256, 0x12_3456, u64::MAX] {
            assert_eq!(read_key(&key.to_le_bytes()), key);
        }
        assert_eq!(read_key(&[]), 0);
        assert_eq!([0, 1, 8, 9, 24, 63].map(key_bytes), [0, 1, 1, 2, 3, 8]);
    }

    #[test]
    fn long_items_are_not_held() {
        let split = Split { shift: 0, buckets: 50, block: 100 };
        let mut flushed = 0;
        let mut distributor = Distributor::new(0..50, split, 0, |block: Vec<u8>| {
            flushed += block.len();
            Ok::<_, ()>(block)
        });
        for key in 0..50 {
            distributor.push(key, &[0; 10]).unwrap();
            distributor.push(key, &[0; 5000]).unwrap();
        }
        let held: usize = distributor.open.iter().map(Vec::capacity).sum();
        assert!(held <= 50 * 100, "{held}");
        let buckets = distributor.finish().unwrap();
        assert!(buckets.iter().all(|bucket| bucket.items == 2 && bucket.bytes == 5010));
        assert_eq!(flushed, 50 * 5010);
    }

    #[test]
    fn items_come_to_their_buckets() {
        let split = Split { shift: 4, buckets: 3, block: 10 };
        let mut store: Vec<u8> = Vec::new();
        let flush = |block: Vec<u8>| {
            store.extend_from_slice(&block);
            Ok::<_, ()>(block)
        };
        let mut distributor = Distributor::new(100..140, split, 0, flush);
        let items: Vec<(u64, Vec<u8>)> =
            (90..150).map(|key| (key, vec![key as u8; key as usize % 7 * 5])).collect();
        for (key, item) in &items {
            distributor.push(*key, item).unwrap();
        }
        let buckets = distributor.finish().unwrap();
        assert_eq!(buckets.iter().map(|bucket| bucket.items).collect::<Vec<_>>(), [16, 16, 8]);
        for bucket in buckets {
            let parts = bucket.extents.iter().map(|extent| {
                let start = extent.offset as usize;
                &store[start..start + extent.bytes]
            });
            let expected: Vec<u8> = items
                .iter()
                .filter(|(key, _)| bucket.keys.contains(key))
                .flat_map(|(key, item)| {
                    let key = [(key - bucket.keys.start) as u8];
                    [&key[..], item].concat()
                })
                .collect();
            assert_eq!(parts.collect::<Vec<_>>().concat(), expected);
            assert_eq!(bucket.bytes, expected.len() as u64);
            assert_eq!(bucket.item_bytes(), bucket.bytes - bucket.items);
        }
    }
}
