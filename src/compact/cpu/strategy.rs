//! [`Strategy`]: how the CPU engine moves items, and what decides it.
//!
//! `Workspace::reorder_words` finds out whether the items are too many for the caches (`is_far`
//! in `tuning.rs`) and asks here for the [`Attempt`]s to make. [`Sorting::new`] and
//! [`InPlace::new`] decide whether they serve a permutation and its items. Up to 256 items are
//! moved by a seed without a strategy, in `exact.rs`.
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
    /// Sorts the items into buckets as `Partitioned` does, but without a second copy of them: whole
    /// blocks change places within the array, and then each bucket is put in order in the cache.
    ///
    /// This strategy serves one slice with items of up to 256 bytes, at most eight slots for each
    /// item, and bijections on up to 2^35 points that are trusted and [free of
    /// panics](crate::Trusted::panic_free). Its working memory does not grow with the size of an
    /// item, and all of it is allocated before the first item moves:
    ///
    /// | memory | bytes |
    /// | --- | --- |
    /// | for each item | 2; with more than 2^29 slots, 4 |
    /// | for 64 slots, to undo a shuffle with more slots than items | 8.5 if there are at most 2^27 slots, otherwise 1.5 |
    /// | for each thread and bucket of 2^16 slots | 1 to 3 KiB; less for larger items, and up to 5 KiB with 2^13 buckets on few threads |
    /// | for each thread at least | half of that and room for one bucket: half a MiB up to 2^13 buckets, more with more slots |
    ///
    /// Wide items, those of at least 192 bytes, follow the cycles of the permutation instead if the
    /// strategy does not serve them and there are at most 2^32. Each then moves once, which takes 4
    /// bytes for each item, and a 64th of the items' size. [`Rows`](crate::Rows) and columns that
    /// are moved together are wide if all of them together have that many bytes at one place.
    ///
    /// All others are moved by the direct strategy. That includes narrow columns: in place they
    /// would be moved one after the other, with an evaluation of the bijection for each, and if
    /// memory ran out between two of them, they would be left in different orders.
    InPlace,
}

/// An attempt to move the items of a slice, before the direct strategy does.
pub(super) enum Attempt<'p, C> {
    Sorted(Sorting<'p>),
    InPlace(InPlace<'p, C>),
}

impl Strategy {
    /// The attempts to make, in order, before the direct strategy moves items of type T. The
    /// arguments are those of [`sorting`](Self::sorting).
    ///
    /// A workspace sorts first: it keeps the memory, and then sorting is faster. A plain call works
    /// in place first, because it would spend more time on allocating that memory than on the rest.
    pub(super) fn attempts<'p, T, C: Call>(
        self,
        p: &'p CheckedPermutation,
        call: C,
        far: bool,
        is_plain: bool,
    ) -> impl Iterator<Item = Attempt<'p, C>> {
        let sorts_first = !is_plain;
        // An attempt is planned only after the one before has failed. Planning both at once would
        // slow down short calls.
        [sorts_first, !sorts_first].into_iter().filter_map(move |sorts| {
            if !sorts {
                self.in_place::<T, C>(p, call, far).map(Attempt::InPlace)
            } else if C::SORTS {
                self.sorting::<T>(p, call.direction(), far).map(Attempt::Sorted)
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
    /// The items are `far` if they are too many for the caches, or few for their slots.
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
