//! [`Strategy`]: how the CPU engine moves items, and what decides it.
//!
//! `Workspace::reorder_words` finds out whether the items are too many for the caches (`is_far`
//! in `tuning.rs`) and asks here for the ways to try. Whether one of them serves a
//! permutation and its items is for that one to say: [`Sorting::new`], [`InPlace::new`]. Up to 256
//! items by a seed have an order of their own, in `exact.rs`.
//!
//! It is not in the prelude, because proptest's prelude has a trait of the same name.

use super::call::Call;
use super::checked_permutation::{CheckedPermutation, fits_u32};
use super::in_place::InPlace;
use super::partitioned::Sorting;
use super::tuning;
use crate::compact::Direction;

/// How the CPU engine moves items. All strategies give the same result.
///
/// [`Workspace::with_strategy`](crate::Workspace::with_strategy) chooses one, also for a single
/// call: `Workspace::new().with_strategy(strategy).shuffle(seed, &mut items)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Strategy {
    /// The strategy that is expected to be fastest: [`Direct`](Self::Direct) for items that fit the
    /// caches; otherwise [`Partitioned`](Self::Partitioned) in a [`Workspace`](crate::Workspace),
    /// which keeps the memory for it, and [`InPlace`](Self::InPlace) in calls without one.
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
    ///
    /// Where a slice has at most an eighth as many items as there are slots, and there are 2^17 to
    /// 2^45 slots, `Auto` sorts the items even if they fit the caches: that evaluates only the
    /// items, and not the slots.
    Partitioned,
    /// Exchanges blocks of items within the array, and then puts the items in order, a cache's
    /// worth at a time: what `Partitioned` does without a second copy of the items.
    ///
    /// The working memory is two bytes an item (four for more than 2^29 slots of 8 bytes), whatever
    /// the size of the item; to undo a shuffle with more slots than items, a bit for each slot, if
    /// that is at most 16 MiB, and half a byte for every 64 slots, or one and a half without those
    /// bits; and for each thread 1 to 3 KiB for each bucket of 2^16 slots (less of larger items; up
    /// to 5 KiB with 2^13 buckets on few threads), but at least half of that and room for one
    /// bucket, which is half a MiB up to 2^13 buckets and grows with the slots beyond. It is all
    /// there before the first item moves.
    ///
    /// This serves one slice of items of up to 256 bytes, and bijections that are trusted and [free
    /// of panics](crate::Trusted::panic_free), on up to 2^35 points. Other items of at least 192
    /// bytes, such as [`Rows`](crate::Rows) and several columns with as many bytes at one place,
    /// are moved along the cycles of the permutation, each once, if there are at most 2^32. That
    /// takes four bytes an item and a 64th of the items. Elsewhere the direct strategy is used
    /// instead. Narrow columns are not moved in place: they would be moved one after the other,
    /// each with an evaluation of its own, and if memory ran out before the last one, they would
    /// not be in one order.
    InPlace,
}

/// A way to move the items of a slice, other than the direct one.
pub(super) enum MoveWay<'p, C> {
    Sorted(Sorting<'p>),
    InPlace(InPlace<'p, C>),
}

impl Strategy {
    /// The ways that serve items of type T, in the order in which they are to be tried before the
    /// direct one. The arguments are those of [`sorting`](Self::sorting).
    ///
    /// Sorting is faster where its memory is at hand. Memory that is got for one call costs more
    /// than the call.
    pub(super) fn ways<'p, T, C: Call>(
        self,
        p: &'p CheckedPermutation,
        call: C,
        far: bool,
        is_plain: bool,
    ) -> impl Iterator<Item = MoveWay<'p, C>> {
        // Each is asked for only when it is to be tried: short calls notice it otherwise.
        [!is_plain, is_plain].into_iter().filter_map(move |sorts| {
            if !sorts {
                self.in_place::<T, C>(p, call, far).map(MoveWay::InPlace)
            } else if C::SORTS {
                self.sorting::<T>(p, call.direction(), far).map(MoveWay::Sorted)
            } else {
                None
            }
        })
    }

    /// The move in place of items of type T; `None` if it does not apply. The arguments are those
    /// of [`sorting`](Self::sorting).
    fn in_place<'p, T, C: Call>(
        self,
        p: &'p CheckedPermutation,
        call: C,
        far: bool,
    ) -> Option<InPlace<'p, C>> {
        let is_wanted = self == Self::InPlace || (self == Self::Auto && far);
        let trusted = p.trusted().filter(|_| is_wanted)?;
        InPlace::new::<T>(trusted, p.len(), call, tuning::MOST_EXCHANGES)
    }

    /// Whether items are moved along the cycles of the permutation, if they are not sorted or
    /// exchanged. There are `bytes` at one place, of all columns together.
    pub(super) fn follows_cycles(self, p: &CheckedPermutation, bytes: usize) -> bool {
        let is_wanted = match self {
            Self::Auto => tuning::is_far_together(p.len(), bytes),
            Self::InPlace => true,
            Self::Direct | Self::Partitioned => false,
        };
        // The indexes of few items for their slots take more time to list than the items to move.
        is_wanted && bytes >= tuning::LEAST_FOLLOWED && fits_u32(p.len()) && !p.is_sparse()
    }

    /// The sort by which the partitioned strategy moves items of type T; `None` if the direct
    /// strategy is to move them.
    ///
    /// The items are `far` if they are too many for the caches.
    pub(super) fn sorting<'p, T>(
        self,
        p: &'p CheckedPermutation,
        direction: Direction,
        far: bool,
    ) -> Option<Sorting<'p>> {
        let (is_wanted, may_waste) = match self {
            Self::Auto => (far, false),
            Self::Direct | Self::InPlace => (false, false),
            Self::Partitioned => (true, true),
        };
        let trusted = p.trusted().filter(|_| is_wanted)?;
        let sorting = Sorting::new::<T>(trusted, p.len(), direction, tuning::MOST_BUCKETS)?;
        // Few items waste little memory, and every slot would be evaluated without it.
        let may_waste = may_waste || sorting.is_sparse();
        (may_waste || !sorting.wastes_memory::<T>()).then_some(sorting)
    }

    /// Whether the direct strategy takes over where there is no memory for the partitioned one.
    pub(super) fn forgoes_memory(self) -> bool {
        self == Self::Auto
    }
}
