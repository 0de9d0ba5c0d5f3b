//! [`SamplerBuilder`]: the settings of a sampler before they are checked.

use super::order::EpochOrders;
use crate::bijection::BlockShuffle;
use crate::{Bijection, Error, Seed};

/// What happens in the last step of an epoch if fewer items are left than a global batch has.
///
/// In any case every rank has the same number of steps, so that no rank waits for the others for
/// ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Tail {
    /// The remaining items are dealt out. A rank's last batch is then shorter than the others. The
    /// ranks' last batches differ by at most one item. If fewer items are left than there are
    /// ranks, some are empty, and their ranks still take the step.
    Short,
    /// As `Short`, but the order is repeated from its start until every rank has the same number of
    /// items. PyTorch's `DistributedSampler` does the same. This is the default.
    #[default]
    Pad,
    /// The order is repeated from its start until every rank has a full batch, for programs that
    /// are compiled for a fixed shape.
    Fill,
    /// The last step is skipped, and up to `ranks * batch - 1` items of the order are left out.
    Drop,
}

/// Collects the settings of a [`Sampler`](crate::Sampler); [`build`](Self::build) checks them.
///
/// The settings depend on each other (the rank must be below the number of ranks, and the product
/// of ranks and batch must not overflow), so they are checked together, and a
/// [`Sampler`](crate::Sampler) is always valid.
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing unless built"]
pub struct SamplerBuilder {
    pub(super) len: u64,
    pub(super) seed: Seed,
    pub(super) rank: u64,
    pub(super) ranks: u64,
    pub(super) batch: u64,
    pub(super) tail: Tail,
    pub(super) orders: EpochOrders,
}

impl SamplerBuilder {
    pub(super) fn new(len: u64, seed: Seed) -> Self {
        let (rank, ranks, batch, tail) = (0, 1, 1, Tail::default());
        // The sampler's epochs replace the seed's own.
        Self {
            len,
            seed: seed.with_epoch(0),
            rank,
            ranks,
            batch,
            tail,
            orders: EpochOrders::Shuffled,
        }
    }

    /// Sets this rank, counted from 0, and the number of ranks; by default 0 of 1.
    pub fn rank(self, rank: u64, ranks: u64) -> Self {
        Self { rank, ranks, ..self }
    }

    /// Sets the number of items that a rank takes in a step; by default 1.
    pub fn batch(self, batch: u64) -> Self {
        Self { batch, ..self }
    }

    /// Sets what happens in the last step of an epoch; by default [`Tail::Pad`].
    pub fn tail(self, tail: Tail) -> Self {
        Self { tail, ..self }
    }

    /// Takes the items in their original order in every epoch, for evaluation.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::Tail;
    /// use bijective_shuffle::prelude::*;
    ///
    /// let builder = Sampler::builder(8, 0).sequential().rank(1, 2).batch(3).tail(Tail::Short);
    /// let batches: Result<Vec<_>, _> = builder.build()?.batches().collect();
    /// assert_eq!(batches?, [vec![1, 3, 5], vec![7]]);
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn sequential(self) -> Self {
        Self { orders: EpochOrders::Sequential, ..self }
    }

    /// Takes the items in the order of a [`BlockShuffle`] with blocks of `block` items and windows
    /// of `window` blocks, for data on disks and in object stores.
    ///
    /// All ranks are in the same window at the same time, and each takes some items of every block
    /// in it. So the ranks should read the blocks through a shared cache, such as that of a file
    /// system. If each rank should read different blocks, distribute [`BlockShuffle::windows`]
    /// among the ranks instead.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::bijection::BlockShuffle;
    /// use bijective_shuffle::prelude::*;
    ///
    /// let mut sampler = Sampler::builder(1000, 42).blocks(10, 4).batch(40).build()?;
    /// let order = BlockShuffle::new(1000, 10, 4, 42)?;
    /// for (window, batch) in order.windows().zip(sampler.batches()) {
    ///     assert!(window.slots().map(|slot| order.forward(slot)).eq(batch?));
    /// }
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    #[inline]
    pub fn blocks(self, block: u64, window: u64) -> Self {
        self.order(move |len, seed| Ok(BlockShuffle::new(len, block, window, seed)?))
    }

    /// Takes the items in orders that the user defines.
    ///
    /// The function draws an epoch's order from the length and from the seed at that epoch. If the
    /// bijection has more points than there are items, it is
    /// [cycle-walked](crate::bijection::CycleWalk), which takes as many evaluations for each item
    /// as there are points for each item. The function must return the same bijection for the same
    /// epoch, on every rank and in every process.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::bijection::{CycleWalk, Lcg};
    /// use bijective_shuffle::prelude::*;
    ///
    /// let builder = Sampler::builder(1000, 42).order(|len, seed| Ok(Lcg::from_seed(len, seed)));
    /// let mut sampler = builder.batch(1000).build()?;
    /// sampler.set_epoch(7)?;
    /// let mut batch = Vec::new();
    /// sampler.next_batch(&mut batch)?;
    /// let order = CycleWalk::<Lcg>::from_seed(1000, Seed::new(42).with_epoch(7));
    /// assert!((0..1000).all(|k| batch[k as usize] == order.forward(k)));
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn order<B, F>(self, draw: F) -> Self
    where
        B: Bijection + 'static,
        F: Fn(u64, Seed) -> Result<B, Error> + Send + Sync + 'static,
    {
        Self { orders: EpochOrders::custom(draw), ..self }
    }
}
