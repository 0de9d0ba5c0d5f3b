//! The places of each bucket, divided into blocks.

use core::ops::Range;

use crate::Error;
use crate::engine::check::try_with_capacity;

/// An array divided into the places of buckets, and each bucket's places into blocks from the first
/// on. Only the last block of a bucket may be shorter than the others.
///
/// So a bucket of `c` items has `c / block` whole blocks, rounded down. That is as many as all
/// threads together can fill with its items.
pub(super) struct BlockGrid {
    /// The number of items in a whole block, as a power of two.
    block_bits: u32,
    /// The first place of each bucket, and the number of all places.
    firsts: Vec<usize>,
}

impl BlockGrid {
    /// The grid of buckets with these numbers of items, in blocks of `2^block_bits`.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub(super) fn new(counts: &[usize], block_bits: u32) -> Result<Self, Error> {
        let mut firsts = try_with_capacity(counts.len() + 1)?;
        let mut first = 0;
        firsts.push(0);
        firsts.extend(counts.iter().map(|count| {
            first += count;
            first
        }));
        Ok(Self { block_bits, firsts })
    }

    /// The number of items in a whole block, as a power of two.
    #[inline(always)]
    pub(super) fn block_bits(&self) -> u32 {
        self.block_bits
    }

    /// The number of items in a whole block.
    #[inline(always)]
    pub(super) fn block_len(&self) -> usize {
        1 << self.block_bits
    }

    /// The number of buckets.
    pub(super) fn buckets(&self) -> usize {
        self.firsts.len() - 1
    }

    /// The places of a bucket.
    #[inline(always)]
    pub(super) fn places(&self, bucket: usize) -> Range<usize> {
        self.firsts[bucket]..self.firsts[bucket + 1]
    }

    /// The number of a bucket's blocks.
    pub(super) fn blocks(&self, bucket: usize) -> usize {
        self.places(bucket).len().div_ceil(self.block_len())
    }

    /// The number of a bucket's blocks that are whole: all, or all but the last.
    pub(super) fn whole_blocks(&self, bucket: usize) -> usize {
        self.places(bucket).len() >> self.block_bits
    }

    /// The places of a bucket's block.
    ///
    /// # Panics
    ///
    /// If the bucket has no such block.
    #[inline(always)]
    pub(super) fn block(&self, bucket: usize, number: usize) -> Range<usize> {
        let Range { start, end } = self.places(bucket);
        let first = start + (number << self.block_bits);
        assert!(first < end, "no such block");
        first..end.min(first + self.block_len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_every_place_once() {
        for counts in [&[0, 7, 8, 0, 9, 1, 25][..], &[0], &[16], &[1, 1, 1]] {
            let grid = BlockGrid::new(counts, 3).unwrap();
            assert_eq!(grid.buckets(), counts.len());
            let mut next = 0;
            for (bucket, &count) in counts.iter().enumerate() {
                assert_eq!(grid.places(bucket), next..next + count);
                assert_eq!(grid.blocks(bucket), count.div_ceil(8));
                assert_eq!(grid.whole_blocks(bucket), count / 8);
                for number in 0..grid.blocks(bucket) {
                    let block = grid.block(bucket, number);
                    assert_eq!(block.start, next);
                    assert!(block.len() == 8 || number + 1 == grid.blocks(bucket));
                    next = block.end;
                }
            }
            assert_eq!(next, counts.iter().sum::<usize>());
        }
    }
}
