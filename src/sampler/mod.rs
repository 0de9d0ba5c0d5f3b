//! [`Sampler`]: the batches of a training loop.

mod builder;
mod order;
mod state;

pub use builder::{SamplerBuilder, Tail};
pub use state::SamplerState;

use core::fmt;
use core::ops::Range;

use crate::error::{Defect, ViewError};
use crate::{Error, Seed};
use order::EpochOrder;

/// What [`Sampler::next_batch_while`] has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum SamplerStep {
    /// It has taken the step, and the vector holds this rank's items.
    Taken,
    /// The epoch has no further step.
    EpochEnd,
    /// It was stopped; the step is still to be taken.
    Stopped,
}

/// The number of items of a batch between two questions whether to go on: under a millisecond.
const PART: u64 = 1 << 16;

/// The batches of a training loop on several ranks: the items that this rank takes in each step of
/// each epoch.
///
/// An epoch takes all items in an order of its own, by default that of
/// [`Permutation::walk`](crate::Permutation::walk)`(len, seed.with_epoch(epoch))`. A step takes the
/// next `ranks * batch` places of that order, the *global batch*, and deals them out in turn: rank
/// `r` of `ranks` gets its places `r`, `r + ranks`, `r + 2 * ranks` and so on. The ranks do not
/// communicate, and none stores the order: a sampler takes constant memory, and its first batch is
/// available at once, however many items there are.
///
/// # Changing the number of ranks
///
/// The global batch is the same set of items for all numbers of ranks and batch sizes with the same
/// product (except for what [`Tail::Pad`] repeats), and the items that have been taken are always
/// the beginning of the order. So a [`state`](Self::state) fits any number of ranks and any batch
/// size: a run that is [resumed](Self::resume) with other numbers in the middle of an epoch
/// continues with the remaining items, each once.
///
/// Given the same order, and with [`Tail::Pad`], a rank's batches are those of PyTorch's
/// `DistributedSampler` and a `DataLoader` of this batch size. That is why items are dealt out in
/// turn and not as contiguous shares.
///
/// # The end of an epoch
///
/// The last step may have fewer items left than a global batch; [`Tail`] says what happens then.
/// After it, [`next_batch`](Self::next_batch) returns `false` until
/// [`next_epoch`](Self::next_epoch) or [`set_epoch`](Self::set_epoch) is called. All ranks have the
/// same number of [`steps`](Self::steps).
///
/// # Examples
///
/// A distributed loop that stops in the middle of an epoch and continues with another number of
/// ranks:
///
/// ```
/// use bijective_shuffle::Error;
/// use bijective_shuffle::Tail;
/// use bijective_shuffle::prelude::*;
///
/// const EPOCHS: u64 = 2;
///
/// // What each rank runs. It trains for some steps, and says where it then stands.
/// fn train(
///     rank: u64,
///     ranks: u64,
///     saved: Option<&str>,
///     most_steps: u64,
///     seen: &mut [[u32; 1000]],
/// ) -> Result<String, Error> {
///     let builder = Sampler::builder(1000, 42).rank(rank, ranks).batch(16).tail(Tail::Short);
///     let mut sampler = builder.build()?;
///     if let Some(text) = saved {
///         sampler.resume(&text.parse()?)?;
///     }
///     let mut batch = Vec::new();
///     let mut steps = 0;
///     while sampler.epoch() < EPOCHS {
///         while sampler.next_batch(&mut batch)? {
///             for &item in &batch {
///                 seen[sampler.epoch() as usize][item as usize] += 1;
///             }
///             steps += 1;
///             if steps == most_steps {
///                 return Ok(sampler.state().to_string());
///             }
///         }
///         sampler.next_epoch()?;
///     }
///     Ok(sampler.state().to_string())
/// }
///
/// let mut seen = [[0; 1000]; EPOCHS as usize];
/// // Eight ranks (in turn here) stop after eleven steps: an epoch has eight.
/// let mut saved = String::new();
/// for rank in 0..8 {
///     saved = train(rank, 8, None, 11, &mut seen)?;
/// }
/// // Three ranks do the rest.
/// for rank in 0..3 {
///     train(rank, 3, Some(&saved), u64::MAX, &mut seen)?;
/// }
/// assert!(seen.iter().flatten().all(|&times| times == 1));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
pub struct Sampler {
    /// The settings, checked: there is at least one item, one rank, and one item in a batch.
    config: SamplerBuilder,
    /// The items of all ranks in a step: `ranks * batch`.
    global_batch: u64,
    epoch: u64,
    /// The number of places of the epoch's order that all ranks together have taken: at most the
    /// length.
    consumed: u64,
    order: EpochOrder,
}

impl SamplerBuilder {
    /// Builds the sampler, at the beginning of epoch 0.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchRank`] if the rank is not below the number of ranks, and so also if that is
    /// 0; [`ViewError::NoItems`] or [`ViewError::BatchSizeOutOfRange`]. If [`order`](Self::order)
    /// or [`blocks`](Self::blocks) was called, the errors of drawing the order of epoch 0, and
    /// [`Error::LengthExceedsDomain`] if it has fewer points than there are items.
    pub fn build(self) -> Result<Sampler, Error> {
        let Self { len, rank, ranks, batch, .. } = self;
        if len == 0 {
            return Err(Error::View(ViewError::NoItems));
        }
        if rank >= ranks {
            return Err(Error::NoSuchRank { rank, ranks });
        }
        let global_batch = ranks
            .checked_mul(batch)
            .filter(|&items| items > 0)
            .ok_or(Error::View(ViewError::BatchSizeOutOfRange { batch, ranks }))?;
        let order = self.orders.draw(len, self.seed)?;
        Ok(Sampler { config: self, global_batch, epoch: 0, consumed: 0, order })
    }
}

impl Sampler {
    /// Begins a sampler of `len` items, whose orders a seed determines.
    ///
    /// The seed's own epoch is not used: the sampler's epoch replaces it.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let mut sampler = Sampler::builder(1_000_000_000_000, 42).rank(3, 8).batch(4).build()?;
    /// let mut batch = Vec::new();
    /// sampler.next_batch(&mut batch)?;
    /// let order = Permutation::walk(1_000_000_000_000, 42);
    /// let places: Result<Vec<_>, _> = batch.iter().map(|&item| order.position(item)).collect();
    /// assert_eq!(places?, [3, 11, 19, 27]);
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn builder(len: u64, seed: impl Into<Seed>) -> SamplerBuilder {
        SamplerBuilder::new(len, seed.into())
    }

    /// The seed of the order.
    pub fn seed(&self) -> Seed {
        self.config.seed
    }

    /// Replaces a vector's contents with this rank's items of the next step. Returns whether there
    /// was a step.
    ///
    /// The vector then has the batch's length, except in the last step of an epoch (see [`Tail`]).
    /// It is empty if there is no step. Its memory is reused.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`] if the vector cannot grow to the batch, and [`Error::NotABijection`]
    /// if an order that the user defined has a value that is not below the length. The step is then
    /// not taken, and the vector is empty.
    ///
    /// # Panics
    ///
    /// If an order that the user defined panics. The step is then not taken, and the vector holds
    /// unspecified values.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::Tail;
    /// use bijective_shuffle::prelude::*;
    ///
    /// let mut sampler = Sampler::builder(10, 42).batch(4).tail(Tail::Drop).build()?;
    /// let mut batch = Vec::new();
    /// let mut steps = 0;
    /// while sampler.next_batch(&mut batch)? {
    ///     assert_eq!(batch.len(), 4);
    ///     steps += 1;
    /// }
    /// assert_eq!(steps, 2);
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn next_batch(&mut self, batch: &mut Vec<u64>) -> Result<bool, Error> {
        Ok(self.next_batch_while(batch, || true)? == SamplerStep::Taken)
    }

    /// Like [`next_batch`](Self::next_batch), but stops when `go_on`, which is called before each
    /// 65,536 items, returns `false`. The step is then not taken, and the vector is empty.
    ///
    /// # Errors
    ///
    /// As `next_batch`.
    ///
    /// # Panics
    ///
    /// As `next_batch`, and if `go_on` panics.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::SamplerStep;
    /// use bijective_shuffle::prelude::*;
    ///
    /// let mut sampler = Sampler::builder(1_000_000, 42).batch(500_000).build()?;
    /// let mut batch = Vec::new();
    /// let mut asked = 0;
    /// let go_on = || {
    ///     asked += 1;
    ///     asked < 3
    /// };
    /// assert_eq!(sampler.next_batch_while(&mut batch, go_on)?, SamplerStep::Stopped);
    /// assert_eq!((batch.len(), sampler.consumed()), (0, 0));
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn next_batch_while(
        &mut self,
        batch: &mut Vec<u64>,
        mut go_on: impl FnMut() -> bool,
    ) -> Result<SamplerStep, Error> {
        batch.clear();
        let left = self.len() - self.consumed;
        let places = self.places(left);
        if places == 0 {
            return Ok(SamplerStep::EpochEnd);
        }
        let (count, own) = (self.share(places), self.share(places.min(left)));
        let out_of_memory = || Error::OutOfMemory { bytes: count.saturating_mul(8) };
        let room = usize::try_from(count).map_err(|_| out_of_memory())?;
        batch.try_reserve_exact(room).map_err(|_| out_of_memory())?;
        let mut first = 0;
        while first < count {
            // Behind the rank's own items are repeated ones.
            let end = if first < own { own } else { count }.min(first.saturating_add(PART));
            // If this panics or fails, the step has not been taken.
            if !go_on() {
                batch.clear();
                return Ok(SamplerStep::Stopped);
            }
            self.append(first..end, left, batch).inspect_err(|_| batch.clear())?;
            first = end;
        }
        self.consumed += left.min(self.global_batch);
        Ok(SamplerStep::Taken)
    }

    /// The number of places in the next step, including repeated ones, if `left` items are left; 0
    /// if there is no next step.
    fn places(&self, left: u64) -> u64 {
        let SamplerBuilder { ranks, tail, .. } = self.config;
        if left == 0 || left >= self.global_batch {
            return left.min(self.global_batch);
        }
        match tail {
            Tail::Short => left,
            // At most the global batch, since that is a multiple of the ranks too.
            Tail::Pad => left.div_ceil(ranks) * ranks,
            Tail::Fill => self.global_batch,
            Tail::Drop => 0,
        }
    }

    /// How many of some places of a step, from its first on, are this rank's: every `ranks`-th.
    fn share(&self, places: u64) -> u64 {
        places.saturating_sub(self.rank()).div_ceil(self.ranks())
    }

    /// The place of this rank's `k`-th item in the next step, if `left` items are left. Behind its
    /// end the order begins again.
    fn place(&self, k: u64, left: u64) -> u64 {
        let SamplerBuilder { len, rank, ranks, .. } = self.config;
        let offset = rank + k * ranks;
        if offset < left { self.consumed + offset } else { (offset - left) % len }
    }

    /// Appends this rank's items with some numbers in the next step, if `left` items are left: all
    /// of them its own, or all repeated.
    fn append(&self, numbers: Range<u64>, left: u64, batch: &mut Vec<u64>) -> Result<(), Error> {
        let (first, last) = (numbers.start, self.len() - 1);
        let start = batch.len();
        batch.extend(numbers.map(|k| self.place(k, left)));
        let part = &mut batch[start..];
        match part.first() {
            // One after the other.
            Some(&place) if self.ranks() == 1 && first < left => {
                self.order.forward_run(place, part);
            }
            _ => self.order.forward_each(part),
        }
        match (first..).zip(&*part).find(|&(_, &item)| item > last) {
            Some((k, &index)) => {
                let slot = self.place(k, left);
                Err(Error::NotABijection(Defect::OutOfRange {
                    method: "forward",
                    point: slot,
                    value: index,
                    last,
                }))
            }
            None => Ok(()),
        }
    }

    /// Iterates over this rank's remaining batches of the epoch, each in its own vector.
    ///
    /// [`next_batch`](Self::next_batch) reuses one vector instead.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let mut sampler = Sampler::builder(100, 42).batch(10).build()?;
    /// let batches: Vec<Vec<u64>> = sampler.batches().collect::<Result<_, _>>()?;
    /// assert_eq!(batches.concat(), Permutation::walk(100, 42).to_vec());
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn batches(&mut self) -> impl Iterator<Item = Result<Vec<u64>, Error>> + '_ {
        core::iter::from_fn(|| {
            let mut batch = Vec::new();
            let is_step = self.next_batch(&mut batch);
            is_step.map(|is_step| is_step.then_some(batch)).transpose()
        })
    }

    /// The number of steps in a whole epoch, the same on every rank.
    pub fn steps(&self) -> u64 {
        self.steps_of(self.len())
    }

    /// The number of steps that are left in this epoch, the same on every rank.
    pub fn steps_remaining(&self) -> u64 {
        self.steps_of(self.len() - self.consumed)
    }

    fn steps_of(&self, left: u64) -> u64 {
        match self.config.tail {
            Tail::Drop => left / self.global_batch,
            Tail::Short | Tail::Pad | Tail::Fill => left.div_ceil(self.global_batch),
        }
    }

    /// Goes to the beginning of an epoch, even if the sampler is in the middle of that epoch.
    ///
    /// So a loop that may have been [resumed](Self::resume) should go from epoch to epoch by
    /// [`next_epoch`](Self::next_epoch).
    ///
    /// # Errors
    ///
    /// If the user defined the orders, the errors of drawing this one, and
    /// [`Error::LengthExceedsDomain`] if it has fewer points than there are items. After an error
    /// the sampler is unchanged.
    pub fn set_epoch(&mut self, epoch: u64) -> Result<(), Error> {
        self.order = self.draw(epoch)?;
        (self.epoch, self.consumed) = (epoch, 0);
        Ok(())
    }

    /// Goes to the beginning of the next epoch.
    ///
    /// # Errors
    ///
    /// [`ViewError::LastEpoch`] in epoch 2^64 - 1, and otherwise as
    /// [`set_epoch`](Self::set_epoch). After an error the sampler is unchanged.
    pub fn next_epoch(&mut self) -> Result<(), Error> {
        let next = self.epoch.checked_add(1).ok_or(Error::View(ViewError::LastEpoch))?;
        self.set_epoch(next)
    }

    /// Draws the order of an epoch.
    fn draw(&self, epoch: u64) -> Result<EpochOrder, Error> {
        self.config.orders.draw(self.len(), self.config.seed.with_epoch(epoch))
    }

    /// The number of items.
    #[expect(clippy::len_without_is_empty, reason = "there is at least one item")]
    pub const fn len(&self) -> u64 {
        self.config.len
    }

    /// This rank.
    pub const fn rank(&self) -> u64 {
        self.config.rank
    }

    /// The number of ranks.
    pub const fn ranks(&self) -> u64 {
        self.config.ranks
    }

    /// The number of items that a rank takes in a step.
    pub const fn batch(&self) -> u64 {
        self.config.batch
    }

    /// What happens in the last step of an epoch.
    pub const fn tail(&self) -> Tail {
        self.config.tail
    }

    /// The epoch, counted from 0.
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The number of items of the epoch's order that all ranks together have taken. Items that are
    /// repeated at the end do not count.
    pub const fn consumed(&self) -> u64 {
        self.consumed
    }
}

impl fmt::Debug for Sampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sampler")
            .field("config", &self.config)
            .field("epoch", &self.epoch)
            .field("consumed", &self.consumed)
            .finish_non_exhaustive()
    }
}
