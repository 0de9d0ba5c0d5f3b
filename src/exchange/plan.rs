//! [`Exchange`]: what one rank does.

use core::ops::Range;

use rayon::prelude::*;

use super::builder::ExchangeBuilder;
use super::census::Census;
use super::division::{Division, Owners};
use super::lanes::RunLanes;
use super::rounds::Runs;
use super::shifted::Shifted;
use super::tiles::Compaction;
use crate::bijection::hooks::EngineForm;
use crate::compact::Workspace;
use crate::engine::check::try_with_capacity;
use crate::error::ExchangeError;
use crate::permutation::Permutation;
use crate::{Bijection, Error};

/// The number of items whose destinations are counted at a time.
const RUN: usize = 1 << 10;

/// The most pieces in which threads count them.
const MOST_PIECES: u64 = 256;

/// One rank's plan of a shuffle, or of undoing one, of an array that is spread over ranks.
///
/// See the [module](crate::exchange) for what the ranks do with it.
///
/// # Rounds
///
/// A plan has one round, or [with a limit](ExchangeBuilder::in_rounds_of) as many as the rank with
/// the most items needs for runs of that length. What is packed for the first round comes first in
/// a buffer, and so does what is received: for each round from rank 0 on.
///
/// # Memory
///
/// Besides the items and as many places, [`pack`](Self::pack) and [`place`](Self::place) take what
/// a [`Strategy`](crate::Strategy) needs for the items of one round, from the workspace. The plan
/// has 100 to 160 bytes for each rank and round, and 16 for each thread; and where ranks times
/// rounds are many fewer than 2^20, also 8 bytes for each of up to 256 parts of the rank's places,
/// at most 8 MiB.
pub struct Exchange<'p> {
    compaction: Compaction<'p>,
    census: &'p Census,
    from: &'p Division,
    to: &'p Division,
    rank: usize,
    /// Whether items go from the order of the indexes to the order of the slots.
    to_slots: bool,
    /// The runs of all ranks where items are in the order of the indexes.
    runs: Runs,
    lanes: RunLanes,
}

impl<'p, B: Bijection> ExchangeBuilder<'p, B> {
    /// The plan for a shuffle: item `p[k]` of the array moves to place `k`.
    ///
    /// It evaluates the slots of the places that the rank will hold.
    ///
    /// # Errors
    ///
    /// * [`Error::LengthMismatch`] if a division has another length than the permutation.
    /// * [`RankCountMismatch`](crate::error::ExchangeError::RankCountMismatch) and
    ///   [`Error::NoSuchRank`].
    /// * [`Error::LengthExceedsDomain`] if the [trusted](Bijection::trusted) form of the bijection,
    ///   which is what is evaluated, has fewer points than the permutation.
    /// * [`CensusMismatch`](crate::error::ExchangeError::CensusMismatch) if the census is not that
    ///   of the permutation.
    /// * [`Error::OutOfMemory`].
    pub fn shuffle(self) -> Result<Exchange<'p>, Error> {
        let to_slots = !self.permutation.is_inverted();
        Exchange::new(self, to_slots)
    }

    /// The plan for undoing a shuffle: item `k` of the array moves to place `p[k]`.
    ///
    /// # Errors
    ///
    /// As [`shuffle`](Self::shuffle).
    pub fn unshuffle(self) -> Result<Exchange<'p>, Error> {
        let to_slots = self.permutation.is_inverted();
        Exchange::new(self, to_slots)
    }
}

impl<'p> Exchange<'p> {
    /// The settings of the plan of a rank, of the ranks that hold what `from` says before the
    /// exchange. [`ExchangeBuilder::shuffle`] or [`ExchangeBuilder::unshuffle`] makes it.
    pub fn builder<B: Bijection>(
        permutation: &'p Permutation<B>,
        census: &'p Census,
        from: &'p Division,
        rank: usize,
    ) -> ExchangeBuilder<'p, B> {
        ExchangeBuilder { permutation, census, from, to: from, rank, most: u64::MAX }
    }

    fn new<B: Bijection>(settings: ExchangeBuilder<'p, B>, to_slots: bool) -> Result<Self, Error> {
        let ExchangeBuilder { permutation, census, from, to, rank, most } = settings;
        check_divisions(permutation, from, to, rank)?;
        let compaction = Compaction::of(permutation)?;
        census.check(&compaction)?;
        let (slots, indexes) = if to_slots { (to, from) } else { (from, to) };
        let runs = Runs::new(indexes, most)?;
        let lanes = RunLanes::new(&compaction, census, slots.places(rank), &runs)?;
        Ok(Self { compaction, census, from, to, rank, to_slots, runs, lanes })
    }

    /// The places of the array that the rank holds before the exchange.
    pub fn source_places(&self) -> Range<u64> {
        self.from.places(self.rank)
    }

    /// The places of the array that the rank holds after the exchange.
    pub fn target_places(&self) -> Range<u64> {
        self.to.places(self.rank)
    }

    /// Whether the bijection is [trusted](crate::TrustedBijection) and [free of
    /// panics](crate::Trusted::panic_free). Then, once every rank has packed, nothing but a lack of
    /// memory can keep [`place`](Self::place) from putting everything where it belongs, and for a
    /// shuffle not even that; so what is received may take the place of the items.
    #[doc(hidden)]
    pub fn is_trusted(&self) -> bool {
        matches!(&self.compaction.form, EngineForm::Trusted(trusted) if trusted.conduct().is_panic_free)
    }

    /// The number of rounds, at least one. It is the same for all ranks.
    pub fn rounds(&self) -> usize {
        self.runs.rounds()
    }

    /// How many items go to each rank in the first round, then how many in the second, and so on.
    ///
    /// For undoing a shuffle they are known. For a shuffle this evaluates each of the rank's items;
    /// ranks that talk anyway can tell each other their [`receive_counts`](Self::receive_counts),
    /// which costs less.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], and [`ExchangeError::CensusMismatch`].
    #[inline]
    pub fn send_counts(&self) -> Result<Vec<u64>, Error> {
        if self.to_slots { self.count() } else { self.known_counts() }
    }

    /// How many items come from each rank in the first round, then how many in the second, and so
    /// on.
    ///
    /// For a shuffle they are known. For undoing one this evaluates each of the items that the rank
    /// will hold; ranks that talk anyway can tell each other their
    /// [`send_counts`](Self::send_counts), which costs less.
    ///
    /// # Errors
    ///
    /// As [`send_counts`](Self::send_counts).
    #[inline]
    pub fn receive_counts(&self) -> Result<Vec<u64>, Error> {
        if self.to_slots { self.known_counts() } else { self.count() }
    }

    /// A copy of the counts that need no evaluation.
    fn known_counts(&self) -> Result<Vec<u64>, Error> {
        let known = self.lanes.counts();
        let mut counts = try_with_capacity(known.len())?;
        counts.extend_from_slice(known);
        Ok(counts)
    }

    /// For each round, how many of the run's indexes belong to each rank where items are in the
    /// order of the slots.
    #[inline]
    fn count(&self) -> Result<Vec<u64>, Error> {
        let (p, slots) = (&self.compaction, self.slots());
        let ranks = slots.ranks();
        let mut counts = try_with_capacity(ranks.saturating_mul(self.rounds()))?;
        counts.resize(ranks * self.rounds(), 0);
        if self.index_places().is_empty() {
            return Ok(counts);
        }
        let mut bounds = try_with_capacity(ranks + 1)?;
        let last = p.form.last();
        for &place in slots.bounds() {
            // Behind the last place there may be slots, but no items.
            let is_place = place < p.len;
            bounds.push(if is_place {
                // A map that is no bijection may have another domain by now.
                self.census.slot(p, place)?.min(last)
            } else {
                last.saturating_add(1)
            });
        }
        let owners = Owners::new(&bounds)?;
        for (run, counts) in self.runs.of_rank(self.rank).zip(counts.chunks_mut(ranks)) {
            self.count_run(run, last, &owners, counts)?;
        }
        Ok(counts)
    }

    /// Adds up how many indexes of a run belong to each owner of the slots up to `last`.
    #[inline]
    fn count_run(
        &self,
        run: Range<u64>,
        last: u64,
        owners: &Owners,
        counts: &mut [u64],
    ) -> Result<(), Error> {
        let bijection = &self.compaction.form;
        let len = run.end - run.start;
        let step = (len / MOST_PIECES + 1).max(RUN as u64);
        let count = |k: u32| {
            let mut sums = try_with_capacity(counts.len())?;
            sums.resize(counts.len(), 0);
            let first = run.start + u64::from(k) * step;
            let end = run.end.min(first + step);
            let mut slots = [0; RUN];
            for first in (first..end).step_by(RUN) {
                let slots = &mut slots[..(end - first).min(RUN as u64) as usize];
                bijection.inverse_run(first, slots);
                // A map that is no bijection may have any inverse.
                slots.iter().for_each(|&slot| sums[owners.of(slot.min(last))] += 1);
            }
            Ok::<_, Error>(sums)
        };
        let add = |mut sums: Vec<u64>, counts: Vec<u64>| {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            Ok(sums)
        };
        // At most `MOST_PIECES`, and one.
        let pieces = (0..len.div_ceil(step) as u32).into_par_iter();
        if let Some(sums) = pieces.map(count).try_reduce_with(add) {
            counts.copy_from_slice(&sums?);
        }
        Ok(())
    }

    /// The division of the array where items are in the order of the slots.
    fn slots(&self) -> &'p Division {
        if self.to_slots { self.to } else { self.from }
    }

    /// The places that the rank holds where items are in the order of the indexes.
    fn index_places(&self) -> Range<u64> {
        if self.to_slots { self.source_places() } else { self.target_places() }
    }

    /// Writes the index of the item at each place that the rank holds on the shuffled side: `p[k]`
    /// for each of its [`target_places`](Self::target_places) after a shuffle, and for each of its
    /// [`source_places`](Self::source_places) before one is undone.
    ///
    /// The ranks exchange nothing for it, and each evaluates its own slots only, on all threads. (A
    /// [`Permutation`] by itself would have to count the survivors of the whole domain first, which
    /// the ranks have shared for their census.)
    ///
    /// For an [inverted](Permutation::is_inverted) permutation these are the indexes of its
    /// inverse, and the other side's places.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if `out` has not as many places, and
    /// [`ExchangeError::ItemsMismatch`] if the bijection breaks its requirements.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::exchange::{Census, Division, Exchange};
    /// use bijective_shuffle::prelude::*;
    ///
    /// let p = Permutation::new(1000, 42);
    /// let census = Census::new(&p)?;
    /// let division = Division::even(1000, 4);
    /// let mut indexes = [0; 250];
    /// let plan = Exchange::builder(&p, &census, &division, 1).shuffle()?;
    /// plan.write_indexes(&mut indexes)?;
    /// assert!(indexes.into_iter().eq(p.range(250..500)?));
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    #[inline]
    pub fn write_indexes(&self, out: &mut [u64]) -> Result<(), Error> {
        let places = self.slots().places(self.rank);
        check(places.end - places.start, [out.len()])?;
        self.lanes.write_indexes(&self.compaction, out)
    }

    /// The rank's runs that are not empty: where each lies in the rank's items, and the bijection
    /// whose survivors are its items, numbered from 0.
    fn own_runs(&self) -> impl Iterator<Item = (Range<usize>, Shifted<&dyn Bijection>)> + '_ {
        let first = self.index_places().start;
        let bijection = &*self.compaction.form;
        self.runs.of_rank(self.rank).filter(|run| !run.is_empty()).map(move |run| {
            // There are as many items in memory.
            let items = (run.start - first) as usize..(run.end - first) as usize;
            (items, Shifted::new(bijection, run.start))
        })
    }

    /// Puts the rank's items in the order in which they are sent: for each round, first those for
    /// rank 0, then those for rank 1, and so on.
    ///
    /// # Errors
    ///
    /// * [`Error::LengthMismatch`] if there are not as many `items` and places in `out` as
    ///   [`source_places`](Self::source_places).
    /// * [`Error::OutOfMemory`].
    /// * [`Error::NotABijection`] or [`ExchangeError::ItemsMismatch`] if the bijection breaks its
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
        if self.to_slots {
            self.own_runs().try_for_each(|(run, own)| {
                workspace.shuffle_into(&own, &items[run.clone()], &mut out[run])
            })
        } else {
            self.lanes.split(&self.compaction, items, out)
        }
    }

    /// Undoes [`pack`](Self::pack): puts what was packed where it was, for an exchange that failed.
    ///
    /// # Errors
    ///
    /// As [`pack`](Self::pack).
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::exchange::{Census, Division, Exchange};
    /// use bijective_shuffle::prelude::*;
    ///
    /// let p = Permutation::new(10, 42);
    /// let census = Census::new(&p)?;
    /// let division = Division::even(10, 2);
    /// let plan = Exchange::builder(&p, &census, &division, 0).shuffle()?;
    /// let (mut packed, mut items) = ([0; 5], [0; 5]);
    /// plan.pack(&mut Workspace::new(), &[1, 2, 3, 4, 5], &mut packed)?;
    /// plan.unpack(&mut Workspace::new(), &packed, &mut items)?;
    /// assert_eq!(items, [1, 2, 3, 4, 5]);
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn unpack<T: Copy + Send + Sync>(
        &self,
        workspace: &mut Workspace,
        packed: &[T],
        items: &mut [T],
    ) -> Result<(), Error> {
        let places = self.source_places();
        check(places.end - places.start, [packed.len(), items.len()])?;
        if self.to_slots {
            self.order_by_index(workspace, packed, items)
        } else {
            self.lanes.merge(&self.compaction, packed, items)
        }
    }

    /// Puts what the rank has received, for each round first that from rank 0, then that from rank
    /// 1, and so on, where it belongs.
    ///
    /// For a shuffle by a [trusted](crate::TrustedBijection) bijection it cannot fail in the pool
    /// of threads in which the plan was made: the plan has the memory for it.
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
        if self.to_slots {
            self.lanes.merge(&self.compaction, received, out)
        } else {
            self.order_by_index(workspace, received, out)
        }
    }

    /// Puts each run's items, which are in the order of the slots, in that of the indexes.
    fn order_by_index<T: Copy + Send + Sync>(
        &self,
        workspace: &mut Workspace,
        items: &[T],
        out: &mut [T],
    ) -> Result<(), Error> {
        self.own_runs().try_for_each(|(run, own)| {
            let out = &mut out[run.clone()];
            out.copy_from_slice(&items[run]);
            workspace.unshuffle(&own, out)
        })
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
        return Err(Error::Exchange(ExchangeError::RankCountMismatch { from, to }));
    }
    if rank >= from.ranks() {
        return Err(Error::NoSuchRank { rank: rank as u64, ranks: from.ranks() as u64 });
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

impl core::fmt::Debug for Exchange<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { from, to, rank, .. } = self;
        f.debug_struct("Exchange").field("rank", rank).field("from", from).field("to", to).finish()
    }
}
