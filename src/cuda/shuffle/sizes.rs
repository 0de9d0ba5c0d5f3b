//! [`PartitionSizes`]: the sizes of the partitioned strategy for a length.

use super::tuning;
use crate::cuda::runtime::device::GpuLimits;
use crate::cuda::runtime::plan::MOST_BYTES;
use crate::cuda::runtime::word_type::WordType;

/// The sizes of a sort: what is sorted, and in which passes. Keys and slots have 32 bits, so a
/// domain has at most 2^32 points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartitionSizes {
    word: WordType,
    /// The last key, a slot or an index.
    last: u32,
    /// The low bits of a key, which number the places of a bucket. A bucket is put in order in
    /// shared memory.
    pub(crate) bucket_bits: u32,
    /// Whether every key occurs, so that there are no gaps.
    pub(crate) dense: bool,
    pub(crate) first: Level,
    /// The second pass, if one is not enough.
    pub(crate) second: Option<Level>,
}

/// The sizes of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PassSizes {
    /// Records of a thread.
    pub(crate) records: u32,
    /// The number of bits by which the pass sorts.
    pub(crate) bits: u32,
    /// The word of the keys that it writes.
    pub(crate) key: WordType,
}

/// A pass and its buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Level {
    pub(crate) pass: PassSizes,
    /// Bits of a key below the bucket.
    pub(crate) shift: u32,
    pub(crate) buckets: u64,
    /// Records that a bucket has room for.
    pub(crate) capacity: u64,
}

impl Level {
    fn items_bytes(&self, item: usize) -> u64 {
        aligned(self.buckets * self.capacity * item as u64)
    }

    fn keys_bytes(&self) -> u64 {
        aligned(self.buckets * self.capacity * self.pass.key.bytes() as u64)
    }
}

/// Where each part of the strategy's memory begins, as offsets into the working memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartitionedLayout {
    /// The counts of both levels' buckets. They and the overflow word after them, which says that
    /// a bucket has overflowed, must be cleared.
    pub(crate) counts: [u64; 2],
    pub(crate) overflow: u64,
    pub(crate) cleared_bytes: u64,
    pub(crate) bases: u64,
    pub(crate) items: [u64; 2],
    pub(crate) keys: [u64; 2],
    pub(crate) bytes: u64,
}

impl PartitionSizes {
    /// The sizes for `len` items whose keys are at most `last`; `None` if the strategy does not
    /// apply.
    pub(crate) fn new(limits: &GpuLimits, word: WordType, len: u64, last: u64) -> Option<Self> {
        let last = u32::try_from(last).ok()?;
        if last < 1 << 6 {
            return None;
        }
        let item = word.bytes();
        let key_bits = 32 - last.leading_zeros();
        let points = u64::from(last) + 1;
        let density = len as f64 / points as f64;
        let dense = len == points;
        let most_bits = most_bucket_bits(limits, item, density, dense)?.min(key_bits - 1);
        let above = key_bits - most_bits;
        // Buckets no larger than necessary.
        let (bits, bucket_bits) = match above {
            0..=tuning::PASS_BITS => ((above, 0), most_bits),
            _ => {
                let second = tuning::SECOND_PASS_BITS.max(above.saturating_sub(tuning::PASS_BITS));
                ((above - second, second), most_bits)
            }
        };
        if bits.0 > tuning::PASS_BITS || bits.1 > tuning::PASS_BITS {
            return None;
        }
        let records = Self::records(limits, item, tuning::PASS_BITS)?;
        let level = |bits, shift: u32, key| {
            let buckets = (u64::from(last) >> shift) + 1;
            let capacity = capacity(density * (1_u64 << shift) as f64, 1 << shift);
            Level { pass: PassSizes { records, bits, key }, shift, buckets, capacity }
        };
        let (first, second) = match bits {
            (bits, 0) => (level(bits, bucket_bits, WordType::U16), None),
            (first, second) => (
                level(first, bucket_bits + second, WordType::U32),
                Some(level(second, bucket_bits, WordType::U16)),
            ),
        };
        let partition = Self { word, last, bucket_bits, dense, first, second };
        let place = partition.place_shared() + place_fixed(bucket_bits, dense);
        (place <= limits.shared_per_block && partition.layout().bytes <= MOST_BYTES)
            .then_some(partition)
    }

    /// The number of records that a thread can hold in a pass that sorts by a number of bits: two
    /// blocks should fit on a multiprocessor, and one must.
    pub(crate) fn records(limits: &GpuLimits, item: usize, bits: u32) -> Option<u32> {
        let room = pass_room(limits, tuning::PASS_BLOCKS);
        (1..=tuning::PASS_RECORDS).rev().find(|&records| pass_shared(item, records, bits) <= room)
    }

    /// The same sort, whose first pass goes through slots, each of which survives with a
    /// probability of `density`, and how it does; `None` if there is no room for it.
    pub(crate) fn through_slots(
        mut self,
        limits: &GpuLimits,
        density: f64,
    ) -> Option<(Self, SurvivorTiles)> {
        let room = pass_room(limits, tuning::PASS_BLOCKS);
        let tiles = SurvivorTiles::new(self.first.pass.records, 4, density, room)?;
        self.first.pass.records = tiles.records;
        Some((self, tiles))
    }

    /// Shared memory of a block of a pass.
    pub(crate) fn pass_shared(&self, pass: PassSizes) -> usize {
        pass_shared(self.word.bytes(), pass.records, pass.bits)
    }

    /// Shared memory of a block that places a bucket.
    pub(crate) fn place_shared(&self) -> usize {
        place_shared(self.word.bytes(), self.last_level().capacity, self.dense)
    }

    /// The level whose buckets are placed.
    pub(crate) fn last_level(&self) -> &Level {
        self.second.as_ref().unwrap_or(&self.first)
    }

    /// The layout of the working memory.
    pub(crate) fn layout(&self) -> PartitionedLayout {
        let second = self.second.as_ref();
        let first_counts = self.first.buckets * 4;
        let second_counts = second.map_or(0, |level| level.buckets * 4);
        let overflow = first_counts + second_counts;
        let cleared_bytes = overflow + 4;
        let bases = aligned(cleared_bytes);
        let mut at = aligned(bases + self.last_level().buckets * 8);
        let mut take = |bytes| {
            let here = at;
            at += bytes;
            here
        };
        let mut items = [0; 2];
        let mut keys = [0; 2];
        for (k, level) in [Some(&self.first), second].into_iter().flatten().enumerate() {
            items[k] = take(level.items_bytes(self.word.bytes()));
            keys[k] = take(level.keys_bytes());
        }
        PartitionedLayout {
            counts: [0, first_counts],
            overflow,
            cleared_bytes,
            bases,
            items,
            keys,
            bytes: at,
        }
    }
}

/// The most bits of a bucket that is put in order in shared memory, where each slot is taken with a
/// probability of `density`.
pub(crate) fn most_bucket_bits(
    limits: &GpuLimits,
    item: usize,
    density: f64,
    dense: bool,
) -> Option<u32> {
    let fits = |bits: u32| {
        let room = limits.shared_per_block.saturating_sub(place_fixed(bits, dense)) as u64;
        let records = density * (1_u64 << bits) as f64;
        let record = if dense { item } else { item + 2 };
        records * item as f64 <= tuning::PLACE_BYTES as f64
            && records * record as f64 <= room as f64
    };
    (5..=16).rev().find(|&bits| fits(bits))
}

/// The tiles of a pass over slots that do not all survive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SurvivorTiles {
    /// Records of a thread: survivors.
    pub(crate) records: u32,
    /// Slots of a thread. With more than it has records, the survivors may be too many for a tile.
    pub(crate) slots: u32,
    /// The shared memory in which a block collects survivors, before it distributes them there.
    pub(crate) shared: usize,
}

impl SurvivorTiles {
    /// For slots in words of `word` bytes, which survive with a probability of `density`, and
    /// blocks with `room` bytes of shared memory: at most `records` records, and as many slots as
    /// can be while their survivors hardly ever need more room than a tile has.
    ///
    /// The number of records does not depend on the density, since there is a kernel for each.
    pub(crate) fn new(records: u32, word: usize, density: f64, room: usize) -> Option<Self> {
        let shared = |records, slots| survivors_shared(records, slots, word);
        let fits =
            |&records: &u32| shared(records, slots_for(records, tuning::USUAL_DENSITY)) <= room;
        let records = (1..=records).rev().find(fits)?;
        let most = slots_for(records, density);
        let slots = (records..=most).rev().find(|&slots| shared(records, slots) <= room)?;
        Some(Self { records, slots, shared: shared(records, slots) })
    }
}

/// How many slots a thread of a pass evaluates that has `records` records, where each slot survives
/// with a probability of `density`.
fn slots_for(records: u32, density: f64) -> u32 {
    let fits = |slots: &u32| {
        let mean = f64::from(slots * tuning::PASS_THREADS) * density;
        let deviation = (mean * (1.0 - density)).sqrt();
        mean + tuning::DEVIATIONS * deviation <= f64::from(records * tuning::PASS_THREADS)
    };
    let most = (f64::from(records) / density) as u32;
    (records..=most).rev().find(fits).unwrap_or(records)
}

/// The room for a bucket's records: `mean` on average, and at most `most`.
pub(crate) fn capacity(mean: f64, most: u64) -> u64 {
    let room = (mean + tuning::DEVIATIONS * mean.sqrt()).ceil() as u64 + 32;
    // A multiple of whole cache lines, so that each bucket's records begin at a line.
    room.min(most).next_multiple_of(64)
}

/// The dynamic shared memory of a block that puts a bucket of a capacity in order.
pub(crate) fn place_shared(item: usize, capacity: u64, dense: bool) -> usize {
    // Where there are gaps, the keys are kept in shared memory with the items.
    let record = if dense { item } else { item + 2 };
    (capacity as usize * record).next_multiple_of(16)
}

/// The static shared memory of `order_bucket` in gpu/shuffle/partitioned.cuh in addition to the
/// items: two words for every 32 slots if there are gaps, and the words of a block-wide sum.
pub(crate) fn place_fixed(bucket_bits: u32, dense: bool) -> usize {
    let words = if dense { 1 } else { (1 << bucket_bits) / 32 };
    8 * words + 32 * 4
}

/// Rounds up to a multiple of 256, the alignment of the driver's own allocations.
pub(crate) fn aligned(bytes: u64) -> u64 {
    bytes.next_multiple_of(256)
}

/// What each of some blocks on a multiprocessor may take of its shared memory.
pub(crate) fn pass_room(limits: &GpuLimits, blocks: u32) -> usize {
    // A block takes a kilobyte more than it asks for.
    let share = limits.shared_per_multiprocessor / blocks as usize - 1024;
    share.min(limits.shared_per_block)
}

/// What `Survivors` in gpu/shuffle/partitioned.cuh needs for slots in words of `word` bytes.
fn survivors_shared(records: u32, slots: u32, word: usize) -> usize {
    32 * 4 + (tuning::PASS_THREADS * (records + slots)) as usize * word
}

/// The size of `Distribute` in gpu/shuffle/partitioned.cuh, for `Buckets`.
pub(crate) fn pass_shared(item: usize, records: u32, bits: u32) -> usize {
    let tile = (tuning::PASS_THREADS * records) as usize;
    let bins = 1 << bits;
    (tile * (item + 4)).next_multiple_of(8) + bins * 12 + 32 * 4 + 16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::tests::LARGE;

    #[test]
    fn tiles_of_survivors_fit_and_hardly_ever_overflow() {
        for shared in [48 << 10, 64 << 10, 100 << 10, 164 << 10, 228 << 10] {
            let limits =
                GpuLimits { shared_per_block: shared, shared_per_multiprocessor: shared, ..LARGE };
            let room = pass_room(&limits, tuning::PASS_BLOCKS);
            for word in [4, 8] {
                let usual = SurvivorTiles::new(11, word, tuning::USUAL_DENSITY, room).unwrap();
                for density in [0.125, 0.3, 0.5, 0.500_000_1, 0.7, 0.999] {
                    let tiles = SurvivorTiles::new(11, word, density, room).unwrap();
                    let SurvivorTiles { records, slots, shared } = tiles;
                    assert_eq!(records, usual.records);
                    assert!(shared <= room && records <= slots);
                    let mean = f64::from(slots * tuning::PASS_THREADS) * density;
                    let most = mean + tuning::DEVIATIONS * (mean * (1.0 - density)).sqrt();
                    let tile = f64::from(records * tuning::PASS_THREADS);
                    assert!(slots == records || most <= tile, "{tiles:?}, {density}");
                }
            }
        }
    }

    /// Where there is room for them, as on every device with 228 KiB.
    #[test]
    fn survivors_nearly_fill_a_tile() {
        let room = pass_room(&LARGE, tuning::PASS_BLOCKS);
        for (density, slots) in [(0.5, 20), (0.75, 14), (0.99, 11)] {
            let tiles = SurvivorTiles::new(11, 4, density, room).unwrap();
            assert_eq!((tiles.records, tiles.slots), (11, slots));
        }
    }
}
