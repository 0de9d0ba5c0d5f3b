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
use crate::untagged::{Counts, Round};

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
    /// The most working memory that was asked for, in bytes.
    pub(crate) memory: Option<u64>,
    pub(crate) has_tags: bool,
    /// The number of chunks that was asked for.
    pub(crate) chunks: Option<u64>,
    pub(crate) workspace: &'a mut Workspace,
    pub(crate) columns: &'a mut Vec<Box<dyn Any>>,
    /// The exchanges that were asked for so far: to shuffle, and to undo it.
    pub(crate) exchanges: [Option<Exchange<'a>>; 2],
    /// The same, with tags, and whether they serve on all ranks.
    pub(crate) tagged: [Option<(TaggedExchange<'a>, bool)>; 2],
    /// The most items of a round, for items of some size.
    pub(crate) round: Option<Round>,
    /// Known from the first exchange in these rounds on.
    pub(crate) counts: Option<Counts>,
    pub(crate) times: Times,
}

/// A census, or where it goes once it is made.
enum LazyCensus<'a> {
    None(Option<&'a mut Option<Census>>),
    Some(&'a Census),
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
    /// What has been received, as it arrived, if that is not where the items were.
    pub(crate) received: Vec<T>,
}

impl<'a, B: Bijection> Plan<'a, B> {
    /// The plan of a permutation; see [`Spread::plan`].
    pub(crate) fn new(
        spread: &'a mut Spread,
        p: &'a Permutation<B>,
    ) -> Result<Self, MpiShuffleError> {
        agree_on(spread, p)?;
        let Spread { group, before, after, largest, limit, memory, has_tags, chunks, .. } = spread;
        let Spread { census, workspace, columns, .. } = spread;
        Ok(Self {
            p,
            group,
            before,
            after,
            census: LazyCensus::None(Some(census)),
            largest: *largest,
            limit: *limit,
            memory: *memory,
            has_tags: *has_tags,
            chunks: *chunks,
            workspace,
            columns,
            exchanges: [None, None],
            tagged: [None, None],
            round: None,
            counts: None,
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

    /// Which items come to this rank's places in a [`shuffle`](Self::shuffle): `p[k]` for each
    /// place `k` that it [then](Spread::after) holds.
    ///
    /// Each rank evaluates its own slots, and no items are exchanged. For an
    /// [inverted](Permutation::is_inverted) permutation the numbers of all items are shuffled.
    ///
    /// # Errors
    ///
    /// As [`shuffle`](Self::shuffle).
    pub fn write_indexes(&mut self) -> Result<Vec<u64>, MpiShuffleError> {
        if !self.p.is_inverted() {
            return self.slot_indexes();
        }
        let places = self.before.places(self.group.rank());
        let mut numbers = self.group.agree(Step::Indexes, || {
            let mut numbers = Vec::new();
            fit(&mut numbers, places.end - places.start)?;
            numbers.iter_mut().zip(places).for_each(|(number, place)| *number = place);
            Ok(numbers)
        })?;
        self.shuffle(&mut numbers)?;
        Ok(numbers)
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
        self.run_untagged(direction, &mut arrays)
    }

    /// What the ranks have to agree on before they move arrays.
    fn ballot(&self, direction: Direction, arrays: &impl Arrays) -> Ballot {
        let step = [Step::Shuffle, Step::Unshuffle][direction as usize];
        let numbers = [
            (Difference::Arrays, fingerprint::hash(arrays.sizes())),
            (Difference::MessageLimits, self.limit),
            // No limit is not the same as that of any number of bytes.
            (Difference::MemoryLimits, fingerprint::hash(self.memory)),
            (Difference::Tags, self.has_tags.into()),
            (Difference::Chunks, fingerprint::hash(self.chunks)),
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

/// Gives each array its new items, and keeps the memory of the old ones as a buffer.
pub(crate) struct Commit<'a> {
    pub(crate) columns: &'a mut Vec<Box<dyn Any>>,
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
    let length = make_room(buffer, length)?;
    buffer.resize(length, T::zeroed());
    Ok(())
}

/// Makes room in a buffer for as many items, which then need no more memory. Returns their number.
///
/// # Errors
///
/// [`Error::OutOfMemory`].
pub(crate) fn make_room<T>(buffer: &mut Vec<T>, length: u64) -> Result<usize, Error> {
    let bytes = length.saturating_mul(size_of::<T>() as u64);
    let no_memory = || Error::OutOfMemory { bytes };
    let length = usize::try_from(length).map_err(|_| no_memory())?;
    let missing = length.saturating_sub(buffer.len());
    buffer.try_reserve_exact(missing).map_err(|_| no_memory())?;
    Ok(length)
}

/// Checks that an array has as many items as it should.
pub(crate) fn check_length(expected: u64, actual: u64) -> Result<(), Error> {
    if expected == actual { Ok(()) } else { Err(Error::LengthMismatch { expected, actual }) }
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
