//! [`InPlaceSizes`]: what the strategy in place does to an array of a length, and where its working
//! memory is.

use crate::compact::Direction;
use crate::cuda::runtime::device::GpuLimits;
use crate::cuda::runtime::plan::MOST_POINTS;
use crate::cuda::runtime::word_type::WordType;
use crate::cuda::shuffle::job::Job;
use crate::cuda::shuffle::sizes::{
    aligned, capacity, most_bucket_bits, pass_room, pass_shared, place_shared,
};
use crate::cuda::shuffle::tuning::{self, DirectShape, PlaceShape, Tiles};

/// The most lists of a bucket.
const MOST_LISTS: u64 = 1 << 13;

/// `SHARES` in gpu/shuffle/in_place/buckets.cuh.
const SHARES: usize = 1 << 13;

/// The bits of a block's number in its stripe: `NUMBER_BITS` in gpu/shuffle/in_place/blocks.cuh.
const NUMBER_BITS: u32 = 20;

/// The most blocks of an array, whose numbers have two flags beside them in a word.
const MOST_BLOCKS: u64 = 1 << 30;

/// The sizes for an array, its bijection and its direction.
///
/// `bits` high bits of a key are those of its bucket, and the bits below `part_bits` number the
/// places of a part of a bucket, which is put in order in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InPlaceSizes {
    pub(super) direction: Direction,
    pub(super) word: WordType,
    /// The word in which slots and indexes are computed.
    pub(super) index: WordType,
    /// The last slot.
    pub(super) last: u64,
    pub(super) len: u64,
    pub(super) bits: u32,
    /// Bits of a key below the bucket.
    pub(super) shift: u32,
    pub(super) part_bits: u32,
    /// Items of a block.
    pub(super) block: u32,
    /// Whether planes of bits say the bucket of each source, so that sources need not be listed.
    pub(super) planes: bool,
    /// A stripe has 2 to this power items.
    pub(super) stripe_bits: u32,
    /// A list has the sources of 2 to this power stripes.
    pub(super) together_bits: u32,
    /// Buckets that are put in order at the same time.
    pub(super) group: u64,
    pub(super) collect: Tiles,
    pub(super) list: Tiles,
    pub(super) spread: Tiles,
}

/// Where each part of the working memory begins, as offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InPlaceLayout {
    pub(super) rests: u64,
    pub(super) table: u64,
    pub(super) block_rows: u64,
    pub(super) item_rows: u64,
    pub(super) block_counts: u64,
    pub(super) item_counts: u64,
    pub(super) block_bases: u64,
    pub(super) item_bases: u64,
    pub(super) tile_counts: u64,
    pub(super) tile_bases: u64,
    pub(super) first_slots: u64,
    pub(super) planes: u64,
    pub(super) part_counts: u64,
    pub(super) list: u64,
    pub(super) list_keys: u64,
    pub(super) items: u64,
    pub(super) keys: u64,
    pub(super) bytes: u64,
}

/// Whether a job moves words of so few bytes that a copy of them is no loss.
pub(super) fn is_short(job: &Job) -> bool {
    let bytes = job.movement.word().map(|(_, word)| job.len * word.bytes() as u64);
    bytes.is_some_and(|bytes| bytes < tuning::IN_PLACE_LEAST_BYTES)
}

impl InPlaceSizes {
    /// The sizes for a job; `None` if the strategy does not apply, or takes too much memory.
    pub(super) fn new(job: &Job, limits: &GpuLimits) -> Option<Self> {
        let (_, word) = job.movement.word()?;
        let (direction, last, len) = (job.movement.direction(), job.last, job.len);
        let item = word.bytes();
        if last >= MOST_POINTS || is_short(job) {
            return None;
        }
        let index = WordType::for_indexes(last);
        let keys = match direction {
            Direction::Shuffle => last,
            Direction::Unshuffle => len - 1,
        };
        let is_back_with_gaps = direction == Direction::Unshuffle && len - 1 != last;
        // In a list with gaps, sources are differences of slots in 32 bits.
        if len <= last / tuning::IN_PLACE_SPARSE || is_back_with_gaps && index == WordType::U64 {
            return None;
        }
        let density = len as f64 / (keys as f64 + 1.0);
        let key_bits = 64 - keys.leading_zeros();
        let block = tuning::IN_PLACE_BLOCK_BYTES / item as u32;
        let collect = tuning::in_place_collect(item);
        let most_part_bits = most_bucket_bits(limits, item, density, false)?;
        let of = |bits: u32, planes: bool| {
            let shift = key_bits.checked_sub(bits)?;
            let with_parts = |part_bits: u32| {
                let spread = spread_pass(limits, item, shift - part_bits, planes)?;
                let list = tuning::IN_PLACE_LIST;
                let (stripe_bits, together_bits, group) = (0, 0, 1);
                let sizes = Self {
                    direction,
                    word,
                    index,
                    last,
                    len,
                    bits,
                    shift,
                    part_bits,
                    block,
                    planes,
                    stripe_bits,
                    together_bits,
                    group,
                    collect,
                    list,
                    spread,
                };
                let together = (0..=tuning::IN_PLACE_TOGETHER_BITS).rev();
                let striped = together.filter_map(|bits| sizes.with_stripes(bits, limits));
                let mut grouped = striped.filter(|sizes| sizes.fits(limits)).map(Self::set_group);
                grouped.find(|sizes| sizes.bytes() <= sizes.room())
            };
            let least = most_part_bits.min(shift);
            if planes {
                // Enough parts that the whole device has work.
                let least = least.min(shift.saturating_sub(tuning::IN_PLACE_PART_BITS));
                let few = |&part_bits: &u32| shift - part_bits <= tuning::IN_PLACE_PLANE_PART_BITS;
                return (least..=shift.min(u16::BITS)).filter(few).find_map(with_parts);
            }
            let most = shift.saturating_sub(tuning::IN_PLACE_PART_BITS).clamp(least, u16::BITS);
            // With fewer buckets there would be too many parts of one.
            if most > least && bits < tuning::IN_PLACE_BITS[tuning::IN_PLACE_BITS.len() - 1] {
                return None;
            }
            (least..=most).rev().find_map(with_parts)
        };
        let by_planes = || tuning::IN_PLACE_PLANES.into_iter().find_map(|bits| of(bits, true));
        let by_lists = || tuning::IN_PLACE_BITS.into_iter().find_map(|bits| of(bits, false));
        // Planes say the buckets of sources. To undo a shuffle with gaps, a source is the rank of a
        // slot, and its slot would still have to be found.
        let planes = if is_back_with_gaps { None } else { by_planes() };
        planes.or_else(by_lists)
    }

    /// The same with stripes; 2 to a power of them are spread together. There are enough stripes
    /// that the whole device has work, but so few that their rests take a small part of the array's
    /// memory.
    fn with_stripes(mut self, together: u32, limits: &GpuLimits) -> Option<Self> {
        // The sources that are spread together: as many as can be while the items of a bucket
        // hardly ever fill more than a tile. By planes that costs little, and there are no lists to
        // be listed.
        let keys = self.keys() as f64 + 1.0;
        let tile = f64::from(self.spread.threads * self.spread.records);
        let deviations = if self.planes { 2.0 } else { tuning::DEVIATIONS };
        let multiprocessors = u64::from(limits.multiprocessors);
        let least_lists = if self.planes { multiprocessors + multiprocessors / 2 } else { 0 };
        let lists = |range: u32| ((self.len - 1) >> range) + 1;
        let fits = |range: &u32| {
            let mean = (1_u64 << range) as f64 / keys * (1_u64 << self.shift) as f64;
            mean + deviations * mean.sqrt() <= tile && lists(*range) >= least_lists
        };
        // A stripe has whole blocks, and four whole words of a plane.
        let least = self.block.ilog2().max(7) + tuning::IN_PLACE_TOGETHER_BITS;
        let range = (least..u32::BITS).rev().find(fits)?;
        let lists = lists(range);
        let wanted = multiprocessors * tuning::IN_PLACE_STRIPES;
        let bytes = self.len * self.word.bytes() as u64;
        let rests = self.buckets() * u64::from(tuning::IN_PLACE_BLOCK_BYTES);
        let most = bytes / tuning::IN_PLACE_RESTS / rests;
        (self.stripe_bits, self.together_bits) = (range - together, together);
        (lists <= MOST_LISTS
            && lists << together <= most.max(1)
            && (together == 0 || lists << (together - 1) < wanted)
            && self.stripe_bits - self.block.ilog2() <= NUMBER_BITS
            && self.len / u64::from(self.block) < MOST_BLOCKS)
            .then_some(self)
    }

    /// Whether each kernel's shared memory is there.
    fn fits(&self, limits: &GpuLimits) -> bool {
        let most = limits.shared_per_block;
        let words = (1_usize << self.part_bits) / 32;
        self.collect_shared() <= most
            && self.list_shared() <= most
            && self.spread_shared() + spread_fixed(self.planes) <= most
            && self.place_shared() + 8 * words + 256 <= most
    }

    /// As many buckets at a time as there is room for.
    fn set_group(mut self) -> Self {
        let room = self.room();
        let fits = |&group: &u64| Self { group, ..self }.bytes() <= room;
        // A memory that is too small for one is seen by the caller.
        self.group = (1..=self.buckets()).rev().find(fits).unwrap_or(1);
        self
    }

    /// The most bytes of working memory.
    fn room(&self) -> u64 {
        self.len * self.word.bytes() as u64 / 100 * tuning::IN_PLACE_PERCENT
    }

    /// Whether not every slot survives.
    pub(super) fn has_gaps(&self) -> bool {
        self.len - 1 != self.last
    }

    /// Whether a shuffle is undone in which not every slot survives.
    pub(super) fn back_with_gaps(&self) -> bool {
        self.direction == Direction::Unshuffle && self.has_gaps()
    }

    /// Whether not every key has an item.
    pub(super) fn keys_with_gaps(&self) -> bool {
        self.direction == Direction::Shuffle && self.has_gaps()
    }

    /// The last key.
    pub(super) fn keys(&self) -> u64 {
        match self.direction {
            Direction::Shuffle => self.last,
            Direction::Unshuffle => self.len - 1,
        }
    }

    pub(super) fn buckets(&self) -> u64 {
        (self.keys() >> self.shift) + 1
    }

    pub(super) fn stripes(&self) -> u64 {
        ((self.len - 1) >> self.stripe_bits) + 1
    }

    pub(super) fn lists(&self) -> u64 {
        ((self.len - 1) >> (self.stripe_bits + self.together_bits)) + 1
    }

    /// The bins of the kernel that lists sources. They are of few kinds.
    pub(super) fn list_bins(&self) -> u32 {
        self.lists().next_power_of_two().max(MOST_LISTS / 8) as u32
    }

    /// The parts of a group of buckets.
    pub(super) fn parts(&self) -> u64 {
        self.group << (self.shift - self.part_bits)
    }

    /// The records of a part that are put in order in shared memory.
    pub(super) fn part_capacity(&self) -> u64 {
        let (slots, density) =
            (1_u64 << self.part_bits, self.len as f64 / (self.keys() as f64 + 1.0));
        capacity(density * slots as f64, slots)
    }

    /// The size of `Collect` in gpu/shuffle/in_place/blocks.cuh.
    pub(super) fn collect_shared(&self) -> usize {
        let (item, block, bins) = (self.word.bytes(), self.block as usize, 1_usize << self.bits);
        let (threads, tile) = (self.collect.threads as usize, self.collect.tile() as usize);
        let open = bins * block * item;
        let tile_bytes =
            (tile * item.max(4)).max(threads / 32 * bins * 2).next_multiple_of(item.max(2));
        let end = (open + tile_bytes).next_multiple_of(4) + 24 * bins;
        ((end + 2 * (tile / block + bins)).next_multiple_of(4) + 33 * 4).next_multiple_of(16)
    }

    /// The size of `Listed` in gpu/shuffle/in_place/buckets.cuh.
    pub(super) fn list_shared(&self) -> usize {
        self.list.tile() as usize * 10 + self.list_bins() as usize * 8 + 32 * 4
    }

    pub(super) fn spread_shared(&self) -> usize {
        let bits = self.shift - self.part_bits;
        spread_shared(self.word.bytes(), self.spread.records, bits, self.planes)
    }

    pub(super) fn place_shared(&self) -> usize {
        place_shared(self.word.bytes(), self.part_capacity(), !self.keys_with_gaps())
    }

    /// The shape of the kernel that puts parts in order.
    pub(super) fn place(&self) -> PlaceShape {
        let bytes = self.part_capacity() * self.word.bytes() as u64;
        match self.keys_with_gaps() {
            false if bytes > tuning::PLACE_BYTES => tuning::IN_PLACE_PLACE_LARGE,
            gaps => tuning::place(!gaps),
        }
    }

    /// Survivors are counted in tiles of 2 to this power slots, none of which is in two parts.
    pub(super) fn counted_bits(&self) -> u32 {
        self.part_bits.min(tuning::IN_PLACE_COUNTED.tile().ilog2())
    }

    pub(super) fn counted_shape(&self) -> DirectShape {
        let shape = tuning::IN_PLACE_COUNTED;
        DirectShape { slots: (1 << self.counted_bits()) / shape.threads, ..shape }
    }

    pub(super) fn counted_tiles(&self) -> u64 {
        (self.last >> self.counted_bits()) + 1
    }

    fn bytes(&self) -> u64 {
        self.layout().bytes
    }

    pub(super) fn layout(&self) -> InPlaceLayout {
        let mut bytes = 0;
        let mut take = |number: u64, size: u64| {
            let at = bytes;
            bytes = aligned(at + number * size);
            at
        };
        let (item, buckets, stripes) = (self.word.bytes() as u64, self.buckets(), self.stripes());
        let block = u64::from(self.block);
        // A bucket has at most as many items as keys.
        let grouped = (self.group << self.shift).min(self.len);
        let tiles = if self.has_gaps() { self.counted_tiles() } else { 0 };
        let slots = if self.back_with_gaps() { stripes } else { 0 };
        let (planes, listed) = if self.planes { (u64::from(self.bits), 0) } else { (0, grouped) };
        let mut layout = InPlaceLayout {
            rests: take(stripes * buckets * block, item),
            block_rows: take(buckets * (stripes + 1), 4),
            item_rows: take(buckets * (stripes + 1), 4),
            block_counts: take(buckets, 4),
            item_counts: take(buckets, 4),
            block_bases: take(buckets, 8),
            item_bases: take(buckets, 8),
            tile_counts: take(tiles, 4),
            tile_bases: take(tiles, 8),
            first_slots: take(slots, 8),
            planes: take(planes * self.len.div_ceil(128), 16),
            part_counts: take(self.parts(), 4),
            list: take(listed, 4),
            list_keys: take(listed, 4),
            items: take(grouped, item),
            keys: take(grouped, 2),
            // Once the blocks are exchanged, the table's memory is that of a group.
            table: 0,
            bytes: 0,
        };
        layout.table = layout.list;
        layout.bytes = bytes.max(aligned(layout.table + self.len / block * 4));
        layout
    }
}

/// The largest tiles of a pass that spreads items of a size by some bits. Two should fit on a
/// multiprocessor, and one must.
fn spread_pass(limits: &GpuLimits, item: usize, bits: u32, planes: bool) -> Option<Tiles> {
    let pass = tuning::IN_PLACE_SPREAD;
    let fits = |room: usize| {
        let fits = |&records: &u32| {
            spread_shared(item, records, bits, planes) + spread_fixed(planes) <= room
        };
        (1..=pass.records).rev().find(fits)
    };
    let two = fits(pass_room(limits, 2)).filter(|&records| 2 * records >= pass.records);
    let one = || fits(pass_room(limits, 1));
    Some(Tiles { records: two.or_else(one)?, ..pass })
}

/// The size of `Spread` in gpu/shuffle/in_place/buckets.cuh, or that of its last field.
fn spread_shared(item: usize, records: u32, bits: u32, planes: bool) -> usize {
    let tile = (tuning::IN_PLACE_SPREAD.threads * records) as usize;
    let more = (4 * (tile + SHARES + 1)).saturating_sub(tile * item).max(1).next_multiple_of(16);
    pass_shared(item, records, bits) + if planes { 0 } else { more }
}

/// At least what the pass has beside it: where its items are and, by planes, the counts of rounds.
fn spread_fixed(planes: bool) -> usize {
    if planes { 1536 } else { 256 }
}
