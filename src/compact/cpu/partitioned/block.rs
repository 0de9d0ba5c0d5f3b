//! Blocks and parts: the memory in which items travel to their buckets.

use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ptr;

use crate::Error;
use crate::compact::cpu::buckets::{BucketDivision, LowBits};
use crate::compact::cpu::places::ItemSource;
use crate::compact::cpu::tuning;
use crate::engine::check::try_with_capacity;
use crate::engine::memory::assume_init_mut;
use crate::engine::stream::{LINE, prefetch_lines, stream_lines};

/// A few cache lines of consecutive items, each followed by its low bits. They are packed and
/// unaligned, so that an item and its low bits are mostly in one line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Block([MaybeUninit<u8>; tuning::BLOCK_BYTES]);

/// The blocks of each bucket that [`ThreadBuckets::seal`] needs beside the full ones: for the items
/// that do not fill one, and for the number of all.
pub(super) const SPARE: usize = 2;

/// Items that are in buckets.
pub(super) trait InBuckets<T> {
    /// Visits a bucket's items, each with its number among the bucket's slots or indexes.
    fn for_each(&self, bucket: usize, visit: impl FnMut(usize, PackedItem<T>));
}

/// The bytes that an item takes in a block.
pub(super) const fn stride_of<T, L>() -> usize {
    size_of::<T>() + size_of::<L>()
}

/// The number of items that a block holds, each with its low bits.
pub(super) const fn items_per_block<T, L>() -> usize {
    tuning::BLOCK_BYTES / stride_of::<T, L>()
}

/// The end of a full block's last item.
pub(super) const fn end<T, L>() -> usize {
    items_per_block::<T, L>() * stride_of::<T, L>()
}

impl Block {
    /// The bytes of some blocks.
    pub(crate) fn bytes(blocks: &[Self]) -> &[MaybeUninit<u8>] {
        let bytes = size_of_val(blocks);
        // SAFETY: blocks consist of these bytes, without padding, and both views only read them.
        unsafe { core::slice::from_raw_parts(blocks.as_ptr().cast(), bytes) }
    }

    /// The bytes of some blocks, any of which are blocks.
    pub(crate) fn bytes_mut(blocks: &mut [Self]) -> &mut [MaybeUninit<u8>] {
        let bytes = size_of_val(blocks);
        // SAFETY: blocks consist of these bytes, without padding, and are borrowed as long as the
        // result.
        unsafe { core::slice::from_raw_parts_mut(blocks.as_mut_ptr().cast(), bytes) }
    }

    /// Reads an item's low bits, and returns where the item's bytes are.
    ///
    /// # Safety
    ///
    /// At the offset there is an item of type T, followed by low bits of type L.
    #[inline(always)]
    pub(super) unsafe fn get<T, L: LowBits>(&self, offset: usize) -> (L, PackedItem<T>) {
        let place = self.0.as_ptr().wrapping_add(offset);
        // SAFETY: the caller promises that low bits follow the item there, within the block.
        let low = unsafe { place.wrapping_add(size_of::<T>()).cast::<L>().read_unaligned() };
        (low, PackedItem(place.cast()))
    }

    /// Writes a number of items instead of items.
    fn set_count(&mut self, count: u32) {
        for (to, byte) in self.0.iter_mut().zip(count.to_ne_bytes()) {
            to.write(byte);
        }
    }

    /// Reads what [`set_count`](Self::set_count) has written.
    ///
    /// # Safety
    ///
    /// It has written it.
    pub(super) unsafe fn count(&self) -> u32 {
        // SAFETY: the caller promises that the first four bytes are a number.
        unsafe { self.0.as_ptr().cast::<u32>().read_unaligned() }
    }

    /// Copies the block to memory with non-temporal stores.
    #[inline(always)]
    fn stream(&self, to: &mut Self) {
        let (from, to) = (self.0.as_ptr().cast(), to.0.as_mut_ptr().cast());
        // SAFETY: both are blocks, which consist of whole lines and are aligned to them. One is
        // borrowed mutably, so they do not overlap.
        unsafe { stream_lines(from, to, tuning::BLOCK_BYTES / LINE) };
    }

    /// Prefetches the block that is `ahead` blocks further on.
    #[inline(always)]
    pub(super) fn prefetch(&self, ahead: usize) {
        let later = ptr::from_ref(self).wrapping_add(ahead);
        prefetch_lines(later.cast(), tuning::BLOCK_BYTES / LINE);
    }
}

/// The buckets of one thread: the items of type T that it has sorted so far, with low bits of type
/// L.
pub(super) struct ThreadBuckets<'a, T, L> {
    buckets: BucketDivision,
    /// For each bucket, the block that is being filled.
    open: &'a mut [Block],
    /// The offset of the next item in it.
    offsets: Vec<u16>,
    /// The full blocks, bucket after bucket.
    full: &'a mut [Block],
    /// The number of blocks from one bucket's first to the next one's.
    stride: usize,
    /// The number of full blocks for which each bucket has room, at most the stride.
    blocks: usize,
    /// The number of full blocks in each bucket.
    counts: Vec<u32>,
    overflows: bool,
    /// Items are only copied as bytes here. They are never used or dropped.
    kinds: PhantomData<fn(T, L)>,
}

impl<'a, T, L: LowBits> ThreadBuckets<'a, T, L> {
    /// A part of empty buckets, each with one open block and room for `blocks` full ones, and
    /// `spare` more that are not used for items.
    pub(super) fn new(
        buckets: BucketDivision,
        open: &'a mut [MaybeUninit<Block>],
        full: &'a mut [MaybeUninit<Block>],
        blocks: usize,
        spare: usize,
    ) -> Result<Self, Error> {
        let stride = blocks + spare;
        assert!(items_per_block::<T, L>() > 0, "an item does not fit a block");
        assert_eq!((open.len(), full.len()), (buckets.count, buckets.count * stride));
        let mut offsets = try_with_capacity(buckets.count)?;
        offsets.resize(buckets.count, 0);
        let mut counts = try_with_capacity(buckets.count)?;
        counts.resize(buckets.count, 0);
        // SAFETY: a block consists of `MaybeUninit` bytes only, for which any memory is valid.
        let open = unsafe { assume_init_mut(open) };
        // SAFETY: a full block has the same type: `MaybeUninit` bytes, for which any memory is
        // valid.
        let full = unsafe { assume_init_mut(full) };
        let (overflows, kinds) = (false, PhantomData);
        Ok(Self { buckets, open, offsets, full, stride, blocks, counts, overflows, kinds })
    }

    /// Writes each bucket's open block after its full ones, and the number of its items to the
    /// last of its blocks. Two blocks of each bucket must have been left spare for that. Other
    /// threads see them only after [`publish`](crate::engine::stream::publish).
    pub(super) fn seal(self) -> &'a mut [Block] {
        assert!(self.stride >= self.blocks + SPARE);
        for bucket in 0..self.buckets.count {
            let blocks = &mut self.full[bucket * self.stride..][..self.stride];
            self.open[bucket].stream(&mut blocks[self.counts[bucket] as usize]);
        }
        for bucket in 0..self.buckets.count {
            let count = self.count(bucket) as u32;
            self.full[(bucket + 1) * self.stride - 1].set_count(count);
        }
        self.full
    }

    /// Puts the items from `first` on into the buckets of the slots or indexes `to`, one for each
    /// item.
    ///
    /// # Panics
    ///
    /// If a slot or index is beyond the last bucket.
    ///
    /// # Safety
    ///
    /// There are `to.len()` items from `first` on, and nobody writes to them meanwhile.
    #[inline(always)]
    pub(super) unsafe fn push_all<S: ItemSource<T>>(
        &mut self,
        to: &[L::Index],
        items: &S,
        first: usize,
        room: &mut S::Room,
    ) {
        for (first, to) in (first..).step_by(S::RUN).zip(to.chunks(S::RUN)) {
            // SAFETY: the run is part of the items that the caller promises, and no longer than
            // `RUN`.
            unsafe { items.prepare(first, to.len(), room) };
            for (k, &to) in to.iter().enumerate() {
                let (bucket, low) = L::split(to, self.buckets);
                let offset = &mut self.offsets[bucket];
                // SAFETY: there are as many open blocks as offsets, and indexing `offsets` has just
                // checked the bucket.
                let block = unsafe { self.open.get_unchecked_mut(bucket) };
                let place = block.0.as_mut_ptr().wrapping_add(usize::from(*offset));
                // SAFETY: the item is in the run that was just prepared. The offset starts at 0,
                // grows by the stride, and is reset to 0 when it reaches the end, so a whole stride
                // is left at the place: room for the item and then for the low bits.
                unsafe { items.copy(first, k, room, place.cast()) };
                // SAFETY: a whole stride is left in the block at the place, and it has room for the
                // low bits after the item.
                unsafe { place.wrapping_add(size_of::<T>()).cast::<L>().write_unaligned(low) };
                *offset += stride_of::<T, L>() as u16;
                if usize::from(*offset) == end::<T, L>() {
                    self.flush(bucket);
                }
            }
        }
    }

    /// Writes a full block to memory.
    #[inline]
    fn flush(&mut self, bucket: usize) {
        self.offsets[bucket] = 0;
        let number = self.counts[bucket] as usize;
        if number < self.blocks {
            self.counts[bucket] += 1;
            self.open[bucket].stream(&mut self.full[bucket * self.stride + number]);
        } else {
            self.overflows = true;
        }
    }

    /// Whether a bucket was full, so that items were left out.
    pub(super) fn overflows(&self) -> bool {
        self.overflows
    }

    /// The number of items in a bucket.
    pub(super) fn count(&self, bucket: usize) -> usize {
        self.counts[bucket] as usize * items_per_block::<T, L>()
            + usize::from(self.offsets[bucket]) / stride_of::<T, L>()
    }
}

impl<T, L: LowBits> InBuckets<T> for ThreadBuckets<'_, T, L> {
    #[inline(always)]
    fn for_each(&self, bucket: usize, mut visit: impl FnMut(usize, PackedItem<T>)) {
        let full = &self.full[bucket * self.stride..][..self.counts[bucket] as usize];
        let full = full.iter().map(|block| (block, end::<T, L>()));
        let open = (&self.open[bucket], usize::from(self.offsets[bucket]));
        for (block, end) in full.chain([open]) {
            block.prefetch(tuning::BLOCKS_AHEAD);
            for offset in (0..end).step_by(stride_of::<T, L>()) {
                // SAFETY: `push_all` has written an item with its low bits at each of these
                // offsets: in a full block up to the end, and in the open one up to its offset.
                let (low, item) = unsafe { block.get::<T, L>(offset) };
                visit(low.number(self.buckets), item);
            }
        }
    }
}

/// The address of an item's bytes, which need not be aligned.
pub(super) struct PackedItem<T>(*const T);

impl<T> PackedItem<T> {
    /// Copies the bytes.
    ///
    /// # Safety
    ///
    /// The block that holds the item is still borrowed.
    #[inline(always)]
    pub(super) unsafe fn copy_to(self, place: &mut MaybeUninit<T>) {
        let (from, to) = (self.0.cast::<u8>(), place.as_mut_ptr().cast::<u8>());
        // SAFETY: the caller promises that the block is still borrowed, and an item's bytes begin
        // at the address. The place has room for an item, and is borrowed mutably, so it is not in
        // a block.
        unsafe { ptr::copy_nonoverlapping(from, to, size_of::<T>()) };
    }
}
