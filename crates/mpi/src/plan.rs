//! [`Plan`]: one permutation of a spread array.

use core::any::Any;
use core::convert::Infallible;
use core::fmt;
use std::time::{Duration, Instant};

use bijective_shuffle::exchange::{Census, Division, Exchange, TaggedExchange};
use bijective_shuffle::{Bijection, Error, Permutation, Workspace};
use bytemuck::{Pod, Zeroable};

use crate::agreement::{Ballot, Step};
use crate::arrays::{Arrays, Visit};
use crate::error::{Difference, MpiShuffleError};
use crate::fingerprint;
use crate::group::Group;
use crate::spread::Spread;
use crate::times::Times;

/// What a permutation has each rank of a [`Spread`] send to each other. It serves any number of
/// shuffles, of any arrays, in both directions.
///
/// All ranks call the same methods in the same order. No item moves before every rank has packed
/// what it sends; if one of them cannot, all return the same error.
///
/// # Examples
///
/// ```no_run
/// # use bijective_shuffle::Permutation;
/// # use bijective_shuffle_mpi::Spread;
/// # let universe = mpi::initialize().unwrap();
/// # let (mut images, mut labels) = (vec![[0_u8; 28]; 1000], vec![0_u8; 1000]);
/// let mut spread = Spread::new(&universe.world(), images.len())?;
/// let p = Permutation::new(spread.len(), 42);
/// let mut plan = spread.plan(&p)?;
/// plan.shuffle_together((&mut images, &mut labels))?;
/// let mut predictions: Vec<f32> = labels.iter().map(|&label| label.into()).collect();
/// plan.unshuffle(&mut predictions)?; // in the order that the images had
/// # Ok::<(), bijective_shuffle_mpi::MpiShuffleError>(())
/// ```
pub struct Plan<'a, B> {
    pub(crate) p: &'a Permutation<B>,
    pub(crate) group: &'a Group,
    pub(crate) before: &'a Division,
    pub(crate) after: &'a Division,
    census: LazyCensus<'a>,
    /// The most items that a rank holds, before or after.
    pub(crate) largest: u64,
    /// The most items of a message.
    pub(crate) limit: u64,
    pub(crate) has_tags: bool,
    pub(crate) workspace: &'a mut Workspace,
    pub(crate) columns: &'a mut Vec<Box<dyn Any>>,
    /// The exchanges that were asked for so far: to shuffle, and to undo it.
    exchanges: [Option<Exchange<'a, B>>; 2],
    /// The same, with tags.
    pub(crate) tagged: [Option<TaggedExchange<'a, B>>; 2],
    /// Known from the first exchange without tags on.
    counts: Option<Counts>,
    pub(crate) times: Times,
}

/// A census, or where it goes once it is made.
enum LazyCensus<'a> {
    None(Option<&'a mut Option<Census>>),
    Some(&'a Census),
}

/// How many items a rank exchanges with each rank.
struct Counts {
    /// Of those that it holds before a shuffle.
    before: Vec<u64>,
    /// Of those that it holds after it.
    after: Vec<u64>,
}

/// Which way the items go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Shuffle,
    Unshuffle,
}

/// The buffers of one array.
pub(crate) struct Column<T> {
    /// What is sent, and then what has been received, at its places.
    pub(crate) packed: Vec<T>,
    /// What has been received, as it arrived.
    received: Vec<T>,
}

impl<'a, B: Bijection> Plan<'a, B> {
    /// The plan of a permutation; see [`Spread::plan`].
    pub(crate) fn new(
        spread: &'a mut Spread,
        p: &'a Permutation<B>,
    ) -> Result<Self, MpiShuffleError> {
        agree_on(spread, p)?;
        let Spread { group, before, after, largest, limit, has_tags, .. } = spread;
        let Spread { census, workspace, columns, .. } = spread;
        let (exchanges, tagged, counts) = ([None, None], [None, None], None);
        Ok(Self {
            p,
            group,
            before,
            after,
            census: LazyCensus::None(Some(census)),
            largest: *largest,
            limit: *limit,
            has_tags: *has_tags,
            workspace,
            columns,
            exchanges,
            tagged,
            counts,
            times: Times::default(),
        })
    }

    /// Shuffles an array: place `k` of the whole array receives item `p[k]`. The vector has the
    /// items that this rank holds; afterwards it has those that it then holds.
    ///
    /// # Errors
    ///
    /// [`MpiShuffleError::Disagreement`] if the ranks do not all shuffle items of one size with one
    /// message limit, [`MpiShuffleError::RankFailed`] if a rank has an array of the wrong length or
    /// no memory, or if the bijection breaks its requirements, and [`MpiShuffleError::Mpi`]. The
    /// items are then where they were.
    pub fn shuffle<T: Pod + Send + Sync>(
        &mut self,
        items: &mut Vec<T>,
    ) -> Result<(), MpiShuffleError> {
        self.shuffle_together((items,))
    }

    /// Undoes [`shuffle`](Self::shuffle): item `k` of the whole array moves to place `p[k]`.
    ///
    /// # Errors
    ///
    /// As [`shuffle`](Self::shuffle).
    pub fn unshuffle<T: Pod + Send + Sync>(
        &mut self,
        items: &mut Vec<T>,
    ) -> Result<(), MpiShuffleError> {
        self.unshuffle_together((items,))
    }

    /// [`shuffle`](Self::shuffle)s several arrays alike, given as a tuple of `&mut Vec`.
    ///
    /// # Errors
    ///
    /// As [`shuffle`](Self::shuffle); no array has moved without the others.
    pub fn shuffle_together(&mut self, arrays: impl Arrays) -> Result<(), MpiShuffleError> {
        self.run(Direction::Shuffle, arrays)
    }

    /// Undoes [`shuffle_together`](Self::shuffle_together).
    ///
    /// # Errors
    ///
    /// As [`shuffle_together`](Self::shuffle_together).
    pub fn unshuffle_together(&mut self, arrays: impl Arrays) -> Result<(), MpiShuffleError> {
        self.run(Direction::Unshuffle, arrays)
    }

    /// Where the time went on this rank.
    pub fn times(&self) -> Times {
        self.times
    }

    /// Moves arrays.
    fn run(
        &mut self,
        direction: Direction,
        mut arrays: impl Arrays,
    ) -> Result<(), MpiShuffleError> {
        self.group.agree(self.ballot(direction, &arrays), || Ok(()))?;
        if self.run_tagged(direction, &mut arrays)? {
            let Ok(()) = arrays.visit(&mut Commit { columns: self.columns });
            return Ok(());
        }
        self.prepare(direction)?;
        let Self { group, workspace, columns, .. } = self;
        let (Some(exchange), Some(counts)) = (&self.exchanges[direction as usize], &self.counts)
        else {
            unreachable!("they have just been prepared");
        };
        let (sent, received) = match direction {
            Direction::Shuffle => (&counts.before, &counts.after),
            Direction::Unshuffle => (&counts.after, &counts.before),
        };
        let lengths = [exchange.source_places(), exchange.target_places()]
            .map(|places| places.end - places.start);

        let mut clock = Clock::start();
        group.agree(Step::Pack, || {
            check_sum(sent, lengths[0])?;
            check_sum(received, lengths[1])?;
            arrays.visit(&mut Pack { exchange, workspace, columns, lengths })
        })?;
        self.times.pack = clock.lap();
        // All ranks know the largest array, so all choose the same calls.
        let limit = (self.largest > self.limit).then_some(self.limit);
        arrays.visit(&mut Deliver { group, columns, sent, received, limit })?;
        self.times.exchange = clock.lap();
        group.agree(Step::Place, || {
            arrays.visit(&mut Place { exchange, workspace, columns, length: lengths[1] })
        })?;
        let Ok(()) = arrays.visit(&mut Commit { columns });
        self.times.place = clock.lap();
        Ok(())
    }

    /// What the ranks have to agree on before they move arrays.
    fn ballot(&self, direction: Direction, arrays: &impl Arrays) -> Ballot {
        let step = [Step::Shuffle, Step::Unshuffle][direction as usize];
        let numbers = [
            (Difference::Arrays, fingerprint::hash(arrays.sizes())),
            (Difference::MessageLimits, self.limit),
            (Difference::Tags, self.has_tags.into()),
        ];
        Ballot { step, numbers }
    }

    /// The census, which is taken the first time that it is needed.
    pub(crate) fn census(&mut self) -> Result<&'a Census, MpiShuffleError> {
        let room = match &mut self.census {
            LazyCensus::Some(census) => return Ok(census),
            LazyCensus::None(room) => room,
        };
        let mut clock = Clock::start();
        let census = census(self.group, self.p)?;
        self.times.census = clock.lap();
        let room = room.take().expect("it is taken once");
        let census: &Census = room.insert(census);
        self.census = LazyCensus::Some(census);
        Ok(census)
    }

    /// Makes an exchange and counts what is sent, the first time that it is needed.
    fn prepare(&mut self, direction: Direction) -> Result<(), MpiShuffleError> {
        if self.exchanges[direction as usize].is_some() {
            return Ok(());
        }
        let census = self.census()?;
        let mut clock = Clock::start();
        let Self { p, group, before, after, .. } = *self;
        let rank = group.rank();
        // The ranks that hold the items in the order of the slots know with whom they exchange
        // them. The others would have to evaluate each item, so they are told.
        let are_slots_after = !p.is_inverted();
        let step = [Step::ShuffleCounts, Step::UnshuffleCounts][direction as usize];
        let (exchange, known) = group.agree(step, || {
            let (exchange, is_sender) = match direction {
                Direction::Shuffle => {
                    (Exchange::shuffle(p, census, before, after, rank)?, !are_slots_after)
                }
                Direction::Unshuffle => {
                    (Exchange::unshuffle(p, census, after, before, rank)?, are_slots_after)
                }
            };
            let known = if is_sender { exchange.send_counts() } else { exchange.receive_counts() };
            Ok((exchange, known?))
        })?;
        if self.counts.is_none() {
            let told = group.transpose(&known)?;
            let (before, after) = if are_slots_after { (told, known) } else { (known, told) };
            self.counts = Some(Counts { before, after });
        }
        self.exchanges[direction as usize] = Some(exchange);
        self.times.counts += clock.lap();
        Ok(())
    }
}

/// Checks that all ranks have the same permutation, as long as the array.
fn agree_on<B: Bijection>(spread: &Spread, p: &Permutation<B>) -> Result<(), MpiShuffleError> {
    let Spread { group, before, .. } = spread;
    // A bijection that panics must not do so before the other ranks are told.
    let hash = group.agree(Step::Plan, || Ok(fingerprint::of_permutation(p)))?;
    let mut ballot = Ballot::from(Step::Permutation);
    ballot.numbers[0] = (Difference::Lengths, p.len());
    ballot.numbers[1] = (Difference::Permutations, hash);
    group.agree(ballot, || Ok(()))?;
    let (permutation, items) = (p.len(), before.len());
    if permutation != items {
        return Err(MpiShuffleError::LengthMismatch { permutation, items });
    }
    Ok(())
}

/// Counts the survivors of a permutation's domain: each rank a part of it.
fn census<B: Bijection>(group: &Group, p: &Permutation<B>) -> Result<Census, MpiShuffleError> {
    let part = group.agree(Step::Census, || Census::part(p, group.rank(), group.ranks()))?;
    let counts = group.gather([part.len() as u64])?;
    let counts: Vec<u64> = counts.into_iter().map(|[count]| count).collect();
    let mut parts = group.agree(Step::Parts, || {
        let mut parts = Vec::new();
        // There are at most 2^18.
        fit(&mut parts, counts.iter().sum())?;
        Ok(parts)
    })?;
    group.gather_parts(&part, &counts, &mut parts)?;
    group.agree(Step::GatheredCensus, || Census::from_parts(p, &parts))
}

impl<B: Bijection> fmt::Debug for Plan<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan")
            .field("permutation", &self.p)
            .field("rank", &self.group.rank())
            .field("before", &self.before)
            .field("after", &self.after)
            .field("times", &self.times)
            .finish_non_exhaustive()
    }
}

/// Packs each array for sending, and makes room for what will be received.
struct Pack<'a, 'p, B> {
    exchange: &'a Exchange<'p, B>,
    workspace: &'a mut Workspace,
    columns: &'a mut Vec<Box<dyn Any>>,
    /// The numbers of items sent and received.
    lengths: [u64; 2],
}

impl<B: Bijection> Visit for Pack<'_, '_, B> {
    type Error = Error;

    fn visit<T: Pod + Send + Sync>(
        &mut self,
        number: usize,
        items: &mut Vec<T>,
    ) -> Result<(), Error> {
        let [sent, received] = self.lengths;
        check_length(sent, items.len() as u64)?;
        let column = column(self.columns, number);
        // The packed items make room for the received ones when they have been sent.
        fit(&mut column.packed, sent.max(received))?;
        fit(&mut column.packed, sent)?;
        fit(&mut column.received, received)?;
        if size_of::<T>() == 0 {
            return Ok(());
        }
        self.exchange.pack(self.workspace, items, &mut column.packed)
    }
}

/// Sends each array's packed items, and receives others.
struct Deliver<'a> {
    group: &'a Group,
    columns: &'a mut Vec<Box<dyn Any>>,
    sent: &'a [u64],
    received: &'a [u64],
    /// The most items of a message, if all are not sent in one call.
    limit: Option<u64>,
}

impl Visit for Deliver<'_> {
    type Error = MpiShuffleError;

    fn visit<T: Pod + Send + Sync>(
        &mut self,
        number: usize,
        _: &mut Vec<T>,
    ) -> Result<(), MpiShuffleError> {
        if size_of::<T>() == 0 {
            return Ok(());
        }
        let Column::<T> { packed, received } = column(self.columns, number);
        let (items, out) = ((&packed[..], self.sent), (&mut received[..], self.received));
        match self.limit {
            None => self.group.exchange(items, out),
            Some(limit) => self.group.exchange_in_rounds(items, out, limit),
        }
    }
}

/// Puts each array's received items at their places, in a buffer.
struct Place<'a, 'p, B> {
    exchange: &'a Exchange<'p, B>,
    workspace: &'a mut Workspace,
    columns: &'a mut Vec<Box<dyn Any>>,
    /// The number of items received.
    length: u64,
}

impl<B: Bijection> Visit for Place<'_, '_, B> {
    type Error = Error;

    fn visit<T: Pod + Send + Sync>(&mut self, number: usize, _: &mut Vec<T>) -> Result<(), Error> {
        let Column::<T> { packed, received } = column(self.columns, number);
        fit(packed, self.length)?;
        if size_of::<T>() == 0 {
            return Ok(());
        }
        self.exchange.place(self.workspace, received, packed)
    }
}

/// Gives each array its new items, and keeps the memory of the old ones as a buffer.
struct Commit<'a> {
    columns: &'a mut Vec<Box<dyn Any>>,
}

impl Visit for Commit<'_> {
    type Error = Infallible;

    fn visit<T: Pod + Send + Sync>(
        &mut self,
        number: usize,
        items: &mut Vec<T>,
    ) -> Result<(), Infallible> {
        core::mem::swap(items, &mut column(self.columns, number).packed);
        Ok(())
    }
}

/// The buffers of the array of a number. Those of items of another type are dropped.
pub(crate) fn column<T: Pod>(columns: &mut Vec<Box<dyn Any>>, number: usize) -> &mut Column<T> {
    let empty = || Box::new(Column::<T> { packed: Vec::new(), received: Vec::new() });
    if columns.len() <= number {
        columns.resize_with(number + 1, || empty());
    }
    if !columns[number].is::<Column<T>>() {
        columns[number] = empty();
    }
    columns[number].downcast_mut().expect("it has this type")
}

/// Gives a buffer a length; what it holds does not matter.
///
/// # Errors
///
/// [`Error::OutOfMemory`].
pub(crate) fn fit<T: Zeroable + Clone>(buffer: &mut Vec<T>, length: u64) -> Result<(), Error> {
    let bytes = length.saturating_mul(size_of::<T>() as u64);
    let no_memory = || Error::OutOfMemory { bytes };
    let length = usize::try_from(length).map_err(|_| no_memory())?;
    let missing = length.saturating_sub(buffer.len());
    buffer.try_reserve_exact(missing).map_err(|_| no_memory())?;
    buffer.resize(length, T::zeroed());
    Ok(())
}

/// Checks that an array has as many items as it should.
pub(crate) fn check_length(expected: u64, actual: u64) -> Result<(), Error> {
    if expected == actual { Ok(()) } else { Err(Error::LengthMismatch { expected, actual }) }
}

/// Checks that the parts of an array have as many items as the array. With a bijection that breaks
/// its requirements they may have others.
fn check_sum(counts: &[u64], expected: u64) -> Result<(), Error> {
    check_length(expected, counts.iter().fold(0, |sum, &count| sum.saturating_add(count)))
}

/// Measures one part of a job after the other.
pub(crate) struct Clock(Instant);

impl Clock {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// The time since the start or the last lap.
    pub(crate) fn lap(&mut self) -> Duration {
        let before = core::mem::replace(&mut self.0, Instant::now());
        self.0 - before
    }
}
