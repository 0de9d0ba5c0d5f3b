//! [`FixedSizeSample`]: batches of one size, without replacement.

use bijective_shuffle::{Permutation, Seed};
use bijective_shuffle_engine::check;

use super::{check_rank, deal};
use crate::Error;

/// Batches of a fixed size, each a sample without replacement that does not depend on the other
/// batches: *subsampling without replacement* in the terms of Balle, Barthe and Gaboardi, *Privacy
/// amplification by subsampling* (2018).
///
/// The batch of step `t` is the first `size` items of
/// [`Permutation::walk`](bijective_shuffle::Permutation::walk) at epoch `t` of the seed, so it
/// takes time and memory of the batch and not of the set. Each set of items is as likely as the
/// family of bijections makes it (docs/proof.md), not exactly as likely as another.
///
/// # Examples
///
/// ```
/// use bijective_shuffle_resample::FixedSizeSample;
///
/// let sample = FixedSizeSample::new(1_000_000_000, 4, 42)?;
/// let mut batch = Vec::new();
/// sample.batch(7, &mut batch)?;
/// assert_eq!(batch.len(), 4);
///
/// // Two ranks, in any process, have two items each.
/// let (mut first, mut second) = (Vec::new(), Vec::new());
/// sample.share(7, 0, 2, &mut first)?;
/// sample.share(7, 1, 2, &mut second)?;
/// assert_eq!([first[0], second[0], first[1], second[1]], batch[..]);
/// # Ok::<(), bijective_shuffle_resample::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct FixedSizeSample {
    items: u64,
    size: u64,
    seed: Seed,
}

impl FixedSizeSample {
    /// Batches of `size` of `items` items. The seed's epoch is not used: a step is one.
    ///
    /// # Errors
    ///
    /// [`Error::SampleTooLarge`] if there are fewer items than a batch has.
    pub fn new(items: u64, size: u64, seed: impl Into<Seed>) -> Result<Self, Error> {
        if size > items {
            return Err(Error::SampleTooLarge { size, items });
        }
        Ok(Self { items, size, seed: seed.into() })
    }

    /// Replaces a vector's contents with the batch of a step, in the order in which it was drawn.
    ///
    /// # Errors
    ///
    /// [`Error::Shuffle`] if there is too little memory.
    pub fn batch(&self, step: u64, out: &mut Vec<u64>) -> Result<(), Error> {
        self.share(step, 0, 1, out)
    }

    /// Replaces a vector's contents with a rank's share of the batch of a step: items `rank`,
    /// `rank + ranks`, and so on of it. The shares of all ranks are the batch, and differ by at
    /// most one item in size.
    ///
    /// # Errors
    ///
    /// [`Error::Rank`] if there is no such rank; [`Error::Shuffle`] if there is too little memory.
    pub fn share(&self, step: u64, rank: u64, ranks: u64, out: &mut Vec<u64>) -> Result<(), Error> {
        check_rank(rank, ranks)?;
        out.clear();
        let size = usize::try_from(self.size).unwrap_or(usize::MAX);
        check::try_reserve(out, size)?;
        let order = Permutation::walk(self.items, self.seed.with_epoch(step));
        out.extend(order.range(..self.size)?);
        deal(out, rank, ranks);
        Ok(())
    }

    /// The number of items to choose from.
    pub fn items(&self) -> u64 {
        self.items
    }

    /// The number of items of a batch.
    pub fn size(&self) -> u64 {
        self.size
    }
}
