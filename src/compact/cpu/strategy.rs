//! [`Strategy`]: how the CPU engine moves items, and what decides it.
//!
//! It is not in the prelude, because proptest's prelude has a trait of the same name.

use super::partitioned::Sorting;
use super::permutation::CheckedPermutation;
use crate::compact::Direction;

/// How the CPU engine moves items. All strategies give the same result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Strategy {
    /// The strategy that is expected to be fastest.
    #[default]
    Auto,
    /// Evaluates every slot, and fetches each item from where it is, or stores it where it belongs.
    /// That is random access to one copy of the items, which is the working memory.
    Direct,
    /// Sorts the items into buckets, and then each bucket in the cache: sequential access to memory
    /// only, and one evaluation for each item.
    ///
    /// The working memory is 11 to 12 bytes for an item of 8 bytes, and 3.2 for an item of one
    /// byte, on a few threads. It is more on many threads, since each has buckets of its own: 14
    /// and 3.8 bytes on 16 threads with 4 million items. Beyond 2^30 slots it is two bytes an item
    /// more.
    ///
    /// This strategy serves items of up to 64 bytes, and trusted bijections on up to 2^36 points
    /// that spread neighbouring items over the whole array. Elsewhere the direct strategy is used
    /// instead. `Auto` also uses the direct one where memory is short, or where the buckets would
    /// waste much of it.
    Partitioned,
}

impl Strategy {
    /// The sort by which the partitioned strategy moves items of type T; `None` if the direct
    /// strategy is to move them.
    ///
    /// The items are `far` if they are too many for the caches. `most_buckets` is
    /// [`MOST_BUCKETS`](super::tuning::MOST_BUCKETS) except in tests.
    pub(super) fn sorting<'p, T>(
        self,
        p: &'p CheckedPermutation,
        direction: Direction,
        far: bool,
        most_buckets: u64,
    ) -> Option<Sorting<'p>> {
        let (is_wanted, may_waste) = match self {
            Self::Auto => (far, false),
            Self::Direct => (false, false),
            Self::Partitioned => (true, true),
        };
        let trusted = p.trusted().filter(|_| is_wanted)?;
        let sorting = Sorting::new::<T>(trusted, p.len(), direction, most_buckets)?;
        (may_waste || !sorting.wastes_memory::<T>()).then_some(sorting)
    }

    /// Whether the direct strategy takes over where there is no memory for the partitioned one.
    pub(super) fn forgoes_memory(self) -> bool {
        self == Self::Auto
    }
}
