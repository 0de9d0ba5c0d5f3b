//! [`Sizes`]: the sizes of the partitioned strategy over a group, and [`Layout`], where a member
//! keeps its part.
//!
//! The buckets of the first pass are runs of slots, and each member owns a run of buckets: about
//! those of the places that it holds afterwards. A bucket has a part for each sender, so that a
//! sender takes room in it without asking anybody.

use core::ops::Range;

use super::shards::Shards;
use super::tuning;
use crate::cuda::runtime::device::Limits;
use crate::cuda::runtime::plan::MOST_BYTES;
use crate::cuda::runtime::word_type::WordType;
use crate::cuda::shuffle::sizes::{
    Partition, Pass, aligned, capacity, most_bucket_bits, pass_shared, place_fixed, place_shared,
};
use crate::cuda::shuffle::tuning as of_one;

/// The first pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct First {
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

/// The sizes of a sort over a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) word: WordType,
    /// The word in which slots are computed.
    pub(super) slot: WordType,
    /// The low bits of a key, which number the places of a bucket of the second pass.
    pub(super) bucket_bits: u32,
    /// Whether every key occurs, so that there are no gaps.
    pub(super) dense: bool,
    pub(super) first: First,
    pub(super) second: Pass,
    /// The first bucket of each member, and the number of all buckets.
    owners: Vec<u64>,
    /// Records that each sender's part of a bucket has room for.
    sent: Vec<u64>,
    /// The first slot that each member evaluates, and the number of all slots, if the members count
    /// their survivors first; otherwise empty.
    counted: Vec<u64>,
    /// Records that a bucket of the second pass has room for.
    pub(super) capacity: u64,
}

impl Sizes {
    /// The sizes for sorting the items of `from` by keys of at most `last`, so that they end in
    /// `to`; `None` if the strategy does not apply. The slots are at most `last_slot`, and are
    /// counted if the items are in the order of the survivors among them.
    pub(super) fn new(
        limits: &Limits,
        word: WordType,
        [last, last_slot]: [u64; 2],
        from: &Shards,
        to: &Shards,
    ) -> Option<Self> {
        let (len, item) = (from.len(), word.bytes());
        if len == 0 || !(1 << 6..MOST_BYTES).contains(&last) {
            return None;
        }
        let key_bits = 64 - last.leading_zeros();
        let points = last + 1;
        let density = len as f64 / points as f64;
        let dense = len == points;
        let bucket_bits = most_bucket_bits(limits, item, density, dense)?.min(key_bits - 2);
        let above = key_bits - bucket_bits;
        let first_bits =
            tuning::FIRST_BITS.min(above - 1).max(above.saturating_sub(tuning::MOST_SECOND_BITS));
        let second_bits = above - first_bits;
        let shift = bucket_bits + second_bits;
        // The second pass leaves `shift` at most 16 + 9 bits, so a key below the bucket fits 32.
        if first_bits > tuning::MOST_FIRST_BITS {
            return None;
        }
        let slot = WordType::for_indexes(last.max(last_slot));
        let first = first_pass(limits, item, slot, first_bits, shift)?;
        let second = Pass {
            records: Partition::records(limits, item)?,
            bits: second_bits,
            key: WordType::U16,
        };
        let buckets = (last >> shift) + 1;
        let owners = owners(to, last, shift, buckets);
        let part = |member: usize| {
            let places = from.places(member);
            let mean = (places.end - places.start) as f64 * (1_u64 << shift) as f64 / points as f64;
            capacity(mean, 1 << shift)
        };
        let sent = (0..from.members()).map(part).collect();
        let capacity = capacity(density * (1_u64 << bucket_bits) as f64, 1 << bucket_bits);
        let place = place_shared(item, capacity, dense) + place_fixed(bucket_bits, dense);
        let counted = counted(from, last, last_slot);
        let sizes =
            Self { word, slot, bucket_bits, dense, first, second, owners, sent, counted, capacity };
        let fits = |member| sizes.layout(member).bytes <= MOST_BYTES;
        (place <= limits.shared_per_block && (0..to.members()).all(fits)).then_some(sizes)
    }

    /// Changes the number of bits by which the first pass sorts.
    #[cfg(test)]
    pub(super) fn sort_by(&mut self, bits: u32, array: &Shards) {
        let last = array.len() - 1;
        let shift = 64 - last.leading_zeros() - bits;
        self.first = first_pass(&tests::LIMITS, array.item(), self.slot, bits, shift).unwrap();
        (self.bucket_bits, self.second.bits) = (shift - 1, 1);
        self.owners = owners(array, last, shift, (last >> shift) + 1);
        self.sent.fill(capacity((1_u64 << shift) as f64, 1 << shift));
        self.capacity = 1 << (shift - 1);
    }

    /// The number of members.
    pub(super) fn members(&self) -> usize {
        self.sent.len()
    }

    /// The number of buckets of the first pass.
    pub(super) fn buckets(&self) -> u64 {
        self.owners[self.members()]
    }

    /// The buckets of the first pass that a member owns.
    pub(super) fn owned(&self, member: usize) -> Range<u64> {
        self.owners[member]..self.owners[member + 1]
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

    /// The tiles of slots that a member counts.
    pub(super) fn tiles(&self, member: usize) -> u64 {
        let slots = self.slots(member);
        let tile = u64::from(of_one::PASS_THREADS * self.first.records);
        (slots.end - slots.start).div_ceil(tile)
    }

    /// Records that a sender's part of a bucket has room for.
    pub(super) fn part(&self, sender: usize) -> u64 {
        self.sent[sender]
    }

    /// Shared memory of a block of the second pass.
    pub(super) fn second_shared(&self) -> usize {
        pass_shared(self.word.bytes(), self.second.records, self.second.bits)
    }

    /// Shared memory of a block of the last pass.
    pub(super) fn place_shared(&self) -> usize {
        place_shared(self.word.bytes(), self.capacity, self.dense)
    }

    /// Where a member keeps what.
    pub(super) fn layout(&self, member: usize) -> Layout {
        let mut at = 0;
        let mut take = |bytes| {
            let here = at;
            at = aligned(at + bytes);
            here
        };
        let owned = self.owned(member);
        let (owned, small) = (owned.end - owned.start, self.small_buckets(member));
        let item = self.word.bytes() as u64;
        let sent = take(self.buckets() * 4);
        let counts = take(small * 4);
        let overflow = take(4);
        let tiles = if self.is_counted() { self.tiles(member) + 1 } else { 0 };
        let tile_counts = take(tiles * 4);
        let tile_bases = take(tiles * 8);
        let rank = take(8);
        let any = take(4);
        let received = take(self.members() as u64 * owned * 4);
        let before = take(8);
        let bases = take(small * 8);
        let parts = self.sent.iter().map(|&part| {
            let records = owned * part;
            Records { items: take(records * item), keys: take(records * 4) }
        });
        let parts = parts.collect();
        let records = small * self.capacity;
        let small = Records { items: take(records * item), keys: take(records * 2) };
        Layout {
            sent,
            counts,
            overflow,
            tile_counts,
            tile_bases,
            rank,
            any,
            received,
            before,
            bases,
            parts,
            small,
            bytes: at,
        }
    }
}

/// Where records begin, as offsets into a member's working memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Records {
    pub(super) items: u64,
    pub(super) keys: u64,
}

/// Where each part of a member's working memory begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// How many records it has sent to each bucket of all members.
    pub(super) sent: u64,
    /// The counts of its buckets of the second pass.
    pub(super) counts: u64,
    /// Says that a bucket has overflowed. It and what comes before it must be cleared.
    pub(super) overflow: u64,
    /// The survivors of each tile of its slots, and a zero.
    pub(super) tile_counts: u64,
    /// The survivors of its slots before each tile, and of all.
    pub(super) tile_bases: u64,
    /// The survivors before its slots.
    pub(super) rank: u64,
    /// Whether a bucket of any member has.
    pub(super) any: u64,
    /// For each sender, how many records came to each of its buckets.
    pub(super) received: u64,
    /// The number of records before its own.
    pub(super) before: u64,
    /// The number of its own records before each bucket of the second pass.
    pub(super) bases: u64,
    /// For each sender, its parts of this member's buckets.
    pub(super) parts: Vec<Records>,
    /// The buckets of the second pass.
    pub(super) small: Records,
    pub(super) bytes: u64,
}

/// The first bucket of each member, and the number of all: each member owns the buckets of which
/// more than half should end in its places.
fn owners(to: &Shards, last: u64, shift: u32, buckets: u64) -> Vec<u64> {
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

/// The first slot of each member, and the number of all: each member evaluates the slots of which
/// the survivors should be its items. Where every slot survives, nothing needs to be counted.
fn counted(from: &Shards, last: u64, last_slot: u64) -> Vec<u64> {
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

/// The shape of the first pass: two blocks should fit on a multiprocessor, and one must.
fn first_pass(
    limits: &Limits,
    item: usize,
    slot: WordType,
    bits: u32,
    shift: u32,
) -> Option<First> {
    // A block takes a kilobyte more than it asks for.
    let room = |blocks: usize| {
        (limits.shared_per_multiprocessor / blocks - 1024).min(limits.shared_per_block)
    };
    // Slots of 64 bits take twice the registers.
    let blocks = if slot == WordType::U32 { of_one::PASS_BLOCKS } else { 1 };
    let shared = |records| send_shared(item, slot.bytes(), records, bits);
    let records = (1..=of_one::PASS_RECORDS)
        .rev()
        .find(|&records| shared(records) <= room(blocks as usize))?;
    Some(First { records, bits, blocks, shift, shared: shared(records) })
}

/// The size of `Distribute` in gpu/shuffle/partitioned.cuh, for `Outbox` in gpu/group/exchange.cuh,
/// and of the counts of warps.
fn send_shared(item: usize, slot: usize, records: u32, bits: u32) -> usize {
    let tile = (of_one::PASS_THREADS * records) as usize;
    let bins = 1 << bits;
    (tile * (item + slot)).next_multiple_of(8) + bins * 20 + 2 * 32 * 4 + 16
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Those of an H100.
    pub(crate) const LIMITS: Limits = Limits {
        multiprocessors: 132,
        threads_per_multiprocessor: 2048,
        shared_per_block: 227 << 10,
        shared_per_multiprocessor: 228 << 10,
        l2_bytes: 50 << 20,
    };

    fn even(len: u64, members: u64, item: usize) -> Shards {
        let end = |member| len * member / members;
        Shards::new((0..members).map(|m| (256, (end(m + 1) - end(m)) as usize)), item)
    }

    #[test]
    fn every_bucket_has_an_owner_whose_places_it_holds() {
        for members in 1..=9 {
            for len in [1_u64 << 10, 1 << 20, (1 << 29) + 1, 3 << 28, 1 << 31, 1 << 33] {
                for last in [len - 1, (len + 1).next_power_of_two() - 1] {
                    let shards = even(len, members, 8);
                    let Some(sizes) =
                        Sizes::new(&LIMITS, WordType::U64, [last; 2], &shards, &shards)
                    else {
                        panic!("{len} of {last} over {members}");
                    };
                    assert_eq!(sizes.owners[0], 0);
                    assert!(sizes.owners.is_sorted());
                    assert_eq!(sizes.buckets(), (last >> sizes.first.shift) + 1);
                    // The buckets are as evenly spread as whole buckets can be.
                    let share = sizes.buckets().div_ceil(members) + 1;
                    for member in 0..members as usize {
                        let owned = sizes.owned(member);
                        assert!(owned.end - owned.start <= share, "{len}, {members}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_parts_of_a_members_memory_do_not_overlap() {
        let (from, to) =
            (even(1 << 25, 3, 8), Shards::new([(256, 0), (256, 1 << 24), (256, 1 << 24)], 8));
        let sizes =
            Sizes::new(&LIMITS, WordType::U64, [(1 << 25) - 1, (1 << 26) - 1], &from, &to).unwrap();
        assert!(sizes.owned(0).is_empty());
        for member in 0..3 {
            let owned = sizes.owned(member);
            let owned = owned.end - owned.start;
            let small = sizes.small_buckets(member);
            let layout = sizes.layout(member);
            let mut parts = vec![
                (layout.sent, sizes.buckets() * 4),
                (layout.counts, small * 4),
                (layout.overflow, 4),
                (layout.tile_counts, 4 * (sizes.tiles(member) + 1)),
                (layout.tile_bases, 8 * (sizes.tiles(member) + 1)),
                (layout.rank, 8),
                (layout.any, 4),
                (layout.received, 3 * owned * 4),
                (layout.before, 8),
                (layout.bases, small * 8),
            ];
            for (sender, records) in layout.parts.iter().enumerate() {
                parts.push((records.items, owned * sizes.part(sender) * 8));
                parts.push((records.keys, owned * sizes.part(sender) * 4));
            }
            parts.push((layout.small.items, small * sizes.capacity * 8));
            parts.push((layout.small.keys, small * sizes.capacity * 2));
            let mut end = 0;
            for (first, bytes) in parts {
                assert!(first >= end && first % 256 == 0);
                end = first + bytes;
            }
            assert!(layout.bytes >= end);
        }
    }
}
