//! [`Strategy`]: how items are moved, and what decides it.

use super::partitioned::Sorting;
use super::permutation::CheckedPermutation;
use crate::compact::Direction;

/// How items are moved. All strategies give the same answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Strategy {
    /// Whichever is expected to be the fastest.
    #[default]
    Auto,
    /// Every slot is evaluated, and each item fetched from where it is, or put where it belongs:
    /// random access to one copy of the items, which is the working memory.
    Direct,
    /// The items are sorted roughly, and then in the cache: sequential access only, and an
    /// evaluation an item.
    ///
    /// The working memory is 11 to 12 bytes an item of 8 bytes, and 3.2 an item of one, on a few
    /// threads, and more on many, which have buckets of their own: 14 and 3.8 on 16 threads and 4
    /// million items. Beyond 2^30 slots it is two bytes an item more. It serves trusted bijections
    /// on up to 2^36 points that move items all over the place, and items of up to 64 bytes. Where
    /// it does not serve, the direct strategy is used; and `Auto` uses it where memory is short, or
    /// would not be used well.
    Partitioned,
}

impl Strategy {
    /// How the partitioned strategy sorts items of type T, if it is the one to move them; `None` if
    /// the direct one is.
    ///
    /// The items are `far` if they are too many for the caches. `most_buckets` is
    /// [`MOST_BUCKETS`](super::tuning::MOST_BUCKETS) but for tests.
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

    /// Whether the direct strategy moves the items where there is no memory for the partitioned
    /// one.
    pub(super) fn forgoes_memory(self) -> bool {
        self == Self::Auto
    }
}
