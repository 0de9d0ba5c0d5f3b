//! [`Spread`]: how an array is divided among the ranks.

use core::any::Any;
use core::fmt;

use bijective_shuffle::Workspace;
use bijective_shuffle::exchange::{Census, Division};
use mpi::topology::Communicator;

use crate::agreement::{AgreementPoint, RankBallot};
use crate::buffers::check_length;
use crate::error::{Difference, MpiShuffleError};
use crate::fingerprint;
use crate::group::{Group, MOST_ITEMS};

/// The division of an array among the ranks of a communicator. It keeps a duplicate of the
/// communicator, and memory, from one shuffle to the next.
///
/// The memory is that of the largest arrays that were shuffled, for their new order, and some
/// [working memory](Self::with_memory_limit). All ranks make a `Spread`, call its methods in the
/// same order, and drop it. MPI is called on the calling thread only, while other threads compute,
/// so initialize it with at least [`Threading::Funneled`](mpi::Threading::Funneled).
///
/// # Examples
///
/// ```no_run
/// use bijective_shuffle::{Permutation, Seed};
/// use bijective_shuffle_mpi::Spread;
///
/// let (universe, _) = mpi::initialize_with_threading(mpi::Threading::Funneled).unwrap();
/// let mut items: Vec<f64> = vec![0.5; 1000];
/// let mut spread = Spread::new(&universe.world(), items.len())?;
/// for epoch in 0..3 {
///     let p = Permutation::new(spread.len(), Seed::new(42).with_epoch(epoch));
///     spread.plan(&p)?.shuffle(&mut items)?;
/// }
/// # Ok::<(), bijective_shuffle_mpi::MpiShuffleError>(())
/// ```
pub struct Spread {
    pub(crate) group: Group,
    pub(crate) before: Division,
    pub(crate) after: Division,
    /// The most items that a rank holds, before or after.
    pub(crate) largest: u64,
    /// The most items of a message.
    pub(crate) limit: u64,
    /// The most working memory that was asked for, in bytes.
    pub(crate) memory: Option<u64>,
    /// Whether items travel with tags where that serves.
    pub(crate) has_tags: bool,
    /// The number of chunks that was asked for.
    pub(crate) chunks: Option<u64>,
    /// That of the last plan.
    pub(crate) census: Option<Census>,
    pub(crate) workspace: Workspace,
    /// The buffers of each array that moves together with others.
    pub(crate) columns: Vec<Box<dyn Any>>,
}

impl Spread {
    /// An array in which this rank holds `items` items, before a shuffle and after it, in the order
    /// of the ranks. A rank may hold none.
    ///
    /// # Errors
    ///
    /// [`MpiShuffleError::Disagreement`] if the ranks call other functions or were built with other
    /// versions, [`MpiShuffleError::RankFailed`] if there are 2^64 items or more,
    /// [`MpiShuffleError::InterCommunicator`], and [`MpiShuffleError::MpiFailed`].
    pub fn new(communicator: &impl Communicator, items: usize) -> Result<Self, MpiShuffleError> {
        Self::between(communicator, items, items)
    }

    /// An array in which this rank holds `before` items before a shuffle and `after` items
    /// afterwards. So items that one rank has read can be dealt out to all, or the reverse.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new), and [`MpiShuffleError::RankFailed`] if the ranks hold more or fewer
    /// items after a shuffle than before it.
    pub fn between(
        communicator: &impl Communicator,
        before: usize,
        after: usize,
    ) -> Result<Self, MpiShuffleError> {
        let group = Group::new(communicator)?;
        let has_tags = group.shares_memory()?;
        let version = env!("CARGO_PKG_VERSION").bytes().map(u64::from);
        let mut ballot = RankBallot::from(AgreementPoint::Spread);
        ballot.numbers[0] = (Difference::Versions, fingerprint::hash(version));
        group.agree(ballot, || Ok(()))?;
        let counts = group.gather([before as u64, after as u64])?;
        let largest = counts.iter().flatten().copied().max().unwrap_or(0);
        let [before, after] = group.agree(AgreementPoint::Divisions, || {
            let division = |which: usize| {
                let counts: Vec<u64> = counts.iter().map(|counts| counts[which]).collect();
                Division::from_counts(&counts)
            };
            let (before, after) = (division(0)?, division(1)?);
            check_length(before.len(), after.len())?;
            Ok([before, after])
        })?;
        Ok(Self {
            group,
            before,
            after,
            largest,
            limit: MOST_ITEMS,
            memory: None,
            has_tags,
            chunks: None,
            census: None,
            workspace: Workspace::new(),
            columns: Vec::new(),
        })
    }

    /// Limits a message to this number of items, at least one.
    ///
    /// Where no rank holds more items than a message may have, one collective call of MPI moves
    /// all. Otherwise each rank sends to one rank at a time, in messages of that size. Without a
    /// limit, that happens from 2^31 items on a rank on.
    #[must_use]
    pub fn with_message_limit(self, items: u64) -> Self {
        Self { limit: items.clamp(1, MOST_ITEMS), ..self }
    }

    /// Limits the working memory of each rank to about this number of bytes, besides its arrays and
    /// as much again for their new order.
    ///
    /// With tags that is 1.4 times the memory of an array of 8-byte items on two ranks of one
    /// thread, 1.6 times on sixteen and up to 2 times on many, two chunks of what comes, each of 4
    /// MiB or more, and about 1 MiB for each thread. If that is more than the limit, the chunks are
    /// made smaller, and if it still is, items travel without tags; that takes about twice as long,
    /// and any memory from some 5 MiB on serves. What a rank sorts then are as many of its items at
    /// a time as the memory is for, at least 2^16, and they are sent in as many rounds. Each rank
    /// and round takes some 200 bytes more. A message has the items of one round for one rank, so
    /// large arrays on many ranks are better given more memory.  Without a limit, tags may take
    /// what they need, and without tags it is [`DEFAULT_MEMORY`](Self::DEFAULT_MEMORY).
    ///
    /// With a bijection that is not [trusted](bijective_shuffle::TrustedBijection), or may panic, a
    /// rank keeps its arrays until the others' items have arrived, which takes their memory once
    /// more. If it is not trusted, there is one round, and no limit.
    #[must_use]
    pub fn with_memory_limit(self, bytes: u64) -> Self {
        Self { memory: Some(bytes), ..self }
    }

    /// The working memory of a rank for items without tags, unless
    /// [`with_memory_limit`](Self::with_memory_limit) says otherwise: 64 MiB.
    pub const DEFAULT_MEMORY: u64 = 64 << 20;

    /// Sends items with tags of two bytes, or without, instead of choosing by where the ranks are.
    ///
    /// With tags there are more bytes to send and half as much to compute, so they are the default
    /// where all ranks are on one machine. They serve trusted bijections on domains of up to 2^30
    /// slots, and items of up to 64 bytes; for others, and for few items on many ranks, there are
    /// none. Items go to the same places either way.
    #[must_use]
    pub fn with_tags(self, tags: bool) -> Self {
        Self { has_tags: tags, ..self }
    }

    /// Sends items with [tags](Self::with_tags) in this number of chunks, at least one, instead of
    /// the recommended number.
    ///
    /// While one chunk is on its way, a rank places the one before it, and it has memory for two.
    /// Without this they have some MiB each, or less if that keeps the ranks to their
    /// [memory](Self::with_memory_limit). All ranks say the same number.
    #[must_use]
    pub fn with_chunks(self, chunks: usize) -> Self {
        Self { chunks: Some(chunks.max(1) as u64), ..self }
    }

    /// The number of items of all ranks.
    pub fn len(&self) -> u64 {
        self.before.len()
    }

    /// Whether no rank holds an item.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Which items each rank holds before a shuffle.
    pub fn before(&self) -> &Division {
        &self.before
    }

    /// Which places each rank holds after a shuffle.
    pub fn after(&self) -> &Division {
        &self.after
    }

    /// This process.
    pub fn rank(&self) -> usize {
        self.group.rank()
    }

    /// The number of processes, at least one.
    pub fn ranks(&self) -> usize {
        self.group.ranks()
    }
}

impl fmt::Debug for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spread")
            .field("rank", &self.rank())
            .field("before", &self.before)
            .field("after", &self.after)
            .field("limit", &self.limit)
            .field("memory", &self.memory)
            .finish_non_exhaustive()
    }
}
