//! Single places, and the index that they may need.

use std::sync::{Arc, OnceLock};

use super::{Permutation, SurvivorIndex, tuning};
use crate::bijection::hooks::Hooked;
use crate::engine::IndexError;
use crate::engine::check::or_panic;
use crate::error::{Defect, ViewError};
use crate::{Bijection, Error};

impl<B: Bijection> Permutation<B> {
    /// `p[place]`: the index of the item that moves to a place.
    ///
    /// If the length fills the bijection's domain, this takes one evaluation; for
    /// [`walk`](Permutation::walk) of any length, up to two on average. Otherwise a place near
    /// either end is found by counting from there, and any other by a query of the
    /// [index](Self::build_index), which the first such query builds. Several threads that find no
    /// index each build one, so call [`build_index`](Self::build_index) before you share a
    /// permutation among threads.
    ///
    /// # Errors
    ///
    /// * [`ViewError::OutOfRange`] if the place is not below the length;
    /// * [`ViewError::IndexNotBuilt`] if the index is needed, has not been built, and is [not built
    ///   at first use](Permutation#the-index), and otherwise the errors of
    ///   [`build_index`](Self::build_index);
    /// * [`Error::NotABijection`] if the bijection is found to break its requirements.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::Error;
    /// use bijective_shuffle::error::ViewError;
    /// use bijective_shuffle::prelude::*;
    ///
    /// let p = Permutation::new(1000, 42);
    /// let order = p.to_vec();
    /// for place in 0..1000 {
    ///     assert_eq!(p.get(place)?, order[place as usize]);
    /// }
    /// assert!(matches!(p.get(1000), Err(Error::View(ViewError::OutOfRange { .. }))));
    ///
    /// let p = Permutation::new(1_000_000_000_000, 42);
    /// // Near either end no index is needed.
    /// assert_eq!(Some(p.get(5)?), p.iter().nth(5));
    /// assert_eq!(Some(p.get(p.len() - 1)?), p.iter().next_back());
    /// assert!(matches!(p.get(1 << 39), Err(Error::View(ViewError::IndexNotBuilt { .. }))));
    ///
    /// // A walk needs none anywhere.
    /// let walk = Permutation::walk(1_000_000_000_000, 42);
    /// assert_eq!(walk.position(walk.get(1 << 39)?)?, 1 << 39);
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    pub fn get(&self, place: u64) -> Result<u64, Error> {
        self.look_up(place, self.inverted)
    }

    /// The place to which an item moves: the one with `p[place] = index`, as [`Iterator::position`]
    /// would find it.
    ///
    /// It takes as long as [`get`](Self::get).
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get), and [`ViewError::OutOfRange`] if the index is not below the length.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let p = Permutation::new(1000, 42);
    /// for index in 0..1000 {
    ///     assert_eq!(p.get(p.position(index)?)?, index);
    /// }
    /// assert!(p.position(1000).is_err());
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    #[inline]
    pub fn position(&self, index: u64) -> Result<u64, Error> {
        self.look_up(index, !self.inverted)
    }

    #[inline]
    fn look_up(&self, number: u64, is_ranked: bool) -> Result<u64, Error> {
        if number >= self.len {
            let (start, end) = (number.into(), u128::from(number) + 1);
            return Err(Error::View(ViewError::OutOfRange { start, end, len: self.len }));
        }
        match if is_ranked { self.rank(number) } else { self.select(number) }? {
            Some(found) if found < self.len => Ok(found),
            found => Err(self.wrong(number, is_ranked, found)),
        }
    }

    /// What is wrong with the bijection, if this was found for a number below the length.
    #[cold]
    fn wrong(&self, point: u64, is_ranked: bool, found: Option<u64>) -> Error {
        let (len, method) = (self.len, if is_ranked { "inverse" } else { "forward" });
        Error::NotABijection(match found {
            Some(value) => Defect::OutOfRange { method, point, value, last: len.saturating_sub(1) },
            // Fewer slots have a value below the length than when they were counted. Only an index
            // is looked for among them.
            None => Defect::Survivors { expected: len, actual: point },
        })
    }

    /// Builds the index for lookups of single places, if one is needed and has not been built.
    /// Clones made afterwards share it.
    ///
    /// For a domain with fewer than 64 points for each item the index consists of counts. With `s`
    /// slots to a block they take `2 / s + 2^-12` bytes a slot; at the default of 512 slots that is
    /// one byte for 240 slots. Building it evaluates every slot of the domain, on all threads. A
    /// query evaluates one block, after a binary search of the counts.
    ///
    /// For wider domains it is the sorted list of the slots of all items, 8 bytes an item. Building
    /// it evaluates the inverse of every index and sorts.
    ///
    /// The other views build the index by themselves only for domains of up to 2^33 slots, where a
    /// domain with 64 points for each item or more counts as 64 slots for each item: 2^34 slots
    /// take two threads 19 seconds, and 2^40 would take half an hour and 4.5 GB.
    ///
    /// No index is needed, and none is built, where the length fills the bijection's domain. A
    /// [composition](Self::then) has none of its own: those of its parts are built.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], and [`Error::NotABijection`] if the number of survivors is not the
    /// length. A [`walk`](Permutation::walk) needs no index.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::Permutation;
    ///
    /// let p = Permutation::new(1_000_000, 42);
    /// p.build_index()?;
    /// assert!(p.index_bytes().unwrap() < 1_000_000 / 64);
    ///
    /// let q = Permutation::walk(1_000_000, 42);
    /// q.build_index()?;
    /// assert!(q.index_bytes().is_none());
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn build_index(&self) -> Result<(), Error> {
        Ok(self.build_if(true)?)
    }

    /// Like [`build_index`](Self::build_index), but stops when `go_on` returns `false`. Returns
    /// whether it finished; if not, the permutation is unchanged.
    ///
    /// `go_on` is called often, from all threads: it should take nanoseconds. The indexes of the
    /// parts of a [composition](Self::then) are each built as a whole.
    ///
    /// # Errors
    ///
    /// As `build_index`.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::atomic::{AtomicBool, Ordering};
    ///
    /// use bijective_shuffle::Permutation;
    ///
    /// let p = Permutation::new(1_000_000, 42);
    /// // Another thread sets it when the user has had enough.
    /// let is_cancelled = AtomicBool::new(true);
    /// assert!(!p.build_index_while(|| !is_cancelled.load(Ordering::Relaxed))?);
    /// assert!(p.index_bytes().is_none());
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn build_index_while(&self, go_on: impl Fn() -> bool + Sync) -> Result<bool, Error> {
        Ok(self.build_while(&go_on)?)
    }

    fn build_while(&self, go_on: &(dyn Fn() -> bool + Sync)) -> Result<bool, IndexError> {
        self.bijection.build_indexes(true)?;
        if !self.fills_domain() && self.index.get().is_none() {
            let slots_per_block = tuning::SLOTS_PER_BLOCK;
            let index = SurvivorIndex::build(&self.bijection, self.len, slots_per_block, go_on)?;
            let Some(index) = index else { return Ok(false) };
            // Another thread may have been faster. Its index is the same, unless the bijection is
            // wrong.
            self.index.get_or_init(|| Arc::new(index));
        }
        Ok(true)
    }

    /// The same permutation with an index of another density, if it needs one. With fewer slots to
    /// a block the index is larger and queries are faster.
    ///
    /// # Errors
    ///
    /// [`ViewError::BlockSizeOutOfRange`] if `slots_per_block` is not a
    /// power of two from 64 to 32768, and otherwise as [`build_index`](Self::build_index).
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::Permutation;
    ///
    /// let p = Permutation::new(1_000_000, 42).with_index(64)?;
    /// assert!(p.index_bytes().unwrap() > 1_000_000 / 64);
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    #[doc(hidden)]
    pub fn with_index(mut self, slots_per_block: u64) -> Result<Self, Error> {
        SurvivorIndex::check_block(slots_per_block)?;
        if !self.fills_domain() {
            self.bijection.build_indexes(true)?;
            let built = SurvivorIndex::build(&self.bijection, self.len, slots_per_block, &|| true)?;
            self.index = built.map_or_else(OnceLock::new, |index| OnceLock::from(Arc::new(index)));
        }
        Ok(self)
    }

    /// Builds the index, if it is needed to advance by `places` places to `place`, which is not
    /// beyond the length.
    pub(super) fn prepare(&self, inverted: bool, places: u64, place: u64) -> Result<(), Error> {
        self.bijection.build_indexes(false)?;
        let from_end = self.len.saturating_sub(place);
        let is_reached =
            self.is_within_reach(places.saturating_add(1)) || self.is_within_reach(from_end);
        if inverted || !is_reached { self.need_index() } else { Ok(()) }
    }

    /// [`build_index`](Self::build_index), for a view that needs an index but was not asked to
    /// build one.
    ///
    /// # Errors
    ///
    /// [`ViewError::IndexNotBuilt`] if that would take
    /// long, and otherwise as `build_index`.
    pub(super) fn need_index(&self) -> Result<(), Error> {
        Ok(self.build_if(false)?)
    }

    /// Builds the index if that `is_asked` for or does not take long.
    pub(super) fn build_if(&self, is_asked: bool) -> Result<(), IndexError> {
        if is_asked {
            return self.build_while(&|| true).map(drop);
        }
        self.bijection.build_indexes(false)?;
        if self.fills_domain() || self.index().is_some() {
            Ok(())
        } else if self.is_built_unasked() {
            self.build_if(true)
        } else {
            Err(IndexError::NotBuilt { last: self.bijection.last() })
        }
    }

    /// Whether [`get`](Self::get) finds a place below the length without building an index.
    #[doc(hidden)]
    pub fn is_place_at_hand(&self, k: u64) -> bool {
        self.is_at_hand(k, self.inverted)
    }

    /// Whether [`position`](Self::position) finds an index below the length without
    /// building an index.
    #[doc(hidden)]
    pub fn is_index_at_hand(&self, index: u64) -> bool {
        self.is_at_hand(index, !self.inverted)
    }

    fn is_at_hand(&self, number: u64, is_ranked: bool) -> bool {
        let is_near = || match is_ranked {
            false => self.is_place_near(number),
            true => self.is_slot_near(self.bijection.inverse(number)),
        };
        self.fills_domain() || self.index().is_some() || is_near()
    }

    /// Whether an index lists the slots.
    pub(super) fn is_sparse(&self) -> bool {
        self.bijection.last() / self.len.max(1) >= tuning::SPARSE
    }

    /// The slots that survive, in order, if there is an index that lists them.
    pub(super) fn slots(&self) -> Option<&[u64]> {
        self.index()?.slots()
    }

    /// The size of the [index](Self::build_index) in bytes, if it has been built.
    pub fn index_bytes(&self) -> Option<usize> {
        self.index().map(SurvivorIndex::bytes)
    }

    /// The index, if it has been built.
    pub(super) fn index(&self) -> Option<&SurvivorIndex> {
        self.index.get().map(|index| &**index)
    }

    /// [`need_index`](Self::need_index), where no error can be returned.
    ///
    /// # Panics
    ///
    /// If it fails.
    #[track_caller]
    pub(super) fn expect_index(&self) {
        or_panic(self.need_index());
    }

    /// Whether every slot survives, or there are no items.
    pub(super) fn fills_domain(&self) -> bool {
        self.len.checked_sub(1).is_none_or(|last| last == self.bijection.last())
    }

    /// The index at a place below the length, in the permutation that the bijection compacts to.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get).
    #[inline]
    pub(super) fn select(&self, place: u64) -> Result<Option<u64>, Error> {
        self.bijection.build_indexes(false)?;
        if self.fills_domain() {
            return Ok(Some(self.bijection.forward(place)));
        }
        self.select_by_counting(place)
    }

    fn select_by_counting(&self, place: u64) -> Result<Option<u64>, Error> {
        if self.index().is_none() {
            if let Some(index) = self.select_near(place) {
                return Ok(Some(index));
            }
            self.need_index()?;
        }
        // With a bijection that is wrong about its domain there may be no index.
        Ok(self.index().and_then(|index| index.select(&self.bijection, self.len, place)))
    }

    /// The place of an index below the length, in the permutation that the bijection compacts to.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get).
    #[inline]
    pub(super) fn rank(&self, index: u64) -> Result<Option<u64>, Error> {
        self.bijection.build_indexes(false)?;
        let slot = self.bijection.inverse(index);
        if self.fills_domain() {
            return Ok(Some(slot));
        }
        self.rank_by_counting(slot)
    }

    fn rank_by_counting(&self, slot: u64) -> Result<Option<u64>, Error> {
        if self.index().is_none() {
            if let Some(place) = self.rank_near(slot) {
                return Ok(Some(place));
            }
            self.need_index()?;
        }
        Ok(Some(self.rank_of(slot)))
    }

    /// Replaces places by the indexes there, or the reverse if `inverted`, evaluating each point;
    /// they may be `consecutive`. Unless `inverted`, the length must fill the domain or the slots
    /// must be listed.
    pub(super) fn evaluate(&self, inverted: bool, consecutive: bool, points: &mut [u64]) {
        let fills = self.fills_domain();
        if let (false, false, Some(slots)) = (inverted, fills, self.slots()) {
            for point in &mut *points {
                let slot = usize::try_from(*point).ok().and_then(|place| slots.get(place));
                *point = slot.copied().unwrap_or(u64::MAX);
            }
            return self.bijection.forward_each(points);
        }
        match (inverted, points.first().filter(|_| consecutive)) {
            (false, Some(&first)) => self.bijection.forward_run(first, points),
            (false, None) => self.bijection.forward_each(points),
            (true, Some(&first)) => self.bijection.inverse_run(first, points),
            (true, None) => self.bijection.inverse_each(points),
        }
        if !fills {
            self.expect_index();
            for slot in points {
                *slot = self.rank_of(*slot);
            }
        }
    }

    /// The number of survivors before a slot.
    fn rank_of(&self, slot: u64) -> u64 {
        // With a bijection that is wrong about its domain there may be no index.
        self.index().map_or(u64::MAX, |index| index.rank(&self.bijection, self.len, slot))
    }
}
