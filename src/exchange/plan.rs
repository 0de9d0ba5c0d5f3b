//! [`Exchange`]: what one rank does.

use core::ops::Range;

use rayon::prelude::*;

use super::census::Census;
use super::division::{Division, Owners};
use super::lanes::Lanes;
use super::shifted::Shifted;
use crate::base::check::try_with_capacity;
use crate::bijection::Bijection;
use crate::compact::Workspace;
use crate::error::{Error, ExchangeError};
use crate::permutation::Permutation;

/// The number of items whose destinations are counted at a time.
const RUN: usize = 1 << 10;

/// The most pieces in which threads count them.
const MOST_PIECES: u64 = 256;

/// One rank's plan of a shuffle, or of undoing one, of an array that is spread over ranks.
///
/// See the [module](crate::exchange) for what the ranks do with it.
///
/// # Memory
///
/// The plan has some numbers for each rank, at most 257 of 8 bytes. What [`pack`](Self::pack) and
/// [`place`](Self::place) need besides comes from the workspace: one of the two moves items by a
/// [`Strategy`](crate::Strategy), and the other needs nothing.
pub struct Exchange<'p, B> {
    permutation: &'p Permutation<B>,
    census: &'p Census,
    from: &'p Division,
    to: &'p Division,
    rank: usize,
    /// Whether items go from the order of the indexes to the order of the slots.
    to_slots: bool,
    lanes: Lanes,
}

impl<'p, B: Bijection> Exchange<'p, B> {
    /// The plan of a rank for a shuffle: item `p[k]` of the array moves to place `k`.
    ///
    /// `from` says what each rank holds before, and `to` what it holds afterwards. If they differ,
    /// the shuffle also changes how many items a rank has.
    ///
    /// It evaluates the slots of the places that the rank will hold.
    ///
    /// # Errors
    ///
    /// * [`Error::LengthMismatch`] if a division has another length than the permutation.
    /// * [`ExchangeError::RanksDiffer`] and [`ExchangeError::NoSuchRank`].
    /// * [`ExchangeError::CensusDiffers`] if the census is not that of the permutation.
    /// * [`Error::OutOfMemory`].
    pub fn shuffle(
        p: &'p Permutation<B>,
        census: &'p Census,
        from: &'p Division,
        to: &'p Division,
        rank: usize,
    ) -> Result<Self, Error> {
        Self::new(p, census, from, to, rank, !p.is_inverted())
    }

    /// The plan of a rank for undoing a shuffle: item `k` of the array moves to place `p[k]`.
    ///
    /// `from` says what each rank holds before, and `to` what it holds afterwards: for undoing a
    /// shuffle they change sides.
    ///
    /// # Errors
    ///
    /// As [`shuffle`](Self::shuffle).
    pub fn unshuffle(
        p: &'p Permutation<B>,
        census: &'p Census,
        from: &'p Division,
        to: &'p Division,
        rank: usize,
    ) -> Result<Self, Error> {
        Self::new(p, census, from, to, rank, p.is_inverted())
    }

    fn new(
        permutation: &'p Permutation<B>,
        census: &'p Census,
        from: &'p Division,
        to: &'p Division,
        rank: usize,
        to_slots: bool,
    ) -> Result<Self, Error> {
        check_divisions(permutation, from, to, rank)?;
        census.check(permutation)?;
        let (slots, indexes) = if to_slots { (to, from) } else { (from, to) };
        let lanes = Lanes::new(permutation, census, slots.places(rank), indexes)?;
        Ok(Self { permutation, census, from, to, rank, to_slots, lanes })
    }

    /// The rank whose plan this is.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The places of the array that the rank holds before the exchange.
    pub fn source_places(&self) -> Range<u64> {
        self.from.places(self.rank)
    }

    /// The places of the array that the rank holds after the exchange.
    pub fn target_places(&self) -> Range<u64> {
        self.to.places(self.rank)
    }

    /// How many items go to each rank.
    ///
    /// For undoing a shuffle they are known. For a shuffle this evaluates each of the rank's items;
    /// ranks that talk anyway can tell each other their [`receive_counts`](Self::receive_counts),
    /// which costs less.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], and [`ExchangeError::CensusDiffers`].
    pub fn send_counts(&self) -> Result<Vec<u64>, Error> {
        if self.to_slots { self.count() } else { Ok(self.lanes.counts().to_vec()) }
    }

    /// How many items come from each rank.
    ///
    /// For a shuffle they are known. For undoing one this evaluates each of the items that the rank
    /// will hold; ranks that talk anyway can tell each other their
    /// [`send_counts`](Self::send_counts), which costs less.
    ///
    /// # Errors
    ///
    /// As [`send_counts`](Self::send_counts).
    pub fn receive_counts(&self) -> Result<Vec<u64>, Error> {
        if self.to_slots { Ok(self.lanes.counts().to_vec()) } else { self.count() }
    }

    /// How many of the rank's indexes belong to each rank where items are in the order of the
    /// slots.
    fn count(&self) -> Result<Vec<u64>, Error> {
        let (p, slots) = (self.permutation, self.slots());
        let ranks = slots.ranks();
        let indexes = self.indexes();
        let mut counts = try_with_capacity(ranks)?;
        counts.resize(ranks, 0);
        if indexes.is_empty() {
            return Ok(counts);
        }
        let mut bounds = try_with_capacity(ranks + 1)?;
        let last = p.bijection().last();
        for &place in slots.bounds() {
            // Behind the last place there may be slots, but no items.
            let is_place = place < p.len();
            bounds.push(if is_place {
                self.census.slot(p, place)?
            } else {
                last.saturating_add(1)
            });
        }
        let owners = Owners::new(&bounds);
        let len = indexes.end - indexes.start;
        let step = (len / MOST_PIECES + 1).max(RUN as u64);
        let count = |k: u32| {
            let mut counts = vec![0_u64; ranks];
            let first = indexes.start + u64::from(k) * step;
            let end = indexes.end.min(first + step);
            let mut slots = [0; RUN];
            for first in (first..end).step_by(RUN) {
                let slots = &mut slots[..(end - first).min(RUN as u64) as usize];
                p.bijection().inverse_run(first, slots);
                // A map that is no bijection may have any inverse.
                slots.iter().for_each(|&slot| counts[owners.of(slot.min(last))] += 1);
            }
            counts
        };
        let add = |mut sums: Vec<u64>, counts: Vec<u64>| {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            sums
        };
        // At most `MOST_PIECES`, and one.
        let pieces = (0..((len - 1) / step) as u32 + 1).into_par_iter();
        Ok(pieces.map(count).reduce_with(add).unwrap_or(counts))
    }

    /// The division of the array where items are in the order of the slots.
    fn slots(&self) -> &'p Division {
        if self.to_slots { self.to } else { self.from }
    }

    /// The places that the rank holds where items are in the order of the indexes.
    fn indexes(&self) -> Range<u64> {
        if self.to_slots { self.source_places() } else { self.target_places() }
    }

    /// The bijection whose survivors are the rank's items, numbered from 0.
    fn own(&self) -> Shifted<&'p B> {
        Shifted::new(self.permutation.bijection(), self.indexes().start)
    }

    /// Puts the rank's items in the order in which they are sent: first those for rank 0, then
    /// those for rank 1, and so on.
    ///
    /// # Errors
    ///
    /// * [`Error::LengthMismatch`] if there are not as many `items` and places in `out` as
    ///   [`source_places`](Self::source_places).
    /// * [`Error::OutOfMemory`].
    /// * [`Error::NotABijection`] or [`ExchangeError::ItemsDiffer`] if the bijection breaks its
    ///   requirements. A bijection that is not trusted is checked here for the rank's items: if no
    ///   rank finds fault with it, all of them are a permutation.
    pub fn pack<T: Copy + Send + Sync>(
        &self,
        workspace: &mut Workspace,
        items: &[T],
        out: &mut [T],
    ) -> Result<(), Error> {
        let places = self.source_places();
        check(places.end - places.start, [items.len(), out.len()])?;
        if items.is_empty() {
            return Ok(());
        }
        if self.to_slots {
            workspace.shuffle_into(&self.own(), items, out)
        } else {
            self.lanes.split(self.permutation, items, out)
        }
    }

    /// Puts what the rank has received, first that from rank 0, then that from rank 1, and so on,
    /// where it belongs.
    ///
    /// # Errors
    ///
    /// As [`pack`](Self::pack), for [`target_places`](Self::target_places).
    pub fn place<T: Copy + Send + Sync>(
        &self,
        workspace: &mut Workspace,
        received: &[T],
        out: &mut [T],
    ) -> Result<(), Error> {
        let places = self.target_places();
        check(places.end - places.start, [received.len(), out.len()])?;
        if received.is_empty() {
            return Ok(());
        }
        if self.to_slots {
            self.lanes.merge(self.permutation, received, out)
        } else {
            out.copy_from_slice(received);
            workspace.unshuffle(&self.own(), out)
        }
    }
}

/// Checks that a rank and the divisions belong to a permutation.
pub(super) fn check_divisions<B: Bijection>(
    permutation: &Permutation<B>,
    from: &Division,
    to: &Division,
    rank: usize,
) -> Result<(), Error> {
    for division in [from, to] {
        if division.len() != permutation.len() {
            let (expected, actual) = (permutation.len(), division.len());
            return Err(Error::LengthMismatch { expected, actual });
        }
    }
    if from.ranks() != to.ranks() {
        let (from, to) = (from.ranks(), to.ranks());
        return Err(ExchangeError::RanksDiffer { from, to }.into());
    }
    if rank >= from.ranks() {
        return Err(ExchangeError::NoSuchRank { rank, ranks: from.ranks() }.into());
    }
    Ok(())
}

/// Checks the lengths of slices.
pub(super) fn check<const N: usize>(expected: u64, actual: [usize; N]) -> Result<(), Error> {
    match actual.into_iter().map(|len| len as u64).find(|&len| len != expected) {
        Some(actual) => Err(Error::LengthMismatch { expected, actual }),
        None => Ok(()),
    }
}

impl<B> core::fmt::Debug for Exchange<'_, B> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { from, to, rank, .. } = self;
        f.debug_struct("Exchange").field("rank", rank).field("from", from).field("to", to).finish()
    }
}
