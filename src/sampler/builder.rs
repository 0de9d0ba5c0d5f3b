//! [`SamplerBuilder`]: what a sampler is to be, before it is checked.

use super::order::Orders;
use crate::bijection::{Bijection, BlockShuffle};
use crate::error::Error;
use crate::seed::Seed;

/// What the ranks do in the last step of an epoch, where fewer items are left than a global batch
/// has.
///
/// Every rank has the same number of steps in any case, so that none waits for the others for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Tail {
    /// The items that are left are dealt out. A rank's last batch is shorter than the others, by
    /// one item more on some ranks than on others, and empty on some if there are fewer items than
    /// ranks.
    Short,
    /// The same, but the order is repeated from its start until every rank has the same number of
    /// items. This is what PyTorch's `DistributedSampler` does, and the default.
    #[default]
    Pad,
    /// The order is repeated from its start until every rank has a whole batch: for programs that
    /// are compiled for one shape.
    Fill,
    /// The step does not take place, and up to `world * batch - 1` items of the order are left out.
    Drop,
}

/// Collects what a [`Sampler`](crate::Sampler) is to be; [`build`](Self::build) checks it.
///
/// The numbers depend on each other (a rank is below the world, and world and batch have a
/// product), so they are checked once and together, and a [`Sampler`](crate::Sampler) is always a
/// valid one.
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing unless built"]
pub struct SamplerBuilder {
    pub(super) len: u64,
    pub(super) seed: Seed,
    pub(super) rank: u64,
    pub(super) world: u64,
    pub(super) batch: u64,
    pub(super) tail: Tail,
    pub(super) orders: Orders,
}

impl SamplerBuilder {
    pub(super) fn new(len: u64, seed: Seed) -> Self {
        let (rank, world, batch, tail) = (0, 1, 1, Tail::default());
        // The epochs take the place of the seed's own.
        Self { len, seed: seed.epoch(0), rank, world, batch, tail, orders: Orders::Shuffled }
    }

    /// Which of how many ranks this one is, counted from 0; by default the only one.
    pub fn rank(self, rank: u64, world: u64) -> Self {
        Self { rank, world, ..self }
    }

    /// How many items a rank takes in a step; by default 1.
    pub fn batch(self, batch: u64) -> Self {
        Self { batch, ..self }
    }

    /// What the ranks do in the last step of an epoch; by default [`Tail::Pad`].
    pub fn tail(self, tail: Tail) -> Self {
        Self { tail, ..self }
    }

    /// Goes through the items as they lie, in every epoch: for evaluation.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let builder = Sampler::builder(8, 0).sequential().rank(1, 2).batch(3).tail(Tail::Short);
    /// let batches: Result<Vec<_>, _> = builder.build()?.batches().collect();
    /// assert_eq!(batches?, [vec![1, 3, 5], vec![7]]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn sequential(self) -> Self {
        Self { orders: Orders::Sequential, ..self }
    }

    /// Goes through the items in the order of a [`BlockShuffle`] with blocks of `block` items and
    /// windows of `window` blocks: for data on disks and in object stores.
    ///
    /// All ranks are in the same window at the same time, and each takes some items of every block
    /// in it. So the ranks should read the blocks through something that they share, such as a file
    /// system's cache. Where each rank is to read blocks of its own, deal out
    /// [`BlockShuffle::windows`] instead.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let mut sampler = Sampler::builder(1000, 42).blocks(10, 4).batch(40).build()?;
    /// let order = BlockShuffle::new(1000, 10, 4, 42)?;
    /// for (window, batch) in order.windows().zip(sampler.batches()) {
    ///     assert!(window.slots().map(|slot| order.forward(slot)).eq(batch?));
    /// }
    /// # Ok::<(), Error>(())
    /// ```
    pub fn blocks(self, block: u64, window: u64) -> Self {
        self.order(move |len, seed| BlockShuffle::new(len, block, window, seed))
    }

    /// Goes through the items in orders of the user's own.
    ///
    /// The function draws an epoch's order, from the length and the seed at that epoch. Where the
    /// bijection has more points than there are items, it is [walked](crate::bijection::CycleWalk), which
    /// takes as many evaluations an item as there are points an item. The same epoch must always
    /// give the same bijection, on every rank and in every process.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let builder = Sampler::builder(1000, 42).order(|len, seed| Ok(Lcg::from_seed(len, seed)));
    /// let mut sampler = builder.batch(1000).build()?;
    /// sampler.set_epoch(7)?;
    /// let mut batch = Vec::new();
    /// sampler.next_batch(&mut batch)?;
    /// let order = CycleWalk::<Lcg>::from_seed(1000, Seed::new(42).epoch(7));
    /// assert!((0..1000).all(|k| batch[k as usize] == order.forward(k)));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn order<B, F>(self, draw: F) -> Self
    where
        B: Bijection + 'static,
        F: Fn(u64, Seed) -> Result<B, Error> + Send + Sync + 'static,
    {
        Self { orders: Orders::custom(draw), ..self }
    }
}
