//! [`TaggedExchange`]: items travel with two bytes each that say where they go.

use core::fmt;
use core::mem::MaybeUninit;
use core::ops::Range;

use super::census::Census;
use super::division::Division;
use super::plan::{check, check_divisions};
use super::shifted::Shifted;
use crate::base::check::try_with_capacity;
use crate::bijection::{Bijection, Trusted};
use crate::compact::{
    BLOCK_BYTES, Key, Mailbox, Outbox, Shape, Workspace, bucket_count, fits, shape_of,
    working_bytes,
};
use crate::error::{Error, ExchangeError};
use crate::permutation::Permutation;

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
/// 3. Each makes a [`Delivery`], and for each [part](Delivery::parts) sends blocks of
///    [`Blocks::BLOCK_BYTES`] to all others. In MPI that is `MPI_Alltoallv`.
/// 4. Each calls [`Delivery::place`].
///
/// # Examples
///
/// Three ranks in one process, which talk by copying:
///
/// ```
/// use bijective_shuffle::exchange::{Blocks, Division, TaggedExchange};
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
/// let mut deliveries = Vec::new();
/// for sorted in sorted {
///     deliveries.push(sorted.deliver(&totals, &shapes)?);
/// }
/// for part in 0..deliveries[0].parts() {
///     for (sender, receiver) in (0..3).flat_map(|sender| (0..3).map(move |to| (sender, to))) {
///         let blocks = deliveries[sender].exchange(part);
///         let first = blocks.send_starts[receiver] * Blocks::BLOCK_BYTES;
///         let bytes = blocks.send_counts[receiver] * Blocks::BLOCK_BYTES;
///         let sent = blocks.sent[first..first + bytes].to_vec();
///         let blocks = deliveries[receiver].exchange(part);
///         let first = blocks.receive_starts[sender] * Blocks::BLOCK_BYTES;
///         blocks.received[first..first + bytes].copy_from_slice(&sent);
///     }
/// }
/// let mut shuffled = Vec::new();
/// for (plan, delivery) in plans.iter().zip(deliveries) {
///     let places = plan.target_places();
///     let mut shard = vec![0; (places.end - places.start) as usize];
///     // SAFETY: all that was to be sent has been received.
///     unsafe { delivery.place(&mut shard) }?;
///     shuffled.extend(shard);
/// }
/// assert_eq!(shuffled, p.apply(&items)?);
/// # Ok::<(), Error>(())
/// ```
pub struct TaggedExchange<'p, B> {
    permutation: &'p Permutation<B>,
    from: &'p Division,
    to: &'p Division,
    rank: usize,
    /// What decides an item's bucket.
    key: Key,
    /// The last point that a bucket has, or `None` if there would be too many buckets.
    last: Option<u64>,
}

impl<'p, B: Bijection> TaggedExchange<'p, B> {
    /// The plan of a rank for a shuffle: item `p[k]` of the array moves to place `k`.
    ///
    /// `from` says what each rank holds before, and `to` what it holds afterwards. The census is
    /// only needed for an [inverted](Permutation::is_inverted) permutation.
    ///
    /// # Errors
    ///
    /// * [`Error::LengthMismatch`] if a division has another length than the permutation.
    /// * [`ExchangeError::RanksDiffer`] and [`ExchangeError::NoSuchRank`].
    /// * [`ExchangeError::CensusMissing`], and [`ExchangeError::CensusDiffers`] if it is not that
    ///   of the permutation.
    pub fn shuffle(
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
    pub fn unshuffle(
        p: &'p Permutation<B>,
        census: Option<&Census>,
        from: &'p Division,
        to: &'p Division,
        rank: usize,
    ) -> Result<Self, Error> {
        Self::new(p, census, from, to, rank, p.is_inverted())
    }

    fn new(
        permutation: &'p Permutation<B>,
        census: Option<&Census>,
        from: &'p Division,
        to: &'p Division,
        rank: usize,
        to_slots: bool,
    ) -> Result<Self, Error> {
        check_divisions(permutation, from, to, rank)?;
        let (len, last) = (permutation.len(), permutation.bijection().last());
        let points = if to_slots { last } else { len.saturating_sub(1) };
        // The tags are of 16 bits, of slots and indexes that fit 32.
        let narrow = last <= u64::from(u32::MAX);
        let serves = bucket_count(points).is_some_and(|buckets| {
            let fewest = FEWEST.saturating_mul(buckets as u64).saturating_mul(from.ranks() as u64);
            narrow && len >= fewest && permutation.bijection().trusted().is_some()
        });
        let last_point = serves.then_some(points);
        let places = from.places(rank);
        let key = if to_slots || places.is_empty() {
            Key::Slot
        } else {
            let census = census.ok_or(ExchangeError::CensusMissing)?;
            census.check(permutation)?;
            let first = census.slot(permutation, places.start)?;
            let last = census.slot(permutation, places.end - 1)?;
            if last < first {
                return Err(ExchangeError::CensusDiffers.into());
            }
            Key::Index { first, last, len }
        };
        Ok(Self { permutation, from, to, rank, key, last: last_point })
    }

    /// Whether it serves items of a type. It is the same for all ranks.
    pub fn serves<T>(&self) -> bool {
        self.last.is_some() && fits::<T>()
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

    /// How the buckets of items of a type will lie in memory: what [`Sorted::shape`] tells once
    /// they are sorted. `None` if it does not [serve](Self::serves) the items.
    pub fn shape<T>(&self) -> Option<[u64; 2]> {
        let places = self.source_places();
        let items = usize::try_from(places.end - places.start).ok()?;
        let shape = shape_of::<T>(items, self.last.filter(|_| fits::<T>())?)?;
        Some([shape.parts as u64, shape.stride as u64])
    }

    /// About how many bytes of working memory the rank takes for items of a type, besides the items
    /// and as many places, if all ranks' buckets have these [`shape`](Self::shape)s.
    ///
    /// # Panics
    ///
    /// If there is not one shape for each rank, or it does not [serve](Self::serves) the items.
    pub fn working_bytes<T>(&self, shapes: &[[u64; 2]]) -> u64 {
        assert_eq!(shapes.len(), self.from.ranks(), "there is one shape for each rank");
        let last = self.last.filter(|_| fits::<T>()).expect("another exchange serves these items");
        let size = |size: u64| usize::try_from(size).unwrap_or(usize::MAX);
        let shapes: Vec<Shape> = shapes
            .iter()
            .map(|&[parts, stride]| Shape { parts: size(parts), stride: size(stride) })
            .collect();
        let places = self.target_places();
        let buckets = bucket_count(last).map_or(0, |buckets| buckets as u128);
        let share = (buckets * u128::from(places.end - places.start))
            .div_ceil(u128::from(self.to.len()).max(1));
        // At both ends a bucket may be shared, and the counts of buckets vary a little.
        let mine = (share as u64 + 2).min(buckets as u64);
        working_bytes::<T>(last, mine, self.rank, &shapes)
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
        let own;
        let (trusted, shifted);
        let f: &Trusted = match self.key {
            Key::Slot => {
                // Where there are no items, their first index may be beyond the domain.
                let by = if places.is_empty() { 0 } else { places.start };
                own = Shifted::new(self.permutation.bijection(), by);
                shifted = own.trusted();
                shifted.as_ref()
            }
            Key::Index { .. } => {
                trusted = self.permutation.bijection().trusted();
                trusted.as_ref()
            }
        }
        // A bijection may say so once and not again.
        .ok_or(ExchangeError::ItemsDiffer)?;
        let outbox = workspace.sort_to_send(f, self.key, last, items)?;
        Ok(outbox.map(|outbox| Sorted { outbox, to: self.to, rank: self.rank }))
    }
}

impl<B> fmt::Debug for TaggedExchange<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, rank, .. } = self;
        f.debug_struct("TaggedExchange")
            .field("rank", rank)
            .field("from", from)
            .field("to", to)
            .finish_non_exhaustive()
    }
}

/// A rank's items in buckets, as [`TaggedExchange::sort`] leaves them.
pub struct Sorted<'s, T> {
    outbox: Outbox<'s, T>,
    to: &'s Division,
    rank: usize,
}

impl<'s, T: Copy + Send + Sync> Sorted<'s, T> {
    /// The number of the rank's items in each bucket. All ranks have the same buckets.
    pub fn counts(&self) -> &[u64] {
        self.outbox.counts()
    }

    /// How the buckets lie in memory, for the other ranks.
    pub fn shape(&self) -> [u64; 2] {
        let Shape { parts, stride } = self.outbox.shape();
        [parts as u64, stride as u64]
    }

    /// Makes room for what the other ranks send, and finds out what goes to whom. It needs the sums
    /// of all ranks' [`counts`](Self::counts), and all ranks' [`shape`](Self::shape)s.
    ///
    /// # Errors
    ///
    /// [`ExchangeError::ItemsDiffer`] if the sums are not those of as many items as there are, or
    /// no rank's buckets lie in such a shape; and [`Error::OutOfMemory`].
    pub fn deliver(self, totals: &[u64], shapes: &[[u64; 2]]) -> Result<Delivery<'s, T>, Error> {
        let Self { outbox, to, rank } = self;
        let differ = || Error::from(ExchangeError::ItemsDiffer);
        if totals.len() != outbox.counts().len() || shapes.len() != to.ranks() {
            return Err(differ());
        }
        // The first place of each bucket, and the number of all places.
        let mut starts = try_with_capacity(totals.len() + 1)?;
        let mut sum = 0_u64;
        starts.push(0);
        for &total in totals {
            sum = sum.checked_add(total).ok_or_else(differ)?;
            starts.push(sum);
        }
        if sum != to.len() {
            return Err(differ());
        }
        let mut buckets = try_with_capacity(to.ranks())?;
        buckets.extend((0..to.ranks()).map(|rank| buckets_of(&starts, to.places(rank))));
        let mut own = try_with_capacity(shapes.len())?;
        for &[parts, stride] in shapes {
            let [parts, stride] = [parts, stride].map(usize::try_from);
            let (Ok(parts), Ok(stride)) = (parts, stride) else { return Err(differ()) };
            own.push(Shape { parts, stride });
        }
        if own[rank] != outbox.shape() || !own.iter().all(|shape| shape.has_spare()) {
            return Err(differ());
        }
        let Range { start, end } = to.places(rank);
        let (places, skipped) = (end - start, start - starts[buckets[rank].start]);
        let mut kept = try_with_capacity(totals.len())?;
        kept.extend_from_slice(totals);
        let mailbox = outbox.exchange(own, rank, buckets[rank].clone())?;
        Ok(Delivery { mailbox, totals: kept, buckets, rank, places, skipped })
    }
}

/// The buckets with the items of some places, where bucket `b` has those from `starts[b]` on.
fn buckets_of(starts: &[u64], places: Range<u64>) -> Range<usize> {
    if places.is_empty() {
        return 0..0;
    }
    // Among empty buckets that begin at a place, the last one has its item.
    let bucket = |place| starts.partition_point(|&start| start <= place) - 1;
    bucket(places.start)..bucket(places.end - 1) + 1
}

impl<T> fmt::Debug for Sorted<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sorted").field("rank", &self.rank).finish_non_exhaustive()
    }
}

/// A rank's buckets, and room for those of the other ranks.
pub struct Delivery<'s, T> {
    mailbox: Mailbox<'s, T>,
    totals: Vec<u64>,
    /// The buckets that each rank gets. Where a bucket has items of several ranks, each gets it.
    buckets: Vec<Range<usize>>,
    rank: usize,
    /// The places that this rank holds after the exchange.
    places: u64,
    /// The items in this rank's first bucket that belong to ranks before.
    skipped: u64,
}

/// What a rank sends and receives for one part, in blocks: to each rank a run of blocks of `sent`,
/// and from each a run of `received`. Nothing goes from a rank to itself. The runs sent to two
/// ranks may share blocks.
#[derive(Debug)]
#[non_exhaustive]
pub struct Blocks<'d> {
    /// The blocks of this rank's part.
    pub sent: &'d [MaybeUninit<u8>],
    /// The first block for each rank.
    pub send_starts: Vec<usize>,
    /// The number of blocks for each rank.
    pub send_counts: Vec<usize>,
    /// Room for the other ranks' blocks.
    pub received: &'d mut [MaybeUninit<u8>],
    /// Where the blocks of each rank go.
    pub receive_starts: Vec<usize>,
    /// The number of blocks of each rank.
    pub receive_counts: Vec<usize>,
}

impl<T: Copy + Send + Sync> Delivery<'_, T> {
    /// The number of exchanges: as many as a rank has parts, which is its number of threads.
    pub fn parts(&self) -> usize {
        self.mailbox.shapes().iter().map(|shape| shape.parts).max().unwrap_or(0)
    }

    /// What is to be sent and received for a part.
    ///
    /// # Panics
    ///
    /// If the ranks' shapes are not those that made this delivery.
    pub fn exchange(&mut self, part: usize) -> Blocks<'_> {
        let Self { mailbox, buckets, rank, .. } = self;
        let mine = buckets[*rank].len();
        let [mut send_starts, mut send_counts, mut receive_starts, mut receive_counts] =
            [const { Vec::new() }; 4];
        let own = mailbox.shapes()[*rank];
        let mut first = 0;
        for (other, theirs) in buckets.iter().enumerate() {
            let goes = other != *rank && part < own.parts;
            let run = if goes { theirs.clone() } else { 0..0 };
            send_starts.push(run.start * own.stride);
            send_counts.push(run.len() * own.stride);
            let shape = mailbox.shapes()[other];
            let blocks = mine * shape.stride;
            let comes = other != *rank && part < shape.parts;
            receive_starts.push(if comes { first + part * blocks } else { 0 });
            receive_counts.push(if comes { blocks } else { 0 });
            if other != *rank {
                first += shape.parts * blocks;
            }
        }
        let (sent, received) = mailbox.blocks(part);
        Blocks { sent, send_starts, send_counts, received, receive_starts, receive_counts }
    }

    /// Puts all items of the rank at their places.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if there are not as many places in `out` as the rank holds after
    /// the exchange, [`Error::OutOfMemory`], and [`ExchangeError::ItemsDiffer`] if not all have
    /// come. After the last one, `out` holds unspecified items.
    ///
    /// # Safety
    ///
    /// For each part, the room that [`exchange`](Self::exchange) gave for each rank holds the
    /// blocks that this rank's delivery gave to send, for items of the same type.
    pub unsafe fn place(self, out: &mut [T]) -> Result<(), Error> {
        let Self { mailbox, totals, places, skipped, .. } = self;
        check(places, [out.len()])?;
        // SAFETY: the caller promises that these blocks have been received.
        let is_complete = unsafe { mailbox.place(&totals, skipped, out) }?;
        if is_complete { Ok(()) } else { Err(ExchangeError::ItemsDiffer.into()) }
    }
}

impl Blocks<'_> {
    /// The size of a block in bytes.
    pub const BLOCK_BYTES: usize = BLOCK_BYTES;
}

impl<T> fmt::Debug for Delivery<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delivery")
            .field("rank", &self.rank)
            .field("buckets", &self.buckets)
            .finish_non_exhaustive()
    }
}
