//! [`SamplerState`]: the position of a sampler, as numbers that can be saved, and how a sampler
//! gets there.

use core::fmt;
use core::str::FromStr;

use super::Sampler;
use super::builder::SamplerBuilder;
use crate::engine::saved;
use crate::error::{SavedError, ViewError};
use crate::{Bijection, Error};

/// The position of a [`Sampler`](crate::Sampler): four numbers, from which a later process
/// [resumes](crate::Sampler::resume), also with another number of ranks and another batch size.
///
/// It counts the items of the epoch's order that all ranks together have taken. So it is the same
/// on every rank after the same number of steps, and one rank can save it for all. A loader that
/// draws batches ahead of the training step must keep, with each batch, the state after it, or ask
/// for it by [`state_at`](crate::Sampler::state_at).
///
/// `Display` writes it as text and `FromStr` reads it; with the feature `serde` it is serialised as
/// that text. It contains a checksum over the length, the seed and sixteen places of the epoch's
/// order, so a state that was changed, or belongs to another sampler, is refused. The rank, the
/// number of ranks, batch and [tail](crate::Tail) are not part of it.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::Error;
/// use bijective_shuffle::prelude::*;
/// use bijective_shuffle::error::SavedError;
/// use bijective_shuffle::SamplerState;
///
/// let mut sampler = Sampler::builder(1000, 42).rank(0, 8).batch(16).build()?;
/// sampler.next_batch(&mut Vec::new())?;
/// let text = sampler.state().to_string();
///
/// let state: SamplerState = text.parse()?;
/// assert_eq!((state.epoch(), state.consumed()), (0, 128));
/// let mut other = Sampler::builder(1000, 43).rank(0, 8).batch(16).build()?;
/// assert_eq!(other.resume(&state), Err(Error::Saved(SavedError::Foreign)));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SamplerState {
    len: u64,
    epoch: u64,
    consumed: u64,
    check: u64,
}

impl Sampler {
    /// The current position, which can be saved and [resumed](Self::resume) in another process.
    pub fn state(&self) -> SamplerState {
        SamplerState::new(&self.config, self.epoch, self.consumed, &*self.order)
    }

    /// The [`state`](Self::state) that this sampler, and any other of the same length, seed and
    /// orders, has after all ranks together have taken `consumed` items of an epoch.
    ///
    /// It draws no items, whatever `consumed` is. So a program that counts the items it has trained
    /// with can save its position without going there.
    ///
    /// # Errors
    ///
    /// [`ViewError::TooManyConsumed`] if there are fewer items, and otherwise as
    /// [`set_epoch`](Self::set_epoch).
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let mut sampler = Sampler::builder(1000, 42).rank(3, 8).batch(16).build()?;
    /// let after_two_steps = sampler.state_at(5, 2 * 8 * 16)?;
    /// sampler.set_epoch(5)?;
    /// sampler.next_batch(&mut Vec::new())?;
    /// sampler.next_batch(&mut Vec::new())?;
    /// assert_eq!(sampler.state(), after_two_steps);
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn state_at(&self, epoch: u64, consumed: u64) -> Result<SamplerState, Error> {
        let len = self.len();
        if consumed > len {
            return Err(Error::View(ViewError::TooManyConsumed { consumed, len }));
        }
        Ok(SamplerState::new(&self.config, epoch, consumed, &*self.draw(epoch)?))
    }

    /// Goes to the position of a state, which must come from a sampler with the same length, seed
    /// and orders. Rank, ranks, batch and tail may differ.
    ///
    /// The items that [`Tail::Drop`](crate::Tail::Drop) leaves out do not count as taken. So after
    /// a state from the end of such an epoch, there may be steps left for a smaller global batch.
    ///
    /// # Errors
    ///
    /// [`SavedError::Foreign`] if the state comes from another sampler, or has been changed, and
    /// otherwise as [`set_epoch`](Self::set_epoch). After an error the sampler is unchanged.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let mut two = Sampler::builder(1000, 42).rank(0, 2).batch(64).build()?;
    /// two.set_epoch(5)?;
    /// two.next_batch(&mut Vec::new())?;
    ///
    /// let mut one = Sampler::builder(1000, 42).batch(100).build()?;
    /// one.resume(&two.state())?;
    /// let mut batch = Vec::new();
    /// one.next_batch(&mut batch)?;
    /// let order = Permutation::walk(1000, Seed::new(42).with_epoch(5));
    /// assert!(order.range(128..228)?.eq(batch));
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn resume(&mut self, state: &SamplerState) -> Result<(), Error> {
        let foreign = Err(Error::Saved(SavedError::Foreign));
        let (epoch, consumed) = (state.epoch(), state.consumed());
        if consumed > self.len() {
            return foreign;
        }
        let order = self.draw(epoch)?;
        if SamplerState::new(&self.config, epoch, consumed, &*order) != *state {
            return foreign;
        }
        (self.epoch, self.consumed, self.order) = (epoch, consumed, order);
        Ok(())
    }
}

impl SamplerState {
    /// The state of a sampler that has taken `consumed` items of an epoch, whose order is `order`.
    fn new(config: &SamplerBuilder, epoch: u64, consumed: u64, order: &dyn Bijection) -> Self {
        let len = config.len;
        let numbers = [len, epoch, consumed].into_iter().chain(config.seed.keys().iter().copied());
        let samples = saved::sample_points(len - 1).map(|slot| order.forward(slot));
        let check = saved::check(numbers.chain(samples));
        Self { len, epoch, consumed, check }
    }

    /// The epoch.
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The number of items of the epoch's order that all ranks together have taken.
    pub const fn consumed(&self) -> u64 {
        self.consumed
    }
}

saved::serialised_as_text!(SamplerState, "the text of a sampler's state");

impl fmt::Display for SamplerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        saved::write(f, &[self.len, self.epoch, self.consumed, self.check])
    }
}

impl FromStr for SamplerState {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let words = saved::read(text).ok_or(Error::Saved(SavedError::NotAState))?;
        let [len, epoch, consumed, check] = words;
        Ok(Self { len, epoch, consumed, check })
    }
}
