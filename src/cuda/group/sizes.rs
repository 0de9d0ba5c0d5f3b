//! [`GroupSizes`]: the sizes of the partitioned strategy over a group.
//!
//! The buckets of the first pass are runs of slots, and each member owns a run of buckets: about
//! those of the places that it holds afterwards. A bucket has a part for each sender, so that a
//! sender takes room in it without asking anybody. Senders work in pieces: the part has room for
//! what one piece of a sender's items should put into the bucket.

#[cfg(test)]
pub(super) mod tests;

use core::ops::Range;

use super::shards::{MOST_MEMBERS, MemberShards};
use super::tuning;
use crate::compact::Direction;
use crate::cuda::runtime::device::GpuLimits;
use crate::cuda::runtime::plan::MOST_BYTES;
use crate::cuda::runtime::word_type::WordType;
use crate::cuda::shuffle::job::Job;
use crate::cuda::shuffle::sizes::{
    PartitionSizes, PassSizes, SurvivorTiles, capacity, most_bucket_bits, pass_room, pass_shared,
    place_fixed, place_shared,
};
use crate::cuda::shuffle::strategy::CudaStrategy;
use crate::cuda::shuffle::tuning as of_one;

/// The bytes of `Places` in gpu/group/exchange.cuh, in shared memory.
const PLACES: usize = 24;

/// The first pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FirstPass {
    /// Records of a thread.
    pub(super) records: u32,
    /// The number of bits by which it sorts.
    pub(super) bits: u32,
    /// Blocks that a multiprocessor should hold.
    pub(super) blocks: u32,
    /// Bits of a key below the bucket.
    pub(super) shift: u32,
    /// Bytes of shared memory of a block.
    pub(super) shared: usize,
}

impl FirstPass {
    /// The pass of which so many blocks fit on a multiprocessor.
    fn new(
        limits: &GpuLimits,
        [item, slot]: [usize; 2],
        bits: u32,
        shift: u32,
        blocks: u32,
    ) -> Option<Self> {
        let shared = |records| send_shared(item, slot, records, bits);
        let room = pass_room(limits, blocks);
        let records = (1..=of_one::PASS_RECORDS).rev().find(|&records| shared(records) <= room)?;
        Some(Self { records, bits, blocks, shift, shared: shared(records) })
    }

    /// Goes through slots, each of which survives with a probability of `density`. Returns the
    /// slots of a thread: whole runs of those that are counted. There must be room for one run.
    fn go_through_slots(
        &mut self,
        limits: &GpuLimits,
        [item, slot]: [usize; 2],
        density: f64,
    ) -> Option<u32> {
        let room = pass_room(limits, self.blocks);
        let tiles = SurvivorTiles::new(self.records, slot, density, room)?;
        self.records = tiles.records;
        self.shared = send_shared(item, slot, self.records, self.bits).max(tiles.shared);
        let slots = tiles.slots / tuning::COUNTED_SLOTS * tuning::COUNTED_SLOTS;
        (slots > 0).then_some(slots)
    }
}

/// The sizes of a sort over a group.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct GroupSizes {
    pub(super) word: WordType,
    /// The word in which slots are computed.
    pub(super) slot: WordType,
    /// The low bits of a key, which number the places of a bucket of the second pass.
    pub(super) bucket_bits: u32,
    /// The number of keys.
    points: u64,
    /// Whether every key occurs, so that there are no gaps.
    pub(super) dense: bool,
    pub(super) first: FirstPass,
    pub(super) second: PassSizes,
    /// The first bucket of each member, and the number of all buckets.
    owners: Vec<u64>,
    /// The pieces in which members send their items.
    pub(super) pieces: u64,
    /// The points that each member goes through: its items or, if they are counted, its slots.
    runs: Vec<u64>,
    /// How many of these points have an item, from 0 to 1.
    share: f64,
    /// The points that a thread of the first pass goes through: as many as it has records or, if
    /// slots are counted, as many slots as survivors hardly ever need more room than a tile has.
    pub(super) slots: u32,
    /// Records that a piece of each sender's items has room for in a bucket: the first and the last
    /// piece, and each of the others.
    parts: Vec<[u64; 2]>,
    /// The first slot that each member evaluates, and the number of all slots, if the members count
    /// their survivors first; otherwise empty.
    counted: Vec<u64>,
    /// Records that a bucket of the second pass has room for.
    pub(super) capacity: u64,
}

impl GroupSizes {
    /// The sizes for moving an array of words from where it is to where it goes; `None` if a
    /// strategy does not do it in pieces.
    pub(super) fn of_job(
        limits: &GpuLimits,
        job: &Job,
        strategy: CudaStrategy,
        word: WordType,
        [from, to]: [&MemberShards; 2],
        direction: Direction,
    ) -> Option<Self> {
        let is_chosen = match strategy {
            CudaStrategy::Partitioned => true,
            CudaStrategy::Auto => job.len >= tuning::PARTITION_ITEMS * from.members() as u64,
            _ => false,
        };
        // With fewer than one item for every eight points, the buckets would be nearly empty.
        if !is_chosen || !job.trusted || job.len <= job.last / 8 {
            return None;
        }
        let last = match direction {
            Direction::Shuffle => job.last,
            Direction::Unshuffle => job.len - 1,
        };
        Self::new(limits, word, [last, job.last], from, to)
    }

    /// The sizes for sorting the items of `from` by keys of at most `last`, so that they end in
    /// `to`; `None` if the strategy does not apply. The slots are at most `last_slot`, and are
    /// counted if the items are in the order of the survivors among them.
    pub(super) fn new(
        limits: &GpuLimits,
        word: WordType,
        [last, last_slot]: [u64; 2],
        from: &MemberShards,
        to: &MemberShards,
    ) -> Option<Self> {
        let (len, item) = (from.len(), word.bytes());
        if len == 0 || !(1 << 6..MOST_BYTES).contains(&last) {
            return None;
        }
        let key_bits = 64 - last.leading_zeros();
        let points = last + 1;
        let density = len as f64 / points as f64;
        let dense = len == points;
        let least_first_bits = match to.members() {
            ..=MOST_MEMBERS => 1,
            ranks => (tuning::LEAST_BUCKETS * ranks).next_power_of_two().ilog2(),
        };
        let most_bits = key_bits.saturating_sub(least_first_bits + 1).max(5);
        let best_bits = most_bucket_bits(limits, item, density, dense)?.min(most_bits);
        let capacity = |bits: u32| {
            let capacity = capacity(density * (1_u64 << bits) as f64, 1 << bits);
            let place = place_shared(item, capacity, dense) + place_fixed(bits, dense) + PLACES;
            (place <= limits.shared_per_block).then_some(capacity)
        };
        // Buckets are larger than is best where there would be too many. If those are too large,
        // the second pass sorts by a bit more than is best, and then the first by up to two.
        let (most_first, most_second) = (tuning::MOST_FIRST_BITS, of_one::PASS_BITS + 1);
        let passes = [(0, most_second - 1), (0, most_second), (1, most_second), (2, most_second)];
        let (bucket_bits, most_second_bits, capacity) = passes
            .into_iter()
            .map(|(more, bits)| {
                (best_bits.max(key_bits.saturating_sub(most_first + more + bits)), bits)
            })
            .filter(|&(bucket_bits, _)| bucket_bits <= u16::BITS)
            .find_map(|(bucket_bits, bits)| Some((bucket_bits, bits, capacity(bucket_bits)?)))?;
        let (first_bits, second_bits) =
            pass_bits(key_bits - bucket_bits, least_first_bits, most_second_bits);
        // That is at most 16 + 10 bits, so a key below the bucket fits 32.
        let shift = bucket_bits + second_bits;
        let slot = WordType::for_indexes(last.max(last_slot));
        let second = PassSizes {
            records: PartitionSizes::records(limits, item, second_bits)?,
            bits: second_bits,
            key: WordType::U16,
        };
        let buckets = (last >> shift) + 1;
        let owners = owners(to, last, shift, buckets);
        let counted = counted(from, last, last_slot);
        let of_blocks = |blocks| {
            let bytes = [item, slot.bytes()];
            let mut first = FirstPass::new(limits, bytes, first_bits, shift, blocks)?;
            let slots = match counted.is_empty() {
                true => first.records,
                false => {
                    first.go_through_slots(limits, bytes, len as f64 / (last_slot as f64 + 1.0))?
                }
            };
            Some((first, slots))
        };
        // Two blocks should fit on a multiprocessor, and one must. Slots of 64 bits take twice the
        // registers.
        let most_blocks = if slot == WordType::U32 { of_one::PASS_BLOCKS } else { 1 };
        let (first, slots) = (1..=most_blocks).rev().find_map(of_blocks)?;
        let ends = if counted.is_empty() { from.bounds() } else { &*counted };
        let runs: Vec<u64> = ends.windows(2).map(|run| run[1] - run[0]).collect();
        // Of the points that a member goes through, as many have an item as of all of them.
        let share = len as f64 / ends.last().map_or(1, |&end| end.max(1)) as f64;
        let mut sizes = Self {
            word,
            slot,
            bucket_bits,
            points,
            dense,
            first,
            second,
            owners,
            pieces: 1,
            runs,
            share,
            slots,
            parts: Vec::new(),
            counted,
            capacity,
        };
        sizes.set_rooms(match sizes.members() {
            1 => 1,
            _ => (sizes.longest_run() / tuning::PIECE_ITEMS).clamp(1, tuning::MOST_ROOMS),
        });
        Some(sizes)
    }

    /// The same with smaller pieces, for which there has to be half as much room; `None` if they
    /// would be too small.
    pub(super) fn in_smaller_pieces(&self) -> Option<Self> {
        let rooms = 2 * self.rooms();
        let is_enough = self.longest_run() / rooms >= tuning::LEAST_PIECE_ITEMS;
        (self.members() > 1 && is_enough).then(|| {
            let mut sizes = self.clone();
            sizes.set_rooms(rooms);
            sizes
        })
    }

    /// Sends items in pieces, such that this many of the largest are all items of a member.
    fn set_rooms(&mut self, rooms: u64) {
        self.pieces = if rooms == 1 { 1 } else { rooms + 1 };
        let (tile, shift) = (self.tile(), self.first.shift);
        let part = |run: u64, pieces: u64| {
            let points = (run.div_ceil(tile).div_ceil(pieces) * tile).min(run);
            let items = points as f64 * self.share;
            capacity(items * (1_u64 << shift) as f64 / self.points as f64, 1 << shift)
        };
        let halves = if rooms == 1 { 1 } else { 2 * rooms };
        self.parts = self.runs.iter().map(|&run| [part(run, halves), part(run, rooms)]).collect();
    }

    /// How many of the largest pieces all items of a member are.
    fn rooms(&self) -> u64 {
        self.pieces.saturating_sub(1).max(1)
    }

    /// The most points that a member goes through.
    fn longest_run(&self) -> u64 {
        self.runs.iter().copied().max().unwrap_or(0)
    }

    /// The points that a block of the first pass goes through.
    pub(super) fn tile(&self) -> u64 {
        u64::from(of_one::PASS_THREADS * self.slots)
    }

    /// Changes the number of bits by which the first pass sorts.
    #[cfg(test)]
    pub(super) fn sort_by(&mut self, bits: u32, array: &MemberShards) {
        let last = array.len() - 1;
        let shift = 64 - last.leading_zeros() - bits;
        let bytes = [array.item(), self.slot.bytes()];
        self.first =
            FirstPass::new(&tests::LIMITS, bytes, bits, shift, of_one::PASS_BLOCKS).unwrap();
        (self.bucket_bits, self.second.bits) = (shift - 1, 1);
        self.slots = self.first.records;
        self.runs.fill(array.len());
        self.owners = owners(array, last, shift, (last >> shift) + 1);
        self.parts.fill([capacity((1_u64 << shift) as f64, 1 << shift); 2]);
        self.capacity = 1 << (shift - 1);
    }

    /// Computes slots of 32 bits in 64.
    #[cfg(test)]
    pub(super) fn widen(&mut self, item: usize) {
        self.slot = WordType::U64;
        let (FirstPass { bits, shift, .. }, bytes) = (self.first, [item, self.slot.bytes()]);
        self.first = FirstPass::new(&tests::LIMITS, bytes, bits, shift, 1).unwrap();
        self.slots = match self.is_counted() {
            true => self.first.go_through_slots(&tests::LIMITS, bytes, self.share).unwrap(),
            false => self.first.records,
        };
        self.set_rooms(self.rooms());
    }

    /// The number of members.
    pub(super) fn members(&self) -> usize {
        self.runs.len()
    }

    /// The number of buckets of the first pass.
    pub(super) fn buckets(&self) -> u64 {
        self.owners[self.members()]
    }

    /// The buckets of the first pass that a member owns.
    pub(super) fn owned(&self, member: usize) -> Range<u64> {
        self.owners[member]..self.owners[member + 1]
    }

    /// The keys whose buckets a member owns.
    pub(super) fn keys(&self, member: usize) -> Range<u64> {
        let buckets = self.owned(member);
        let key = |bucket: u64| (bucket << self.first.shift).min(self.points);
        key(buckets.start)..key(buckets.end)
    }

    /// The number of buckets of the second pass that a member has.
    pub(super) fn small_buckets(&self, member: usize) -> u64 {
        let owned = self.owned(member);
        (owned.end - owned.start) << self.second.bits
    }

    /// Whether members count the survivors among their slots first.
    pub(super) fn is_counted(&self) -> bool {
        !self.counted.is_empty()
    }

    /// The slots that a member evaluates, if they are counted.
    pub(super) fn slots(&self, member: usize) -> Range<u64> {
        if self.is_counted() { self.counted[member]..self.counted[member + 1] } else { 0..0 }
    }

    /// The tiles that a member goes through: of its items or, if they are counted, of its slots.
    pub(super) fn tiles(&self, member: usize) -> u64 {
        self.runs[member].div_ceil(self.tile())
    }

    /// The runs of slots that a member counts, several in a tile.
    pub(super) fn counts(&self, member: usize) -> u64 {
        let slots = self.slots(member);
        let run = u64::from(of_one::PASS_THREADS * tuning::COUNTED_SLOTS);
        (slots.end - slots.start).div_ceil(run)
    }

    /// The tiles of a member's that are in a piece. The first and the last piece are half as large
    /// as the others, since nothing is on its way while the first is filled and the last is sorted.
    pub(super) fn piece(&self, member: usize, piece: u64) -> Range<u64> {
        let tiles = u128::from(self.tiles(member));
        let halves = u128::from(2 * self.rooms());
        let before = |piece: u64| match piece {
            0 => 0,
            last if last == self.pieces => halves,
            piece => u128::from(2 * piece - 1),
        };
        let first = |piece| (tiles * before(piece) / halves) as u64;
        first(piece)..first(piece + 1)
    }

    /// Records that a piece of a sender's items has room for in a bucket. All of them are copied to
    /// the bucket's owner.
    pub(super) fn part(&self, sender: usize, piece: u64) -> u64 {
        let [half, whole] = self.parts[sender];
        if piece == 0 || piece + 1 == self.pieces { half } else { whole }
    }

    /// The most records that a piece of a sender's items has room for in a bucket.
    pub(super) fn largest_part(&self, sender: usize) -> u64 {
        self.parts[sender].into_iter().max().unwrap_or(0)
    }

    /// Shared memory of a block of the second pass.
    pub(super) fn second_shared(&self) -> usize {
        pass_shared(self.word.bytes(), self.second.records, self.second.bits)
    }

    /// Shared memory of a block of the last pass.
    pub(super) fn place_shared(&self) -> usize {
        place_shared(self.word.bytes(), self.capacity, self.dense)
    }
}

/// The bits by which the two passes sort, at least 2 together. Each sorts by at least one. The
/// second sorts by at most `most_second`, and the first by the rest: at least `least_first`, if
/// there are that many.
fn pass_bits(all: u32, least_first: u32, most_second: u32) -> (u32, u32) {
    let second = match all.saturating_sub(of_one::SECOND_PASS_BITS) {
        0 => all - 1,
        first if first <= of_one::PASS_BITS => of_one::SECOND_PASS_BITS,
        _ => most_second,
    };
    let second = second.min(all.saturating_sub(least_first)).max(1);
    (all - second, second)
}

/// The first bucket of each member, and the number of all: each member owns the buckets that should
/// end up in its places by more than half.
fn owners(to: &MemberShards, last: u64, shift: u32, buckets: u64) -> Vec<u64> {
    let first = |member: usize| {
        let place = if member == to.members() { to.len() } else { to.places(member).start };
        let slot = u128::from(place) * (u128::from(last) + 1) / u128::from(to.len());
        (((slot + (1_u128 << (shift - 1))) >> shift) as u64).min(buckets)
    };
    let mut owners: Vec<u64> = (0..=to.members()).map(first).collect();
    owners[0] = 0;
    owners[to.members()] = buckets;
    owners
}

/// The first slot of each member, and the number of all: each member evaluates the slots whose
/// survivors should be its items. Where every slot survives, nothing needs to be counted.
fn counted(from: &MemberShards, last: u64, last_slot: u64) -> Vec<u64> {
    let (len, points) = (from.len(), last_slot + 1);
    // To shuffle, keys are slots, and items are in the order of the indexes.
    if last == last_slot {
        return Vec::new();
    }
    let first = |member: usize| {
        let place = if member == from.members() { len } else { from.places(member).start };
        (u128::from(place) * u128::from(points) / u128::from(len)) as u64
    };
    (0..=from.members()).map(first).collect()
}

/// The size of `Distribute` in gpu/shuffle/partitioned.cuh, for `Buckets` and slots of a size.
fn send_shared(item: usize, slot: usize, records: u32, bits: u32) -> usize {
    pass_shared(item + slot - 4, records, bits)
}
