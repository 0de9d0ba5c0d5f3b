//! [`TaggedExchange`]: items travel with two bytes each that say where they go.

use core::fmt;
use core::ops::Range;

use super::census::Census;
use super::delivery::{BucketShape, Sorted};
use super::division::Division;
use super::plan::{check, check_divisions};
use super::shifted::Shifted;
use super::tiles::Compaction;
use crate::bijection::hooks::EngineForm;
use crate::compact::{BucketKey, OutboxShape, RankSizes, Workspace, bucket_count, fits, shape_of};
use crate::error::ExchangeError;
use crate::permutation::Permutation;
use crate::{Bijection, Error, Trusted};

/// The least items that a bucket has from each rank on average: with fewer, the room that buckets
/// have to spare is a large part of what is sent.
const FEWEST: u64 = 512;

/// One rank's plan of a shuffle, or of undoing one, in which items travel in *buckets*, each with a
/// tag of two bytes that says where in its bucket it goes.
///
/// It sends more bytes than an [`Exchange`](super::Exchange), and computes about half as much: the
/// sender sorts its items into buckets, and the receiver puts each bucket in order in the cache. It
/// is for ranks that share memory, where bytes are cheap. Both give the same order.
///
/// It serves permutations whose bijection is [trusted](crate::TrustedBijection), on domains of at
/// most 2^30 slots, with items of 1 to 64 bytes, and not too many ranks for the items.
///
/// # What the ranks do
///
/// 1. Each [`sort`](Self::sort)s its items.
/// 2. They add up their [`Sorted::counts`], and tell each other their [`Sorted::shape`]s. In MPI
///    these are `MPI_Allreduce` and `MPI_Allgather`.
/// 3. Each makes a [`Delivery`](super::Delivery). All choose the same number of
///    [`chunks`](Self::chunks), in which each rank's buckets come to it.
/// 4. In each [`step`](super::Delivery::step) all send each other the
///    [messages](super::Blocks::sent) of one chunk, and each
///    [`place`](super::Arrived::place)s what has come in the step before. A rank may place while
///    its messages are on their way: in MPI, between `MPI_Isend` and `MPI_Waitall`.
///
/// # Examples
///
/// Three ranks in one process, which talk by copying:
///
/// ```
/// use std::collections::HashMap;
///
/// use bijective_shuffle::exchange::{Division, TaggedExchange};
/// use bijective_shuffle::prelude::*;
///
/// let p = Permutation::new(200_001, 42);
/// let division = Division::even(p.len(), 3);
/// let items: Vec<u64> = (0..p.len()).collect();
/// let plans: Vec<_> = (0..3)
///     .map(|rank| TaggedExchange::shuffle(&p, None, &division, &division, rank))
///     .collect::<Result<_, _>>()?;
///
/// let mut workspaces = [const { Workspace::new() }; 3];
/// let mut sorted = Vec::new();
/// for (plan, workspace) in plans.iter().zip(&mut workspaces) {
///     assert!(plan.serves::<u64>());
///     let places = plan.source_places();
///     let shard = &items[places.start as usize..places.end as usize];
///     sorted.push(plan.sort(workspace, shard)?.expect("it is like random"));
/// }
/// let mut totals = vec![0; sorted[0].counts().len()];
/// for sorted in &sorted {
///     totals.iter_mut().zip(sorted.counts()).for_each(|(total, count)| *total += count);
/// }
/// let shapes: Vec<_> = sorted.iter().map(|sorted| sorted.shape()).collect();
/// // One chunk is best for so few items. Here they come in two.
/// assert_eq!(plans[0].chunks::<u64>(&shapes, u64::MAX), 1);
/// let mut deliveries = Vec::new();
/// for sorted in sorted {
///     deliveries.push(sorted.deliver(&totals, &shapes, 2)?);
/// }
/// let mut shards: Vec<Vec<u64>> = (0..3).map(|rank| vec![0; shard_len(&plans[rank])]).collect();
/// for step in 0..deliveries[0].steps() {
///     let mut wire = HashMap::new();
///     for (sender, delivery) in deliveries.iter_mut().enumerate() {
///         let (blocks, _) = delivery.step(step);
///         for message in blocks.sent() {
///             wire.insert((sender, message.rank, message.part), message.bytes.to_vec());
///         }
///     }
///     for (receiver, delivery) in deliveries.iter_mut().enumerate() {
///         let (blocks, arrived) = delivery.step(step);
///         // SAFETY: all that was sent in the step before has been received.
///         unsafe { arrived.place(&mut shards[receiver]) }?;
///         for room in blocks.received() {
///             room.bytes.copy_from_slice(&wire[&(room.rank, receiver, room.part)]);
///         }
///     }
/// }
/// assert_eq!(shards.concat(), p.apply(&items)?);
/// # fn shard_len(plan: &TaggedExchange) -> usize {
/// #     (plan.target_places().end - plan.target_places().start) as usize
/// # }
/// # Ok::<(), bijective_shuffle::Error>(())
/// ```
pub struct TaggedExchange<'p> {
    form: EngineForm<'p>,
    from: &'p Division,
    to: &'p Division,
    pub(super) rank: usize,
    /// What decides an item's bucket.
    key: BucketKey,
    /// The last point that a bucket has, or `None` if there would be too many buckets.
    last: Option<u64>,
}

impl<'p> TaggedExchange<'p> {
    /// The plan of a rank for a shuffle: item `p[k]` of the array moves to place `k`.
    ///
    /// `from` says what each rank holds before, and `to` what it holds afterwards. The census is
    /// only needed for an [inverted](Permutation::is_inverted) permutation.
    ///
    /// # Errors
    ///
    /// * [`Error::LengthMismatch`] if a division has another length than the permutation.
    /// * [`ExchangeError::RankCountMismatch`] and [`Error::NoSuchRank`].
    /// * [`Error::LengthExceedsDomain`] if the [trusted](Bijection::trusted) form of the bijection,
    ///   which is what is evaluated, has fewer points than the permutation.
    /// * [`ExchangeError::CensusMismatch`] if the census is needed and missing, or is not that
    ///   of the permutation.
    pub fn shuffle<B: Bijection>(
        p: &'p Permutation<B>,
        census: Option<&Census>,
        from: &'p Division,
        to: &'p Division,
        rank: usize,
    ) -> Result<Self, Error> {
        Self::new(p, census, from, to, rank, !p.is_inverted())
    }

    /// The plan of a rank for undoing a shuffle: item `k` of the array moves to place `p[k]`.
    ///
    /// `from` says what each rank holds before, and `to` what it holds afterwards: for undoing a
    /// shuffle they change sides. The census is needed unless the permutation is
    /// [inverted](Permutation::is_inverted).
    ///
    /// # Errors
    ///
    /// As [`shuffle`](Self::shuffle).
    pub fn unshuffle<B: Bijection>(
        p: &'p Permutation<B>,
        census: Option<&Census>,
        from: &'p Division,
        to: &'p Division,
        rank: usize,
    ) -> Result<Self, Error> {
        Self::new(p, census, from, to, rank, p.is_inverted())
    }

    fn new<B: Bijection>(
        permutation: &'p Permutation<B>,
        census: Option<&Census>,
        from: &'p Division,
        to: &'p Division,
        rank: usize,
        to_slots: bool,
    ) -> Result<Self, Error> {
        check_divisions(permutation, from, to, rank)?;
        let compaction = Compaction::of(permutation)?;
        let (len, last) = (compaction.len, compaction.form.last());
        let points = if to_slots { last } else { len.saturating_sub(1) };
        // The tags are of 16 bits, of slots and indexes that fit 32.
        let narrow = last <= u64::from(u32::MAX);
        let serves = bucket_count(points).is_some_and(|buckets| {
            let fewest = FEWEST.saturating_mul(buckets as u64).saturating_mul(from.ranks() as u64);
            narrow && len >= fewest && compaction.form.is_trusted()
        });
        let last_point = serves.then_some(points);
        let places = from.places(rank);
        let key = if to_slots || places.is_empty() {
            BucketKey::Slot
        } else {
            let census = census.ok_or(Error::Exchange(ExchangeError::CensusMismatch))?;
            census.check(&compaction)?;
            let first = census.slot(&compaction, places.start)?;
            let last = census.slot(&compaction, places.end - 1)?;
            if last < first {
                return Err(Error::Exchange(ExchangeError::CensusMismatch));
            }
            BucketKey::Index { first, last, len }
        };
        Ok(Self { form: compaction.form, from, to, rank, key, last: last_point })
    }

    /// Whether it serves items of a type. It is the same for all ranks.
    pub fn serves<T>(&self) -> bool {
        self.last.is_some() && fits::<T>()
    }

    /// The places of the array that the rank holds before the exchange.
    pub fn source_places(&self) -> Range<u64> {
        self.from.places(self.rank)
    }

    /// The places of the array that the rank holds after the exchange.
    pub fn target_places(&self) -> Range<u64> {
        self.to.places(self.rank)
    }

    /// How the buckets of items of a type will lie in memory: what [`Sorted::shape`] tells once
    /// they are sorted. `None` if it does not [serve](Self::serves) the items.
    pub fn shape<T>(&self) -> Option<BucketShape> {
        let places = self.source_places();
        let items = usize::try_from(places.end - places.start).ok()?;
        let shape = shape_of::<T>(items, self.last.filter(|_| fits::<T>())?)?;
        Some(BucketShape { parts: shape.parts as u64, blocks: shape.stride as u64 })
    }

    /// The recommended number of chunks for items of a type, if all ranks' buckets have these
    /// [`shape`](Self::shape)s. It is larger where no rank would otherwise stay within `memory`
    /// bytes of [working memory](Self::working_bytes), if that is possible, and the same for all
    /// ranks.
    ///
    /// A chunk has at least some MiB, and some buckets for each thread, so few items come in one.
    ///
    /// # Panics
    ///
    /// If there is not one shape for each rank, or it does not [serve](Self::serves) the items.
    pub fn chunks<T>(&self, shapes: &[BucketShape], memory: u64) -> usize {
        // No more than there are buckets.
        self.with_sizes::<T, _>(shapes, |sizes| sizes.chunks::<T>(memory) as usize)
    }

    /// About how many bytes of working memory the rank takes for items of a type, besides the items
    /// and as many places, if all ranks' buckets have these [`shape`](Self::shape)s and come in
    /// this number of [`chunks`](Self::chunks).
    ///
    /// It is the memory of the sorted items, and of two chunks of what the rank receives, or of all
    /// of that if it is one chunk; and for each thread that of one bucket.
    ///
    /// # Panics
    ///
    /// If there is not one shape for each rank, or it does not [serve](Self::serves) the items.
    pub fn working_bytes<T>(&self, shapes: &[BucketShape], chunks: usize) -> u64 {
        self.with_sizes::<T, _>(shapes, |sizes| sizes.working_bytes::<T>(self.rank, chunks as u64))
    }

    /// Calls a function with the ranks' sizes for items of a type.
    fn with_sizes<T, R>(&self, shapes: &[BucketShape], call: impl FnOnce(&RankSizes) -> R) -> R {
        assert_eq!(shapes.len(), self.from.ranks(), "there is one shape for each rank");
        let last = self.last.filter(|_| fits::<T>()).expect("another exchange serves these items");
        let size = |size: u64| usize::try_from(size).unwrap_or(usize::MAX);
        let shapes: Vec<OutboxShape> = shapes
            .iter()
            .map(|&BucketShape { parts, blocks }| OutboxShape {
                parts: size(parts),
                stride: size(blocks),
            })
            .collect();
        let all = bucket_count(last).map_or(0, |buckets| buckets as u64);
        let buckets = |rank| {
            let places = self.to.places(rank);
            if places.is_empty() {
                return 0;
            }
            let share = u128::from(all) * u128::from(places.end - places.start);
            let share = share.div_ceil(u128::from(self.to.len()));
            // At both ends a bucket may be shared, and the counts of buckets vary a little.
            (share as u64 + 2).min(all)
        };
        let buckets: Vec<u64> = (0..shapes.len()).map(buckets).collect();
        call(&RankSizes { last, shapes: &shapes, buckets: &buckets })
    }

    /// Sorts copies of the rank's items into buckets. `None` if a bucket has too little room for
    /// its items: then the bijection is nothing like random, and only an
    /// [`Exchange`](super::Exchange) serves.
    ///
    /// # Errors
    ///
    /// * [`Error::LengthMismatch`] if there are not as many items as
    ///   [`source_places`](Self::source_places).
    /// * [`Error::OutOfMemory`].
    ///
    /// # Panics
    ///
    /// If it does not [serve](Self::serves) the items.
    pub fn sort<'s, T: Copy + Send + Sync>(
        &'s self,
        workspace: &'s mut Workspace,
        items: &[T],
    ) -> Result<Option<Sorted<'s, T>>, Error> {
        let places = self.source_places();
        check(places.end - places.start, [items.len()])?;
        assert!(fits::<T>(), "an item has between 1 and 64 bytes");
        let last = self.last.expect("another exchange serves this permutation");
        let EngineForm::Trusted(trusted) = &self.form else {
            unreachable!("it serves trusted bijections only")
        };
        let shifted;
        let f = match self.key {
            BucketKey::Slot => {
                // Where there are no items, their first index may be beyond the domain.
                let by = if places.is_empty() { 0 } else { places.start };
                shifted = Trusted::from_owned(Shifted::new(trusted, by));
                &shifted
            }
            BucketKey::Index { .. } => trusted,
        };
        let outbox = workspace.sort_to_send(f, self.key, last, items)?;
        Ok(outbox.map(|outbox| Sorted::new(outbox, self.to, self.rank)))
    }
}

impl fmt::Debug for TaggedExchange<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, rank, .. } = self;
        f.debug_struct("TaggedExchange")
            .field("rank", rank)
            .field("from", from)
            .field("to", to)
            .finish_non_exhaustive()
    }
}
