//! Drawing a sampler's orders, one for each epoch.

use core::fmt;
use std::sync::Arc;

use crate::bijection::{CycleWalk, Standard};
use crate::{Bijection, Error, FromSeed, Seed};

/// An epoch's order: a bijection with exactly as many points as there are items.
pub(super) type EpochOrder = Arc<dyn Bijection>;

/// Draws an order for a length and a seed at its epoch.
type Draw = dyn Fn(u64, Seed) -> Result<EpochOrder, Error> + Send + Sync;

#[derive(Clone)]
pub(super) enum EpochOrders {
    /// The orders of [`Permutation::walk`](crate::Permutation::walk).
    Shuffled,
    Sequential,
    Custom(Arc<Draw>),
}

impl EpochOrders {
    pub(super) fn custom<B, F>(draw: F) -> Self
    where
        B: Bijection + 'static,
        F: Fn(u64, Seed) -> Result<B, Error> + Send + Sync + 'static,
    {
        Self::Custom(Arc::new(move |len, seed| {
            let order = CycleWalk::new(draw(len, seed)?, len)?;
            Ok(Arc::new(order))
        }))
    }

    /// Draws the order of `len` items, at least one, for a seed.
    pub(super) fn draw(&self, len: u64, seed: Seed) -> Result<EpochOrder, Error> {
        match self {
            Self::Shuffled => Ok(Arc::new(CycleWalk::<Standard>::from_seed(len, seed))),
            Self::Sequential => Ok(Arc::new(Identity { last: len - 1 })),
            Self::Custom(draw) => draw(len, seed),
        }
    }
}

impl fmt::Debug for EpochOrders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Shuffled => "Shuffled",
            Self::Sequential => "Sequential",
            Self::Custom(_) => "Custom",
        })
    }
}

/// The items in their original order.
struct Identity {
    last: u64,
}

impl Bijection for Identity {
    fn last(&self) -> u64 {
        self.last
    }

    fn forward(&self, slot: u64) -> u64 {
        slot
    }

    fn inverse(&self, index: u64) -> u64 {
        index
    }
}
