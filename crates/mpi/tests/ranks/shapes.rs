//! Arrays, and how they are divided.

use core::ops::Range;

use bijective_shuffle_mpi::Spread;
use bijective_shuffle_mpi::bytemuck::Pod;
use mpi::topology::{Communicator, SimpleCommunicator};

/// An item that shows which one of the array it is.
pub(crate) trait Numbered: Pod + Send + Sync + PartialEq + core::fmt::Debug {
    /// The item of a number.
    fn of(number: u64) -> Self;
}

impl Numbered for () {
    fn of(_: u64) -> Self {}
}

impl Numbered for u8 {
    fn of(number: u64) -> Self {
        (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
    }
}

impl Numbered for u32 {
    fn of(number: u64) -> Self {
        number as u32
    }
}

impl Numbered for u64 {
    fn of(number: u64) -> Self {
        number
    }
}

impl Numbered for [u8; 3] {
    fn of(number: u64) -> Self {
        [number as u8, (number >> 8) as u8, (number >> 16) as u8]
    }
}

impl Numbered for [u64; 3] {
    fn of(number: u64) -> Self {
        [number, !number, number.rotate_left(32)]
    }
}

impl Numbered for [u64; 9] {
    fn of(number: u64) -> Self {
        [number; 9]
    }
}

/// How many items each rank holds.
pub(crate) type Shape = fn(len: u64, rank: u64, ranks: u64) -> u64;

/// Even and uneven shapes; in most of them some ranks hold nothing.
pub(crate) const SHAPES: [Shape; 5] = [
    |len, rank, ranks| len * (rank + 1) / ranks - len * rank / ranks,
    |len, rank, _| if rank == 0 { len } else { 0 },
    |len, rank, ranks| if rank == ranks - 1 { len } else { 0 },
    // Every second rank holds nothing.
    |len, rank, ranks| {
        let (pairs, pair) = (ranks.div_ceil(2), rank / 2);
        if rank % 2 == 1 { 0 } else { len * (pair + 1) / pairs - len * pair / pairs }
    },
    // Twice as many on each rank as on all before it.
    |len, rank, ranks| {
        let before = |rank: u64| len * ((1 << rank) - 1) / ((1 << ranks) - 1);
        before(rank + 1) - before(rank)
    },
];

/// The number of items that this rank holds.
pub(crate) fn count(world: &SimpleCommunicator, shape: Shape, len: u64) -> usize {
    shape(len, world.rank() as u64, world.size() as u64) as usize
}

/// The items of these numbers.
pub(crate) fn items<T: Numbered>(numbers: impl IntoIterator<Item = u64>) -> Vec<T> {
    numbers.into_iter().map(T::of).collect()
}

/// The items of these places of an array in a permutation's order.
pub(crate) fn ordered<T: Numbered>(order: &[u64], places: Range<u64>) -> Vec<T> {
    items(order[places.start as usize..places.end as usize].iter().copied())
}

/// An array of a shape, which has another one after a shuffle.
pub(crate) fn spread(world: &SimpleCommunicator, [before, after]: [Shape; 2], len: u64) -> Spread {
    let spread = Spread::between(world, count(world, before, len), count(world, after, len));
    let spread = spread.unwrap();
    assert_eq!(spread.len(), len);
    spread
}
