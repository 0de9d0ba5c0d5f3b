//! Parts that have been sealed, by this rank or by another: they are only read.

use core::marker::PhantomData;

use super::block::{Block, InBuckets, PackedItem, SPARE, end, items_per_block, stride_of};
use crate::compact::cpu::buckets::{BucketDivision, LowBits};
use crate::compact::cpu::tuning;

/// A run of the buckets of a part that [`ThreadBuckets::seal`](super::block::ThreadBuckets::seal)
/// has written, with items of type T and low bits of type L.
pub(super) struct SealedPart<'a, T, L> {
    buckets: BucketDivision,
    /// The blocks of one bucket after the other.
    blocks: &'a [Block],
    /// The number of blocks of each bucket.
    stride: usize,
    /// Items are only copied as bytes here.
    kinds: PhantomData<fn(T, L)>,
}

impl<'a, T, L: LowBits> SealedPart<'a, T, L> {
    /// Some buckets of `stride` blocks each.
    ///
    /// # Safety
    ///
    /// The blocks are those of whole buckets that `seal` has returned for items of the types T and
    /// L.
    pub(super) unsafe fn new(buckets: BucketDivision, blocks: &'a [Block], stride: usize) -> Self {
        assert!(stride >= SPARE && blocks.len().is_multiple_of(stride));
        Self { buckets, blocks, stride, kinds: PhantomData }
    }

    /// The number of items in a bucket, counted from the first of these, which is 0; `None` if the
    /// bucket claims more than it has room for.
    pub(super) fn count(&self, bucket: usize) -> Option<usize> {
        let blocks = self.of(bucket);
        // SAFETY: by the promise to `new`, `seal` has written the number to the last block of each
        // bucket.
        let count = unsafe { blocks[self.stride - 1].count() } as usize;
        (count / items_per_block::<T, L>() <= self.stride - SPARE).then_some(count)
    }

    /// The blocks of a bucket.
    #[inline(always)]
    fn of(&self, bucket: usize) -> &[Block] {
        &self.blocks[bucket * self.stride..][..self.stride]
    }
}

impl<T, L: LowBits> InBuckets<T> for SealedPart<'_, T, L> {
    /// # Panics
    ///
    /// If the bucket claims more items than it has room for.
    #[inline(always)]
    fn for_each(&self, bucket: usize, mut visit: impl FnMut(usize, PackedItem<T>)) {
        let count = self.count(bucket).expect("as many items as there is room for");
        let (whole, rest) = (count / items_per_block::<T, L>(), count % items_per_block::<T, L>());
        let (full, others) = self.of(bucket).split_at(whole);
        let full = full.iter().map(|block| (block, end::<T, L>()));
        // The block of the items that do not fill one is after the full ones.
        let last = (&others[0], rest * stride_of::<T, L>());
        for (block, end) in full.chain([last]) {
            block.prefetch(tuning::BLOCKS_AHEAD);
            for offset in (0..end).step_by(stride_of::<T, L>()) {
                // SAFETY: `seal` has left an item with its low bits at each of these offsets: as
                // many as the bucket counts, in its blocks one after the other.
                let (low, item) = unsafe { block.get::<T, L>(offset) };
                visit(low.number(self.buckets), item);
            }
        }
    }
}
