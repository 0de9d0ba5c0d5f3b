//! [`MemberShards`]: an array whose places are divided among the members of a group.

use core::ops::Range;

use crate::cuda::runtime::kernel::device_struct;
use crate::cuda::runtime::word_type::WordType;

/// The most members of a group: `MOST_MEMBERS` in gpu/group/shards.cuh.
pub(crate) const MOST_MEMBERS: usize = 16;

device_struct! {
    /// `MemberShards` in gpu/group/shards.cuh.
    pub(crate) struct ShardsArgument {
        ends: [u64; MOST_MEMBERS],
        items: [u64; MOST_MEMBERS],
    }
}

/// A value for each member, as an argument's array. What follows the last member is not used.
pub(super) fn of_members<T: Copy>(
    values: impl IntoIterator<Item = T>,
    rest: T,
) -> [T; MOST_MEMBERS] {
    let mut all = [rest; MOST_MEMBERS];
    let mut values = values.into_iter();
    all.iter_mut().zip(&mut values).for_each(|(place, value)| *place = value);
    assert!(values.next().is_none(), "an argument has a place for each member");
    all
}

/// An array in the memory of several devices, each of which holds a run of its places: the first
/// member the first ones, and so on.
#[derive(Clone, Debug)]
pub(in crate::cuda) struct MemberShards {
    /// Where each member's run begins.
    addresses: Vec<u64>,
    /// The first place of each member, and the place after the last one's.
    bounds: Vec<u64>,
    /// The size of an item.
    item: usize,
}

impl MemberShards {
    /// The array whose members have runs of these addresses and lengths.
    pub(in crate::cuda) fn new(runs: impl IntoIterator<Item = (u64, usize)>, item: usize) -> Self {
        Self::from_place(0, runs, item)
    }

    /// A part of an array: as [`new`](Self::new), but the first run begins at this place.
    pub(super) fn from_place(
        first: u64,
        runs: impl IntoIterator<Item = (u64, usize)>,
        item: usize,
    ) -> Self {
        let (mut addresses, mut bounds) = (Vec::new(), vec![first]);
        let mut end = first;
        for (address, len) in runs {
            addresses.push(address);
            // Each run is in memory, so all of them have fewer items than 64 bits count.
            end += len as u64;
            bounds.push(end);
        }
        Self { addresses, bounds, item }
    }

    /// The number of members.
    pub(super) fn members(&self) -> usize {
        self.addresses.len()
    }

    /// The number of places of all members.
    pub(super) fn len(&self) -> u64 {
        self.bounds[self.members()]
    }

    /// The first place of each member, and the number of all places.
    pub(super) fn bounds(&self) -> &[u64] {
        &self.bounds
    }

    /// The size of an item in bytes.
    pub(super) fn item(&self) -> usize {
        self.item
    }

    /// The places of a member.
    pub(super) fn places(&self, member: usize) -> Range<u64> {
        self.bounds[member]..self.bounds[member + 1]
    }

    /// The address of a member's run.
    pub(super) fn address(&self, member: usize) -> u64 {
        self.addresses[member]
    }

    /// The address where place 0 would be, counted from a member's run. It may lie outside of any
    /// memory, and even before address 0.
    pub(super) fn origin(&self, member: usize) -> u64 {
        let before = self.bounds[member].wrapping_mul(self.item as u64);
        self.addresses[member].wrapping_sub(before)
    }

    /// The largest word that divides an item and to which all runs are aligned.
    pub(super) fn unit(&self) -> WordType {
        let runs = (0..self.members()).filter(|&member| !self.places(member).is_empty());
        let addresses = runs.fold(0, |bits, member| bits | self.addresses[member]);
        WordType::dividing(addresses | self.item as u64 | 16)
    }

    /// The argument for kernels that find an item wherever it is. There are at most
    /// [`MOST_MEMBERS`].
    pub(super) fn argument(&self) -> ShardsArgument {
        let members = 0..self.members();
        ShardsArgument {
            ends: of_members(self.bounds[1..self.members()].iter().copied(), u64::MAX),
            items: of_members(members.map(|member| self.origin(member)), 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_found_from_its_members_origin() {
        let shards = MemberShards::new([(4096, 3), (1 << 20, 0), (256, 5)], 8);
        assert_eq!((shards.len(), shards.members()), (8, 3));
        assert_eq!(shards.places(2), 3..8);
        // Place 3 is the third member's first.
        assert_eq!(shards.origin(2) + 3 * 8, 256);
        let low = MemberShards::new([(4096, 1000), (256, 5)], 8);
        assert_eq!(low.origin(1).wrapping_add(1000 * 8), 256);
        let ShardsArgument { ends, items } = shards.argument();
        assert_eq!(ends[..4], [3, 3, u64::MAX, u64::MAX]);
        assert_eq!(items[..2], [4096, (1 << 20) - 24]);
    }

    #[test]
    fn units_are_as_large_as_all_runs_allow() {
        assert_eq!(MemberShards::new([(256, 3), (264, 1)], 16).unit(), WordType::U64);
        assert_eq!(MemberShards::new([(256, 3), (257, 0)], 16).unit(), WordType::U128);
        assert_eq!(MemberShards::new([(256, 3), (512, 1)], 12).unit(), WordType::U32);
    }
}
