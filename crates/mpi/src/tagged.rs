//! Shuffles in which items travel with tags, between ranks that share memory.

use std::any::Any;
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use bijective_shuffle::exchange::{BucketShape, Delivery, Sorted, TaggedExchange};
use bijective_shuffle::{Bijection, Workspace};
use bytemuck::Pod;

use crate::agreement::AgreementPoint;
use crate::arrays::{Arrays, VisitArray};
use crate::buffers::{ColumnBuffers, check_length, column, fit};
use crate::error::MpiShuffleError;
use crate::group::Group;
use crate::in_flight::Requests;
use crate::plan::{Plan, SendDirection};
use crate::times::{Clock, Times};

impl<'a, B: Bijection> Plan<'a, B> {
    /// Moves arrays with tags, each to the first buffer of its column. Returns `false` if tags do
    /// not serve all of them. The ranks have agreed on everything that decides this.
    pub(crate) fn run_tagged(
        &mut self,
        direction: SendDirection,
        arrays: &mut impl Arrays,
    ) -> Result<bool, MpiShuffleError> {
        // In messages of a limited size items travel without tags.
        if !self.has_tags || self.largest > self.limit {
            return Ok(false);
        }
        let (exchange, serve) = match self.tagged[direction as usize].take() {
            Some(both) => both,
            None => self.tagged_exchange(direction)?,
        };
        let mut serves = Serves { exchange: &exchange, all: serve };
        let Ok(()) = arrays.visit(&mut serves);
        if !serves.all || !self.has_memory_for(&exchange, arrays)? {
            self.tagged[direction as usize] = Some((exchange, serve));
            return Ok(false);
        }
        let chunks = self.chunks();
        let Self { group, workspace, columns, times, .. } = self;
        (times.pack, times.exchange, times.place) = Default::default();
        let mut shuffle = Shuffle { exchange: &exchange, group, chunks, workspace, columns, times };
        let moved = match arrays.visit(&mut shuffle) {
            Ok(()) => true,
            Err(Stop::Overflow) => false,
            Err(Stop::Error(error)) => return Err(error),
        };
        self.tagged[direction as usize] = Some((exchange, serve));
        // A permutation that is nothing like random is not tried again.
        self.has_tags = moved;
        Ok(moved)
    }

    /// Whether every rank's working memory for an exchange of these arrays keeps to the limit.
    fn has_memory_for(
        &self,
        exchange: &TaggedExchange<'a>,
        arrays: &mut impl Arrays,
    ) -> Result<bool, MpiShuffleError> {
        let Some(limit) = self.memory else { return Ok(true) };
        let mut needs = Needs { exchange, group: self.group, chunks: self.chunks(), most: 0 };
        arrays.visit(&mut needs)?;
        // The least complement is that of the most.
        let mut least = [!needs.most];
        self.group.reduce_min(&mut least)?;
        Ok(!least[0] <= limit)
    }

    /// How the ranks choose the number of chunks. They have agreed on it.
    fn chunks(&self) -> BucketChunks {
        match self.chunks {
            // No rank has as many buckets.
            Some(chunks) => BucketChunks::Some(usize::try_from(chunks).unwrap_or(usize::MAX)),
            None => BucketChunks::ForMemory(self.memory.unwrap_or(u64::MAX)),
        }
    }

    /// Makes an exchange with tags, and finds out whether they serve on all ranks: a bijection may
    /// be trusted on some of them only.
    fn tagged_exchange(
        &mut self,
        direction: SendDirection,
    ) -> Result<(TaggedExchange<'a>, bool), MpiShuffleError> {
        let to_slots = (direction == SendDirection::Shuffle) != self.p.is_inverted();
        let census = if to_slots { None } else { Some(self.census()?) };
        let Self { p, group, before, after, .. } = *self;
        let rank = group.rank();
        let exchange = group.agree(AgreementPoint::Tags, || match direction {
            SendDirection::Shuffle => TaggedExchange::shuffle(p, census, before, after, rank),
            SendDirection::Unshuffle => TaggedExchange::unshuffle(p, census, after, before, rank),
        })?;
        // Bytes are served wherever any items are.
        let mut serve = [u64::from(exchange.serves::<u8>())];
        group.reduce_min(&mut serve)?;
        Ok((exchange, serve == [1]))
    }
}

/// In how many chunks buckets come to each rank.
#[derive(Clone, Copy)]
enum BucketChunks {
    /// As many as were asked for.
    Some(usize),
    /// As many as serve, in this number of bytes if possible.
    ForMemory(u64),
}

impl BucketChunks {
    /// The number for items of a type, if all ranks' buckets have these shapes.
    fn count<T>(self, exchange: &TaggedExchange, shapes: &[BucketShape]) -> usize {
        match self {
            Self::Some(chunks) => chunks,
            Self::ForMemory(bytes) => exchange.chunks::<T>(shapes, bytes),
        }
    }
}

/// Finds out whether tags serve all arrays.
struct Serves<'a, 'p> {
    exchange: &'a TaggedExchange<'p>,
    all: bool,
}

impl VisitArray for Serves<'_, '_> {
    type Error = Infallible;

    fn visit<T: Pod + Send + Sync>(&mut self, _: usize, _: &mut Vec<T>) -> Result<(), Infallible> {
        self.all &= size_of::<T>() == 0 || self.exchange.serves::<T>();
        Ok(())
    }
}

/// Finds out how much working memory the largest array takes on this rank.
struct Needs<'a, 'p> {
    exchange: &'a TaggedExchange<'p>,
    group: &'a Group,
    chunks: BucketChunks,
    most: u64,
}

impl VisitArray for Needs<'_, '_> {
    type Error = MpiShuffleError;

    fn visit<T: Pod + Send + Sync>(
        &mut self,
        _: usize,
        _: &mut Vec<T>,
    ) -> Result<(), MpiShuffleError> {
        if size_of::<T>() > 0 {
            let shape = self.exchange.shape::<T>().unwrap_or_default();
            let shapes = gather_shapes(self.group, shape)?;
            let chunks = self.chunks.count::<T>(self.exchange, &shapes);
            self.most = self.most.max(self.exchange.working_bytes::<T>(&shapes, chunks));
        }
        Ok(())
    }
}

/// Why arrays were not moved.
enum Stop {
    /// A rank's bucket has too little room.
    Overflow,
    Error(MpiShuffleError),
}

impl From<MpiShuffleError> for Stop {
    fn from(error: MpiShuffleError) -> Self {
        Self::Error(error)
    }
}

/// Moves each array to a buffer. The array itself stays as it is.
struct Shuffle<'a, 'p> {
    exchange: &'a TaggedExchange<'p>,
    group: &'a Group,
    chunks: BucketChunks,
    workspace: &'a mut Workspace,
    columns: &'a mut Vec<Box<dyn Any>>,
    times: &'a mut Times,
}

impl VisitArray for Shuffle<'_, '_> {
    type Error = Stop;

    fn visit<T: Pod + Send + Sync>(
        &mut self,
        number: usize,
        items: &mut Vec<T>,
    ) -> Result<(), Stop> {
        let Self { exchange, group, chunks, workspace, columns, times } = self;
        let [sent, received] = [exchange.source_places(), exchange.target_places()]
            .map(|places| places.end - places.start);
        let ColumnBuffers::<T> { packed, .. } = column(columns, number);
        let mut clock = Clock::start();
        let mut totals = Vec::new();
        let sorted = group.agree(AgreementPoint::Sort, || {
            check_length(sent, items.len() as u64)?;
            fit(packed, received)?;
            if size_of::<T>() == 0 {
                return Ok(None);
            }
            let sorted = exchange.sort(workspace, items)?;
            fit(&mut totals, sorted.as_ref().map_or(0, |sorted| sorted.counts().len() as u64))?;
            Ok(sorted)
        })?;
        if size_of::<T>() == 0 {
            return Ok(());
        }
        // A rank whose buckets overflow has no parts.
        let shape = sorted.as_ref().map_or_else(BucketShape::default, Sorted::shape);
        let shapes = gather_shapes(group, shape)?;
        let (Some(sorted), false) = (sorted, shapes.iter().any(|shape| shape.parts == 0)) else {
            return Err(Stop::Overflow);
        };
        group.sum(sorted.counts(), &mut totals)?;
        let chunks = chunks.count::<T>(exchange, &shapes);
        let (delivery, requests) = group.agree(AgreementPoint::Deliver, || {
            let requests = Requests::for_messages(messages(&shapes, group.rank()))?;
            Ok((sorted.deliver(&totals, &shapes, chunks)?, requests))
        })?;
        times.pack += clock.lap();
        let place = deliver(group, delivery, requests, packed)?;
        times.place += place;
        times.exchange += clock.lap().saturating_sub(place);
        Ok(())
    }
}

/// The shapes of all ranks' buckets, that of rank 0 first.
fn gather_shapes(group: &Group, mine: BucketShape) -> Result<Vec<BucketShape>, MpiShuffleError> {
    let all = group.gather([mine.parts, mine.blocks])?;
    Ok(all.into_iter().map(|[parts, blocks]| BucketShape { parts, blocks }).collect())
}

/// The most messages that a rank sends and receives at a time.
fn messages(shapes: &[BucketShape], rank: usize) -> u64 {
    let parts = |rank: usize| shapes[rank].parts;
    let others = (0..shapes.len()).filter(|&other| other != rank);
    others.map(|other| parts(other) + parts(rank)).sum()
}

/// Sends the buckets and places those that come: each chunk while the next one is on its way.
/// Returns how long placing took.
fn deliver<T: Pod + Send + Sync>(
    group: &Group,
    mut delivery: Delivery<'_, T>,
    mut requests: Requests,
    places: &mut [T],
) -> Result<Duration, MpiShuffleError> {
    let mut placed = Ok(Ok(()));
    let mut time = Duration::ZERO;
    for step in 0..delivery.steps() {
        let (blocks, arrived) = delivery.step(step);
        let place = || {
            let mut clock = Clock::start();
            // A rank that has failed still sends and receives, as the others wait for that. They
            // are told when all is done.
            if let Ok(Ok(())) = placed {
                // SAFETY: MPI has moved the messages of the step before between ranks that have
                // agreed on the permutation, the divisions, the direction, the size of items, and
                // the number of chunks; any bytes are an item; it has kept the order of the
                // messages between two ranks, which is the same on both sides.
                let place = || unsafe { arrived.place(places) };
                placed = catch_unwind(AssertUnwindSafe(place));
            }
            clock.lap()
        };
        time += group.exchange_while(blocks, &mut requests, place)?;
    }
    group.agree(AgreementPoint::Place, || placed.unwrap_or_else(|panic| resume_unwind(panic)))?;
    Ok(time)
}
