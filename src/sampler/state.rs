//! [`SamplerState`]: the position of a sampler, as numbers that can be saved.

use core::fmt;
use core::str::FromStr;

use super::builder::SamplerBuilder;
use crate::engine::saved;
use crate::error::SavedError;
use crate::{Bijection, Error};

/// The position of a [`Sampler`](crate::Sampler): four numbers, from which a later process
/// [resumes](crate::Sampler::resume), also with another number of ranks and another batch size.
///
/// It counts the items of the epoch's order that all ranks together have taken. So it is the same
/// on every rank after the same number of steps, and one rank can save it for all. A loader that
/// draws batches ahead of the training step must keep, with each batch, the state after it.
///
/// `Display` writes it as text and `FromStr` reads it; with the feature `serde` it is serialised as
/// that text. It contains a checksum over the length, the seed and sixteen places of the epoch's
/// order, so a state that was changed, or belongs to another sampler, is refused. World, rank,
/// batch and [tail](crate::Tail) are not part of it.
///
/// # Examples
///
/// ```
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

impl SamplerState {
    /// The state of a sampler that has taken `consumed` items of an epoch, whose order is `order`.
    pub(super) fn new(
        config: &SamplerBuilder,
        epoch: u64,
        consumed: u64,
        order: &dyn Bijection,
    ) -> Self {
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
        let words = saved::read(text).ok_or(Error::Saved(SavedError::State))?;
        let [len, epoch, consumed, check] = words;
        Ok(Self { len, epoch, consumed, check })
    }
}
