//! How the buckets of ranks lie when they travel, in how many chunks they do, and what that takes.

use core::ops::Range;

use super::block::{Block, SPARE};
use super::sort::Capacity;
use crate::compact::cpu::buckets::BucketDivision;
use crate::compact::cpu::pack::SLACK;
use crate::compact::cpu::tuning;
use crate::engine::stream::LINE;

/// The bytes of a block, the unit in which buckets are sent.
pub(crate) const BLOCK_BYTES: usize = size_of::<Block>();

/// The bytes of a bitmap of a bucket's taken slots, and of the rest of what a thread needs besides
/// its items: a tile of slots, and what packing it may write beyond its end.
const TAKEN_BYTES: u64 = (1 << 14) + (tuning::LONG_TILE + SLACK) as u64 * size_of::<u32>() as u64;

/// The low bits of a slot or an index, which travel with an item.
pub(super) type Low = u16;

/// How a rank's buckets lie: how many parts there are, and how many blocks each bucket has in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OutboxShape {
    pub(crate) parts: usize,
    pub(crate) stride: usize,
}

impl OutboxShape {
    /// Whether there are the blocks that every bucket has beside the full ones.
    pub(crate) fn has_spare(self) -> bool {
        self.stride >= SPARE
    }

    /// The blocks of some buckets in all parts, if each has `more` than the stride.
    fn blocks(self, buckets: u64, more: u64) -> u64 {
        let stride = (self.stride as u64).saturating_add(more);
        (self.parts as u64).saturating_mul(stride).saturating_mul(buckets)
    }
}

/// The number of buckets of points up to `last`, or `None` if they are too many.
pub(crate) fn bucket_count(last: u64) -> Option<usize> {
    buckets_of(last).map(|buckets| buckets.count)
}

/// The buckets of the points up to `last`, or `None` if they are too many.
pub(super) fn buckets_of(last: u64) -> Option<BucketDivision> {
    Some(BucketDivision::of_bits(Low::BITS, last, tuning::MOST_BUCKETS))
        .filter(|all| all.are_usual())
}

/// The most items that a bucket can have: one for each of its points.
pub(crate) const fn most_items() -> usize {
    1 << Low::BITS
}

/// Whether items of a type fit the blocks.
pub(crate) const fn fits<T>() -> bool {
    size_of::<T>() > 0 && size_of::<T>() <= tuning::LARGEST_ITEM
}

/// The blocks for `items` items of type T in buckets of the points up to `last`.
pub(super) fn capacity<T>(items: usize, last: u64, buckets: BucketDivision) -> Capacity {
    Capacity::new::<T, Low>(items, last as f64 + 1.0, buckets, SPARE)
}

/// How `items` items of type T lie once this rank has sorted them into buckets of the points up to
/// `last`, or `None` if those are too many.
pub(crate) fn shape_of<T>(items: usize, last: u64) -> Option<OutboxShape> {
    let Capacity { parts, blocks, .. } = capacity::<T>(items, last, buckets_of(last)?);
    Some(OutboxShape { parts, stride: blocks + SPARE })
}

/// The buckets of one of the chunks of a run of buckets: none from chunk `chunks` on.
pub(crate) fn chunk_of(run: &Range<usize>, chunk: usize, chunks: usize) -> Range<usize> {
    let [start, end] = [chunk, chunk.saturating_add(1)].map(|number| {
        let number = number.min(chunks) as u128;
        // At most the run's length.
        run.start + (number * run.len() as u128 / chunks as u128) as usize
    });
    start..end
}

/// All ranks but one, from the one after it on, so that not all send to the same one first.
pub(crate) fn others(rank: usize, ranks: usize) -> impl Iterator<Item = usize> + Clone {
    (1..ranks).map(move |step| (rank + step) % ranks)
}

/// The ranks of an exchange of items of one type, as far as all of them know it: in which shapes
/// their buckets of the points up to `last` lie, and how many buckets each receives.
pub(crate) struct RankSizes<'a> {
    pub(crate) last: u64,
    pub(crate) shapes: &'a [OutboxShape],
    pub(crate) buckets: &'a [u64],
}

impl RankSizes<'_> {
    /// The blocks that a rank receives of each of its buckets.
    fn received(&self, rank: usize) -> u64 {
        let of_one = others(rank, self.shapes.len()).map(|other| self.shapes[other].blocks(1, 0));
        of_one.fold(0, u64::saturating_add)
    }

    /// The bytes that a rank takes to sort items of type T, and to put in order what it is sent in
    /// this number of chunks.
    pub(crate) fn working_bytes<T>(&self, rank: usize, chunks: u64) -> u64 {
        let buckets = bucket_count(self.last).unwrap_or(0) as u64;
        // Each part also has an open block for each bucket while it is sorted.
        let sorted = self.shapes[rank].blocks(buckets, 1);
        // One chunk arrives while the one before it is put in order.
        let at_once = self.buckets[rank].div_ceil(chunks.max(1)).saturating_mul(chunks.min(2));
        let received = self.received(rank).saturating_mul(at_once);
        let bucket = (most_items() * size_of::<T>()) as u64 + TAKEN_BYTES;
        let threads = (self.shapes[rank].parts as u64).saturating_mul(bucket);
        // Each of a dozen buffers at most begins on a line.
        let lines = 12 * LINE as u64;
        let blocks = sorted.saturating_add(received).saturating_mul(BLOCK_BYTES as u64);
        blocks.saturating_add(threads).saturating_add(lines)
    }

    /// The recommended number of chunks for buckets of items of type T, so that no rank takes more
    /// than `memory` bytes: as many as are large enough, or more where the memory is too little for
    /// those; but no more than a rank has buckets.
    pub(crate) fn chunks<T>(&self, memory: u64) -> u64 {
        let most = self.buckets.iter().copied().max().unwrap_or(0).max(1);
        let usual = (0..self.shapes.len()).map(|rank| {
            let bytes = self.received(rank).saturating_mul(BLOCK_BYTES as u64);
            let buckets = self.buckets[rank];
            let threads = self.shapes[rank].parts.max(1) as u64;
            let of_bytes = bytes.saturating_mul(buckets) / tuning::CHUNK_BYTES;
            of_bytes.min(buckets / threads.saturating_mul(tuning::CHUNK_BUCKETS))
        });
        let usual = usual.max().unwrap_or(1).clamp(1, most);
        let keeps_to = |chunks: u64| {
            (0..self.shapes.len()).all(|rank| self.working_bytes::<T>(rank, chunks) <= memory)
        };
        // From two on, more chunks never take more memory; and where one is too much, two are.
        let (mut least, mut enough) = (usual, most);
        if keeps_to(least) {
            return least;
        }
        while least + 1 < enough {
            let middle = least.midpoint(enough);
            if keeps_to(middle) {
                enough = middle;
            } else {
                least = middle;
            }
        }
        enough
    }
}
