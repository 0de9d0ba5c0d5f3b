//! Shuffles in which nothing but the items travels, in rounds of bounded memory.
//!
//! An array's items are packed into the memory for its new order. Then what arrives takes their
//! place, and is put in order in that memory. So besides a second array a rank needs what sorting
//! the items of one round takes. If a rank fails after the items have been sent, which only a lack
//! of memory to undo a shuffle can bring about, all of them are sent back.

use core::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use bijective_shuffle::bijection::hooks::EngineForm;
use bijective_shuffle::exchange::{Exchange, items_of_round};
use bijective_shuffle::{Bijection, Error, Workspace};
use bytemuck::Pod;

use crate::agreement::AgreementPoint;
use crate::arrays::{Arrays, VisitArray};
use crate::buffers::{ColumnBuffers, Commit, check_length, column, ensure_capacity, fit};
use crate::error::MpiShuffleError;
use crate::group::{Group, Incoming, Outgoing};
use crate::plan::{Plan, RoundCounts, RoundSizes, SendDirection};
use crate::spread::Spread;
use crate::times::Clock;

impl<B: Bijection> Plan<'_, B> {
    /// Moves arrays without tags. The ranks have agreed on the direction and the sizes of items.
    pub(crate) fn run_untagged(
        &mut self,
        direction: SendDirection,
        arrays: &mut impl Arrays,
    ) -> Result<(), MpiShuffleError> {
        self.agree_on_rounds(arrays.sizes().into_iter().max().unwrap_or(0))?;
        self.prepare(direction)?;
        let Self { group, workspace, columns, times, .. } = self;
        let (Some(exchange), Some(counts)) = (&self.exchanges[direction as usize], &self.counts)
        else {
            unreachable!("they have just been prepared");
        };
        let counts_of = match direction {
            SendDirection::Shuffle => [&*counts.before, &*counts.after],
            SendDirection::Unshuffle => [&*counts.after, &*counts.before],
        };
        let lengths = [exchange.source_places(), exchange.target_places()]
            .map(|places| places.end - places.start);
        let replaces = counts.are_trusted;
        // All ranks know the largest array, so all choose the same calls.
        let limit = (self.largest > self.limit).then_some(self.limit);

        let mut clock = Clock::start();
        group.agree(AgreementPoint::Pack, || {
            check_sum(counts_of[0], lengths[0])?;
            check_sum(counts_of[1], lengths[1])?;
            arrays.visit(&mut PackArrays { exchange, workspace, columns, lengths, replaces })
        })?;
        times.pack = clock.lap();
        let mut deliver = Deliver { group, columns, counts: counts_of, lengths, limit, replaces };
        arrays.visit(&mut deliver)?;
        times.exchange = clock.lap();
        let place = || {
            let length = lengths[1];
            arrays.visit(&mut PlaceArrays { exchange, workspace, columns, length, replaces })
        };
        // A rank that panics takes part in what the others do next, before it goes on panicking.
        let placed = catch_unwind(AssertUnwindSafe(|| group.agree(AgreementPoint::Place, place)));
        if !matches!(placed, Ok(Ok(()))) && replaces {
            arrays.visit(&mut Return { group, columns, counts: counts_of, lengths, limit })?;
            group.agree(AgreementPoint::Restore, || {
                arrays.visit(&mut Restore { exchange, workspace, columns, length: lengths[0] })
            })?;
        }
        placed.unwrap_or_else(|panic| resume_unwind(panic))?;
        let Ok(()) = arrays.visit(&mut Commit { columns });
        times.place = clock.lap();
        Ok(())
    }

    /// Which items come to this rank's places, if the permutation is not inverted.
    pub(crate) fn slot_indexes(&mut self) -> Result<Vec<u64>, MpiShuffleError> {
        if self.exchanges[SendDirection::Shuffle as usize].is_none() {
            self.agree_on_rounds(size_of::<u64>() as u64)?;
            self.prepare(SendDirection::Shuffle)?;
        }
        let Some(exchange) = &self.exchanges[SendDirection::Shuffle as usize] else {
            unreachable!("it has just been prepared");
        };
        let places = exchange.target_places();
        self.group.agree(AgreementPoint::Indexes, || {
            let mut indexes = Vec::new();
            fit(&mut indexes, places.end - places.start)?;
            exchange.write_indexes(&mut indexes)?;
            Ok(indexes)
        })
    }

    /// Finds out how many items of at most `item` bytes, the same on all ranks, a round may have,
    /// so that no rank takes more than its memory.
    fn agree_on_rounds(&mut self, item: u64) -> Result<(), MpiShuffleError> {
        if self.round.is_some_and(|round| round.item == item) {
            return Ok(());
        }
        let memory = self.memory.unwrap_or(Spread::DEFAULT_MEMORY);
        let mine = self.group.agree(AgreementPoint::Rounds, || {
            // Otherwise every round would evaluate the whole domain.
            let is_trusted = EngineForm::of(self.p.bijection()).is_trusted();
            Ok(if is_trusted { items_of_round(memory, item as usize) } else { u64::MAX })
        })?;
        // Their numbers of threads may differ.
        let mut least = [mine];
        self.group.reduce_min(&mut least)?;
        let round = RoundSizes { item, most: least[0].min(self.largest).max(1) };
        if self.round.is_none_or(|other| other.most != round.most) {
            (self.exchanges, self.counts) = ([None, None], None);
        }
        self.round = Some(round);
        Ok(())
    }

    /// Makes an exchange and counts what is sent, the first time that it is needed.
    fn prepare(&mut self, direction: SendDirection) -> Result<(), MpiShuffleError> {
        if self.exchanges[direction as usize].is_some() {
            return Ok(());
        }
        let census = self.census()?;
        let mut clock = Clock::start();
        let Self { p, group, before, after, round, .. } = *self;
        let (rank, most) = (group.rank(), round.map_or(u64::MAX, |round| round.most));
        // The ranks that hold the items in the order of the slots know with whom they exchange
        // them. The others would have to evaluate each item, so they are told.
        let are_slots_after = !p.is_inverted();
        let step =
            [AgreementPoint::ShuffleCounts, AgreementPoint::UnshuffleCounts][direction as usize];
        let (exchange, known) = group.agree(step, || {
            let (exchange, is_sender) = match direction {
                SendDirection::Shuffle => {
                    let plan = Exchange::builder(p, census, before, rank).to(after);
                    (plan.in_rounds_of(most).shuffle()?, !are_slots_after)
                }
                SendDirection::Unshuffle => {
                    let plan = Exchange::builder(p, census, after, rank).to(before);
                    (plan.in_rounds_of(most).unshuffle()?, are_slots_after)
                }
            };
            let known = if is_sender { exchange.send_counts() } else { exchange.receive_counts() };
            let known = Known::new(known?, exchange.rounds(), exchange.is_trusted())?;
            Ok((exchange, known))
        })?;
        if self.counts.is_none() {
            self.counts = Some(known.tell(group, are_slots_after)?);
        }
        self.exchanges[direction as usize] = Some(exchange);
        self.times.counts += clock.lap();
        Ok(())
    }
}

/// What a rank can count itself, and the memory for what it is told.
struct Known {
    rounds: usize,
    /// The number of items of each round for each rank, round after round.
    counts: Vec<u64>,
    told: Vec<u64>,
    /// Those numbers and what is told, rank after rank.
    by_rank: [Vec<u64>; 2],
    is_trusted: bool,
}

impl Known {
    fn new(counts: Vec<u64>, rounds: usize, is_trusted: bool) -> Result<Self, Error> {
        let (mut told, mut by_rank) = (Vec::new(), [const { Vec::new() }; 2]);
        for numbers in by_rank.iter_mut().chain([&mut told]) {
            fit(numbers, counts.len() as u64)?;
        }
        Ok(Self { rounds, counts, told, by_rank, is_trusted })
    }

    /// Tells each rank what it exchanges with this one. `are_after` says whether the numbers are of
    /// the items after a shuffle.
    fn tell(self, group: &Group, are_after: bool) -> Result<RoundCounts, MpiShuffleError> {
        let Self { rounds, counts, mut told, by_rank: [mut mine, mut theirs], is_trusted } = self;
        let ranks = group.ranks();
        for (k, &count) in counts.iter().enumerate() {
            mine[k % ranks * rounds + k / ranks] = count;
        }
        group.transpose(&mine, &mut theirs)?;
        for (k, &count) in theirs.iter().enumerate() {
            told[k % rounds * ranks + k / rounds] = count;
        }
        let mut are_trusted = [u64::from(is_trusted)];
        group.reduce_min(&mut are_trusted)?;
        let (before, after) = if are_after { (told, counts) } else { (counts, told) };
        Ok(RoundCounts { before, after, are_trusted: are_trusted == [1] })
    }
}

/// Packs each array for sending, and makes room for what will be received.
struct PackArrays<'a, 'p> {
    exchange: &'a Exchange<'p>,
    workspace: &'a mut Workspace,
    columns: &'a mut Vec<Box<dyn Any>>,
    /// The numbers of items sent and received.
    lengths: [u64; 2],
    /// Whether what is received replaces the items.
    replaces: bool,
}

impl VisitArray for PackArrays<'_, '_> {
    type Error = Error;

    fn visit<T: Pod + Send + Sync>(
        &mut self,
        number: usize,
        items: &mut Vec<T>,
    ) -> Result<(), Error> {
        let [sent, received] = self.lengths;
        check_length(sent, items.len() as u64)?;
        let ColumnBuffers { packed, received: apart } = column(self.columns, number);
        // The packed items make room for the received ones when they have been sent.
        fit(packed, sent.max(received))?;
        fit(packed, sent)?;
        if self.replaces {
            *apart = Vec::new();
            ensure_capacity(items, received)?;
        } else {
            fit(apart, received)?;
        }
        if size_of::<T>() == 0 {
            return Ok(());
        }
        self.exchange.pack(self.workspace, items, packed)
    }
}

/// Sends each array's packed items, and receives others.
struct Deliver<'a> {
    group: &'a Group,
    columns: &'a mut Vec<Box<dyn Any>>,
    /// The numbers of items sent and received.
    counts: [&'a [u64]; 2],
    lengths: [u64; 2],
    /// The most items of a message, if those of a round are not sent in one call.
    limit: Option<u64>,
    /// Whether what is received replaces the items.
    replaces: bool,
}

impl VisitArray for Deliver<'_> {
    type Error = MpiShuffleError;

    fn visit<T: Pod + Send + Sync>(
        &mut self,
        number: usize,
        items: &mut Vec<T>,
    ) -> Result<(), MpiShuffleError> {
        let ColumnBuffers { packed, received } = column(self.columns, number);
        let out = if self.replaces { items } else { received };
        out.resize(self.lengths[1] as usize, T::zeroed());
        exchange(self.group, packed, out, self.counts, self.limit)
    }
}

/// Puts each array's received items at their places, in a buffer.
struct PlaceArrays<'a, 'p> {
    exchange: &'a Exchange<'p>,
    workspace: &'a mut Workspace,
    columns: &'a mut Vec<Box<dyn Any>>,
    /// The number of items received.
    length: u64,
    /// Whether they have replaced the items.
    replaces: bool,
}

impl VisitArray for PlaceArrays<'_, '_> {
    type Error = Error;

    fn visit<T: Pod + Send + Sync>(
        &mut self,
        number: usize,
        items: &mut Vec<T>,
    ) -> Result<(), Error> {
        let ColumnBuffers { packed, received } = column(self.columns, number);
        fit(packed, self.length)?;
        if size_of::<T>() == 0 {
            return Ok(());
        }
        let received = if self.replaces { items } else { received };
        self.exchange.place(self.workspace, received, packed)
    }
}

/// Sends what has been received of each array back to where it came from. A rank could not place
/// it.
struct Return<'a> {
    group: &'a Group,
    columns: &'a mut Vec<Box<dyn Any>>,
    /// The numbers of items that were sent and received.
    counts: [&'a [u64]; 2],
    lengths: [u64; 2],
    limit: Option<u64>,
}

impl VisitArray for Return<'_> {
    type Error = MpiShuffleError;

    fn visit<T: Pod + Send + Sync>(
        &mut self,
        number: usize,
        items: &mut Vec<T>,
    ) -> Result<(), MpiShuffleError> {
        let ColumnBuffers { packed, .. } = column(self.columns, number);
        let [sent, received] = self.counts;
        packed.resize(self.lengths[0] as usize, T::zeroed());
        exchange(self.group, items, packed, [received, sent], self.limit)
    }
}

/// Puts each array's items, which have been sent back, where they were.
struct Restore<'a, 'p> {
    exchange: &'a Exchange<'p>,
    workspace: &'a mut Workspace,
    columns: &'a mut Vec<Box<dyn Any>>,
    /// The number of items.
    length: u64,
}

impl VisitArray for Restore<'_, '_> {
    type Error = Error;

    fn visit<T: Pod + Send + Sync>(
        &mut self,
        number: usize,
        items: &mut Vec<T>,
    ) -> Result<(), Error> {
        let ColumnBuffers { packed, .. } = column(self.columns, number);
        fit(items, self.length)?;
        if size_of::<T>() == 0 {
            return Ok(());
        }
        self.exchange.unpack(self.workspace, packed, items)
    }
}

/// Sends all ranks their parts of the items, round after round.
fn exchange<T: Pod>(
    group: &Group,
    items: &[T],
    out: &mut [T],
    [sent, received]: [&[u64]; 2],
    limit: Option<u64>,
) -> Result<(), MpiShuffleError> {
    if size_of::<T>() == 0 {
        return Ok(());
    }
    let (mut items, mut out) = (items, out);
    let ranks = group.ranks();
    for (sent, received) in sent.chunks(ranks).zip(received.chunks(ranks)) {
        // They add up to the items and places, which are in memory.
        let [here, there] = [sent, received].map(|counts| counts.iter().sum::<u64>() as usize);
        let (now, places);
        (now, items) = items.split_at(here);
        (places, out) = out.split_at_mut(there);
        let outgoing = Outgoing { items: now, counts: sent };
        let incoming = Incoming { places, counts: received };
        match limit {
            None => group.exchange(outgoing, incoming)?,
            Some(limit) => group.exchange_one_by_one(outgoing, incoming, limit)?,
        }
    }
    Ok(())
}

/// Checks that the parts of an array have as many items as the array. With a bijection that breaks
/// its requirements they may have others.
fn check_sum(counts: &[u64], expected: u64) -> Result<(), Error> {
    check_length(expected, counts.iter().fold(0, |sum, &count| sum.saturating_add(count)))
}
