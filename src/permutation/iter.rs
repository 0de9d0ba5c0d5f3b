//! [`Indexes`]: iterates over places of a permutation, from both ends.

use core::borrow::Borrow;
use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;

use super::ahead::Ahead;
use super::index::Landmark;
use super::{Cursor, Permutation};
use crate::bijection::Standard;
use crate::bijection::hooks::Hooked;
use crate::engine::check::or_panic;
use crate::{Bijection, Error};

/// The iterator over the indexes of a borrowed permutation; see [`Indexes`].
pub type Iter<'a, B = Standard> = Indexes<&'a Permutation<B>, B>;

/// The iterator over the indexes of a permutation that it owns, which `into_iter` returns; see
/// [`Indexes`].
pub type IntoIter<B = Standard> = Indexes<Permutation<B>, B>;

/// An iterator over a permutation's indexes, in constant memory. [`Permutation::iter`],
/// [`range`](Permutation::range), [`shard`](Permutation::shard) and similar methods return it.
///
/// `P` says how it holds the permutation: [`Iter`] borrows it and [`IntoIter`] owns it.
/// [`over`](Self::over) also accepts an `Arc`, so that several iterators share a permutation and
/// each can be put into a struct or sent to a thread.
///
/// It iterates from both ends, can itself be cut into shards, and can be saved and resumed
/// ([`cursor`](Self::cursor)). [`remaining`](Self::remaining) is the number of indexes that are
/// left. It is not an `ExactSizeIterator`, since there may be more than a `usize` can count.
///
/// Skipping with [`nth`](Iterator::nth) evaluates the skipped slots, unless the length fills the
/// domain or the permutation has its [index](Permutation::build_index).
///
/// With a bijection that breaks its requirements it may repeat indexes and leave others out.
///
/// # Panics
///
/// With a bijection that breaks its requirements the iterator panics where it has no index below
/// the length for a place that is left. So it never ends early: it returns
/// [`remaining`](Self::remaining) indexes, all below the length, or panics.
///
/// Iterating backwards from a place far from the end, or through an inverse or a composition, may
/// need an index of the permutation. It is then built, and the iterator panics if that fails, or if
/// the index is [not built at first use](Permutation#the-index). Call [`Permutation::build_index`]
/// beforehand to get an error instead.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::Permutation;
///
/// let p = Permutation::new(1000, 42);
/// let mut back: Vec<u64> = p.iter().rev().collect();
/// back.reverse();
/// assert_eq!(p.to_vec(), back);
///
/// let every_third: Vec<u64> = p.iter().shard_strided(2, 3)?.collect();
/// assert!(p.iter().skip(2).step_by(3).eq(every_third));
/// # Ok::<(), bijective_shuffle::Error>(())
/// ```
#[must_use = "iterators are lazy and do nothing unless consumed"]
pub struct Indexes<P, B = Standard> {
    pub(super) permutation: P,
    bijection: PhantomData<fn() -> B>,
    /// Whether it iterates over the inverse of the permutation that the bijection compacts to.
    pub(super) inverted: bool,
    /// The next place, the number of places left, and the distance between them.
    pub(super) next: u64,
    pub(super) left: u64,
    pub(super) stride: u64,
    pub(super) front: Ahead,
    pub(super) back: Ahead,
}

impl<P: Borrow<Permutation<B>>, B: Bijection> Indexes<P, B> {
    /// Iterates over all of a permutation, held by reference, by `Arc`, or by value.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use bijective_shuffle::iter::Indexes;
    /// use bijective_shuffle::Permutation;
    ///
    /// let p = Arc::new(Permutation::new(1000, 42));
    /// let halves = [0, 1].map(|rank| {
    ///     let indexes = Indexes::over(Arc::clone(&p)).shard(rank, 2).unwrap();
    ///     std::thread::spawn(|| indexes.sum::<u64>())
    /// });
    /// let sum: u64 = halves.into_iter().map(|half| half.join().unwrap()).sum();
    /// assert_eq!(sum, 1000 * 999 / 2);
    /// ```
    pub fn over(permutation: P) -> Self {
        let (inverted, len) = (permutation.borrow().inverted, permutation.borrow().len);
        Self::new(permutation, inverted, 0, len)
    }

    /// Resumes an iteration at the position of a [cursor](Self::cursor), as [`Permutation::resume`]
    /// does.
    ///
    /// # Errors
    ///
    /// As [`Permutation::resume`].
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::iter::Indexes;
    /// use bijective_shuffle::Permutation;
    ///
    /// let mut indexes = Permutation::new(1000, 42).into_iter();
    /// indexes.nth(123);
    /// let cursor = indexes.cursor();
    /// assert!(Indexes::resume(Permutation::new(1000, 42), &cursor)?.eq(indexes));
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn resume(permutation: P, cursor: &Cursor) -> Result<Self, Error> {
        let of: &Permutation<B> = permutation.borrow();
        of.bijection.build_indexes(false)?;
        let (places, landmark) = cursor.checked(of)?;
        let [next, left, _] = places;
        // On a smaller domain, searching for the place takes a few seconds at most. On this one it
        // would take for ever.
        if left > 0 && !of.is_built_unasked() {
            of.prepare(of.inverted, next - landmark.place, next)?;
        }
        Ok(Self::resumed(permutation, places, landmark))
    }

    /// Iterates over `count` places from `first` on.
    pub(super) fn new(permutation: P, inverted: bool, first: u64, count: u64) -> Self {
        let (front, back) = (Ahead::default(), Ahead::default());
        let (next, left, stride, bijection) = (first, count, 1, PhantomData);
        Self { permutation, bijection, inverted, next, left, stride, front, back }
    }

    pub(super) fn permutation(&self) -> &Permutation<B> {
        self.permutation.borrow()
    }

    /// Iterates over places: the first, their number, and the distance between them. The landmark
    /// is not after the first.
    fn resumed(permutation: P, [next, left, stride]: [u64; 3], landmark: Landmark) -> Self {
        let inverted = permutation.borrow().inverted;
        let front = Ahead { ended: Some(landmark.into()), ..Ahead::default() };
        Self { stride, front, ..Self::new(permutation, inverted, next, left) }
    }

    /// The number of indexes that are left.
    pub const fn remaining(&self) -> u64 {
        self.left
    }

    /// The contiguous share of the remaining indexes for one of several workers: worker `rank` of
    /// `ranks` gets those from `left * rank / ranks` up to `left * (rank + 1) / ranks`, rounded
    /// down.
    ///
    /// The shares are disjoint, cover everything, and differ in length by at most one.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchRank`] if `rank` is not below `ranks`, and the errors of
    /// [`Permutation::build_index`], if the index is needed to find the place.
    pub fn shard(mut self, rank: u64, ranks: u64) -> Result<Self, Error> {
        if rank >= ranks {
            return Err(Error::NoSuchRank { rank, ranks });
        }
        let left = self.left;
        // At most `left`.
        let bound = |rank: u64| (u128::from(left) * u128::from(rank) / u128::from(ranks)) as u64;
        let (start, end) = (bound(rank), bound(rank + 1));
        if start < end {
            let places = start.saturating_mul(self.stride);
            let place = self.next.saturating_add(places);
            self.permutation().prepare(self.inverted, places, place)?;
        }
        self.retreat(left - end);
        self.advance(start);
        Ok(self)
    }

    /// The strided share of the remaining indexes for one of several workers: worker `rank` of
    /// `ranks` gets those numbered `rank`, `rank + ranks`, `rank + 2 * ranks` and so on.
    ///
    /// The shares are disjoint, cover everything, and differ in length by at most one. Where the
    /// length does not fill the bijection's domain, every worker evaluates the slots of all
    /// workers, because only counting tells a slot's place.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchRank`] if `rank` is not below `ranks`.
    pub fn shard_strided(mut self, rank: u64, ranks: u64) -> Result<Self, Error> {
        if rank >= ranks {
            return Err(Error::NoSuchRank { rank, ranks });
        }
        let Some(last) = self.left.checked_sub(1).filter(|&last| last >= rank) else {
            self.left = 0;
            return Ok(self);
        };
        self.retreat((last - rank) % ranks);
        self.advance(rank);
        self.left = (last - rank) / ranks + 1;
        // If this saturates, there is no second place.
        self.stride = self.stride.saturating_mul(ranks);
        self.front.rewind();
        self.back.rewind();
        Ok(self)
    }

    /// The current position, which can be saved and [resumed](Permutation::resume) in another
    /// process.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::{Cursor, Permutation};
    ///
    /// let p = Permutation::new(1000, 42);
    /// let mut iter = p.iter();
    /// iter.nth(123);
    /// let saved = iter.cursor().to_string();
    ///
    /// let cursor: Cursor = saved.parse()?;
    /// assert!(Permutation::new(1000, 42).resume(&cursor)?.eq(iter));
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn cursor(&self) -> Cursor {
        let evaluated =
            if self.front.rest().is_empty() { self.front.ended } else { self.front.begun };
        let mut at = evaluated.unwrap_or_default();
        if !self.is_direct() && self.left > 0 {
            self.jump(&mut at);
        }
        // Nothing follows the last slot.
        let slot = u64::try_from(at.slot).ok();
        let landmark = slot.map(|slot| Landmark { slot, place: at.place });
        Cursor::new(self.permutation(), [self.next, self.left, self.stride], landmark)
    }

    /// Builds the index, if parts of the remaining places may need it, and those of a composition.
    ///
    /// # Panics
    ///
    /// If it cannot be built.
    pub(super) fn expect_index(&self) {
        if self.left == 0 {
            return;
        }
        let permutation = self.permutation();
        or_panic(permutation.bijection.build_indexes(false).map_err(Error::from));
        let from_end = permutation.len.saturating_sub(self.next);
        let is_reached = permutation.is_within_reach(self.places_to_last())
            || permutation.is_within_reach(from_end);
        if self.inverted || !is_reached {
            permutation.expect_index();
        }
    }

    /// Skips `count` places at the front. At least as many must be left.
    pub(super) fn advance(&mut self, count: u64) {
        self.front.skip(count);
        // Behind the last place, `next` has no meaning.
        self.next = self.next.wrapping_add(count.wrapping_mul(self.stride));
        self.left -= count;
    }

    /// Skips `count` places at the back. At least as many must be left.
    pub(super) fn retreat(&mut self, count: u64) {
        self.back.skip(count);
        self.left -= count;
    }

    /// The number of places that the front passes up to the last one, if at least one is left.
    pub(super) fn places_to_last(&self) -> u64 {
        // Counted from the beginning, or from the slot that the front has reached.
        let from = self.front.ended.map_or(0, |bound| bound.place.min(self.next));
        (self.last_place() - from).saturating_add(1)
    }

    /// The last of the remaining places, if at least one is left.
    pub(super) fn last_place(&self) -> u64 {
        self.next + (self.left - 1) * self.stride
    }
}

impl<P: Borrow<Permutation<B>>, B: Bijection> Iterator for Indexes<P, B> {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        if self.left > 0
            && let Some(index) = self.front.next()
        {
            self.next = self.next.wrapping_add(self.stride);
            self.left -= 1;
            return Some(index);
        }
        self.next_of_refilled()
    }

    fn nth(&mut self, n: usize) -> Option<u64> {
        self.advance(self.left.min(n as u64));
        self.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match usize::try_from(self.left) {
            Ok(left) => (left, Some(left)),
            Err(_) => (usize::MAX, None),
        }
    }

    /// Counts from the front if the last place is within reach, and otherwise from the back, which
    /// may need the index. So `head(3)` needs no index, however large the domain.
    fn last(mut self) -> Option<u64> {
        let others = self.left.checked_sub(1)?;
        if !self.is_direct() && self.permutation().is_within_reach(self.places_to_last()) {
            self.advance(others);
            self.next()
        } else {
            self.next_back()
        }
    }

    /// This internal loop is faster than calling [`next`](Self::next) repeatedly.
    fn fold<A, F: FnMut(A, u64) -> A>(mut self, init: A, mut f: F) -> A {
        let mut accumulated = init;
        while self.left > 0 {
            let run = or_panic(self.run());
            for &index in run {
                accumulated = f(accumulated, index);
            }
            let count = run.len() as u64;
            self.advance(count);
        }
        accumulated
    }
}

impl<P: Borrow<Permutation<B>>, B: Bijection> DoubleEndedIterator for Indexes<P, B> {
    #[inline]
    fn next_back(&mut self) -> Option<u64> {
        if self.left == 0 {
            return None;
        }
        if self.back.rest().is_empty() {
            or_panic(self.refill_back());
        }
        self.left -= 1;
        self.back.next()
    }

    fn nth_back(&mut self, n: usize) -> Option<u64> {
        self.retreat(self.left.min(n as u64));
        self.next_back()
    }
}

impl<P: Borrow<Permutation<B>>, B: Bijection> FusedIterator for Indexes<P, B> {}

impl<P: Clone, B> Clone for Indexes<P, B> {
    fn clone(&self) -> Self {
        let (permutation, front, back) =
            (self.permutation.clone(), self.front.clone(), self.back.clone());
        Self { permutation, front, back, ..*self }
    }
}

impl<P, B> fmt::Debug for Indexes<P, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Indexes")
            .field("next", &self.next)
            .field("left", &self.left)
            .field("stride", &self.stride)
            .finish_non_exhaustive()
    }
}
