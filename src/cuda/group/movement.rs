//! [`OwnMovement`]: what one member moves where all members find each survivor's rank, and each
//! moves the items of its own places.

use core::ops::Range;

use super::shards::{MemberShards, ShardsArgument};
use crate::compact::Direction;
use crate::cuda::runtime::kernel::{TemplateValue, device_struct};
use crate::cuda::runtime::plan::Ground;
use crate::cuda::runtime::word_type::WordType;
use crate::cuda::shuffle::movement::{Moves, Visit};

/// What is moved, on all members together.
#[derive(Clone, Copy, Debug)]
pub(in crate::cuda) enum Sharded<'a> {
    /// The permutation is written.
    Indices { out: &'a MemberShards, word: WordType },
    /// Items go to the order of the ranks, or back.
    Items { source: &'a MemberShards, out: &'a MemberShards, direction: Direction },
}

/// What a member moves: the items of its places, on the side of the ranks.
#[derive(Clone, Copy, Debug)]
pub(in crate::cuda) struct OwnMovement<'a> {
    of: Sharded<'a>,
    member: usize,
    /// Whether ranks are counted from the member's first place.
    from_own: bool,
}

impl<'a> OwnMovement<'a> {
    /// The movement of a member that finds the ranks of all survivors.
    pub(in crate::cuda) fn new(of: Sharded<'a>, member: usize) -> Self {
        Self { of, member, from_own: false }
    }

    /// The movement of a member that finds only what belongs to its own places. Its first place has
    /// rank 0.
    pub(in crate::cuda) fn from_own(of: Sharded<'a>, member: usize) -> Self {
        Self { of, member, from_own: true }
    }

    /// The member's places, on the side of the ranks.
    pub(super) fn places(&self) -> Range<u64> {
        self.sides().0.places(self.member)
    }

    /// The array on the side of the ranks, and the other, if there is one.
    fn sides(&self) -> (&'a MemberShards, Option<&'a MemberShards>) {
        match self.of {
            Sharded::Indices { out, .. } => (out, None),
            Sharded::Items { source, out, direction: Direction::Shuffle } => (out, Some(source)),
            Sharded::Items { source, out, direction: Direction::Unshuffle } => (source, Some(out)),
        }
    }

    /// The largest word in which items can be moved.
    fn unit(&self) -> WordType {
        let (mine, others) = self.sides();
        let unit = mine.unit();
        others.map_or(
            unit,
            |others| if others.unit().bytes() < unit.bytes() { others.unit() } else { unit },
        )
    }

    /// The ranks of the member's places, and the address of rank 0.
    fn own(&self) -> (OwnPlaces, u64) {
        let (places, mine) = (self.places(), self.sides().0);
        let count = places.end - places.start;
        if self.from_own {
            (OwnPlaces { first: 0, count }, mine.address(self.member))
        } else {
            (OwnPlaces { first: places.start, count }, mine.origin(self.member))
        }
    }
}

device_struct! {
    /// `OwnPlaces` in gpu/group/shards.cuh.
    struct OwnPlaces {
        first: u64,
        count: u64,
    }
}

device_struct! {
    /// `OwnIndices` in gpu/group/shards.cuh.
    struct OwnIndicesArgument {
        own: OwnPlaces,
        out: u64,
    }
}

device_struct! {
    /// `OwnGather` in gpu/group/shards.cuh.
    struct GatherArgument {
        own: OwnPlaces,
        out: u64,
        others: ShardsArgument,
    }
}

device_struct! {
    /// `OwnScatter` in gpu/group/shards.cuh.
    struct ScatterArgument {
        own: OwnPlaces,
        source: u64,
        others: ShardsArgument,
    }
}

device_struct! {
    /// `OwnRows` in gpu/group/shards.cuh.
    struct OwnRowsArgument {
        own: OwnPlaces,
        mine: u64,
        others: ShardsArgument,
        units: u32,
        unit_log: u32,
    }
}

impl Moves for OwnMovement<'_> {
    fn writes_indexes(&self) -> bool {
        matches!(self.of, Sharded::Indices { .. })
    }

    fn device_type(&self) -> TemplateValue {
        let unit = self.unit();
        match self.of {
            Sharded::Indices { word, .. } => TemplateValue::Of("OwnIndices", word),
            Sharded::Items { source, direction, .. } if unit.bytes() != source.item() => {
                TemplateValue::Towards("OwnRows", direction)
            }
            Sharded::Items { direction: Direction::Shuffle, .. } => {
                TemplateValue::Of("OwnGather", unit)
            }
            Sharded::Items { direction: Direction::Unshuffle, .. } => {
                TemplateValue::Of("OwnScatter", unit)
            }
        }
    }

    fn visit<V: Visit>(&self, visitor: V) -> V::Output {
        let ((own, mine), unit) = (self.own(), self.unit());
        let (_, others) = self.sides();
        let (Sharded::Items { direction, .. }, Some(others)) = (self.of, others) else {
            return visitor.visit(move |_: &Ground| OwnIndicesArgument { own, out: mine });
        };
        let item = others.item();
        let others = others.argument();
        if unit.bytes() != item {
            let (units, unit_log) = ((item / unit.bytes()) as u32, unit.bytes().trailing_zeros());
            let rows = OwnRowsArgument { own, mine, others, units, unit_log };
            return visitor.visit(move |_: &Ground| rows);
        }
        match direction {
            Direction::Shuffle => {
                visitor.visit(move |_: &Ground| GatherArgument { own, out: mine, others })
            }
            Direction::Unshuffle => {
                visitor.visit(move |_: &Ground| ScatterArgument { own, source: mine, others })
            }
        }
    }
}
