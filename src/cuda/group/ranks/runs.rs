//! [`Reach`]: the places that a rank uses and another holds.

use core::ops::Range;

use super::super::shards::MemberShards;
use crate::cuda::nccl::LinkMessage;

/// A run of places that a rank uses, without those that it holds: what lies before these and what
/// lies after them. The memory for it is the rank's working memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reach {
    before: Range<u64>,
    behind: Range<u64>,
}

impl Reach {
    /// The reach of a rank that uses a run of places and holds another.
    pub(super) fn new(used: &Range<u64>, own: &Range<u64>) -> Self {
        Self {
            before: used.start.min(own.start)..used.end.min(own.start),
            behind: used.start.max(own.end)..used.end.max(own.end),
        }
    }

    /// The most places on one side.
    pub(super) fn most(&self) -> u64 {
        (self.before.end - self.before.start).max(self.behind.end - self.behind.start)
    }

    /// The array of the places that a rank uses: those that it holds, from an address on, and those
    /// of its reach, from two others on.
    pub(super) fn array(
        &self,
        own: (u64, Range<u64>),
        sides: [u64; 2],
        item: usize,
    ) -> MemberShards {
        let (address, places) = own;
        let [before, behind] = sides;
        let up_to = |start: u64, end: u64| (end - start) as usize;
        MemberShards::from_place(
            self.before.start,
            [
                (before, up_to(self.before.start, places.start)),
                (address, up_to(places.start, places.end)),
                // Where nothing is used after the rank's places, there may be a gap.
                (
                    behind.wrapping_sub((self.behind.start - places.end) * item as u64),
                    up_to(places.end, self.behind.end),
                ),
            ],
            item,
        )
    }

    /// The address of a place within the reach.
    fn address(&self, place: u64, [before, behind]: [u64; 2], item: usize) -> u64 {
        let (side, from) = if place < self.before.end {
            (before, self.before.start)
        } else {
            (behind, self.behind.start)
        };
        side + (place - from) * item as u64
    }
}

/// The messages of a rank, where each rank uses a run of an array's places: those about what it
/// uses and others hold, and those about what others use and it holds. Sides are where the memory
/// of its reach begins.
pub(super) fn messages(
    rank: usize,
    used: &[Range<u64>],
    array: &MemberShards,
    sides: [u64; 2],
) -> [Vec<LinkMessage>; 2] {
    let item = array.item();
    let reach = Reach::new(&used[rank], &array.places(rank));
    let others = (0..used.len()).filter(|&peer| peer != rank);
    let theirs = others.clone().filter_map(|peer| {
        let places = common(&used[rank], &array.places(peer))?;
        let address = reach.address(places.start, sides, item);
        Some(message(peer, address, &places, item))
    });
    let mine = others.filter_map(|peer| {
        let places = common(&used[peer], &array.places(rank))?;
        let address = array.origin(rank).wrapping_add(places.start * item as u64);
        Some(message(peer, address, &places, item))
    });
    [theirs.collect(), mine.collect()]
}

fn message(peer: usize, address: u64, places: &Range<u64>, item: usize) -> LinkMessage {
    LinkMessage { peer, address, bytes: (places.end - places.start) * item as u64 }
}

/// The places that two runs have in common, if they have any.
fn common(a: &Range<u64>, b: &Range<u64>) -> Option<Range<u64>> {
    let both = a.start.max(b.start)..a.end.min(b.end);
    (!both.is_empty()).then_some(both)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reach_is_what_is_used_and_not_held() {
        let reach = |used, own| {
            let Reach { before, behind } = Reach::new(&used, &own);
            (before, behind)
        };
        assert_eq!(reach(90..120, 100..110), (90..100, 110..120));
        assert_eq!(reach(90..120, 100..100), (90..100, 100..120));
        assert_eq!(reach(102..105, 100..110), (100..100, 110..110));
        assert_eq!(reach(50..80, 100..110), (50..80, 110..110));
        assert_eq!(reach(150..180, 100..110), (100..100, 150..180));
        assert_eq!(Reach::new(&(90..125), &(100..110)).most(), 15);
    }

    /// Every place that a rank uses is its own, or comes in one message, with which its owner
    /// agrees.
    #[test]
    fn ranks_agree_on_their_messages() {
        let runs = [(1 << 20, 10), (2 << 20, 0), (3 << 20, 7), (4 << 20, 13)];
        let array = MemberShards::new(runs, 8);
        let sides = |rank: u64| [(16 + rank) << 20, (32 + rank) << 20];
        for used in [[0..8, 8..9, 9..20, 20..30], [0..0, 0..17, 17..17, 17..30]] {
            let all: Vec<_> = (0..4).map(|r| messages(r, &used, &array, sides(r as u64))).collect();
            for rank in 0..4 {
                let mut of_others = 0;
                for message in &all[rank][0] {
                    let [_, theirs] = &all[message.peer];
                    let same: Vec<_> = theirs.iter().filter(|m| m.peer == rank).collect();
                    assert!(matches!(same[..], [m] if m.bytes == message.bytes));
                    of_others += message.bytes / 8;
                }
                let own = common(&used[rank], &array.places(rank)).unwrap_or(0..0);
                let all_used = used[rank].end - used[rank].start;
                assert_eq!(own.end - own.start + of_others, all_used);
            }
        }
    }

    #[test]
    fn the_array_of_a_reach_has_each_place_at_its_address() {
        let reach = Reach::new(&(90..125), &(100..110));
        let array = reach.array((1 << 20, 100..110), [2 << 20, 3 << 20], 8);
        // Where place 0 would be, seen from each run.
        let at = |run: usize, place: u64| array.origin(run).wrapping_add(8 * place);
        assert_eq!([at(0, 90), at(1, 100), at(2, 110)], [2 << 20, 1 << 20, 3 << 20]);
        let far = Reach::new(&(150..180), &(100..110));
        let array = far.array((1 << 20, 100..110), [2 << 20, 3 << 20], 8);
        assert_eq!(array.origin(2).wrapping_add(8 * 150), 3 << 20);
    }
}
