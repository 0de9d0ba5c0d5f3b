//! [`MemberLayout`]: where a member keeps what the partitioned strategy needs over a group.

use super::sizes::GroupSizes;
use crate::cuda::shuffle::sizes::aligned;

/// Where buckets keep their records: offsets into a member's working memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BucketRecords {
    pub(super) items: u64,
    pub(super) keys: u64,
}

/// A piece of a sender's items, in buckets that all have the same room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SenderParts {
    /// How many records each bucket has.
    pub(super) counts: u64,
    pub(super) items: u64,
    /// The low bits of the slots or indexes, in 4 bytes.
    pub(super) keys: u64,
}

impl SenderParts {
    /// The same from a bucket on.
    pub(super) fn from(self, bucket: u64, capacity: u64, item: u64) -> Self {
        Self {
            counts: self.counts + 4 * bucket,
            items: self.items + bucket * capacity * item,
            keys: self.keys + 4 * bucket * capacity,
        }
    }
}

/// Where each part of a member's working memory begins: an offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MemberLayout {
    /// The counts of its buckets of the second pass, and a zero.
    pub(super) counts: u64,
    /// Says that a bucket has overflowed. It and what comes before it must be cleared.
    pub(super) overflow: u64,
    /// The survivors of each run of its slots, and a zero.
    pub(super) tile_counts: u64,
    /// The survivors of its slots before each run, and of all.
    pub(super) tile_bases: u64,
    /// The survivors before its slots.
    pub(super) rank: u64,
    /// Whether a bucket of any member has overflowed.
    pub(super) any: u64,
    /// The number of records before its own.
    pub(super) before: u64,
    /// The number of its own records before each bucket of the second pass, and of all.
    pub(super) bases: u64,
    /// Two outboxes in turn, or one if there is one piece.
    pub(super) outboxes: Vec<SenderParts>,
    /// For each outbox of each sender, what comes from it to this member's buckets; from the member
    /// itself, nothing does.
    pub(super) inboxes: Vec<Vec<Option<SenderParts>>>,
    /// The buckets of the second pass, with keys of 2 bytes.
    pub(super) small: BucketRecords,
    pub(super) bytes: u64,
}

impl MemberLayout {
    /// The layout of a member's working memory.
    pub(super) fn new(sizes: &GroupSizes, member: usize) -> Self {
        let mut room = RemainingMemory { end: 0, item: sizes.word.bytes() as u64 };
        let small = sizes.small_buckets(member);
        let counts = room.take((small + 1) * 4);
        let overflow = room.take(4);
        let tiles = if sizes.is_counted() { sizes.counts(member) + 1 } else { 0 };
        let tile_counts = room.take(tiles * 4);
        let tile_bases = room.take(tiles * 8);
        let rank = room.take(8);
        let any = room.take(4);
        let before = room.take(8);
        let bases = room.take((small + 1) * 8);
        let members = 0..sizes.members();
        let owned = sizes.owned(member);
        let (mut outboxes, mut inboxes) = (Vec::new(), Vec::new());
        for _ in 0..sizes.pieces.min(2) {
            outboxes.push(room.parts(sizes.buckets(), sizes.largest_part(member)));
            let inbox = |sender: usize| {
                (sender != member)
                    .then(|| room.parts(owned.end - owned.start, sizes.largest_part(sender)))
            };
            inboxes.push(members.clone().map(inbox).collect());
        }
        let small = room.records(small * sizes.capacity, 2);
        Self {
            counts,
            overflow,
            tile_counts,
            tile_bases,
            rank,
            any,
            before,
            bases,
            outboxes,
            inboxes,
            small,
            bytes: room.end,
        }
    }
}

/// Working memory that is given away from its beginning on.
struct RemainingMemory {
    end: u64,
    /// The bytes of an item.
    item: u64,
}

impl RemainingMemory {
    fn take(&mut self, bytes: u64) -> u64 {
        let here = self.end;
        self.end = aligned(here + bytes);
        here
    }

    fn records(&mut self, records: u64, key: u64) -> BucketRecords {
        let items = self.take(records * self.item);
        BucketRecords { items, keys: self.take(records * key) }
    }

    fn parts(&mut self, buckets: u64, capacity: u64) -> SenderParts {
        let counts = self.take(4 * buckets);
        let BucketRecords { items, keys } = self.records(buckets * capacity, 4);
        SenderParts { counts, items, keys }
    }
}

#[cfg(test)]
mod tests {
    use super::super::shards::MemberShards;
    use super::super::sizes::tests::{LIMITS, even};
    use super::*;
    use crate::cuda::runtime::word_type::WordType;

    #[test]
    fn the_parts_of_a_members_memory_do_not_overlap() {
        let (from, to) =
            (even(1 << 25, 3, 8), MemberShards::new([(256, 0), (256, 1 << 24), (256, 1 << 24)], 8));
        let keys = [(1 << 25) - 1, (1 << 26) - 1];
        let sizes = GroupSizes::new(&LIMITS, WordType::U64, keys, &from, &to).unwrap();
        assert!(sizes.owned(0).is_empty());
        for member in 0..3 {
            let owned = sizes.owned(member).end - sizes.owned(member).start;
            let small = sizes.small_buckets(member);
            let layout = MemberLayout::new(&sizes, member);
            let mut parts = vec![
                (layout.counts, 4 * (small + 1)),
                (layout.overflow, 4),
                (layout.tile_counts, 4 * (sizes.counts(member) + 1)),
                (layout.tile_bases, 8 * (sizes.counts(member) + 1)),
                (layout.rank, 8),
                (layout.any, 4),
                (layout.before, 8),
                (layout.bases, 8 * (small + 1)),
            ];
            let of = |part: SenderParts, buckets: u64, capacity: u64| {
                let records = buckets * capacity;
                [(part.counts, 4 * buckets), (part.items, 8 * records), (part.keys, 4 * records)]
            };
            for (&outbox, inboxes) in layout.outboxes.iter().zip(&layout.inboxes) {
                parts.extend(of(outbox, sizes.buckets(), sizes.largest_part(member)));
                assert!(inboxes[member].is_none());
                for (sender, inbox) in inboxes.iter().enumerate() {
                    parts.extend(
                        inbox.iter().flat_map(|&part| of(part, owned, sizes.largest_part(sender))),
                    );
                }
            }
            let records = small * sizes.capacity;
            parts.extend([(layout.small.items, 8 * records), (layout.small.keys, 2 * records)]);
            let mut end = 0;
            for (first, bytes) in parts {
                assert!(first >= end && first % 256 == 0);
                end = first + bytes;
            }
            assert!(layout.bytes >= end);
        }
    }
}
