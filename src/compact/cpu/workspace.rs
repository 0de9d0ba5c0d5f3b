//! [`Workspace`]: the engine with memory that is used again, and with a choice of strategy.

use super::partitioned::Direction;
use super::{partitioned, tuning};
use crate::base::check::check_length;
use crate::base::memory::Buffer;
use crate::bijection::{Bijection, FromSeed, Standard};
use crate::compact::columns::{Columns, Fixed, Frame, relocate_together};
use crate::compact::relocate::{Plan, relocate, relocate_into};
use crate::error::Error;
use crate::seed::Seed;

/// How items are moved. All strategies give the same answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Strategy {
    /// Whichever is expected to be the fastest.
    #[default]
    Auto,
    /// Every slot is evaluated, and each item fetched from where it is, or put where it belongs: random access to one
    /// copy of the items, which is the working memory.
    Direct,
    /// The items are sorted roughly, and then in the cache: sequential access only, and an evaluation an item.
    ///
    /// The working memory is 11 to 12 bytes an item of 8 bytes, and 3.2 an item of one, on a few threads, and more on
    /// many, which have buckets of their own: 14 and 3.8 on 16 threads and 4 million items. Beyond 2^30 slots it is two
    /// bytes an item more. It serves trusted bijections on up to 2^36 points that move items all over the place, and
    /// items of up to 64 bytes. Where it does not serve, the direct strategy is used; and `Auto` uses it where memory is
    /// short, or would not be used well.
    Partitioned,
}

impl Strategy {
    /// Whether items that may be too far for the caches are moved by the partitioned strategy, if it serves.
    pub(in crate::compact) fn is_partitioned(self, far: bool, wastes_memory: bool) -> bool {
        match self {
            Self::Auto => far && !wastes_memory,
            Self::Direct => false,
            Self::Partitioned => true,
        }
    }
}

/// The CPU engine with working memory that is kept from call to call.
///
/// [`Cpu`](super::Cpu) gets its working memory anew for every call, which for millions of items takes as long as the
/// shuffle itself. A loop that shuffles again and again had better keep a workspace. It grows to what the
/// largest call so far has needed and holds that until it is dropped.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::prelude::*;
///
/// let mut workspace = Workspace::new();
/// let mut items: Vec<u32> = (0..1000).collect();
/// for epoch in 0..3 {
///     workspace.shuffle_by_seed(Seed::new(42).epoch(epoch), &mut items)?;
/// }
/// // By any bijection:
/// workspace.shuffle(&VariablePhilox::<24>::from_seed(1000, 42), &mut items)?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Workspace {
    memory: Memory,
}

/// Working memory and what it is to be used for.
#[derive(Debug)]
pub(in crate::compact) struct Memory {
    pub(in crate::compact) strategy: Strategy,
    /// [`tuning::MOST_BUCKETS`], or for tests fewer, which are then larger.
    pub(in crate::compact) most_buckets: u64,
    pub(in crate::compact) scratch: Buffer,
    pub(in crate::compact) partition: partitioned::Buffers,
    /// For columns of more than one record.
    pub(in crate::compact) more: Vec<partitioned::Buffers>,
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

impl Memory {
    pub(in crate::compact) const fn new() -> Self {
        Self {
            strategy: Strategy::Auto,
            most_buckets: tuning::MOST_BUCKETS,
            scratch: Buffer::new(),
            partition: partitioned::Buffers::new(),
            more: Vec::new(),
        }
    }

    /// What is to be done after the partitioned strategy was tried: whether it has placed the items, or they are to be
    /// moved by the direct one, which then gets its memory.
    pub(in crate::compact) fn settle(
        &mut self,
        placed: Result<bool, Error>,
    ) -> Result<bool, Error> {
        match placed {
            Ok(true) => return Ok(true),
            Err(error) if self.strategy != Strategy::Auto => return Err(error),
            Ok(false) | Err(_) => {}
        }
        self.partition = partitioned::Buffers::new();
        Ok(false)
    }
}

impl Workspace {
    /// An empty workspace.
    pub const fn new() -> Self {
        Self { memory: Memory::new() }
    }

    /// The same workspace, for a certain strategy.
    #[must_use]
    pub const fn with_strategy(mut self, strategy: Strategy) -> Self {
        self.memory.strategy = strategy;
        self
    }

    /// The strategy that it was made for.
    pub const fn strategy(&self) -> Strategy {
        self.memory.strategy
    }

    /// How many bytes it holds.
    pub fn bytes(&self) -> usize {
        let Memory { scratch, partition, more, .. } = &self.memory;
        let more: usize = more.iter().map(partitioned::Buffers::bytes).sum();
        scratch.bytes() + partition.bytes() + more
    }

    /// Moves the items: item `p[k]` comes to place `k`.
    ///
    /// [`shuffle_by_seed`](Self::shuffle_by_seed) takes a seed instead of a bijection.
    ///
    /// # Errors
    ///
    /// As [`Compactor::shuffle`](crate::Compactor::shuffle); the items are then where they were.
    pub fn shuffle<T: Send>(
        &mut self,
        bijection: &dyn Bijection,
        items: &mut [T],
    ) -> Result<(), Error> {
        self.relocate(bijection, items, Direction::Shuffle)
    }

    /// Moves the items back: item `k` comes to place `p[k]`.
    ///
    /// # Errors
    ///
    /// As [`shuffle`](Self::shuffle).
    pub fn unshuffle<T: Send>(
        &mut self,
        bijection: &dyn Bijection,
        items: &mut [T],
    ) -> Result<(), Error> {
        self.relocate(bijection, items, Direction::Unshuffle)
    }

    fn relocate<T: Send>(
        &mut self,
        bijection: &dyn Bijection,
        items: &mut [T],
        direction: Direction,
    ) -> Result<(), Error> {
        if size_of::<T>() == 0 {
            return check_length(items.len() as u64, bijection.last());
        }
        let plan = Plan::new(bijection, items.len())?;
        relocate(&plan, direction, items, &mut self.memory)
    }

    /// Shuffles the items in the order of a seed: that of
    /// [`par_bijective_shuffle`](crate::ParBijectiveShuffle::par_bijective_shuffle).
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]; the items are then where they were.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let mut workspace = Workspace::new();
    /// let (mut items, mut others): (Vec<u32>, Vec<u32>) = ((0..1000).collect(), (0..1000).collect());
    /// for epoch in 0..3 {
    ///     workspace.shuffle_by_seed(Seed::new(42).epoch(epoch), &mut items)?;
    ///     others.par_bijective_shuffle(Seed::new(42).epoch(epoch));
    ///     assert_eq!(items, others);
    /// }
    /// for epoch in (0..3).rev() {
    ///     workspace.unshuffle_by_seed(Seed::new(42).epoch(epoch), &mut items)?;
    /// }
    /// assert!(items.into_iter().eq(0..1000));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn shuffle_by_seed<T: Send>(
        &mut self,
        seed: impl Into<Seed>,
        items: &mut [T],
    ) -> Result<(), Error> {
        self.shuffle(&Standard::from_seed(items.len() as u64, seed), items)
    }

    /// Undoes [`shuffle_by_seed`](Self::shuffle_by_seed) with the same seed.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]; the items are then where they were.
    pub fn unshuffle_by_seed<T: Send>(
        &mut self,
        seed: impl Into<Seed>,
        items: &mut [T],
    ) -> Result<(), Error> {
        self.unshuffle(&Standard::from_seed(items.len() as u64, seed), items)
    }

    /// Moves the items of several columns by one permutation: item `p[k]` of each column comes to its place `k`. See
    /// [`Columns`] for what a column may be.
    ///
    /// By the [partitioned](Strategy::Partitioned) strategy the columns' items at one place travel together, as one record
    /// of up to 64 bytes, for which the bijection is evaluated once; more bytes travel as several records. The working
    /// memory is that for slices of such records. (Records of columns whose sizes the compiler does not know, such as
    /// [`Rows`](crate::Rows), have 4, 8, 12, 16, 24, 32, 48 or 64 bytes.) `Auto` uses it from half the number of bytes on
    /// that a single slice would have to have. By the direct strategy, which also serves rows of more than 64 bytes, the
    /// working memory is one copy of all columns.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the columns are not of one length, and else as [`shuffle`](Self::shuffle). Every
    /// item of every column is then where it was.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let f = Lcg::new(3, 5, 3)?; // 3 0 5 2 7 4 1 6
    /// let mut letters = ['a', 'b', 'c', 'd', 'e'];
    /// let mut numbers = vec![0_u8, 1, 2, 3, 4];
    /// let mut workspace = Workspace::new();
    /// workspace.shuffle_together(&f, (&mut letters, &mut numbers))?;
    /// assert_eq!(letters, ['d', 'a', 'c', 'e', 'b']);
    /// assert_eq!(numbers, [3, 0, 2, 4, 1]);
    /// workspace.unshuffle_together(&f, (&mut letters, &mut numbers))?;
    /// assert_eq!(letters, ['a', 'b', 'c', 'd', 'e']);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn shuffle_together(
        &mut self,
        bijection: &dyn Bijection,
        columns: impl Columns,
    ) -> Result<(), Error> {
        self.move_together(bijection, &mut Frame::new(columns)?, Direction::Shuffle)
    }

    /// Moves the items of several columns back: item `k` of each comes to its place `p[k]`.
    ///
    /// # Errors
    ///
    /// As [`shuffle_together`](Self::shuffle_together).
    pub fn unshuffle_together(
        &mut self,
        bijection: &dyn Bijection,
        columns: impl Columns,
    ) -> Result<(), Error> {
        self.move_together(bijection, &mut Frame::new(columns)?, Direction::Unshuffle)
    }

    /// Shuffles several columns in the order of a seed: that of
    /// [`par_bijective_shuffle_together`](crate::ParBijectiveShuffleTogether::par_bijective_shuffle_together).
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the columns are not of one length, and [`Error::OutOfMemory`]; every
    /// item of every column is then where it was.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let (mut keys, mut values) = (vec![1, 2, 3], ["one", "two", "three"]);
    /// let mut workspace = Workspace::new();
    /// workspace.shuffle_together_by_seed(42, (&mut keys, &mut values))?;
    /// assert_eq!(keys, [1, 2, 3].par_bijective_shuffled(42));
    /// workspace.unshuffle_together_by_seed(42, (&mut keys, &mut values))?;
    /// assert_eq!(values, ["one", "two", "three"]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn shuffle_together_by_seed(
        &mut self,
        seed: impl Into<Seed>,
        columns: impl Columns,
    ) -> Result<(), Error> {
        self.move_together_by_seed(seed.into(), columns, Direction::Shuffle)
    }

    /// Undoes [`shuffle_together_by_seed`](Self::shuffle_together_by_seed) with the same seed.
    ///
    /// # Errors
    ///
    /// As [`shuffle_together_by_seed`](Self::shuffle_together_by_seed).
    pub fn unshuffle_together_by_seed(
        &mut self,
        seed: impl Into<Seed>,
        columns: impl Columns,
    ) -> Result<(), Error> {
        self.move_together_by_seed(seed.into(), columns, Direction::Unshuffle)
    }

    fn move_together_by_seed(
        &mut self,
        seed: Seed,
        columns: impl Columns,
        direction: Direction,
    ) -> Result<(), Error> {
        let mut frame = Frame::new(columns)?;
        let bijection = Standard::from_seed(frame.len().unwrap_or(0) as u64, seed);
        self.move_together(&bijection, &mut frame, direction)
    }

    /// Moves the items of several columns, there or back.
    pub(crate) fn move_together(
        &mut self,
        bijection: &dyn Bijection,
        frame: &mut Frame<impl Fixed>,
        direction: Direction,
    ) -> Result<(), Error> {
        if frame.is_nothing() {
            return frame.check_domain(bijection.last());
        }
        let plan = Plan::new(bijection, frame.len().unwrap_or(0))?;
        relocate_together(&plan, direction, frame, &mut self.memory)
    }

    /// Copies the items in their new order: item `p[k]` of the source to place `k` of `out`.
    ///
    /// [`shuffle_into_by_seed`](Self::shuffle_into_by_seed) takes a seed instead of a bijection.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the slices are not of one length, and else as [`shuffle`](Self::shuffle), after
    /// which `out` holds items of the source, or its own, in no particular order.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let f = Lcg::new(3, 5, 3)?; // 3 0 5 2 7 4 1 6
    /// let mut out = [' '; 5];
    /// Workspace::new().shuffle_into(&f, &['a', 'b', 'c', 'd', 'e'], &mut out)?;
    /// assert_eq!(out, ['d', 'a', 'c', 'e', 'b']);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn shuffle_into<T: Copy + Send + Sync>(
        &mut self,
        bijection: &dyn Bijection,
        source: &[T],
        out: &mut [T],
    ) -> Result<(), Error> {
        if source.len() != out.len() {
            let (expected, actual) = (source.len() as u64, out.len() as u64);
            return Err(Error::LengthMismatch { expected, actual });
        }
        if size_of::<T>() == 0 {
            return check_length(source.len() as u64, bijection.last());
        }
        let plan = Plan::new(bijection, source.len())?;
        relocate_into(&plan, source, out, &mut self.memory)
    }

    /// Copies the items in the order of a seed: that of
    /// [`par_bijective_shuffled`](crate::ParBijectiveShuffle::par_bijective_shuffled).
    ///
    /// # Errors
    ///
    /// As [`shuffle_into`](Self::shuffle_into), but for what only a bijection can do wrong.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let mut out = [0; 3];
    /// Workspace::new().shuffle_into_by_seed(42, &[1, 2, 3], &mut out)?;
    /// assert_eq!(out.to_vec(), [1, 2, 3].par_bijective_shuffled(42));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn shuffle_into_by_seed<T: Copy + Send + Sync>(
        &mut self,
        seed: impl Into<Seed>,
        source: &[T],
        out: &mut [T],
    ) -> Result<(), Error> {
        self.shuffle_into(&Standard::from_seed(source.len() as u64, seed), source, out)
    }
}
