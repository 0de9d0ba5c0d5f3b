//! [`Distributor`]: items to the blocks of their buckets.

use std::mem;
use std::ops::Range;

use bijective_shuffle::Error;

use super::budget::KeySplit;
use super::error::FilesError;
use super::room::try_filled;

/// Items whose keys are in a range.
#[derive(Debug)]
pub(crate) struct Bucket {
    pub(crate) keys: Range<u64>,
    /// The size of the key that stands before each item, relative to the first of the range.
    pub(super) key_bytes: usize,
    pub(crate) items: u64,
    /// The number of bytes in the store, keys and all.
    pub(crate) bytes: u64,
    /// Where in the store they are. An extent has whole items.
    pub(crate) extents: Vec<Extent>,
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

/// Where full blocks go: to the end of a store, at once or soon.
///
/// `'m` is the lifetime of the memory that blocks are collected in.
pub(super) trait BlockSink<'m> {
    /// Takes these bytes of a slot, and returns another slot, or the same.
    fn take(&mut self, slot: &'m mut [u8], block: Range<usize>)
    -> Result<&'m mut [u8], FilesError>;

    /// Takes one item that is longer than a slot, and waits until it is written: there is memory
    /// for one.
    fn take_long(&mut self, item: Vec<u8>) -> Result<(), FilesError>;
}

impl KeySplit {
    /// The buckets of a range of keys, with nothing in them.
    pub(crate) fn of(self, keys: &Range<u64>) -> Vec<Bucket> {
        let key_bytes = key_bytes(self.shift);
        let bucket = |number: u64| {
            let first = keys.start + (number << self.shift);
            // The last one ends with the range.
            let width = (keys.end - first).min(1_u64.checked_shl(self.shift).unwrap_or(u64::MAX));
            let keys = first..first + width;
            Bucket { keys, key_bytes, items: 0, bytes: 0, extents: Vec::new() }
        };
        (0..self.buckets).map(bucket).collect()
    }

    /// Memory for the open block of each bucket, and for `more` blocks that are being written.
    ///
    /// All of it is one piece, which an allocator gets from the system and gives back to it. As
    /// pieces for each block, it might keep them all for the sake of what lies between.
    pub(super) fn memory(self, more: usize) -> Result<Vec<u8>, Error> {
        try_filled(self.block * (self.buckets as usize + more), 0)
    }
}

/// The block of a bucket that items are being copied to.
struct Open<'m> {
    slot: &'m mut [u8],
    start: usize,
    end: usize,
    items: usize,
}

/// Copies items to the open blocks of their buckets, and hands on each block that is full.
pub(super) struct Distributor<'m, S> {
    keys: Range<u64>,
    split: KeySplit,
    buckets: Vec<Bucket>,
    open: Vec<Open<'m>>,
    /// Where the next block begins in the store.
    end: u64,
    sink: S,
}

impl<'m, S: BlockSink<'m>> Distributor<'m, S> {
    /// Items with keys in a range go to as many buckets as the split says, which collects their
    /// blocks in `slots`, one a bucket. Blocks are appended to a store, in order, which has `end`
    /// bytes already.
    pub(super) fn new(
        keys: Range<u64>,
        split: KeySplit,
        slots: impl Iterator<Item = &'m mut [u8]>,
        end: u64,
        sink: S,
    ) -> Self {
        let buckets = split.of(&keys);
        // The first blocks are of all lengths. As all blocks fill at about the same speed, items
        // would otherwise go to the same place of each slot, and these share few sets of a cache.
        let open = slots.take(buckets.len()).enumerate().map(|(number, slot)| {
            let start = (split.block as u128 * number as u128 / buckets.len() as u128) as usize;
            Open { slot, start, end: start, items: 0 }
        });
        let open: Vec<_> = open.collect();
        assert_eq!(open.len(), buckets.len(), "a slot for each bucket");
        Self { keys, split, buckets, open, end, sink }
    }

    /// Brings an item to its bucket, unless its key is out of the range.
    #[inline]
    pub(super) fn push(&mut self, key: u64, item: &[u8]) -> Result<(), FilesError> {
        if !self.keys.contains(&key) {
            return Ok(());
        }
        let relative = key - self.keys.start;
        let number = (relative >> self.split.shift) as usize;
        let key_bytes = key_bytes(self.split.shift);
        // The bits above belong to the bucket's number, or are not there.
        let low = (relative & (1_u64 << self.split.shift).wrapping_sub(1)).to_le_bytes();
        let size = key_bytes + item.len();
        if size > self.split.block {
            return self.write_long(number, [&low[..key_bytes], item].concat());
        }
        if self.open[number].end + size > self.split.block {
            self.write(number)?;
        }
        let Open { slot, end, items, .. } = &mut self.open[number];
        let place = &mut slot[*end..];
        *end += size;
        *items += 1;
        // Copies of a size that is known take an instruction, and others a call.
        match (place.first_chunk_mut(), item.first_chunk()) {
            (Some(place), Some(&first)) if item.len() == 8 => {
                let place: &mut [u8; 16] = place;
                let (key, item) = (u64::from_le_bytes(low), u64::from_le_bytes(first));
                let both = u128::from(key) | u128::from(item) << (8 * key_bytes);
                *place = both.to_le_bytes();
            }
            _ => {
                let (for_key, for_item) = place[..size].split_at_mut(key_bytes);
                for_key.copy_from_slice(&low[..key_bytes]);
                for_item.copy_from_slice(item);
            }
        }
        Ok(())
    }

    /// Hands on a bucket's block, if there is anything in it.
    #[cold]
    fn write(&mut self, number: usize) -> Result<(), FilesError> {
        let Open { slot, start, end, items } = &mut self.open[number];
        let (slot, block, items) = (mem::take(slot), *start..*end, *items);
        let bytes = block.len();
        let slot = if bytes > 0 { self.sink.take(slot, block)? } else { slot };
        self.open[number] = Open { slot, start: 0, end: 0, items: 0 };
        if bytes > 0 {
            self.note(number, items, bytes);
        }
        Ok(())
    }

    #[cold]
    fn write_long(&mut self, number: usize, item: Vec<u8>) -> Result<(), FilesError> {
        let bytes = item.len();
        self.sink.take_long(item)?;
        self.note(number, 1, bytes);
        Ok(())
    }

    /// Notes where a bucket's items are.
    fn note(&mut self, number: usize, items: usize, bytes: usize) {
        let bucket = &mut self.buckets[number];
        bucket.items += items as u64;
        bucket.bytes += bytes as u64;
        bucket.extents.push(Extent { offset: self.end, bytes });
        self.end += bytes as u64;
    }

    /// Hands on the blocks that are not full, and returns the buckets that have any items.
    pub(super) fn finish(mut self) -> Result<Vec<Bucket>, FilesError> {
        for number in 0..self.open.len() {
            self.write(number)?;
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

    /// Keeps what it takes.
    #[derive(Default)]
    struct Kept {
        store: Vec<u8>,
        longest: usize,
    }

    impl<'m> BlockSink<'m> for &mut Kept {
        fn take(
            &mut self,
            slot: &'m mut [u8],
            block: Range<usize>,
        ) -> Result<&'m mut [u8], FilesError> {
            self.store.extend_from_slice(&slot[block]);
            Ok(slot)
        }

        fn take_long(&mut self, item: Vec<u8>) -> Result<(), FilesError> {
            self.longest = self.longest.max(item.len());
            self.store.extend(item);
            Ok(())
        }
    }

    #[test]
    fn long_items_do_not_wait_for_others() {
        let split = KeySplit { shift: 0, buckets: 50, block: 100 };
        let mut kept = Kept::default();
        let mut memory = split.memory(0).unwrap();
        let slots = memory.chunks_exact_mut(split.block);
        let mut distributor = Distributor::new(0..50, split, slots, 0, &mut kept);
        for key in 0..50 {
            distributor.push(key, &[0; 10]).unwrap();
            distributor.push(key, &[0; 5000]).unwrap();
            assert_eq!(distributor.sink.store.len(), 5000 * (key as usize + 1));
        }
        let buckets = distributor.finish().unwrap();
        assert!(buckets.iter().all(|bucket| bucket.items == 2 && bucket.bytes == 5010));
        assert_eq!((kept.longest, kept.store.len()), (5000, 50 * 5010));
    }

    #[test]
    fn items_come_to_their_buckets() {
        let split = KeySplit { shift: 4, buckets: 3, block: 10 };
        let mut kept = Kept::default();
        let mut memory = split.memory(0).unwrap();
        let slots = memory.chunks_exact_mut(split.block);
        let mut distributor = Distributor::new(100..140, split, slots, 0, &mut kept);
        let length = |key| key as usize % 7 * 5;
        let items: Vec<(u64, Vec<u8>)> =
            (90..150).map(|key| (key, vec![key as u8; length(key)])).collect();
        for (key, item) in &items {
            distributor.push(*key, item).unwrap();
        }
        let buckets = distributor.finish().unwrap();
        assert_eq!(buckets.iter().map(|bucket| bucket.items).collect::<Vec<_>>(), [16, 16, 8]);
        for bucket in buckets {
            let parts = bucket.extents.iter().map(|extent| {
                let start = extent.offset as usize;
                &kept.store[start..start + extent.bytes]
            });
            let stored = parts.collect::<Vec<_>>().concat();
            let mut rest = stored.as_slice();
            let mut found = Vec::new();
            while let [low, others @ ..] = rest {
                let key = bucket.keys.start + u64::from(*low);
                let (item, others) = others.split_at(length(key));
                found.push((key, item.to_vec()));
                rest = others;
            }
            // Long items are stored before others that came earlier.
            found.sort();
            let expected = items.iter().filter(|(key, _)| bucket.keys.contains(key));
            assert!(found.iter().eq(expected));
            assert_eq!(bucket.bytes, stored.len() as u64);
            assert_eq!(bucket.item_bytes(), bucket.bytes - bucket.items);
        }
    }
}
