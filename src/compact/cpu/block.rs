//! Blocks and parts: how items travel to their buckets.

use core::mem::MaybeUninit;
use core::ptr;

use super::memory::assume_init_mut;
use super::stream::{LINE, publish, stream_lines};
use super::tuning;
use crate::compact::try_with_capacity;
use crate::error::Error;

/// A bucket has `2^16` slots or indexes, so that two bytes tell them apart.
pub(super) const BUCKET_BITS: u32 = Low::BITS;

/// The low bits of a slot or an index, by which it is told from the others of its bucket.
type Low = u16;

/// Some lines of the cache, with items in a row, each followed by its low bits. They are packed, so that both are
/// mostly in one line, and need not be aligned.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Block([MaybeUninit<u8>; tuning::BLOCK_BYTES]);

/// What an item takes in a block, in bytes.
const fn stride<T>() -> usize {
    size_of::<T>() + size_of::<Low>()
}

/// How many items of a type a block holds.
pub(super) const fn items_per_block<T>() -> usize {
    tuning::BLOCK_BYTES / stride::<T>()
}

/// The end of a full block's last item.
const fn end<T>() -> usize {
    items_per_block::<T>() * stride::<T>()
}

impl Block {
    /// Writes an item.
    ///
    /// # Safety
    ///
    /// `offset` is a multiple of the stride below the end; `item` is an item.
    #[inline(always)]
    unsafe fn put<T>(&mut self, offset: usize, low: Low, item: *const T) {
        let place = self.0.as_mut_ptr().wrapping_add(offset);
        // SAFETY: within the block, since a whole stride is; bytes are never unaligned.
        unsafe { ptr::copy_nonoverlapping(item.cast(), place, size_of::<T>()) };
        // SAFETY: as above.
        unsafe { place.wrapping_add(size_of::<T>()).cast::<Low>().write_unaligned(low) };
    }

    /// Reads an item's low bits, and says where the item's bytes are.
    ///
    /// # Safety
    ///
    /// There was an item of type T put at the offset.
    #[inline(always)]
    unsafe fn get<T>(&self, offset: usize) -> (Low, Packed<T>) {
        let place = self.0.as_ptr().wrapping_add(offset);
        // SAFETY: within the block, and written by `put`.
        let low = unsafe { place.wrapping_add(size_of::<T>()).cast::<Low>().read_unaligned() };
        (low, Packed(place.cast()))
    }

    /// Copies the block to memory, past the caches.
    #[inline(always)]
    fn stream(&self, to: &mut Self) {
        let (from, to) = (self.0.as_ptr().cast(), to.0.as_mut_ptr().cast());
        // SAFETY: two blocks, aligned, of whole lines.
        unsafe { stream_lines(from, to, tuning::BLOCK_BYTES / LINE) };
    }
}

/// What one thread has sorted into buckets.
pub(super) struct Part<'a> {
    /// The block that is being filled, by bucket.
    open: &'a mut [Block],
    /// Where its next item goes.
    offsets: Vec<u16>,
    /// The full blocks, bucket after bucket, as many to each as there is room for.
    full: &'a mut [Block],
    /// Room for so many full ones.
    blocks: usize,
    /// How many there are.
    counts: Vec<u16>,
    overflows: bool,
}

impl<'a> Part<'a> {
    /// A part of empty buckets, with an open block each and room for `blocks` full ones.
    pub(super) fn new(
        open: &'a mut [MaybeUninit<Block>],
        full: &'a mut [MaybeUninit<Block>],
        blocks: usize,
    ) -> Result<Self, Error> {
        assert_eq!(open.len() * blocks, full.len());
        let zeros = || {
            let mut zeros = try_with_capacity(open.len())?;
            zeros.resize(open.len(), 0);
            Ok(zeros)
        };
        let (offsets, counts) = (zeros()?, zeros()?);
        // SAFETY: a block is all bytes that need not be initialised.
        let open = unsafe { assume_init_mut(open) };
        // SAFETY: as above.
        let full = unsafe { assume_init_mut(full) };
        Ok(Self { open, offsets, full, blocks, counts, overflows: false })
    }

    /// Puts an item in its bucket.
    ///
    /// # Panics
    ///
    /// If there is no such bucket.
    ///
    /// # Safety
    ///
    /// `item` is one, of the one type that the part is used with.
    #[inline(always)]
    pub(super) unsafe fn push<T>(&mut self, to: usize, item: *const T) {
        let bucket = to >> BUCKET_BITS;
        let offset = &mut self.offsets[bucket];
        // SAFETY: there are as many blocks as offsets.
        let block = unsafe { self.open.get_unchecked_mut(bucket) };
        // SAFETY: the offset began with 0, and grows by the stride until it becomes 0 again at the end.
        unsafe { block.put(usize::from(*offset), to as Low, item) };
        *offset += stride::<T>() as u16;
        if usize::from(*offset) == end::<T>() {
            self.flush(bucket);
        }
    }

    /// Writes a full block to memory.
    #[inline]
    fn flush(&mut self, bucket: usize) {
        self.offsets[bucket] = 0;
        let number = usize::from(self.counts[bucket]);
        if number < self.blocks {
            self.counts[bucket] += 1;
            self.open[bucket].stream(&mut self.full[bucket * self.blocks + number]);
        } else {
            self.overflows = true;
        }
    }

    /// Has to be called before another thread looks at the part.
    pub(super) fn finish(&mut self) {
        publish();
    }

    /// Whether items were dropped for want of room.
    pub(super) fn overflows(&self) -> bool {
        self.overflows
    }

    /// How many items of a type a bucket has.
    pub(super) fn count<T>(&self, bucket: usize) -> usize {
        usize::from(self.counts[bucket]) * items_per_block::<T>()
            + usize::from(self.offsets[bucket]) / stride::<T>()
    }

    /// Goes through a bucket's items, each with its low bits.
    #[inline(always)]
    pub(super) fn for_each<T>(&self, bucket: usize, mut visit: impl FnMut(usize, Packed<T>)) {
        let full = &self.full[bucket * self.blocks..][..usize::from(self.counts[bucket])];
        let full = full.iter().map(|block| (block, end::<T>()));
        let open = (&self.open[bucket], usize::from(self.offsets[bucket]));
        for (block, end) in full.chain([open]) {
            for offset in (0..end).step_by(stride::<T>()) {
                // SAFETY: `push` has put an item at each of these.
                let (low, item) = unsafe { block.get(offset) };
                visit(usize::from(low), item);
            }
        }
    }
}

impl Drop for Part<'_> {
    /// The memory may be used for something else now, after a panic without `finish` as well.
    fn drop(&mut self) {
        publish();
    }
}

/// An item's bytes, anywhere.
pub(super) struct Packed<T>(*const T);

impl<T> Packed<T> {
    /// Copies the bytes.
    ///
    /// # Safety
    ///
    /// The block is still there.
    #[inline(always)]
    pub(super) unsafe fn copy_to(self, place: &mut MaybeUninit<T>) {
        let (from, to) = (self.0.cast::<u8>(), place.as_mut_ptr().cast::<u8>());
        // SAFETY: an item's bytes, from a block to elsewhere.
        unsafe { ptr::copy_nonoverlapping(from, to, size_of::<T>()) };
    }
}
